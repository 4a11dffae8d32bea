/* SPDX-License-Identifier: Apache-2.0 */
/* motley_transform_apply: checks the request, then runs all stages of each image on one worker. */
#include "augmentations/augmix.h"
#include "augmentations/hue.h"
#include "augmentations/kernel_blur.h"
#include "augmentations/table.h"
#include "base/params.h"
#include "base/values.h"
#include "dispatch/clips.h"
#include "dispatch/follow.h"
#include "dispatch/transform_call.h"
#include "kernels/cpu.h"
#include "kernels/output.h"
#include "policies/transform_draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The draw of one image. */
typedef struct image_plan {
    motley_transform_drawn drawn;
    mot_step steps[MOT_MAX_TRANSFORM_STEPS];
    int count;
} image_plan;

/* ---- checks ---- */

static motley_status check_output(const mot_transform_call *call, motley_error *error)
{
    const motley_transform *t = call->transform;
    const motley_batch *dst = call->dst;
    const mot_stage *output = mot_transform_stage(t, MOT_STAGE_OUTPUT);
    const int values = output ? output->values : 0;
    MOT_REQUIRE(dst->dtype == MOTLEY_U8 || values <= 1 || values == dst->channels, error,
                "transform '%s' normalises %d channels, the images have %" PRId32, t->name, values, dst->channels);
    MOT_REQUIRE(!t->follower || dst->dtype == MOTLEY_U8, error,
                "a follower of transform '%s' comes out as bytes, want dst as U8", t->name);
    MOT_REQUIRE(!call->erase || t->follower || dst->dtype != MOTLEY_U8, error,
                "transform '%s' erases after normalisation, want dst as F32, F16 or BF16", t->name);
    MOT_REQUIRE(!call->erase || t->follower || call->erase->values <= 1 || call->erase->values == dst->channels, error,
                "transform '%s' erases with %d values, the images have %" PRId32 " channels", t->name,
                call->erase->values, dst->channels);
    for (size_t i = 0; i < dst->count; i++) {
        const mot_view from = mot_batch_view(call->src, i), to = mot_batch_view(dst, i);
        const int32_t width = call->info->width ? call->info->width : from.width;
        const int32_t height = call->info->width ? call->info->height : from.height;
        MOT_REQUIRE(to.width == width && to.height == height, error,
                    "dst image %zu: size is %" PRId32 "x%" PRId32 ", want %" PRId32 "x%" PRId32 ", %s", i, to.width,
                    to.height, width, height, call->info->width ? "the transform's" : "src's");
        MOT_REQUIRE((uintptr_t)to.data % mot_dtype_bytes(dst->dtype) == 0, error,
                    "dst image %zu: data is not aligned to the %zu bytes of a component", i,
                    mot_dtype_bytes(dst->dtype));
        if (!dst->images && (call->info->width || !call->src->images))
            break;
    }
    return MOTLEY_OK;
}

/* The size of image i after its crop and resize. */
void mot_transform_sides(const mot_transform_call *call, size_t i, int32_t *width, int32_t *height)
{
    const mot_view src = mot_batch_view(call->src, i);
    const mot_stage *resize = mot_transform_stage(call->transform, MOT_STAGE_RESIZE);
    const mot_stage *crop = mot_transform_stage(call->transform, MOT_STAGE_RANDOM_RESIZED_CROP);
    *width = crop ? crop->width : src.width;
    *height = crop ? crop->height : src.height;
    if (resize)
        mot_resized_sides(resize, src.width, src.height, width, height);
    if (call->params->given) {
        *width = call->params->given[i].width;
        *height = call->params->given[i].height;
    }
}

static motley_status check_sides(const mot_transform_call *call, motley_error *error)
{
    const mot_stage *random = mot_transform_stage(call->transform, MOT_STAGE_RANDOM_CROP);
    for (size_t i = 0; i < call->src->count; i++) {
        int32_t width, height;
        mot_transform_sides(call, i, &width, &height);
        MOT_REQUIRE(width >= 1 && height >= 1 && width <= MOT_MAX_SIDE && height <= MOT_MAX_SIDE &&
                        (int64_t)width * height <= INT32_MAX,
                    error, "image %zu: it would be resized to %" PRId32 "x%" PRId32 ", want 1 to %d each way", i, width,
                    height, MOT_MAX_SIDE);
        MOT_REQUIRE(!random || call->params->given ||
                        (width + 2 * (int64_t)random->padding >= random->width &&
                         height + 2 * (int64_t)random->padding >= random->height),
                    error,
                    "image %zu: %" PRId32 "x%" PRId32 " with a padding of %" PRId32
                    " is smaller than the random_crop of %" PRId32 "x%" PRId32,
                    i, width, height, random->padding, random->width, random->height);
    }
    return MOTLEY_OK;
}

