/* SPDX-License-Identifier: Apache-2.0 */
/* What a call moves with its images: `followed` of its params. */
#ifndef MOT_FOLLOW_H
#define MOT_FOLLOW_H

#include "dispatch/backend.h"
#include "policies/transform.h"

/* The draws of a call's images, or what makes them. */
typedef struct mot_follow_draws {
    const motley_batch *src;
    const motley_policy *policy; /* one of these draws by `samples`, or both are NULL */
    const mot_transform *transform;
    const motley_samples *samples;
    const motley_step *steps; /* given: [src->count][max_steps] */
    const int32_t *step_counts;
    const motley_place *places; /* given, of a transform */
    size_t max_steps;
    int32_t width, height; /* of a transform's results, as in motley_drawn */
} mot_follow_draws;

/* Numbers that were moved, in host memory, and are still to be written to the caller's. */
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

/* On the host: `begin` draws and moves, before the images are written, `end` writes the results; `drop` frees them. */
motley_status mot_follow_begin(motley_context *context, const motley_followed *followed, const mot_follow_draws *draws,
                               mot_moved *moved, motley_error *error);
void mot_follow_end(const mot_moved *moved);
void mot_follow_drop(mot_moved *moved);

/* Runs a job, and moves its boxes and points. */
motley_status mot_run_followed(motley_context *context, const mot_job *job, const mot_follow_draws *draws,
                               motley_error *error);

#endif
