/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch/cuda/resize.c and transform.c with the kernels of emulate.cpp: what they need of a context. */
#ifndef MOT_EMULATE_CALLS_H
#define MOT_EMULATE_CALLS_H

#include "dispatch/cuda/state.h"
#include "tests/emulate/emulate.h"

extern mot_cuda_state emulated;

/* Makes a context that resizes and transforms by emulated kernels, and does the rest on the CPU; destroy it with
 * emulated_destroy. */
motley_context *emulated_create(void);
void emulated_destroy(motley_context *context);

#endif
