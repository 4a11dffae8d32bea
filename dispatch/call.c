/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared calls: the batches' shapes are checked once, their addresses at each run. */
#include "base/params.h"
#include "dispatch/backend.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct motley_call {
    motley_context *context;
    bool in_place, has_dst, has_output;
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
    if (from->count > SIZE_MAX / sizeof **images || !(*images = malloc(from->count * sizeof **images)))
        return mot_fail(error, MOTLEY_ERR_MEMORY, "%s: no memory to describe %zu images", name, from->count);
    memcpy(*images, from->images, from->count * sizeof **images);
    for (size_t i = 0; i < from->count; i++)
        (*images)[i].data = &somewhere;
    batch->images = *images;
    return MOTLEY_OK;
}

motley_status motley_call_create(motley_context *context, const motley_batch *src, const motley_batch *dst,
                                 const motley_output *output, motley_call **call, motley_error *error)
{
    MOT_REQUIRE(call, error, "call is NULL, want a place for the result");
    *call = NULL;
    MOT_REQUIRE(context, error, "context is NULL");
    MOT_REQUIRE(src, error, "src is NULL, want a batch");
    MOT_REQUIRE(dst || output, error, "dst is NULL and so is output: there is nowhere to write");
    motley_call *made = calloc(1, sizeof *made);
    if (!made)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a call");
    made->context = context;
    made->in_place = dst == src;
    made->has_dst = dst && dst != src;
    made->has_output = output != NULL;
    motley_status status = describe("src", src, &made->src, &made->src_images, error);
    if (status == MOTLEY_OK && made->has_dst)
        status = describe("dst", dst, &made->dst, &made->dst_images, error);
    if (status == MOTLEY_OK)
        status = mot_validate_shapes(&made->src, made->has_dst ? &made->dst : NULL, error);
    if (status == MOTLEY_OK && output && src->count > 0) {
        made->output = *output;
        made->output.batch.data = made->src.data;
        status = mot_validate_output(&made->src, &made->output, error);
    }
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

/* Points all batches at this run's memory. *to is the batch to write to, or NULL when there is only the output. */
static motley_status move_all(motley_call *call, void *src, void *dst, void *output, const motley_batch **to,
                              motley_error *error)
{
    *to = call->in_place ? &call->src : call->has_dst ? &call->dst : NULL;
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
    return mot_validate_places(&call->src, *to, call->has_output ? &call->output : NULL, error);
}

motley_status motley_call_apply(motley_call *call, const motley_policy *policy, void *src, void *dst, void *output,
                                const motley_apply_params *params, motley_error *error)
{
    const motley_batch *to;
    MOT_READ_PARAMS(motley_apply_params, params, error);
    MOT_REQUIRE(call, error, "call is NULL");
    MOT_REQUIRE(!params->output.batch.data, error, "params has an output, want it where the call is created");
    MOT_TRY(move_all(call, src, dst, output, &to, error));
    return mot_apply(call->context, policy, &call->src, to, call->has_output ? &call->output : NULL, params, error);
}

motley_status motley_call_op_apply(motley_call *call, int op, const double *values, int values_per_image, void *src,
                                   void *dst, const motley_op_params *params, motley_error *error)
{
    const motley_batch *to;
    MOT_REQUIRE(call, error, "call is NULL");
    MOT_REQUIRE(!call->has_output, error,
                "the call has an output, want one without: a single op has no fused last step");
    MOT_TRY(move_all(call, src, dst, NULL, &to, error));
    return mot_op_apply(call->context, op, values, values_per_image, &call->src, to, params, error);
}

void motley_call_destroy(motley_call *call)
{
    if (!call)
        return;
    free(call->src_images);
    free(call->dst_images);
    free(call);
}
