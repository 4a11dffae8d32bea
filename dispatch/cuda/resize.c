/* SPDX-License-Identifier: Apache-2.0 */
/* motley_resize on the GPU: uploads the images' descriptions, queues the kernel that makes the tables of their axes,
 * then the one that resizes. */
#include "dispatch/cuda/draw.h"
#include "dispatch/cuda/work.h"

#include <string.h>

/* The upload, in one piece. Places are the same on the host and on the device. */
typedef struct parcel {
    size_t places, counted, offsets, src, dst, bytes;
} parcel;

static mot_cuda_place place_of(const motley_resize_params *p, const mot_view *src, const mot_view *dst, size_t i)
{
    mot_cuda_place place = { .width = src->width,
                             .height = src->height,
                             .resized_width = dst->width,
                             .resized_height = dst->height,
                             .filter = (uint8_t)p->filter,
                             .order = (uint8_t)p->order,
                             .flip_horizontal = p->flips && p->flips[i] };
    const motley_crop *const crop = p->crops ? &p->crops[i] : NULL;
    if (crop && crop->width) {
        place.left = crop->left;
        place.top = crop->top;
        place.width = crop->width;
        place.height = crop->height;
    }
    place.box[2] = (float)place.width;
    place.box[3] = (float)place.height;
    for (int k = 0; p->boxes && k < 4; k++)
        place.box[k] = (float)p->boxes[i][k];
    return place;
}

/* The largest result, and the most groups of taps in any image's rows. */
typedef struct extremes {
    int width, height, row_groups;
    int64_t table_bytes; /* of all images */
} extremes;

/* Writes each image's place and where its tables begin. */
static extremes fill_places(const motley_batch *src, const motley_batch *dst, const motley_resize_params *params,
                            mot_cuda_place *place, int64_t *offset)
{
    extremes e = { 0 };
    for (size_t i = 0; i < src->count; i++) {
        const mot_view from = mot_batch_view(src, i), to = mot_batch_view(dst, i);
        place[i] = place_of(params, &from, &to, i);
        const int columns = mot_resize_most_groups(params->filter, place[i].width, to.width);
        const int rows = mot_resize_most_groups(params->filter, place[i].height, to.height);
        offset[i] = e.table_bytes;
        e.table_bytes += mot_resize_table_bytes(to.width, columns, to.height, rows);
        e.width = to.width > e.width ? to.width : e.width;
        e.height = to.height > e.height ? to.height : e.height;
        e.row_groups = rows > e.row_groups ? rows : e.row_groups;
    }
    return e;
}

motley_status mot_cuda_cut(const mot_cuda_work *work, mot_resize_job *job, int width, int height, int row_groups,
                           motley_error *error)
{
    mot_resize_cut(job, width, height, row_groups, work->chip->shared_bytes);
    if (!work->kept->prepared)
        MOT_TRY(mot_cuda_try(mot_resize_prepare(work->chip->shared_bytes), "preparing the resize kernel", error));
    work->kept->prepared = 1;
    return MOTLEY_OK;
}

static motley_status queue(const mot_cuda_work *work, const motley_batch *src, const motley_batch *dst,
                           const motley_resize_params *params, motley_error *error)
{
    mot_cuda_kept *const kept = work->kept;
    const size_t n = src->count;
    parcel p = { 0 };
    p.places = mot_cuda_take(&p.bytes, n * sizeof(mot_cuda_place));
    p.counted = mot_cuda_take(&p.bytes, MOT_RESIZE_COUNTERS * sizeof(uint32_t));
    p.offsets = mot_cuda_take(&p.bytes, n * sizeof(int64_t));
    p.src = mot_cuda_take_if(src->images != NULL, &p.bytes, n * sizeof(motley_image));
    p.dst = mot_cuda_take_if(dst->images != NULL, &p.bytes, n * sizeof(motley_image));
    size_t device_bytes = p.bytes;
    const size_t axes = mot_cuda_take(&device_bytes, n * sizeof(mot_cuda_axes));
    const size_t cost = mot_cuda_take(&device_bytes, n * sizeof(uint32_t));
    const size_t order = mot_cuda_take(&device_bytes, n * sizeof(uint32_t));
    MOT_TRY(mot_cuda_reserve(work, 0, p.bytes, error));
    uint8_t *const host = kept->host;
    memset(host, 0, p.bytes);
    const extremes most = fill_places(src, dst, params, (mot_cuda_place *)(void *)(host + p.places),
                                      (int64_t *)(void *)(host + p.offsets));
    const size_t tables = mot_cuda_take(&device_bytes, (size_t)most.table_bytes);
    if (src->images)
        memcpy(host + p.src, src->images, n * sizeof(motley_image));
    if (dst->images)
        memcpy(host + p.dst, dst->images, n * sizeof(motley_image));
    MOT_TRY(mot_cuda_reserve(work, device_bytes, p.bytes, error));
    uint8_t *const device = kept->memory;
    mot_resize_job job = { .src = mot_cuda_batch_of(src, mot_cuda_at(device, p.src)),
                           .dst = mot_cuda_batch_of(dst, mot_cuda_at(device, p.dst)),
                           .count = (int32_t)n,
                           .channels = src->channels,
                           .format = (int32_t)mot_cuda_format_of(src),
                           .place = (const mot_cuda_place *)(void *)(device + p.places),
                           .axes = (mot_cuda_axes *)(void *)(device + axes),
                           .cost = (uint32_t *)(void *)(device + cost),
                           .order = (uint32_t *)(void *)(device + order),
                           .counted = (uint32_t *)(void *)(device + p.counted),
                           .tables = device + tables,
                           .table_offset = (const int64_t *)(void *)(device + p.offsets) };
    MOT_TRY(mot_cuda_cut(work, &job, most.width, most.height, most.row_groups, error));
    MOT_TRY(mot_cuda_try(mot_cuda_send(device, host, p.bytes, work->stream), "sending the images", error));
    MOT_TRY(mot_cuda_try(mot_resize_axes_launch(&job, work->stream), "launching the kernel of the axes", error));
    return mot_cuda_try(mot_resize_launch(&job, work->chip->overlaps, work->stream), "launching the resize kernel",
                        error);
}

motley_status mot_cuda_resize(void *state, const motley_batch *src, const motley_batch *dst,
                              const motley_resize_params *params, motley_error *error)
{
    mot_cuda_work work;
    MOT_TRY(mot_cuda_check(state, "src", src, error));
    MOT_TRY(mot_cuda_check(state, "dst", dst, error));
    MOT_TRY(mot_cuda_begin(state, params->stream, &work, error));
    return mot_cuda_end(&work, queue(&work, src, dst, params, error), error);
}
