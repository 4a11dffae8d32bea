/* SPDX-License-Identifier: Apache-2.0 */
/* motley_apply on the GPU. It queues, in this order: the draws and the tables of the axes; the resize of
 * every image, to bytes; the steps, the last of which writes the normalised output; the erased boxes. A transform
 * without steps is resized directly into its output. */
#include "base/values.h"
#include "dispatch/cuda/apply.h"
#include "dispatch/cuda/parts.h"
#include "dispatch/cuda/parts_draw.h"
#include "dispatch/cuda/stages.h"
#include "dispatch/cuda/transform_draw.h"
#include "dispatch/cuda/wide.h"
#include "dispatch/follow.h"
#include "dispatch/request.h"
#include "kernels/cuda/tuning.h"
#include "kernels/output.h"
#include "policies/transform_draw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- checks ---- */

static motley_status check_clips(const mot_request *call, motley_error *error)
{
    const size_t frames = call->params->clip_frames;
    for (size_t i = 0; frames > 1 && i < call->dst->count; i += frames) {
        const mot_view v = mot_batch_view(call->dst, i);
        MOT_REQUIRE(frames <= (size_t)(MOT_MAX_SIDE / v.height), error,
                    "a clip has %zu frames of %" PRId32 "x%" PRId32 ", want at most %d rows in all on CUDA", frames,
                    v.width, v.height, MOT_MAX_SIDE);
    }
    return MOTLEY_OK;
}

/* ---- parts ---- */

/* The parts and breaks that the call's steps may have. */
static mot_cuda_parts parts_of(const mot_request *call)
{
    mot_cuda_parts parts = { .clip_frames = (int32_t)call->params->clip_frames };
    if (mot_batch_is_wide(call->src))
        return (mot_cuda_parts){ 0 };
    const mot_host_draws *const draws = &call->draws;
    for (size_t i = 0; i < draws->count; i++)
        mot_cuda_parts_add_image(&parts, draws->steps + i * draws->most, (size_t)draws->counts[i]);
    for (uint32_t s = 0; s < call->transform->stages && !call->draws.steps; s++)
        mot_cuda_parts_add(&parts, &call->transform->fact[s].steps);
    return parts;
}

/* ---- memory ---- */

/* What is assembled on the host and uploaded as one piece; NULL: the call does not have it. */
typedef struct upload {
    int64_t *offsets, *first_offsets;
    motley_image *src, *dst, *images, *sources, *between;
    uint64_t *ids;
    uint32_t *views;
    motley_place *given, *first;
    mot_step *given_steps, *given_before;
} upload;

/* A call under way. */
typedef struct transform_run {
    mot_cuda_call *cuda;
    const mot_request *call;
    const mot_job *asked;
    int is_wide;
    mot_cuda_wide wide; /* of images of U16 and F32; others: */
    mot_cuda_parts parts;
    const mot_stage *only; /* whose policy draws all steps; NULL: several stages do */
    int draws_late;        /* the steps are drawn by the kernel that sorts them, which the resize need not wait for */
    mot_stage_tables tables;
    upload host, sent;
    void *first_sent;            /* of the upload */
    mot_transform_draw_job draw; /* and, in it, the resize */
    motley_batch pixels;         /* what is resized if it is no result yet: `apart` */
    int apart, has_steps;
    size_t before_room, steps_room; /* the most steps of an image that change its source, and others */
    mot_job job;                    /* the steps */
    mot_cuda_steps steps;
    motley_batch sources; /* what is resized, if steps change that first */
    mot_job before;       /* these steps */
    mot_cuda_steps steps_before;
    int twice;                    /* some images are resized twice: all of them are first made `between` */
    motley_batch between;         /* those that are not are copied there */
    mot_transform_draw_job first; /* makes the tables by which they are */
    mot_axes_room first_axes;
    size_t upload_bytes; /* the first of the host's memory */
    mot_axes_room axes;  /* of one image if there are no offsets, else of all */
} transform_run;

