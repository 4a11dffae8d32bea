/* SPDX-License-Identifier: Apache-2.0 */
/* Runs jobs with breaks: a kernel takes the steps apart, then parts and breaks alternate. Chains are run one after the
 * other from the source, each into its own pixels, and one kernel mixes them. The frames of a clip become one image
 * where they share statistics.
 *
 * An image of a job with 2 chains, 1 break in each (*) and 1 break behind them:
 *
 *     steps    rotate blur* invert mix_add   shear mix_add   mix_sum   color emboss* solarize
 *     part       0           1                 2   (3: none)             4             5
 *     after[]         0                                                       4
 *     turn[]                         0               1          2
 *
 *     mix_chains   part 0: src -> chain 0, break 0, part 1 in chain 0; part 2: src -> chain 1, break 2, part 3;
 *                  turns 0..2: src, chains -> work
 *     queue_rest   part 4 in work, break 4, part 5: work -> dst, output
 *
 * Parts, breaks and turns are the same for all images, as many as any of them has: of an image that has fewer, or other
 * ones, the steps in those places do nothing.
 *
 * Every function of a run is called twice: with call == NULL it only counts the memory, then it queues. */
#include "dispatch/cuda/parts.h"
#include "augmentations/ops.h"
#include "base/values.h"
#include "dispatch/cuda/parts_draw.h"
#include "kernels/output.h"
#include "policies/transform.h"

/* ---- what there is to do ---- */

static int is_nothing(const mot_step *step)
{
    return (step->arg.flags & MOT_ARG_IDENTITY) != 0;
}

void mot_cuda_parts_add(mot_cuda_parts *parts, const mot_step_facts *more)
{
    const int first = parts->breaks == 0 && !parts->last_ops, ops = more->taps == 0;
    if (more->steps == 0)
        return;
    parts->kinds |= !ops ? MOT_BREAK_BLUR : more->breaks > 0 ? MOT_BREAK_FILTER : 0;
    if (more->chains > 0) {
        parts->chains = more->chains;
        parts->chain_breaks = more->breaks;
        parts->turns = more->chains + 2;
        parts->most = (more->steps - 2) / more->chains - 1;
        return;
    }
    parts->taps = mot_larger_int(parts->taps, more->taps);
    parts->breaks += more->breaks;
    parts->most += ops ? more->steps : 0;
    parts->first_ops = first ? ops : parts->first_ops;
    parts->last_ops = ops;
}

void mot_cuda_parts_add_image(mot_cuda_parts *parts, const mot_step *steps, size_t count)
{
    int32_t turns = 0, chains = 0, breaks = 0, run = 0, any = 0; /* the last three: of this chain, or after all */
    size_t mixed = count;
    while (mixed > 0 && (is_nothing(&steps[mixed - 1]) || !mot_step_mixes(steps[mixed - 1].op)))
        mixed--;
    for (size_t k = 0; k < count; k++) {
        const int op = steps[k].op;
        if (is_nothing(&steps[k]))
            continue;
        if (mot_step_mixes(op)) {
            parts->chain_breaks = mot_larger_int(parts->chain_breaks, breaks);
            chains += any;
            turns++;
            breaks = run = any = 0;
            continue;
        }
        const int kind = mot_break_of(op), pools = k >= mixed && parts->clip_frames > 1 && mot_op_pools(op);
        parts->kinds |= kind;
        parts->taps = kind & MOT_BREAK_BLUR ? MOTLEY_MAX_KERNEL : parts->taps;
        breaks += kind || pools;
        run = kind || pools ? 0 : run + 1;
        any = 1;
        parts->most = mot_larger_int(parts->most, run);
        parts->first_ops |= k >= mixed && breaks == 0;
    }
    parts->chains = mot_larger_int(parts->chains, chains);
    parts->turns = mot_larger_int(parts->turns, turns);
    parts->breaks = mot_larger_int(parts->breaks, breaks);
    parts->last_ops |= run > 0;
}

mot_cuda_parts mot_cuda_parts_of(const mot_job *job)
{
    mot_cuda_parts parts = { 0 };
    if (job->policy)
        mot_cuda_parts_add(&parts, &job->policy->facts);
    for (size_t i = 0; job->steps && i < job->count; i++)
        mot_cuda_parts_add_image(&parts, job->steps + i * job->max_steps, job->max_steps);
    return parts;
}

