/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared calls: what is done and the batches' shapes are checked once, addresses and draws at each run. */
#include "base/params.h"
#include "base/values.h"
#include "dispatch/request.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct motley_call {
    motley_context *context;
    mot_request *request;           /* of a policy or of given steps, or NULL */
    const mot_transform *scheduled; /* the transform, if its numbers change with the epoch; or NULL: */
    unsigned epochs_made;           /* the context's, when the request was made */
    int op;                         /* of a single op, or -1 */
    motley_op_params op_params;
    double *numbers; /* what op_params.fill, src.range, output.means and output.stds point to */
    motley_resize_params resize;
    bool resizes, in_place, has_dst, has_output;
    motley_batch src, dst;
    motley_output output;
    motley_image *src_images, *dst_images; /* what src.images and dst.images point to, or NULL */
};

/* Copies a batch, with a placeholder address for the shape checks. *images: the copy to free. */
static motley_status describe(const char *name, const motley_batch *from, motley_batch *batch, motley_image **images,
                              motley_error *error)
{
    static uint8_t somewhere;
    *batch = *from;
    batch->data = &somewhere;
    if (!from->images || from->count == 0)
        return MOTLEY_OK;
    MOT_TRY(mot_fail_in(error, mot_check_count("count", from->count, error), "%s: ", name));
    if (!(*images = malloc(mot_times(from->count, sizeof **images))))
        return mot_fail(error, MOTLEY_ERR_MEMORY, "%s: no memory to describe %zu images", name, from->count);
    memcpy(*images, from->images, from->count * sizeof **images);
    for (size_t i = 0; i < from->count; i++)
        (*images)[i].data = &somewhere;
    batch->images = *images;
    return MOTLEY_OK;
}

/* Copies the numbers by channel that the caller described. */
static motley_status take_numbers(motley_call *call, const motley_output *output, motley_error *error)
{
    const size_t channels = (size_t)call->src.channels, ranges = call->src.ranges ? (size_t)call->src.ranges : 1;
    if (call->src.count == 0 || !(call->src.range || call->op_params.fill || (output && output->means)))
        return MOTLEY_OK;
    if (!(call->numbers = malloc((3 * channels + 2 * ranges) * sizeof *call->numbers)))
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a call");
    double *const range = call->numbers, *const fill = range + 2 * ranges;
    float *const means = (float *)(void *)(fill + channels);
    if (call->src.range)
        call->src.range = memcpy(range, call->src.range, 2 * ranges * sizeof *range);
    if (call->op_params.fill)
        call->op_params.fill = memcpy(fill, call->op_params.fill, channels * sizeof *fill);
    if (output && output->means && output->stds) {
        call->output.means = memcpy(means, output->means, channels * sizeof *means);
        call->output.stds = memcpy(means + channels, output->stds, channels * sizeof *means);
    }
    return MOTLEY_OK;
}

/* Copies what the call does, but for stages. */
static motley_status take_what(motley_call *call, const motley_call_params *what, motley_error *error)
{
    const bool staged = what->policy && what->policy->staged;
    MOT_REQUIRE(!!what->policy + !!what->op + !!what->resize <= 1, error,
                "several of policy, op and resize are set, want one of them");
    MOT_REQUIRE(!what->output || !(staged || what->op || what->resize), error,
                "output is set, want it for a policy without stages or for given steps: %s has no fused last step",
                staged     ? "a policy with stages"
                : what->op ? "a single op"
                           : "a resize");
    MOT_REQUIRE(what->op || !what->op_params, error, "op_params is set without op");
    call->resizes = what->resize != NULL;
    call->has_output = what->output != NULL;
    call->op = what->op ? motley_op_find(what->op->name) : -1;
    MOT_REQUIRE(!what->op || call->op >= 0, error, "op '%s' is not in the table", what->op->name);
    MOT_TRY(mot_params_read(&call->op_params, sizeof call->op_params, what->op_params, "motley_op_params", error));
    MOT_TRY(mot_params_read(&call->resize, sizeof call->resize, what->resize, "motley_resize_params", error));
    const motley_resize_params *r = &call->resize;
    MOT_REQUIRE(!r->crops && !r->boxes && !r->flips && !r->stream && !call->op_params.stream, error,
                "crops, boxes, flips or a stream is set, want it in the params of each run");
    return MOTLEY_OK;
}

static const motley_batch *destination(const motley_call *call)
{
    return call->in_place ? &call->src : call->has_dst ? &call->dst : NULL;
}

/* Checks the described batches, by what is done to them, and copies what depends on them. */
static motley_status prepare(motley_call *call, const motley_call_params *what, motley_error *error)
{
    if (call->resizes)
        return mot_resize_check(&call->src, destination(call), &call->resize, error);
    if (call->op >= 0) {
        MOT_TRY(mot_validate_batch("src", &call->src, error));
        MOT_TRY(mot_validate_src(&call->src, error));
        MOT_TRY(mot_validate_dst(NULL, &call->src, destination(call), 0, error));
        return take_numbers(call, NULL, error);
    }
    const mot_transform *const transform = mot_request_base(what->policy);
    mot_kept table = { 0 };
    motley_batch read;
    MOT_TRY(mot_request_read(transform, &call->src, &table, &read, error));
    call->src = read;
    if (table.memory) {
        free(call->src_images);
        call->src_images = table.memory;
    }
    if (call->has_output) {
        call->output = *what->output;
        call->output.batch.data = call->src.data;
    }
    MOT_TRY(take_numbers(call, what->output, error));
    if (!(call->request = malloc(sizeof *call->request)))
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a call");
    if (transform->schedule) { /* the first run says in which epoch */
        call->scheduled = transform;
        return destination(call) ? mot_validate_batch("dst", destination(call), error) : MOTLEY_OK;
    }
    return mot_request_make(transform, &call->src, destination(call), call->has_output ? &call->output : NULL,
                            call->request, error);
}

