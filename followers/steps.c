/* SPDX-License-Identifier: Apache-2.0 */
/* motley_follower_steps: turns recorded draws of images into draws for their followers. */
#include "base/error.h"
#include "base/params.h"
#include "base/values.h"
#include "followers/matrix.h"

#include <string.h>

motley_status motley_follower_steps(const motley_drawn *drawn, const motley_follower_params *params, motley_step *steps,
                                    int32_t *step_counts, motley_place *places, motley_error *error)
{
    MOT_READ_PARAMS(motley_follower_params, params, error);
    MOT_TRY(mot_check_interpolation(params->interpolation, error));
    MOT_TRY(mot_drawn_check(drawn, NULL, step_counts, "step_counts", error));
    MOT_REQUIRE(drawn->count == 0 || steps || drawn->max_steps == 0, error,
                "steps is NULL, want room for those of %zu images", drawn->count);
    MOT_REQUIRE(drawn->count == 0 || !drawn->places == !places, error, "%s",
                places ? "places is set, but drawn->places is NULL: want both or neither"
                       : "places is NULL, but drawn->places is set: want both or neither");
    for (size_t i = 0; i < drawn->count; i++) {
        const size_t first = i * drawn->max_steps;
        int32_t kept = 0, width = drawn->widths[i], height = drawn->heights[i];
        mot_geometry placed[MOT_GEOMETRIES_OF_RESIZES];
        int32_t moves;
        if (places)
            MOT_TRY(mot_geometry_of_place(drawn, i, placed, &moves, &width, &height, error));
        for (int32_t s = 0; s < drawn->step_counts[i]; s++) {
            const motley_step *const from = &drawn->steps[first + (size_t)s];
            mot_geometry geometry;
            MOT_TRY(mot_fail_in(error, mot_geometry_of(from, width, height, &geometry, error),
                                "image %zu, step %d: ", i, s));
            if (geometry.kind == MOT_STAYS || (geometry.kind == MOT_ERASES && !params->erase))
                continue;
            motley_step *const to = &steps[first + (size_t)kept++];
            *to = *from;
            to->interpolation = geometry.kind == MOT_ERASES ? MOTLEY_NEAREST : params->interpolation;
            memcpy(to->fill, params->fill, sizeof to->fill);
        }
        step_counts[i] = kept;
        if (!places)
            continue;
        places[i] = drawn->places[i];
        places[i].before = 0; /* these change colours alone, so none is kept */
        places[i].filter = places[i].first.filter = mot_interpolation_filter(params->interpolation);
        if (!params->erase)
            places[i].boxes_count = 0;
    }
    return MOTLEY_OK;
}
