/* SPDX-License-Identifier: Apache-2.0 */
/* A prepared call with what changes from one use to the next as plain numbers: a field set from Python costs as much as
 * a hundred of these lines. CFFI reads this file verbatim. */
typedef struct kept_call {
    motley_call *call;
    struct kept_batches *batches; /* in place of `call`, of a policy with views, or that mixes images as they come */
    size_t count;
    int in_place, fused;
    uintptr_t levels; /* motley_samples.levels of the next runs, or 0 */
    motley_apply_params params;
    motley_error error;
} kept_call;

/* What motley_views_apply and motley_mix_apply take that stays; results: of the first, else NULL. */
typedef struct kept_batches {
    motley_context *context;
    const motley_policy *policy;
    motley_batch src, dst;
    motley_view_results *results;
} kept_batches;

/* What run_call returns beside a motley_status; the work was not done. */
#define CALL_NEGATIVE_ID 102

/* An address as a number. CFFI's own way, a cast and int(), takes five times as long. */
static uintptr_t address(const void *memory)
{
    return (uintptr_t)memory;
}

/* ids: 0, or an address. views: an address, or the view of all images, which is below 65536. */
static motley_samples samples_of(uint64_t seed, uint32_t epoch, uint64_t first, uintptr_t ids, uintptr_t views)
{
    motley_samples samples = { .seed = seed, .epoch = epoch, .first = first, .ids = (const uint64_t *)ids };
    if (views < 65536)
        samples.view = (uint32_t)views;
    else
        samples.views = (const uint32_t *)views;
    return samples;
}

/* Whether one of `count` ids, which are int64_t, is below 0. */
static int has_negative(uintptr_t ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (((const int64_t *)ids)[i] < 0)
            return 1;
    return 0;
}

/* Runs it with the params as they are. */
static motley_status run_kept(kept_call *kept, uintptr_t src, uintptr_t dst, uintptr_t stream)
{
    void *const to = (void *)dst;
    kept->params.stream = (void *)stream;
    kept_batches *const batches = kept->batches;
    if (batches) {
        batches->src.data = (void *)src;
        batches->dst.data = to;
        if (batches->results) /* which have their addresses */
            return motley_views_apply(batches->context, batches->policy, &batches->src, batches->results, &kept->params,
                                      &kept->error);
        return motley_mix_apply(batches->context, &batches->src, kept->in_place ? &batches->src : &batches->dst,
                                kept->params.mixed, (void *)stream, &kept->error);
    }
    return motley_call_run(kept->call, (void *)src, kept->in_place || kept->fused ? NULL : to, kept->fused ? to : NULL,
                           &kept->params, &kept->error);
}

/* Empties the params, but for what they say of every run. */
static void forget(kept_call *kept)
{
    const motley_apply_params params = { .clip_frames = kept->params.clip_frames };
    kept->params = params;
}

/* ids_signed: they are int64_t, and have to be 0 or more. counter: 0, or the address of motley_apply_params.counter. */
static int run_call(kept_call *kept, uintptr_t src, uintptr_t dst, uintptr_t stream, uint64_t seed, uint32_t epoch,
                    uint64_t first, uintptr_t ids, int ids_signed, uintptr_t views, uintptr_t counter)
{
    kept->params.samples = samples_of(seed, epoch, first, ids, views);
    kept->params.samples.levels = (const float *)kept->levels;
    kept->params.counter = (const uint64_t *)counter;
    if (ids_signed && has_negative(ids, kept->count))
        return CALL_NEGATIVE_ID;
    return (int)run_kept(kept, src, dst, stream);
}

static int run_op(kept_call *kept, const double *values, int each, uintptr_t src, uintptr_t dst, uintptr_t stream)
{
    kept->params.values = values;
    kept->params.values_per_image = each;
    return (int)run_kept(kept, src, dst, stream);
}
