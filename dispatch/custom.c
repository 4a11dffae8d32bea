/* SPDX-License-Identifier: Apache-2.0 */
/* Policies with custom ops. The host draws, with the same bits as the device would. The backend runs each image's steps
 * up to its next custom op, the caller's function gets the sub-batch of images that wait for it, and so on to the
 * end. */
#include "augmentations/ops.h"
#include "dispatch/backend.h"
#include "policies/draw.h"

#include <stdlib.h>
#include <string.h>

/* The arrays of a call, in one block that the context keeps. */
typedef struct custom_call {
    motley_context *context;
    const mot_job *job;
    const motley_batch *work; /* where the pixels are between the steps */
    mot_step *drawn, *part;   /* [count][max_steps]; `part`: the steps of one run, [count][max_steps of that run] */
    motley_image *images;     /* [count], and the next three: the sub-batch of one custom op */
    uint64_t *ids;
    double (*values)[3];
    size_t *indices;
    int32_t *drawn_counts, *done; /* [count]: steps drawn, and steps already done */
} custom_call;

static motley_status reserve(custom_call *call, motley_error *error)
{
    motley_context *const context = call->context;
    const size_t n = call->job->count, steps = n * call->job->max_steps;
    const size_t bytes = 2 * steps * sizeof(mot_step) + n * (sizeof(motley_image) + sizeof(uint64_t) +
                                                             sizeof(double[3]) + sizeof(size_t) + 2 * sizeof(int32_t));
    if (bytes > context->custom_bytes) {
        free(context->custom_memory);
        context->custom_bytes = 0;
        context->custom_memory = malloc(bytes);
        if (!context->custom_memory)
            return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the steps of %zu images", n);
        context->custom_bytes = bytes;
    }
    call->drawn = context->custom_memory;
    call->part = call->drawn + steps;
    call->images = (motley_image *)(void *)(call->part + steps);
    call->ids = (uint64_t *)(void *)(call->images + n);
    call->values = (double(*)[3])(void *)(call->ids + n);
    call->indices = (size_t *)(void *)(call->values + n);
    call->drawn_counts = (int32_t *)(void *)(call->indices + n);
    call->done = call->drawn_counts + n;
    return MOTLEY_OK;
}

static void draw(custom_call *call)
{
    const mot_job *job = call->job;
    for (size_t i = 0; i < job->count; i++) {
        const mot_view v = mot_batch_view(job->src, i);
        mot_step *steps = &call->drawn[i * job->max_steps];
        call->done[i] = 0;
        const mot_drawn_sample of = mot_sample_of(&job->samples, i, v.width, v.height, v.channels);
        call->drawn_counts[i] = mot_draw_sample(&job->policy->tables, &of, steps);
        if (!job->drawn)
            continue;
        job->drawn_counts[i] = call->drawn_counts[i];
        for (int32_t s = 0; s < call->drawn_counts[i]; s++)
            job->drawn[i * job->max_steps + (size_t)s] =
                mot_step_told(motley_policy_op(job->policy, steps[s].op), &steps[s]);
    }
}

/* The number of steps of image i from the first that is not done to its next custom op. */
static int32_t steps_before_custom(const custom_call *call, size_t i)
{
    const mot_step *steps = &call->drawn[i * call->job->max_steps];
    int32_t end = call->done[i];
    while (end < call->drawn_counts[i] && steps[end].op < MOT_OP_COUNT)
        end++;
    return end - call->done[i];
}