/* Adds the tables of image i, of what comes first or of its last resize. */
static void add_axes(const mot_request *call, size_t i, int first, mot_axes_room *r)
{
    const mot_view src = mot_batch_view(call->src, i), dst = mot_batch_view(call->dst, i);
    const int drawn = call->draws.places != NULL;
    unsigned possible = call->transform->facts.filters;
    mot_sizes most = { .width = dst.width, .height = dst.height };
    if (drawn) {
        const motley_place *const own = &call->draws.places[i];
        const motley_place place = first ? mot_first_place(own, src.width, src.height) : *own;
        most = mot_sizes_of_place(&place);
        possible = call->params->given ? 1u << place.filter : possible;
    }
    const int32_t width = most.width, height = most.height;
    int columns = 1, rows = 1;
    for (uint32_t way = 0; way < (drawn ? 1 : mot_request_ways(call)); way++) {
        if (!drawn)
            most = mot_request_sides(call, i, way);
        for (unsigned filter = 0; filter < MOT_FILTERS; filter++) {
            if (!(possible >> filter & 1))
                continue;
            const int across = mot_resize_most_groups((motley_filter)filter, most.crop_width, most.resized_width);
            const int down = mot_resize_most_groups((motley_filter)filter, most.crop_height, most.resized_height);
            columns = across > columns ? across : columns;
            rows = down > rows ? down : rows;
        }
    }
    mot_axes_add(r, width, columns, height, rows);
}

/* Bytes of a dense image of the size of image i. */
static size_t image_bytes(const motley_batch *batch, size_t i)
{
    const mot_view v = mot_batch_view(batch, i);
    return (size_t)v.width * (size_t)v.height * (size_t)v.channels;
}

/* Finds how many steps images can have, or have as the host knows, and whether some are resized twice. */
static void find_rooms(transform_run *r)
{
    const mot_request *const call = r->call;
    const mot_transform_facts *const facts = &call->transform->facts;
    const mot_host_draws *const known = &call->draws;
    r->before_room = known->steps ? 0 : (size_t)facts->before;
    r->steps_room = known->steps ? known->most : call->info->max_steps - r->before_room;
    r->has_steps = r->steps_room > 0 && call->info->max_steps > 0 && !(known->steps && facts->before > 0);
    for (size_t i = 0; i < known->count; i++) {
        const motley_place *const place = &known->places[i];
        r->before_room = mot_larger(r->before_room, facts->before > 0 ? place->before : 0);
        r->has_steps |= facts->before > 0 && known->counts[i] > place->before;
        r->twice |= facts->twice && place->first.width > 0;
    }
}

/* Copies the steps that the host knows: those that change the sources, up to `first` of an image, and the others. */
static void copy_steps(const mot_request *call, size_t first, mot_step *before, mot_step *steps)
{
    const size_t most = call->draws.most;
    const mot_step nothing = { .arg.flags = MOT_ARG_IDENTITY };
    for (size_t i = 0; i < call->draws.count; i++) {
        const mot_step *const own = call->draws.steps + i * most;
        const size_t count = first > 0 ? call->draws.places[i].before : 0;
        for (size_t s = 0; s < first; s++)
            before[i * first + s] = s < count ? own[s] : nothing;
        for (size_t s = 0; s < most; s++)
            steps[i * most + s] = s + count < most ? own[s + count] : nothing;
    }
}

/* Frames of a clip, which are contiguous, or 1. */
static size_t images_together(const mot_request *call)
{
    return call->params->clip_frames > 1 ? call->params->clip_frames : 1;
}