/* ---- memory ---- */

/* Batches of the job's sizes, in the order of their descriptions where the images have several sizes; chains follow. */
enum { SRC, WORK, SPARE, CHAINS };

/* A run: its request and its memory. */
typedef struct parts_run {
    mot_cuda_state *s;
    mot_cuda_call *call; /* NULL: it only counts memory */
    const mot_job *job;
    const mot_cuda_parts *parts;
    mot_parts_job apart;             /* takes the steps apart, into the memory that it names */
    motley_image *sent;              /* the device's copy of `images` */
    uint8_t *pixels[CHAINS + 1];     /* of SPARE, of CHAINS, and of WORK if that is in this memory */
    size_t image_bytes, batch_bytes; /* from one image to the next where all have one size; of a batch */
    motley_image *images;            /* [CHAINS + chains][count], then [clips], on the host; or NULL: one size */
    motley_batch work;
    int work_is_dst, has_spare;
    int32_t width, height;        /* of the largest image */
    mot_arena *slot, *scratch;    /* where the memory of each part's job begins, ... */
    size_t slot_end, scratch_end; /* ... and ends, at most */
} parts_run;

/* Bytes of an image in the scratch, or of one of its bands, so that no word has bytes of two. */
static size_t place_bytes(const mot_view *v, int32_t channels)
{
    return ((size_t)v->width * (size_t)v->height * (size_t)channels + 15) & ~(size_t)15;
}

/* Bytes of an image in the scratch, each of whose bands begins at a whole piece. */
static size_t image_bytes(const mot_job *job, const mot_view *v)
{
    return (size_t)mot_batch_bands(job->src) * place_bytes(v, mot_cuda_channels(job->src));
}

static size_t count_parts(const mot_cuda_parts *parts)
{
    return (size_t)(parts->chains * (parts->chain_breaks + 1) + parts->breaks + 1);
}

size_t mot_cuda_part_steps(const mot_cuda_parts *parts)
{
    return parts->most > 0 ? (size_t)parts->most : 1;
}

/* Of so many images; 0: clips have no steps of their own. */
static size_t count_clips(const mot_cuda_parts *parts, size_t images)
{
    return parts->clip_frames > 1 ? images / (size_t)parts->clip_frames : 0;
}

static int has_lists(const mot_job *job)
{
    return job->src->images || (job->dst && job->dst->images);
}

size_t mot_cuda_parts_host_bytes(const mot_cuda_parts *parts, const mot_job *job)
{
    const size_t n = job->count, images = (CHAINS + (size_t)parts->chains) * n + count_clips(parts, n);
    return has_lists(job) ? images * sizeof(motley_image) : 0;
}

/* Lays out what the parts have in common, behind which the memory of each part's job begins. */
static void lay_out_parts(parts_run *r, int has_work)
{
    const mot_cuda_parts *const parts = r->parts;
    const size_t n = r->job->count, steps = n * count_parts(parts);
    const int several = has_lists(r->job);
    for (size_t i = 0; i < (several ? n : 1); i++) {
        const mot_view v = mot_batch_view(r->job->src, i);
        r->width = mot_larger_int(r->width, v.width);
        r->height = mot_larger_int(r->height, v.height);
        r->image_bytes = image_bytes(r->job, &v);
        r->batch_bytes += (several ? 1 : n) * r->image_bytes;
    }
    r->apart.part = mot_take(r->scratch, MOT_PARTS, steps * mot_cuda_part_steps(parts) * sizeof(mot_step));
    r->apart.after = mot_take(r->scratch, MOT_PARTS, steps * sizeof(mot_step));
    r->apart.pooled = mot_take(r->scratch, MOT_PARTS, count_clips(parts, steps) * sizeof(mot_step));
    r->apart.turn = mot_take(r->scratch, MOT_PARTS, n * (size_t)parts->turns * sizeof(mot_mix_turn));
    r->sent = mot_take(r->scratch, MOT_SENT, mot_cuda_parts_host_bytes(parts, r->job));
    r->has_spare = parts->kinds && !mot_blurs_planes(parts->kinds, parts->taps, r->width, r->height);
    r->pixels[WORK] = mot_take_if(!has_work, r->scratch, MOT_IMAGES, r->batch_bytes);
    r->pixels[SPARE] = mot_take(r->scratch, MOT_IMAGES, r->has_spare ? r->batch_bytes : 0);
    r->pixels[CHAINS] = mot_take(r->scratch, MOT_IMAGES, (size_t)parts->chains * r->batch_bytes);
    r->slot_end = r->slot->bytes;
    r->scratch_end = r->scratch->bytes;
}

