/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a caller's arguments once and in full. Backends and kernels then rely on them. */
#include "augmentations/table.h"
#include "base/number.h"
#include "base/values.h"
#include "dispatch/request.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PIXELS INT32_MAX         /* counters of pixels are 32 bits wide */
#define MOST_BYTES (PTRDIFF_MAX / 4) /* that a batch spans, so that distances between two do not overflow */

/* A batch of one size with its default dense strides filled in. */
static motley_batch with_strides(const motley_batch *batch)
{
    motley_batch b = *batch;
    if (!b.images && !b.image_stride && !b.row_stride && !b.pixel_stride && !b.channel_stride) {
        const int64_t element = (int64_t)mot_dtype_bytes(b.dtype);
        const int64_t plane = (int64_t)b.width * b.height * element;
        const int chw = b.layout == MOTLEY_CHW;
        b.pixel_stride = chw ? element : b.channels * element;
        b.row_stride = b.pixel_stride * b.width;
        b.channel_stride = chw ? plane : element;
        b.image_stride = plane * b.channels;
    }
    return b;
}

mot_view mot_batch_view(const motley_batch *batch, size_t i)
{
    if (batch->images) {
        const motley_image *image = &batch->images[i];
        return (mot_view){ image->data,  image->width,      image->height,       batch->channels,
                           batch->alpha, image->row_stride, image->pixel_stride, image->channel_stride };
    }
    const motley_batch b = with_strides(batch);
    uint8_t *data = (uint8_t *)b.data + (int64_t)i * b.image_stride;
    return (mot_view){ data, b.width, b.height, b.channels, b.alpha, b.row_stride, b.pixel_stride, b.channel_stride };
}

motley_batch mot_batch_of_images(const motley_batch *like, size_t count, const motley_image *images)
{
    return (motley_batch){ .count = count,
                           .channels = like->channels,
                           .dtype = like->dtype,
                           .alpha = like->alpha,
                           .images = images,
                           .range = like->range,
                           .ranges = like->ranges,
                           .unclamped = like->unclamped };
}

motley_batch mot_batch_dense(const motley_batch *like, size_t count, int32_t width, int32_t height, void *data)
{
    motley_batch dense = mot_batch_of_images(like, count, NULL);
    dense.width = width;
    dense.height = height;
    dense.data = data;
    return dense;
}

int mot_batch_bands(const motley_batch *batch)
{
    return batch->channels != 1 && batch->channels != 3 && !batch->alpha ? batch->channels : 1;
}

mot_job mot_job_of(const motley_batch *src, const motley_batch *dst)
{
    return (mot_job){ .count = src->count, .src = src, .dst = dst };
}

motley_batch mot_output_slots(const motley_batch *output)
{
    motley_batch slots = with_strides(output);
    slots.dtype = MOTLEY_U8;
    return slots;
}

typedef struct axis {
    int64_t count, stride;
} axis;

/* Returns the bytes from the first element to the last; 0 if some share bytes, -1 if memory cannot hold them.
 * Sorted by stride, each axis must step past everything that the smaller ones cover. */
static int64_t span_of(axis *axes, int n, int64_t element)
{
    int64_t covered = element;
    for (int i = 1; i < n; i++) /* a call of qsort for each image would take longer than all other checks */
        for (int k = i; k > 0 && llabs(axes[k].stride) < llabs(axes[k - 1].stride); k--) {
            const axis larger = axes[k - 1];
            axes[k - 1] = axes[k];
            axes[k] = larger;
        }
    for (int i = 0; i < n; i++) {
        if (axes[i].count == 1)
            continue;
        if (llabs(axes[i].stride) < covered)
            return 0;
        const size_t more = mot_times((size_t)axes[i].count - 1, (size_t)llabs(axes[i].stride));
        if (mot_plus((size_t)covered, more) > MOST_BYTES)
            return -1;
        covered += (int64_t)more;
    }
    return covered;
}

static motley_status check_count(const char *name, size_t count, motley_error *error)
{
    return mot_fail_in(error, mot_check_count("count", count, error), "%s: ", name);
}

