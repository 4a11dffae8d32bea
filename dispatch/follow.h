/* SPDX-License-Identifier: Apache-2.0 */
/* What a call moves with its images: `followed` of its params. */
#ifndef MOT_FOLLOW_H
#define MOT_FOLLOW_H

#include "dispatch/draws.h"

/* Numbers that were moved, in memory that the context keeps, and are still to be written to the caller's. */
typedef struct mot_moved {
    motley_followed to;
    size_t images;
    double *boxes, *visibility, *points, *matrices;
    uint8_t *keep, *flags;
} mot_moved;

/* Reads the caller's struct (NULL: *read is zero) and checks what the host can. src: the images, or NULL. */
motley_status mot_followed_read(const motley_followed *followed, const motley_batch *src, motley_followed *read,
                                motley_error *error);

/* Whether there is anything to move. */
int mot_followed_any(const motley_followed *followed);

/* On the host: `begin` moves job->followed, before the images are written, and `end` writes the results. `shown`: the
 * steps in the units of ops, [job->count][shown_steps], given or made for the caller; NULL: they are made here. */
motley_status mot_follow_begin(motley_context *context, const mot_job *job, const mot_host_draws *draws,
                               const motley_step *shown, size_t shown_steps, mot_moved *moved, motley_error *error);
void mot_follow_end(const mot_moved *moved);

#endif