/* ---- batches ---- */

/* An image in the scratch: planes if the source has them, or bands. */
static motley_image image_at(const parts_run *r, const mot_view *v, uint8_t *at)
{
    const int bands = mot_batch_bands(r->job->src) > 1;
    const int planes = bands || mot_cuda_format_of(r->job->src) == MOT_FORMAT_PLANES;
    const int64_t plane = bands ? (int64_t)place_bytes(v, 1) : (int64_t)v->width * v->height;
    return (motley_image){ at,
                           v->width,
                           v->height,
                           planes ? v->width : (int64_t)v->width * v->channels,
                           planes ? 1 : v->channels,
                           planes ? plane : 1 };
}

/* The batch `which` (SPARE, CHAINS and above, WORK if it is in this memory). */
static motley_batch batch_at(const parts_run *r, size_t which)
{
    const size_t first = which < CHAINS ? which : CHAINS, n = r->job->count;
    uint8_t *at = r->pixels[first] + (which - first) * r->batch_bytes;
    if (!r->images) {
        const mot_view v = mot_batch_view(r->job->src, 0);
        const motley_image image = image_at(r, &v, at);
        motley_batch batch = mot_batch_dense(r->job->src, n, v.width, v.height, at);
        batch.image_stride = (int64_t)r->image_bytes;
        batch.row_stride = image.row_stride;
        batch.pixel_stride = image.pixel_stride;
        batch.channel_stride = image.channel_stride;
        return batch;
    }
    motley_image *const images = r->images + which * n;
    for (size_t i = 0; i < n; i++) {
        const mot_view v = mot_batch_view(r->job->src, i);
        images[i] = image_at(r, &v, at);
        at += image_bytes(r->job, &v);
    }
    return mot_batch_of_images(r->job->src, n, images);
}

/* A batch as breaks see it. */
static mot_cuda_batch sent(const parts_run *r, const motley_batch *batch, size_t which)
{
    if (!r->images)
        return mot_cuda_batch_of(batch, NULL);
    return (mot_cuda_batch){ .images = r->sent + which * r->job->count, .samples = (int32_t)r->job->count };
}

static void describe_images(const motley_batch *batch, motley_image *images)
{
    for (size_t i = 0; i < batch->count; i++) {
        const mot_view v = mot_batch_view(batch, i);
        images[i] = (motley_image){ v.data, v.width, v.height, v.row, v.pixel, v.channel };
    }
}

/* ---- a run ---- */

/* Runs a job of one part, or of clips, whose steps are drawn. */
static motley_status queue_job(parts_run *r, const mot_job *job, motley_error *error)
{
    mot_cuda_steps steps = mot_cuda_choose(r->s, job);
    mot_arena slot = *r->slot, scratch = *r->scratch;
    mot_cuda_lay_out(&steps, job, 0, r->call ? r->call->slot : NULL, &slot, &scratch);
    r->slot_end = slot.bytes > r->slot_end ? slot.bytes : r->slot_end;
    r->scratch_end = scratch.bytes > r->scratch_end ? scratch.bytes : r->scratch_end;
    return r->call ? mot_cuda_queue_steps(r->call, job, &steps, NULL, error) : MOTLEY_OK;
}

/* Runs the ops of a part. */
static motley_status queue_part(parts_run *r, int part, const motley_batch *src, const motley_batch *dst,
                                const motley_batch *output, motley_error *error)
{
    const size_t most = mot_cuda_part_steps(r->parts);
    mot_job job = *r->job;
    job.src = src;
    job.dst = dst;
    job.output = output;
    job.followed = NULL; /* it moves once, after all parts */
    job.steps = NULL;
    job.drawn_steps = r->apart.part + (size_t)part * job.count * most;
    job.max_steps = most;
    return queue_job(r, &job, error);
}