/* `mixed`: the step belongs to chains that are mixed. */
static motley_status check_given_step(const motley_step *step, size_t i, int s, bool mixed, motley_error *error)
{
    MOT_REQUIRE(!mixed || step->op >= 0 || mot_step_mixes(step->op), error,
                "image %zu, step %d is not an op of the table, but is in a chain that is mixed", i, s);
    if (step->op == MOTLEY_STEP_HUE) {
        MOT_REQUIRE(step->values_count == 1 && step->values[0] >= -0.5 && step->values[0] <= 0.5, error,
                    "image %zu, step %d: hue is %g, want -0.5 to 0.5", i, s, step->values[0]);
        return MOTLEY_OK;
    }
    if (step->op == MOTLEY_STEP_KERNEL_BLUR) {
        const double sigma = step->values[0], size = step->values[1];
        MOT_REQUIRE(step->values_count == 2 && mot_is_kernel_sigma(sigma), error,
                    "image %zu, step %d: sigma is %g, want %g to %g pixels", i, s, sigma, MOT_KERNEL_SIGMA_MIN,
                    MOT_KERNEL_SIGMA_MAX);
        MOT_REQUIRE(mot_is_kernel_size(size), error,
                    "image %zu, step %d: the kernel's size is %g, want an odd number of 3 to %d", i, s, size,
                    MOTLEY_MAX_KERNEL);
        return MOTLEY_OK;
    }
    const motley_op_info *info = mixed ? mot_step_info(step->op) : motley_op_get(step->op);
    MOT_REQUIRE(info, error,
                "image %zu, step %d: op is %d, want one of the table, MOTLEY_STEP_HUE or MOTLEY_STEP_KERNEL_BLUR", i, s,
                step->op);
    MOT_REQUIRE(!(step->inside[0] | step->inside[1] | step->inside[2] | step->inside[3]), error,
                "image %zu, step %d works inside a part of the image, which a transform does not do", i, s);
    return mot_fail_in(error, mot_validate_step(step, error), "image %zu, step %d: ", i, s);
}

/* The largest kernel that an image may be blurred by; 0: none. */
static int32_t largest_kernel(const mot_transform_call *call, size_t i)
{
    const motley_transform_params *p = call->params;
    const size_t most = call->info->max_steps;
    int32_t largest = 0;
    for (uint32_t s = 0; s < call->transform->stages && !p->given; s++)
        if (call->transform->stage[s].kernel_size > largest)
            largest = call->transform->stage[s].kernel_size;
    for (int s = 0; p->given && s < p->given_step_counts[i]; s++) {
        const motley_step *step = &p->given_steps[i * most + (size_t)s];
        if (step->op == MOTLEY_STEP_KERNEL_BLUR && step->values[1] > largest)
            largest = (int32_t)step->values[1];
    }
    return largest;
}

/* An image is mirrored at its edges, which needs as many pixels as half the kernel and one more. */
static motley_status check_kernels(const mot_transform_call *call, motley_error *error)
{
    for (size_t i = 0; i < call->src->count; i++) {
        const mot_view dst = mot_batch_view(call->dst, i);
        const int32_t size = largest_kernel(call, i);
        MOT_REQUIRE(size == 0 || (dst.width > size / 2 && dst.height > size / 2), error,
                    "image %zu: %" PRId32 "x%" PRId32 " is too small for a blur by a kernel of %" PRId32
                    ", want at least %" PRId32 " each way",
                    i, dst.width, dst.height, size, size / 2 + 1);
    }
    return MOTLEY_OK;
}

