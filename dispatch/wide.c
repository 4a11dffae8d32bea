/* SPDX-License-Identifier: Apache-2.0 */
/* See wide.h. */
#include "dispatch/wide.h"
#include "augmentations/table.h"
#include "base/number.h"
#include "base/values.h"

#include <math.h>

/* ---- checks ---- */

motley_status mot_wide_check(const motley_batch *src, const mot_transform *transform, const double *fill,
                             motley_error *error)
{
    if (src->count == 0)
        return MOTLEY_OK;
    if (!mot_batch_is_wide(src)) {
        MOT_REQUIRE(!fill, error, "params has a fill, but the images are of uint8, whose fill is the policy's");
        return MOTLEY_OK;
    }
    const char *const type = motley_dtype_name(src->dtype);
    if (transform && transform->facts.twice)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "policy '%s' resizes images twice, which is not supported yet of %s: want images of uint8",
                        transform->name, type);
    for (uint32_t s = 0; transform && s < transform->stages; s++) {
        const mot_stage *const stage = &transform->stage[s];
        const double *const turn = stage->of.jitter.range[MOT_JITTERS - 1];
        if (stage->kind == MOT_STAGE_PHOTOMETRIC)
            return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                            "the stage 'photometric' is not supported yet of %s: want images of uint8", type);
        if (src->channels == 3 && stage->kind == MOT_STAGE_JITTER && (turn[0] != 0 || turn[1] != 0))
            return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                            "the hue is turned, which is not supported yet of 3 channels of %s: want a jitter without "
                            "hue, or images of uint8",
                            type);
    }
    for (int32_t c = 0; fill && c < src->channels; c++)
        MOT_REQUIRE(src->dtype != MOTLEY_U16 || (fill[c] >= 0 && fill[c] <= 65535 && fill[c] == floor(fill[c])), error,
                    "fill of channel %d is %s, want a whole number, 0 to 65535, of uint16", c, MOT_NUMBER(fill[c]));
    return MOTLEY_OK;
}

motley_status mot_wide_check_steps(const motley_batch *src, const mot_draw_facts *steps, size_t clip_frames,
                                   motley_error *error)
{
    const char *const what = clip_frames > 1  ? "clip_frames is set"
                             : steps->mixes   ? "the policy mixes chains of ops"
                             : steps->inside  ? "ops work in parts of images"
                             : steps->customs ? "the policy has custom ops"
                                              : NULL;
    if (mot_batch_is_wide(src) && what)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "%s, which is not supported yet of %s: want images of uint8",
                        what, motley_dtype_name(src->dtype));
    return MOTLEY_OK;
}

motley_status mot_wide_begin(motley_context *context, const mot_job *job, mot_wide_job *made, motley_error *error)
{
    const motley_batch *const src = job->src;
    const size_t channels = (size_t)src->channels;
    MOT_TRY(mot_keep(&context->bands, channels * (sizeof *made->range + 3 * sizeof(float)), channels, error));
    made->range = context->bands.memory;
    float *const fill = (float *)(void *)(made->range + channels), *const mean = fill + channels,
                 *const std = mean + channels;
    const mot_stage *const stage = job->request ? mot_transform_stage(job->request->transform, MOT_STAGE_OUTPUT) : NULL;
    int normalises = 0;
    for (size_t c = 0; c < channels; c++) {
        const double *const range = src->range ? src->range[src->ranges > 1 ? c : 0] : NULL;
        made->range[c] = mot_range_of(range ? range[0] : 0,
                                      range                      ? range[1]
                                      : src->dtype == MOTLEY_U16 ? 65535
                                                                 : 1,
                                      src->dtype == MOTLEY_U16, src->unclamped);
        fill[c] = job->fill ? (float)job->fill[c] : 0;
        mean[c] = 0;
        std[c] = 1;
        if (job->as.means) {
            mean[c] = job->as.means[c];
            std[c] = job->as.stds[c];
        } else if (stage) {
            const int at = stage->of.output.values > 1 ? (int)c : 0;
            mean[c] = (float)(made->range[c].low + stage->of.output.mean[at] * made->range[c].span);
            std[c] = (float)(stage->of.output.std[at] * made->range[c].span);
        } else if (job->output) {
            mean[c] = mot_output_mean(&job->as, (int)c);
            std[c] = mot_output_std(&job->as, (int)c);
        }
        std[c] = std[c] == 0 ? 1 : std[c];
        normalises |= mean[c] != 0 || std[c] != 1;
    }
    made->fill = job->fill ? fill : NULL;
    made->mean = normalises ? mean : NULL;
    made->std = std;
    return MOTLEY_OK;
}