static motley_status check_size(const char *name, size_t i, int32_t width, int32_t height, motley_error *error)
{
    MOT_REQUIRE(width >= 1 && width <= MOT_MAX_SIDE, error, "%s image %zu: width is %" PRId32 ", want 1 to %d", name, i,
                width, MOT_MAX_SIDE);
    MOT_REQUIRE(height >= 1 && height <= MOT_MAX_SIDE, error, "%s image %zu: height is %" PRId32 ", want 1 to %d", name,
                i, height, MOT_MAX_SIDE);
    MOT_REQUIRE((int64_t)width * height <= MAX_PIXELS, error,
                "%s image %zu: it has %" PRId64 " pixels, want at most %d", name, i, (int64_t)width * height,
                MAX_PIXELS);
    return MOTLEY_OK;
}

/* Sums of strides within this limit cannot overflow; it also excludes INT64_MIN, which has no absolute value. */
static int too_far(int64_t stride)
{
    const int64_t most = (int64_t)1 << 40;
    return stride <= -most || stride >= most;
}

static motley_status check_strides(const char *name, size_t i, const mot_view *v, int64_t element, motley_error *error)
{
    MOT_REQUIRE(!too_far(v->row) && !too_far(v->pixel) && !too_far(v->channel), error,
                "%s image %zu: a stride is over 2^40 bytes (row %" PRId64 ", pixel %" PRId64 ", channel %" PRId64 ")",
                name, i, v->row, v->pixel, v->channel);
    MOT_REQUIRE(((v->row | v->pixel | v->channel) & (element - 1)) == 0, error, /* an element has 1, 2 or 4 bytes */
                "%s image %zu: strides row %" PRId64 ", pixel %" PRId64 ", channel %" PRId64
                " are not multiples of a component's %" PRId64 " bytes",
                name, i, v->row, v->pixel, v->channel, element);
    MOT_REQUIRE(v->channels == 1 || v->channel != 0 || v->pixel == 0, error,
                "%s image %zu: its channel stride is 0, as grey's, want that of %d channels%s", name, i, v->channels,
                strcmp(name, "src") == 0 ? ", or a transform that begins with 'to_rgb: {}'" : "");
    axis axes[] = { { v->height, v->row }, { v->width, v->pixel }, { v->channels, v->channel } };
    const int64_t span = span_of(axes, 3, element);
    MOT_REQUIRE(span >= 0, error, "%s image %zu: its strides span more bytes than memory can hold", name, i);
    MOT_REQUIRE(span > 0, error,
                "%s image %zu: strides row %" PRId64 ", pixel %" PRId64 ", channel %" PRId64
                " bytes make components of a %dx%d image with %d channels overlap",
                name, i, v->row, v->pixel, v->channel, v->width, v->height, v->channels);
    return MOTLEY_OK;
}

static motley_status check_range(const char *name, const motley_batch *batch, motley_error *error)
{
    const int32_t pairs = batch->ranges ? batch->ranges : 1;
    MOT_REQUIRE(mot_batch_is_wide(batch) || !(batch->range || batch->ranges || batch->unclamped), error,
                "%s: range or unclamped is set, but images of %s have no range: want uint16 or float32", name,
                motley_dtype_name(batch->dtype));
    MOT_REQUIRE(batch->unclamped == 0 || batch->unclamped == 1, error, "%s: unclamped is %" PRId32 ", want 0 or 1",
                name, batch->unclamped);
    MOT_REQUIRE(batch->range || batch->ranges == 0, error, "%s: range is NULL, but ranges is %" PRId32, name,
                batch->ranges);
    MOT_REQUIRE(pairs == 1 || pairs == batch->channels, error,
                "%s: ranges is %" PRId32 ", want 1, or one for each of %" PRId32 " channels", name, pairs,
                batch->channels);
    for (int32_t c = 0; batch->range && c < pairs; c++) {
        const double lo = batch->range[c][0], hi = batch->range[c][1];
        MOT_REQUIRE(isfinite(lo) && isfinite(hi) && (float)lo < (float)hi && isfinite((float)hi - (float)lo), error,
                    "%s: range %" PRId32 " is %s..%s, want two numbers of float32, the lower one first", name, c,
                    MOT_NUMBER(lo), MOT_NUMBER(hi));
        MOT_REQUIRE(batch->dtype != MOTLEY_U16 || (lo == 0 && hi >= 1 && hi <= 65535 && hi == floor(hi)), error,
                    "%s: range %" PRId32 " is %s..%s, want 0..1 to 0..65535 of uint16, whole numbers", name, c,
                    MOT_NUMBER(lo), MOT_NUMBER(hi));
    }
    return MOTLEY_OK;
}

