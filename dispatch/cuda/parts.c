/* SPDX-License-Identifier: Apache-2.0 */
/* Runs jobs with breaks: a kernel takes the steps apart, then parts and breaks alternate. Chains are run one after the
 * other from the source, each into its own pixels, and one kernel mixes them. The frames of a clip become one image
 * where they share statistics. */
#include "dispatch/cuda/parts.h"
#include "dispatch/clips.h"
#include "dispatch/cuda/follow.h"
#include "dispatch/cuda/parts_draw.h"
#include "dispatch/cuda/state.h"
#include "kernels/output.h"
#include "policies/transform.h"

#include <string.h>

/* ---- what there is to do ---- */

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

void mot_cuda_parts_add(mot_cuda_parts *parts, int steps, int kinds, int ops)
{
    if (steps == 0)
        return;
    const int first = parts->breaks == 0 && !parts->last_ops;
    parts->kinds |= kinds;
    parts->most += ops ? steps : 0;
    parts->first_ops = first ? ops != 0 : parts->first_ops;
    parts->last_ops = ops != 0;
}

void mot_cuda_parts_add_policy(mot_cuda_parts *parts, const motley_policy *policy)
{
    const int32_t width = policy->augmix.width, most = (int32_t)policy->tables.max_steps;
    const int kinds = policy->filters ? MOT_BREAK_FILTER : 0;
    if (width == 0) {
        mot_cuda_parts_add(parts, most, kinds, 1);
        parts->breaks += (int32_t)policy->filters;
        return;
    }
    parts->kinds |= kinds;
    parts->chains = width;
    parts->chain_breaks = (int32_t)policy->filters;
    parts->turns = width + 2;
    parts->most = (most - 2) / width - 1;
}

void mot_cuda_parts_add_image(mot_cuda_parts *parts, const int32_t *ops, int count)
{
    int mixed = count, k = 0;
    int32_t turns = 0, chains = 0;
    while (mixed > 0 && !mot_step_mixes(ops[mixed - 1]))
        mixed--;
    while (k < mixed) {
        int32_t breaks = 0, run = 0, most = 0;
        const int begin = k;
        for (; !mot_step_mixes(ops[k]); k++) {
            const int kind = mot_break_of(ops[k]);
            parts->kinds |= kind;
            breaks += kind != 0;
            run = kind ? 0 : run + 1;
            most = larger(most, run);
        }
        chains += k > begin;
        turns++;
        k++;
        parts->chain_breaks = larger(parts->chain_breaks, breaks);
        parts->most = larger(parts->most, most);
    }
    parts->chains = larger(parts->chains, chains);
    parts->turns = larger(parts->turns, turns);
    int32_t breaks = 0, run = 0;
    for (; k < count; k++) {
        const int kind = mot_break_of(ops[k]);
        const int breaks_here = kind || (parts->clip_frames > 1 && mot_op_pools(ops[k]));
        parts->kinds |= kind;
        breaks += breaks_here;
        run = breaks_here ? 0 : run + 1;
        parts->most = larger(parts->most, run);
        parts->first_ops |= breaks == 0;
    }
    parts->breaks = larger(parts->breaks, breaks);
    parts->last_ops |= run > 0;
}

mot_cuda_parts mot_cuda_parts_of(const mot_job *job)
{
    mot_cuda_parts parts = { 0 };
    if (job->policy && !job->steps)
        mot_cuda_parts_add_policy(&parts, job->policy);
    for (size_t i = 0; job->steps && i < job->count; i++) {
        int32_t ops[MOT_MAX_STEPS];
        int count = 0;
        for (size_t s = 0; s < job->max_steps; s++) {
            const mot_step *const step = &job->steps[i * job->max_steps + s];
            if (!(step->arg.flags & MOT_ARG_IDENTITY))
                ops[count++] = step->op;
        }
        mot_cuda_parts_add_image(&parts, ops, count);
    }
    return parts;
}

/* ---- memory ---- */

/* Batches of the job's sizes, in the order of their descriptions where the images have several sizes; chains follow. */
enum { SRC, WORK, SPARE, CHAINS };

