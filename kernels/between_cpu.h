/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear and bicubic WARPs on the CPU: along one axis if the warp allows it, which takes half or a quarter of the
 * taps (between_axis_cpu.h), else along both (between_plane_cpu.h). */
#ifndef MOT_BETWEEN_CPU_H
#define MOT_BETWEEN_CPU_H

#include "kernels/between_axis_cpu.h"

#define BETWEEN_CASE(size, alpha) \
    case 2 * size + (alpha > 0): \
        if (plan.path == MOT_WARP_BILINEAR) \
            between_rows(&p, &plan, 2, size, alpha); \
        else \
            between_rows(&p, &plan, 4, size, alpha); \
        break;

static void warp_between(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    mot_warp_plan plan;
    mot_warp_make_plan(steps[0].op, src->width, src->height, &steps[0].arg, steps[0].interpolation, &plan);
    if (plan.path != MOT_WARP_BILINEAR && plan.path != MOT_WARP_BICUBIC) {
        warp_nearest(src, dst, steps, count, scratch); /* flips and quarter turns move whole pixels */
        return;
    }
    const int planes = src->pixel == 1 ? src->channels : 1, size = src->channels / planes;
    const int64_t row = (int64_t)src->width * size, rows = (src->height - 1) * src->row;
    if ((src->alpha && planes > 1) || (rows < 0 ? -rows : rows) + row > INT32_MAX) {
        mot_cpu_find(&mot_rows_reference, &steps[0], src, dst)->run(src, dst, steps, count, scratch);
        return;
    }
    between_image p = { .planes = planes,
                        .in_row = (int32_t)src->row,
                        .out_row = dst->row,
                        .width = src->width,
                        .height = src->height,
                        .last = (int32_t)((rows > 0 ? rows : 0) + row - BETWEEN_BYTES),
                        .fill = steps[0].fill };
    for (int c = 0; c < planes; c++) {
        p.in[c] = src->data + c * src->channel;
        p.out[c] = dst->data + c * dst->channel;
    }
    if (axis_warp(&p, &plan, size, src->alpha))
        return;
    switch (2 * size + src->alpha) {
        BETWEEN_CASE(1, -1)
        BETWEEN_CASE(2, -1)
        BETWEEN_CASE(2, 1)
        BETWEEN_CASE(3, -1)
        BETWEEN_CASE(4, -1)
        BETWEEN_CASE(4, 3)
    }
}

#endif
