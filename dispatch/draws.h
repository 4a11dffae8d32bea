/* SPDX-License-Identifier: Apache-2.0 */
/* The draws of a batch that are known before an image is touched: those that are given, and those that the host makes
 * because something besides the images needs them: what follows, clips, steps at which images stop. */
#ifndef MOT_DRAWS_H
#define MOT_DRAWS_H

#include "dispatch/backend.h"

/* In memory that the context keeps for the next call. */
typedef struct mot_host_draws {
    size_t count, most;   /* images, and the steps of each at most */
    mot_step *steps;      /* [count][most]; those behind an image's last change nothing */
    mot_rect *inside;     /* [count][most]: the part of the image that each works in; empty: all */
    int32_t *counts;      /* [count] */
    motley_place *places; /* [count], of stages; else NULL */
} mot_host_draws;

/* Makes room; all steps work in the whole image, and the other contents are unspecified. A call that a custom op makes
 * has room of its own. */
motley_status mot_draws_take(motley_context *context, size_t count, size_t most, int placed, mot_host_draws *draws,
                             motley_error *error);

/* Reads a given step, which is checked; the weights of a kernel blur are still to be set. */
void mot_draws_read(const motley_step *from, mot_step *to);

/* Says how many steps image i has, and makes those behind them change nothing. */
void mot_draws_end(const mot_host_draws *draws, size_t i, int32_t count);

/* Draws for job->src by job->policy, also for the caller if the job says so. */
motley_status mot_draws_of_policy(motley_context *context, const mot_job *job, mot_host_draws *draws,
                                  motley_error *error);

#endif
