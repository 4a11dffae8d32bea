/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend's host side: checks pointers, keeps the workspace and the uploaded tables, queues the kernels.
 *
 * A call queues the draw kernel (samples -> steps -> sub-batches) and then the image kernel (steps -> pixels). In
 * steady state it allocates nothing, waits for nothing and reads nothing back. */
#include "dispatch/backend.h"
#include "dispatch/cuda_tiles.h"
#include "dispatch/cuda.h"
#include "dispatch/cuda_work.h"
#include "dispatch/plan_cuda.h"
#include "dispatch/route.h"
#include "kernels/cuda/tuning.h"
#include "policies/draw.h"

#include <stdlib.h>
#include <string.h>

#define TABLES_KEPT 32

/* A policy's tables on the device. */
typedef struct sent_tables {
    uint64_t fingerprint;
    size_t bytes;
    void *memory;
} sent_tables;

/* Whether all warps of a policy, for images of one size, read at 16.16 positions or interpolate. */
typedef struct plain_warps {
    uint64_t fingerprint;
    int32_t width, height;
    int known, plain;
} plain_warps;

typedef struct cuda_state {
    int device;
    mot_chip chip;
    motley_context_params params;
    mot_cuda_plan plan;
    uint64_t *ids;         /* [capacity], like views */
    uint32_t *views;
    motley_image *images;  /* [3][capacity]: src, work, output */
    size_t capacity;       /* samples */
    size_t steps_capacity; /* samples x steps */
    void *memory;          /* all of the above */
    void *tiles;           /* memory for batches on the tiles route */
    size_t tiles_bytes;
    int always_tiles;
    int tiles_prepared[MOT_FORMATS];
    plain_warps warps[16]; /* cached answers */
    unsigned warps_next;
    sent_tables tables[TABLES_KEPT];
    unsigned tables_next;
    cudaStream_t last_stream;
    size_t last_count, last_max_steps; /* of the last batch that was queued */
    int last_one_size;
    mot_cuda_way last_way;
    cudaEvent_t done;                  /* recorded after each call, so that another stream waits for the workspace */
    int queued;
    mot_cuda_op op[MOT_OP_COUNT];
    int prepared[MOT_FORMATS];
    mot_cuda_kept kept; /* for resizes and transforms */
} cuda_state;

static motley_status cuda_fail(motley_error *error, const char *what, cudaError_t code)
{
    const motley_status status = code == cudaErrorMemoryAllocation ? MOTLEY_ERR_MEMORY : MOTLEY_ERR_CUDA;
    return mot_fail(error, status, "%s: %s (%s)", what, cudaGetErrorString(code), cudaGetErrorName(code));
}

#define CUDA_TRY(call, what) \
    do { \
        const cudaError_t code_ = (call); \
        if (code_ != cudaSuccess) { \
            cudaGetLastError(); /* clear it, or the caller's next check would see it */ \
            return cuda_fail(error, (what), code_); \
        } \
    } while (0)

/* ---- memory ---- */

static motley_status allocate(cuda_state *s, size_t bytes, cudaStream_t stream, void **memory, motley_error *error)
{
    if (s->params.allocate) {
        *memory = s->params.allocate(s->params.allocator_user, bytes, stream);
        return *memory ? MOTLEY_OK
                       : mot_fail(error, MOTLEY_ERR_MEMORY, "the caller's allocator gave no %zu bytes", bytes);
    }
    CUDA_TRY(cudaMalloc(memory, bytes), "allocating the workspace");
    return MOTLEY_OK;
}

static void release(cuda_state *s, void *memory, cudaStream_t stream)
{
    if (memory && s->params.release)
        s->params.release(s->params.allocator_user, memory, stream);
    else if (memory)
        cudaFree(memory);
}

/* Takes the next `bytes` of a block being laid out; with base == NULL it only counts. */
static void *take(char *base, size_t *at, size_t bytes)
{
    void *const here = base ? base + *at : NULL;
    *at += (bytes + 255) & ~(size_t)255;
    return here;
}

static size_t lay_out(cuda_state *s, char *base, size_t samples, size_t steps)
{
    size_t at = 0;
    s->plan.steps = take(base, &at, steps * sizeof(mot_step));
    s->plan.step_count = take(base, &at, samples * sizeof(int32_t));
    s->plan.ready = take(base, &at, samples * sizeof(int32_t));
    s->plan.order = take(base, &at, samples * sizeof(mot_cuda_turn));
    s->plan.key = take(base, &at, samples * sizeof(int32_t));
    s->plan.rank = take(base, &at, samples * sizeof(int32_t));
    s->plan.filled = take(base, &at, MOT_KEYS * sizeof(int32_t));
    s->plan.ticket = take(base, &at, sizeof(int32_t));
    s->plan.counters = take(base, &at, sizeof *s->plan.counters);
    s->ids = take(base, &at, samples * sizeof(uint64_t));
    s->views = take(base, &at, samples * sizeof(uint32_t));
    s->images = take(base, &at, 3 * samples * sizeof(motley_image));
    return at;
}