typedef struct places {
    size_t part, after, pooled, turn, counts, images; /* offsets */
    size_t pixels[CHAINS + 1];                        /* of SPARE, of CHAINS, and of WORK if that is in this memory */
    size_t image_bytes, batch_bytes;                  /* of one image where all have one size; of a batch */
    size_t device, host;
} places;

static size_t dense_bytes(const mot_view *v)
{
    return (size_t)v->width * (size_t)v->height * (size_t)v->channels;
}

static int32_t count_parts(const mot_cuda_parts *parts)
{
    return parts->chains * (parts->chain_breaks + 1) + parts->breaks + 1;
}

/* 0: the job has no clips. */
static size_t count_clips(const mot_cuda_parts *parts, size_t images)
{
    return parts->clip_frames > 1 ? images / (size_t)parts->clip_frames : 0;
}

size_t mot_cuda_part_steps(const mot_cuda_parts *parts)
{
    return parts->most > 0 ? (size_t)parts->most : 1;
}

static places lay_out(const mot_cuda_parts *parts, const mot_job *job, int has_work)
{
    const size_t n = job->count, steps = n * (size_t)count_parts(parts);
    const int several = job->src->images || (job->dst && job->dst->images);
    places p = { 0 };
    for (size_t i = 0; i < (several ? n : 1); i++) {
        const mot_view v = mot_batch_view(job->src, i);
        p.image_bytes = dense_bytes(&v);
        p.batch_bytes += several ? (p.image_bytes + 15) & ~(size_t)15 : n * p.image_bytes;
    }
    p.part = mot_cuda_take(&p.device, steps * mot_cuda_part_steps(parts) * sizeof(mot_step));
    p.after = mot_cuda_take(&p.device, steps * sizeof(mot_step));
    p.pooled = mot_cuda_take(&p.device, count_clips(parts, steps) * sizeof(mot_step));
    p.turn = mot_cuda_take(&p.device, n * (size_t)parts->turns * sizeof(mot_mix_turn));
    p.counts = mot_cuda_take(&p.device, n * sizeof(int32_t));
    p.host = several ? ((CHAINS + (size_t)parts->chains) * n + count_clips(parts, n)) * sizeof(motley_image) : 0;
    p.images = mot_cuda_take(&p.device, p.host);
    if (!has_work)
        p.pixels[WORK] = mot_cuda_take(&p.device, p.batch_bytes);
    if (parts->kinds & (MOT_BREAK_BLUR | MOT_BREAK_FILTER))
        p.pixels[SPARE] = mot_cuda_take(&p.device, p.batch_bytes);
    p.pixels[CHAINS] = mot_cuda_take(&p.device, (size_t)parts->chains * p.batch_bytes);
    return p;
}

mot_cuda_parts_bytes mot_cuda_parts_need(const mot_cuda_parts *parts, const mot_job *job, int has_work)
{
    const places p = lay_out(parts, job, has_work);
    return (mot_cuda_parts_bytes){ p.device, p.host };
}

/* ---- a run ---- */

typedef struct run {
    const mot_cuda_work *cuda;
    const mot_job *job;
    const mot_cuda_parts *parts;
    places p;
    uint8_t *device;
    motley_image *images; /* [CHAINS + chains][count], then [clips], on the host; or NULL: one size */
    motley_batch work;
    int work_is_dst;
    int32_t width, height; /* of the largest image */
} run;

/* The batch `which` (SPARE, CHAINS and above, WORK if it is in this memory), in the source's layout. */
static motley_batch batch_at(const run *r, size_t which)
{
    const size_t first = which < CHAINS ? which : CHAINS;
    const int planes = mot_cuda_format_of(r->job->src) == MOT_FORMAT_PLANES;
    motley_batch batch = { .count = r->job->count,
                           .channels = r->job->channels,
                           .layout = planes ? MOTLEY_CHW : MOTLEY_HWC,
                           .data = r->device + r->p.pixels[first] + (which - first) * r->p.batch_bytes };
    if (!r->images) {
        batch.width = r->width;
        batch.height = r->height;
        return batch;
    }
    uint8_t *at = batch.data;
    motley_image *const images = r->images + which * r->job->count;
    for (size_t i = 0; i < r->job->count; i++) {
        const mot_view v = mot_batch_view(r->job->src, i);
        const int64_t plane = (int64_t)v.width * v.height;
        images[i] = (motley_image){ at,
                                    v.width,
                                    v.height,
                                    planes ? v.width : (int64_t)v.width * v.channels,
                                    planes ? 1 : v.channels,
                                    planes ? plane : 1 };
        at += (dense_bytes(&v) + 15) & ~(size_t)15;
    }
    batch.images = images;
    batch.data = NULL;
    return batch;
}

