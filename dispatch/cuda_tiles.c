/* SPDX-License-Identifier: Apache-2.0 */
/* Queues the tile kernel: some images at a time, as many as have room for their programs and for the second places that
 * the largest of them need. */
#include "dispatch/cuda_tiles.h"
#include "dispatch/plan_cuda.h"
#include "kernels/output.h"

#include <stdlib.h>
#include <string.h>

/* Which kinds of ops a job's steps may have. */
typedef struct kinds {
    int stats, blurs, moves;
} kinds;

static void add_kind(int op, kinds *k)
{
    const motley_op_info *const info =
        motley_op_get(op); /* NULL: custom; what lies between those is run as given steps */
    const motley_shape shape = info ? info->shape : MOTLEY_SHAPE_POINT;
    k->stats |= shape == MOTLEY_SHAPE_STATS;
    k->blurs |= shape == MOTLEY_SHAPE_BLUR;
    k->moves |= shape == MOTLEY_SHAPE_WARP || shape == MOTLEY_SHAPE_STENCIL || shape == MOTLEY_SHAPE_BLUR;
}

static kinds kinds_of(const mot_job *job)
{
    kinds k = { 0 };
    if (!job->policy || job->policy->customs) /* given steps: any, so that every op takes the same */
        return (kinds){ 1, 1, 1 };
    const mot_tables *const t = &job->policy->tables;
    for (uint32_t b = 0; b < job->policy->branches; b++)
        for (uint32_t s = 0; s < t->branch[b].steps; s++)
            add_kind(t->step[t->branch[b].first_step + s].op, &k);
    return k;
}

/* The second place of image i: only images whose tiles are more than CTAs ask for one. */
static int64_t scratch_of(const mot_job *job, mot_cuda_format format, const mot_tiles_plan *plan, size_t i)
{
    const mot_view v = mot_batch_view(job->src, i);
    const mot_tile_cut cut = mot_cut_tiles(v.width, v.height);
    if ((int64_t)cut.across * cut.down <= plan->team)
        return 0;
    return mot_scratch_bytes((int)format, job->channels, v.width, v.height);
}

static int64_t take(int64_t *at, int64_t bytes)
{
    const int64_t here = *at;
    *at += (bytes + 255) & ~(int64_t)255;
    return here;
}

mot_tiles_plan mot_tiles_plan_of(const mot_job *job, mot_cuda_format format, int ctas)
{
    const kinds k = kinds_of(job);
    const int steps = job->max_steps > 0 ? (int)job->max_steps : 1;
    mot_tiles_plan plan = { .windows = k.blurs ? steps : (steps + MOT_WINDOW - 1) / MOT_WINDOW,
                            .max_counts = k.stats ? steps : 0,
                            .team = ctas };
    const size_t each = (size_t)plan.windows * sizeof(mot_program) + (size_t)plan.max_counts * MOT_TOTAL_WORDS * 4;
    plan.images = MOT_TILES_BYTES / each;
    plan.images = plan.images > MOT_TILES_IMAGES ? MOT_TILES_IMAGES : plan.images;
    plan.images = plan.images < MOT_TILES_FEWEST ? MOT_TILES_FEWEST : plan.images;
    plan.images = job->count < plan.images ? job->count : plan.images;
    int64_t largest = 0, all = 0;
    size_t spread = 0;
    for (size_t i = 0; k.moves && i < job->count; i++) {
        const int64_t bytes = scratch_of(job, format, &plan, i);
        const int64_t alike = job->src->images ? 1 : (int64_t)job->count;
        largest = bytes > largest ? bytes : largest;
        all += bytes * alike;
        spread += bytes ? (size_t)alike : 0;
        if (!job->src->images)
            break;
    }
    spread = spread < 1 ? 1 : spread > MOT_TILES_AT_ONCE ? MOT_TILES_AT_ONCE : spread;
    plan.spread = ctas / (int)spread > 0 ? ctas / (int)spread : 1;
    const int64_t wanted = all < MOT_TILES_SCRATCH ? all : MOT_TILES_SCRATCH;
    plan.scratch_bytes = wanted > largest ? wanted : largest;
    const int64_t images = (int64_t)plan.images;
    plan.programs = take(&plan.bytes, images * plan.windows * (int64_t)sizeof(mot_program));
    plan.totals = take(&plan.bytes, images * plan.max_counts * MOT_TOTAL_WORDS * 4);
    plan.arrivals = take(&plan.bytes, images * (int64_t)sizeof(int32_t));
    plan.image = take(&plan.bytes, images * (int64_t)sizeof(mot_tile_image));
    plan.values = take(&plan.bytes, 4 * 256 * 4);
    plan.ticket = take(&plan.bytes, sizeof(unsigned));
    plan.scratch = take(&plan.bytes, plan.scratch_bytes);
    return plan;
}

motley_batch mot_tiles_work(const motley_batch *src, const motley_batch *output, mot_cuda_format format)
{
    const motley_batch slots = mot_output_slots(output);
    const int64_t size = (int64_t)mot_dtype_bytes(output->dtype), width = slots.width;
    const int64_t channels = slots.channels, pixels = width * slots.height;
    const int chw = slots.pixel_stride == size && slots.row_stride == width * size &&
                    (channels == 1 || slots.channel_stride == pixels * size);
    const int hwc = slots.pixel_stride == channels * size && slots.row_stride == width * slots.pixel_stride &&
                    (channels == 1 || slots.channel_stride == size);
    if (slots.images || src->images || size == 1 || format == MOT_FORMAT_STRIDED || !(chw || hwc))
        return slots;
    motley_batch work = slots;
    const int planes = format == MOT_FORMAT_PLANES;
    work.pixel_stride = planes ? 1 : channels;
    work.row_stride = width * work.pixel_stride;
    work.channel_stride = planes ? pixels : 1;
    return work;
}