static motley_status refuse_capture(cudaStream_t stream, const char *what, motley_error *error)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    CUDA_TRY(cudaStreamIsCapturing(stream, &capture), "asking whether the stream is being captured");
    if (capture != cudaStreamCaptureStatusNone)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "%s needs memory while the stream is being captured: run the same call once before", what);
    return MOTLEY_OK;
}

/* Room for `samples` samples of `max_steps` steps. */
static motley_status reserve(cuda_state *s, size_t samples, size_t max_steps, cudaStream_t stream, motley_error *error)
{
    const size_t steps = samples * max_steps;
    if (samples <= s->capacity && steps <= s->steps_capacity)
        return MOTLEY_OK;
    MOT_TRY(refuse_capture(stream, "a larger batch", error));
    samples = samples > s->capacity ? samples : s->capacity;
    const size_t room = steps > s->steps_capacity ? steps : s->steps_capacity;
    if (s->queued) /* the old workspace may still be in use */
        CUDA_TRY(cudaEventSynchronize(s->done), "waiting for earlier work");
    release(s, s->memory, stream);
    s->memory = NULL;
    s->capacity = s->steps_capacity = 0;
    const size_t bytes = lay_out(s, NULL, samples, room);
    void *memory;
    MOT_TRY(allocate(s, bytes, stream, &memory, error));
    s->memory = memory;
    lay_out(s, memory, samples, room);
    CUDA_TRY(cudaMemsetAsync(memory, 0, bytes, stream), "clearing the workspace"); /* the counters begin at 0 */
    s->capacity = samples;
    s->steps_capacity = room;
    return MOTLEY_OK;
}

/* Makes room for a batch on the tiles route. */
static motley_status reserve_tiles(cuda_state *s, const mot_tiles_plan *plan, cudaStream_t stream, motley_error *error)
{
    const size_t bytes = (size_t)plan->bytes;
    if (bytes <= s->tiles_bytes)
        return MOTLEY_OK;
    MOT_TRY(refuse_capture(stream, "a larger batch", error));
    if (s->queued)
        CUDA_TRY(cudaEventSynchronize(s->done), "waiting for earlier work");
    release(s, s->tiles, stream);
    s->tiles = NULL;
    s->tiles_bytes = 0;
    MOT_TRY(allocate(s, bytes, stream, &s->tiles, error));
    s->tiles_bytes = bytes;
    return MOTLEY_OK;
}

static sent_tables *find_tables(cuda_state *s, const motley_policy *policy)
{
    for (unsigned i = 0; i < TABLES_KEPT; i++)
        if (s->tables[i].memory && s->tables[i].fingerprint == policy->fingerprint &&
            s->tables[i].bytes == policy->compiled_bytes)
            return &s->tables[i];
    return NULL;
}

/* The policy's tables with device pointers; uploaded when this context first sees the policy. */
static motley_status send_tables(cuda_state *s, const motley_policy *policy, cudaStream_t stream, mot_tables *tables,
                                 motley_error *error)
{
    sent_tables *found = find_tables(s, policy);
    if (!found) {
        MOT_TRY(refuse_capture(stream, "a policy's first use", error));
        found = &s->tables[s->tables_next++ % TABLES_KEPT];
        if (found->memory && s->queued)
            CUDA_TRY(cudaEventSynchronize(s->done), "waiting for earlier work");
        release(s, found->memory, stream);
        *found = (sent_tables){ 0 };
        void *memory;
        MOT_TRY(allocate(s, policy->compiled_bytes, stream, &memory, error));
        const cudaError_t code =
            cudaMemcpyAsync(memory, policy->compiled, policy->compiled_bytes, cudaMemcpyHostToDevice, stream);
        if (code != cudaSuccess) {
            release(s, memory, stream);
            return cuda_fail(error, "sending the policy", code);
        }
        *found = (sent_tables){ policy->fingerprint, policy->compiled_bytes, memory };
    }
    *tables = policy->tables;
    const char *const host = policy->compiled, *const device = found->memory;
    tables->phase = (const mot_table_phase *)(device + ((const char *)tables->phase - host));
    tables->branch = (const mot_table_branch *)(device + ((const char *)tables->branch - host));
    tables->step = (const mot_table_step *)(device + ((const char *)tables->step - host));
    tables->level = (const mot_level_entry *)(device + ((const char *)tables->level - host));
    return MOTLEY_OK;
}

/* ---- creation ---- */

static motley_status on_device(cuda_state *s, int *before, motley_error *error)
{
    CUDA_TRY(cudaGetDevice(before), "asking for the current device");
    if (*before != s->device)
        CUDA_TRY(cudaSetDevice(s->device), "choosing the device");
    return MOTLEY_OK;
}

static void back_to(const cuda_state *s, int before)
{
    if (before != s->device)
        cudaSetDevice(before);
}

static void destroy(void *state)
{
    cuda_state *const s = state;
    int before;
    if (!s)
        return;
    if (on_device(s, &before, NULL) == MOTLEY_OK) {
        if (s->queued)
            cudaEventSynchronize(s->done);
        release(s, s->memory, NULL);
        release(s, s->tiles, NULL);
        release(s, s->kept.memory, NULL);
        for (unsigned i = 0; i < MOT_TRANSFORMS_KEPT; i++)
            release(s, s->kept.transform[i].memory, NULL);
        for (unsigned i = 0; i < TABLES_KEPT; i++)
            release(s, s->tables[i].memory, NULL);
        if (s->done)
            cudaEventDestroy(s->done);
        back_to(s, before);
    }
    free(s->kept.host);
    free(s);
}

