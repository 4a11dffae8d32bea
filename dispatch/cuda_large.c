/* SPDX-License-Identifier: Apache-2.0 */
/* Queues batches whose images shared memory does not hold: some images at a time, as many as fit into the scratch
 * memory, and for each lot as many rounds as its samples can need (kernels/cuda/large.h). */
#include "dispatch/cuda_large.h"
#include "kernels/cuda/large.h"

#include <string.h>

/* Tuning: neither can change a result. */
#define SCRATCH_MOST ((int64_t)128 << 20) /* more images at a time than this holds make nothing faster */
#define CTAS_PER_MULTIPROCESSOR 16        /* over all images of a lot */

/* Which kernels a job's steps can ask for. */
typedef struct needs {
    int kernel[MOT_LARGE_KERNELS];
    int scratch;
} needs;

static void add_needs(int op, needs *n)
{
    const motley_op_info *const info =
        motley_op_get(op); /* NULL: custom; what lies between those is run as given steps */
    const motley_shape shape = info ? info->shape : MOTLEY_SHAPE_WARP;
    const int blur = shape == MOTLEY_SHAPE_BLUR, stats = shape == MOTLEY_SHAPE_STATS;
    n->kernel[MOT_LARGE_COUNT] |= stats;
    n->kernel[MOT_LARGE_ROWS] |= blur;
    n->kernel[MOT_LARGE_COLUMNS] |= blur;
    n->scratch |= blur || shape == MOTLEY_SHAPE_WARP || shape == MOTLEY_SHAPE_STENCIL;
}

static needs needs_of(const mot_job *job)
{
    needs n = { .kernel[MOT_LARGE_PLAN] = 1, .kernel[MOT_LARGE_PASS] = 1 };
    for (size_t i = 0; job->steps && i < job->count * job->max_steps; i++)
        add_needs(job->steps[i].op, &n);
    if (!job->policy) {
        n.scratch = 1; /* so that every op takes the same */
        return n;
    }
    const mot_tables *const t = &job->policy->tables;
    for (uint32_t b = 0; b < job->policy->branches; b++)
        for (uint32_t s = 0; s < t->branch[b].steps; s++)
            add_needs(t->step[t->branch[b].first_step + s].op, &n);
    return n;
}

static int64_t room_of(const mot_job *job, mot_cuda_format format, const needs *n, size_t i)
{
    const mot_view v = mot_batch_view(job->src, i);
    return n->scratch ? mot_large_room(format, job->channels, v.width, v.height) : 0;
}

/* Scratch memory for a batch. */
static int64_t scratch_bytes(const mot_job *job, mot_cuda_format format, const needs *n)
{
    int64_t batch = 0, largest = 0;
    for (size_t i = 0; i < job->count; i++) {
        const mot_view v = mot_batch_view(job->src, i);
        const int64_t bytes = (int64_t)v.width * v.height * job->channels, room = room_of(job, format, n, i);
        const size_t alike = job->src->images ? 1 : job->count;
        batch += bytes * (int64_t)alike;
        largest = room > largest ? room : largest;
        if (!job->src->images)
            break;
    }
    const int64_t quarter = n->scratch ? batch / 4 & ~(int64_t)255 : 0;
    const int64_t wanted = quarter < SCRATCH_MOST ? quarter : SCRATCH_MOST;
    return wanted > largest ? wanted : largest;
}

static int64_t states_bytes(const mot_job *job)
{
    const size_t images = job->count < MOT_LARGE_IMAGES ? job->count : MOT_LARGE_IMAGES;
    return (int64_t)((images * mot_large_state_bytes() + 255) & ~(size_t)255);
}

size_t mot_cuda_large_bytes(const mot_job *job, mot_cuda_format format)
{
    const needs n = needs_of(job);
    return (size_t)(states_bytes(job) + scratch_bytes(job, format, &n));
}

/* Takes the next images, as long as there is scratch memory for them; *tiles is how many the largest has. */
static int next_lot(const mot_job *job, mot_cuda_format format, const needs *n, size_t first, int64_t scratch,
                    mot_large_job *lot, int *tiles)
{
    int64_t at = 0;
    int images = 0;
    *tiles = 1;
    for (; images < MOT_LARGE_IMAGES && first + (size_t)images < job->count; images++) {
        const mot_view v = mot_batch_view(job->src, first + (size_t)images);
        const int64_t room = room_of(job, format, n, first + (size_t)images);
        const int here = mot_large_tiles(v.width, v.height);
        if (at + room > scratch)
            break;
        lot->offset[images] = at;
        at += room;
        *tiles = here > *tiles ? here : *tiles;
    }
    return images;
}

cudaError_t mot_cuda_large_queue(const mot_job *job, const mot_cuda_job *image, const int32_t *step_count,
                                 mot_cuda_format format, int multiprocessors, void *memory, cudaStream_t stream)
{
    const needs n = needs_of(job);
    const int64_t scratch = scratch_bytes(job, format, &n);
    mot_large_job lot = { .src = image->src,
                          .work = image->work,
                          .output = image->output,
                          .channels = image->channels,
                          .max_steps = image->max_steps,
                          .output_dtype = image->output_dtype,
                          .plain = image->plain,
                          .work_strided = image->work_strided,
                          .steps = image->steps,
                          .step_count = step_count,
                          .states = memory,
                          .scratch = (uint8_t *)memory + states_bytes(job) };
    memcpy(lot.mean, image->mean, sizeof lot.mean);
    memcpy(lot.std, image->std, sizeof lot.std);
    for (size_t first = 0; first < job->count;) {
        int tiles;
        const int images = next_lot(job, format, &n, first, scratch, &lot, &tiles);
        const int even = (CTAS_PER_MULTIPROCESSOR * multiprocessors + images - 1) / images;
        lot.first = (int32_t)first;
        for (lot.round = 0; lot.round <= lot.max_steps; lot.round++)
            for (int kernel = 0; kernel < MOT_LARGE_KERNELS; kernel++) {
                if (!n.kernel[kernel])
                    continue;
                const int ctas = kernel == MOT_LARGE_PLAN ? 1 : even < tiles ? even : tiles;
                const cudaError_t code = mot_large_launch(&lot, format, (mot_large_kernel)kernel, images, ctas, stream);
                if (code != cudaSuccess)
                    return code;
            }
        first += (size_t)images;
    }
    return cudaSuccess;
}
