/* SPDX-License-Identifier: Apache-2.0 */
/* A prepared call with what changes from one use to the next as plain numbers: a field set from Python costs as much as
 * a hundred of these lines. CFFI reads this file verbatim. */
typedef struct kept_call {
    motley_call *call;
    struct kept_batches *batches; /* in place of `call`, of a policy with views, or that mixes images as they come */
    size_t count;
    int in_place, fused;
    uintptr_t levels;                       /* motley_samples.levels of the next runs, or 0 */
    uintptr_t device_boxes, device_offsets; /* the next run's motley_samples.boxes on the device, or 0 */
    motley_apply_params params;
    motley_error error;
} kept_call;

/* What motley_views_apply and motley_mix_apply take that stays; results: of the first, else NULL. */
typedef struct kept_batches {
    motley_context *context;
    const motley_policy *policy;
    motley_batch src, dst;
    motley_view_results *results;
    const motley_paste *pastes;    /* those of the next run, or NULL */
    const motley_mix_masks *masks; /* the same */
} kept_batches;

/* Objects of a mixed image that lie one behind the other in the image they are of. */
typedef struct object_run {
    int32_t image, first, end;
    int32_t boxed; /* each has a new box */
    size_t at;     /* which of the listed ones the first is */
} object_run;

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
                                kept->params.mixed, batches->pastes, batches->masks, (void *)stream, &kept->error);
    }
    return motley_call_run(kept->call, (void *)src, kept->in_place || kept->fused ? NULL : to, kept->fused ? to : NULL,
                           &kept->params, &kept->error);
}

/* Empties the params, but for what they say of every run. */
static void forget(kept_call *kept)
{
    const motley_apply_params params = { .clip_frames = kept->params.clip_frames,
                                         .output = kept->params.output,
                                         .fill = kept->params.fill };
    kept->params = params;
    kept->device_boxes = kept->device_offsets = 0;
    if (kept->batches)
        kept->batches->pastes = NULL, kept->batches->masks = NULL;
}

/* ids_signed: they are int64_t, and have to be 0 or more. counter: 0, or the address of motley_apply_params.counter. */
static int run_call(kept_call *kept, uintptr_t src, uintptr_t dst, uintptr_t stream, uint64_t seed, uint32_t epoch,
                    uint64_t first, uintptr_t ids, int ids_signed, uintptr_t views, uintptr_t counter)
{
    kept->params.samples = samples_of(seed, epoch, first, ids, views);
    kept->params.samples.levels = (const float *)kept->levels;
    kept->params.samples.boxes = (const double *)kept->device_boxes;
    kept->params.samples.box_offsets = (const size_t *)kept->device_offsets;
    kept->params.samples.boxes_on_device = kept->device_offsets != 0;
    kept->params.counter = (const uint64_t *)counter;
    if (ids_signed && has_negative(ids, kept->count))
        return CALL_NEGATIVE_ID;
    return (int)run_kept(kept, src, dst, stream);
}

/* The runs of each image's objects, which end at ends[i] of `objects` and, after the call, at run_ends[i] of `runs`;
 * and the share of each object. */
static void find_runs(const motley_mixed_object *objects, const size_t *ends, size_t count, object_run *runs,
                      size_t *run_ends, float *shares)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t before = found;
        for (size_t k = ends[i]; k < ends[i + 1]; k++) {
            const motley_mixed_object o = objects[k];
            object_run *const last = runs + found - 1;
            shares[k] = o.share;
            if (found > before && last->image == o.image && last->end == o.object && last->boxed == o.boxed)
                last->end++;
            else
                runs[found++] = (object_run){ o.image, o.object, o.object + 1, o.boxed, k };
        }
        run_ends[i] = found;
    }
}

/* A look at the components of a batch of uint16 or float32 in host memory: of how many, how many lie outside of the
 * range, and the least and the greatest. NaN is neither. */
typedef struct range_look {
    int64_t seen, outside;
    double low, high;
} range_look;

/* Looks at up to 65536 components, spread over all images by the golden ratio. */
static range_look look_at_range(const motley_batch *batch)
{
    const size_t images = batch->count < 256 ? batch->count : 256;
    const int64_t each = 65536 / (int64_t)(images ? images : 1);
    const double full[2] = { 0, batch->dtype == MOTLEY_U16 ? 65535 : 1 };
    range_look found = { 0 };
    for (size_t k = 0; k < images; k++) {
        const size_t i = k * batch->count / images;
        const motley_image one = { (char *)batch->data + (int64_t)i * batch->image_stride,
                                   batch->width,
                                   batch->height,
                                   batch->row_stride,
                                   batch->pixel_stride,
                                   batch->channel_stride };
        const motley_image image = batch->images ? batch->images[i] : one;
        const int64_t pixels = (int64_t)image.width * image.height, all = pixels * batch->channels;
        for (int64_t n = 0; n < each && n < all; n++) {
            const uint32_t turn = (uint32_t)n * 0x9e3779b9u; /* of 2^32 */
            const int64_t at = (int64_t)((double)all * turn * 0x1p-32), c = at / pixels, pixel = at % pixels;
            const char *const from = (const char *)image.data + c * image.channel_stride +
                                     pixel / image.width * image.row_stride + pixel % image.width * image.pixel_stride;
            const double *const range = batch->range ? batch->range[batch->ranges > 1 ? c : 0] : full;
            const double v = batch->dtype == MOTLEY_U16 ? *(const uint16_t *)from : *(const float *)from;
            found.low = !found.seen || v < found.low ? v : found.low;
            found.high = !found.seen || v > found.high ? v : found.high;
            found.outside += v < range[0] || v > range[1];
            found.seen++;
        }
    }
    return found;
}

static int run_op(kept_call *kept, const double *values, int each, uintptr_t src, uintptr_t dst, uintptr_t stream)
{
    kept->params.values = values;
    kept->params.values_per_image = each;
    return (int)run_kept(kept, src, dst, stream);
}