/* `grey`: an image may have a channel stride of 0, which is all its channels at once. */
static motley_status validate_batch(const char *name, const motley_batch *batch, bool grey, motley_error *error)
{
    MOT_REQUIRE(batch, error, "%s is NULL, want a batch", name);
    if (batch->count == 0)
        return MOTLEY_OK;
    MOT_REQUIRE((unsigned)batch->dtype <= MOTLEY_U16, error, "%s: dtype is %d, want one of motley_dtype", name,
                (int)batch->dtype);
    MOT_REQUIRE(batch->channels >= 1 && batch->channels <= MOTLEY_MAX_BANDS, error,
                "%s: channels is %" PRId32 ", want 1 to %d", name, batch->channels, MOTLEY_MAX_BANDS);
    MOT_REQUIRE(batch->alpha == 0 || (batch->alpha == 1 && (batch->channels == 2 || batch->channels == 4)), error,
                batch->alpha == 1 ? "%s: alpha is %" PRId32 ", but the images have %" PRId32 " channels, want 2 or 4"
                                  : "%s: alpha is %" PRId32 ", want 0 or 1, of images with %" PRId32 " channels",
                name, batch->alpha, batch->channels);
    MOT_TRY(check_range(name, batch, error));
    MOT_REQUIRE((unsigned)batch->layout <= MOTLEY_CHW, error, "%s: layout is %d, want MOTLEY_HWC or MOTLEY_CHW", name,
                (int)batch->layout);
    MOT_TRY(check_count(name, batch->count, error));
    MOT_REQUIRE(batch->count <= (size_t)(INT32_MAX / mot_batch_bands(batch)), error,
                "%s: count is %zu, want at most %" PRId32 " of images of %" PRId32 " bands", name, batch->count,
                INT32_MAX / mot_batch_bands(batch), batch->channels);
    const int64_t element = (int64_t)mot_dtype_bytes(batch->dtype);
    MOT_REQUIRE(batch->images || batch->data, error, "%s: data is NULL", name);
    for (size_t i = 0; i < (batch->images ? batch->count : 1); i++) {
        const motley_image *const image = batch->images ? &batch->images[i] : NULL;
        MOT_REQUIRE(!image || image->data, error, "%s image %zu: data is NULL", name, i);
        MOT_TRY(check_size(name, i, image ? image->width : batch->width, image ? image->height : batch->height, error));
        mot_view view = mot_batch_view(batch, i);
        view.channels = grey && !view.channel ? 1 : view.channels;
        MOT_TRY(check_strides(name, i, &view, element, error));
    }
    if (batch->images)
        return MOTLEY_OK;
    const motley_batch b = with_strides(batch);
    MOT_REQUIRE(!too_far(b.image_stride), error, "%s: image stride is %" PRId64 ", want under 2^40", name,
                b.image_stride);
    axis axes[] = { { (int64_t)b.count, b.image_stride },
                    { b.height, b.row_stride },
                    { b.width, b.pixel_stride },
                    { grey && !b.channel_stride ? 1 : b.channels, b.channel_stride } };
    const int64_t span = span_of(axes, 4, element);
    MOT_REQUIRE(span >= 0, error, "%s: %zu images with a stride of %" PRId64 " bytes are more than memory can hold",
                name, b.count, b.image_stride);
    MOT_REQUIRE(span > 0, error, "%s: an image stride of %" PRId64 " bytes makes its %zu images overlap", name,
                b.image_stride, b.count);
    return MOTLEY_OK;
}

