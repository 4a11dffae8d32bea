/* SPDX-License-Identifier: Apache-2.0 */
/* Queues the tile kernel for some images at a time: as many as fit with their programs and with the second buffers that
 * the largest of them need. */
#include "dispatch/cuda/tiles.h"
#include "dispatch/cuda/state.h"
#include "kernels/output.h"

/* Bytes of an image's second buffer, which images with more tiles than CTAs need. */
static int64_t scratch_of(const mot_tiles_job *tiles, const mot_view *v)
{
    const mot_tile_cut cut = mot_cut_tiles(v->width, v->height, tiles->tile_words);
    if (!tiles->moves || (int64_t)cut.across * cut.down <= tiles->max_image_ctas)
        return 0;
    return mot_scratch_bytes(tiles->format, tiles->channels, v->width, v->height);
}

/* Images that are like the i-th, where i goes through those of several sizes, or is 0. */
static int64_t alike_of(const mot_job *job)
{
    return job->src->images ? mot_batch_bands(job->src) : (int64_t)mot_cuda_images(job->src);
}

/* Whether a batch has no more than `most` tiles if they are of `words`. */
static int has_at_most(const mot_job *job, int words, int64_t most)
{
    const int64_t alike = alike_of(job);
    int64_t tiles = 0;
    for (size_t i = 0; i < (job->src->images ? job->count : 1) && tiles <= most; i++) {
        const mot_view v = mot_batch_view(job->src, i);
        const mot_tile_cut cut = mot_cut_tiles(v.width, v.height, words);
        tiles += (int64_t)cut.across * cut.down * alike;
    }
    return tiles <= most;
}

_Static_assert((MOT_TILE_WORDS - MOT_TILE_LEAST) % MOT_TILE_STEP == 0, "no larger tiles are tried");

/* Quads of a light program's piece, where each CTA has so many tiles. */
static int piece_quads(int words, int64_t turns)
{
    const int tile = words / 4;
    if (turns > 0)
        return turns > 2 ? MOT_PIECE_MOST : MOT_PIECE_FEWEST * (int)turns;
    return tile < MOT_PIECE_LEAST ? MOT_PIECE_LEAST : tile < MOT_PIECE_FEWEST ? tile : MOT_PIECE_FEWEST;
}

mot_tiles_plan mot_tiles_plan_of(const mot_job *job, mot_cuda_format format, int ctas)
{
    const int steps = job->max_steps > 0 ? (int)job->max_steps : 1;
    /* given steps may be any op, so that memory does not depend on them */
    const mot_step_facts any = { .shapes = ~0u, .statistics = steps };
    const mot_step_facts *const facts = job->policy ? &job->policy->facts : job->facts ? job->facts : &any;
    const uint32_t shapes = facts->shapes, blurs = 1u << MOTLEY_SHAPE_BLUR;
    const uint32_t moving = 1u << MOTLEY_SHAPE_WARP | 1u << MOTLEY_SHAPE_STENCIL | blurs;
    const size_t count = mot_cuda_images(job->src);
    mot_tiles_plan plan = { .job = { .channels = mot_cuda_channels(job->src),
                                     .format = (int32_t)format,
                                     .windows = shapes & blurs ? steps : (steps + MOT_WINDOW - 1) / MOT_WINDOW,
                                     .has_output = job->output != NULL,
                                     .max_image_ctas = ctas,
                                     .tile_words = MOT_TILE_LEAST,
                                     .moves = (shapes & moving) != 0 ||
                                              job->output, /* an output may lie where pixels are read */
                                     .max_counts = facts->statistics < steps ? facts->statistics : steps } };
    mot_tiles_job *const tiles = &plan.job;
    const size_t each = (size_t)tiles->windows * sizeof(mot_program) + (size_t)tiles->max_counts * MOT_TOTAL_WORDS * 4;
    plan.images = MOT_TILES_BYTES / each;
    plan.images = plan.images > MOT_TILES_IMAGES ? MOT_TILES_IMAGES : plan.images;
    plan.images = plan.images < MOT_TILES_FEWEST ? MOT_TILES_FEWEST : plan.images;
    plan.images = count < plan.images ? count : plan.images;
    while (tiles->tile_words < MOT_TILE_WORDS && !has_at_most(job, tiles->tile_words, ctas))
        tiles->tile_words += MOT_TILE_STEP;
    int64_t largest = 0, all = 0, few = 0, most = 0, many = 0; /* many: images with more tiles than there are CTAs */
    const int64_t alike = alike_of(job);
    for (size_t i = 0; i < (job->src->images ? job->count : 1); i++) {
        const mot_view v = mot_batch_view(job->src, i);
        const mot_tile_cut cut = mot_cut_tiles(v.width, v.height, tiles->tile_words);
        const int64_t here = (int64_t)cut.across * cut.down;
        if (here <= ctas) {
            few += here * alike;
            most = here > most ? here : most;
            continue;
        }
        const int64_t bytes = scratch_of(tiles, &v);
        largest = bytes > largest ? bytes : largest;
        all += bytes * alike;
        many += alike;
    }
    const int64_t at_once = many < 1 ? 1 : many > MOT_TILES_AT_ONCE ? MOT_TILES_AT_ONCE : many;
    tiles->large_image_ctas = ctas / (int)at_once > 0 ? ctas / (int)at_once : 1;
    few += many * tiles->large_image_ctas;
    most = many > 0 && tiles->large_image_ctas > most ? tiles->large_image_ctas : most;
    tiles->piece_quads = piece_quads(tiles->tile_words, few / ctas);
    /* the tiles of expensive programs are halved */
    tiles->most_tasks = 2 * (few < most * (int64_t)plan.images ? few : most * (int64_t)plan.images);
    if (2 * tiles->tile_words <= MOT_TILE_WORDS && most * (int64_t)count <= ctas) { /* they are low already */
        tiles->ctas_per_image = (int)most;
        tiles->most_tasks = most * (int64_t)count;
    }
    const int64_t wanted = all < MOT_TILES_SCRATCH ? all : MOT_TILES_SCRATCH;
    plan.scratch_bytes = wanted > largest ? wanted : largest;
    plan.whole = plan.images == count && plan.scratch_bytes == all;
    const int64_t fewest = 2 * (int64_t)ctas; /* as with lower tiles: a smaller batch never needs more memory */
    plan.tasks_room = tiles->most_tasks > fewest ? tiles->most_tasks : fewest;
    return plan;
}

