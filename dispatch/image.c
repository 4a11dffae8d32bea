/* SPDX-License-Identifier: Apache-2.0 */
/* See image.h. */
#include "dispatch/image.h"
#include "augmentations/augmix.h"
#include "augmentations/hue.h"
#include "base/values.h"
#include "dispatch/wide.h"
#include "policies/transform_draw.h"

#include <string.h>

#define RESIZE_COST 1.5f /* nanoseconds for each pixel that is read or written, roughly */

/* ---- views ---- */

mot_part mot_part_at(int first, int channels)
{
    const int rest = channels - first, most = rest < 2 ? 1 : rest < 4 ? 2 : 4;
    return (mot_part){ first, channels > 4 ? most : channels };
}

mot_view mot_part_view(const motley_batch *batch, size_t i, mot_part part)
{
    mot_view view = mot_batch_view(batch, i);
    view.data += part.first * view.channel;
    view.channels = part.count;
    return view;
}

/* What a part's channels are filled with: those behind the fourth as the first. */
static void fill_part(mot_part part, uint8_t fill[4])
{
    if (part.first > 0)
        memset(fill, fill[0], 4);
}

/* Bytes of the copy of the steps for other parts than the first. */
static size_t steps_bytes(const mot_job *job)
{
    const size_t bytes = job->src->channels > 4 ? job->max_steps * sizeof(mot_step) : 0;
    return (bytes + MOT_CPU_ALIGN - 1) / MOT_CPU_ALIGN * MOT_CPU_ALIGN;
}

size_t mot_image_bytes(int32_t width, int32_t height, int32_t channels)
{
    const size_t bytes = (size_t)width * (size_t)height * (size_t)channels;
    return (bytes + MOT_CPU_ALIGN - 1) / MOT_CPU_ALIGN * MOT_CPU_ALIGN;
}

/* A dense image in `memory`, with the same order of channels as `like`. */
static mot_view dense_view(const mot_view *like, uint8_t *memory)
{
    mot_view v = *like;
    const int planar = mot_cpu_has_layout(like, MOT_LAYOUT_PLANAR) && like->channels > 1;
    v.data = memory;
    v.pixel = planar ? 1 : v.channels;
    v.channel = planar ? (int64_t)v.width * v.height : 1;
    v.row = v.pixel * v.width;
    return v;
}

static int same_pixels(const mot_view *a, const mot_view *b)
{
    return a->data == b->data && a->row == b->row && a->pixel == b->pixel && a->channel == b->channel;
}

static mot_layouts layout_of(const mot_view *v)
{
    return mot_cpu_has_layout(v, MOT_LAYOUT_PACKED)   ? MOT_LAYOUT_PACKED
           : mot_cpu_has_layout(v, MOT_LAYOUT_PLANAR) ? MOT_LAYOUT_PLANAR
           : mot_cpu_has_layout(v, MOT_LAYOUT_SPACED) ? MOT_LAYOUT_SPACED
                                                      : MOT_LAYOUT_ANY;
}

/* Whether the fast kernels of nearly all ops take the view's strides. */
static int has_fast_rows(const mot_view *v)
{
    return layout_of(v) == MOT_LAYOUT_PACKED || layout_of(v) == MOT_LAYOUT_PLANAR;
}

/* Whether an image is processed as a dense copy in the worker's memory because the fast kernels do not accept its
 * strides in each step. Copying it in and out costs a tenth of running the reference kernels. */
static int is_aside(const mot_cpu_rows *rows, const mot_view *v, const mot_step *steps, uint32_t count)
{
    if (rows == &mot_rows_reference || has_fast_rows(v))
        return 0;
    for (uint32_t s = 0; s < count; s++) {
        const mot_cpu_row *row = steps[s].op < 0 ? NULL : mot_cpu_find(rows, &steps[s], v, v);
        if (!row || row < rows->rows || row >= rows->rows + rows->count)
            return 1;
    }
    return 0;
}

/* Where the passes of a part of image i end: in dst, or in `memory` if there is no dst or the kernels cannot write to
 * it. */
static mot_view work_view(const mot_cpu_rows *rows, const mot_job *job, size_t i, mot_part part, const mot_step *steps,
                          int count, uint8_t *memory)
{
    const mot_view v = mot_part_view(job->dst ? job->dst : job->src, i, part);
    return !job->dst || is_aside(rows, &v, steps, (uint32_t)count) ? dense_view(&v, memory) : v;
}