/* Runs the breaks after a part, from a batch to another or in place; or as an output `as` says. */
static motley_status queue_break(parts_run *r, int part, const motley_batch *src, size_t which_src,
                                 const motley_batch *dst, size_t which_dst, const mot_cuda_output *as,
                                 motley_error *error)
{
    if (!r->call)
        return MOTLEY_OK;
    mot_break_job job = { .src = sent(r, src, which_src),
                          .dst = sent(r, dst ? dst : src, which_dst),
                          .in_place = which_src == which_dst,
                          .count = (int32_t)mot_cuda_images(r->job->src),
                          .channels = mot_cuda_channels(r->job->src),
                          .kinds = r->parts->kinds,
                          .taps = r->parts->taps,
                          .step = r->apart.after + (size_t)part * r->job->count,
                          .width = r->width,
                          .height = r->height,
                          .multiprocessors = r->s->chip.multiprocessors };
    if (as) {
        job.has_output = 1;
        job.as = *as;
        job.output = mot_cuda_batch_of(r->job->output, NULL);
    }
    if (r->has_spare) {
        const motley_batch spare = batch_at(r, SPARE);
        job.spare = sent(r, &spare, SPARE);
    }
    const mot_node node = { .reads = MOT_SENT | MOT_PARTS | MOT_IMAGES, .writes = MOT_IMAGES };
    MOT_TRY(mot_call_next(r->call, &node, error));
    return mot_cuda_try(mot_break_launch(&job, r->call->lane), "launching the kernels of breaks", error);
}

/* Runs the steps after a part that need the statistics of clips, in `work`, in place: each clip is one image. */
static motley_status queue_clips(parts_run *r, int part, motley_error *error)
{
    const size_t frames = (size_t)r->parts->clip_frames, clips = count_clips(r->parts, r->job->count);
    motley_batch tall = r->work;
    tall.count = clips;
    tall.height *= (int32_t)frames;
    tall.image_stride *= (int64_t)frames;
    if (r->images) {
        motley_image *const images = r->images + (CHAINS + r->parts->chains) * r->job->count;
        for (size_t c = 0; c < clips; c++) {
            images[c] = r->work.images[c * frames];
            images[c].height *= (int32_t)frames;
        }
        tall.images = images;
    }
    mot_job job = mot_job_of(&tall, &tall);
    job.drawn_steps = r->apart.pooled + (size_t)part * clips;
    job.max_steps = 1;
    job.stream = r->job->stream;
    return queue_job(r, &job, error);
}

/* Runs the chains, and mixes them into `work`. */
static motley_status mix_chains(parts_run *r, motley_error *error)
{
    const mot_cuda_parts *const parts = r->parts;
    for (int c = 0, part = 0; c < parts->chains; c++, part++) {
        const size_t which = CHAINS + (size_t)c;
        const motley_batch chain = batch_at(r, which);
        MOT_TRY(queue_part(r, part, r->job->src, &chain, NULL, error));
        for (int b = 0; b < parts->chain_breaks; b++, part++) {
            MOT_TRY(queue_break(r, part, &chain, which, &chain, which, NULL, error));
            MOT_TRY(queue_part(r, part + 1, &chain, &chain, NULL, error));
        }
    }
    if (!r->call)
        return MOTLEY_OK;
    mot_chains_job job = { .src = sent(r, r->job->src, SRC),
                           .dst = sent(r, &r->work, WORK),
                           .count = (int32_t)mot_cuda_images(r->job->src),
                           .channels = mot_cuda_channels(r->job->src),
                           .turn = r->apart.turn,
                           .turns = parts->turns,
                           .width = r->width,
                           .height = r->height,
                           .multiprocessors = r->s->chip.multiprocessors };
    if (parts->chains > 0) {
        const motley_batch first = batch_at(r, CHAINS);
        job.chains = sent(r, &first, CHAINS);
        job.chains.image = (int64_t)r->image_bytes;
        job.chain_bytes = (int64_t)r->batch_bytes;
    }
    const mot_node node = { .reads = MOT_SENT | MOT_PARTS | MOT_IMAGES, .writes = MOT_IMAGES };
    MOT_TRY(mot_call_next(r->call, &node, error));
    return mot_cuda_try(mot_chains_launch(&job, r->call->lane), "launching the mixing kernel", error);
}