static upload lay_out_upload(const transform_run *r, mot_arena *arena)
{
    const mot_request *const call = r->call;
    const motley_apply_params *const params = call->params;
    const size_t n = call->src->count;
    const int mixed = call->src->images || call->dst->images || call->draws.places; /* tables differ in size */
    upload u = { .offsets = mot_take_if(mixed, arena, MOT_SENT, n * sizeof *u.offsets) };
    u.src = mot_take_copy(arena, MOT_SENT, call->src->images, n * sizeof *u.src);
    u.dst = mot_take_copy(arena, MOT_SENT, call->dst->images, n * sizeof *u.dst);
    u.images = mot_take_if(r->apart && call->dst->images, arena, MOT_SENT, n * sizeof *u.images);
    u.sources = mot_take_if(r->before_room > 0 && call->src->images, arena, MOT_SENT, n * sizeof *u.sources);
    u.ids = mot_take_copy(arena, MOT_SENT, call->draws.steps ? NULL : params->samples.ids, n * sizeof *u.ids);
    u.views = mot_take_copy(arena, MOT_SENT, call->draws.steps ? NULL : params->samples.views, n * sizeof *u.views);
    u.first_offsets = mot_take_if(r->twice, arena, MOT_SENT, n * sizeof *u.first_offsets);
    u.between = mot_take_if(r->twice, arena, MOT_SENT, n * sizeof *u.between);
    u.first = mot_take_if(r->twice, arena, MOT_PLACES, n * sizeof *u.first);
    u.given = mot_take_if(call->draws.places != NULL, arena, MOT_PLACES, n * sizeof *u.given);
    if (u.given && arena->base && arena->host)
        mot_draws_split_places(call->draws.places, call->src, u.first, u.given);
    const int given = call->draws.steps != NULL;
    u.given_steps = mot_take_if(given, arena, MOT_STEPS, n * r->steps_room * sizeof *u.given_steps);
    u.given_before =
        mot_take_if(given && r->before_room > 0, arena, MOT_STEPS, n * r->before_room * sizeof *u.given_before);
    if (given && arena->base && arena->host)
        copy_steps(call, r->before_room, u.given_before, u.given_steps);
    return u;
}

/* Finds the sizes of the axes' tables, and where each image's begin if the upload has that. */
static void count_axes(const mot_request *call, int64_t *offset, int first, mot_axes_room *room)
{
    for (size_t i = 0; i < (offset ? call->src->count : 1); i++) {
        if (offset)
            offset[i] = room->bytes;
        add_axes(call, i, first, room);
    }
}

/* Lays out dense bytes of images, each of the size that it has in `sized`, and describes them: planes where the sources
 * are planes, which the resize turns into packed pixels more slowly. `together` images in a row, frames of a clip, are
 * packed and have no gaps between them: they are one tall image, from which statistics are taken. Of bands, the first
 * ones of all images, or of a clip's, lie together, then the second ones. list: [count] to be uploaded, or NULL: they
 * have one size. */
static motley_batch lay_out_pixels(const mot_request *call, const motley_batch *sized, size_t together,
                                   motley_image *list, mot_arena *scratch)
{
    const size_t n = call->src->count;
    const int64_t bands = mot_batch_bands(call->src);
    const mot_view one = mot_batch_view(sized, 0);
    const int planes = together == 1 && mot_cuda_format_of(call->src) == MOT_FORMAT_PLANES &&
                       (int64_t)one.width * one.height % 16 == 0;
    if (!list) {
        void *const memory = mot_take(scratch, MOT_IMAGES, n * image_bytes(sized, 0));
        motley_batch pixels = mot_batch_dense(call->src, n, one.width, one.height, memory);
        pixels.layout = planes ? MOTLEY_CHW : MOTLEY_HWC;
        if (bands > 1) {
            pixels.image_stride = (int64_t)one.width * one.height;
            pixels.row_stride = one.width;
            pixels.pixel_stride = 1;
            pixels.channel_stride = (int64_t)n * pixels.image_stride;
        }
        return pixels;
    }
    uint8_t *clip = NULL;
    for (size_t i = 0; i < n; i++) {
        const mot_view v = mot_batch_view(sized, i);
        clip = i % together == 0 ? mot_take(scratch, MOT_IMAGES, together * image_bytes(sized, i)) : clip;
        const int64_t channels = v.channels / bands, bytes = channels * v.width * v.height;
        list[i] =
            (motley_image){ clip + (int64_t)(i % together) * bytes,   v.width, v.height, v.width * channels, channels,
                            bands > 1 ? (int64_t)together * bytes : 1 };
    }
    return mot_batch_of_images(call->src, n, list);
}

