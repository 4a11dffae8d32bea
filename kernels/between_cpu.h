/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear and bicubic WARPs on the CPU: a block of pixels at a time, in three loops. Positions and the blend are for
 * the vectoriser; fetching the samples in between is not. Same doubles, same order as kernels/warp.h. */
#ifndef MOT_BETWEEN_CPU_H
#define MOT_BETWEEN_CPU_H

#include "kernels/lanes_cpu.h"
#include "kernels/warp.h"

#define BETWEEN_BLOCK 64 /* pixels */
#define BETWEEN_TAPS 16

typedef struct between_block {
    int32_t i[BETWEEN_BLOCK], j[BETWEEN_BLOCK]; /* the sample up and left */
    double dx[BETWEEN_BLOCK], dy[BETWEEN_BLOCK];
    uint8_t inside[BETWEEN_BLOCK];
    uint32_t tap[BETWEEN_TAPS][BETWEEN_BLOCK]; /* a pixel each, channel c in bits 8 c .. 8 c + 7 */
    uint8_t out[4][BETWEEN_BLOCK];
} between_block;

/* An image, or one plane of it. */
typedef struct between_plane {
    const uint8_t *in;
    uint8_t *out;
    int64_t in_row, out_row;
    int width, height;
    int size;     /* bytes of a pixel, 1..4 */
    int64_t last; /* where the pixel lies after which memory may end */
    const uint8_t *fill;
} between_plane;

/* mot_warp_between for n pixels of row y from x on. Outside the image the position is cut to it, and is not used. */
static inline int between_positions(const mot_warp_plan *plan, int x, int y, int n, between_block *b)
{
    const double yc = y + 0.5, along_x = plan->m[1] * yc, along_y = plan->m[4] * yc;
    const double m0 = plan->m[0], m2 = plan->m[2], m3 = plan->m[3], m5 = plan->m[5];
    const double width = plan->width, height = plan->height;
    int any = 0;
    for (int k = 0; k < n; k++) {
        const double xc = (x + k) + 0.5;
        const double in_x = (m0 * xc + along_x) + m2, in_y = (m3 * xc + along_y) + m5;
        const int inside = (in_x >= 0.0) & (in_x < width) & (in_y >= 0.0) & (in_y < height);
        const double low_x = in_x > 0.0 ? in_x : 0.0, low_y = in_y > 0.0 ? in_y : 0.0; /* so that the casts fit */
        const double safe_x = (low_x < width ? low_x : width) - 0.5, safe_y = (low_y < height ? low_y : height) - 0.5;
        const int whole_x = (int)safe_x, whole_y = (int)safe_y;
        b->i[k] = whole_x - (safe_x < (double)whole_x); /* floor */
        b->j[k] = whole_y - (safe_y < (double)whole_y);
        b->dx[k] = safe_x - (double)b->i[k];
        b->dy[k] = safe_y - (double)b->j[k];
        b->inside[k] = (uint8_t)inside;
        any |= inside;
    }
    return any;
}

/* The pixel at `at`. Three bytes are read as four, from one byte before where nothing may lie behind. */
static inline uint32_t between_load(const between_plane *p, int64_t at, int size)
{
    uint32_t v = 0;
    if (size == 3) {
        const int back = at == p->last;
        memcpy(&v, p->in + at - back, 4);
        return v >> (8 * back);
    }
    memcpy(&v, p->in + at, (size_t)size);
    return v;
}

static inline void between_fetch(const between_plane *p, int n, int reach, int size, between_block *b)
{
    const int side = 2 * reach; /* taps along each direction: i - reach + 1 .. i + reach */
    for (int k = 0; k < n; k++) {
        int64_t column[4];
        for (int u = 0; u < side; u++)
            column[u] = (int64_t)mot_warp_clamp(b->i[k] + u - reach + 1, p->width) * size;
        for (int v = 0; v < side; v++) {
            const int64_t row = mot_warp_clamp(b->j[k] + v - reach + 1, p->height) * p->in_row;
            for (int u = 0; u < side; u++)
                b->tap[v * side + u][k] = between_load(p, row + column[u], size);
        }
    }
}

/* Channel c of a tap, premultiplied by the tap's last channel when the image has alpha. */
static inline uint8_t between_sample(uint32_t tap, int c, int alpha)
{
    const uint8_t v = (uint8_t)(tap >> (8 * c));
    return alpha >= 0 && c < alpha ? mot_premultiply(v, (uint8_t)(tap >> (8 * alpha))) : v;
}