static motley_status check_given(const mot_transform_call *call, size_t i, motley_error *error)
{
    const motley_transform_drawn *d = &call->params->given[i];
    const mot_view src = mot_batch_view(call->src, i), dst = mot_batch_view(call->dst, i);
    MOT_REQUIRE(d->crop.width >= 1 && d->crop.height >= 1 && d->crop.left >= 0 && d->crop.top >= 0 &&
                    (int64_t)d->crop.left + d->crop.width <= src.width &&
                    (int64_t)d->crop.top + d->crop.height <= src.height,
                error,
                "image %zu: the given crop of %" PRId32 "x%" PRId32 " at (%" PRId32 ", %" PRId32
                ") leaves the image of %" PRId32 "x%" PRId32,
                i, d->crop.width, d->crop.height, d->crop.left, d->crop.top, src.width, src.height);
    MOT_REQUIRE((unsigned)d->filter <= MOTLEY_FILTER_HAMMING, error,
                "image %zu: the given filter is %d, want one of motley_filter", i, (int)d->filter);
    MOT_REQUIRE(d->left >= -MOT_MAX_SIDE && d->left <= MOT_MAX_SIDE && d->top >= -MOT_MAX_SIDE &&
                    d->top <= MOT_MAX_SIDE,
                error, "image %zu: the given window begins at (%" PRId32 ", %" PRId32 "), want at most %d away", i,
                d->left, d->top, MOT_MAX_SIDE);
    MOT_REQUIRE(d->boxes_count >= 0 && d->boxes_count <= MOTLEY_MAX_ERASED_BOXES &&
                    (d->boxes_count == 0 || call->erase),
                error, "image %zu: %" PRId32 " boxes are given, want at most %d", i, d->boxes_count,
                call->erase ? MOTLEY_MAX_ERASED_BOXES : 0);
    for (int b = 0; b < d->boxes_count; b++) {
        const motley_erased_box *box = &d->boxes[b];
        MOT_REQUIRE(box->left >= 0 && box->top >= 0 && box->width >= 0 && box->height >= 0 &&
                        (int64_t)box->left + box->width <= dst.width && (int64_t)box->top + box->height <= dst.height,
                    error,
                    "image %zu, box %d: %" PRId32 "x%" PRId32 " at (%" PRId32 ", %" PRId32
                    ") leaves the output of %" PRId32 "x%" PRId32,
                    i, b, box->width, box->height, box->left, box->top, dst.width, dst.height);
    }
    const int32_t steps = call->params->given_step_counts[i];
    MOT_REQUIRE(steps >= 0 && (size_t)steps <= call->info->max_steps, error,
                "image %zu: %" PRId32 " steps are given, want at most %zu", i, steps, call->info->max_steps);
    const motley_step *given = steps ? &call->params->given_steps[i * call->info->max_steps] : NULL;
    int mixed = call->mixes ? steps : 0;
    while (mixed > 0 && !mot_step_mixes(given[mixed - 1].op))
        mixed--;
    MOT_REQUIRE(mixed <= MOT_MAX_STEPS, error, "image %zu: chains of %d steps are given, want at most %d", i, mixed,
                MOT_MAX_STEPS);
    for (int s = 0; s < steps; s++)
        MOT_TRY(check_given_step(&given[s], i, s, s < mixed, error));
    return MOTLEY_OK;
}

/* Refuses transforms with policies that cannot run in one. */
static motley_status check_policies(mot_transform_call *call, motley_error *error)
{
    int steps_before = 0;
    for (uint32_t i = 0; i < call->transform->stages; i++) {
        const mot_stage *stage = &call->transform->stage[i];
        const motley_policy *policy = stage->policy;
        if (policy && policy->customs)
            return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                            "transform '%s' has a policy that has custom ops, which motley_apply runs",
                            call->transform->name);
        if (policy && policy->takes_boxes)
            return mot_fail(
                error, MOTLEY_ERR_UNSUPPORTED,
                "transform '%s' has policy '%s', which works in the boxes of an image: motley_apply takes them",
                call->transform->name, policy->name);
        if (policy && policy->augmix.width) {
            MOT_REQUIRE(
                !steps_before, error,
                "transform '%s': policy '%s' mixes chains of ops, want it before every other stage that draws ops",
                call->transform->name, policy->name);
            call->mixes = 1;
        }
        steps_before += mot_stage_steps(stage);
    }
    return MOTLEY_OK;
}

