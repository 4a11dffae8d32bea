/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of batches: what each image draws, and, on the host, all its stages on one worker. */
#include "augmentations/augmix.h"
#include "augmentations/hue.h"
#include "augmentations/kernel_blur.h"
#include "augmentations/table.h"
#include "dispatch/clips.h"
#include "dispatch/follow.h"
#include "dispatch/transform_call.h"
#include "kernels/cpu.h"
#include "kernels/output.h"
#include "policies/transform_draw.h"
#include "policies/views.h"

#include <stdbool.h>
#include <string.h>

/* The draw of one image. */
typedef struct image_plan {
    const motley_place *drawn;
    mot_step *steps; /* run_steps changes them */
    int count;
} image_plan;

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

int mot_transform_draw_image(const mot_transform_call *call, size_t i, motley_place *drawn, mot_step *steps)
{
    const motley_apply_params *p = call->params;
    const mot_view src = mot_batch_view(call->src, i);
    const size_t most = call->info->max_steps, row = call->given_row;
    int count;
    if (p->given) {
        *drawn = p->given[i];
        count = p->given_step_counts[i];
        for (int s = 0; s < count; s++)
            take_given(&p->given_steps[i * row + (size_t)s], &steps[s]);
    } else {
        const mot_drawn_sample sample = mot_sample_of(&p->samples, i, src.width, src.height, src.channels);
        count = mot_transform_draw(call->transform, &sample, drawn, steps);
    }
    for (int s = 0; s < count; s++)
        if (steps[s].op == MOTLEY_STEP_KERNEL_BLUR)
            take_kernel(&steps[s], p->given_kernels ? p->given_kernels[i * row + (size_t)s] : NULL);
    if (p->drawn)
        p->drawn[i] = *drawn;
    if (p->steps) {
        p->step_counts[i] = count;
        for (int s = 0; s < count; s++)
            p->steps[i * most + (size_t)s] = mot_public_step(mot_step_info(steps[s].op), &steps[s]);
    }
    return count;
}

/* Makes the draws of all images before any is touched. */
static motley_status draw_all(motley_context *context, mot_transform_call *call, motley_error *error)
{
    const size_t most = call->info->max_steps;
    MOT_TRY(mot_draws_take(context, call->src->count, most, 1, &call->draws, error));
    for (size_t i = 0; i < call->src->count; i++)
        mot_draws_end(&call->draws, i,
                      mot_transform_draw_image(call, i, &call->draws.places[i], call->draws.steps + i * most));
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
static void place_image(const mot_transform_call *call, const mot_cpu_rows *rows, const motley_place *drawn,
                        mot_view src, mot_view to, uint8_t *between, void *scratch)
{
    src.data += drawn->crop.top * src.row + drawn->crop.left * src.pixel;
    src.width = drawn->crop.width;
    src.height = drawn->crop.height;
    const int resized = src.width != drawn->width || src.height != drawn->height;
    const int whole = drawn->left == 0 && drawn->top == 0 && drawn->width == to.width && drawn->height == to.height;
    mot_resize how = { .filter = drawn->filter, .order = call->transform->facts.order };
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
            rows->hue(image, mot_hue_value(step->value));
        } else { /* MOTLEY_STEP_KERNEL_BLUR */
            float half[MOTLEY_KERNEL_WEIGHTS];
            memcpy(half, step->arg.u, sizeof half);
            rows->copy(image, spare);
            rows->kernel_blur(spare, image, half, (int)step->arg.size, scratch);
        }
    }
}