motley_status motley_call_create(motley_context *context, const motley_batch *src, const motley_batch *dst,
                                 const motley_call_params *params, motley_call **call, motley_error *error)
{
    MOT_READ_PARAMS(motley_call_params, params, error);
    MOT_REQUIRE(call, error, "call is NULL, want a place for the result");
    *call = NULL;
    MOT_REQUIRE(context, error, "context is NULL");
    MOT_REQUIRE(src, error, "src is NULL, want a batch");
    MOT_REQUIRE(dst || params->output, error, "dst is NULL and so is output: there is nowhere to write");
    const bool staged = params->policy && params->policy->staged;
    MOT_REQUIRE(dst != src || !(params->resize || staged), error, "dst is src, but %s does not work in place",
                params->resize ? "a resize" : "a policy with stages");
    motley_call *made = calloc(1, sizeof *made);
    if (!made)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a call");
    made->context = context;
    made->in_place = dst == src;
    made->has_dst = dst && dst != src;
    motley_status status = describe("src", src, &made->src, &made->src_images, error);
    if (status == MOTLEY_OK && made->has_dst)
        status = describe("dst", dst, &made->dst, &made->dst_images, error);
    if (status == MOTLEY_OK)
        status = take_what(made, params, error);
    if (status == MOTLEY_OK)
        status = prepare(made, params, error);
    if (status != MOTLEY_OK) {
        motley_call_destroy(made);
        return status;
    }
    *call = made;
    return MOTLEY_OK;
}

/* Points a batch at this run's memory. */
static motley_status move(const char *name, motley_batch *batch, motley_image *images, void *data, motley_error *error)
{
    MOT_REQUIRE(data || batch->count == 0, error, "%s is NULL, want the address of the pixels", name);
    batch->data = data;
    for (size_t i = 0; images && i < batch->count; i++) {
        images[i].data = ((void *const *)data)[i];
        MOT_REQUIRE(images[i].data, error, "%s[%zu] is NULL, want the address of the image's pixels", name, i);
    }
    return MOTLEY_OK;
}

/* Points all batches at this run's memory. */
static motley_status move_all(motley_call *call, void *src, void *dst, void *output, motley_error *error)
{
    MOT_TRY(move("src", &call->src, call->src_images, src, error));
    if (call->has_dst)
        MOT_TRY(move("dst", &call->dst, call->dst_images, dst, error));
    else
        MOT_REQUIRE(!dst, error, "dst is set, but the call %s",
                    call->in_place ? "works in place" : "has only an output");
    if (call->has_output)
        MOT_TRY(move("output", &call->output.batch, NULL, output, error));
    else
        MOT_REQUIRE(!output, error, "output is set, but the call has none");
    return MOTLEY_OK;
}

/* One op, by this run's values. */
static motley_status run_op(motley_call *call, const motley_apply_params *params, motley_error *error)
{
    const motley_batch *const to = destination(call);
    motley_op_params how = call->op_params;
    how.stream = params->stream;
    MOT_TRY(mot_validate_places(&call->src, to, NULL, error));
    MOT_TRY(mot_apply_params_check("an op", MOT_TAKES_VALUES, params, error));
    return mot_op_apply(call->context, call->op, params->values, params->values_per_image, &call->src, to, &how, error);
}

/* A resize, of this run's crops and boxes. */
static motley_status run_resize(motley_call *call, const motley_apply_params *params, motley_error *error)
{
    motley_resize_params how = call->resize;
    how.crops = params->crops;
    how.boxes = params->boxes;
    how.flips = params->flips;
    how.stream = params->stream;
    MOT_TRY(mot_apply_params_check("a resize", MOT_TAKES_REGIONS, params, error));
    return mot_resize_run(call->context, &call->src, &call->dst, &how, error);
}

/* Prepares the call again if its transform's numbers have changed since the last run. */
static motley_status prepare_for_epoch(motley_call *call, const motley_apply_params *params, motley_error *error)
{
    const mot_transform *plain = call->scheduled;
    MOT_TRY(mot_transform_in_epoch(call->context, &plain, params, error));
    if (call->epochs_made == call->context->epochs_made && call->request->transform == plain)
        return MOTLEY_OK;
    call->epochs_made = 0; /* if that fails, the next run prepares again */
    MOT_TRY(mot_request_make(plain, &call->src, destination(call), call->has_output ? &call->output : NULL,
                             call->request, error));
    call->epochs_made = call->context->epochs_made;
    return MOTLEY_OK;
}

motley_status motley_call_run(motley_call *call, void *src, void *dst, void *output, const motley_apply_params *params,
                              motley_error *error)
{
    MOT_READ_PARAMS(motley_apply_params, params, error);
    MOT_REQUIRE(call, error, "call is NULL");
    MOT_REQUIRE(!params->output.batch.data, error, "params has an output, want it where the call is created");
    MOT_TRY(move_all(call, src, dst, output, error));
    if (call->resizes)
        return run_resize(call, params, error);
    if (call->op >= 0)
        return run_op(call, params, error);
    if (call->scheduled)
        MOT_TRY(prepare_for_epoch(call, params, error));
    return mot_request_run(call->context, call->request, params, error);
}

void motley_call_destroy(motley_call *call)
{
    if (!call)
        return;
    free(call->src_images);
    free(call->dst_images);
    free(call->request);
    free(call->numbers);
    free(call);
}