static motley_status look_at_device(cuda_state *s, motley_error *error)
{
    int major, per_cta, per_sm;
    CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, s->device), "asking the device");
    CUDA_TRY(cudaDeviceGetAttribute(&per_cta, cudaDevAttrMaxSharedMemoryPerBlockOptin, s->device), "asking the device");
    CUDA_TRY(cudaDeviceGetAttribute(&per_sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor, s->device),
             "asking the device");
    CUDA_TRY(cudaDeviceGetAttribute(&s->chip.multiprocessors, cudaDevAttrMultiProcessorCount, s->device),
             "asking the device");
    s->chip.clusters = major == 9 || major == 10 ? 16 : major > 10 ? 8 : 1;
    s->chip.shared_bytes = per_cta - MOT_STATIC_BYTES;
    s->chip.shared_per_sm = per_sm;
    s->chip.draw_bytes = s->chip.shared_bytes < MOT_DRAW_BYTES ? s->chip.shared_bytes : MOT_DRAW_BYTES;
    CUDA_TRY(mot_cuda_draw_prepare(s->chip.draw_bytes), "preparing the draw kernel");
    CUDA_TRY(cudaEventCreateWithFlags(&s->done, cudaEventDisableTiming), "making an event");
    return MOTLEY_OK;
}

static motley_status create(const motley_context_params *params, void **state, motley_error *error)
{
    int devices = 0;
    *state = NULL;
    const cudaError_t code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess || devices == 0) {
        cudaGetLastError();
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "no CUDA device can be used: %s",
                        code != cudaSuccess ? cudaGetErrorString(code) : "there is none");
    }
    MOT_REQUIRE(params->device < devices, error, "device is %d, but there are only %d", params->device, devices);
    cuda_state *const s = calloc(1, sizeof *s);
    if (!s)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a CUDA context");
    mot_cuda_op_facts(s->op);
    s->device = params->device;
    s->params = *params;
    int before;
    motley_status status = on_device(s, &before, error);
    if (status == MOTLEY_OK) {
        status = look_at_device(s, error);
        back_to(s, before);
    }
    if (status != MOTLEY_OK) {
        destroy(s);
        return status;
    }
    *state = s;
    return MOTLEY_OK;
}

/* ---- checks ---- */

static motley_status check_pointer(const cuda_state *s, const char *name, size_t i, const void *data,
                                   motley_error *error)
{
    struct cudaPointerAttributes attributes;
    CUDA_TRY(cudaPointerGetAttributes(&attributes, data), "asking where a pointer points");
    MOT_REQUIRE(attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged, error,
                "%s image %zu: data is host memory, want memory of CUDA device %d", name, i, s->device);
    MOT_REQUIRE(attributes.type == cudaMemoryTypeManaged || attributes.device == s->device, error,
                "%s image %zu: data is on CUDA device %d, want device %d", name, i, attributes.device, s->device);
    return MOTLEY_OK;
}

static motley_status check_batch(const cuda_state *s, const char *name, const motley_batch *batch, motley_error *error)
{
    if (!batch->images)
        return check_pointer(s, name, 0, batch->data, error);
    for (size_t i = 0; i < batch->count; i++)
        MOT_TRY(check_pointer(s, name, i, batch->images[i].data, error));
    return MOTLEY_OK;
}

static motley_status validate(void *state, const mot_job *job, motley_error *error)
{
    const cuda_state *const s = state;
    MOT_TRY(check_batch(s, "src", job->src, error));
    if (job->dst && job->dst != job->src)
        MOT_TRY(check_batch(s, "dst", job->dst, error));
    if (job->output)
        MOT_TRY(check_batch(s, "output", &job->output->batch, error));
    if (job->counter)
        MOT_TRY(check_pointer(s, "counter", 0, job->counter, error));
    return MOTLEY_OK;
}

/* ---- running ---- */

/* A batch in the kernels' form; the descriptors of images of different sizes are copied to `images` on the device. */
static motley_status send_batch(const motley_batch *batch, motley_image *images, cudaStream_t stream,
                                mot_cuda_batch *sent, motley_error *error)
{
    const mot_view v = mot_batch_view(batch, 0);
    *sent = (mot_cuda_batch){ v.data, 0, v.row, v.pixel, v.channel, v.width, v.height, NULL };
    if (batch->images) {
        CUDA_TRY(mot_cuda_send(images, batch->images, batch->count * sizeof *images, stream), "sending the images");
        sent->images = images;
    } else if (batch->count > 1) {
        sent->image = mot_batch_view(batch, 1).data - v.data;
    }
    return MOTLEY_OK;
}

