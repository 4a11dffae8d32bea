/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and points on the device, with one CTA for each image. First each thread computes the geometry of a step. Then
 * some warps move the image's boxes, the others its points, one per thread. Of planes, some CTAs share an image's rows.
 * The arithmetic is in moves.h and trace.h, as on the host. */
#include "followers/follow.h"
#include "followers/moves.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tuning.h"
#include "kernels/trace.h"

#include <string.h>

#define MOST_WARPS 4                             /* of a CTA for boxes, and as many for points */
#define FEWEST_POLYGONS 4                        /* of a warp */
#define POLYGON_BYTES (48 * 1024)                /* the most shared memory for polygons, */
#define CTA_BYTES (64 * 1024 - MOT_STATIC_BYTES) /* and for all that a CTA has: sm_75's */
#define BYTES_WITHOUT_ASKING 49152               /* of dynamic shared memory; a kernel needs an attribute for more */

/* The launch of a job. Shared memory holds the geometry of `steps`, then the polygons of each warp that moves boxes,
 * `polygons` a warp: as many of its threads move a box. */
struct follow_shape {
    int32_t steps, corners, box_warps, point_warps, polygons;
};

/* The range of an image's boxes or points; wrong offsets are cut to the count. */
struct range {
    size_t begin, end;
};

static __device__ range range_of(const size_t *offsets, size_t count, int i)
{
    range r = { 0, 0 };
    if (count > 0) {
        r.begin = min(offsets[i], count);
        r.end = min(offsets[i + 1], count);
    }
    return r;
}

/* Reads a step past the L1 cache, because it may have been drawn after this kernel began. */
static __device__ mot_step step_at(const mot_step *from)
{
    static_assert(sizeof(mot_step) % 16 == 0, "it is read by 16 bytes");
    union {
        uint4 words[sizeof(mot_step) / 16];
        mot_step step;
    } read;
#pragma unroll
    for (int k = 0; k < (int)(sizeof(mot_step) / 16); k++)
        read.words[k] = __ldcg((const uint4 *)from + k);
    return read.step;
}

/* The part of the image that a step changes. */
static __device__ mot_rect part_of(const mot_follow_job &job, int64_t step, int32_t width, int32_t height)
{
    const mot_rect whole = { 0, 0, width, height };
    return job.inside && job.inside[step].x0 < job.inside[step].x1 ? job.inside[step] : whole;
}

/* The size of image i before it drew anything. */
static __device__ void size_of(const mot_cuda_batch &src, int i, int32_t *width, int32_t *height)
{
    *width = src.images ? src.images[i].width : src.width;
    *height = src.images ? src.images[i].height : src.height;
}

/* Sets the geometry of image i. Returns to all threads whether all of its matrices have an inverse. */
static __device__ bool set_geometry(const mot_follow_job &job, int i, int32_t width, int32_t height,
                                    mot_geometry *steps, int *count)
{
    const motley_place *const d = job.places ? &job.places[i] : NULL;
    const int own = job.step_count ? __ldcg(&job.step_count[i]) : job.max_steps;
    const int first = d ? mot_moves_of_places(d) : 0, erased = d ? d->boxes_count : 0;
    int good = 1;
    if (d) {
        width = d->result_width;
        height = d->result_height;
        if (threadIdx.x == 0)
            mot_set_places(steps, job.first ? &job.first[i] : NULL, d);
    }
    for (int s = threadIdx.x; s < own; s += blockDim.x) {
        const int64_t at = (int64_t)i * job.max_steps + s;
        const mot_step step = step_at(&job.steps[at]);
        const mot_rect part = part_of(job, at, width, height);
        good &= mot_set_step(&steps[first + s], step.op, &step.arg, part.x1 - part.x0, part.y1 - part.y0);
        if (part.x1 - part.x0 != width || part.y1 - part.y0 != height)
            mot_set_inside(&steps[first + s], part, width, height);
    }
    for (int b = threadIdx.x; b < erased; b += blockDim.x)
        mot_set_erased(&steps[first + own + b], &d->boxes[b], width, height);
    *count = first + own + erased;
    return __syncthreads_and(good);
}