void mot_tiles_lay_out(mot_tiles_plan *plan, mot_arena *slot, mot_arena *scratch)
{
    mot_tiles_job *const t = &plan->job;
    const size_t images = plan->images;
    t->programs = mot_take(slot, MOT_PROGRAMS, images * (size_t)t->windows * sizeof *t->programs);
    t->image = mot_take(slot, MOT_PROGRAMS, images * sizeof *t->image);
    t->tasks = mot_take(slot, MOT_PROGRAMS, MOT_TILE_LISTS * (size_t)plan->tasks_room * sizeof *t->tasks);
    t->totals = mot_take(slot, MOT_PROGRAMS, images * (size_t)t->max_counts * MOT_TOTAL_WORDS * sizeof *t->totals);
    t->arrivals = mot_take(slot, MOT_PROGRAMS, images * sizeof *t->arrivals);
    t->scratch = mot_take(scratch, MOT_IMAGES, (size_t)plan->scratch_bytes);
}

/* How many images from `first` on come next: as many as have room for their second buffers. */
static size_t next_images(const mot_job *job, const mot_tiles_plan *plan, size_t first)
{
    int64_t at = 0;
    size_t n = 0;
    for (; n < plan->images && first + n < mot_cuda_images(job->src); n++) {
        const mot_view v = mot_batch_view(job->src, (first + n) % job->count);
        at += scratch_of(&plan->job, &v);
        if (at > plan->scratch_bytes)
            break;
    }
    return n;
}

static const void *tile_kernel_of(mot_cuda_format format)
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
    return cudaFuncSetAttribute(tile_kernel_of(format), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                mot_tile_kernel_bytes());
}

/* CTAs wait for each other, so the whole grid must be resident; otherwise the launch fails. */
static cudaError_t launch_tiles(mot_tiles_job *tiles, int ctas, int overlap, cudaStream_t stream)
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
    void *arguments[] = { tiles };
    return cudaLaunchKernelExC(&config, tile_kernel_of((mot_cuda_format)tiles->format), arguments);
}

int mot_tiles_few_images(const mot_job *job)
{
    return job->src->images && job->count <= MOT_FEW_IMAGES;
}

motley_status mot_tiles_queue(mot_cuda_call *call, const mot_job *job, mot_cuda_draw *draw, const mot_node *node,
                              mot_tiles_job *tiles, const mot_tiles_plan *plan, motley_error *error)
{
    const int ctas = tiles->most_tasks < tiles->max_image_ctas ? (int)tiles->most_tasks : tiles->max_image_ctas;
    const motley_image *const few = mot_tiles_few_images(job) ? job->src->images : NULL;
    mot_node planning = *node;
    planning.reads |= MOT_PROGRAMS;
    planning.writes |= MOT_PROGRAMS | (few ? MOT_SENT : 0);
    const mot_node running = { .reads = MOT_PROGRAMS | MOT_OUTPUTS | MOT_SENT | MOT_IMAGES | (node->reads & MOT_PARTS),
                               .writes = MOT_PROGRAMS | MOT_IMAGES,
                               .waits = MOT_WAITS_FIRST };
    tiles->counters = draw->plan.counters;
    const size_t count = mot_cuda_images(job->src);
    for (size_t first = 0, n; first < count; first += n) {
        n = plan->whole ? count : next_images(job, plan, first);
        tiles->first = (int32_t)first;
        tiles->images = (int32_t)n;
        MOT_TRY(mot_call_next(call, &planning, error));
        draw->overlap = call->overlap;
        CUDA_TRY(mot_cuda_plan_launch(draw, tiles, few, call->lane), "launching the kernel that makes programs");
        MOT_TRY(mot_call_next(call, &running, error));
        CUDA_TRY(launch_tiles(tiles, ctas, call->overlap, call->lane), "launching the tile kernel");
    }
    return MOTLEY_OK;
}