/* Lets a separate thread draw each of a sample's steps when no step depends on another. */
static void choose_threads(mot_cuda_draw *draw)
{
    int threads_log2 = 0;
    while (1u << threads_log2 < draw->tables.max_steps)
        threads_log2++;
    draw->by_step = draw->tables.choice == MOT_WITH_REPLACEMENT && threads_log2 <= MOT_SLOTS_LOG2;
    draw->threads_log2 = draw->by_step ? threads_log2 : 0;
}

/* Whether no step of the call interpolates. */
static int is_nearest(const mot_job *job)
{
    for (uint32_t i = 0; job->policy && i < job->policy->tables.interpolations; i++)
        if (job->policy->tables.interpolation[i] != MOTLEY_NEAREST)
            return 0;
    for (size_t i = 0; job->steps && i < job->count * job->max_steps; i++)
        if (job->steps[i].interpolation != MOTLEY_NEAREST)
            return 0;
    return 1;
}

/* Chooses how many samples the first wave of CTAs has and how the others are interleaved; image.cu says why. */
static void choose_order(const mot_chip *chip, const mot_cuda_shape *shape, mot_cuda_job *image)
{
    static const int32_t primes[] = { 7919, 7907, 7901, 7883 };
    const int by_memory = chip->shared_per_sm / (shape->shared_bytes + MOT_STATIC_BYTES);
    const int by_threads = MOT_THREADS_PER_SM / shape->threads;
    const int at_once = by_memory < 1 ? 1 : by_memory < by_threads ? by_memory : by_threads;
    const int wave = shape->clusters == 1 && shape->early ? chip->multiprocessors * at_once : 0;
    image->first_wave = image->count < wave ? image->count : wave;
    const int32_t others = image->count - image->first_wave;
    image->mixed = others > chip->multiprocessors && others < 500000 ? others - chip->multiprocessors : 0;
    for (int i = 0; i < 4; i++)
        if (image->mixed % primes[i] != 0)
            image->mix = primes[i];
}

/* ---- the route ---- */

/* Whether a step, if it is a warp, reads at 16.16 positions or interpolates. */
static int is_plain_warp(const mot_step *step, int width, int height)
{
    mot_program program;
    mot_warp warp;
    if (mot_shape_of(step->op) != MOTLEY_SHAPE_WARP || (step->arg.flags & MOT_ARG_IDENTITY))
        return 1;
    mot_warp_matrix(step->op, width, height, &step->arg, &warp);
    mot_program_warp_path(&program, 0, &warp, width, height, step->interpolation);
    return program.path[0] != MOT_WARP_SCALE && program.path[0] != MOT_WARP_DOUBLE;
}

/* The same for every step that a policy can draw. */
static int has_plain_warps(const motley_policy *policy, int width, int height)
{
    const mot_tables *const t = &policy->tables;
    for (uint32_t b = 0; b < policy->branches; b++)
        for (uint32_t s = 0; s < t->branch[b].steps; s++) {
            const mot_table_step *const step = &t->step[t->branch[b].first_step + s];
            for (uint32_t level = 0; step->warps && level < step->levels; level++)
                for (int minus = 0; minus < 2; minus++) {
                    const mot_level_entry *const entry = &t->level[step->first_level + level];
                    mot_step drawn = { .arg = entry->arg[minus], .op = step->op, .interpolation = MOTLEY_NEAREST };
                    if (step->side != MOT_SIDE_NONE) {
                        drawn.arg.d[0] = mot_relative(step, entry, minus, step->side == MOT_SIDE_WIDTH ? width : height);
                        drawn.arg.flags = drawn.arg.d[0] == 0 ? drawn.arg.flags : 0;
                    }
                    if (!is_plain_warp(&drawn, width, height))
                        return 0;
                }
        }
    return 1;
}

/* The same, cached: finding out takes as long as a whole call. */
static int knows_plain_warps(cuda_state *s, const motley_policy *policy, int width, int height)
{
    const unsigned kept = sizeof s->warps / sizeof s->warps[0];
    for (unsigned i = 0; i < kept; i++) {
        const plain_warps *const w = &s->warps[i];
        if (w->known && w->fingerprint == policy->fingerprint && w->width == width && w->height == height)
            return w->plain;
    }
    plain_warps *const w = &s->warps[s->warps_next++ % kept];
    *w = (plain_warps){ policy->fingerprint, width, height, 1, has_plain_warps(policy, width, height) };
    return w->plain;
}

static int can_blur(const mot_job *job)
{
    int blurs = job->drawn_steps && !job->policy; /* any of several stages may blur */
    for (uint32_t b = 0; job->policy && b < job->policy->branches; b++) {
        const mot_table_branch *const branch = &job->policy->tables.branch[b];
        for (uint32_t s = 0; s < branch->steps; s++)
            blurs |= mot_shape_of(job->policy->tables.step[branch->first_step + s].op) == MOTLEY_SHAPE_BLUR;
    }
    for (size_t i = 0; job->steps && i < job->count * job->max_steps; i++)
        blurs |= mot_shape_of(job->steps[i].op) == MOTLEY_SHAPE_BLUR;
    return blurs;
}

/* Whether all images satisfy mot_is_dense(). */
static int are_dense(const motley_batch *batch, mot_cuda_format format)
{
    const mot_view first = mot_batch_view(batch, 0);
    const int64_t step = batch->count > 1 ? mot_batch_view(batch, 1).data - first.data : 0;
    return !batch->images && mot_is_dense(&first, format) && step % 16 == 0;
}

