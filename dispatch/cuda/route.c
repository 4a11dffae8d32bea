/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the route of a batch of bytes on the GPU: resident images when the batch is uniform and dense, tiles
 * otherwise. */
#include "dispatch/cuda/route.h"
#include "kernels/cuda/tile_program.h"
#include "kernels/cuda/tuning.h"
#include "kernels/output.h"
#include "policies/draw.h"

const char *const mot_route_names[MOT_ROUTES] = { "resident", "tiles", "wide" };

mot_chip mot_chip_of(int major, int multiprocessors, int threads_per_sm, int shared_per_sm, int shared_per_cta)
{
    const int shared = shared_per_cta - MOT_STATIC_BYTES;
    return (mot_chip){ .overlaps = major >= 9,
                       .shared_bytes = shared,
                       .shared_per_sm = shared_per_sm,
                       .multiprocessors = multiprocessors,
                       .threads_per_sm = threads_per_sm,
                       .draw_bytes = shared < MOT_DRAW_BYTES ? shared : MOT_DRAW_BYTES };
}

static mot_cuda_format packed_format(const mot_view *v)
{
    if (v->row < 0 || v->row > INT32_MAX / v->height) /* kernels use 32-bit offsets within an image */
        return MOT_FORMAT_STRIDED;
    if (v->channels == 1 && v->pixel == 1)
        return MOT_FORMAT_GREY;
    if (v->channels == 3 && v->pixel == 3 && v->channel == 1)
        return MOT_FORMAT_RGB;
    if (v->channels == 3 && v->pixel == 1)
        return MOT_FORMAT_PLANES;
    if (v->channels == 4 && v->pixel == 4 && v->channel == 1)
        return MOT_FORMAT_RGBA;
    return MOT_FORMAT_STRIDED;
}

mot_cuda_format mot_cuda_format_of(const motley_batch *batch)
{
    mot_cuda_format format = MOT_FORMAT_STRIDED;
    for (size_t i = 0; i < (batch->images ? batch->count : 1); i++) {
        mot_view v = mot_batch_view(batch, i);
        v.channels = mot_cuda_channels(batch);
        const mot_cuda_format own = packed_format(&v);
        if (i > 0 && own != format)
            return MOT_FORMAT_STRIDED;
        format = own;
    }
    return format;
}

mot_cuda_batch mot_cuda_batch_of(const motley_batch *batch, const motley_image *images)
{
    const mot_view v = mot_batch_view(batch, 0);
    mot_cuda_batch sent = { v.data, 0, v.row, v.pixel, v.channel, v.width, v.height, NULL, (int32_t)batch->count };
    if (batch->images)
        sent.images = images;
    else if (batch->count > 1)
        sent.image = mot_batch_view(batch, 1).data - v.data;
    return sent;
}

int mot_is_dense(const mot_view *v, mot_cuda_format format)
{
    const int64_t pixel = format == MOT_FORMAT_RGB ? 3 : 1;
    return (format == MOT_FORMAT_GREY || format == MOT_FORMAT_RGB || format == MOT_FORMAT_PLANES) &&
           v->row == v->width * pixel && v->width % 4 == 0 && v->width >= 8 &&
           (int64_t)v->width * v->height % 16 == 0 && (uintptr_t)v->data % 16 == 0 &&
           (format != MOT_FORMAT_PLANES || v->channel % 16 == 0);
}

/* Shared memory of an image, including what a tap may read past the end. */
static int64_t image_bytes(const mot_route_facts *f)
{
    const int64_t across = ((int64_t)f->width + 15) & ~15;
    return (across * f->height * f->channels + 4 * (across + f->height) + 16 + 31) & ~(int64_t)15;
}

/* Threads of a CTA that processes a whole image: the fewest that need no more turns than the maximum would. */
static int threads_for(int64_t pixels)
{
    const int64_t strips = (pixels + 255) / 256; /* pixels that a warp processes at a time */
    const int64_t most = pixels <= 1024 ? 4 : pixels <= 4096 ? 8 : pixels <= 16384 ? 16 : MOT_MOST_THREADS / 32;
    const int64_t turns = (strips + most - 1) / most;
    const int64_t warps = (strips + turns - 1) / turns;
    return 32 * warps > MOT_LEAST_THREADS ? 32 * (int)warps : MOT_LEAST_THREADS;
}

/* A warp's share, or a histogram's copies: 16 when that costs no other CTA and no room for the image, else 4. */
static int stage_bytes(const mot_chip *chip, int threads, int64_t image)
{
    const int one = MOT_HISTOGRAM_BYTES, warps = threads / 32 * MOT_STAGE_BYTES, least = warps > one ? warps : one;
    const int64_t four = image + MOT_STATIC_BYTES + 4 * one, sixteen = image + MOT_STATIC_BYTES + 16 * one;
    if (threads <= MOT_MOST_THREADS / 2)
        return least;
    const int room = sixteen <= chip->shared_bytes && chip->shared_per_sm / sixteen == chip->shared_per_sm / four;
    return (room ? 16 : 4) * one;
}

