/* SPDX-License-Identifier: Apache-2.0 */
/* Queues the tile kernel for some images at a time: as many as fit with their programs and with the second buffers that
 * the largest of them need. */
#include "dispatch/cuda/tiles.h"
#include "dispatch/cuda/state.h"
#include "kernels/output.h"

/* Which kinds of ops a job's steps may have. */
typedef struct kinds {
    int stats, blurs, moves;
} kinds;

static kinds kinds_of(const mot_job *job)
{
    if (!job->policy || job->policy->customs) /* given steps may be any op, so that memory does not depend on them */
        return (kinds){ 1, 1, 1 };
    const uint32_t shapes = job->policy->shapes;
    const uint32_t moving = 1u << MOTLEY_SHAPE_WARP | 1u << MOTLEY_SHAPE_STENCIL | 1u << MOTLEY_SHAPE_BLUR;
    return (kinds){ shapes >> MOTLEY_SHAPE_STATS & 1, shapes >> MOTLEY_SHAPE_BLUR & 1, (shapes & moving) != 0 };
}

/* Bytes of an image's second buffer, which images with more tiles than CTAs need. */
static int64_t scratch_of(const mot_job *job, mot_cuda_format format, const mot_tiles_plan *plan, const mot_view *v)
{
    const mot_tile_cut cut = mot_cut_tiles(v->width, v->height, plan->tile_words);
    if (!plan->moves || (int64_t)cut.across * cut.down <= plan->max_image_ctas)
        return 0;
    return mot_scratch_bytes((int)format, job->channels, v->width, v->height);
}

/* Whether a batch has no more than `most` tiles if they are of `words`. */
static int has_at_most(const mot_job *job, int words, int64_t most)
{
    const int64_t alike = job->src->images ? 1 : (int64_t)job->count;
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
    const kinds k = kinds_of(job);
    const int steps = job->max_steps > 0 ? (int)job->max_steps : 1;
    mot_tiles_plan plan = { .windows = k.blurs ? steps : (steps + MOT_WINDOW - 1) / MOT_WINDOW,
                            .max_counts = k.stats ? steps : 0,
                            .max_image_ctas = ctas,
                            .tile_words = MOT_TILE_LEAST,
                            .moves = k.moves || job->output }; /* an output may lie where pixels are read */
    const size_t each = (size_t)plan.windows * sizeof(mot_program) + (size_t)plan.max_counts * MOT_TOTAL_WORDS * 4;
    plan.images = MOT_TILES_BYTES / each;
    plan.images = plan.images > MOT_TILES_IMAGES ? MOT_TILES_IMAGES : plan.images;
    plan.images = plan.images < MOT_TILES_FEWEST ? MOT_TILES_FEWEST : plan.images;
    plan.images = job->count < plan.images ? job->count : plan.images;
    while (plan.tile_words < MOT_TILE_WORDS && !has_at_most(job, plan.tile_words, ctas))
        plan.tile_words += MOT_TILE_STEP;
    int64_t largest = 0, all = 0, tiles = 0, most = 0, many = 0; /* many: images with more tiles than there are CTAs */
    const int64_t alike = job->src->images ? 1 : (int64_t)job->count;
    for (size_t i = 0; i < (job->src->images ? job->count : 1); i++) {
        const mot_view v = mot_batch_view(job->src, i);
        const mot_tile_cut cut = mot_cut_tiles(v.width, v.height, plan.tile_words);
        const int64_t here = (int64_t)cut.across * cut.down;
        if (here <= ctas) {
            tiles += here * alike;
            most = here > most ? here : most;
            continue;
        }
        const int64_t bytes = scratch_of(job, format, &plan, &v);
        largest = bytes > largest ? bytes : largest;
        all += bytes * alike;
        many += alike;
    }
    const int64_t at_once = many < 1 ? 1 : many > MOT_TILES_AT_ONCE ? MOT_TILES_AT_ONCE : many;
    plan.large_image_ctas = ctas / (int)at_once > 0 ? ctas / (int)at_once : 1;
    plan.tasks = tiles + many * plan.large_image_ctas;
    most = many > 0 && plan.large_image_ctas > most ? plan.large_image_ctas : most;
    const int64_t turns = plan.tasks / ctas; /* of a CTA, if light programs' pieces were tiles */
    plan.piece_quads = piece_quads(plan.tile_words, turns);
    plan.tasks = plan.tasks < most * (int64_t)plan.images ? plan.tasks : most * (int64_t)plan.images;
    plan.tasks *= 2; /* the tiles of expensive programs are halved */
    if (2 * plan.tile_words <= MOT_TILE_WORDS && most * (int64_t)job->count <= ctas) { /* they are low already */
        plan.ctas_per_image = (int)most;
        plan.tasks = most * (int64_t)job->count;
    }
    const int64_t wanted = all < MOT_TILES_SCRATCH ? all : MOT_TILES_SCRATCH;
    plan.scratch_bytes = wanted > largest ? wanted : largest;
    plan.whole = plan.images == job->count && plan.scratch_bytes == all;
    const int64_t fewest = 2 * (int64_t)ctas; /* as with lower tiles: a smaller batch never needs more memory */
    plan.tasks_room = plan.tasks > fewest ? plan.tasks : fewest;
    return plan;
}