motley_status mot_validate_batch(const char *name, const motley_batch *batch, motley_error *error)
{
    return validate_batch(name, batch, false, error);
}

motley_status mot_validate_alpha(const char *name, const motley_batch *src, const motley_batch *to, motley_error *error)
{
    MOT_REQUIRE(to->alpha == src->alpha, error, "%s: alpha is %" PRId32 ", want src's %" PRId32, name, to->alpha,
                src->alpha);
    return MOTLEY_OK;
}

motley_status mot_batch_as_rgb(const motley_batch *src, mot_kept *table, motley_batch *rgb, motley_error *error)
{
    const bool bands = src && mot_batch_bands(src) > 1;
    MOT_TRY(validate_batch("src", src, !bands, error));
    *rgb = *src;
    if (src->count == 0 || bands)
        return MOTLEY_OK;
    *rgb = with_strides(src);
    rgb->channels = 3;
    rgb->alpha = 0;
    if (src->channels >= 3)
        return MOTLEY_OK;
    rgb->channel_stride = 0;
    if (!src->images)
        return MOTLEY_OK;
    MOT_TRY(mot_keep(table, src->count * sizeof *src->images, src->count, error));
    motley_image *const images = table->memory;
    for (size_t i = 0; i < src->count; i++) {
        images[i] = src->images[i];
        images[i].channel_stride = 0;
    }
    rgb->images = images;
    return MOTLEY_OK;
}

/* The lowest and highest address of an image's bytes. */
static void extent(const mot_view *v, const uint8_t **low, const uint8_t **high)
{
    const int64_t steps[] = { (v->height - 1) * v->row, (v->width - 1) * v->pixel, (v->channels - 1) * v->channel };
    *low = v->data;
    *high = v->data + 1;
    for (int i = 0; i < 3; i++)
        *(steps[i] < 0 ? low : high) += steps[i];
}

/* Whether two images of one size and type are exactly the same memory. */
static int same_pixels(const mot_view *a, const mot_view *b)
{
    return a->data == b->data && a->row == b->row && a->pixel == b->pixel && a->channel == b->channel;
}

/* Whether two images share some bytes but are not the same image. Tested once per image: dst[i] against src[i]. */
static int overlap_partly(const mot_view *a, const mot_view *b)
{
    const uint8_t *a_low, *a_high, *b_low, *b_high;
    if (same_pixels(a, b))
        return 0;
    extent(a, &a_low, &a_high);
    extent(b, &b_low, &b_high);
    return a_low < b_high && b_low < a_high;
}

/* Whether an image of one batch partly overlaps an image of the other, or is another one of it, for two batches of one
 * size and one set of strides; one may go backwards. They are `shift` bytes apart, so that image i of src and image j
 * of dst overlap where this is nearly i - j times an image's step, or i + j times if one goes backwards. */
static int batches_overlap_partly(const motley_batch *src, const motley_batch *dst)
{
    const motley_batch a = with_strides(src), b = with_strides(dst);
    const int64_t shift = (int64_t)((intptr_t)b.data - (intptr_t)a.data), step = llabs(a.image_stride);
    if (a.row_stride != b.row_stride || a.pixel_stride != b.pixel_stride || a.channel_stride != b.channel_stride)
        return 0;
    if (step != llabs(b.image_stride) || shift == 0 || step == 0)
        return 0;
    const int backwards = a.image_stride != b.image_stride;
    const int64_t forward = !backwards ? llabs(shift) : a.image_stride > 0 ? shift : -shift;
    const mot_view image = mot_batch_view(src, 0);
    const uint8_t *low, *high;
    extent(&image, &low, &high);
    const int64_t images = forward / step, rest = forward % step, span = high - low;
    if (forward < 0 || step < span) /* the latter: images interleave row by row; this test cannot decide */
        return 0;
    const int64_t last = (int64_t)a.count - 1, most = backwards ? 2 * last - !rest : last;
    return (images >= backwards && images <= most && rest < span) || (images + 1 <= most && step - rest < span);
}