template <class REAL>
static __device__ void move_box(const motley_followed &f, size_t b, REAL in[4], mot_polygon *p,
                                const mot_geometry *steps, int count, int32_t width, int32_t height, bool good)
{
    double box[4];
    const double own[4] = { in[0], in[1], in[2], in[3] };
    mot_read_box(f.box_params.format, own, box);
    good = good && mot_box_check(box, width, height) == MOT_BOX_GOOD;
    int kept = 0;
    double seen = 0, out[4] = { NAN, NAN, NAN, NAN };
    if (good) {
        seen = mot_move_box(p, steps, count, width, height, &f.box_params, f.single, box, &kept);
        mot_write_box(f.box_params.format, box, out);
    }
    for (int k = 0; k < 4; k++)
        ((REAL *)f.boxes)[4 * b + k] = (REAL)out[k];
    if (f.visibility)
        ((REAL *)f.visibility)[b] = (REAL)seen;
    if (f.keep)
        f.keep[b] = (uint8_t)kept;
}

template <class REAL>
static __device__ void move_point(const motley_followed &f, size_t p, const REAL in[2], const mot_geometry *steps,
                                  int count, int32_t width, int32_t height, bool good)
{
    const double centre = f.convention == MOTLEY_INDEX ? 0.5 : 0;
    double x = in[0] + centre, y = in[1] + centre;
    const int flags = good ? mot_follow_point(steps, count, width, height, f.convention, &x, &y) : 0;
    good = good && mot_is_finite(mot_stored(x, f.single)) && mot_is_finite(mot_stored(y, f.single));
    ((REAL *)f.points)[2 * p] = (REAL)(good ? x - centre : NAN);
    ((REAL *)f.points)[2 * p + 1] = (REAL)(good ? y - centre : NAN);
    if (f.flags)
        f.flags[p] = (uint8_t)(good ? flags : 0);
}

template <class REAL>
static __global__ void __launch_bounds__(64 * MOST_WARPS, 2)
    follow_kernel(const __grid_constant__ mot_follow_job job, const follow_shape shape)
{
    mot_geometry *const steps = (mot_geometry *)cta_memory;
    const motley_followed &f = job.followed;
    const int i = blockIdx.x, warp = threadIdx.x / 32;
    const bool of_boxes = warp < shape.box_warps;
    const range own =
        of_boxes ? range_of(f.box_offsets, f.boxes_count, i) : range_of(f.point_offsets, f.points_count, i);
    const int numbers = of_boxes ? 4 : 2, lane = threadIdx.x % 32, each = of_boxes ? shape.polygons : 32;
    const REAL *const from = (const REAL *)(of_boxes ? f.boxes : f.points);
    REAL in[4]; /* the first box or point is loaded before the wait, because it does not depend on the draws */
    size_t at = lane < each ? own.begin + (of_boxes ? warp : warp - shape.box_warps) * each + lane : own.end;
    for (int k = 0; k < 4; k++)
        in[k] = at < own.end && k < numbers ? from[numbers * at + k] : 0;
    if (job.waits != MOT_FOLLOW_WAITS_LAST)
        wait_for_previous_kernel();
    int32_t width, height;
    size_of(job.src, i, &width, &height);
    int count;
    const bool good = set_geometry(job, i, width, height, steps, &count);
    if (f.matrices && threadIdx.x == 0)
        mot_matrix_of(steps, count, &f.matrices[6 * (int64_t)i]);
    double *const room = (double *)(steps + shape.steps) + (int64_t)warp * shape.corners * 4 * shape.polygons;
    for (bool loaded = true; at < own.end; at += of_boxes ? shape.polygons * shape.box_warps : 32 * shape.point_warps) {
        for (int k = 0; k < 4 && !loaded; k++)
            in[k] = k < numbers ? from[numbers * at + k] : 0;
        loaded = false;
        if (!of_boxes) {
            move_point<REAL>(f, at, in, steps, count, width, height, good);
            continue;
        }
        mot_polygon p;
        p.room = shape.corners, p.apart = shape.polygons;
        p.at = room + threadIdx.x % 32;
        p.next = p.at + 2 * shape.corners * shape.polygons;
        move_box<REAL>(f, at, in, &p, steps, count, width, height, good);
    }
    if (job.waits == MOT_FOLLOW_WAITS_LAST)
        wait_for_previous_kernel(); /* work queued after this kernel relies on the images, too */
}

