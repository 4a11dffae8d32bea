/* SPDX-License-Identifier: Apache-2.0 */
/* motley_mix_apply and motley_mix_targets: checks, then one row of the whole batch per worker. */
#include "kernels/mix.h"
#include "base/values.h"
#include "dispatch/backend.h"
#include "kernels/cpu.h"

#include <inttypes.h>
#include <stdlib.h>

static bool lies_within(const motley_erased_box *box, int32_t width, int32_t height)
{
    return box->left >= 0 && box->top >= 0 && box->width >= 0 && box->height >= 0 &&
           (int64_t)box->left + box->width <= width && (int64_t)box->top + box->height <= height;
}

/* Checks the instances that are pasted into image i, and its planes. */
static motley_status check_instances(const motley_mixed *m, const motley_paste *pastes, const motley_mix_masks *masks,
                                     size_t i, motley_error *error)
{
    MOT_REQUIRE(masks && masks->offsets && masks->src && masks->dst && masks->extents, error,
                "image %zu has instances that are pasted, want masks with offsets, src, dst and extents", i);
    const size_t *const offsets = masks->offsets + m->partner;
    MOT_REQUIRE(m->grow >= 0 && m->grow <= MOTLEY_MAX_GROW, error, "image %zu: grow is %" PRId32 ", want 0 to %d", i,
                m->grow, MOTLEY_MAX_GROW);
    for (int32_t k = m->paste; k < m->paste + m->pastes; k++)
        MOT_REQUIRE(pastes[k].image == m->partner && pastes[k].object >= 0 &&
                        (size_t)pastes[k].object < offsets[1] - offsets[0],
                    error,
                    "paste %" PRId32 " is object %" PRId32 " of image %" PRId32 ", want one of the partner, image "
                    "%" PRId32 ", which has %zu",
                    k, pastes[k].object, pastes[k].image, m->partner, offsets[1] - offsets[0]);
    MOT_REQUIRE(m->pastes == 0 || masks->src[m->partner], error, "masks.src of image %" PRId32 " is NULL", m->partner);
    MOT_REQUIRE(masks->offsets[i] == masks->offsets[i + 1] || masks->src[i], error, "masks.src of image %zu is NULL",
                i);
    MOT_REQUIRE(masks->dst[i] || (masks->offsets[i] == masks->offsets[i + 1] && m->pastes == 0), error,
                "masks.dst of image %zu is NULL, want room for its own masks and %" PRId32, i, m->pastes);
    return MOTLEY_OK;
}

/* Checks the pastes of image i. */
static motley_status check_pastes(const motley_mixed *m, const motley_paste *pastes, const motley_mix_masks *masks,
                                  size_t i, size_t count, int32_t width, int32_t height, motley_error *error)
{
    MOT_REQUIRE(pastes, error, "image %zu has objects that are pasted, want pastes, which is NULL", i);
    MOT_REQUIRE(m->paste >= 0 && m->pastes >= 0 && m->pastes <= INT32_MAX - m->paste, error,
                "image %zu: it has %" PRId32 " pastes from the %" PRId32 "th on, want numbers from 0", i, m->pastes,
                m->paste);
    if (m->kind == MOTLEY_MIX_INSTANCES)
        return check_instances(m, pastes, masks, i, error);
    for (int32_t k = m->paste; k < m->paste + m->pastes; k++) {
        const motley_paste *const p = &pastes[k];
        const motley_erased_box from = { p->left, p->top, p->part.width, p->part.height };
        MOT_REQUIRE(p->image >= 0 && (size_t)p->image < count, error,
                    "paste %" PRId32 " is of image %" PRId32 ", there are %zu", k, p->image, count);
        MOT_REQUIRE(lies_within(&p->part, width, height) && lies_within(&from, width, height), error,
                    "paste %" PRId32 ": its part of %" PRId32 "x%" PRId32 " leaves an image", k, p->part.width,
                    p->part.height);
    }
    return MOTLEY_OK;
}

motley_status mot_mix_check_drawn(const motley_mixed *drawn, const motley_paste *pastes, const motley_mix_masks *masks,
                                  size_t count, int32_t width, int32_t height, motley_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const motley_mixed *m = &drawn[i];
        const motley_erased_box *box = &m->box;
        MOT_REQUIRE((unsigned)m->kind <= MOTLEY_MIX_INSTANCES, error,
                    "image %zu: kind is %d, want one of motley_mix_kind", i, (int)m->kind);
        MOT_REQUIRE(m->partner >= 0 && (size_t)m->partner < count, error,
                    "image %zu: its partner is image %" PRId32 ", there are %zu", i, m->partner, count);
        MOT_REQUIRE(m->lambda >= 0 && m->lambda <= 1 && m->share >= 0 && m->share <= 1, error,
                    "image %zu: lambda is %g and share %g, want 0 to 1", i, m->lambda, m->share);
        MOT_REQUIRE(width == 0 || m->kind != MOTLEY_MIX_CUTMIX || lies_within(box, width, height), error,
                    "image %zu: its box of %" PRId32 "x%" PRId32 " at (%" PRId32 ", %" PRId32 ") leaves the image", i,
                    box->width, box->height, box->left, box->top);
        if (width > 0 && (m->kind == MOTLEY_MIX_PASTE || m->kind == MOTLEY_MIX_INSTANCES))
            MOT_TRY(check_pastes(m, pastes, masks, i, count, width, height, error));
    }
    return MOTLEY_OK;
}

