/* SPDX-License-Identifier: Apache-2.0 */
/* The draws of a batch that are known before an image is touched: those that are given, and those that the host makes
 * because something besides the images needs them: what follows, clips, steps at which images stop, the caller. */
#ifndef MOT_DRAWS_H
#define MOT_DRAWS_H

#include "dispatch/backend.h"

#include <stdbool.h>

/* In memory that the context keeps for the next call. */
typedef struct mot_host_draws {
    size_t count, most;   /* images, and the steps of each at most */
    mot_step *steps;      /* [count][most]; those behind an image's last change nothing */
    mot_rect *inside;     /* [count][most]: the part of the image that each works in; empty: all */
    int32_t *counts;      /* [count] */
    motley_place *places; /* [count], of images that are placed; else NULL */
} mot_host_draws;

/* What there is among the steps of a batch, which decides how it runs and what it may be combined with. */
typedef struct mot_draw_facts {
    bool mixes;   /* chains of ops */
    bool late;    /* such chains behind other steps */
    bool inside;  /* steps in parts of an image */
    bool customs; /* custom ops */
} mot_draw_facts;

struct mot_request;

/* Makes room; all steps work in the whole image, and the other contents are unspecified. A call that a custom op makes
 * has room of its own. */
motley_status mot_draws_take(motley_context *context, size_t count, size_t most, bool placed, mot_host_draws *draws,
                             motley_error *error);

/* Makes a request's draws: reads and checks those that its params give, or draws all images. Both write them to the
 * caller's arrays as well. */
motley_status mot_draws_given(motley_context *context, struct mot_request *request, mot_draw_facts *facts,
                              motley_error *error);
motley_status mot_draws_make(motley_context *context, struct mot_request *request, motley_error *error);

/* Draws image i on a worker, of a request whose images stop nowhere; the caller gets the draw, too. Returns the number
 * of steps. */
int mot_draws_new(const struct mot_request *request, size_t i, motley_place *drawn, mot_step *steps);

/* Copies the places of src's images in two: what comes first, unless `first` is NULL, and the rest. */
void mot_draws_split_places(const motley_place *drawn, const motley_batch *src, motley_place *first,
                            motley_place *last);

/* Whether draws are given, and how many steps a row of given steps has. */
bool mot_is_given(const motley_apply_params *params);
size_t mot_given_row(const motley_apply_params *params, const motley_policy_info *info);

#endif