/* How many warps of a CTA take part if a batch of `count` images has `items` boxes or points. */
static int warps_for(size_t items, int count)
{
    const size_t warps = (items + 32 * (size_t)count - 1) / (32 * (size_t)count);
    return (int)(warps < MOST_WARPS ? warps : MOST_WARPS);
}

cudaError_t mot_follow_launch(const mot_follow_job *job, cudaStream_t stream)
{
    const motley_followed *const f = &job->followed;
    follow_shape shape = { job->max_steps + MOT_GEOMETRIES_OF_PLACES,
                           mot_corners_room((size_t)job->max_steps + MOT_GEOMETRIES_OF_RESIZES),
                           warps_for(f->boxes_count, job->count), warps_for(f->points_count, job->count), 32 };
    const int polygon = shape.corners * 4 * (int)sizeof(double);
    static_assert(FEWEST_POLYGONS * MOT_CORNERS * 4 * sizeof(double) <= POLYGON_BYTES, "long policies fit, too");
    const int geometries = shape.steps * (int)sizeof(mot_geometry), rest = CTA_BYTES - geometries;
    while (shape.box_warps * shape.polygons * polygon > (rest < POLYGON_BYTES ? rest : POLYGON_BYTES))
        if (shape.box_warps > 1)
            shape.box_warps--;
        else
            shape.polygons /= 2;
    const size_t bytes = (size_t)(geometries + shape.box_warps * shape.polygons * polygon);
    const int warps = shape.box_warps + shape.point_warps;
    void (*const kernel)(mot_follow_job, follow_shape) = f->single ? follow_kernel<float> : follow_kernel<double>;
    cudaError_t error = cudaSuccess;
    if (bytes > BYTES_WITHOUT_ASKING)
        error = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess)
        return error;
    return mot_launch((const void *)kernel, job->count, 32 * (warps > 0 ? warps : 1), bytes,
                      job->waits != MOT_FOLLOW_BEGINS_AFTER, stream, *job, shape);
}

/* ---- planes ---- */

#define PLANE_WARPS 8   /* of a CTA; each takes every eighth row of its band */
#define BANDS 8         /* of an image, at least */
#define PLANE_CTAS 2048 /* of a launch, at least, so that few images occupy the device, too */
#define ROWS_AT_ONCE 4  /* whose loads are under way together, where columns and rows move by themselves */

/* What a thread moves at once, and stores with as few instructions as possible. */
template <class T> struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) four_of {
    T v[4];
};

/* Sets the trace of image i, whose result has this size; returns to all threads how many steps it has. */
static __device__ int set_trace(const mot_follow_job &job, int erase, int i, int32_t width, int32_t height,
                                mot_trace_step *steps)
{
    const motley_place *const d = job.places ? &job.places[i] : NULL;
    const motley_place *const before = job.first ? &job.first[i] : NULL;
    const int own = job.step_count ? __ldcg(&job.step_count[i]) : job.max_steps, first = (d != NULL) + (before != NULL);
    const int erased = d && erase ? d->boxes_count : 0;
    if (d && threadIdx.x == 0) {
        int32_t source_width, source_height;
        size_of(job.src, i, &source_width, &source_height);
        if (before) {
            mot_trace_place(steps, before, source_width, source_height);
            source_width = before->result_width;
            source_height = before->result_height;
        }
        mot_trace_place(steps + first - 1, d, source_width, source_height);
    }
    for (int s = threadIdx.x; s < own; s += blockDim.x) {
        const int64_t at = (int64_t)i * job.max_steps + s;
        const mot_step step = step_at(&job.steps[at]);
        mot_trace_op(&steps[first + s], step.op, &step.arg, part_of(job, at, width, height));
        mot_trace_as_fixed(&steps[first + s]);
        if (steps[first + s].kind == MOT_TRACE_ERASES && !erase)
            steps[first + s].kind = MOT_TRACE_STAYS;
    }
    for (int b = threadIdx.x; b < erased; b += blockDim.x)
        mot_trace_box(&steps[first + own + b], &d->boxes[b]);
    __syncthreads();
    return first + own + erased;
}