static motley_status check(const motley_context *context, mot_transform_call *call, motley_error *error)
{
    const motley_batch *src = call->src, *dst = call->dst;
    const motley_transform_params *p = call->params;
    MOT_TRY(mot_validate_batch("src", src, error));
    MOT_TRY(mot_validate_batch("dst", dst, error));
    MOT_TRY(mot_samples_check(&p->samples, src->count, error));
    MOT_REQUIRE(dst->count == src->count, error, "dst: count is %zu, want src's %zu", dst->count, src->count);
    MOT_REQUIRE(!p->steps == !p->step_counts, error, "only one of steps and step_counts is set, want both or neither");
    MOT_REQUIRE(!call->info->mix || p->mixed, error,
                "transform '%s' mixes images, want params.mixed, by which targets are mixed", call->transform->name);
    MOT_REQUIRE(!p->given_mixed == !(p->given && call->info->mix), error,
                p->given_mixed ? "given_mixed is set, want it with given draws of a transform that mixes"
                               : "given is set without given_mixed, but the transform mixes images");
    MOT_REQUIRE(!p->given_kernels || p->given, error, "given_kernels is set without given, whose blurs it is for");
    MOT_REQUIRE(!p->given == !p->given_steps && !p->given == !p->given_step_counts, error,
                "only some of given, given_steps and given_step_counts are set, want all three or none");
    MOT_TRY(check_policies(call, error));
    MOT_TRY(mot_clips_check(p->clip_frames, src->count, call->mixes ? "where chains of ops are mixed" : NULL, error));
    if (p->counter && p->clip_frames > 1)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "counter is set, but transform '%s' is applied to clips, and so is drawn on the host",
                        call->transform->name);
    if (src->count == 0)
        return MOTLEY_OK;
    MOT_REQUIRE(src->dtype == MOTLEY_U8, error, "src: dtype is %d, want MOTLEY_U8", (int)src->dtype);
    MOT_REQUIRE(dst->channels == src->channels, error, "dst: channels is %" PRId32 ", want src's %" PRId32,
                dst->channels, src->channels);
    MOT_TRY(check_output(call, error));
    MOT_TRY(check_sides(call, error));
    for (size_t i = 0; p->given && i < src->count; i++)
        MOT_TRY(check_given(call, i, error));
    MOT_TRY(check_kernels(call, error));
    MOT_TRY(mot_validate_apart(src, dst, error));
    MOT_REQUIRE(context->backend->transform || (!p->stream && !p->counter), error,
                "stream or counter is set, but the %s backend has neither", context->backend->name);
    MOT_REQUIRE(!p->counter || !(p->drawn || p->steps || p->mixed), error,
                "counter is set, and so is drawn, steps or mixed: the host does not know what is drawn by a counter");
    return MOTLEY_OK;
}

/* ---- what an image draws ---- */

static void take_given(const motley_step *from, mot_step *to)
{
    memset(to, 0, sizeof *to);
    to->op = from->op;
    to->value = from->values[0];
    to->interpolation = (uint8_t)from->interpolation;
    memcpy(to->fill, from->fill, sizeof to->fill);
    if (to->op >= 0)
        mot_op_prepare(to->op, from->values, from->values_count, &to->arg);
    if (to->op == MOTLEY_STEP_KERNEL_BLUR)
        to->arg.size = (uint32_t)from->values[1];
}

/* Puts the weights of a kernel blur into its argument: `given`, or as torchvision computes them. */
static void take_kernel(mot_step *step, const float *given)
{
    float half[MOTLEY_KERNEL_WEIGHTS] = { 0 };
    if (!given)
        mot_kernel_blur_weights(step->value, (int)step->arg.size, half);
    memcpy(step->arg.u, given ? given : half, sizeof half);
}

int mot_transform_draw_image(const mot_transform_call *call, size_t i, motley_transform_drawn *drawn, mot_step *steps)
{
    const motley_transform_params *p = call->params;
    const mot_view src = mot_batch_view(call->src, i);
    const size_t most = call->info->max_steps;
    int count;
    if (p->given) {
        *drawn = p->given[i];
        count = p->given_step_counts[i];
        for (int s = 0; s < count; s++)
            take_given(&p->given_steps[i * most + (size_t)s], &steps[s]);
    } else {
        const mot_drawn_sample sample = mot_sample_of(&p->samples, i, src.width, src.height, src.channels);
        count = mot_transform_draw(call->transform, &sample, drawn, steps);
    }
    for (int s = 0; s < count; s++)
        if (steps[s].op == MOTLEY_STEP_KERNEL_BLUR)
            take_kernel(&steps[s], p->given_kernels ? p->given_kernels[i * most + (size_t)s] : NULL);
    if (p->drawn)
        p->drawn[i] = *drawn;
    if (p->steps) {
        p->step_counts[i] = count;
        for (int s = 0; s < count; s++)
            p->steps[i * most + (size_t)s] = mot_transform_public_step(&steps[s]);
    }
    return count;
}

