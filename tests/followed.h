/* SPDX-License-Identifier: Apache-2.0 */
/* motley_follow for one kind of what follows. */
#ifndef TESTS_FOLLOWED_H
#define TESTS_FOLLOWED_H

#include <motley.h>

static inline motley_status follow_boxes(const motley_drawn *drawn, const motley_box_rules *params,
                                         const size_t *offsets, double *boxes, double *visibility, uint8_t *keep,
                                         motley_error *error)
{
    const motley_followed followed = { .boxes_count = offsets[drawn->count],
                                       .boxes = boxes,
                                       .box_offsets = offsets,
                                       .visibility = visibility,
                                       .keep = keep,
                                       .box_params = params ? *params : (motley_box_rules){ 0 } };
    return motley_follow(drawn, &followed, error);
}

static inline motley_status follow_points(const motley_drawn *drawn, motley_convention convention,
                                          const size_t *offsets, double *points, uint8_t *flags, motley_error *error)
{
    const motley_followed followed = { .points_count = offsets[drawn->count],
                                       .points = points,
                                       .point_offsets = offsets,
                                       .flags = flags,
                                       .convention = convention };
    return motley_follow(drawn, &followed, error);
}

static inline motley_status follow_matrices(const motley_drawn *drawn, double *matrices, motley_error *error)
{
    return motley_follow(drawn, &(motley_followed){ .matrices = matrices }, error);
}

/* The matrix of the steps of one image. */
static inline motley_status steps_matrix(const motley_step *steps, int32_t count, int32_t width, int32_t height,
                                         double *matrix, motley_error *error)
{
    const motley_drawn drawn = { .count = 1,
                                 .steps = steps,
                                 .step_counts = &count,
                                 .max_steps = (size_t)count,
                                 .widths = &width,
                                 .heights = &height };
    return follow_matrices(&drawn, matrix, error);
}

#endif
