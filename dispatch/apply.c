/* SPDX-License-Identifier: Apache-2.0 */
/* motley_apply and the calls based on it: check the request, then run it on the context's backend. */
#include "augmentations/table.h"
#include "base/number.h"
#include "base/params.h"
#include "base/values.h"
#include "dispatch/request.h"
#include "dispatch/wide.h"
#include "policies/compile.h"

#include <math.h>
#include <string.h>

motley_status mot_job_run(motley_context *context, const mot_job *asked, motley_error *error)
{
    const mot_backend *const backend = context->backend;
    mot_wide_job wide;
    mot_job own = *asked, *const job = &own;
    if (job->count == 0)
        return MOTLEY_OK;
    if (mot_batch_is_wide(job->src)) {
        MOT_TRY(mot_wide_begin(context, job, &wide, error));
        job->wide = &wide;
    }
    if (backend->validate)
        MOT_TRY(backend->validate(context->state, job, error));
    return (job->request && backend->transform ? backend->transform : backend->run)(context->state, job, error);
}

motley_status mot_apply_params_check(const char *what, unsigned takes, const motley_apply_params *p,
                                     motley_error *error)
{
    const struct {
        unsigned kind;
        const char *names;
        int set;
    } fields[] = {
        { MOT_TAKES_STEPS,
          "a counter, steps, step_counts, drawn, clip_frames, given draws, followed, fill, means or stds",
          p->counter || p->steps || p->step_counts || p->drawn || p->clip_frames || p->given_steps ||
              p->given_step_counts || p->given || p->followed || p->fill || p->output.means || p->output.stds },
        { MOT_TAKES_STAGES, "mixed, given_mixed or given_kernels", p->mixed || p->given_mixed || p->given_kernels },
        { MOT_TAKES_VALUES, "values", p->values || p->values_per_image },
        { MOT_TAKES_REGIONS, "crops, boxes or flips", p->crops || p->boxes || p->flips },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        MOT_REQUIRE(!fields[i].set || (fields[i].kind & takes), error, "params has %s, which %s does not take",
                    fields[i].names, what);
    return MOTLEY_OK;
}

motley_status motley_apply(motley_context *context, const motley_policy *policy, const motley_batch *src,
                           const motley_batch *dst, const motley_apply_params *params, motley_error *error)
{
    mot_request request;
    motley_batch read;
    const mot_transform *transform = mot_request_base(policy);
    MOT_READ_PARAMS(motley_apply_params, params, error);
    MOT_REQUIRE(context, error, "context is NULL");
    const motley_output *const output = params->output.batch.data ? &params->output : NULL;
    MOT_TRY(mot_transform_in_epoch(context, &transform, params, error));
    MOT_TRY(mot_request_read(transform, src, &context->rgb, &read, error));
    MOT_TRY(mot_request_make(transform, &read, dst == src ? &read : dst, transform->plain ? output : NULL, &request,
                             error));
    return mot_request_run(context, &request, params, error);
}

motley_status motley_context_workspace(motley_context *context, const motley_policy *policy, const motley_batch *batch,
                                       size_t *size_bytes, motley_error *error)
{
    static uint8_t somewhere[256] __attribute__((aligned(256)));
    MOT_REQUIRE(size_bytes, error, "size_bytes is NULL, want a place for the result");
    *size_bytes = 0;
    MOT_REQUIRE(context, error, "context is NULL");
    if (policy && policy->staged)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "policy '%s' has stages: how much memory it takes is known after a call", policy->staged->name);
    if (!batch || batch->count == 0)
        return context->backend->workspace(context->state, NULL, size_bytes, error);
    MOT_TRY(mot_validate_sizes("batch", batch, error));
    motley_batch sized = *batch;
    sized.data = batch->data ? batch->data : somewhere; /* whose address counts, but which is not read */
    mot_job job = mot_job_of(&sized, &sized);
    job.policy = policy;
    job.max_steps = policy ? policy->tables.max_steps : 1;
    job.mixes = policy && policy->augmix.width > 0;
    return context->backend->workspace(context->state, &job, size_bytes, error);
}

motley_status mot_op_apply(motley_context *context, int op, const double *values, int values_per_image,
                           const motley_batch *src, const motley_batch *dst, const motley_op_params *params,
                           motley_error *error)
{
    MOT_READ_PARAMS(motley_op_params, params, error);
    const motley_op_info *info = motley_op_get(op);
    MOT_REQUIRE(info, error, "op is %d, want 0 to %d", op, MOT_OP_COUNT - 1);
    MOT_TRY(mot_check_values_count(info, values_per_image, error));
    MOT_REQUIRE(values || values_per_image == 0, error, "%s: values is NULL", info->name);
    MOT_TRY(mot_check_interpolation(params->interpolation, error));
    MOT_REQUIRE(context->backend->wait || !params->stream, error, "stream is set, but the %s backend has none",
                context->backend->name);
    for (size_t i = 0; values && i < src->count; i++) {
        const double *value = values + i * (size_t)values_per_image;
        MOT_TRY(mot_fail_in(error, mot_validate_values(info, value, values_per_image, error), "image %zu: ", i));
        MOT_REQUIRE(!info->whole || value[0] == floor(value[0]), error,
                    "image %zu: %s: value is %s, want a whole number (%s)", i, info->name, MOT_NUMBER(value[0]),
                    info->unit);
    }
    if (src->count == 0)
        return MOTLEY_OK;
    const int wide = mot_batch_is_wide(src);
    MOT_TRY(mot_wide_check(src, NULL, wide ? params->fill : NULL, error));
    uint8_t fill[4] = { 0 };
    for (int32_t c = 0; params->fill && !wide && c < src->channels; c++) {
        MOT_REQUIRE(params->fill[c] >= 0 && params->fill[c] <= 255 && params->fill[c] == floor(params->fill[c]), error,
                    "fill of channel %d is %s, want a whole number, 0 to 255", c, MOT_NUMBER(params->fill[c]));
        MOT_REQUIRE(c < 4 || params->fill[c] == params->fill[0], error,
                    "fill of channel %d is %s, want the first's, %s: of uint8 the first four may have their own", c,
                    MOT_NUMBER(params->fill[c]), MOT_NUMBER(params->fill[0]));
        if (c < 4)
            fill[c] = (uint8_t)params->fill[c];
    }

    mot_host_draws draws;
    MOT_TRY(mot_draws_take(context, src->count, 1, false, &draws, error));
    mot_step *const steps = draws.steps;
    memset(steps, 0, src->count * sizeof *steps);
    for (size_t i = 0; i < src->count; i++) {
        const double *value = values ? values + i * (size_t)values_per_image : NULL;
        mot_op_prepare(op, value, values_per_image, &steps[i].arg);
        steps[i].op = op;
        steps[i].value = values_per_image ? value[0] : 0;
        steps[i].interpolation = (uint8_t)params->interpolation;
        memcpy(steps[i].fill, fill, sizeof fill);
    }
    mot_job job = mot_job_of(src, dst);
    job.steps = steps;
    job.max_steps = 1;
    job.stream = params->stream;
    job.fill = wide ? params->fill : NULL;
    return mot_job_run(context, &job, error);
}