/* The images between two resizes, of the sizes that their places say. */
static motley_batch lay_out_between(const transform_run *r, mot_arena *scratch)
{
    motley_image *const list = r->host.between;
    for (size_t i = 0; i < r->call->src->count; i++)
        list[i] = (motley_image){ .width = r->host.first[i].result_width, .height = r->host.first[i].result_height };
    const motley_batch sized = mot_batch_of_images(r->call->src, r->call->src->count, list);
    return lay_out_pixels(r->call, &sized, 1, list, scratch);
}

/* The job of the steps, from the resized pixels. */
static void describe_steps(transform_run *r)
{
    const mot_request *const call = r->call;
    const int normalises = call->dst->dtype != MOTLEY_U8;
    r->job = mot_job_of(r->apart ? &r->pixels : call->dst, normalises ? NULL : call->dst);
    r->job.output = normalises ? call->dst : NULL;
    r->job.as = r->asked->as;
    r->job.policy = r->only ? r->only->policy : NULL;
    r->job.drawn_steps = r->draw.steps;
    r->job.facts = call->draws.steps ? NULL : &call->transform->facts.steps;
    r->job.max_steps = r->steps_room;
    r->job.stream = r->cuda->stream;
}

/* The job of the steps that change the sources before they are resized. */
static void describe_before(transform_run *r)
{
    const mot_request *const call = r->call;
    r->before = mot_job_of(call->src, &r->sources);
    r->before.drawn_steps = r->draw.before;
    r->before.max_steps = r->before_room;
    r->before.stream = r->cuda->stream;
}

/* Runs steps with breaks; cuda NULL: only counts their memory. */
static motley_status queue_parts(const transform_run *r, mot_cuda_call *cuda, mot_arena *slot, mot_arena *scratch,
                                 motley_error *error)
{
    uint8_t *const host = r->cuda->s->pool.host.memory;
    return mot_cuda_run_parts(r->cuda->s, cuda, &r->job, &r->parts, r->job.src, r->call->draws.steps != NULL, slot,
                              scratch, host ? host + r->upload_bytes : NULL, error);
}

/* Lays out all memory of the call. With bases of NULL, it counts, and chooses how the steps run. */
static motley_status lay_out_transform(transform_run *r, mot_arena *slot, mot_arena *scratch, motley_error *error)
{
    const mot_request *const call = r->call;
    mot_cuda_state *const s = r->cuda->s;
    const size_t n = call->src->count;
    const int counts = !slot->base;
    mot_transform_draw_job *const draw = &r->draw;
    r->first_sent = counts ? NULL : slot->base + slot->bytes;
    r->sent = lay_out_upload(r, slot);
    draw->resize.count = (int32_t)n;
    if (!r->is_wide)
        mot_cuda_lay_out_axes(&draw->resize, (size_t)r->axes.bytes * (r->host.offsets ? 1 : n), slot);
    if (r->twice) {
        r->first.resize.count = (int32_t)n;
        mot_cuda_lay_out_axes(&r->first.resize, (size_t)r->first_axes.bytes, slot);
        r->between = lay_out_between(r, scratch);
    }
    draw->drawn = call->draws.steps ? r->sent.given : mot_take(slot, MOT_PLACES, n * sizeof *draw->drawn);
    draw->steps = call->draws.steps
                      ? r->sent.given_steps
                      : mot_take_if(!r->draws_late, slot, MOT_STEPS, n * r->steps_room * sizeof *draw->steps);
    if (r->is_wide) {
        mot_cuda_wide_lay_out(&r->wide, slot, scratch);
        return MOTLEY_OK;
    }
    draw->before = call->draws.steps
                       ? r->sent.given_before
                       : mot_take_if(r->before_room > 0, slot, MOT_STEPS, n * r->before_room * sizeof *draw->before);
    if (draw->before) {
        r->sources = lay_out_pixels(call, call->src, 1, r->host.sources, scratch);
        describe_before(r);
        if (counts)
            r->steps_before = mot_cuda_choose(s, &r->before);
        mot_cuda_lay_out(&r->steps_before, &r->before, 1, r->cuda->slot, slot, scratch);
    }
    if (r->apart)
        r->pixels = lay_out_pixels(call, call->dst, images_together(call), r->host.images, scratch);
    if (!r->has_steps)
        return MOTLEY_OK;
    describe_steps(r);
    if (mot_cuda_has_parts(&r->parts))
        return counts ? queue_parts(r, NULL, slot, scratch, error) : MOTLEY_OK;
    if (counts)
        r->steps = mot_cuda_choose(s, &r->job);
    mot_cuda_lay_out(&r->steps, &r->job, 1, r->cuda->slot, slot, scratch);
    return MOTLEY_OK;
}