/* One CTA per image. False when shared memory cannot hold the image. */
static int resident_shape(const mot_chip *chip, const mot_route_facts *f, mot_resident_shape *shape)
{
    const int64_t pixels = (int64_t)f->width * f->height, image = image_bytes(f);
    shape->threads = threads_for(pixels);
    shape->stage_bytes = stage_bytes(chip, shape->threads, image);
    const int beside = shape->stage_bytes + (f->output ? f->channels * 1024 : 0);
    if (image > chip->shared_bytes - beside)
        return 0;
    shape->image_bytes = (int)image;
    shape->shared_bytes = shape->image_bytes + beside;
    return 1;
}

static mot_route_choice tiles(const char *reason)
{
    return (mot_route_choice){ .route = MOT_ROUTE_TILES, .reason = reason };
}

mot_route_choice mot_route_choose(const mot_chip *chip, const mot_route_facts *f)
{
    mot_route_choice choice = { .shape = { .blurs = f->blur_radius >= 0 } };
    if (f->always_tiles)
        return tiles("asked for");
    if (!chip->overlaps)
        return tiles("the chip has no bulk copies");
    if (!f->one_size)
        return tiles("images of several sizes");
    if (!f->dense)
        return tiles("images with gaps, at odd addresses, of odd widths, or with alpha");
    if (!f->dense_between)
        return tiles("a result of another layout, with gaps, or at odd addresses");
    if (f->blur_radius == MOT_BLUR_UNKNOWN)
        return tiles("several stages, or steps in parts, which may blur");
    if (f->blur_radius > MOT_LINES_RADIUS)
        return tiles("a wide blur");
    if (MOT_BLUR_PASSES * (f->blur_radius + 1) > (f->width < f->height ? f->width : f->height))
        return tiles("a blur that reaches across the image");
    if (f->sums)
        return tiles("a warp whose positions are sums");
    if (f->max_steps > MOT_WINDOW)
        return tiles("more steps than a program has");
    const int64_t pixels = (int64_t)f->width * f->height;
    if (f->interpolates && pixels >= MOT_TILES_INTERPOLATE)
        return tiles("interpolation");
    if (!resident_shape(chip, f, &choice.shape))
        return tiles("images that no CTA holds");
    if (pixels > 16384 && f->count < (size_t)chip->multiprocessors)
        return tiles("fewer images than multiprocessors");
    choice.route = MOT_ROUTE_RESIDENT;
    choice.reason = "one CTA holds an image";
    return choice;
}

motley_batch mot_tiles_work(const motley_batch *src, const motley_batch *output, mot_cuda_format format)
{
    const motley_batch slots = mot_output_slots(output);
    const int64_t size = (int64_t)mot_dtype_bytes(output->dtype), width = slots.width;
    const int64_t channels = slots.channels, pixels = width * slots.height;
    const int bands = mot_batch_bands(output) > 1;
    const int chw = slots.pixel_stride == size && slots.row_stride == width * size &&
                    (channels == 1 || slots.channel_stride == pixels * size);
    const int hwc = slots.pixel_stride == channels * size && slots.row_stride == width * slots.pixel_stride &&
                    (channels == 1 || slots.channel_stride == size);
    if (slots.images || src->images || size == 1 || format == MOT_FORMAT_STRIDED || !(chw || (hwc && !bands)))
        return slots;
    motley_batch work = slots;
    if (bands) { /* each keeps to its own part of the output */
        work.pixel_stride = 1;
        work.row_stride = width;
        return work;
    }
    const int planes = format == MOT_FORMAT_PLANES;
    work.pixel_stride = planes ? 1 : channels;
    work.row_stride = width * work.pixel_stride;
    work.channel_stride = planes ? pixels : 1;
    return work;
}

/* ---- the facts of a job ---- */

/* Whether no step of the call interpolates. */
static int is_nearest(const mot_job *job)
{
    for (uint32_t i = 0; job->policy && i < job->policy->tables.interpolations; i++)
        if (job->policy->tables.interpolation[i] != MOTLEY_NEAREST &&
            (job->policy->facts.shapes >> MOTLEY_SHAPE_WARP & 1))
            return 0;
    for (size_t i = 0; job->steps && i < job->count * job->max_steps; i++)
        if (job->steps[i].interpolation != MOTLEY_NEAREST)
            return 0;
    return 1;
}

