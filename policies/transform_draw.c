/* SPDX-License-Identifier: Apache-2.0 */
/* What each image of a transform draws: its stages in order, as a place and steps. */
#include "policies/transform_draw.h"

#include <string.h>

void mot_transform_place(const mot_transform *transform, const mot_drawn_sample *sample, motley_place *drawn,
                         int32_t *width, int32_t *height)
{
    memset(drawn, 0, sizeof *drawn);
    mot_draw_whole(sample, drawn);
    *width = sample->width;
    *height = sample->height;
    for (uint32_t s = 0; s < transform->stages; s++) {
        const mot_stage *const stage = &transform->stage[s];
        if (!mot_stage_runs(stage, sample))
            continue;
        if (stage->steps == 0)
            mot_draw_place(stage, sample, transform->fact[s].block, *width, *height, drawn);
        mot_stage_size(stage, sample->width, sample->height, width, height);
    }
}

int mot_transform_steps(const mot_transform *transform, uint32_t s, const mot_drawn_sample *sample, int32_t width,
                        int32_t height, mot_step *steps)
{
    const mot_stage *const stage = &transform->stage[s];
    const mot_stage_facts *const fact = &transform->fact[s];
    const int begin = fact->begins;
    if (stage->steps == 0 || !mot_stage_runs(stage, sample))
        return 0;
    if (begin)
        mot_augmix_step(MOTLEY_STEP_MIX_BEGIN, 0, steps);
    const int count = begin + mot_draw_steps(stage, stage->policy ? &stage->policy->tables : NULL, sample, fact->block,
                                             width, height, steps + begin);
    for (int k = 0; fact->first_custom > 0 && k < count; k++)
        steps[k].op += steps[k].op >= MOT_OP_COUNT ? fact->first_custom : 0;
    return count;
}

int mot_transform_draw(const mot_transform *transform, const mot_drawn_sample *sample, motley_place *drawn,
                       mot_step *steps)
{
    int32_t width, height;
    int count = 0;
    mot_transform_place(transform, sample, drawn, &width, &height);
    for (uint32_t s = 0; s < transform->stages; s++)
        count += mot_transform_steps(transform, s, sample, width, height, &steps[count]);
    return count;
}