/* ---- the kernels ---- */

/* The samples of the kernels that draw policies. */
static mot_cuda_draw samples_of(const mot_transform_draw_job *job)
{
    return (mot_cuda_draw){ .count = job->resize.count, .channels = job->resize.channels, .samples = job->samples };
}

static motley_status queue_steps(transform_run *r, motley_error *error)
{
    if (mot_cuda_has_parts(&r->parts))
        return queue_parts(r, r->cuda, &r->cuda->memory, &r->cuda->scratch, error);
    mot_cuda_draw draw = samples_of(&r->draw);
    draw.draws = !r->draw.steps;
    if (draw.draws) {
        draw.tables = mot_cuda_tables_at(r->only->policy, r->tables.compiled[r->only - r->call->transform->stage]);
        draw.tables_bytes = (int64_t)r->only->policy->compiled_bytes;
    }
    return mot_cuda_queue_steps(r->cuda, &r->job, &r->steps, &draw, error);
}

/* Queues the kernel that draws, and makes the tables of a resize. */
static motley_status queue_draws(const transform_run *r, const mot_transform_draw_job *draw, motley_error *error)
{
    const int known = r->call->draws.steps != NULL;
    const unsigned callers = mot_cuda_reads_callers(&draw->samples) ? MOT_COUNTER | MOT_NUMBERS : 0;
    const mot_node drawing = { .reads = MOT_SENT | MOT_TABLES | MOT_PLACES | callers | (known ? MOT_STEPS : 0),
                               .writes = MOT_PLACES | (draw->steps && !known ? MOT_STEPS : 0),
                               .waits = MOT_WAITS_FIRST };
    MOT_TRY(mot_call_next(r->cuda, &drawing, error));
    return mot_cuda_try(mot_transform_draw_launch(draw, r->cuda->overlap, r->cuda->lane), "launching the draw kernel",
                        error);
}

/* Places the images, and does their steps. */
static motley_status queue_wide(transform_run *r, motley_error *error)
{
    const mot_transform_draw_job *const draw = &r->draw;
    mot_wide_call *const to = &r->wide.call;
    MOT_TRY(queue_draws(r, draw, error));
    MOT_TRY(mot_cuda_wide_send(r->cuda, &r->wide, error));
    to->steps = draw->steps;
    to->max_steps = draw->max_steps;
    to->given = draw->given;
    to->places = draw->drawn;
    to->order = draw->order;
    memcpy(to->place_fill, draw->fill, sizeof to->place_fill);
    return mot_cuda_wide_queue(r->cuda, &r->wide, 1, error);
}

/* Changes the sources, and resizes what they become. */
static motley_status queue_before(transform_run *r, const mot_resize_job *resize, motley_error *error)
{
    const mot_cuda_draw draw = samples_of(&r->draw);
    MOT_TRY(mot_cuda_queue_steps(r->cuda, &r->before, &r->steps_before, &draw, error));
    return mot_cuda_queue_resize(r->cuda, resize, error);
}

/* Resizes the images, changed first if they are; twice, if some are. The tables of both resizes are made in turn, since
 * the draw kernel counts for the resize behind it. */
static motley_status queue_resizes(transform_run *r, motley_error *error)
{
    const mot_transform_draw_job *const first = r->twice ? &r->first : &r->draw;
    MOT_TRY(queue_draws(r, first, error));
    if (r->draw.before)
        MOT_TRY(queue_before(r, &first->resize, error));
    else
        MOT_TRY(mot_call_late(r->cuda, mot_cuda_queue_resize, &first->resize, error));
    if (!r->twice)
        return MOTLEY_OK;
    MOT_TRY(mot_call_join(r->cuda, error)); /* the first resize is queued now */
    MOT_TRY(queue_draws(r, &r->draw, error));
    return mot_cuda_queue_resize(r->cuda, &r->draw.resize, error);
}