/* `work`: dst, or the part of the output that holds pixels between passes. */
static mot_route_choice route_of(cuda_state *s, const mot_job *job, mot_cuda_format format, const motley_batch *work)
{
    const mot_view v = mot_batch_view(job->src, 0);
    mot_route_facts f = { .count = job->count,
                          .width = v.width,
                          .height = v.height,
                          .channels = job->channels,
                          .format = format,
                          .one_size = !job->src->images,
                          .output = job->output != NULL,
                          .max_steps = job->max_steps,
                          .always_tiles = s->always_tiles };
    f.dense = are_dense(job->src, format);
    f.dense_between = mot_cuda_format_of(work) == format && are_dense(work, format);
    if (f.one_size && f.dense && f.dense_between) { /* else the rest makes no difference */
        f.blurs = can_blur(job);
        f.interpolates = !is_nearest(job);
        f.sums = job->policy && !knows_plain_warps(s, job->policy, v.width, v.height);
        for (size_t i = 0; job->steps && !f.sums && i < job->count * job->max_steps; i++)
            f.sums = !is_plain_warp(&job->steps[i], v.width, v.height);
    }
    return mot_route_choose(&s->chip, &f);
}

/* CTAs of the tile kernel that are resident on the device at once. */
static int resident_ctas(const mot_chip *chip)
{
    const int by_memory = chip->shared_per_sm / (mot_tile_kernel_bytes() + 1024);
    return chip->multiprocessors * (by_memory < 1 ? 1 : by_memory > MOT_TILE_CTAS ? MOT_TILE_CTAS : by_memory);
}

static motley_status queue_work(cuda_state *s, const mot_job *job, cudaStream_t stream, motley_error *error)
{
    mot_cuda_draw draw = { .count = (int32_t)job->count, .channels = job->channels, .plan = s->plan };
    mot_cuda_job image = { .count = draw.count, .channels = job->channels };
    const mot_cuda_format format = mot_cuda_format_of(job->src);
    const mot_tiles_plan plan = mot_tiles_plan_of(job, format, resident_ctas(&s->chip));
    MOT_TRY(reserve_tiles(s, &plan, stream, error));

    /* Where pixels come from and go: src -> work (between passes) -> output. */
    motley_batch waiting;
    const motley_batch *work = job->dst;
    if (!work) {
        waiting = mot_tiles_work(job->src, &job->output->batch, format);
        work = &waiting;
    }
    const mot_route_choice choice = route_of(s, job, format, work);
    const mot_cuda_shape shape = choice.shape;
    const int by_tiles = choice.route == MOT_ROUTE_TILES;
    s->last_way = (mot_cuda_way){ choice.route, choice.reason, format, job->output != NULL };
    image.max_steps = draw.max_steps = (int32_t)job->max_steps;
    image.box_bytes = shape.box_bytes;
    image.stage_bytes = shape.stage_bytes;
    if (!by_tiles)
        choose_order(&s->chip, &shape, &image);
    draw.first_wave = image.first_wave;
    const motley_batch *output = job->output ? &job->output->batch : work;
    MOT_TRY(send_batch(job->src, s->images, stream, &image.src, error));
    image.work = image.src;
    if (work != job->src)
        MOT_TRY(send_batch(work, s->images + s->capacity, stream, &image.work, error));
    image.output = image.work;
    if (output != work)
        MOT_TRY(send_batch(output, s->images + 2 * s->capacity, stream, &image.output, error));
    image.output_dtype = job->output ? job->output->batch.dtype : MOTLEY_U8;
    image.plain = !job->output;
    if (job->output) {
        memcpy(image.mean, job->output->mean, sizeof image.mean);
        memcpy(image.std, job->output->std, sizeof image.std);
        image.convention = job->convention;
    }

    if (job->drawn_steps) {
        draw.plan.steps = (mot_step *)job->drawn_steps; /* which it only reads */
    } else if (job->policy) {
        draw.draws = 1;
        draw.seed = job->samples.seed;
        draw.epoch = job->samples.epoch;
        draw.sample = job->samples.first;
        draw.counter = job->counter;
        MOT_TRY(send_tables(s, job->policy, stream, &draw.tables, error));
        draw.tables_bytes = (int64_t)job->policy->compiled_bytes;
        choose_threads(&draw);
        draw.near_bytes = s->chip.draw_bytes;
        if (job->samples.ids && job->count <= MOT_FEW_IDS) {
            draw.few_ids = 1;
            memcpy(draw.few_id, job->samples.ids, job->count * sizeof(uint64_t));
        } else if (job->samples.ids) {
            CUDA_TRY(mot_cuda_send(s->ids, job->samples.ids, job->count * sizeof(uint64_t), stream),
                     "sending the sample ids");
            draw.ids = s->ids;
        }
        draw.view = job->samples.view;
        if (job->samples.views && job->count <= MOT_FEW_IDS) {
            draw.few_views = 1;
            for (size_t i = 0; i < job->count; i++)
                draw.few_view[i] = (uint16_t)job->samples.views[i];
        } else if (job->samples.views) {
            CUDA_TRY(mot_cuda_send(s->views, job->samples.views, job->count * sizeof(uint32_t), stream),
                     "sending the views");
            draw.views = s->views;
        }
    } else {
        CUDA_TRY(mot_cuda_send(s->plan.steps, job->steps, job->count * job->max_steps * sizeof(mot_step), stream),
                 "sending the values");
    }
    draw.src = image.src;
    memcpy(draw.op, s->op, sizeof draw.op);
    image.steps = draw.plan.steps;
    image.ready = s->plan.ready;
    image.order = s->plan.order;
    if (by_tiles) {
        if (!s->tiles_prepared[format]) {
            CUDA_TRY(mot_tiles_prepare(format), "preparing the tile kernel");
            s->tiles_prepared[format] = 1;
        }
        mot_tiles_job tiles = { .src = image.src,
                                .work = image.work,
                                .output = image.output,
                                .channels = job->channels,
                                .output_dtype = image.output_dtype,
                                .has_output = job->output != NULL,
                                .work_strided = mot_cuda_format_of(work) != format,
                                .work_in_output = !job->dst };
        memcpy(tiles.mean, image.mean, sizeof tiles.mean);
        memcpy(tiles.std, image.std, sizeof tiles.std);
        tiles.convention = image.convention;
        CUDA_TRY(mot_tiles_queue(job, &draw, &tiles, &plan, format, s->chip.clusters > 1, s->tiles, stream),
                 "launching the tile kernel");
        return MOTLEY_OK;
    }
    if (!s->prepared[format]) {
        CUDA_TRY(mot_cuda_image_prepare(format, s->chip.shared_bytes), "preparing the image kernel");
        s->prepared[format] = 1;
    }
    CUDA_TRY(mot_cuda_draw_launch(&draw, stream), "launching the draw kernel");
    const cudaError_t launched = mot_cuda_image_launch(&image, format, &shape, stream);
    if (launched != cudaSuccess) /* no kernel consumes what the draw kernel marks as ready */
        cudaMemsetAsync(s->plan.ready, 0, s->capacity * sizeof(int32_t), stream);
    CUDA_TRY(launched, "launching the image kernel");
    return MOTLEY_OK;
}