/* Erases boxes in the output. */
static void erase(const mot_transform_call *call, const motley_place *drawn, const mot_view *dst)
{
    const motley_dtype dtype = call->dst->dtype;
    const mot_stage *stage = call->erase;
    for (int b = 0; b < drawn->boxes_count; b++) {
        const motley_erased_box *box = &drawn->boxes[b];
        uint32_t bits[4];
        memcpy(bits, call->erased, sizeof bits);
        for (int c = 0; stage->of.erase.fills == MOT_ERASE_CHANNEL && c < dst->channels; c++)
            bits[c] = mot_output_cast(stage->normals[mot_noise_cell(drawn->noise, (uint32_t)b, (uint32_t)c)], dtype);
        for (int32_t y = 0; y < box->height; y++) {
            if (stage->of.erase.fills != MOT_ERASE_PIXEL) {
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

/* What draw_all made for an image. */
static image_plan drawn_plan(const mot_transform_call *call, size_t i)
{
    const mot_host_draws *const draws = &call->draws;
    return (image_plan){ &draws->places[i], draws->steps + i * draws->most, draws->counts[i] };
}

static void transform_image(void *opaque, size_t i, const mot_cpu_rows *rows, void *memory)
{
    const mot_transform_call *call = opaque;
    const mot_view src = mot_batch_view(call->src, i), dst = mot_batch_view(call->dst, i);
    uint8_t *between = memory, *work = between + call->image_room, *spare_memory = work + call->image_room;
    void *scratch = spare_memory + call->image_room;
    motley_place drawn;
    mot_step steps[MOT_MAX_TRANSFORM_STEPS];
    const image_plan plan = call->draws.steps
                                ? drawn_plan(call, i)
                                : (image_plan){ &drawn, steps, mot_transform_draw_image(call, i, &drawn, steps) };
    const bool direct = call->dst->dtype == MOTLEY_U8 && plan.count == 0;
    const mot_view image = direct ? dst : dense(dst.width, dst.height, dst.channels, work);
    place_image(call, rows, plan.drawn, src, image, between, scratch);
    if (!direct) {
        const mot_view spare = dense(dst.width, dst.height, dst.channels, spare_memory);
        run_steps(rows, plan.steps, plan.count, &image, &spare, scratch);
        write_image(call, rows, &image, i);
    }
    if (call->erase)
        erase(call, plan.drawn, &dst);
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
    void *scratch = work + rounded(frames * frame_bytes);
    const mot_view spare = dense(one.width, one.height, one.channels, spare_memory);
    const mot_view all = dense(one.width, one.height * (int32_t)frames, one.channels, work);
    for (size_t k = 0; k < frames; k++) {
        const mot_view image = dense(one.width, one.height, one.channels, work + k * frame_bytes);
        place_image(call, rows, &call->draws.places[first + k], mot_batch_view(call->src, first + k), image, between,
                    scratch);
    }
    const image_plan plan = drawn_plan(call, first);
    for (int begin = 0; begin < plan.count;) {
        int end = begin;
        while (end < plan.count && !mot_op_pools(plan.steps[end].op))
            end++;
        for (size_t k = 0; k < frames && end > begin; k++) {
            const mot_view image = dense(one.width, one.height, one.channels, work + k * frame_bytes);
            run_steps(rows, &drawn_plan(call, first + k).steps[begin], end - begin, &image, &spare, scratch);
        }
        if (end < plan.count) /* in place, as every kernel of such steps works */
            run_steps(rows, &plan.steps[end++], 1, &all, NULL, scratch);
        begin = end;
    }
    for (size_t k = 0; k < frames; k++) {
        const mot_view image = dense(one.width, one.height, one.channels, work + k * frame_bytes);
        const mot_view dst = mot_batch_view(call->dst, first + k);
        write_image(call, rows, &image, first + k);
        if (call->erase)
            erase(call, &call->draws.places[first + k], &dst);
    }
}

/* ---- the call ---- */

static void make_table(mot_transform_call *call)
{
    const motley_dtype dtype = call->dst->dtype;
    const mot_stage *const stage = mot_transform_stage(call->transform, MOT_STAGE_OUTPUT);
    const mot_normalize none = { .std = { 1 } }, *const by = stage ? &stage->of.output : &none;
    call->as = (mot_output_as){ .dtype = (int32_t)dtype, .convention = (int32_t)by->convention };
    for (int c = 0; c < 4; c++) {
        const int at = by->values > 1 ? c : 0;
        mot_output_numbers(call->as.convention, by->mean[at], by->std[at], &call->as.mean[c], &call->as.std[c]);
    }
    for (int c = 0; c < call->dst->channels; c++) {
        for (int v = 0; v < 256; v++)
            call->table[c][v] = mot_output_entry(&call->as, 256 * c + v);
        if (call->erase)
            call->erased[c] =
                call->transform->follower
                    ? call->transform->fill[c]
                    : mot_output_cast((float)call->erase->of.erase.value[call->erase->of.erase.values > 1 ? c : 0],
                                      dtype);
    }
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The memory that a worker needs for any of the images: three images, or two and all frames of a clip, and scratch for
 * the kernels. */
static size_t scratch_bytes(mot_transform_call *call, const mot_cpu_rows *rows)
{
    const size_t frames = call->params->clip_frames > 1 ? call->params->clip_frames : 1;
    size_t pixels = 0, frame = 0, bytes = 0;
    if (call->worker_bytes && call->worker_frames == frames && !call->params->given)
        return call->worker_bytes;
    for (size_t i = 0; i < call->src->count; i++) {
        const mot_view src = mot_batch_view(call->src, i), dst = mot_batch_view(call->dst, i);
        int32_t width, height;
        mot_transform_sides(call, i, &width, &height);
        frame = larger(frame, (size_t)dst.width * (size_t)dst.height);
        pixels = larger(larger(pixels, frame), (size_t)width * (size_t)height);
        bytes = larger(bytes, rows->resize_scratch(src.width, src.height, width, height, src.channels));
        bytes = larger(bytes, mot_cpu_scratch_bytes(dst.width, dst.height * (int32_t)frames, dst.channels));
        bytes =
            larger(bytes, mot_cpu_kernel_blur_scratch(dst.width, dst.channels, mot_transform_largest_kernel(call, i)));
        if (call->transform->facts.mixes)
            bytes = larger(bytes, mot_cpu_mixed_bytes(dst.width, dst.height, dst.channels));
    }
    const size_t channels = (size_t)call->src->channels;
    call->image_room = rounded(pixels * channels);
    if (frames > 1)
        bytes += rounded(frames * frame * channels);
    else
        bytes += call->image_room;
    bytes += 2 * call->image_room;
    call->worker_bytes = call->params->given ? 0 : bytes;
    call->worker_frames = frames;
    return bytes;
}

/* Draws how the images are mixed, before any image is touched. */
static motley_status draw_mix(const mot_transform_call *call, motley_error *error)
{
    const motley_apply_params *p = call->params;
    const size_t count = call->src->count;
    const mot_view one = mot_batch_view(call->dst, 0); /* all have its size */
    if (!p->given_mixed)
        return motley_mix_draw(call->info->mix, &p->samples, count, one.width, one.height, p->mixed, error);
    memcpy(p->mixed, p->given_mixed, count * sizeof *p->mixed);
    return mot_mix_check_drawn(p->mixed, count, one.width, one.height, error);
}

/* Transforms the images, and moves boxes and points, on the host. */
static motley_status run_on_host(motley_context *context, mot_transform_call *call, motley_error *error)
{
    const motley_apply_params *p = call->params;
    const size_t bytes = scratch_bytes(call, context->backend->rows(context->state));
    const size_t frames = p->clip_frames > 1 ? p->clip_frames : 1;
    const mot_follow_draws draws = { .src = call->src,
                                     .draws = &call->draws,
                                     .steps = p->given ? p->given_steps : p->steps,
                                     .max_steps = p->given ? call->given_row : call->info->max_steps,
                                     .width = call->info->width,
                                     .height = call->info->height };
    const int moves = mot_followed_any(&call->followed);
    mot_moved moved;
    if (moves)
        MOT_TRY(mot_follow_begin(context, &call->followed, &draws, &moved, error));
    MOT_TRY(context->backend->each(context->state, call->src->count / frames, bytes,
                                   frames > 1 ? transform_clip : transform_image, call, error));
    if (moves)
        mot_follow_end(&moved);
    return MOTLEY_OK;
}

motley_status mot_transform_read(const mot_transform *transform, const motley_batch *src, mot_kept *table,
                                 motley_batch *read, motley_error *error)
{
    if (transform->to_rgb)
        return mot_batch_as_rgb(src, table, read, error);
    MOT_TRY(mot_validate_batch("src", src, error));
    *read = *src;
    return MOTLEY_OK;
}

motley_status mot_transform_prepare(const mot_transform *transform, const motley_batch *src, const motley_batch *dst,
                                    mot_transform_call *call, motley_error *error)
{
    *call = (mot_transform_call){
        .transform = transform, .info = &transform->info, .src = src, .dst = dst, .erase = transform->facts.erase
    };
    MOT_TRY(mot_transform_check_single(transform, error));
    MOT_TRY(mot_transform_check(call, error));
    if (src->count == 0)
        return MOTLEY_OK;
    make_table(call);
    return MOTLEY_OK;
}

motley_status mot_transform_run(motley_context *context, mot_transform_call *call, const motley_apply_params *params,
                                motley_error *error)
{
    motley_apply_params own = *params;
    if (!call->info->takes_levels || params->given)
        own.samples.levels = NULL; /* which nothing may read: perhaps it is in device memory */
    call->params = params = &own;
    call->draws = (mot_host_draws){ 0 };
    call->given_row = params->given_max_steps ? params->given_max_steps : call->info->max_steps;
    MOT_TRY(mot_transform_check_run(context, call, error));
    if (call->src->count == 0)
        return MOTLEY_OK;
    if (call->info->mix)
        MOT_TRY(draw_mix(call, error));
    if (params->given || params->clip_frames > 1 || (mot_followed_any(&call->followed) && !context->backend->transform))
        MOT_TRY(draw_all(context, call, error));
    MOT_TRY(mot_transform_check_clips(call, error));
    if (context->backend->transform)
        return context->backend->transform(context->state, call, error);
    MOT_TRY(run_on_host(context, call, error));
    return call->info->mix ? motley_mix_apply(context, call->dst, call->dst, params->mixed, NULL, error) : MOTLEY_OK;
}

motley_status mot_transform_apply(motley_context *context, const mot_transform *transform, const motley_batch *src,
                                  const motley_batch *dst, const motley_apply_params *params, motley_error *error)
{
    motley_batch read;
    mot_transform_call call;
    MOT_TRY(mot_transform_in_epoch(context, &transform, params, error));
    MOT_TRY(mot_transform_read(transform, src, &context->rgb, &read, error));
    MOT_TRY(mot_validate_batch("dst", dst, error));
    MOT_TRY(mot_transform_prepare(transform, &read, dst, &call, error));
    return mot_transform_run(context, &call, params, error);
}