/* ---- images ---- */

/* Some bands of an image. */
static mot_view bands_of(mot_view view, int first, int count)
{
    view.data += first * view.channel;
    view.channels = count;
    return view;
}

/* Dense planes in `memory`. */
static mot_view planes(int dtype, int32_t width, int32_t height, int channels, uint8_t *memory)
{
    const int64_t element = (int64_t)mot_dtype_bytes(dtype);
    return (mot_view){ memory, width, height, channels, 0, element * width, element, element * width * height };
}

static size_t planes_bytes(int32_t width, int32_t height, int channels)
{
    return mot_image_bytes(width, height, channels) * sizeof(float);
}

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

static mot_view part_of(mot_view view, int32_t left, int32_t top, int32_t width, int32_t height)
{
    view.data += left * view.pixel + top * view.row;
    view.width = width;
    view.height = height;
    return view;
}

/* How many bands are worked on together: warps that interpolate find their places once for all of these. */
static int together(int channels)
{
    return channels < 3 ? channels : 3;
}

/* A window of an image that may reach beyond it: a part of it, or a copy with the fill in `memory`, of which *end is
 * the end. */
static mot_view window_of(const mot_job *job, mot_wide *wide, const mot_view *from, int32_t left, int32_t top,
                          int32_t width, int32_t height, uint8_t *memory, uint8_t **end)
{
    *end = memory;
    if (left >= 0 && top >= 0 && left + width <= from->width && top + height <= from->height)
        return part_of(*from, left, top, width, height);
    const mot_view to = planes(wide->src_dtype, width, height, from->channels, memory);
    mot_step step = { 0 };
    mot_request_fill(job->request, step.fill);
    mot_wide_window(wide, &step, from, left, top, &to);
    *end = memory + planes_bytes(width, height, from->channels);
    return to;
}

/* Crop, resize, window and flips: what the steps then read, and its type. *memory: its end. */
static mot_view place_bands(const mot_cpu_rows *rows, const mot_job *job, const motley_place *at, mot_wide *wide,
                            uint8_t **memory)
{
    const motley_crop *const crop = &at->crop;
    mot_view from = window_of(job, wide, &wide->src, crop->left, crop->top, crop->width, crop->height, *memory, memory);
    if (from.width != at->width || from.height != at->height) {
        const mot_resize how = mot_resize_of(at->filter, job->request->transform->facts.order, from.width, from.height,
                                             at->width, at->height);
        const mot_view all = planes(MOTLEY_F32, at->width, at->height, from.channels, *memory);
        *memory += planes_bytes(at->width, at->height, from.channels);
        rows->wide_resize(&from, (motley_dtype)wide->src_dtype, &all, &how, *memory);
        wide->src_dtype = MOTLEY_F32;
        from = all;
    }
    from = window_of(job, wide, &from, at->left, at->top, wide->dst.width, wide->dst.height, *memory, memory);
    return mirrored(from, at->flip_horizontal, at->flip_vertical);
}

float mot_wide_cost(const mot_view *src, const mot_step *steps, int count)
{
    float cost = 1000;
    for (int s = 0; s < count; s++)
        cost += steps[s].op < 0 ? 10000 : (float)mot_op_table[steps[s].op].facts.cost;
    return cost * 1e-3f * (float)src->width * (float)src->height;
}