/* ---- passes ---- */

enum place { END, SPARE };

/* A pass: steps that one kernel runs in one read and write of the pixels. */
typedef struct pass {
    const mot_cpu_row *row;
    const mot_step *steps;
    int count;
    int moves; /* cannot run in place */
    enum place to;
} pass;

static int plan_passes(const mot_cpu_rows *rows, const mot_step *steps, uint32_t count, const mot_view *view,
                       pass *passes)
{
    int n = 0;
    for (uint32_t s = 0; s < count; n++) {
        const mot_cpu_row *row = mot_cpu_find(rows, &steps[s], view, view);
        const uint32_t first = s++;
        while (row->takes_points && s < count && mot_op_table[steps[s].op].info.shape == MOTLEY_SHAPE_POINT)
            s++;
        passes[n] = (pass){ row, &steps[first], (int)(s - first), !row->in_place, END };
    }
    return n;
}

/* Chooses where each pass writes so that the last one writes END; returns where the first pass must read. */
static enum place give_places(pass *passes, int n)
{
    enum place at = END;
    for (int p = n - 1; p >= 0; p--) {
        passes[p].to = at;
        if (passes[p].moves)
            at = at == END ? SPARE : END;
    }
    return at;
}

/* Runs the passes from src to `end`; `spare` is used only if a pass cannot work in place. Pixels are copied only if no
 * pass can write them to their destination. */
static void run_passes(const mot_cpu_rows *rows, pass *passes, int n, const mot_view *src, const mot_view *end,
                       const mot_view *spare, void *scratch)
{
    const mot_view *const places[] = { [END] = end, [SPARE] = spare };
    const int in_place = same_pixels(src, end);
    enum place first = give_places(passes, n);
    if (in_place && first == SPARE) { /* one more pass must write elsewhere */
        int p = 0;
        while (p < n && passes[p].moves)
            p++;
        if (p < n) {
            passes[p].moves = 1;
            first = give_places(passes, n);
        }
    }
    const mot_view *from = src;
    const int copy = in_place ? first == SPARE : n == 0 || layout_of(src) != layout_of(end);
    if (copy) {
        rows->copy(src, places[first]);
        from = places[first];
    }
    for (int p = 0; p < n; p++) {
        const mot_view *to = places[passes[p].to];
        passes[p].row->run(from, to, passes[p].steps, passes[p].count, scratch);
        from = to;
    }
}

/* Dense images for an image whose chains are mixed: original, chain, spare, result, and the sum in floats. */
#define MIX_IMAGES 8

static size_t mixed_bytes(int32_t width, int32_t height, int32_t channels)
{
    return MIX_IMAGES * mot_image_bytes(width, height, channels) + mot_cpu_scratch_bytes(width, height, channels);
}

/* Runs the chains of an image, each on `src`, and mixes them into `end`, which may be src; the last step mixes.
 * `memory` is mixed_bytes, aligned to MOT_CPU_ALIGN. */
static void run_mixed(const mot_cpu_rows *rows, const mot_step *steps, int count, const mot_view *src,
                      const mot_view *end, uint8_t *memory)
{
    const size_t bytes = mot_image_bytes(src->width, src->height, src->channels);
    const size_t pixels = (size_t)src->width * (size_t)src->height * (size_t)src->channels; /* without padding */
    const mot_view original = dense_view(end, memory), chain = dense_view(end, memory + bytes);
    const mot_view spare = dense_view(end, memory + 2 * bytes), result = dense_view(end, memory + 3 * bytes);
    float *sum = (float *)(void *)(memory + 4 * bytes);
    void *scratch = memory + MIX_IMAGES * bytes;
    rows->copy(src, &original);
    memcpy(result.data, original.data, pixels);
    memset(sum, 0, pixels * sizeof *sum);
    for (int s = 0; s < count; s++) {
        const int first = s;
        while (steps[s].op >= 0)
            s++;
        if (s > first) {
            pass passes[MOT_MAX_STEPS];
            const int n = plan_passes(rows, &steps[first], (uint32_t)(s - first), &chain, passes);
            run_passes(rows, passes, n, &original, &chain, &spare, scratch);
        }
        rows->mix(steps[s].op, (float)steps[s].value, s > first ? chain.data : original.data, sum, result.data, pixels);
    }
    rows->copy(&result, end);
}