motley_status mot_validate_src(const motley_batch *src, motley_error *error)
{
    if (src->count == 0)
        return MOTLEY_OK;
    MOT_REQUIRE(src->dtype == MOTLEY_U8 || mot_batch_is_wide(src), error,
                "src: dtype is %d (%s), want MOTLEY_U8, MOTLEY_U16 or MOTLEY_F32", (int)src->dtype,
                motley_dtype_name(src->dtype));
    MOT_REQUIRE(src->dtype == MOTLEY_U8 || !src->alpha, error, "src: alpha is 1, but images of %s have bands alone",
                motley_dtype_name(src->dtype));
    return MOTLEY_OK;
}

motley_status mot_validate_dst(const mot_transform *t, const motley_batch *src, const motley_batch *dst, int types,
                               motley_error *error)
{
    const bool staged = t && !t->plain, to_rgb = staged && t->to_rgb;
    if (!types && dst == src)
        return MOTLEY_OK;
    MOT_TRY(mot_validate_batch("dst", dst, error));
    MOT_REQUIRE(dst->count == src->count, error, "dst: count is %zu, want src's %zu", dst->count, src->count);
    if (src->count == 0)
        return MOTLEY_OK;
    MOT_REQUIRE(types || dst->dtype == src->dtype, error,
                "dst: dtype is %d, want src's, MOTLEY_%s (other types: the output of motley_apply_params)",
                (int)dst->dtype,
                src->dtype == MOTLEY_U8    ? "U8"
                : src->dtype == MOTLEY_U16 ? "U16"
                                           : "F32");
    MOT_REQUIRE(dst->dtype == src->dtype || (dst->dtype != MOTLEY_U16 && dst->dtype != MOTLEY_U8), error,
                "dst: dtype is %s, want %s, or float32, float16 or bfloat16", motley_dtype_name(dst->dtype),
                motley_dtype_name(src->dtype));
    MOT_REQUIRE(dst->channels == src->channels, error, "dst: channels is %" PRId32 ", want %s %" PRId32 "%s",
                dst->channels, to_rgb ? "to_rgb's" : "src's", src->channels,
                staged && dst->channels == 3 ? ", or a transform that begins with 'to_rgb: {}'" : "");
    MOT_TRY(mot_validate_alpha("dst", src, dst, error));
    for (size_t i = 0; i < src->count && !(staged && t->facts.draws_sizes); i++) {
        const mot_view from = mot_batch_view(src, i), to = mot_batch_view(dst, i);
        const mot_sizes want = staged ? mot_result_size(t, 0, from.width, from.height)
                                      : (mot_sizes){ .width = from.width, .height = from.height };
        MOT_REQUIRE(to.width == want.width && to.height == want.height, error,
                    "dst image %zu: size is %" PRId32 "x%" PRId32 ", want %s %" PRId32 "x%" PRId32, i, to.width,
                    to.height, staged && t->info.width ? "the transform's" : "src's", want.width, want.height);
        if (!dst->images && ((staged && t->info.width) || !src->images))
            break; /* the same for all images */
    }
    return MOTLEY_OK;
}

#define MOST_LOOKED_AT 2048 /* images; keeps the table small enough for any stack */

/* The place of an address among images, by their hashes: that of the image with this data, or a free one. */
static size_t place_of(const uint16_t *first, size_t room, const motley_image *images, const void *data)
{
    size_t at = (size_t)((uint64_t)(uintptr_t)data * 0x9E3779B97F4A7C15u >> 40) & (room - 1);
    while (first[at] && images[first[at] - 1].data != data)
        at = (at + 1) & (room - 1);
    return at;
}

/* Checks that no written image occurs twice in the batch, since two threads would write it at the same time, or is read
 * as another one. Of the overlaps that motley/image.h forbids, these are the ones that happen in practice (a list that
 * holds a tensor twice, or in another order). The others would cost too much to find. */