motley_status motley_op_apply(struct motley_context *context, int op, const double *values, int values_per_image,
                              const motley_batch *src, const motley_batch *dst, const motley_op_params *params,
                              motley_error *error)
{
    MOT_REQUIRE(context, error, "context is NULL");
    MOT_REQUIRE(dst, error, "dst is NULL, want a batch");
    MOT_TRY(mot_validate_batch("src", src, error));
    MOT_TRY(mot_validate_src(src, error));
    MOT_TRY(mot_validate_dst(NULL, src, dst, 0, error));
    MOT_TRY(mot_validate_places(src, dst, NULL, error));
    return mot_op_apply(context, op, values, values_per_image, src, dst, params, error);
}

/* The policy called `name` with another repeat and level (num_ops == 0: unchanged), made once per context. */
static motley_status made_policy(motley_context *context, const char *name, int num_ops, int magnitude,
                                 const motley_policy **policy, motley_error *error)
{
    const unsigned places = sizeof context->made / sizeof context->made[0];
    for (unsigned i = 0; i < places; i++)
        if (context->made[i].policy && strcmp(context->made[i].name, name) == 0 &&
            context->made[i].num_ops == num_ops && context->made[i].magnitude == magnitude) {
            *policy = context->made[i].policy;
            return MOTLEY_OK;
        }
    motley_policy *made;
    MOT_TRY(motley_policy_builtin(name, &made, error));
    if (num_ops) {
        made->repeat.most = (uint32_t)num_ops;
        motley_status status = mot_policy_set_level(made, (mot_level){ MOT_LEVEL_FIXED, magnitude, 0 }, error);
        if (status == MOTLEY_OK)
            status = mot_policy_compile(made, NULL, error);
        if (status != MOTLEY_OK) {
            motley_policy_destroy(made);
            return status;
        }
    }
    const unsigned at = context->made_next++ % places;
    motley_policy_destroy(context->made[at].policy);
    context->made[at].policy = made;
    context->made[at].num_ops = num_ops;
    context->made[at].magnitude = magnitude;
    strncpy(context->made[at].name, name, sizeof context->made[at].name - 1);
    *policy = made;
    return MOTLEY_OK;
}

motley_status motley_rand_augment(motley_context *context, int num_ops, int magnitude, const motley_batch *src,
                                  const motley_batch *dst, const motley_apply_params *params, motley_error *error)
{
    const motley_policy *policy;
    MOT_REQUIRE(context, error, "context is NULL");
    MOT_REQUIRE(num_ops >= 1 && num_ops <= MOT_MAX_REPEAT, error, "num_ops is %d, want 1 to %d", num_ops,
                MOT_MAX_REPEAT);
    MOT_TRY(made_policy(context, "rand_augment", num_ops, magnitude, &policy, error));
    return motley_apply(context, policy, src, dst, params, error);
}

motley_status motley_trivial_augment(motley_context *context, const motley_batch *src, const motley_batch *dst,
                                     const motley_apply_params *params, motley_error *error)
{
    const motley_policy *policy;
    MOT_REQUIRE(context, error, "context is NULL");
    MOT_TRY(made_policy(context, "trivial_augment_wide", 0, 0, &policy, error));
    return motley_apply(context, policy, src, dst, params, error);
}

motley_status motley_auto_augment(motley_context *context, const char *name, const motley_batch *src,
                                  const motley_batch *dst, const motley_apply_params *params, motley_error *error)
{
    static const char *const names[][2] = { { "imagenet", "auto_augment_imagenet" },
                                            { "cifar10", "auto_augment_cifar10" },
                                            { "svhn", "auto_augment_svhn" } };
    const motley_policy *policy;
    MOT_REQUIRE(context, error, "context is NULL");
    MOT_REQUIRE(name, error, "name is NULL, want imagenet, cifar10 or svhn");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i][0]) == 0) {
            MOT_TRY(made_policy(context, names[i][1], 0, 0, &policy, error));
            return motley_apply(context, policy, src, dst, params, error);
        }
    return mot_fail(error, MOTLEY_ERR_ARGUMENT, "there is no AutoAugment for '%s', want imagenet, cifar10 or svhn",
                    name);
}