/* How many images of src are exactly the same pixels as those of `work`. */
static size_t count_same(const parts_run *r)
{
    size_t same = 0;
    for (size_t i = 0; i < r->job->count; i++)
        same += mot_batch_view(r->job->src, i).data == mot_batch_view(&r->work, i).data;
    return same;
}

/* Whether the last break is a blur of whole planes that can write the output itself: there are no ops behind it, and
 * the output has 16-bit values. */
static int can_blur_to_output(const parts_run *r, const motley_batch *from)
{
    const mot_cuda_parts *const parts = r->parts;
    const motley_batch *const to = r->job->output;
    if (!to || r->job->dst || r->images || parts->last_ops || parts->clip_frames > 1 ||
        !mot_blurs_planes(parts->kinds, parts->taps, r->width, r->height))
        return 0;
    const mot_view in = mot_batch_view(from, 0), out = mot_batch_view(to, 0);
    const mot_cuda_batch in_all = mot_cuda_batch_of(from, NULL), out_all = mot_cuda_batch_of(to, NULL);
    const int64_t all = (int64_t)(uintptr_t)out.data | out.row | out.channel | out_all.image;
    if (!mot_is_dense(&in, MOT_FORMAT_PLANES) || in.channels != 3 || in.width % 16 != 0 || in_all.image % 16 != 0 ||
        mot_dtype_bytes(to->dtype) != 2 || out.pixel != 2 || all % 8 != 0)
        return 0;
    return 1;
}

/* Runs what is outside of chains: from `work` if there were any, else from src; in the end to dst and the output. */
static motley_status queue_rest(parts_run *r, motley_error *error)
{
    const mot_cuda_parts *const parts = r->parts;
    const size_t same = parts->turns > 0 ? r->job->count : count_same(r);
    const motley_batch *from = same == r->job->count ? &r->work : r->job->src;
    size_t which = same == r->job->count ? WORK : SRC;
    int part = parts->chains * (parts->chain_breaks + 1);
    for (int b = 0; b < parts->breaks; b++, part++) {
        if (b > 0 || parts->first_ops || (same > 0 && which == SRC)) {
            MOT_TRY(queue_part(r, part, from, &r->work, NULL, error));
            from = &r->work;
            which = WORK;
        }
        mot_cuda_output output = { 0 };
        if (r->call && b == parts->breaks - 1 && can_blur_to_output(r, from))
            MOT_TRY(mot_cuda_output_of(r->call, r->job->src, &r->job->as, &output, error));
        if (output.by_lines)
            return queue_break(r, part, from, which, NULL, which, &output, error);
        if (parts->kinds)
            MOT_TRY(queue_break(r, part, from, which, &r->work, WORK, NULL, error));
        from = &r->work;
        which = WORK;
        if (parts->clip_frames > 1)
            MOT_TRY(queue_clips(r, part, error));
    }
    if (which == WORK && r->work_is_dst && !r->job->output && !parts->last_ops)
        return MOTLEY_OK;
    return queue_part(r, part, from, r->job->dst, r->job->output, error);
}

/* Sends the descriptions of images, and takes the steps apart. */
static motley_status take_apart(const parts_run *r, motley_error *error)
{
    const mot_cuda_parts *const parts = r->parts;
    const mot_job *const job = r->job;
    if (r->images)
        MOT_TRY(mot_call_send(r->call, MOT_SENT | MOT_PARTS, r->sent, r->images, mot_cuda_parts_host_bytes(parts, job),
                              "sending the images", error));
    MOT_TRY(mot_call_next(r->call, &(mot_node){ .reads = MOT_STEPS, .writes = MOT_PARTS }, error));
    return mot_cuda_try(mot_parts_launch(&r->apart, r->call->lane), "launching the kernel of the parts", error);
}