/* Whether a step, if it is a warp, reads at 16.16 positions or interpolates. */
static int is_plain_warp(const mot_step *step, int width, int height)
{
    mot_program program;
    mot_warp warp;
    if (mot_shape_of(step->op) != MOTLEY_SHAPE_WARP || (step->arg.flags & MOT_ARG_IDENTITY))
        return 1;
    mot_warp_matrix(step->op, width, height, &step->arg, &warp);
    mot_program_warp_path(&program, 0, &warp, width, height, step->interpolation);
    return program.path[0] != MOT_WARP_SCALE && program.path[0] != MOT_WARP_DOUBLE;
}

/* is_plain_warp of every step that a policy can draw. */
static int has_plain_warps(const motley_policy *policy, int width, int height)
{
    const mot_tables *const t = &policy->tables;
    for (uint32_t b = 0; b < policy->branches; b++)
        for (uint32_t s = 0; s < t->branch[b].steps; s++) {
            const mot_table_step *const step = &t->step[t->branch[b].first_step + s];
            for (uint32_t level = 0; step->warps && level < step->levels; level++)
                for (int minus = 0; minus < 2; minus++) {
                    const mot_level_entry *const entry = &t->level[step->first_level + level];
                    mot_step drawn = { .arg = entry->arg[minus], .op = step->op, .interpolation = MOTLEY_NEAREST };
                    if (step->side != MOT_SIDE_NONE) {
                        drawn.arg.d[0] =
                            mot_relative(step, entry, minus, step->side == MOT_SIDE_WIDTH ? width : height);
                        drawn.arg.flags = drawn.arg.d[0] == 0 ? drawn.arg.flags : 0;
                    }
                    if (!is_plain_warp(&drawn, width, height))
                        return 0;
                }
        }
    return 1;
}

/* The wider one of `radius` and a step's blur, if the step is one. */
static int64_t widest(int64_t radius, int op, const mot_arg *arg)
{
    const int64_t own = mot_shape_of(op) == MOTLEY_SHAPE_BLUR ? (int64_t)mot_blur_radius(arg) : -1;
    return own > radius ? own : radius;
}

/* has_plain_warps, cached, because it takes as long as a whole call. */
static int knows_plain_warps(mot_level_cache *cache, const motley_policy *policy, int width, int height)
{
    const unsigned kept = sizeof cache->kept / sizeof cache->kept[0];
    for (unsigned i = 0; i < kept; i++) {
        const struct mot_level_facts *const k = &cache->kept[i];
        if (k->known && k->fingerprint == policy->fingerprint && k->width == width && k->height == height)
            return k->plain_warps;
    }
    struct mot_level_facts *const k = &cache->kept[cache->next++ % kept];
    *k = (struct mot_level_facts){ policy->fingerprint, width, height, 1, has_plain_warps(policy, width, height) };
    return k->plain_warps;
}

/* Whether all images satisfy mot_is_dense(). */
static int are_dense(const motley_batch *batch, mot_cuda_format format)
{
    const mot_view first = mot_batch_view(batch, 0);
    const int64_t step = batch->count > 1 ? mot_batch_view(batch, 1).data - first.data : 0;
    const int apart = mot_batch_bands(batch) == 1 || first.channel % 16 == 0;
    return !batch->images && mot_is_dense(&first, format) && step % 16 == 0 && apart;
}

mot_route_choice mot_route_of(const mot_chip *chip, const mot_job *job, mot_cuda_format format,
                              const motley_batch *work, int always_tiles, mot_level_cache *cache)
{
    const mot_view v = mot_batch_view(job->src, 0);
    mot_route_facts f = { .count = mot_cuda_images(job->src),
                          .width = v.width,
                          .height = v.height,
                          .channels = mot_cuda_channels(job->src),
                          .format = format,
                          .one_size = !job->src->images,
                          .output = job->output != NULL,
                          .max_steps = job->max_steps,
                          .always_tiles = always_tiles };
    f.dense = are_dense(job->src, format);
    f.dense_between = mot_cuda_format_of(work) == format && are_dense(work, format);
    if (f.one_size && f.dense && f.dense_between) { /* else the rest makes no difference */
        f.interpolates = !is_nearest(job);
        f.blur_radius = job->policy ? job->policy->blur_radius : job->drawn_steps ? MOT_BLUR_UNKNOWN : -1;
        f.sums = job->policy && !knows_plain_warps(cache, job->policy, v.width, v.height);
        for (size_t i = 0; job->steps && i < job->count * job->max_steps; i++) {
            f.blur_radius = widest(f.blur_radius, job->steps[i].op, &job->steps[i].arg);
            f.sums = f.sums || !is_plain_warp(&job->steps[i], v.width, v.height);
        }
    }
    return mot_route_choose(chip, &f);
}