/* Draws the chains of a policy that mixes, which the kernel of all draws does not. It is the first stage with steps. */
static motley_status draw_chains(const transform_run *r, motley_error *error)
{
    const mot_transform_draw_job *const job = &r->draw;
    const mot_stage *const stage = r->call->transform->facts.mixes;
    mot_cuda_draw draw = samples_of(job);
    draw.max_steps = job->max_steps;
    draw.src = job->resize.dst;
    draw.plan.steps = job->steps;
    return mot_cuda_queue_chains(r->cuda, &draw, job->table + (stage - r->call->transform->stage), stage->steps, error);
}

/* Resizes the images, and does their steps. */
static motley_status queue_pixels(transform_run *r, motley_error *error)
{
    MOT_TRY(queue_resizes(r, error));
    if (r->call->transform->facts.mixes && !r->call->draws.steps)
        MOT_TRY(draw_chains(r, error));
    return r->has_steps ? queue_steps(r, error) : MOTLEY_OK;
}

static motley_status erase_boxes(const transform_run *r, motley_error *error)
{
    const mot_transform_draw_job *const draw = &r->draw;
    const mot_request *const call = r->call;
    const motley_batch *const dst = call->dst;
    mot_erase_job erase = { .dst = mot_cuda_batch_of(dst, r->sent.dst),
                            .count = (int32_t)dst->count,
                            .channels = dst->channels,
                            .dtype = (int32_t)dst->dtype,
                            .values = call->erase->of.erase.fills,
                            .normals = r->tables.normals[call->erase - call->transform->stage],
                            .drawn = draw->drawn };
    memcpy(erase.bits, call->erased, sizeof erase.bits);
    const mot_node node = { .reads = MOT_SENT | MOT_PLACES | MOT_TABLES, .writes = MOT_IMAGES };
    MOT_TRY(mot_call_next(r->cuda, &node, error));
    return mot_cuda_try(mot_erase_launch(&erase, r->cuda->lane), "launching the erasing kernel", error);
}

static motley_status queue_followed(const transform_run *r, motley_error *error)
{
    const mot_transform_draw_job *const draw = &r->draw;
    mot_follow_job job = { .count = draw->resize.count,
                           .max_steps = draw->max_steps,
                           .steps = draw->steps,
                           .places = draw->drawn,
                           .first = r->twice ? r->first.drawn : NULL,
                           .src = r->twice ? r->first.resize.src : draw->resize.src,
                           .followed = r->call->followed };
    return mot_cuda_follow_queue(r->cuda, &job, MOT_FOLLOW_WAITS_FIRST, error);
}

/* Shares a transform's stages out among the warps of the draw kernel, but for places that depend on each other: all
 * warps draw those in turn. The first warp has all rectangles, since the whole image is one if there is no other. */
static void share_stages(const mot_stage *stage, const mot_stage_facts *fact, mot_transform_draw_job *job)
{
    static const int warp_of[] = {
        [MOT_DRAWN_CROP] = 0, [MOT_DRAWN_WINDOW] = 0, [MOT_DRAWN_MIRRORS] = 1, [MOT_DRAWN_BOXES] = 2
    };
    const int places = 3, warps = job->threads / 32;
    int turns = 0;
    int32_t before = 0;
    for (int s = 0; s < job->stages; s++)
        before += fact[s].before ? fact[s].steps.steps : 0;
    for (int s = 0; s < job->stages; s++) {
        const mot_stage_drawn drawn = fact[s].drawn;
        const int32_t first = fact[s].first_step - (fact[s].before ? 0 : before);
        const int placing = drawn >= MOT_DRAWN_CROP && drawn <= MOT_DRAWN_MIRRORS;
        job->turn[s] = (mot_stage_turn){ fact[s].block, first, fact[s].before, placing };
        if (job->joined && placing)
            continue;
        if (drawn == MOT_DRAWN_MIRRORS && job->ratios && !stage[s].listed.one_of)
            job->flip = s;
        else if ((drawn == MOT_DRAWN_CROP && !job->ratios) || drawn == MOT_DRAWN_WINDOW || drawn == MOT_DRAWN_MIRRORS ||
                 drawn == MOT_DRAWN_BOXES)
            job->own[warp_of[drawn]] |= (uint16_t)(1u << s);
        else if (drawn == MOT_DRAWN_STEPS && fact[s].steps.steps > 0 && (job->max_steps > 0 || fact[s].before))
            job->own[places + turns++ % (warps - places)] |= (uint16_t)(1u << s);
    }
}