/* Whether the images are resized, or read elsewhere than where they are written. */
static bool gathers(const mot_mix_images *call)
{
    const mot_view first = mot_batch_view(call->src, 0), result = mot_batch_view(call->dst, 0);
    bool pastes = false;
    for (size_t i = 0; i < call->src->count; i++)
        pastes |= call->drawn[i].kind == MOTLEY_MIX_PASTE;
    return pastes || first.width != result.width || first.height != result.height;
}

static motley_status check_sizes(const char *name, const motley_batch *batch, motley_error *error)
{
    const mot_view first = mot_batch_view(batch, 0);
    for (size_t i = 1; i < batch->count; i++) {
        const mot_view v = mot_batch_view(batch, i);
        MOT_REQUIRE(v.width == first.width && v.height == first.height, error,
                    "%s image %zu: size is %" PRId32 "x%" PRId32 ", want that of image 0, %" PRId32 "x%" PRId32, name,
                    i, v.width, v.height, first.width, first.height);
    }
    return MOTLEY_OK;
}

static motley_status check(motley_context *context, mot_mix_images *call, void *stream, motley_error *error)
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
    const mot_view first = mot_batch_view(src, 0), result = mot_batch_view(dst, 0);
    MOT_TRY(check_sizes("src", src, error));
    MOT_TRY(check_sizes("dst", dst, error));
    MOT_REQUIRE(src->dtype != MOTLEY_U16, error,
                "src: dtype is uint16, which is not mixed: want uint8, float32, float16 or bfloat16");
    MOT_TRY(mot_mix_check_drawn(call->drawn, call->pastes, call->masks, src->count, first.width, first.height, error));
    const bool resizes = first.width != result.width || first.height != result.height;
    call->gathers = gathers(call);
    for (size_t i = 0; i < src->count; i++) {
        MOT_REQUIRE(!resizes || call->drawn[i].kind != MOTLEY_MIX_CUTMIX, error,
                    "image %zu is mixed by CutMix, want dst of src's size", i);
        MOT_REQUIRE(dst != src || call->drawn[i].kind != MOTLEY_MIX_PASTE, error,
                    "image %zu has objects that are pasted, want another dst than src", i);
        MOT_REQUIRE(!call->gathers || call->drawn[i].kind != MOTLEY_MIX_INSTANCES, error,
                    "image %zu has instances that are pasted, want dst of src's size, and no image with PASTE", i);
    }
    if (dst != src)
        MOT_TRY(mot_validate_apart(src, dst, &context->scratch, error));
    MOT_REQUIRE(context->backend->mix || !stream, error, "stream is set, but the %s backend has none",
                context->backend->name);
    return MOTLEY_OK;
}

/* Finds where instances are pasted into row y of images. */
static void cut_row(void *opaque, size_t y, const mot_cpu_rows *kernels, void *scratch)
{
    const mot_mix_images *const call = opaque;
    const mot_view first = mot_batch_view(call->src, 0);
    const size_t width = (size_t)first.width, pixels = width * (size_t)first.height;
    (void)kernels;
    for (size_t i = 0; i < call->src->count; i++) {
        const motley_mixed *const m = &call->drawn[i];
        if (m->kind == MOTLEY_MIX_INSTANCES)
            mot_cpu_mix_cut(call->masks->src[m->partner], call->pastes + m->paste, m->pastes, first.width, first.height,
                            m->grow, (int32_t)y, scratch, call->cut + i * pixels + y * width);
    }
}

