/* SPDX-License-Identifier: Apache-2.0 */
/* motley_mix_apply and motley_mix_targets: checks, then one row of the whole batch per worker. */
#include "kernels/mix.h"
#include "base/values.h"
#include "dispatch/backend.h"
#include "kernels/cpu.h"

#include <inttypes.h>
#include <stdlib.h>

/* A call, shared by the workers. */
typedef struct mix_call {
    const motley_batch *src, *dst;
    const motley_mixed *drawn;
    int32_t width;
    void *stream;
} mix_call;

motley_status mot_mix_check_drawn(const motley_mixed *drawn, size_t count, int32_t width, int32_t height,
                                  motley_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const motley_mixed *m = &drawn[i];
        const motley_erased_box *box = &m->box;
        MOT_REQUIRE((unsigned)m->kind <= MOTLEY_MIX_CUTMIX, error, "image %zu: kind is %d, want one of motley_mix_kind",
                    i, (int)m->kind);
        MOT_REQUIRE(m->partner >= 0 && (size_t)m->partner < count, error,
                    "image %zu: its partner is image %" PRId32 ", there are %zu", i, m->partner, count);
        MOT_REQUIRE(m->lambda >= 0 && m->lambda <= 1 && m->share >= 0 && m->share <= 1, error,
                    "image %zu: lambda is %g and share %g, want 0 to 1", i, m->lambda, m->share);
        MOT_REQUIRE(width == 0 || m->kind != MOTLEY_MIX_CUTMIX ||
                        (box->left >= 0 && box->top >= 0 && box->width >= 0 && box->height >= 0 &&
                         (int64_t)box->left + box->width <= width && (int64_t)box->top + box->height <= height),
                    error,
                    "image %zu: its box of %" PRId32 "x%" PRId32 " at (%" PRId32 ", %" PRId32 ") leaves the image", i,
                    box->width, box->height, box->left, box->top);
    }
    return MOTLEY_OK;
}

static motley_status check(motley_context *context, const mix_call *call, motley_error *error)
{
    const motley_batch *src = call->src, *dst = call->dst;
    MOT_TRY(mot_validate_batch("src", src, error));
    if (dst != src)
        MOT_TRY(mot_validate_batch("dst", dst, error));
    MOT_REQUIRE(dst->count == src->count, error, "dst: count is %zu, want src's %zu", dst->count, src->count);
    if (src->count == 0)
        return MOTLEY_OK;
    MOT_REQUIRE(call->drawn, error, "drawn is NULL, want how %zu images are mixed", src->count);
    MOT_REQUIRE(dst->dtype == src->dtype && dst->channels == src->channels, error,
                "dst: dtype is %d and channels is %" PRId32 ", want src's %d and %" PRId32, (int)dst->dtype,
                dst->channels, (int)src->dtype, src->channels);
    const mot_view first = mot_batch_view(src, 0);
    for (size_t i = 0; i < src->count; i++) {
        const mot_view from = mot_batch_view(src, i), to = mot_batch_view(dst, i);
        MOT_REQUIRE(from.width == first.width && from.height == first.height && to.width == first.width &&
                        to.height == first.height,
                    error, "image %zu: size is %" PRId32 "x%" PRId32 ", want that of image 0, %" PRId32 "x%" PRId32, i,
                    from.width, from.height, first.width, first.height);
    }
    MOT_REQUIRE(src->dtype != MOTLEY_U16, error,
                "src: dtype is uint16, which is not mixed: want uint8, float32, float16 or bfloat16");
    MOT_TRY(mot_mix_check_drawn(call->drawn, src->count, first.width, first.height, error));
    if (dst != src)
        MOT_TRY(mot_validate_apart(src, dst, &context->scratch, error));
    MOT_REQUIRE(context->backend->mix || !call->stream, error, "stream is set, but the %s backend has none",
                context->backend->name);
    return MOTLEY_OK;
}

static void mix_row(void *opaque, size_t y, const mot_cpu_rows *kernels, void *scratch)
{
    const mix_call *call = opaque;
    const size_t width = (size_t)call->width;
    float *rows = scratch; /* [count][width] */
    (void)kernels;
    for (int c = 0; c < call->src->channels; c++) {
        for (size_t i = 0; i < call->src->count; i++) {
            const mot_view src = mot_batch_view(call->src, i);
            mot_cpu_mix_read(&src, call->src->dtype, c, (int32_t)y, rows + i * width);
        }
        for (size_t i = 0; i < call->src->count; i++) {
            const motley_mixed *m = &call->drawn[i];
            const mot_view dst = mot_batch_view(call->dst, i);
            if (m->kind != MOTLEY_MIX_NONE || call->dst != call->src)
                mot_cpu_mix_write(m, rows + i * width, rows + (size_t)m->partner * width, &dst, call->dst->dtype, c,
                                  (int32_t)y);
        }
    }
}