/* A batch as breaks see it. */
static mot_cuda_batch sent(const run *r, const motley_batch *batch, size_t which)
{
    const motley_image *const images = (const motley_image *)(void *)(r->device + r->p.images) + which * r->job->count;
    if (!r->images)
        return mot_cuda_batch_of(batch, NULL);
    return (mot_cuda_batch){ .images = images };
}

static void describe(const motley_batch *batch, motley_image *images)
{
    for (size_t i = 0; i < batch->count; i++) {
        const mot_view v = mot_batch_view(batch, i);
        images[i] = (motley_image){ v.data, v.width, v.height, v.row, v.pixel, v.channel };
    }
}

/* Runs the ops of a part. */
static motley_status run_part(const run *r, int part, const motley_batch *src, const motley_batch *dst,
                              const motley_output *output, motley_error *error)
{
    const size_t most = mot_cuda_part_steps(r->parts);
    mot_job job = *r->job;
    job.src = src;
    job.dst = dst;
    job.output = output;
    job.followed = NULL; /* it moves once, after all parts */
    job.steps = NULL;
    job.drawn_steps = (const mot_step *)(void *)(r->device + r->p.part) + (size_t)part * job.count * most;
    job.max_steps = most;
    return mot_cuda_run_steps(r->cuda, &job, NULL, NULL, error);
}

/* Runs the breaks after a part, from a batch to another or in place. */
static motley_status run_break(const run *r, int part, const motley_batch *src, size_t which_src,
                               const motley_batch *dst, size_t which_dst, motley_error *error)
{
    mot_break_job job = { .src = sent(r, src, which_src),
                          .dst = sent(r, dst, which_dst),
                          .in_place = which_src == which_dst,
                          .count = (int32_t)r->job->count,
                          .channels = r->job->channels,
                          .kinds = r->parts->kinds,
                          .step = (const mot_step *)(void *)(r->device + r->p.after) + (size_t)part * r->job->count,
                          .width = r->width,
                          .height = r->height,
                          .multiprocessors = r->cuda->chip->multiprocessors };
    if (r->p.pixels[SPARE]) {
        const motley_batch spare = batch_at(r, SPARE);
        job.spare = sent(r, &spare, SPARE);
    }
    return mot_cuda_try(mot_break_launch(&job, r->cuda->stream), "launching the kernels of breaks", error);
}

/* Runs the steps after a part that need the statistics of clips, in `work`, in place: each clip is one image. */
static motley_status run_clips(const run *r, int part, motley_error *error)
{
    const size_t frames = (size_t)r->parts->clip_frames, clips = count_clips(r->parts, r->job->count);
    motley_batch tall = { .count = clips, .channels = r->job->channels, .data = r->work.data };
    tall.width = r->width;
    tall.height = r->height * (int32_t)frames;
    if (r->images) {
        motley_image *const images = r->images + (CHAINS + r->parts->chains) * r->job->count;
        for (size_t c = 0; c < clips; c++) {
            images[c] = r->work.images[c * frames];
            images[c].height *= (int32_t)frames;
        }
        tall.images = images;
    }
    const mot_job job = { .count = clips,
                          .channels = r->job->channels,
                          .src = &tall,
                          .dst = &tall,
                          .drawn_steps = (const mot_step *)(void *)(r->device + r->p.pooled) + (size_t)part * clips,
                          .max_steps = 1,
                          .stream = r->job->stream };
    return mot_cuda_run_steps(r->cuda, &job, NULL, NULL, error);
}