/* Requires that the frames of each clip draw the same and become one size. */
static motley_status check_clips(const mot_transform_call *call, motley_error *error)
{
    const size_t frames = call->params->clip_frames;
    image_plan first, other;
    for (size_t i = 0; frames > 1 && i < call->src->count; i++) {
        image_plan *plan = i % frames ? &other : &first;
        plan->count = mot_transform_draw_image(call, i, &plan->drawn, plan->steps);
        const size_t begin = i - i % frames;
        const mot_view a = mot_batch_view(call->dst, begin), b = mot_batch_view(call->dst, i);
        MOT_REQUIRE(a.width == b.width && a.height == b.height, error,
                    "image %zu comes out as %" PRId32 "x%" PRId32 ", but image %zu of its clip as %" PRId32 "x%" PRId32
                    ", want one size",
                    i, b.width, b.height, begin, a.width, a.height);
        MOT_REQUIRE(frames <= (size_t)(INT32_MAX / a.width / a.height), error,
                    "a clip has %zu frames of %" PRId32 "x%" PRId32 ", want at most 2^31-1 pixels", frames, a.width,
                    a.height);
        MOT_TRY(mot_clips_check_steps(i, plan->steps, plan->count, begin, first.steps, first.count, error));
    }
    return MOTLEY_OK;
}

/* ---- one image ---- */

static size_t rounded(size_t bytes)
{
    return (bytes + MOT_CPU_ALIGN - 1) / MOT_CPU_ALIGN * MOT_CPU_ALIGN;
}

static mot_view dense(int32_t width, int32_t height, int32_t channels, uint8_t *memory)
{
    return (mot_view){ memory, width, height, channels, (int64_t)width * channels, channels, 1 };
}

/* The view through which an image is written mirrored. */
static mot_view mirrored(mot_view view, int horizontal, int vertical)
{
    if (horizontal) {
        view.data += (view.width - 1) * view.pixel;
        view.pixel = -view.pixel;
    }
    if (vertical) {
        view.data += (view.height - 1) * view.row;
        view.row = -view.row;
    }
    return view;
}

/* Crop, resize, window and flips, from the source to `to`. `between` has room for an image. */
static void place_image(const mot_transform_call *call, const mot_cpu_rows *rows, const motley_transform_drawn *drawn,
                        mot_view src, mot_view to, uint8_t *between, void *scratch)
{
    src.data += drawn->crop.top * src.row + drawn->crop.left * src.pixel;
    src.width = drawn->crop.width;
    src.height = drawn->crop.height;
    const int resized = src.width != drawn->width || src.height != drawn->height;
    const int whole = drawn->left == 0 && drawn->top == 0 && drawn->width == to.width && drawn->height == to.height;
    mot_resize how = { .filter = drawn->filter, .order = call->order };
    how.box[2] = (float)src.width;
    how.box[3] = (float)src.height;
    if (resized && whole) {
        to = mirrored(to, 0, drawn->flip_vertical);
        how.flip = drawn->flip_horizontal;
        rows->resize(&src, &to, &how, scratch);
        return;
    }
    if (resized) {
        const mot_view all = dense(drawn->width, drawn->height, src.channels, between);
        rows->resize(&src, &all, &how, scratch);
        src = all;
    }
    to = mirrored(to, drawn->flip_horizontal, drawn->flip_vertical);
    mot_cpu_window(rows, &src, drawn->left, drawn->top, call->transform->fill, &to);
}

/* Runs the steps in place. Steps that change nothing are left out; hue and kernel blur run between runs of ops. All
 * steps up to the last that mixes are chains: their policy is the first stage with steps. */