/* Four elements of row y, from column x on, that one step back came from; a column of -1 is the fill. */
static __device__ void trace_four(const mot_trace_step &s, int x[4], int y[4])
{
    int known = -1, row = -1; /* columns and rows by themselves: the four mostly share a row */
#pragma unroll
    for (int k = 0; k < 4; k++) {
        if (x[k] < 0)
            continue;
        if (s.kind == MOT_TRACE_AXES && s.part.x0 == 0 && s.part.y0 == 0 && x[k] < s.part.x1 && y[k] < s.part.y1) {
            if (y[k] != known) {
                known = y[k];
                row = mot_trace_on_axis(&s.axis[1], known);
            }
            x[k] = row < 0 ? -1 : mot_trace_on_axis(&s.axis[0], x[k]);
            y[k] = row;
        } else if (!mot_trace_back(&s, &x[k], &y[k])) {
            x[k] = -1;
        }
    }
}

/* The planes of one image and the rows of them that this CTA makes. */
template <class T> struct band_of {
    const T *src;
    T *dst;
    size_t count;
    T fill;
    int32_t source_width, source_height, width, height, begin, end;

    __device__ T source(size_t plane, int x, int y) const
    {
        return x < 0 || y < 0 ? fill : src[((int64_t)plane * source_height + y) * source_width + x];
    }

    __device__ void store(size_t plane, int row, int column, const four_of<T> &made) const
    {
        T *const to = &dst[((int64_t)plane * height + row) * width + column];
        if (column + 4 <= width && (uintptr_t)to % alignof(four_of<T>) == 0)
            *(four_of<T> *)to = made;
        else
            for (int k = 0; k < 4 && column + k < width; k++)
                to[k] = made.v[k];
    }
};

/* Nothing moves: the rows are copied, 16 bytes at once where both sides allow. */
template <class T> static __device__ void copy_band(const band_of<T> &b)
{
    const int64_t first = (int64_t)b.begin * b.width, bytes = ((int64_t)b.end * b.width - first) * (int64_t)sizeof(T);
    for (size_t p = 0; p < b.count; p++) {
        const int64_t at = (int64_t)p * b.width * b.height + first;
        const uint8_t *const from = (const uint8_t *)(b.src + at);
        uint8_t *const to = (uint8_t *)(b.dst + at);
        int64_t done = 0;
        if (((uintptr_t)from | (uintptr_t)to) % 16 == 0) {
            done = bytes & ~(int64_t)15;
            for (int64_t n = 16 * threadIdx.x; n < done; n += 16 * 32 * PLANE_WARPS)
                *(uint4 *)(to + n) = *(const uint4 *)(from + n);
        }
        for (int64_t n = done + threadIdx.x; n < bytes; n += 32 * PLANE_WARPS)
            to[n] = from[n];
    }
}