static motley_status check_no_image_twice(const motley_batch *src, const motley_batch *dst, motley_error *error)
{
    uint16_t first[2 * MOST_LOOKED_AT]; /* hash of the data -> 1-based number of an image; 0: none */
    if (!dst->images || dst->count > MOST_LOOKED_AT)
        return MOTLEY_OK;
    size_t room = 2;
    while (room < 2 * dst->count)
        room *= 2;
    memset(first, 0, room * sizeof *first);
    for (size_t i = 0; i < dst->count; i++) {
        const size_t at = place_of(first, room, dst->images, dst->images[i].data);
        MOT_REQUIRE(!first[at], error, "dst image %zu: its data is that of image %d, want separate memory", i,
                    first[at] - 1);
        first[at] = (uint16_t)(i + 1);
    }
    for (size_t i = 0; i < dst->count; i++) {
        const size_t at = place_of(first, room, dst->images, mot_batch_view(src, i).data);
        MOT_REQUIRE(!first[at] || first[at] == i + 1, error,
                    "dst image %d: its data is that of src image %zu, want the same pixels or others", first[at] - 1,
                    i);
    }
    return MOTLEY_OK;
}

/* Checks that dst is exactly src, pixel by pixel, or does not overlap it. */
static motley_status check_dst_apart(const motley_batch *src, const motley_batch *dst, motley_error *error)
{
    const int alike = !src->images && !dst->images;
    for (size_t i = 0; i < (alike ? 1 : src->count); i++) {
        const mot_view from = mot_batch_view(src, i), to = mot_batch_view(dst, i);
        MOT_REQUIRE(!overlap_partly(&from, &to), error,
                    "dst image %zu: it overlaps src image %zu in part, want the same pixels or others", i, i);
    }
    if (alike)
        MOT_REQUIRE(!batches_overlap_partly(src, dst), error,
                    "dst: it is %" PRId64 " bytes away from src: images of one overlap others of src, want the same "
                    "pixels or others",
                    (int64_t)((intptr_t)dst->data - (intptr_t)src->data));
    return MOTLEY_OK;
}

motley_status mot_validate_sizes(const char *name, const motley_batch *batch, motley_error *error)
{
    static uint8_t somewhere;
    MOT_REQUIRE(batch, error, "%s is NULL, want a batch", name);
    motley_batch b = *batch;
    b.data = &somewhere;
    if (!b.images)
        return mot_validate_batch(name, &b, error);
    MOT_TRY(check_count(name, b.count, error));
    for (size_t i = 0; i < b.count; i++)
        MOT_TRY(check_size(name, i, b.images[i].width, b.images[i].height, error));
    b.count = 0; /* the other checks need data and strides */
    return mot_validate_batch(name, &b, error);
}

/* Whether image `i` of the u8 batch `a` overlaps an image of the output `b`, whose images are evenly spaced. */
static int image_shares(const motley_batch *a, size_t i, const motley_batch *b)
{
    const mot_view image = mot_batch_view(a, i), first = mot_batch_view(b, 0);
    const motley_batch even = with_strides(b);
    const uint8_t *low, *high, *b_low, *b_high;
    extent(&image, &low, &high);
    extent(&first, &b_low, &b_high);
    const int64_t span = b_high - b_low + (int64_t)mot_dtype_bytes(b->dtype) - 1;
    const int64_t step = llabs(even.image_stride), last = (int64_t)even.count - 1;
    const int64_t begin = (int64_t)((intptr_t)b_low - (intptr_t)low) + (even.image_stride < 0 ? -step * last : 0);
    int64_t at = 0; /* the first of b's images, in address order, that ends after `low` */
    if (step > 0 && begin + span <= 0)
        at = (-begin - span) / step + 1;
    return at <= last && begin + at * step < high - low && begin + at * step + span > 0;
}

/* The lowest and highest address of the bytes of a batch of one size. */
static void batch_extent(const motley_batch *batch, const uint8_t **low, const uint8_t **high)
{
    const motley_batch b = with_strides(batch);
    const mot_view first = mot_batch_view(batch, 0);
    const int64_t images = ((int64_t)b.count - 1) * b.image_stride;
    extent(&first, low, high);
    *(images < 0 ? low : high) += images;
    *high += mot_dtype_bytes(b.dtype) - 1;
}

