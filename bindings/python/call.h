/* SPDX-License-Identifier: Apache-2.0 */
/* One call of motley_apply, described once and repeated with other pixels: a field set from Python costs as much as a
 * hundred of these lines. Read by CFFI as it stands. */
typedef struct prepared_call {
    motley_context *context;
    motley_batch src, dst;      /* data is set by each call */
    motley_apply_params params; /* samples (but for views) and stream likewise, and output.batch.data when `fused` */
    int in_place, fused;
    motley_error error;
} prepared_call;

static motley_status run_call(prepared_call *call, const motley_policy *policy, uintptr_t src, uintptr_t dst,
                              uintptr_t stream, uint64_t seed, uint32_t epoch, uint64_t first, uintptr_t ids)
{
    motley_samples *const samples = &call->params.samples;
    samples->seed = seed;
    samples->epoch = epoch;
    samples->first = first;
    samples->ids = (const uint64_t *)ids;
    call->params.stream = (void *)stream;
    call->src.data = (void *)src;
    if (call->fused)
        call->params.output.batch.data = (void *)dst;
    else
        call->dst.data = (void *)dst;
    const motley_batch *const to = call->fused ? NULL : call->in_place ? &call->src : &call->dst;
    return motley_apply(call->context, policy, &call->src, to, &call->params, &call->error);
}