void mot_image_steps(const mot_cpu_rows *rows, const mot_step *steps, int count, const mot_view *src,
                     const mot_view *end, uint8_t *memory)
{
    const mot_view spare = dense_view(end, memory);
    void *const scratch = memory + mot_image_bytes(end->width, end->height, end->channels);
    const mot_view *from = src;
    int s = count;
    while (s > 0 && !mot_step_mixes(steps[s - 1].op))
        s--;
    if (s > 0) {
        run_mixed(rows, steps, s, src, end, memory);
        from = end;
    }
    do {
        int ops = 0;
        while (s + ops < count && ops < MOT_MAX_STEPS && steps[s + ops].op >= 0)
            ops++;
        if (ops > 0 || s == count) {
            pass passes[MOT_MAX_STEPS];
            const int n = plan_passes(rows, &steps[s], (uint32_t)ops, end, passes);
            run_passes(rows, passes, n, from, end, &spare, scratch);
            s += ops;
        } else if (steps[s].op == MOTLEY_STEP_HUE) {
            if (!same_pixels(from, end))
                rows->copy(from, end);
            rows->hue(end, mot_hue_value(steps[s++].value));
        } else if (steps[s].op == MOTLEY_STEP_PERMUTE) {
            if (!same_pixels(from, end))
                rows->copy(from, end);
            rows->permute(end, (int)steps[s++].value);
        } else { /* MOTLEY_STEP_KERNEL_BLUR */
            float half[MOTLEY_KERNEL_WEIGHTS];
            memcpy(half, steps[s].arg.u, sizeof half);
            rows->copy(from, &spare);
            rows->kernel_blur(&spare, end, half, (int)steps[s++].arg.size, scratch);
        }
        from = end;
    } while (s < count);
}

/* ---- places ---- */

/* Crop, resize, window and flips, from the source to `to`. */
static void place_image(const mot_request *call, const mot_cpu_rows *rows, const motley_place *drawn, mot_part part,
                        mot_view src, mot_view to, void *scratch)
{
    uint8_t fill[4];
    mot_request_fill(call, fill);
    mot_resize how = mot_resize_of_place(drawn, call->transform->facts.order, fill);
    fill_part(part, how.fill);
    rows->resize(&src, &to, &how, scratch);
}

/* Whether a place shows its image as it is, so that nothing is to be resized or copied. */
static bool shows_all(const motley_place *p, const mot_view *src, const mot_view *dst)
{
    return (p->crop.left | p->crop.top | p->left | p->top | p->flip_horizontal | p->flip_vertical | p->beyond) == 0 &&
           p->crop.width == src->width && p->crop.height == src->height && p->width == src->width &&
           p->height == src->height && dst->width == src->width && dst->height == src->height;
}

/* Erases boxes in the output. */
static void erase(const mot_request *call, const motley_place *drawn, const mot_view *dst)
{
    const motley_dtype dtype = call->dst->dtype;
    const mot_stage *stage = call->erase;
    for (int k = 0; k < drawn->boxes_count * dst->channels; k++) {
        const int b = k / dst->channels, c = k % dst->channels;
        const motley_erased_box *box = &drawn->boxes[b];
        mot_view one = *dst;
        one.data += c * dst->channel;
        one.channels = 1;
        uint32_t bits = call->erased[c < 4 ? c : 0];
        if (stage->of.erase.fills == MOT_ERASE_CHANNEL)
            bits = mot_output_cast(stage->normals[mot_noise_cell(drawn->noise, (uint32_t)b, (uint32_t)c)], dtype);
        for (int32_t y = 0; y < box->height; y++) {
            if (stage->of.erase.fills != MOT_ERASE_PIXEL) {
                mot_cpu_fill_row(&one, dtype, box->left, box->top + y, box->width, &bits, 0);
                continue;
            }
            for (int32_t x = 0; x < box->width; x++) {
                const uint32_t index = (uint32_t)((y * box->width + x) * dst->channels + c);
                bits = mot_output_cast(stage->normals[mot_noise_cell(drawn->noise, (uint32_t)b, index)], dtype);
                mot_cpu_fill_row(&one, dtype, box->left + x, box->top + y, 1, &bits, 0);
            }
        }
    }
}

