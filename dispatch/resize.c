/* SPDX-License-Identifier: Apache-2.0 */
/* motley_resize: checks crops and boxes, then one image per worker. */
#include "base/params.h"
#include "dispatch/backend.h"
#include "dispatch/wide.h"
#include "kernels/cpu.h"

#include <inttypes.h>
#include <math.h>

/* A call, shared by the workers. */
typedef struct resize_call {
    const motley_batch *src, *dst;
    const motley_resize_params *params;
} resize_call;

static const char *const filter_names[] = { "bilinear", "bicubic", "lanczos", "nearest", "box", "hamming" };

mot_resize mot_resize_as(const motley_resize_params *p, const mot_view *src, const mot_view *dst, size_t i)
{
    const motley_crop whole = { 0, 0, src->width, src->height };
    const motley_crop *const crop = p->crops && p->crops[i].width ? &p->crops[i] : &whole;
    mot_resize how = mot_resize_of(p->filter, p->order, crop->width, crop->height, dst->width, dst->height);
    how.left = crop->left, how.top = crop->top;
    how.flip_horizontal = p->flips && p->flips[i];
    for (int k = 0; p->boxes && k < 4; k++)
        how.box[k] = (float)p->boxes[i][k];
    return how;
}

static motley_status check_crop(const motley_crop *crop, const mot_view *src, size_t i, motley_error *error)
{
    if (crop->left == 0 && crop->top == 0 && crop->width == 0 && crop->height == 0)
        return MOTLEY_OK;
    MOT_REQUIRE(crop->width >= 1 && crop->height >= 1, error,
                "crop %zu: its size is %" PRId32 "x%" PRId32 ", want 1x1 or more", i, crop->width, crop->height);
    MOT_REQUIRE(crop->left >= 0 && crop->top >= 0 && (int64_t)crop->left + crop->width <= src->width &&
                    (int64_t)crop->top + crop->height <= src->height,
                error,
                "crop %zu: %" PRId32 "x%" PRId32 " at (%" PRId32 ", %" PRId32 ") leaves the image of %" PRId32
                "x%" PRId32,
                i, crop->width, crop->height, crop->left, crop->top, src->width, src->height);
    return MOTLEY_OK;
}

static motley_status check_box(const double box[4], const mot_view *src, size_t i, motley_error *error)
{
    for (int k = 0; k < 4; k++)
        MOT_REQUIRE(isfinite(box[k]), error, "box %zu: number %d is %g, want a finite number", i, k, box[k]);
    /* checked after rounding to binary32, as in Pillow */
    const float left = (float)box[0], top = (float)box[1], right = (float)box[2], bottom = (float)box[3];
    MOT_REQUIRE(left >= 0 && top >= 0 && right <= (float)src->width && bottom <= (float)src->height, error,
                "box %zu: (%g, %g, %g, %g) leaves the image of %" PRId32 "x%" PRId32, i, box[0], box[1], box[2], box[3],
                src->width, src->height);
    MOT_REQUIRE(right > left && bottom > top, error, "box %zu: (%g, %g, %g, %g) is empty", i, box[0], box[1], box[2],
                box[3]);
    return MOTLEY_OK;
}

motley_status mot_resize_check(const motley_batch *src, const motley_batch *dst, const motley_resize_params *p,
                               motley_error *error)
{
    MOT_TRY(mot_validate_batch("src", src, error));
    MOT_TRY(mot_validate_batch("dst", dst, error));
    MOT_REQUIRE(dst->count == src->count, error, "dst: count is %zu, want src's %zu", dst->count, src->count);
    if (src->count == 0)
        return MOTLEY_OK;
    MOT_TRY(mot_validate_src(src, error));
    MOT_REQUIRE(dst->dtype == src->dtype, error, "dst: dtype is %d, want src's, MOTLEY_%s", (int)dst->dtype,
                src->dtype == MOTLEY_U8    ? "U8"
                : src->dtype == MOTLEY_U16 ? "U16"
                                           : "F32");
    MOT_REQUIRE(dst->channels == src->channels, error, "dst: channels is %" PRId32 ", want src's %" PRId32,
                dst->channels, src->channels);
    MOT_TRY(mot_validate_alpha("dst", src, dst, error));
    MOT_REQUIRE((unsigned)p->filter <= MOTLEY_FILTER_HAMMING, error,
                "filter is %d, want one of motley_filter, 0 (%s) to 5 (%s)", (int)p->filter, filter_names[0],
                filter_names[5]);
    MOT_REQUIRE((unsigned)p->order <= MOTLEY_ORDER_PILLOW_12_2, error,
                "order is %d, want one of motley_resize_order, 0 (pillow-13) to 2 (pillow-12.2)", (int)p->order);
    return MOTLEY_OK;
}