/* Runs every image's steps up to its next custom op. The last run gets `output`. */
static motley_status run_part(custom_call *call, const motley_batch *src, const motley_batch *dst,
                              const motley_output *output, motley_error *error)
{
    static const mot_step nothing = { .arg.flags = MOT_ARG_IDENTITY }; /* for any op */
    const mot_job *job = call->job;
    size_t most = 0;
    for (size_t i = 0; i < job->count; i++) {
        const size_t own = (size_t)steps_before_custom(call, i);
        most = own > most ? own : most;
    }
    if (most == 0 && src == dst && !output)
        return MOTLEY_OK;
    const size_t width = most ? most : 1;
    for (size_t i = 0; i < job->count; i++) {
        const int32_t own = steps_before_custom(call, i);
        mot_step *to = &call->part[i * width];
        memcpy(to, &call->drawn[i * job->max_steps + (size_t)call->done[i]], (size_t)own * sizeof *to);
        for (size_t s = (size_t)own; s < width; s++)
            to[s] = nothing;
        call->done[i] += own;
    }
    const mot_job part = { .count = job->count,
                           .channels = job->channels,
                           .src = src,
                           .dst = dst,
                           .output = output,
                           .steps = call->part,
                           .max_steps = width,
                           .stream = job->stream };
    return mot_job_run(call->context, &part, error);
}

/* Calls a custom op with the images whose next step it is. */
static motley_status call_custom(custom_call *call, uint32_t custom, motley_error *error)
{
    const mot_job *job = call->job;
    const motley_custom_op *op = &job->policy->custom[custom].op;
    size_t n = 0;
    for (size_t i = 0; i < job->count; i++) {
        const mot_step *step = &call->drawn[i * job->max_steps + (size_t)call->done[i]];
        if (call->done[i] == call->drawn_counts[i] || step->op != MOT_OP_COUNT + (int)custom)
            continue;
        const mot_view v = mot_batch_view(call->work, i);
        call->images[n] = (motley_image){ v.data, v.width, v.height, v.row, v.pixel, v.channel };
        call->indices[n] = i;
        call->ids[n] = mot_sample_id(&job->samples, i);
        memcpy(call->values[n], step->arg.d, sizeof call->values[n]);
        n++;
    }
    if (n == 0)
        return MOTLEY_OK;
    const motley_custom_batch batch = { .context = call->context,
                                        .count = n,
                                        .indices = call->indices,
                                        .ids = call->ids,
                                        .values = (const double(*)[3])call->values,
                                        .images = { .count = n, .channels = job->channels, .images = call->images },
                                        .stream = job->stream };
    motley_error own = { 0 };
    const motley_status status = op->run(op->user, &batch, &own);
    if (status != MOTLEY_OK)
        return mot_fail(error, status, own.message[0] ? "custom op '%s': %s" : "custom op '%s' failed%s", op->name,
                        own.message);
    for (size_t k = 0; k < n; k++)
        call->done[call->indices[k]]++;
    return MOTLEY_OK;
}

static int all_done(const custom_call *call)
{
    for (size_t i = 0; i < call->job->count; i++)
        if (call->done[i] + steps_before_custom(call, i) < call->drawn_counts[i])
            return 0;
    return 1;
}

static motley_status run_all(custom_call *call, motley_error *error)
{
    const mot_job *job = call->job;
    const motley_batch *from = job->src;
    while (!all_done(call)) {
        MOT_TRY(run_part(call, from, call->work, NULL, error));
        from = call->work;
        for (uint32_t custom = 0; custom < job->policy->customs; custom++)
            MOT_TRY(call_custom(call, custom, error));
    }
    return run_part(call, from, job->dst, job->output, error);
}

motley_status mot_custom_apply(motley_context *context, const mot_job *job, motley_error *error)
{
    custom_call call = { .context = context, .job = job, .work = job->dst };
    if (job->count == 0)
        return MOTLEY_OK;
    if (job->counter)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "counter is set, but policy '%s' has custom ops, and so is drawn on the host",
                        job->policy->name);
    MOT_REQUIRE(!context->custom_busy, error,
                "a custom op's function applies policy '%s', which has custom ops, on the context that called it",
                job->policy->name);
    motley_batch slots;
    if (!job->dst) {
        slots = mot_output_slots(&job->output->batch);
        call.work = &slots;
    }
    if (context->backend->validate)
        MOT_TRY(context->backend->validate(context->state, job, error));
    MOT_TRY(reserve(&call, error));
    draw(&call);
    context->custom_busy = 1;
    const motley_status status = run_all(&call, error);
    context->custom_busy = 0;
    return status;
}