/* ---- images ---- */

float mot_image_cost(const mot_cpu_rows *rows, const mot_job *job, size_t i, const motley_place *place,
                     const mot_step *steps, int count)
{
    const mot_part part = mot_part_at(0, job->src->channels);
    const mot_view src = mot_part_view(job->src, i, part);
    if (job->wide)
        return mot_wide_cost(&src, steps, count);
    const mot_view dst =
        place ? mot_packed(&src, place->width, place->height, NULL) : work_view(rows, job, i, part, steps, count, NULL);
    float cost = 100; /* an image without steps is copied */
    for (int s = 0; s < count; s++)
        cost += steps[s].op < 0 ? MOT_AUGMIX_COST
                                : (float)mot_cpu_cost(mot_cpu_find(rows, &steps[s], &dst, &dst), &steps[s]);
    cost *= 1e-3f * (float)dst.width * (float)dst.height;
    if (place && place->first.width > 0)
        cost += RESIZE_COST * ((float)place->first.crop.width * (float)place->first.crop.height +
                               (float)place->first.result_width * (float)place->first.result_height);
    if (place && (place->crop.width != place->width || place->crop.height != place->height))
        cost +=
            RESIZE_COST * ((float)place->crop.width * (float)place->crop.height + (float)dst.width * (float)dst.height);
    return cost * (float)job->src->channels / (float)part.count;
}

/* A part of an image that is placed, perhaps changed first. */
static void run_stages(const mot_request *call, const mot_cpu_rows *rows, const mot_output_channel *output, size_t i,
                       mot_part part, const motley_place *place, const mot_step *steps, int count, uint8_t *memory)
{
    const mot_view dst = mot_part_view(call->dst, i, part);
    uint8_t *const between = memory + call->source_room, *const work = between + call->first_room,
                   *const rest = work + call->image_room;
    mot_view src = mot_part_view(call->src, i, part);
    const motley_place last = mot_last_place(place);
    if (place->before > 0) {
        const mot_view source = dense_view(&src, memory);
        mot_image_steps(rows, steps, place->before, &src, &source, rest);
        src = source;
        steps += place->before;
        count -= place->before;
    }
    if (place->first.width > 0) {
        const motley_place first = mot_first_place(place, src.width, src.height);
        const mot_view made = mot_packed(&dst, first.result_width, first.result_height, between);
        place_image(call, rows, &first, part, src, made, rest);
        src = made;
        place = &last;
    }
    const bool stays = shows_all(place, &src, &dst),
               direct = call->dst->dtype == MOTLEY_U8 && (count == 0 || has_fast_rows(&dst));
    const mot_view image = direct ? dst : stays && count == 0 ? src : mot_packed(&dst, dst.width, dst.height, work);
    const mot_view from = stays ? src : image;
    if (!stays)
        place_image(call, rows, place, part, src, image, rest);
    mot_image_steps(rows, steps, count, &from, &image, rest);
    if (call->dst->dtype != MOTLEY_U8)
        rows->output(&image, &dst, call->dst->dtype, output);
    else if (!same_pixels(&image, &dst))
        rows->copy(&image, &dst);
}

/* A part of an image whose steps alone run. */
static void run_steps(const mot_cpu_rows *rows, const mot_job *job, const mot_output_channel *output, size_t i,
                      mot_part part, const mot_step *steps, int count, uint8_t *memory)
{
    const mot_view src = mot_part_view(job->src, i, part), dst = job->dst ? mot_part_view(job->dst, i, part) : src;
    mot_view end = dst;
    if (count > 0) {
        end = work_view(rows, job, i, part, steps, count, memory);
        memory += end.data == memory ? mot_image_bytes(src.width, src.height, src.channels) : 0;
    }
    mot_image_steps(rows, steps, count, &src, &end, memory);
    if (job->dst && !same_pixels(&end, &dst))
        rows->copy(&end, &dst);
    if (job->output) {
        const mot_view to = mot_part_view(job->output, i, part);
        rows->output(&end, &to, job->output->dtype, output);
    }
}