/* Checks that no image of `batch` overlaps an image of the output, except its own result as u8. */
static motley_status check_apart(const char *name, const motley_batch *batch, const motley_batch *out,
                                 motley_error *error)
{
    const uint8_t *low, *high, *out_low, *out_high;
    if (!batch->images) {
        batch_extent(batch, &low, &high);
        batch_extent(out, &out_low, &out_high);
        if (low >= out_high || out_low >= high)
            return MOTLEY_OK;
    }
    for (size_t i = 0; i < batch->count; i++) {
        const mot_view from = mot_batch_view(batch, i), to = mot_batch_view(out, i);
        MOT_REQUIRE((out->dtype == MOTLEY_U8 && same_pixels(&from, &to)) || !image_shares(batch, i, out), error,
                    "output: it shares memory with %s image %zu, want separate memory, or as u8 the same pixels", name,
                    i);
    }
    return MOTLEY_OK;
}

/* The address range of an image. */
typedef struct place {
    const uint8_t *low, *high;
    size_t image;
    int written;
} place;

static int by_address(const void *a, const void *b)
{
    const uint8_t *x = ((const place *)a)->low, *y = ((const place *)b)->low;
    return (x > y) - (x < y);
}

/* Whether no image of `batch` reaches between the first and the last byte of `whole`, which has one size. */
static bool lies_outside(const motley_batch *batch, const motley_batch *whole)
{
    if (whole->images)
        return false;
    const uint8_t *low, *high, *from, *to;
    batch_extent(whole, &low, &high);
    for (size_t i = 0; i < batch->count; i++) {
        const mot_view view = mot_batch_view(batch, i);
        extent(&view, &from, &to);
        if (from < high && low < to + mot_dtype_bytes(batch->dtype) - 1)
            return false;
    }
    return true;
}

motley_status mot_validate_apart(const motley_batch *src, const motley_batch *dst, mot_kept *scratch,
                                 motley_error *error)
{
    const size_t count = src->count + dst->count;
    if (src->count == 0 || dst->count == 0 || lies_outside(src, dst) || lies_outside(dst, src))
        return MOTLEY_OK; /* nearly always; sorting takes longer than all other checks */
    MOT_TRY(mot_keep(scratch, count * sizeof(place), count, error));
    place *const places = scratch->memory;
    for (size_t i = 0; i < count; i++) {
        const int written = i >= src->count;
        const motley_batch *batch = written ? dst : src;
        place *at = &places[i];
        at->image = written ? i - src->count : i;
        at->written = written;
        const mot_view view = mot_batch_view(batch, at->image);
        extent(&view, &at->low, &at->high);
        at->high += mot_dtype_bytes(batch->dtype) - 1;
    }
    qsort(places, count, sizeof *places, by_address);
    const place *last[2] = { NULL, NULL }; /* among those read and those written so far, the one that ends last */
    for (size_t i = 0; i < count; i++) {
        const place *at = &places[i], *other = last[!at->written];
        MOT_REQUIRE(!other || other->high <= at->low, error,
                    "dst image %zu: it shares memory with src image %zu, want separate memory",
                    at->written ? at->image : other->image, at->written ? other->image : at->image);
        if (!last[at->written] || at->high > last[at->written]->high)
            last[at->written] = at;
    }
    return MOTLEY_OK;
}

motley_status mot_validate_output(const motley_batch *src, const motley_output *output, motley_error *error)
{
    const motley_batch *out = &output->batch;
    MOT_TRY(mot_validate_batch("output", out, error));
    MOT_REQUIRE(!out->images, error, "output: images is set, want one size");
    MOT_REQUIRE(out->dtype != MOTLEY_U16 && (out->dtype != MOTLEY_U8 || src->dtype == MOTLEY_U8), error,
                "output: dtype is %s, want %sfloat32, float16 or bfloat16 of %s", motley_dtype_name(out->dtype),
                src->dtype == MOTLEY_U8 ? "uint8, " : "", motley_dtype_name(src->dtype));
    MOT_REQUIRE(out->count == src->count, error, "output: count is %zu, want src's %zu", out->count, src->count);
    MOT_REQUIRE(out->channels == src->channels, error, "output: channels is %" PRId32 ", want src's %" PRId32,
                out->channels, src->channels);
    MOT_TRY(mot_validate_alpha("output", src, out, error));
    for (size_t i = 0; i < src->count; i++) {
        const mot_view from = mot_batch_view(src, i);
        MOT_REQUIRE(from.width == out->width && from.height == out->height, error,
                    "src image %zu: size is %" PRId32 "x%" PRId32 ", want output's %" PRId32 "x%" PRId32, i, from.width,
                    from.height, out->width, out->height);
        if (!src->images)
            break;
    }
    return mot_validate_normalization(src, output, error);
}