void mot_tiles_lay_out(mot_tiles_plan *plan, mot_arena *slot, mot_arena *scratch)
{
    const size_t images = plan->images;
    plan->programs = mot_take(slot, MOT_PROGRAMS, images * (size_t)plan->windows * sizeof *plan->programs);
    plan->image = mot_take(slot, MOT_PROGRAMS, images * sizeof *plan->image);
    plan->task = mot_take(slot, MOT_PROGRAMS, MOT_TILE_LISTS * (size_t)plan->tasks_room * sizeof *plan->task);
    plan->totals =
        mot_take(slot, MOT_PROGRAMS, images * (size_t)plan->max_counts * MOT_TOTAL_WORDS * sizeof *plan->totals);
    plan->arrivals = mot_take(slot, MOT_PROGRAMS, images * sizeof *plan->arrivals);
    plan->values = mot_take(slot, MOT_PROGRAMS, 4 * 256 * sizeof *plan->values);
    plan->scratch = mot_take(scratch, MOT_IMAGES, (size_t)plan->scratch_bytes);
}

/* How many images from `first` on come next: as many as have room for their second buffers. */
static size_t next_images(const mot_job *job, mot_cuda_format format, const mot_tiles_plan *plan, size_t first)
{
    int64_t at = 0;
    size_t n = 0;
    for (; n < plan->images && first + n < job->count; n++) {
        const mot_view v = mot_batch_view(job->src, first + n);
        at += scratch_of(job, format, plan, &v);
        if (at > plan->scratch_bytes)
            break;
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

/* CTAs wait for each other, so the whole grid must be resident; otherwise the launch fails. */
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

int mot_tiles_few_images(const mot_job *job)
{
    return job->src->images && job->count <= MOT_FEW_IMAGES;
}

motley_status mot_tiles_queue(mot_cuda_call *call, const mot_job *job, mot_cuda_draw *draw, const mot_node *node,
                              mot_tiles_job *tiles, const mot_tiles_plan *plan, mot_cuda_format format,
                              motley_error *error)
{
    const int ctas = plan->tasks < plan->max_image_ctas ? (int)plan->tasks : plan->max_image_ctas;
    const motley_image *const few = mot_tiles_few_images(job) ? job->src->images : NULL;
    const unsigned parts = node->reads & MOT_PARTS;
    mot_node planning = *node;
    planning.reads |= MOT_PROGRAMS;
    planning.writes |= MOT_PROGRAMS | (few ? MOT_SENT : 0);
    const mot_node running = { .reads = MOT_PROGRAMS | MOT_SENT | MOT_IMAGES | parts,
                               .writes = MOT_PROGRAMS | MOT_IMAGES,
                               .waits = MOT_WAITS_FIRST };
    tiles->format = (int)format;
    tiles->windows = plan->windows;
    tiles->max_counts = plan->max_counts;
    tiles->max_image_ctas = plan->max_image_ctas;
    tiles->large_image_ctas = plan->large_image_ctas;
    tiles->tile_words = plan->tile_words;
    tiles->ctas_per_image = plan->ctas_per_image;
    tiles->piece_quads = plan->piece_quads;
    tiles->moves = plan->moves;
    tiles->programs = plan->programs;
    tiles->image = plan->image;
    tiles->tasks = plan->task;
    tiles->most_tasks = plan->tasks;
    tiles->counters = draw->plan.counters;
    tiles->totals = plan->totals;
    tiles->arrivals = plan->arrivals;
    tiles->output_values = plan->values;
    tiles->scratch = plan->scratch;
    for (size_t first = 0, n; first < job->count; first += n) {
        n = plan->whole ? job->count : next_images(job, format, plan, first);
        tiles->first = (int32_t)first;
        tiles->images = (int32_t)n;
        mot_lane lane;
        MOT_TRY(mot_call_next(call, &planning, &lane, error));
        draw->overlap = lane.overlap;
        CUDA_TRY(mot_cuda_plan_launch(draw, tiles, few, lane.stream), "launching the kernel that makes programs");
        MOT_TRY(mot_call_next(call, &running, &lane, error));
        CUDA_TRY(launch_tiles(tiles, format, ctas, lane.overlap, lane.stream), "launching the tile kernel");
    }
    return MOTLEY_OK;
}
