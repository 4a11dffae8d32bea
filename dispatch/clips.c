/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of clips, for policies and for transforms. */
#include "dispatch/clips.h"

#include <stdbool.h>

motley_status mot_clips_check(size_t frames, size_t count, const char *alone, motley_error *error)
{
    if (frames <= 1)
        return MOTLEY_OK;
    MOT_REQUIRE(count % frames == 0, error, "clip_frames is %zu, but there are %zu images, want whole clips", frames,
                count);
    if (alone)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "clip_frames is %zu, but clips have no common statistics %s",
                        frames, alone);
    return MOTLEY_OK;
}

motley_status mot_clips_check_steps(size_t i, const mot_step *steps, int count, size_t first,
                                    const mot_step *first_steps, int first_count, motley_error *error)
{
    bool same = count == first_count;
    for (int s = 0; same && s < count; s++)
        same =
            steps[s].op == first_steps[s].op && (!mot_op_pools(steps[s].op) || steps[s].value == first_steps[s].value);
    MOT_REQUIRE(same, error, "image %zu has other steps than image %zu of its clip, want equal sample ids and views", i,
                first);
    return MOTLEY_OK;
}