static motley_status run_on_device(cuda_state *s, const mot_job *job, motley_error *error)
{
    const cudaStream_t stream = job->stream;
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    CUDA_TRY(cudaStreamIsCapturing(stream, &capture), "asking whether the stream is being captured");
    const int captured = capture != cudaStreamCaptureStatusNone;
    if (s->queued && s->last_stream != stream && !captured)
        CUDA_TRY(cudaStreamWaitEvent(stream, s->done, 0), "waiting for the workspace");
    MOT_TRY(reserve(s, job->count, job->max_steps, stream, error));
    s->last_count = 0;
    const motley_status status = queue_work(s, job, stream, error);
    if (status == MOTLEY_OK && !job->drawn_steps) {
        s->last_count = job->count;
        s->last_max_steps = job->max_steps;
        s->last_one_size = !job->src->images;
    }
    if (!captured) {
        CUDA_TRY(cudaEventRecord(s->done, stream), "recording an event");
        s->queued = 1;
        s->last_stream = stream;
    }
    return status;
}

static motley_status run(void *state, const mot_job *job, motley_error *error)
{
    cuda_state *const s = state;
    int before;
    MOT_TRY(on_device(s, &before, error));
    const motley_status status = run_on_device(s, job, error);
    back_to(s, before);
    return status;
}

/* ---- for resizes and transforms ---- */

motley_status mot_cuda_run_steps(const mot_cuda_work *work, const mot_job *job, motley_error *error)
{
    return run_on_device(work->state, job, error);
}

motley_status mot_cuda_begin(void *state, void *stream, mot_cuda_work *work, motley_error *error)
{
    cuda_state *const s = state;
    *work = (mot_cuda_work){ .state = s, .stream = stream, .chip = &s->chip, .kept = &s->kept };
    MOT_TRY(on_device(s, &work->device_before, error));
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaError_t code = cudaStreamIsCapturing(work->stream, &capture);
    work->captured = capture != cudaStreamCaptureStatusNone;
    if (code == cudaSuccess && s->queued && s->last_stream != work->stream && !work->captured)
        code = cudaStreamWaitEvent(work->stream, s->done, 0);
    if (code == cudaSuccess)
        return MOTLEY_OK;
    cudaGetLastError();
    back_to(s, work->device_before);
    return cuda_fail(error, "waiting for the workspace", code);
}

motley_status mot_cuda_end(const mot_cuda_work *work, motley_status status, motley_error *error)
{
    cuda_state *const s = work->state;
    const cudaError_t code = work->captured ? cudaSuccess : cudaEventRecord(s->done, work->stream);
    if (code != cudaSuccess)
        cudaGetLastError();
    else if (!work->captured)
        s->queued = 1, s->last_stream = work->stream;
    back_to(s, work->device_before);
    return status == MOTLEY_OK && code != cudaSuccess ? cuda_fail(error, "recording an event", code) : status;
}