/* Takes the next images, as long as there is room for their second places; returns how many, and the members of all. */
static size_t next_images(const mot_job *job, mot_cuda_format format, const mot_tiles_plan *plan, size_t first,
                          mot_tile_image *image, int64_t *members)
{
    int64_t at = 0;
    size_t n = 0;
    *members = 0;
    for (; n < plan->images && first + n < job->count; n++) {
        const mot_view v = mot_batch_view(job->src, first + n);
        const mot_tile_cut cut = mot_cut_tiles(v.width, v.height);
        const int64_t bytes = plan->scratch_bytes ? scratch_of(job, format, plan, first + n) : 0;
        if (at + bytes > plan->scratch_bytes)
            break;
        if (image)
            image[n] = (mot_tile_image){ .scratch = at, .first_member = (int32_t)*members };
        at += bytes;
        *members += mot_tile_members(&cut, plan->team, plan->spread);
    }
    return n;
}

static const void *kernel_of(mot_cuda_format format)
{
    switch (format) {
    case MOT_FORMAT_GREY:
        return mot_tile_kernel_grey();
    case MOT_FORMAT_RGB:
        return mot_tile_kernel_rgb();
    case MOT_FORMAT_PLANES:
        return mot_tile_kernel_planes();
    case MOT_FORMAT_RGBA:
        return mot_tile_kernel_rgba();
    default:
        return mot_tile_kernel_strided();
    }
}

cudaError_t mot_tiles_prepare(mot_cuda_format format)
{
    return cudaFuncSetAttribute(kernel_of(format), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                mot_tile_kernel_bytes());
}

/* The whole grid is resident, or the launch fails: CTAs wait for each other. */
static cudaError_t launch_tiles(const mot_tiles_job *tiles, mot_cuda_format format, int ctas, int overlap,
                                cudaStream_t stream)
{
    cudaLaunchAttribute attributes[2] = { { .id = cudaLaunchAttributeCooperative, .val.cooperative = 1 },
                                          { .id = cudaLaunchAttributeProgrammaticStreamSerialization,
                                            .val.programmaticStreamSerializationAllowed = 1 } };
    const cudaLaunchConfig_t config = { .gridDim = { (unsigned)ctas, 1, 1 },
                                        .blockDim = { MOT_TILE_THREADS, 1, 1 },
                                        .dynamicSmemBytes = (size_t)mot_tile_kernel_bytes(),
                                        .stream = stream,
                                        .attrs = attributes,
                                        .numAttrs = overlap ? 2 : 1 };
    mot_tiles_job copy = *tiles;
    void *arguments[] = { &copy };
    return cudaLaunchKernelExC(&config, kernel_of(format), arguments);
}

cudaError_t mot_tiles_queue(const mot_job *job, mot_tiles_job *tiles, const mot_tiles_plan *plan,
                            mot_cuda_format format, int overlap, void *memory, cudaStream_t stream)
{
    uint8_t *const base = memory;
    const int mixed = job->src->images != NULL;
    mot_tile_image *const image = mixed ? malloc(plan->images * sizeof *image) : NULL;
    cudaError_t code = mixed && !image ? cudaErrorMemoryAllocation : cudaSuccess;
    tiles->format = (int)format;
    tiles->windows = plan->windows;
    tiles->max_counts = plan->max_counts;
    tiles->team = plan->team;
    tiles->spread = plan->spread;
    tiles->programs = (mot_program *)(void *)(base + plan->programs);
    tiles->totals = (uint32_t *)(void *)(base + plan->totals);
    tiles->arrivals = (int32_t *)(void *)(base + plan->arrivals);
    tiles->output_values = (uint32_t *)(void *)(base + plan->values);
    tiles->ticket = (unsigned *)(void *)(base + plan->ticket);
    tiles->scratch = base + plan->scratch;
    for (size_t first = 0; first < job->count && code == cudaSuccess;) {
        int64_t members = 0;
        const size_t n = next_images(job, format, plan, first, image, &members);
        tiles->first = (int32_t)first;
        tiles->images = (int32_t)n;
        tiles->all_members = members;
        tiles->members = (int32_t)(members / (int64_t)n);
        tiles->scratch_bytes = plan->scratch_bytes ? scratch_of(job, format, plan, 0) : 0;
        if (mixed) {
            tiles->image = (const mot_tile_image *)(const void *)(base + plan->image);
            code = mot_cuda_send(base + plan->image, image, n * sizeof *image, stream);
        }
        if (n < job->count)
            tiles->order = NULL; /* of all images */
        if (code == cudaSuccess)
            code = mot_programs_launch(tiles, overlap && first == 0 && !mixed, stream);
        if (code == cudaSuccess)
            code = launch_tiles(tiles, format, members < plan->team ? (int)members : plan->team, overlap, stream);
        first += n;
    }
    free(image);
    return code;
}
