/* SPDX-License-Identifier: Apache-2.0 */
/* What each image of a transform draws: its stages in order, as rectangles and steps. */
#include "policies/transform_draw.h"
#include "policies/views.h"

#include "base/error.h"

#include <string.h>

int mot_transform_draw(const mot_transform *transform, const mot_drawn_sample *sample, motley_place *drawn,
                       mot_step *steps)
{
    int32_t width = sample->width, height = sample->height; /* of the image so far */
    int n = 0;
    memset(drawn, 0, sizeof *drawn);
    mot_draw_whole(sample, drawn);
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *stage = &transform->stage[i];
        const uint32_t block = transform->fact[i].block;
        if (stage->steps > 0)
            n += mot_draw_steps(stage, stage->policy ? &stage->policy->tables : NULL, sample, block, width, height,
                                &steps[n]);
        else
            mot_draw_place(stage, sample, block, width, height, drawn);
        mot_stage_size(stage, sample->width, sample->height, &width, &height);
    }
    return n;
}

motley_status mot_transform_draw_samples(const mot_transform *transform, const motley_samples *samples, size_t count,
                                         const int32_t *widths, const int32_t *heights, int32_t channels,
                                         motley_place *places, motley_step *steps, int32_t *step_counts,
                                         motley_error *error)
{
    if (transform->schedule) {
        mot_transform *plain;
        MOT_TRY(mot_transform_at(transform, samples->epoch, &plain, error));
        const motley_status status = mot_transform_draw_samples(plain, samples, count, widths, heights, channels,
                                                                places, steps, step_counts, error);
        mot_transform_destroy(plain);
        return status;
    }
    MOT_TRY(mot_transform_check_single(transform, error));
    MOT_TRY(mot_levels_check(&transform->info, samples, count, error));
    for (uint32_t i = 0; i < transform->stages; i++)
        if (transform->stage[i].policy && transform->stage[i].policy->takes_boxes)
            return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                            "policy '%s' has a stage with policy '%s', which works in the boxes of an image: want that "
                            "policy alone",
                            transform->name, transform->stage[i].policy->name);
    for (size_t i = 0; i < count; i++) {
        mot_step own[MOT_MAX_TRANSFORM_STEPS];
        motley_place place;
        const mot_drawn_sample sample =
            mot_sample_of(samples, i, widths[i], heights[i], transform->to_rgb ? 3 : channels);
        step_counts[i] = mot_transform_draw(transform, &sample, places ? &places[i] : &place, own);
        for (int s = 0; s < step_counts[i]; s++)
            steps[i * transform->info.max_steps + (size_t)s] = mot_public_step(mot_step_info(own[s].op), &own[s]);
    }
    return MOTLEY_OK;
}