static void run_steps(const mot_cpu_rows *rows, mot_step *steps, int count, const mot_view *image,
                      const mot_view *spare, void *scratch)
{
    int run = 0, mixed = count;
    while (mixed > 0 && !mot_step_mixes(steps[mixed - 1].op))
        mixed--;
    for (int s = 0; s <= count; s++) {
        if (s > 0 && s == mixed) {
            mot_cpu_run_mixed(rows, steps, run, image, image, scratch);
            run = 0;
        }
        const int op = s < count ? steps[s].op : MOTLEY_STEP_HUE;
        if (op >= 0 || s < mixed) {
            if (!(steps[s].arg.flags & MOT_ARG_IDENTITY))
                steps[run++] = steps[s];
            continue;
        }
        for (int begin = 0; begin < run; begin += MOT_MAX_STEPS)
            mot_cpu_run_steps(rows, &steps[begin], run - begin < MOT_MAX_STEPS ? run - begin : MOT_MAX_STEPS, image,
                              spare, scratch);
        run = 0;
        if (s == count)
            break;
        const mot_step *const step = &steps[s];
        if (step->op == MOTLEY_STEP_HUE) {
            mot_cpu_hue(image, mot_hue_value(step->value));
        } else { /* MOTLEY_STEP_KERNEL_BLUR */
            float half[MOTLEY_KERNEL_WEIGHTS];
            memcpy(half, step->arg.u, sizeof half);
            rows->copy(image, spare);
            rows->kernel_blur(spare, image, half, (int)step->arg.size, scratch);
        }
    }
}

/* Erases boxes in the output. */
static void erase(const mot_transform_call *call, const motley_transform_drawn *drawn, const mot_view *dst)
{
    const motley_dtype dtype = call->dst->dtype;
    const mot_stage *stage = call->erase;
    for (int b = 0; b < drawn->boxes_count; b++) {
        const motley_erased_box *box = &drawn->boxes[b];
        uint32_t bits[4];
        memcpy(bits, call->erased, sizeof bits);
        for (int c = 0; stage->erase_values == MOT_ERASE_CHANNEL && c < dst->channels; c++)
            bits[c] = mot_output_cast(stage->normals[mot_noise_cell(drawn->noise, (uint32_t)b, (uint32_t)c)], dtype);
        for (int32_t y = 0; y < box->height; y++) {
            if (stage->erase_values != MOT_ERASE_PIXEL) {
                mot_cpu_fill_row(dst, dtype, box->left, box->top + y, box->width, bits, 0);
                continue;
            }
            for (int32_t x = 0; x < box->width; x++) {
                for (int c = 0; c < dst->channels; c++) {
                    const uint32_t index = (uint32_t)((y * box->width + x) * dst->channels + c);
                    bits[c] = mot_output_cast(stage->normals[mot_noise_cell(drawn->noise, (uint32_t)b, index)], dtype);
                }
                mot_cpu_fill_row(dst, dtype, box->left + x, box->top + y, 1, bits, 0);
            }
        }
    }
}

/* Writes a finished image to its place in dst. */
static void write_image(const mot_transform_call *call, const mot_cpu_rows *rows, const mot_view *image, size_t i)
{
    const mot_view dst = mot_batch_view(call->dst, i);
    if (call->dst->dtype == MOTLEY_U8)
        rows->copy(image, &dst);
    else
        mot_cpu_write_output(image, &dst, call->dst->dtype, (const uint32_t(*)[256])call->table);
}

static void transform_image(void *opaque, size_t i, const mot_cpu_rows *rows, void *memory)
{
    const mot_transform_call *call = opaque;
    const mot_view src = mot_batch_view(call->src, i), dst = mot_batch_view(call->dst, i);
    uint8_t *between = memory, *work = between + call->image_room, *spare_memory = work + call->image_room;
    void *scratch = spare_memory + call->image_room;
    image_plan plan;
    plan.count = mot_transform_draw_image(call, i, &plan.drawn, plan.steps);
    const bool direct = call->dst->dtype == MOTLEY_U8 && plan.count == 0;
    const mot_view image = direct ? dst : dense(dst.width, dst.height, dst.channels, work);
    place_image(call, rows, &plan.drawn, src, image, between, scratch);
    if (!direct) {
        const mot_view spare = dense(dst.width, dst.height, dst.channels, spare_memory);
        run_steps(rows, plan.steps, plan.count, &image, &spare, scratch);
        write_image(call, rows, &image, i);
    }
    if (call->erase)
        erase(call, &plan.drawn, &dst);
}

/* Transforms all frames of a clip. They are dense in the worker's memory, one after the other, so a step that needs
 * their statistics sees them as one tall image. */