/* Checks what comes with each run. */
static motley_status check_regions(motley_context *context, const resize_call *call, motley_error *error)
{
    const motley_resize_params *p = call->params;
    for (size_t i = 0; (p->crops || p->boxes) && i < call->src->count; i++) {
        mot_view view = mot_batch_view(call->src, i);
        if (p->crops) {
            MOT_TRY(check_crop(&p->crops[i], &view, i, error));
            view.width = p->crops[i].width ? p->crops[i].width : view.width;
            view.height = p->crops[i].height ? p->crops[i].height : view.height;
        }
        if (p->boxes)
            MOT_TRY(check_box(p->boxes[i], &view, i, error));
    }
    MOT_REQUIRE(context->backend->resize || !p->stream, error, "stream is set, but the %s backend has none",
                context->backend->name);
    return mot_validate_apart(call->src, call->dst, &context->scratch, error);
}

static void resize_image(void *opaque, size_t i, const mot_cpu_rows *rows, void *scratch)
{
    const resize_call *call = opaque;
    const mot_view src = mot_batch_view(call->src, i), dst = mot_batch_view(call->dst, i);
    const mot_resize how = mot_resize_as(call->params, &src, &dst, i);
    if (mot_batch_is_wide(call->src)) {
        mot_wide_resize(rows, &src, &dst, call->src->dtype, &how, scratch);
        return;
    }
    for (mot_part p = mot_part_at(0, src.channels); p.first < src.channels;
         p = mot_part_at(p.first + p.count, src.channels)) {
        const mot_view from = mot_part_view(call->src, i, p), to = mot_part_view(call->dst, i, p);
        rows->resize(&from, &to, &how, scratch);
    }
}

motley_status mot_resize_run(motley_context *context, const motley_batch *src, const motley_batch *dst,
                             const motley_resize_params *params, motley_error *error)
{
    const resize_call call = { src, dst, params };
    if (src->count == 0)
        return MOTLEY_OK;
    MOT_TRY(check_regions(context, &call, error));
    MOT_TRY(mot_wide_check(src, NULL, NULL, error));
    if (context->backend->resize)
        return context->backend->resize(context->state, src, dst, params, error);
    const mot_cpu_rows *rows = context->backend->rows(context->state);
    size_t bytes = 0;
    for (size_t i = 0; i < src->count; i++) {
        const mot_view from = mot_batch_view(src, i), to = mot_batch_view(dst, i);
        const mot_resize how = mot_resize_as(params, &from, &to, i);
        const size_t of_image = mot_batch_is_wide(src) ? mot_wide_resize_memory(&from, &to)
                                                       : rows->resize_scratch(how.width, how.height, to.width,
                                                                              to.height, mot_part_most(to.channels));
        bytes = of_image > bytes ? of_image : bytes;
    }
    return context->backend->each(context->state, src->count, bytes, resize_image, (void *)&call, error);
}

motley_status motley_resize(motley_context *context, const motley_batch *src, const motley_batch *dst,
                            const motley_resize_params *params, motley_error *error)
{
    MOT_REQUIRE(context, error, "context is NULL");
    MOT_READ_PARAMS(motley_resize_params, params, error);
    MOT_TRY(mot_resize_check(src, dst, params, error));
    return mot_resize_run(context, src, dst, params, error);
}
