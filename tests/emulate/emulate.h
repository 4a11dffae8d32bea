/* SPDX-License-Identifier: Apache-2.0 */
/* What checks set of the emulator, and what its files know of each other. */
#ifndef MOT_EMULATE_H
#define MOT_EMULATE_H

#include <stddef.h>
#include <stdint.h>

#define EMULATED_CTAS 9                      /* that run together */
#define EMULATED_RESIDENT_BYTES (227 * 1024) /* shared memory of a CTA of the image kernel: sm_90 */

#ifdef __cplusplus
extern "C" {
#endif

extern int emulate_backwards;        /* threads run from the last to the first */
extern unsigned long emulate_floors; /* of binary64: 5 for each RGB pixel that is interpolated so */

/* What the image kernel's previous kernel does in the meantime; NULL: nothing. all == 0: a step of it, while a thread
 * waits; else all the rest. Then every CTA has to wait for the end of the previous kernel. */
extern void (*emulate_previous)(int all);

/* Called with the image kernel's mot_resident_job before it begins; or NULL. */
extern void (*emulate_images)(const void *job);

/* Memory that the next launches of the image kernel write and copy in bulk: such a copy fails if an ordinary store has
 * been there and no fence since. */
void emulate_watch(const uint8_t *begin, size_t bytes);

/* A random order depends on this number, and not on what ran before. */
void emulate_begin(uint64_t turn);

#ifdef __cplusplus
}

[[noreturn]] void emulate_fail(const char *what);
unsigned emulate_thread(), emulate_cta();                          /* those that run */
unsigned emulate_random(unsigned below);                           /* 0 where threads run in order */
bool emulate_resident_kernel(const void *kernel, const void *job); /* false: `kernel` is another; job NULL: only asks */
void emulate_forget_copies();                                      /* before CTAs begin */
void emulate_early_copy();                                         /* perhaps bytes arrive that nobody has waited for */
#endif
#endif
