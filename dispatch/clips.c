/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of clips, for policies and for transforms. */
#include "dispatch/clips.h"
#include "base/values.h"
#include "dispatch/backend.h"

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

motley_status mot_clips_image(const motley_batch *batch, size_t first, size_t frames, motley_image *clip,
                              motley_error *error)
{
    const mot_view v = mot_batch_view(batch, first), second = mot_batch_view(batch, first + 1);
    const int64_t apart = (int64_t)((intptr_t)second.data - (intptr_t)v.data);
    for (size_t k = 1; k < frames; k++) {
        const mot_view w = mot_batch_view(batch, first + k);
        MOT_REQUIRE(w.width == v.width && w.height == v.height, error,
                    "image %zu is %dx%d, but image %zu of its clip %dx%d, want one size", first + k, w.width, w.height,
                    first, v.width, v.height);
        MOT_REQUIRE(w.row == v.row && w.pixel == v.pixel && w.channel == v.channel &&
                        (intptr_t)w.data - (intptr_t)v.data == (int64_t)k * apart,
                    error, "image %zu is not placed in memory like the others of its clip, want one dense batch",
                    first + k);
    }
    const int64_t pixels = (int64_t)v.width * v.height;
    MOT_REQUIRE((int64_t)frames <= INT32_MAX / pixels, error,
                "a clip has %zu frames of %dx%d, want at most 2^31-1 pixels", frames, v.width, v.height);
    *clip = (motley_image){ v.data, (int32_t)pixels, (int32_t)frames, apart, v.pixel, v.channel };
    if (v.row == v.pixel * v.width && pixels <= MOT_MAX_SIDE && frames <= MOT_MAX_SIDE)
        return MOTLEY_OK;
    *clip = (motley_image){ v.data, v.width, (int32_t)(v.height * (int64_t)frames), v.row, v.pixel, v.channel };
    MOT_REQUIRE(
        apart == v.row * v.height && clip->height <= MOT_MAX_SIDE, error,
        "a clip has %zu frames of %dx%d, want rows without gaps and at most %d pixels a frame, or frames one below "
        "the other and at most %d rows",
        frames, v.width, v.height, MOT_MAX_SIDE, MOT_MAX_SIDE);
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
