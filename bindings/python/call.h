/* SPDX-License-Identifier: Apache-2.0 */
/* One call of motley_apply, described once and repeated with other pixels: a field set from Python costs as much as a
 * hundred of these lines. Read by CFFI as it stands. */
typedef struct prepared_call {
    motley_context *context;
    motley_batch src, dst;      /* data is set by each call */
    motley_apply_params params; /* samples and stream likewise, and output.batch.data when `fused` */
    int in_place, fused;
    motley_error error;
} prepared_call;

/* What run_call returns beside a motley_status: it was done, and `seen` says that samples come again; it was not done. */
#define CALL_REPEATS 101
#define CALL_NEGATIVE_ID 102

static motley_samples samples_of(uint64_t seed, uint32_t epoch, uint64_t first, uintptr_t ids, uintptr_t views)
{
    motley_samples samples = { seed, epoch, first, (const uint64_t *)ids, 0, NULL };
    if (views < 65536)
        samples.view = (uint32_t)views;
    else
        samples.views = (const uint32_t *)views;
    return samples;
}

static int note_samples(repeats *seen, uint64_t seed, uint32_t epoch, size_t count, uintptr_t ids, uintptr_t views)
{
    const motley_samples samples = samples_of(seed, epoch, 0, ids, views);
    return repeats_note(seen, &samples, count);
}

/* views: an address, or the view of all images, which is below 65536. ids_signed: they are int64_t, and have to be 0 or
 * more. seen: NULL, or where the samples are noted. */
static int run_call(prepared_call *call, const motley_policy *policy, uintptr_t src, uintptr_t dst, uintptr_t stream,
                    uint64_t seed, uint32_t epoch, uint64_t first, uintptr_t ids, int ids_signed, uintptr_t views,
                    repeats *seen)
{
    call->params.samples = samples_of(seed, epoch, first, ids, views);
    for (size_t i = 0; ids_signed && i < call->src.count; i++)
        if (((const int64_t *)ids)[i] < 0)
            return CALL_NEGATIVE_ID;
    call->params.stream = (void *)stream;
    call->src.data = (void *)src;
    if (call->fused)
        call->params.output.batch.data = (void *)dst;
    else
        call->dst.data = (void *)dst;
    const motley_batch *const to = call->fused ? NULL : call->in_place ? &call->src : &call->dst;
    const motley_status status = motley_apply(call->context, policy, &call->src, to, &call->params, &call->error);
    return status == MOTLEY_OK && seen && repeats_note(seen, &call->params.samples, call->src.count) ? CALL_REPEATS : (int)status;
}