/* Columns and rows move by themselves: where a column comes from is found once for all rows. */
template <class T> static __device__ void move_axes(const band_of<T> &b, const mot_trace_step *steps, int count)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int column = 4 * lane; column < b.width; column += 128) {
        int x[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            x[k] = column + k < b.width ? column + k : -1;
        for (int s = count - 1; s >= 0; s--)
            if (steps[s].kind == MOT_TRACE_AXES)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    x[k] = x[k] < 0 ? -1 : mot_trace_on_axis(&steps[s].axis[0], x[k]);
        for (int top = b.begin + warp; top < b.end; top += ROWS_AT_ONCE * PLANE_WARPS) {
            int y[ROWS_AT_ONCE];
#pragma unroll
            for (int r = 0; r < ROWS_AT_ONCE; r++) {
                y[r] = top + r * PLANE_WARPS;
                for (int s = count - 1; s >= 0 && y[r] >= 0; s--)
                    if (steps[s].kind == MOT_TRACE_AXES)
                        y[r] = mot_trace_on_axis(&steps[s].axis[1], y[r]);
            }
            for (size_t p = 0; p < b.count; p++) {
                four_of<T> made[ROWS_AT_ONCE];
#pragma unroll
                for (int r = 0; r < ROWS_AT_ONCE; r++)
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        made[r].v[k] = b.source(p, x[k], y[r]);
#pragma unroll
                for (int r = 0; r < ROWS_AT_ONCE; r++)
                    if (top + r * PLANE_WARPS < b.end)
                        b.store(p, top + r * PLANE_WARPS, column, made[r]);
            }
        }
    }
}

/* Fixed steps of the whole image, and the loads behind them, for two rows together. */
template <class T> static __device__ void move_fixed(const band_of<T> &b, const mot_trace_step *steps, int count)
{
    enum { ROWS = 2 };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t width = b.width, height = b.height;
    while (steps[count - 1].kind == MOT_TRACE_STAYS)
        count--;
    for (int column = 4 * lane; column < b.width; column += 128)
        for (int top = b.begin + warp; top < b.end; top += ROWS * PLANE_WARPS) {
            uint32_t x[ROWS][4], y[ROWS][4]; /* x is -1: the fill */
#pragma unroll
            for (int i = 0; i < 4 * ROWS; i++)
                x[i / 4][i % 4] = column + i % 4, y[i / 4][i % 4] = top + i / 4 * PLANE_WARPS;
#pragma unroll 1
            for (int s = count - 1; s >= 0; s--) {
                const uint32_t *const f = steps[s].fixed;
                if (steps[s].kind == MOT_TRACE_STAYS)
                    continue;
#pragma unroll
                for (int r = 0; r < ROWS; r++)
#pragma unroll
                    for (int k = 0; k < 4; k++) {
                        const uint32_t to_x = (uint32_t)((int32_t)(f[2] + x[r][k] * f[0] + y[r][k] * f[1]) >> 16);
                        y[r][k] = (uint32_t)((int32_t)(f[5] + x[r][k] * f[3] + y[r][k] * f[4]) >> 16);
                        x[r][k] = (int)x[r][k] >= 0 && to_x < width && y[r][k] < height ? to_x : 0xFFFFFFFFu;
                    }
            }
            int at[ROWS][4];
#pragma unroll
            for (int i = 0; i < 4 * ROWS; i++)
                at[i / 4][i % 4] = (int)x[i / 4][i % 4] < 0 ? -1 : (int)(y[i / 4][i % 4] * width + x[i / 4][i % 4]);
            for (size_t p = 0; p < b.count; p++) {
                const T *const from = b.src + (int64_t)p * b.source_height * b.source_width;
                four_of<T> made[ROWS];
#pragma unroll
                for (int i = 0; i < 4 * ROWS; i++)
                    made[i / 4].v[i % 4] = at[i / 4][i % 4] < 0 ? b.fill : from[at[i / 4][i % 4]];
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    if (top + r * PLANE_WARPS < b.end)
                        b.store(p, top + r * PLANE_WARPS, column, made[r]);
            }
        }
}

