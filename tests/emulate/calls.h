/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of dispatch/cuda with the kernels of emulate.cpp: what they need of a context. */
#ifndef MOT_EMULATE_CALLS_H
#define MOT_EMULATE_CALLS_H

#include "dispatch/cuda/state.h"
#include "tests/emulate/emulate.h"

extern mot_cuda_state emulated;

extern int emulated_ahead;      /* whether the next call's draws run ahead; -1: those of every other call do */
extern mot_late *emulated_late; /* what then comes behind them; or NULL */

/* mot_cuda_run with that context, and a comparison of what the kernels drew with what the host draws. */
motley_status emulated_run(void *state, const mot_job *job, motley_error *error);

/* Makes a context whose calls run by emulated kernels; destroy it with emulated_destroy. */
motley_context *emulated_create(void);
void emulated_destroy(motley_context *context);

#endif
