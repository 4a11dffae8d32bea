/* SPDX-License-Identifier: Apache-2.0 */
/* motley_resize on the GPU: uploads the images' descriptions, queues the kernel that makes the tables of their axes,
 * then the one that resizes. */
#include "base/values.h"
#include "dispatch/cuda/wide.h"

#include <string.h>

/* The upload, in one piece. */
typedef struct resize_upload {
    mot_resize *places;
    uint32_t *counted;
    int64_t *offsets;
    motley_image *src, *dst;
} resize_upload;

static resize_upload lay_out_resize(const motley_batch *src, const motley_batch *dst, mot_arena *arena)
{
    const size_t n = src->count;
    resize_upload p = { .places = mot_take(arena, MOT_SENT, n * sizeof *p.places) };
    p.counted = mot_take(arena, MOT_PLACES, MOT_RESIZE_COUNTERS * sizeof *p.counted);
    p.offsets = mot_take(arena, MOT_SENT, n * sizeof *p.offsets);
    p.src = mot_take_copy(arena, MOT_SENT, src->images, n * sizeof *p.src);
    p.dst = mot_take_copy(arena, MOT_SENT, dst->images, n * sizeof *p.dst);
    return p;
}

void mot_cuda_lay_out_axes(mot_resize_job *job, size_t table_bytes, mot_arena *arena)
{
    const size_t n = (size_t)job->count;
    job->axes = mot_take(arena, MOT_PLACES, n * sizeof *job->axes);
    job->cost = mot_take(arena, MOT_PLACES, n * sizeof *job->cost);
    job->order = mot_take(arena, MOT_PLACES, n * sizeof *job->order);
    job->tables = mot_take(arena, MOT_PLACES, table_bytes);
}

void mot_axes_add(mot_axes_room *room, int width, int column_groups, int height, int row_groups)
{
    room->bytes += mot_resize_table_bytes(width, column_groups, height, row_groups);
    room->width = mot_larger_int(room->width, width);
    room->height = mot_larger_int(room->height, height);
    room->row_groups = mot_larger_int(room->row_groups, row_groups);
}

/* Writes each image's place and where its tables begin. */
static mot_axes_room fill_places(const motley_batch *src, const motley_batch *dst, const motley_resize_params *params,
                                 mot_resize *place, int64_t *offset)
{
    mot_axes_room room = { 0 };
    for (size_t i = 0; i < src->count; i++) {
        const mot_view from = mot_batch_view(src, i), to = mot_batch_view(dst, i);
        place[i] = mot_resize_as(params, &from, &to, i);
        const int columns = mot_resize_most_groups(params->filter, place[i].width, to.width);
        const int rows = mot_resize_most_groups(params->filter, place[i].height, to.height);
        offset[i] = room.bytes;
        mot_axes_add(&room, to.width, columns, to.height, rows);
    }
    return room;
}

motley_status mot_cuda_cut(const mot_cuda_call *call, mot_resize_job *job, const mot_axes_room *room,
                           motley_error *error)
{
    mot_cuda_state *const s = call->s;
    mot_resize_cut(job, room->width, room->height, room->row_groups, s->chip.shared_bytes);
    if (!s->resize_prepared)
        CUDA_TRY(mot_resize_prepare(s->chip.shared_bytes), "preparing the resize kernel");
    s->resize_prepared = 1;
    return MOTLEY_OK;
}

motley_status mot_cuda_queue_resize(mot_cuda_call *call, const void *job, motley_error *error)
{
    const mot_node node = { .reads = MOT_SENT | MOT_PLACES | MOT_OUTPUTS | MOT_IMAGES,
                            .writes = MOT_IMAGES,
                            .waits = MOT_WAITS_FIRST };
    MOT_TRY(mot_call_next(call, &node, error));
    return mot_cuda_try(mot_resize_launch(job, call->overlap, call->lane), "launching the resize kernel", error);
}

static motley_status queue_resize(mot_cuda_call *call, const motley_batch *src, const motley_batch *dst,
                                  const motley_resize_params *params, motley_error *error)
{
    mot_pool *const pool = &call->s->pool;
    mot_arena counted = { 0 };
    lay_out_resize(src, dst, &counted);
    MOT_TRY(mot_pool_reserve_host(pool, counted.bytes, error));
    mot_arena assembled = { .base = pool->host.memory, .host = 1 };
    memset(assembled.base, 0, counted.bytes);
    const resize_upload from = lay_out_resize(src, dst, &assembled);
    const mot_axes_room most = fill_places(src, dst, params, from.places, from.offsets);
    mot_resize_job job = { .count = (int32_t)src->count,
                           .channels = src->channels,
                           .format = (int32_t)mot_cuda_format_of(src),
                           .planes = mot_cuda_resizes_planes(src) };
    mot_cuda_lay_out_axes(&job, (size_t)most.bytes, &counted);
    MOT_TRY(mot_call_take(call, 0, counted.bytes, 0, error));
    const resize_upload p = lay_out_resize(src, dst, &call->scratch);
    mot_cuda_lay_out_axes(&job, (size_t)most.bytes, &call->scratch);
    job.src = mot_cuda_batch_of(src, p.src);
    job.dst = mot_cuda_batch_of(dst, p.dst);
    job.place = p.places;
    job.counted = p.counted;
    job.table_offset = p.offsets;
    MOT_TRY(mot_cuda_cut(call, &job, &most, error));
    MOT_TRY(mot_call_send(call, MOT_SENT | MOT_PLACES, p.places, assembled.base, assembled.bytes, "sending the images",
                          error));
    const mot_node axes = { .reads = MOT_SENT | MOT_PLACES, .writes = MOT_PLACES };
    MOT_TRY(mot_call_next(call, &axes, error));
    CUDA_TRY(mot_resize_axes_launch(&job, call->lane), "launching the kernel of the axes");
    return mot_cuda_queue_resize(call, &job, error);
}

motley_status mot_cuda_resize(void *state, const motley_batch *src, const motley_batch *dst,
                              const motley_resize_params *params, motley_error *error)
{
    mot_cuda_call call;
    MOT_TRY(mot_cuda_check(state, "src", src, error));
    MOT_TRY(mot_cuda_check(state, "dst", dst, error));
    MOT_TRY(mot_call_begin(state, params->stream, &call, error));
    const motley_status status = mot_batch_is_wide(src) ? mot_cuda_wide_resize(&call, src, dst, params, error)
                                                        : queue_resize(&call, src, dst, params, error);
    return mot_call_end(&call, status, error);
}
