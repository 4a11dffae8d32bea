/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and points on the device, with one CTA for each image. First each thread computes the geometry of a step. Then
 * some warps move the image's boxes, the others its points, one per thread. The arithmetic is in moves.h, as on the
 * host. */
#include "followers/follow.h"
#include "followers/moves.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"

#define MOST_WARPS 4               /* of a CTA for boxes, and as many for points */
#define POLYGON_BYTES (64 * 1024)  /* the most shared memory for polygons, unless a single warp needs more */
#define BYTES_WITHOUT_ASKING 49152 /* of dynamic shared memory; a kernel needs an attribute for more */

/* The launch of a job. Shared memory holds the geometry of `steps`, then the polygons of each warp that moves boxes. */
struct follow_shape {
    int32_t steps, corners, box_warps, point_warps;
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

/* Sets the geometry of image i. Returns to all threads whether all of its matrices have an inverse. */
static __device__ bool set_geometry(const mot_follow_job &job, int i, int32_t width, int32_t height,
                                    mot_geometry *steps, int *count)
{
    const motley_place *const d = job.places ? &job.places[i] : NULL;
    const int own = job.step_count ? __ldcg(&job.step_count[i]) : job.max_steps, first = d ? 2 : 0;
    const int erased = d ? d->boxes_count : 0;
    int good = 1;
    if (d) {
        width = job.width ? job.width : d->width;
        height = job.width ? job.height : d->height;
        if (threadIdx.x == 0)
            mot_set_places(steps, d, width, height);
    }
    for (int s = threadIdx.x; s < own; s += blockDim.x) {
        const mot_step step = step_at(&job.steps[(int64_t)i * job.max_steps + s]);
        good &= mot_set_step(&steps[first + s], step.op, &step.arg, width, height);
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
    double seen = 0, out[4] = { NAN, NAN, NAN, NAN };
    if (good) {
        seen = mot_move_box(p, steps, count, width, height, f.box_params.torchvision, box);
        mot_write_box(f.box_params.format, box, out);
    }
    for (int k = 0; k < 4; k++)
        ((REAL *)f.boxes)[4 * b + k] = (REAL)out[k];
    if (f.visibility)
        ((REAL *)f.visibility)[b] = (REAL)seen;
    if (f.keep)
        f.keep[b] = (uint8_t)(good && mot_box_kept(&f.box_params, box, seen));
}

template <class REAL>
static __device__ void move_point(const motley_followed &f, size_t p, const REAL in[2], const mot_geometry *steps,
                                  int count, int32_t width, int32_t height, bool good)
{
    const double centre = f.convention == MOTLEY_INDEX ? 0.5 : 0;
    double x = in[0] + centre, y = in[1] + centre;
    int flags = 0;
    if (good && mot_is_finite(x) && mot_is_finite(y))
        flags = mot_follow_point(steps, count, width, height, &x, &y);
    else
        x = y = NAN;
    ((REAL *)f.points)[2 * p] = (REAL)(x - centre);
    ((REAL *)f.points)[2 * p + 1] = (REAL)(y - centre);
    if (f.flags)
        f.flags[p] = (uint8_t)flags;
}

template <class REAL>
static __global__ void __launch_bounds__(64 * MOST_WARPS)
    follow_kernel(const __grid_constant__ mot_follow_job job, const follow_shape shape)
{
    extern __shared__ double memory[];
    mot_geometry *const steps = (mot_geometry *)memory;
    const motley_followed &f = job.followed;
    const int i = blockIdx.x, warp = threadIdx.x / 32;
    const bool of_boxes = warp < shape.box_warps;
    const range own =
        of_boxes ? range_of(f.box_offsets, f.boxes_count, i) : range_of(f.point_offsets, f.points_count, i);
    const int numbers = of_boxes ? 4 : 2, place = of_boxes ? threadIdx.x : threadIdx.x - 32 * shape.box_warps;
    const REAL *const from = (const REAL *)(of_boxes ? f.boxes : f.points);
    REAL in[4]; /* the first box or point is loaded before the wait, because it does not depend on the draws */
    size_t at = own.begin + place;
    for (int k = 0; k < 4; k++)
        in[k] = at < own.end && k < numbers ? from[numbers * at + k] : 0;
    if (job.waits != MOT_FOLLOW_WAITS_LAST)
        wait_for_previous_kernel();
    int32_t width = job.src.width, height = job.src.height;
    if (job.src.images)
        width = job.src.images[i].width, height = job.src.images[i].height;
    int count;
    const bool good = set_geometry(job, i, width, height, steps, &count);
    if (f.matrices && threadIdx.x == 0)
        mot_matrix_of(steps, count, &f.matrices[6 * (int64_t)i]);
    double *const room = (double *)(steps + shape.steps) + (int64_t)warp * shape.corners * 4 * MOT_POLYGONS;
    for (bool loaded = true; at < own.end; at += 32 * (of_boxes ? shape.box_warps : shape.point_warps)) {
        for (int k = 0; k < 4 && !loaded; k++)
            in[k] = k < numbers ? from[numbers * at + k] : 0;
        loaded = false;
        if (!of_boxes) {
            move_point<REAL>(f, at, in, steps, count, width, height, good);
            continue;
        }
        mot_polygon p;
        p.room = shape.corners;
        p.at = room + threadIdx.x % 32;
        p.next = p.at + 2 * shape.corners * MOT_POLYGONS;
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
    follow_shape shape = { job->max_steps + MOT_GEOMETRIES_OF_PLACES, mot_corners_room((size_t)job->max_steps + 2),
                           warps_for(f->boxes_count, job->count), warps_for(f->points_count, job->count) };
    const int polygons = shape.corners * 4 * MOT_POLYGONS * (int)sizeof(double);
    while (shape.box_warps > 1 && shape.box_warps * polygons > POLYGON_BYTES)
        shape.box_warps--;
    const size_t bytes = (size_t)shape.steps * sizeof(mot_geometry) + (size_t)shape.box_warps * (size_t)polygons;
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