/* What a resize reads and writes. lists: of images of src and dst on the device, or NULL; offsets: of their tables. */
static void describe_resize(const transform_run *r, const motley_batch *src, const motley_image *src_list,
                            const motley_batch *dst, const motley_image *dst_list, const int64_t *offsets,
                            const mot_axes_room *axes, mot_resize_job *resize)
{
    resize->src = mot_cuda_batch_of(src, src_list);
    resize->dst = mot_cuda_batch_of(dst, dst_list);
    resize->channels = src->channels;
    resize->format = (int32_t)mot_cuda_format_of(src);
    resize->planes = mot_cuda_resizes_planes(src);
    resize->counted = r->cuda->slot->resize;
    resize->table_offset = offsets;
    resize->table_bytes = axes->bytes;
}

/* What the draw kernel does, and the resize kernel after it, beside the memory that they write. */
static motley_status describe_draws(transform_run *r, motley_error *error)
{
    const mot_request *const call = r->call;
    const motley_apply_params *const params = call->params;
    const upload *const sent = &r->sent;
    const motley_batch *src = r->draw.before ? &r->sources : call->src;
    const motley_image *list = r->draw.before ? sent->sources : sent->src;
    const motley_batch *const resized = r->apart ? &r->pixels : call->dst;
    mot_transform_draw_job *const draw = &r->draw;
    mot_resize_job *const resize = &draw->resize;
    if (r->twice) {
        describe_resize(r, src, list, &r->between, sent->between, sent->first_offsets, &r->first_axes,
                        &r->first.resize);
        src = &r->between;
        list = sent->between;
    }
    describe_resize(r, src, list, resized, sent->images ? sent->images : sent->dst, sent->offsets, &r->axes, resize);
    draw->stage = r->tables.stages;
    draw->table = r->tables.policies;
    draw->stages = (int32_t)call->transform->stages;
    draw->max_steps = draw->steps ? (int32_t)r->steps_room : 0;
    draw->max_before = draw->before ? (int32_t)r->before_room : 0;
    draw->order = (int32_t)call->transform->facts.order;
    draw->given = call->draws.steps != NULL;
    mot_request_fill(call, draw->fill);
    draw->samples = (mot_cuda_samples){ call->samples, params->counter };
    draw->samples.given.ids = sent->ids;
    draw->samples.given.views = sent->views;
    draw->threads = mot_call_ahead(r->cuda) ? MOT_TRANSFORM_FEW_THREADS : MOT_TRANSFORM_THREADS;
    draw->joined = call->transform->facts.joined;
    if (call->transform->facts.crop && !draw->given && !draw->joined)
        draw->ratios = r->tables.ratios[0];
    share_stages(call->transform->stage, call->transform->fact, draw);
    r->first.drawn = sent->first;
    r->first.order = draw->order;
    r->first.given = 1;
    r->first.threads = draw->threads;
    memcpy(r->first.fill, draw->fill, sizeof draw->fill);
    return resized->dtype != MOTLEY_U8 && !r->is_wide
               ? mot_cuda_output_of(r->cuda, src, &r->asked->as, &resize->as, error)
               : MOTLEY_OK;
}