/* Writes all planes of image i. */
static void mask_image(void *opaque, size_t i, const mot_cpu_rows *kernels, void *scratch)
{
    const mot_mix_images *const call = opaque;
    const motley_mix_masks *const masks = call->masks;
    const motley_mixed *const m = &call->drawn[i];
    const mot_view first = mot_batch_view(call->src, 0);
    const size_t pixels = (size_t)first.width * (size_t)first.height, own = masks->offsets[i + 1] - masks->offsets[i];
    motley_extent *extents = masks->extents;
    (void)kernels;
    (void)scratch;
    if (m->kind != MOTLEY_MIX_INSTANCES)
        return;
    for (size_t j = 0; j < i; j++)
        if (call->drawn[j].kind == MOTLEY_MIX_INSTANCES)
            extents += masks->offsets[j + 1] - masks->offsets[j] + (size_t)call->drawn[j].pastes;
    for (size_t k = 0; k < own + (size_t)m->pastes; k++) {
        const uint8_t *const src =
            k < own ? masks->src[i] + k * pixels
                    : masks->src[m->partner] + (size_t)call->pastes[(size_t)m->paste + k - own].object * pixels;
        extents[k] = mot_cpu_mix_mask(src, k < own ? call->cut + i * pixels : NULL, first.width, first.height,
                                      masks->dst[i] + k * pixels);
    }
}

static void mix_row(void *opaque, size_t y, const mot_cpu_rows *kernels, void *scratch)
{
    const mot_mix_images *call = opaque;
    const size_t width = (size_t)mot_batch_view(call->dst, 0).width;
    float *rows = scratch; /* [count][width] */
    const size_t pixels = width * (size_t)mot_batch_view(call->dst, 0).height;
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
                mot_cpu_mix_write(m, rows + i * width, rows + (size_t)m->partner * width,
                                  call->cut ? call->cut + i * pixels + y * width : NULL, &dst, call->dst->dtype, c,
                                  (int32_t)y);
        }
    }
}

/* Which columns of dst, first..*end - 1, read the columns of a part of src. */
static int32_t columns_in(const int32_t *columns, int32_t width, const motley_erased_box *part, int32_t *end)
{
    int32_t first = 0;
    while (first < width && columns[first] < part->left)
        first++;
    for (*end = first; *end < width && columns[*end] < part->left + part->width;)
        ++*end;
    return first;
}

/* A row of dst where it reads other pixels than those of the same row. */
static void gather_row(void *opaque, size_t y, const mot_cpu_rows *kernels, void *scratch)
{
    const mot_mix_images *const call = opaque;
    const motley_dtype dtype = call->src->dtype;
    const mot_view first = mot_batch_view(call->src, 0), result = mot_batch_view(call->dst, 0);
    const int32_t width = result.width;
    float *const own = scratch, *const other = own + width;
    int32_t *const columns = (int32_t *)(void *)(other + width);
    const int32_t row = mot_mix_nearest((int32_t)y, first.height, result.height);
    (void)kernels;
    for (int32_t x = 0; x < width; x++)
        columns[x] = mot_mix_nearest(x, first.width, width);
    for (size_t i = 0; i < call->src->count; i++)
        for (int c = 0; c < call->src->channels; c++) {
            const motley_mixed *const m = &call->drawn[i];
            const mot_view src = mot_batch_view(call->src, i), dst = mot_batch_view(call->dst, i);
            const mot_view partner = mot_batch_view(call->src, (size_t)m->partner);
            mot_cpu_mix_gather(&src, dtype, c, row, columns, 0, 0, width, own);
            if (m->kind == MOTLEY_MIX_MIXUP || m->kind == MOTLEY_MIX_CUTMIX)
                mot_cpu_mix_gather(&partner, dtype, c, row, columns, 0, 0, width, other);
            for (int32_t k = 0; m->kind == MOTLEY_MIX_PASTE && k < m->pastes; k++) {
                const motley_paste *const p = &call->pastes[m->paste + k];
                const mot_view from = mot_batch_view(call->src, (size_t)p->image);
                int32_t end;
                if (row < p->part.top || row - p->part.top >= p->part.height)
                    continue;
                const int32_t begin = columns_in(columns, width, &p->part, &end);
                mot_cpu_mix_gather(&from, dtype, c, p->top + row - p->part.top, columns, p->left - p->part.left, begin,
                                   end, other);
                mot_cpu_mix_blend(own, other, begin, end, m->lambda, dtype);
            }
            mot_cpu_mix_write(m, own, other, NULL, &dst, dtype, c, (int32_t)y);
        }
}