motley_status motley_mix_apply(motley_context *context, const motley_batch *src, const motley_batch *dst,
                               const motley_mixed *drawn, void *stream, motley_error *error)
{
    MOT_REQUIRE(context, error, "context is NULL");
    mix_call call = { .src = src, .dst = dst, .drawn = drawn, .stream = stream };
    MOT_TRY(check(context, &call, error));
    if (src->count == 0)
        return MOTLEY_OK;
    if (context->backend->mix)
        return context->backend->mix(context->state, src, dst, drawn, stream, error);
    const mot_view first = mot_batch_view(src, 0);
    call.width = first.width;
    const size_t bytes = src->count * (size_t)first.width * sizeof(float);
    return context->backend->each(context->state, (size_t)first.height, bytes, mix_row, &call, error);
}

/* Target `k` of image i before mixing. */
static float target(const int64_t *labels, const float *soft, size_t i, int32_t k, int32_t classes, double smoothing)
{
    if (!soft)
        return mot_mix_target(labels[i] == k, classes, smoothing);
    const float given = soft[i * (size_t)classes + (size_t)k];
    return smoothing > 0 ? mot_mix_smooth(given, classes, smoothing) : given;
}

static motley_status check_targets(const motley_mixed *drawn, size_t count, int32_t classes, const int64_t *labels,
                                   const float *soft, double smoothing, const float *targets, motley_error *error)
{
    MOT_REQUIRE(count == 0 || (drawn && targets), error, "%s is NULL, want an array of %zu",
                drawn ? "targets" : "drawn", count);
    MOT_REQUIRE(count == 0 || labels || soft, error, "neither labels nor soft targets are given, want one of the two");
    MOT_REQUIRE(!labels || !soft, error, "both labels and soft targets are given, want one of the two");
    MOT_REQUIRE(classes >= 1, error, "classes is %" PRId32 ", want 1 or more", classes);
    MOT_TRY(mot_check_array("count", count, mot_times((size_t)classes, sizeof *targets) + sizeof *drawn, error));
    MOT_REQUIRE(smoothing >= 0 && smoothing <= 1, error, "smoothing is %g, want 0 to 1", smoothing);
    MOT_REQUIRE((uintptr_t)labels % sizeof *labels == 0, error, "labels is not aligned to %zu bytes", sizeof *labels);
    MOT_REQUIRE((uintptr_t)soft % sizeof *soft == 0 && (uintptr_t)targets % sizeof *targets == 0, error,
                "%s is not aligned to %zu bytes", (uintptr_t)soft % sizeof *soft ? "soft" : "targets", sizeof *targets);
    const uintptr_t bytes = count * (size_t)classes * sizeof *targets, from = (uintptr_t)soft, to = (uintptr_t)targets;
    MOT_REQUIRE(!soft || from == to || from + bytes <= to || to + bytes <= from, error,
                "targets shares memory with soft, want the same array or another");
    return mot_mix_check_drawn(drawn, count, 0, 0, error);
}

/* motley_mix_targets, checked but for the labels, in host memory. */
static motley_status targets_on_host(const motley_mixed *drawn, size_t count, int32_t classes, const int64_t *labels,
                                     const float *soft, double smoothing, float *targets, mot_kept *scratch,
                                     motley_error *error)
{
    for (size_t i = 0; labels && i < count; i++)
        MOT_REQUIRE(labels[i] >= 0 && labels[i] < classes, error,
                    "image %zu has label %" PRId64 ", want 0 to %" PRId32 ", as there are %" PRId32 " classes", i,
                    labels[i], classes - 1, classes);
    MOT_TRY(mot_keep(scratch, count * sizeof(float), count, error));
    float *const column = scratch->memory; /* one class of all images: targets may overwrite `soft` */
    for (int32_t k = 0; k < classes; k++) {
        for (size_t i = 0; i < count; i++)
            column[i] = target(labels, soft, i, k, classes, smoothing);
        for (size_t i = 0; i < count; i++) {
            const motley_mixed *m = &drawn[i];
            targets[i * (size_t)classes + (size_t)k] =
                mot_mix_value(column[i], column[m->partner], (float)m->share, (float)(1.0 - m->share), MOTLEY_F32);
        }
    }
    return MOTLEY_OK;
}

motley_status motley_mix_targets(motley_context *context, const motley_mixed *drawn, size_t count, int32_t classes,
                                 const int64_t *labels, const float *soft, double smoothing, float *targets,
                                 void *stream, motley_error *error)
{
    const mot_backend *const backend = context ? context->backend : NULL;
    const int on_device = backend && backend->mix_targets;
    MOT_REQUIRE(on_device || !stream, error, "stream is set, but %s has none", backend ? backend->name : "the host");
    MOT_TRY(check_targets(drawn, count, classes, labels, soft, smoothing, targets, error));
    if (count == 0)
        return MOTLEY_OK;
    if (!on_device) {
        mot_kept own = { 0 };
        const motley_status status = targets_on_host(drawn, count, classes, labels, soft, smoothing, targets,
                                                     context ? &context->scratch : &own, error);
        free(own.memory);
        return status;
    }
    MOT_REQUIRE(count * (size_t)classes <= INT32_MAX, error, "%zu images of %" PRId32 " classes are too many targets",
                count, classes);
    const mot_mix_targets call = { count, classes, labels, soft, smoothing, targets };
    return backend->mix_targets(context->state, drawn, &call, stream, error);
}
