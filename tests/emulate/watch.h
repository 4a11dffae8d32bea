/* SPDX-License-Identifier: Apache-2.0 */
/* While an emulated kernel runs, memory that its node does not name (dispatch/cuda/timeline.h) is out of its reach, and
 * what it only reads cannot be written: the program ends with a message where a kernel uses more than it says. That is
 * for the context's memory; pixels and numbers are the caller's. Compiled with MOT_ARRAY_ALIGN=4096. */
#ifndef MOT_WATCH_H
#define MOT_WATCH_H

#include "dispatch/cuda/timeline.h"

/* A block of the context's memory, page by page; arrays in it are watched, and nothing is behind it. */
void *watch_allocate(size_t bytes);
void watch_free(void *memory);

/* The next kernel has this node; `end`: no kernel runs, and the host may use all. */
void watch_begin(const mot_node *node);
void watch_end(void);
void watch_resume(void); /* that kernel goes on */

/* A call begins, which has taken nothing. */
void watch_forget(void);

#endif