motley_status mot_cuda_reserve(const mot_cuda_work *work, size_t device_bytes, size_t host_bytes, motley_error *error)
{
    cuda_state *const s = work->state;
    mot_cuda_kept *const kept = work->kept;
    if (host_bytes > kept->host_bytes) {
        void *const host = realloc(kept->host, host_bytes);
        if (!host)
            return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu bytes", host_bytes);
        kept->host = host;
        kept->host_bytes = host_bytes;
    }
    if (device_bytes <= kept->bytes)
        return MOTLEY_OK;
    MOT_TRY(refuse_capture(work->stream, "a larger batch", error));
    if (s->queued)
        CUDA_TRY(cudaEventSynchronize(s->done), "waiting for earlier work");
    release(s, kept->memory, work->stream);
    kept->memory = NULL;
    kept->bytes = 0;
    MOT_TRY(allocate(s, device_bytes, work->stream, &kept->memory, error));
    kept->bytes = device_bytes;
    return MOTLEY_OK;
}

motley_status mot_cuda_keep_transform(const mot_cuda_work *work, uint64_t fingerprint, size_t bytes,
                                      mot_cuda_sent **sent, motley_error *error)
{
    cuda_state *const s = work->state;
    for (unsigned i = 0; i < MOT_TRANSFORMS_KEPT; i++)
        if (work->kept->transform[i].fingerprint == fingerprint && work->kept->transform[i].bytes == bytes) {
            *sent = &work->kept->transform[i];
            return MOTLEY_OK;
        }
    MOT_TRY(refuse_capture(work->stream, "a transform's first use", error));
    *sent = &work->kept->transform[work->kept->transforms_next++ % MOT_TRANSFORMS_KEPT];
    if (s->queued)
        CUDA_TRY(cudaEventSynchronize(s->done), "waiting for earlier work");
    release(s, (*sent)->memory, work->stream);
    **sent = (mot_cuda_sent){ 0 };
    MOT_TRY(allocate(s, bytes, work->stream, &(*sent)->memory, error));
    (*sent)->bytes = bytes;
    return MOTLEY_OK;
}

motley_status mot_cuda_check(void *state, const char *name, const motley_batch *batch, motley_error *error)
{
    return check_batch(state, name, batch, error);
}

motley_status mot_cuda_try(cudaError_t code, const char *what, motley_error *error)
{
    CUDA_TRY(code, what);
    return MOTLEY_OK;
}

/* ---- forecast and report ---- */

static motley_status workspace(void *state, const mot_job *job, size_t *bytes, motley_error *error)
{
    (void)error;
    cuda_state *const s = state;
    cuda_state counted = *s; /* a copy, to count without allocating */
    size_t samples = s->capacity, steps = s->steps_capacity, tiles = s->tiles_bytes;
    *bytes = s->kept.bytes;
    for (unsigned i = 0; i < MOT_TRANSFORMS_KEPT; i++)
        *bytes += s->kept.transform[i].bytes;
    for (unsigned i = 0; i < TABLES_KEPT; i++)
        *bytes += s->tables[i].bytes;
    if (job) {
        const size_t needed = job->count * job->max_steps;
        samples = job->count > samples ? job->count : samples;
        steps = needed > steps ? needed : steps;
        if (job->policy && !job->policy->runs_customs && !find_tables(s, job->policy))
            *bytes += job->policy->compiled_bytes - s->tables[s->tables_next % TABLES_KEPT].bytes; /* it is replaced */
        const mot_tiles_plan plan = mot_tiles_plan_of(job, mot_cuda_format_of(job->src), resident_ctas(&s->chip));
        tiles = (size_t)plan.bytes > tiles ? (size_t)plan.bytes : tiles;
    }
    *bytes += tiles;
    if (samples > 0)
        *bytes += lay_out(&counted, NULL, samples, steps);
    return MOTLEY_OK;
}

/* Finds the sub-batches of `last` by a counting sort. `share`: each image's pixels as a share of the largest
 * image's. */
static void sort_last(const cuda_state *s, mot_last *last, const float *share)
{
    int op_at[MOT_OP_COUNT + 1];
    size_t first[MOT_BUCKETS + 1] = { 0 };
    for (int op = 0; op < MOT_OP_COUNT; op++)
        op_at[s->op[op].place] = op;
    op_at[MOT_OP_COUNT] = -1;
    for (int turn = 0; turn < 2; turn++) { /* first the counts, then the members */
        for (size_t i = 0; i < last->count; i++) {
            const int b = mot_bucket_of(&last->steps[i * last->max_steps], last->step_counts[i], s->op, share[i]);
            if (turn == 0)
                first[b + 1]++;
            else
                last->order[first[b]++] = (uint32_t)i;
        }
        for (int b = 0; b < MOT_BUCKETS && turn == 0; b++) {
            const size_t count = first[b + 1];
            first[b + 1] += first[b];
            if (count > 0)
                last->batches[last->batches_count++] =
                    (motley_subbatch){ .op = op_at[b % (MOT_OP_COUNT + 1)],
                                       .cost = MOT_COST_CLASSES - 1 - b / (MOT_OP_COUNT + 1),
                                       .first = first[b],
                                       .count = count };
        }
    }
}