motley_status mot_validate_normalization(const motley_batch *src, const motley_output *output, motley_error *error)
{
    MOT_REQUIRE(!output->means == !output->stds, error,
                "output: only one of means and stds is set, want both or neither");
    const int numbers = output->means || src->channels <= 4 ? src->channels : 1;
    for (int c = 0; c < numbers; c++) {
        const float mean = output->means ? output->means[c] : output->mean[c];
        const float std = output->stds ? output->stds[c] : output->std[c];
        MOT_REQUIRE(isfinite(mean), error, "output: mean[%d] is %g, want a number", c, mean);
        MOT_REQUIRE(isfinite(std) && std >= 0, error, "output: std[%d] is %g, want above 0, or 0 for none", c, std);
    }
    for (int c = 1; c < 4 && numbers < src->channels; c++)
        MOT_REQUIRE(output->mean[c] == output->mean[0] && output->std[c] == output->std[0], error,
                    "output: mean and std have 4 numbers, the images %" PRId32 " channels: want means and stds, or one "
                    "number",
                    src->channels);
    return MOTLEY_OK;
}

motley_status mot_validate_places(const motley_batch *src, const motley_batch *dst, const motley_output *output,
                                  motley_error *error)
{
    const bool elsewhere = dst && dst != src;
    if (src->count == 0)
        return MOTLEY_OK;
    if (dst)
        MOT_TRY(check_no_image_twice(src, dst, error));
    if (elsewhere)
        MOT_TRY(check_dst_apart(src, dst, error));
    if (!output)
        return MOTLEY_OK;
    const motley_batch *out = &output->batch;
    MOT_REQUIRE((uintptr_t)out->data % mot_dtype_bytes(out->dtype) == 0, error,
                "output: data is not aligned to the %zu bytes of a component", mot_dtype_bytes(out->dtype));
    MOT_TRY(check_apart("src", src, out, error));
    return elsewhere ? check_apart("dst", dst, out, error) : MOTLEY_OK;
}

motley_status mot_validate_values(const motley_op_info *info, const double *values, int count, motley_error *error)
{
    for (int i = 0; i < count; i++)
        MOT_REQUIRE(isfinite(values[i]), error, "%s: value %d is %g, want a finite number", info->name, i, values[i]);
    if (count > 0 && info->values_max > 0)
        MOT_REQUIRE(values[0] >= info->minimum && values[0] <= info->maximum, error,
                    "%s: value is %s, want %s to %s (%s)", info->name, MOT_NUMBER(values[0]), MOT_NUMBER(info->minimum),
                    MOT_NUMBER(info->maximum), info->unit);
    for (int i = 1; i < count; i++)
        MOT_REQUIRE(fabs(values[i]) <= 1e9, error, "%s: value %d is %g, want -1e9 to 1e9", info->name, i, values[i]);
    return MOTLEY_OK;
}

motley_status mot_validate_step(const motley_op_info *info, const motley_step *step, motley_error *error)
{
    if (info->shape == MOTLEY_SHAPE_CUSTOM)
        MOT_REQUIRE(step->values_count == 3, error, "%s: it has %d values, want 3", info->name, step->values_count);
    else
        MOT_TRY(mot_check_values_count(info, step->values_count, error));
    MOT_TRY(mot_check_interpolation(step->interpolation, error));
    return mot_validate_values(info, step->values, step->values_count, error);
}