/* Takes the call's memory, and assembles the upload. */
static motley_status prepare_transform(transform_run *r, motley_error *error)
{
    const mot_request *const call = r->call;
    mot_cuda_state *const s = r->cuda->s;
    mot_arena counted = { 0 }, slot = mot_slot_begin(&s->chip, NULL), scratch = { 0 };
    MOT_TRY(mot_stage_tables_send(r->cuda, call->transform, &r->tables, error));
    lay_out_upload(r, &counted);
    r->upload_bytes = counted.bytes;
    const mot_job sizes = mot_job_of(call->dst, NULL);
    const mot_mix_images mix = { call->dst, call->dst, call->params->mixed, NULL, NULL, NULL, false };
    const size_t beside[] = { mot_cuda_has_parts(&r->parts) ? mot_cuda_parts_host_bytes(&r->parts, &sizes) : 0,
                              call->info->mix ? mot_cuda_mix_count(&s->chip, &mix, &scratch) : 0 };
    MOT_TRY(mot_pool_reserve_host(&s->pool, r->upload_bytes + (beside[0] > beside[1] ? beside[0] : beside[1]), error));
    r->host = lay_out_upload(r, &(mot_arena){ .base = s->pool.host.memory, .host = 1 });
    if (!r->is_wide)
        count_axes(call, r->host.offsets, 0, &r->axes);
    if (r->twice)
        count_axes(call, r->host.first_offsets, 1, &r->first_axes);
    MOT_TRY(lay_out_transform(r, &slot, &scratch, error));
    const int alone = !mot_cuda_reads_callers(&(mot_cuda_samples){ call->samples, call->params->counter });
    MOT_TRY(mot_call_take(r->cuda, slot.bytes, scratch.bytes, alone, error));
    MOT_TRY(lay_out_transform(r, &r->cuda->memory, &r->cuda->scratch, error));
    return MOTLEY_OK;
}

static motley_status queue_transform(mot_cuda_call *cuda, const mot_job *job, motley_error *error)
{
    const mot_request *const call = job->request;
    const motley_batch *const dst = call->dst;
    mot_cuda_state *const s = cuda->s;
    transform_run r = { .cuda = cuda,
                        .call = call,
                        .asked = job,
                        .is_wide = mot_batch_is_wide(call->src),
                        .parts = parts_of(call),
                        .only = call->draws.steps ? NULL : call->transform->facts.only };
    find_rooms(&r);
    r.draws_late = r.only && !r.is_wide && !mot_cuda_has_parts(&r.parts) && !mot_followed_any(&call->followed);
    r.apart = r.has_steps && !r.is_wide && (dst->dtype != MOTLEY_U8 || call->params->clip_frames > 1);
    if (r.is_wide)
        r.wide = mot_cuda_wide_choose(s, job, dst);
    MOT_TRY(prepare_transform(&r, error));
    MOT_TRY(describe_draws(&r, error));
    if (!r.is_wide)
        MOT_TRY(mot_cuda_cut(cuda, &r.draw.resize, &r.axes, error));
    if (r.twice)
        MOT_TRY(mot_cuda_cut(cuda, &r.first.resize, &r.first_axes, error));
    MOT_TRY(mot_call_send(cuda, MOT_SENT | (call->draws.steps ? MOT_STEPS | MOT_PLACES : 0), r.first_sent,
                          s->pool.host.memory, r.upload_bytes, "sending the images", error));
    MOT_TRY(r.is_wide ? queue_wide(&r, error) : queue_pixels(&r, error));
    if (call->erase)
        MOT_TRY(erase_boxes(&r, error));
    if (mot_followed_any(&call->followed))
        MOT_TRY(queue_followed(&r, error));
    if (!call->info->mix)
        return mot_call_join(cuda, error); /* a resize that is late reads `r` */
    const mot_mix_images mix = { dst, dst, call->params->mixed, NULL, NULL, NULL, false };
    return mot_cuda_mix_queue(cuda, &mix, NULL, &cuda->scratch, (uint8_t *)s->pool.host.memory + r.upload_bytes, error);
}

motley_status mot_cuda_transform(void *state, const mot_job *job, motley_error *error)
{
    const mot_request *const call = job->request;
    mot_cuda_call cuda;
    MOT_TRY(check_clips(call, error));
    MOT_TRY(mot_call_begin(state, call->params->stream, &cuda, error));
    return mot_call_end(&cuda, queue_transform(&cuda, job, error), error);
}