template <class T> static __device__ void move_elements(const band_of<T> &b, const mot_trace_step *steps, int count)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int row = b.begin + warp; row < b.end; row += PLANE_WARPS)
        for (int column = 4 * lane; column < b.width; column += 128) {
            int x[4], y[4];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                x[k] = column + k < b.width ? column + k : -1;
                y[k] = row;
            }
            for (int s = count - 1; s >= 0; s--)
                if (steps[s].kind != MOT_TRACE_STAYS)
                    trace_four(steps[s], x, y);
            for (size_t p = 0; p < b.count; p++) {
                four_of<T> made;
#pragma unroll
                for (int k = 0; k < 4; k++)
                    made.v[k] = b.source(p, x[k], y[k]);
                b.store(p, row, column, made);
            }
        }
}

template <class T>
static __global__ void __launch_bounds__(32 * PLANE_WARPS, sizeof(T) == 8 ? 3 : 4)
    planes_kernel(const __grid_constant__ mot_follow_job job, const __grid_constant__ motley_planes planes,
                  const int bands)
{
    mot_trace_step *const steps = (mot_trace_step *)cta_memory;
    const int i = blockIdx.x / bands, band = blockIdx.x % bands;
    if (job.waits != MOT_FOLLOW_WAITS_LAST)
        wait_for_previous_kernel();
    band_of<T> b;
    size_of(job.src, i, &b.source_width, &b.source_height);
    const motley_place *const d = job.places ? &job.places[i] : NULL;
    b.width = d ? d->result_width : b.source_width;
    b.height = d ? d->result_height : b.source_height;
    b.begin = (int)((int64_t)b.height * band / bands);
    b.end = (int)((int64_t)b.height * (band + 1) / bands);
    b.count = planes.count;
    b.src = (const T *)planes.src + i * (int64_t)planes.count * b.source_width * b.source_height;
    b.dst = (T *)planes.dst + i * (int64_t)planes.count * b.width * b.height;
    if (planes.images) {
        b.src = (const T *)planes.images[i].src;
        b.dst = (T *)planes.images[i].dst;
        b.count = planes.images[i].count;
    }
    memcpy(&b.fill, planes.fill, sizeof b.fill);
    const int count = set_trace(job, planes.erase, i, b.width, b.height, steps);
    int moves = 0, fixed = 0, axes = 0; /* fixed, axes: of the whole image */
    for (int s = 0; s < count; s++) {
        const bool whole = mot_trace_is_whole(steps, s, job.first && s == 0 ? 2 : s + 1, b.width, b.height);
        moves += steps[s].kind != MOT_TRACE_STAYS;
        axes += whole && steps[s].kind == MOT_TRACE_AXES;
        fixed += whole && steps[s].kind == MOT_TRACE_FIXED;
    }
    if (moves == 0)
        copy_band(b);
    else if (fixed == moves)
        move_fixed(b, steps, count);
    else if (axes == moves)
        move_axes(b, steps, count);
    else
        move_elements(b, steps, count);
    if (job.waits == MOT_FOLLOW_WAITS_LAST)
        wait_for_previous_kernel();
}

cudaError_t mot_planes_launch(const mot_follow_job *job, const motley_planes *planes, cudaStream_t stream)
{
    void (*const kernel)(mot_follow_job, motley_planes, int) = planes->element_size == 1   ? planes_kernel<uint8_t>
                                                               : planes->element_size == 2 ? planes_kernel<uint16_t>
                                                               : planes->element_size == 4 ? planes_kernel<uint32_t>
                                                                                           : planes_kernel<uint64_t>;
    const size_t bytes = (size_t)(job->max_steps + MOT_TRACE_PLACES) * sizeof(mot_trace_step);
    const int bands = job->count * BANDS < PLANE_CTAS ? PLANE_CTAS / job->count : BANDS;
    cudaError_t error = cudaSuccess;
    if (bytes > BYTES_WITHOUT_ASKING)
        error = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess)
        return error;
    return mot_launch((const void *)kernel, (int64_t)job->count * bands, 32 * PLANE_WARPS, bytes,
                      job->waits != MOT_FOLLOW_BEGINS_AFTER, stream, *job, *planes, bands);
}