static inline void between_bilinear(between_block *b, int c, int alpha)
{
    MOT_LANES
    for (int k = 0; k < BETWEEN_BLOCK; k++)
        b->out[c][k] = mot_warp_bilinear(between_sample(b->tap[0][k], c, alpha), between_sample(b->tap[1][k], c, alpha),
                                         between_sample(b->tap[2][k], c, alpha), between_sample(b->tap[3][k], c, alpha),
                                         b->dx[k], b->dy[k]);
}

static inline double between_cubic(const between_block *b, int row, int c, int alpha, int k)
{
    return mot_warp_cubic(
        between_sample(b->tap[4 * row][k], c, alpha), between_sample(b->tap[4 * row + 1][k], c, alpha),
        between_sample(b->tap[4 * row + 2][k], c, alpha), between_sample(b->tap[4 * row + 3][k], c, alpha), b->dx[k]);
}

static inline void between_bicubic(between_block *b, int c, int alpha)
{
    MOT_LANES
    for (int k = 0; k < BETWEEN_BLOCK; k++)
        b->out[c][k] = mot_warp_bicubic(between_cubic(b, 0, c, alpha, k), between_cubic(b, 1, c, alpha, k),
                                        between_cubic(b, 2, c, alpha, k), between_cubic(b, 3, c, alpha, k), b->dy[k]);
}

static inline void between_block_done(const between_plane *p, const between_block *b, int n, uint8_t *out, int size,
                                      int alpha)
{
    for (int k = 0; k < n; k++, out += size)
        for (int c = 0; c < size; c++) {
            const uint8_t v = b->inside[k] ? b->out[c][k] : p->fill[c];
            const uint8_t a = alpha < 0 ? 255 : b->inside[k] ? b->out[alpha][k] : p->fill[alpha];
            out[c] = c < alpha ? mot_unpremultiply(v, a) : v;
        }
}

/* `size` and `alpha` (its channel, or -1) are constants where this is called, so that each case is a loop of its own.
 */
static inline void between_rows(const between_plane *p, const mot_warp_plan *plan, int size, int alpha)
{
    between_block b;
    memset(&b, 0, sizeof b);
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x += BETWEEN_BLOCK) {
            const int n = p->width - x < BETWEEN_BLOCK ? p->width - x : BETWEEN_BLOCK;
            if (between_positions(plan, x, y, n, &b)) {
                if (plan->path == MOT_WARP_BILINEAR) {
                    between_fetch(p, n, 1, size, &b);
                    for (int c = 0; c < size; c++)
                        between_bilinear(&b, c, alpha);
                } else {
                    between_fetch(p, n, 2, size, &b);
                    for (int c = 0; c < size; c++)
                        between_bicubic(&b, c, alpha);
                }
            }
            between_block_done(p, &b, n, p->out + y * p->out_row + (int64_t)x * size, size, alpha);
        }
}

static void warp_between(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    mot_warp_plan plan;
    mot_warp_make_plan(steps[0].op, src->width, src->height, &steps[0].arg, steps[0].interpolation, &plan);
    if (plan.path != MOT_WARP_BILINEAR && plan.path != MOT_WARP_BICUBIC) {
        warp_nearest(src, dst, steps, count, scratch); /* flips and quarter turns move whole pixels */
        return;
    }
    const int planes = src->pixel == 1 ? src->channels : 1, size = src->channels / planes;
    const int has_alpha = mot_color_channels(src->channels) != src->channels;
    if ((has_alpha && planes > 1) || (int64_t)src->width * src->height < 2) {
        mot_cpu_find(&mot_rows_reference, &steps[0], src, dst)->run(src, dst, steps, count, scratch);
        return;
    }
    for (int c = 0; c < planes; c++) {
        const between_plane p = { .in = src->data + c * src->channel,
                                  .out = dst->data + c * dst->channel,
                                  .in_row = src->row,
                                  .out_row = dst->row,
                                  .width = src->width,
                                  .height = src->height,
                                  .size = size,
                                  .last = (src->row > 0 ? (src->height - 1) * src->row : 0) +
                                          (int64_t)(src->width - 1) * size,
                                  .fill = steps[0].fill + c };
        if (size == 1)
            between_rows(&p, &plan, 1, -1);
        else if (size == 2)
            between_rows(&p, &plan, 2, 1);
        else if (size == 3)
            between_rows(&p, &plan, 3, -1);
        else
            between_rows(&p, &plan, 4, 3);
    }
}

#endif