/* Runs the chains, and mixes them into `work`. */
static motley_status run_chains(const run *r, motley_error *error)
{
    const mot_cuda_parts *const parts = r->parts;
    for (int c = 0, part = 0; c < parts->chains; c++, part++) {
        const size_t which = CHAINS + (size_t)c;
        const motley_batch chain = batch_at(r, which);
        MOT_TRY(run_part(r, part, r->job->src, &chain, NULL, error));
        for (int b = 0; b < parts->chain_breaks; b++, part++) {
            MOT_TRY(run_break(r, part, &chain, which, &chain, which, error));
            MOT_TRY(run_part(r, part + 1, &chain, &chain, NULL, error));
        }
    }
    mot_chains_job job = { .src = sent(r, r->job->src, SRC),
                           .dst = sent(r, &r->work, WORK),
                           .count = (int32_t)r->job->count,
                           .channels = r->job->channels,
                           .turn = (const mot_mix_turn *)(void *)(r->device + r->p.turn),
                           .turns = parts->turns,
                           .width = r->width,
                           .height = r->height,
                           .multiprocessors = r->cuda->chip->multiprocessors };
    if (parts->chains > 0) {
        const motley_batch first = batch_at(r, CHAINS);
        job.chains = sent(r, &first, CHAINS);
        job.chains.image = (int64_t)r->p.image_bytes;
    }
    return mot_cuda_try(mot_chains_launch(&job, r->cuda->stream), "launching the mixing kernel", error);
}

/* How many images of src are exactly the same pixels as those of `work`. */
static size_t count_same(const run *r)
{
    size_t same = 0;
    for (size_t i = 0; i < r->job->count; i++)
        same += mot_batch_view(r->job->src, i).data == mot_batch_view(&r->work, i).data;
    return same;
}

/* Runs what is outside of chains: from `work` if there were any, else from src; in the end to dst and the output. */
static motley_status run_rest(const run *r, motley_error *error)
{
    const mot_cuda_parts *const parts = r->parts;
    const size_t same = parts->turns > 0 ? r->job->count : count_same(r);
    const motley_batch *from = same == r->job->count ? &r->work : r->job->src;
    size_t which = same == r->job->count ? WORK : SRC;
    int part = parts->chains * (parts->chain_breaks + 1);
    for (int b = 0; b < parts->breaks; b++, part++) {
        if (b > 0 || parts->first_ops || (same > 0 && which == SRC)) {
            MOT_TRY(run_part(r, part, from, &r->work, NULL, error));
            from = &r->work;
            which = WORK;
        }
        if (parts->kinds)
            MOT_TRY(run_break(r, part, from, which, &r->work, WORK, error));
        from = &r->work;
        which = WORK;
        if (parts->clip_frames > 1)
            MOT_TRY(run_clips(r, part, error));
    }
    if (which == WORK && r->work_is_dst && !r->job->output && !parts->last_ops)
        return MOTLEY_OK;
    return run_part(r, part, from, r->job->dst, r->job->output, error);
}

motley_status mot_cuda_run_parts(const mot_cuda_work *cuda, const mot_job *job, const mot_cuda_parts *parts,
                                 const motley_batch *work, int given, uint8_t *device, uint8_t *host,
                                 motley_error *error)
{
    run r = { .cuda = cuda, .job = job, .parts = parts, .device = device };
    r.p = lay_out(parts, job, work || job->dst);
    r.images = r.p.host ? (motley_image *)(void *)host : NULL;
    for (size_t i = 0; i < (job->src->images ? job->count : 1); i++) {
        const mot_view v = mot_batch_view(job->src, i);
        r.width = larger(r.width, v.width);
        r.height = larger(r.height, v.height);
    }
    r.work = work ? *work : job->dst ? *job->dst : batch_at(&r, WORK);
    r.work_is_dst = job->dst && (!work || work == job->dst);
    if (r.images) {
        describe(job->src, r.images + SRC * job->count);
        describe(&r.work, r.images + WORK * job->count);
        for (int which = SPARE; which < CHAINS + parts->chains; which++)
            batch_at(&r, (size_t)which);
        MOT_TRY(mot_cuda_try(mot_cuda_send(device + r.p.images, host, r.p.host, cuda->stream), "sending the images",
                             error));
    }
    const mot_parts_job apart = { .count = (int32_t)job->count,
                                  .max_steps = (int32_t)job->max_steps,
                                  .steps = job->drawn_steps,
                                  .given = given,
                                  .chains = parts->chains,
                                  .chain_breaks = parts->chain_breaks,
                                  .breaks = parts->breaks,
                                  .most = (int32_t)mot_cuda_part_steps(parts),
                                  .part = (mot_step *)(void *)(device + r.p.part),
                                  .after = (mot_step *)(void *)(device + r.p.after),
                                  .clip_frames = parts->clip_frames,
                                  .pooled = (mot_step *)(void *)(device + r.p.pooled),
                                  .turn = (mot_mix_turn *)(void *)(device + r.p.turn),
                                  .turns = parts->turns };
    MOT_TRY(mot_cuda_try(mot_parts_launch(&apart, cuda->stream), "launching the kernel of the parts", error));
    if (parts->turns > 0)
        MOT_TRY(run_chains(&r, error));
    return run_rest(&r, error);
}