motley_status motley_mix_apply(motley_context *context, const motley_batch *src, const motley_batch *dst,
                               const motley_mixed *drawn, const motley_paste *pastes, const motley_mix_masks *masks,
                               void *stream, motley_error *error)
{
    MOT_REQUIRE(context, error, "context is NULL");
    mot_mix_images call = { .src = src, .dst = dst, .drawn = drawn, .pastes = pastes, .masks = masks };
    MOT_TRY(check(context, &call, stream, error));
    if (src->count == 0)
        return MOTLEY_OK;
    if (context->backend->mix)
        return context->backend->mix(context->state, &call, stream, error);
    const mot_view first = mot_batch_view(src, 0), result = mot_batch_view(dst, 0);
    const size_t bytes = (call.gathers ? 3 : src->count) * (size_t)result.width * sizeof(float);
    if (masks) {
        const size_t pixels = src->count * (size_t)first.width * (size_t)first.height;
        MOT_TRY(mot_keep(&context->scratch, pixels, src->count, error));
        call.cut = context->scratch.memory;
        MOT_TRY(
            context->backend->each(context->state, (size_t)first.height, (size_t)first.width, cut_row, &call, error));
        MOT_TRY(context->backend->each(context->state, src->count, 0, mask_image, &call, error));
    }
    return context->backend->each(context->state, (size_t)result.height, bytes, call.gathers ? gather_row : mix_row,
                                  &call, error);
}

/* Target `k` of image i before mixing. */
static float target(const mot_mix_targets *t, size_t i, int32_t k)
{
    if (!t->soft)
        return mot_mix_target(t->labels[i] == k, t->classes, t->smoothing);
    const float given = t->soft[i * (size_t)t->classes + (size_t)k];
    return t->smoothing > 0 ? mot_mix_smooth(given, t->classes, t->smoothing) : given;
}

static motley_status check_targets(const motley_mixed *drawn, const mot_mix_targets *t, motley_error *error)
{
    const size_t count = t->count;
    MOT_REQUIRE(count == 0 || (drawn && t->targets), error, "%s is NULL, want an array of %zu",
                drawn ? "targets" : "drawn", count);
    MOT_REQUIRE(count == 0 || t->labels || t->soft, error,
                "neither labels nor soft targets are given, want one of the two");
    MOT_REQUIRE(!t->labels || !t->soft, error, "both labels and soft targets are given, want one of the two");
    MOT_REQUIRE(t->classes >= 1, error, "classes is %" PRId32 ", want 1 or more", t->classes);
    MOT_TRY(mot_check_array("count", count, mot_times((size_t)t->classes, sizeof *t->targets) + sizeof *drawn, error));
    MOT_REQUIRE(t->smoothing >= 0 && t->smoothing <= 1, error, "smoothing is %g, want 0 to 1", t->smoothing);
    const uintptr_t labels = (uintptr_t)t->labels, from = (uintptr_t)t->soft, to = (uintptr_t)t->targets;
    const size_t real = sizeof *t->targets, bytes = count * (size_t)t->classes * real;
    MOT_REQUIRE(labels % sizeof *t->labels == 0, error, "labels is not aligned to %zu bytes", sizeof *t->labels);
    MOT_REQUIRE(from % real == 0 && to % real == 0, error, "%s is not aligned to %zu bytes",
                from % real ? "soft" : "targets", real);
    MOT_REQUIRE(!from || from == to || from + bytes <= to || to + bytes <= from, error,
                "targets shares memory with soft, want the same array or another");
    return mot_mix_check_drawn(drawn, NULL, NULL, count, 0, 0, error);
}

/* motley_mix_targets, checked but for the labels, in host memory. */
static motley_status targets_on_host(const motley_mixed *drawn, const mot_mix_targets *t, mot_kept *scratch,
                                     motley_error *error)
{
    for (size_t i = 0; t->labels && i < t->count; i++)
        MOT_REQUIRE(t->labels[i] >= 0 && t->labels[i] < t->classes, error,
                    "image %zu has label %" PRId64 ", want 0 to %" PRId32 ", as there are %" PRId32 " classes", i,
                    t->labels[i], t->classes - 1, t->classes);
    MOT_TRY(mot_keep(scratch, t->count * sizeof(float), t->count, error));
    float *const column = scratch->memory; /* one class of all images: targets may overwrite `soft` */
    for (int32_t k = 0; k < t->classes; k++) {
        for (size_t i = 0; i < t->count; i++)
            column[i] = target(t, i, k);
        for (size_t i = 0; i < t->count; i++) {
            const motley_mixed *m = &drawn[i];
            t->targets[i * (size_t)t->classes + (size_t)k] =
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
    const mot_mix_targets call = { count, classes, labels, soft, smoothing, targets };
    MOT_REQUIRE(on_device || !stream, error, "stream is set, but %s has none", backend ? backend->name : "the host");
    MOT_TRY(check_targets(drawn, &call, error));
    if (count == 0)
        return MOTLEY_OK;
    if (!on_device) {
        mot_kept own = { 0 };
        const motley_status status = targets_on_host(drawn, &call, context ? &context->scratch : &own, error);
        free(own.memory);
        return status;
    }
    MOT_REQUIRE(count * (size_t)classes <= INT32_MAX, error, "%zu images of %" PRId32 " classes are too many targets",
                count, classes);
    return backend->mix_targets(context->state, drawn, &call, stream, error);
}
