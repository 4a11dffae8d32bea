/* SPDX-License-Identifier: Apache-2.0 */
/* motley_draw: what each sample draws, told in the ops' units. */
#include "policies/draw.h"

#include "base/error.h"
#include "motley/apply.h"
#include "policies/policy.h"

#include <string.h>

motley_step mot_step_told(const motley_op_info *info, const mot_step *step)
{
    motley_step out = { .op = step->op, .level = step->level };
    out.interpolation = (motley_interpolation)step->interpolation;
    memcpy(out.fill, step->fill, sizeof out.fill);
    if (info->values_max > 0) {
        out.values[0] = step->value;
        out.values_count = 1;
    }
    if (info->shape == MOTLEY_SHAPE_ERASE || info->shape == MOTLEY_SHAPE_CUSTOM) { /* two more were drawn */
        out.values[1] = step->arg.d[1];
        out.values[2] = step->arg.d[2];
        out.values_count = 3;
    }
    return out;
}

motley_status motley_draw(const motley_policy *policy, const motley_samples *samples, size_t count,
                          const int32_t *widths, const int32_t *heights, int32_t channels, motley_step *steps,
                          int32_t *step_counts, motley_error *error)
{
    MOT_REQUIRE(policy, error, "policy is NULL, want one that was loaded");
    MOT_REQUIRE(samples, error, "samples is NULL, want a seed and sample ids");
    MOT_REQUIRE(samples->epoch < 1u << 30, error, "epoch is %u, want at most %u", samples->epoch, (1u << 30) - 1);
    MOT_REQUIRE(channels >= 1 && channels <= 4, error, "channels is %d, want 1 to 4", channels);
    MOT_REQUIRE(count == 0 || (widths && heights && steps && step_counts), error,
                "%s is NULL, want an array of %zu samples",
                !widths    ? "widths"
                : !heights ? "heights"
                : !steps   ? "steps"
                           : "step_counts",
                count);
    for (size_t i = 0; i < count; i++)
        MOT_REQUIRE(widths[i] >= 1 && heights[i] >= 1 && widths[i] <= 1048576 && heights[i] <= 1048576, error,
                    "sample %zu: the size is %d x %d, want 1 to 1048576 each way", i, widths[i], heights[i]);

    const size_t room = motley_policy_max_steps(policy);
    for (size_t i = 0; i < count; i++) {
        mot_step drawn[MOT_MAX_STEPS];
        const uint64_t sample = samples->ids ? samples->ids[i] : samples->first + i;
        const int n = mot_draw_sample(
            &policy->tables,
            &(mot_drawn_sample){ samples->seed, sample, samples->epoch, widths[i], heights[i], channels }, drawn);
        step_counts[i] = n;
        for (int s = 0; s < n; s++)
            steps[i * room + (size_t)s] = mot_step_told(motley_policy_op(policy, drawn[s].op), &drawn[s]);
    }
    return MOTLEY_OK;
}