static void transform_clip(void *opaque, size_t clip, const mot_cpu_rows *rows, void *memory)
{
    const mot_transform_call *call = opaque;
    const size_t frames = call->params->clip_frames, first = clip * frames;
    const mot_view one = mot_batch_view(call->dst, first);
    const size_t frame_bytes = (size_t)one.width * (size_t)one.height * (size_t)one.channels;
    uint8_t *between = memory, *spare_memory = between + call->image_room, *work = spare_memory + call->image_room;
    image_plan *plans = (image_plan *)(void *)(work + rounded(frames * frame_bytes));
    void *scratch = (uint8_t *)plans + rounded(frames * sizeof *plans);
    const mot_view spare = dense(one.width, one.height, one.channels, spare_memory);
    const mot_view all = dense(one.width, one.height * (int32_t)frames, one.channels, work);
    for (size_t k = 0; k < frames; k++) {
        plans[k].count = mot_transform_draw_image(call, first + k, &plans[k].drawn, plans[k].steps);
        const mot_view image = dense(one.width, one.height, one.channels, work + k * frame_bytes);
        place_image(call, rows, &plans[k].drawn, mot_batch_view(call->src, first + k), image, between, scratch);
    }
    for (int begin = 0, count = plans[0].count; begin < count;) {
        int end = begin;
        while (end < count && !mot_op_pools(plans[0].steps[end].op))
            end++;
        for (size_t k = 0; k < frames && end > begin; k++) {
            const mot_view image = dense(one.width, one.height, one.channels, work + k * frame_bytes);
            run_steps(rows, &plans[k].steps[begin], end - begin, &image, &spare, scratch);
        }
        if (end < count) /* in place, as every kernel of such steps works */
            run_steps(rows, &plans[0].steps[end++], 1, &all, NULL, scratch);
        begin = end;
    }
    for (size_t k = 0; k < frames; k++) {
        const mot_view image = dense(one.width, one.height, one.channels, work + k * frame_bytes);
        const mot_view dst = mot_batch_view(call->dst, first + k);
        write_image(call, rows, &image, first + k);
        if (call->erase)
            erase(call, &plans[k].drawn, &dst);
    }
}

/* ---- the call ---- */

static void make_table(mot_transform_call *call)
{
    const motley_dtype dtype = call->dst->dtype;
    const mot_stage *output = mot_transform_stage(call->transform, MOT_STAGE_OUTPUT);
    for (int c = 0; c < call->dst->channels; c++) {
        const int at = output && output->values > 1 ? c : 0;
        const int convention = output ? output->convention : 0;
        float subtrahend, divisor;
        mot_output_numbers(convention, output ? output->mean[at] : 0, output ? output->std[at] : 1, &subtrahend,
                           &divisor);
        for (int v = 0; v < 256; v++)
            call->table[c][v] = mot_output_cast(mot_output_f32(convention, (uint8_t)v, subtrahend, divisor), dtype);
        if (call->erase)
            call->erased[c] = call->transform->follower
                                  ? call->transform->fill[c]
                                  : mot_output_cast((float)call->erase->mean[call->erase->values > 1 ? c : 0], dtype);
    }
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The memory that a worker needs for any of the images: three images, or two and all frames of a clip with their plans,
 * and scratch for the kernels. */
static size_t scratch_bytes(mot_transform_call *call, const mot_cpu_rows *rows)
{
    const size_t frames = call->params->clip_frames > 1 ? call->params->clip_frames : 1;
    size_t pixels = 0, frame = 0, bytes = 0;
    for (size_t i = 0; i < call->src->count; i++) {
        const mot_view src = mot_batch_view(call->src, i), dst = mot_batch_view(call->dst, i);
        int32_t width, height;
        mot_transform_sides(call, i, &width, &height);
        frame = larger(frame, (size_t)dst.width * (size_t)dst.height);
        pixels = larger(larger(pixels, frame), (size_t)width * (size_t)height);
        bytes = larger(bytes, rows->resize_scratch(src.width, src.height, width, height, src.channels));
        bytes = larger(bytes, mot_cpu_scratch_bytes(dst.width, dst.height * (int32_t)frames, dst.channels));
        bytes = larger(bytes, mot_cpu_kernel_blur_scratch(dst.width, dst.channels, largest_kernel(call, i)));
        if (call->mixes)
            bytes = larger(bytes, mot_cpu_mixed_bytes(dst.width, dst.height, dst.channels));
    }
    const size_t channels = (size_t)call->src->channels;
    call->image_room = rounded(pixels * channels);
    if (frames > 1)
        bytes += rounded(frames * frame * channels) + rounded(frames * sizeof(image_plan));
    else
        bytes += call->image_room;
    return 2 * call->image_room + bytes;
}

/* Draws how the images are mixed, before any image is touched. */
static motley_status draw_mix(const mot_transform_call *call, motley_error *error)
{
    const motley_transform_params *p = call->params;
    if (!p->given_mixed)
        return motley_mix_draw(call->info->mix, &p->samples, call->src->count, call->info->width, call->info->height,
                               p->mixed, error);
    memcpy(p->mixed, p->given_mixed, call->src->count * sizeof *p->mixed);
    return mot_mix_check_drawn(p->mixed, call->src->count, call->info->width, call->info->height, error);
}

static motley_status check_followed(const mot_transform_call *call, motley_error *error)
{
    const char *const why = call->info->mix ? "mixes images" : call->mixes ? "mixes chains of ops" : NULL;
    if (mot_followed_any(&call->followed) && why)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "transform '%s' %s: nothing can follow it",
                        call->transform->name, why);
    return MOTLEY_OK;
}