void mot_image_run(const mot_cpu_rows *rows, const mot_job *job, const mot_output_channel *output, size_t i,
                   const motley_place *place, const mot_step *steps, int count, uint8_t *memory)
{
    mot_step *const copies = (mot_step *)(void *)memory; /* of the steps, with other fills */
    const int channels = job->src->channels;
    uint8_t *const rest = memory + steps_bytes(job);
    if (job->wide)
        mot_wide_image(rows, job, i, place, steps, count, memory);
    for (mot_part p = mot_part_at(0, channels); !job->wide && p.first < channels;
         p = mot_part_at(p.first + p.count, channels)) {
        for (int s = 0; p.first > 0 && s < count; s++) {
            copies[s] = steps[s];
            fill_part(p, copies[s].fill);
        }
        const mot_step *const own = p.first > 0 ? copies : steps;
        const mot_output_channel *const own_output = output ? output + p.first : NULL;
        if (place)
            run_stages(job->request, rows, own_output, i, p, place, own, count, rest);
        else
            run_steps(rows, job, own_output, i, p, own, count, rest);
    }
    if (place && job->request->erase) {
        const mot_view to = mot_batch_view(job->dst, i);
        erase(job->request, place, &to);
    }
}

/* ---- memory ---- */

/* An image, and behind it what the steps need. */
static size_t stages_memory(mot_request *call, const mot_cpu_rows *rows)
{
    size_t source = 0, first = 0, work = 0, rest = 0;
    if (call->worker_bytes && !call->draws.places)
        return call->worker_bytes;
    for (size_t i = 0; i < call->src->count; i++) {
        const mot_view dst = mot_batch_view(call->dst, i);
        const int32_t kernel = mot_request_largest_kernel(call, i), channels = mot_part_most(dst.channels);
        const size_t bytes = mot_image_bytes(dst.width, dst.height, channels);
        work = mot_larger(work, bytes);
        const size_t scratch = mot_larger(mot_cpu_scratch_bytes(dst.width, dst.height, channels),
                                          mot_cpu_kernel_blur_scratch(dst.width, channels, kernel));
        rest = mot_larger(rest, bytes + scratch);
        for (uint32_t way = 0; way < mot_request_ways(call); way++) {
            const mot_sizes most = mot_request_sides(call, i, way);
            rest = mot_larger(rest, rows->resize_scratch(most.crop_width, most.crop_height, most.resized_width,
                                                         most.resized_height, channels));
        }
        if (call->draws.places && call->draws.places[i].first.width > 0) {
            const motley_first_place *const made = &call->draws.places[i].first;
            first = mot_larger(first, mot_image_bytes(made->result_width, made->result_height, channels));
        }
        if (call->transform->facts.before > 0) {
            const mot_view src = mot_batch_view(call->src, i);
            const size_t bytes = mot_image_bytes(src.width, src.height, channels);
            source = mot_larger(source, bytes);
            rest = mot_larger(rest, bytes + mot_cpu_scratch_bytes(src.width, src.height, channels));
        }
        if (call->transform->facts.mixes)
            rest = mot_larger(rest, mixed_bytes(dst.width, dst.height, channels));
    }
    call->source_room = source;
    call->first_room = first;
    call->image_room = work;
    const size_t bytes = source + first + work + rest;
    call->worker_bytes = call->draws.places ? 0 : bytes; /* as drawn, and next time otherwise */
    return bytes;
}

size_t mot_image_memory(const mot_cpu_rows *rows, const mot_job *job)
{
    size_t most = 0;
    if (mot_batch_is_wide(job->src))
        return mot_wide_memory(job);
    if (job->request)
        return steps_bytes(job) + stages_memory(job->request, rows);
    const int channels = mot_part_most(job->src->channels);
    for (size_t i = 0; i < job->count; i++) {
        const mot_view v = mot_batch_view(job->src, i);
        const mot_view to = mot_batch_view(job->dst ? job->dst : job->src, i);
        const size_t images =
            (job->dst && channels == v.channels && has_fast_rows(&to) ? 1 : 2) + (job->mixes ? MIX_IMAGES - 1 : 0);
        most = mot_larger(most, images * mot_image_bytes(v.width, v.height, channels) +
                                    mot_cpu_scratch_bytes(v.width, v.height, channels));
        if (!job->src->images)
            break;
    }
    return steps_bytes(job) + most;
}