static motley_status copy_back(const cuda_state *s, mot_last *last, motley_image *images, float *share,
                               motley_error *error)
{
    const size_t n = last->count;
    float most = 1;
    CUDA_TRY(cudaDeviceSynchronize(), "waiting for the batch"); /* all streams: a graph may replay on another */
    CUDA_TRY(cudaMemcpy(last->steps, s->plan.steps, n * last->max_steps * sizeof(mot_step), cudaMemcpyDeviceToHost),
             "copying the steps");
    CUDA_TRY(cudaMemcpy(last->step_counts, s->plan.step_count, n * sizeof(int32_t), cudaMemcpyDeviceToHost),
             "copying the numbers of steps");
    if (!s->last_one_size)
        CUDA_TRY(cudaMemcpy(images, s->images, n * sizeof *images, cudaMemcpyDeviceToHost), "copying the sizes");
    for (size_t i = 0; i < n; i++) {
        if (last->step_counts[i] < 0 || (size_t)last->step_counts[i] > last->max_steps)
            return mot_fail(error, MOTLEY_ERR_INTERNAL, "image %zu has %d steps, want at most %zu", i,
                            (int)last->step_counts[i], last->max_steps);
        share[i] = s->last_one_size ? 1 : (float)images[i].width * (float)images[i].height;
        most = share[i] > most ? share[i] : most;
    }
    for (size_t i = 0; i < n; i++)
        share[i] /= most;
    sort_last(s, last, share);
    last->route = mot_route_names[s->last_way.route];
    last->reason = s->last_way.reason;
    return MOTLEY_OK;
}

static motley_status look_back(void *state, mot_last *last, motley_error *error)
{
    cuda_state *const s = state;
    int before;
    MOT_REQUIRE(s->last_count > 0, error, "no batch was run yet that could be looked at");
    motley_image *const images = malloc(s->last_count * sizeof *images);
    float *const share = malloc(s->last_count * sizeof *share);
    motley_status status =
        images && share ? mot_last_make(last, s->last_count, s->last_max_steps, error)
                        : mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the sizes of %zu images", s->last_count);
    if (status == MOTLEY_OK) {
        status = on_device(s, &before, error);
        if (status == MOTLEY_OK) {
            status = copy_back(s, last, images, share, error);
            back_to(s, before);
        }
        if (status != MOTLEY_OK)
            mot_last_clear(last);
    }
    free(images);
    free(share);
    return status;
}

/* ---- memory for the caller ---- */

static motley_status create_memory(void *state, motley_memory_kind kind, size_t bytes, void **memory,
                                   motley_error *error)
{
    cuda_state *const s = state;
    int before;
    MOT_TRY(on_device(s, &before, error));
    const cudaError_t code =
        kind == MOTLEY_MEMORY_HOST ? cudaHostAlloc(memory, bytes, cudaHostAllocPortable) : cudaMalloc(memory, bytes);
    back_to(s, before);
    if (code == cudaSuccess)
        return MOTLEY_OK;
    cudaGetLastError();
    *memory = NULL;
    return cuda_fail(error, kind == MOTLEY_MEMORY_HOST ? "allocating pinned memory" : "allocating device memory", code);
}

static void destroy_memory(void *state, void *memory)
{
    cuda_state *const s = state;
    struct cudaPointerAttributes attributes;
    int before;
    if (on_device(s, &before, NULL) != MOTLEY_OK)
        return;
    if (cudaPointerGetAttributes(&attributes, memory) == cudaSuccess && attributes.type == cudaMemoryTypeHost)
        cudaFreeHost(memory);
    else
        cudaFree(memory);
    cudaGetLastError();
    back_to(s, before);
}

static motley_status copy(void *state, void *to, const void *from, size_t bytes, void *stream, motley_error *error)
{
    cuda_state *const s = state;
    int before;
    MOT_TRY(on_device(s, &before, error));
    const cudaError_t code = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
    back_to(s, before);
    CUDA_TRY(code, "copying");
    return MOTLEY_OK;
}

static motley_status wait(void *state, void *stream, motley_error *error)
{
    cuda_state *const s = state;
    int before;
    MOT_TRY(on_device(s, &before, error));
    const cudaError_t code = cudaStreamSynchronize(stream);
    back_to(s, before);
    CUDA_TRY(code, "waiting for the stream");
    return MOTLEY_OK;
}

void mot_cuda_tiles_always(motley_context *context, int always)
{
    ((cuda_state *)context->state)->always_tiles = always;
}

mot_cuda_way mot_cuda_last_way(const motley_context *context)
{
    return ((const cuda_state *)context->state)->last_way;
}

const mot_backend mot_backend_cuda = { .id = MOTLEY_BACKEND_CUDA,
                                       .name = "cuda",
                                       .create = create,
                                       .destroy = destroy,
                                       .validate = validate,
                                       .run = run,
                                       .look_back = look_back,
                                       .workspace = workspace,
                                       .create_memory = create_memory,
                                       .destroy_memory = destroy_memory,
                                       .copy = copy,
                                       .wait = wait,
                                       .resize = mot_cuda_resize,
                                       .transform = mot_cuda_transform };