/* ---- a whole job ---- */

/* Draws the steps, or sends those that are given, to the plan's; writes how many each image has to `counts`. */
static motley_status make_steps(mot_cuda_state *s, const mot_job *job, cudaStream_t stream, int32_t *counts,
                                motley_error *error)
{
    const int32_t most = (int32_t)job->max_steps;
    mot_cuda_draw draw = {
        .count = (int32_t)job->count, .channels = job->channels, .max_steps = most, .plan = s->now.plan
    };
    draw.plan.step_count = counts;
    if (!job->policy || job->steps) {
        CUDA_TRY(mot_cuda_send(s->now.plan.steps, job->steps, job->count * job->max_steps * sizeof(mot_step), stream),
                 "sending the values");
        return mot_cuda_try(mot_cuda_fill(counts, most, job->count, stream), "sending the numbers of steps", error);
    }
    MOT_TRY(mot_cuda_send_batch(job->src, s->now.images, stream, &draw.src, error));
    MOT_TRY(mot_cuda_describe_draws(s, job, stream, &draw, error));
    return mot_cuda_try(mot_parts_draw_launch(&draw, NULL, most, stream), "launching the draw kernel", error);
}

static motley_status queue(const mot_cuda_work *cuda, const mot_job *job, const mot_cuda_parts *parts,
                           motley_error *error)
{
    mot_cuda_state *const s = cuda->state;
    const int has_work = job->dst != NULL;
    const places p = lay_out(parts, job, has_work);
    MOT_TRY(mot_cuda_reserve(cuda, p.device, p.host, error));
    MOT_TRY(mot_cuda_reserve_batch(s, job->count, job->max_steps, cuda->stream, error));
    mot_cuda_take_space(s);
    uint8_t *const device = cuda->kept->memory;
    int32_t *const counts = (int32_t *)(void *)(device + p.counts);
    MOT_TRY(make_steps(s, job, cuda->stream, counts, error));
    mot_job drawn = *job;
    drawn.drawn_steps = s->now.plan.steps;
    MOT_TRY(mot_cuda_run_parts(cuda, &drawn, parts, NULL, 0, device, cuda->kept->host, error));
    CUDA_TRY(cudaMemcpyAsync(s->now.plan.step_count, counts, job->count * sizeof *counts, cudaMemcpyDeviceToDevice,
                             cuda->stream),
             "keeping the numbers of steps");
    if (job->followed) {
        const motley_image *const images = (const motley_image *)(const void *)(device + p.images) + SRC * job->count;
        MOT_TRY(mot_cuda_follow_plan(s, job, images, MOT_FOLLOW_WAITS_FIRST, cuda->stream, error));
    }
    s->last_count = job->count;
    s->last_max_steps = job->max_steps;
    s->last_one_size = !job->src->images;
    return MOTLEY_OK;
}

motley_status mot_cuda_run_apart(void *state, const mot_job *job, const mot_cuda_parts *parts, motley_error *error)
{
    mot_cuda_work work;
    MOT_TRY(mot_cuda_begin(state, job->stream, &work, error));
    return mot_cuda_end(&work, queue(&work, job, parts, error), error);
}