motley_status mot_cuda_run_parts(mot_cuda_state *s, mot_cuda_call *call, const mot_job *job,
                                 const mot_cuda_parts *parts, const motley_batch *work, int given, mot_arena *slot,
                                 mot_arena *scratch, uint8_t *host, motley_error *error)
{
    parts_run r = { .s = s, .call = call, .job = job, .parts = parts, .slot = slot, .scratch = scratch };
    r.apart = (mot_parts_job){ .count = (int32_t)job->count,
                               .max_steps = (int32_t)job->max_steps,
                               .steps = job->drawn_steps,
                               .given = given,
                               .chains = parts->chains,
                               .chain_breaks = parts->chain_breaks,
                               .breaks = parts->breaks,
                               .most = (int32_t)mot_cuda_part_steps(parts),
                               .clip_frames = parts->clip_frames,
                               .turns = parts->turns };
    r.images = has_lists(job) ? (motley_image *)(void *)host : NULL;
    lay_out_parts(&r, work || job->dst);
    r.work = work ? *work : job->dst ? *job->dst : batch_at(&r, WORK);
    r.work_is_dst = job->dst && (!work || work == job->dst);
    if (r.images) {
        describe_images(job->src, r.images + SRC * job->count);
        describe_images(&r.work, r.images + WORK * job->count);
        for (int which = SPARE; which < CHAINS + parts->chains; which++)
            batch_at(&r, (size_t)which);
    }
    if (call)
        MOT_TRY(take_apart(&r, error));
    if (parts->turns > 0)
        MOT_TRY(mix_chains(&r, error));
    MOT_TRY(queue_rest(&r, error));
    slot->bytes = r.slot_end;
    scratch->bytes = r.scratch_end;
    return MOTLEY_OK;
}

/* ---- a whole job ---- */

/* Lays out the draw buffers of a whole job: steps, step counts, sample ids. */
static void lay_out_draws(mot_cuda_steps *steps, const mot_job *job, mot_arena *slot)
{
    mot_cuda_lay_out_draws(steps, job, 0, slot);
    steps->images[0] = mot_take_if(job->src->images != NULL, slot, MOT_SENT, job->count * sizeof(motley_image));
}

motley_status mot_cuda_count_apart(mot_cuda_state *s, const mot_job *job, const mot_cuda_parts *parts, mot_arena *slot,
                                   mot_arena *scratch, motley_error *error)
{
    mot_cuda_steps steps;
    MOT_TRY(mot_pool_reserve_host(&s->pool, mot_cuda_parts_host_bytes(parts, job), error));
    lay_out_draws(&steps, job, slot);
    return mot_cuda_run_parts(s, NULL, job, parts, NULL, 0, slot, scratch, s->pool.host.memory, error);
}

motley_status mot_cuda_queue_chains(mot_cuda_call *call, const mot_cuda_draw *draw, const mot_tables *tables,
                                    int own_steps, motley_error *error)
{
    const unsigned callers = mot_cuda_reads_callers(&draw->samples) ? MOT_COUNTER : 0;
    const mot_node node = { .reads = MOT_SENT | MOT_TABLES | callers, .writes = MOT_STEPS };
    MOT_TRY(mot_call_next(call, &node, error));
    return mot_cuda_try(mot_parts_draw_launch(draw, tables, own_steps, call->lane), "launching the draw kernel", error);
}

/* Draws the steps, or sends those that are given. */
static motley_status make_steps(mot_cuda_call *call, const mot_job *job, const mot_cuda_steps *steps,
                                motley_error *error)
{
    const int32_t most = (int32_t)job->max_steps;
    mot_cuda_draw draw = {
        .count = (int32_t)job->count, .channels = job->src->channels, .max_steps = most, .plan = steps->plan
    };
    MOT_TRY(mot_cuda_send_batch(call, job->src, steps->images[0], &draw.src, error));
    if (!job->policy) {
        MOT_TRY(mot_call_send(call, MOT_STEPS, draw.plan.steps, job->steps,
                              job->count * job->max_steps * sizeof(mot_step), "sending the values", error));
        return mot_cuda_send_counts(call, &draw.plan, job, error);
    }
    MOT_TRY(mot_cuda_describe_draws(call, job, steps, &draw, error));
    return mot_cuda_queue_chains(call, &draw, NULL, most, error);
}

motley_status mot_cuda_run_apart(mot_cuda_call *call, const mot_job *job, const mot_cuda_parts *parts,
                                 mot_cuda_steps *steps, motley_error *error)
{
    lay_out_draws(steps, job, &call->memory);
    MOT_TRY(make_steps(call, job, steps, error));
    mot_job whole = *job;
    whole.drawn_steps = steps->plan.steps;
    return mot_cuda_run_parts(call->s, call, &whole, parts, NULL, 0, &call->memory, &call->scratch,
                              call->s->pool.host.memory, error);
}