/* Transforms the images, and moves boxes and points, on the host. */
static motley_status run_on_host(motley_context *context, mot_transform_call *call, motley_error *error)
{
    const motley_transform_params *p = call->params;
    const size_t bytes = scratch_bytes(call, context->backend->rows(context->state));
    const size_t frames = p->clip_frames > 1 ? p->clip_frames : 1;
    const mot_follow_draws draws = { .src = call->src,
                                     .transform = p->given ? NULL : call->transform,
                                     .samples = &p->samples,
                                     .steps = p->given_steps,
                                     .step_counts = p->given_step_counts,
                                     .places = p->given,
                                     .max_steps = call->info->max_steps,
                                     .width = call->info->width,
                                     .height = call->info->height };
    mot_moved moved = { 0 };
    motley_status status = MOTLEY_OK;
    if (mot_followed_any(&call->followed))
        status = mot_follow_begin(&call->followed, &draws, &moved, error);
    if (status == MOTLEY_OK)
        status = context->backend->each(context->state, call->src->count / frames, bytes,
                                        frames > 1 ? transform_clip : transform_image, call, error);
    if (status == MOTLEY_OK)
        mot_follow_end(&moved);
    mot_follow_drop(&moved);
    return status;
}

motley_status motley_transform_apply(motley_context *context, const motley_transform *transform,
                                     const motley_batch *src, const motley_batch *dst,
                                     const motley_transform_params *params, motley_error *error)
{
    MOT_REQUIRE(context, error, "context is NULL");
    MOT_REQUIRE(transform, error, "transform is NULL, want one that was loaded");
    MOT_READ_PARAMS(motley_transform_params, params, error);
    mot_transform_call call = { .transform = transform,
                                .info = motley_transform_describe(transform),
                                .src = src,
                                .dst = dst,
                                .params = params,
                                .erase = mot_transform_stage(transform, MOT_STAGE_ERASE),
                                .drawn_on_host = params->given || params->clip_frames > 1 };
    MOT_TRY(check(context, &call, error));
    MOT_TRY(mot_followed_read(params->followed, &call.followed, error));
    MOT_TRY(check_followed(&call, error));
    if (src->count == 0)
        return MOTLEY_OK;
    const mot_stage *resize = mot_transform_stage(transform, MOT_STAGE_RESIZE);
    const mot_stage *crop = mot_transform_stage(transform, MOT_STAGE_RANDOM_RESIZED_CROP);
    call.order = resize ? resize->order : crop ? crop->order : MOTLEY_ORDER_PILLOW_13;
    make_table(&call);
    if (call.info->mix)
        MOT_TRY(draw_mix(&call, error));
    MOT_TRY(check_clips(&call, error));
    if (context->backend->transform)
        return context->backend->transform(context->state, &call, error);
    MOT_TRY(run_on_host(context, &call, error));
    return call.info->mix ? motley_mix_apply(context, dst, dst, call.params->mixed, error) : MOTLEY_OK;
}