void mot_wide_image(const mot_cpu_rows *rows, const mot_job *job, size_t i, const motley_place *place,
                    const mot_step *steps, int count, uint8_t *memory)
{
    const mot_wide_job *const known = job->wide;
    const mot_view src = mot_batch_view(job->src, i);
    const motley_batch *const results[] = { job->dst, job->output };
    for (int c = 0, group; c < src.channels; c += group) {
        group = together(src.channels - c);
        mot_wide wide = { .src = bands_of(src, c, group),
                          .src_dtype = (int32_t)job->src->dtype,
                          .colors = src.channels == 3,
                          .range = known->range + c,
                          .fill = known->fill ? known->fill + c : NULL,
                          .first = c,
                          .steps = steps,
                          .count = count };
        for (int r = 0; r < 2; r++) {
            if (!results[r])
                continue;
            const int normalises = known->mean && (r == 1 || job->request);
            uint8_t *scratch = memory;
            wide.dst = bands_of(mot_batch_view(results[r], i), c, group);
            wide.dst_dtype = (int32_t)results[r]->dtype;
            wide.mean = normalises ? known->mean + c : NULL;
            wide.std = normalises ? known->std + c : NULL;
            if (place)
                wide.src = place_bands(rows, job, place, &wide, &scratch);
            rows->wide(&wide, scratch);
            wide.src = wide.dst; /* what an output is made of */
            wide.count = 0;
        }
    }
}

size_t mot_wide_memory(const mot_job *job)
{
    size_t most = 0;
    for (size_t i = 0; i < job->count; i++) {
        const mot_view src = mot_batch_view(job->src, i);
        const mot_view dst = mot_batch_view(job->dst ? job->dst : job->output, i);
        const int group = together(src.channels);
        const size_t bytes = mot_cpu_wide_scratch(dst.width, dst.height, group);
        most = mot_larger(most, bytes);
        for (uint32_t way = 0; job->request && way < mot_request_ways(job->request); way++) {
            const mot_sizes sides = mot_request_sides(job->request, i, way);
            const size_t width = mot_larger((size_t)sides.crop_width, (size_t)sides.resized_width);
            const size_t height = mot_larger((size_t)sides.crop_height, (size_t)sides.resized_height);
            const size_t scratch = mot_larger(bytes, mot_cpu_wide_scratch((int32_t)width, (int32_t)height, 1));
            most = mot_larger(most, scratch + planes_bytes(sides.crop_width, sides.crop_height, group) +
                                        planes_bytes(sides.resized_width, sides.resized_height, group) +
                                        planes_bytes(dst.width, dst.height, group));
        }
        const int drawn = job->request && job->request->draws.places; /* each image has a place of its own */
        if (!job->src->images && !(job->dst && job->dst->images) && !drawn)
            break;
    }
    return most;
}

/* ---- resize ---- */

void mot_wide_resize(const mot_cpu_rows *rows, const mot_view *src, const mot_view *dst, motley_dtype dtype,
                     const mot_resize *how, uint8_t *memory)
{
    uint8_t *const scratch = memory + planes_bytes(dst->width, dst->height, 1);
    const mot_view picture = part_of(*src, how->left, how->top, how->width, how->height);
    for (int c = 0; c < src->channels; c++) {
        const mot_view from = bands_of(picture, c, 1), between = planes(MOTLEY_F32, dst->width, dst->height, 1, memory);
        rows->wide_resize(&from, dtype, &between, how, scratch);
        const mot_wide copy = { .src = mirrored(between, how->flip_horizontal, how->flip_vertical),
                                .dst = bands_of(*dst, c, 1),
                                .src_dtype = MOTLEY_F32,
                                .dst_dtype = (int32_t)dtype };
        rows->wide(&copy, scratch);
    }
}

size_t mot_wide_resize_memory(const mot_view *src, const mot_view *dst)
{
    return planes_bytes(dst->width, dst->height, 1) +
           mot_cpu_wide_scratch((int32_t)mot_larger((size_t)src->width, (size_t)dst->width),
                                (int32_t)mot_larger((size_t)src->height, (size_t)dst->height), 1);
}
