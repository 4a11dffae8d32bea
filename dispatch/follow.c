/* SPDX-License-Identifier: Apache-2.0 */
/* See follow.h. On the host, what follows is moved by the draws of its images. */
#include "dispatch/follow.h"
#include "dispatch/request.h"

#include "base/params.h"
#include "base/values.h"
#include "followers/matrix.h"

#include <stdlib.h>
#include <string.h>

int mot_followed_any(const motley_followed *followed)
{
    return followed->boxes_count > 0 || followed->points_count > 0 || followed->matrices || followed->planes_count > 0;
}

static motley_status check_planes(const motley_followed *followed, const motley_batch *src, motley_error *error)
{
    MOT_REQUIRE(followed->planes || followed->planes_count == 0, error, "planes is NULL, but planes_count is %zu",
                followed->planes_count);
    MOT_TRY(mot_check_array("planes_count", followed->planes_count, sizeof *followed->planes, error));
    for (size_t k = 0; k < followed->planes_count; k++) {
        const motley_planes *const p = &followed->planes[k];
        const size_t size = (size_t)p->element_size;
        MOT_REQUIRE(size == 1 || size == 2 || size == 4 || size == 8, error,
                    "planes %zu: element_size is %d, want 1, 2, 4 or 8", k, p->element_size);
        MOT_REQUIRE(p->images || p->count == 0 || (p->src && p->dst), error, "planes %zu: %s is NULL", k,
                    p->src ? "dst" : "src");
        MOT_REQUIRE(p->images || ((uintptr_t)p->src | (uintptr_t)p->dst) % size == 0, error,
                    "planes %zu: src or dst is not aligned to the %zu bytes of an element", k, size);
        if (src && src->count > 0 && !p->images) {
            const mot_view image = mot_batch_view(src, 0);
            const size_t all = mot_times(size * (size_t)image.width * (size_t)image.height, src->count);
            MOT_TRY(mot_fail_in(error, mot_check_array("count", p->count, all, error), "planes %zu: ", k));
        }
        for (size_t i = 1; src && src->images && !p->images && i < src->count; i++)
            MOT_REQUIRE(src->images[i].width == src->images->width && src->images[i].height == src->images->height,
                        error, "planes %zu: images is NULL, but images 0 and %zu have two sizes", k, i);
    }
    return MOTLEY_OK;
}

motley_status mot_followed_read(const motley_followed *followed, const motley_batch *src, motley_followed *read,
                                motley_error *error)
{
    *read = (motley_followed){ 0 };
    if (!followed)
        return MOTLEY_OK;
    MOT_READ_PARAMS(motley_followed, followed, error);
    *read = *followed;
    MOT_REQUIRE(followed->boxes_count == 0 || (followed->boxes && followed->box_offsets), error,
                "followed: %s is NULL, but boxes_count is %zu", followed->boxes ? "box_offsets" : "boxes",
                followed->boxes_count);
    MOT_REQUIRE(followed->points_count == 0 || (followed->points && followed->point_offsets), error,
                "followed: %s is NULL, but points_count is %zu", followed->points ? "point_offsets" : "points",
                followed->points_count);
    MOT_TRY(mot_check_array("followed: boxes_count", followed->boxes_count, 4 * sizeof(double), error));
    MOT_TRY(mot_check_array("followed: points_count", followed->points_count, 2 * sizeof(double), error));
    const size_t real = followed->single ? sizeof(float) : sizeof(double);
    const struct {
        const char *name;
        const void *memory;
        size_t bytes;
    } arrays[] = { { "boxes", followed->boxes, real },
                   { "visibility", followed->visibility, real },
                   { "points", followed->points, real },
                   { "box_offsets", followed->box_offsets, sizeof(size_t) },
                   { "point_offsets", followed->point_offsets, sizeof(size_t) },
                   { "matrices", followed->matrices, sizeof(double) } };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        MOT_REQUIRE((uintptr_t)arrays[i].memory % arrays[i].bytes == 0, error,
                    "followed: %s is not aligned to the %zu bytes of an element", arrays[i].name, arrays[i].bytes);
    MOT_TRY(mot_fail_in(error, check_planes(followed, src, error), "followed: "));
    /* The host's functions, called without images, check limits and convention. */
    const motley_drawn nothing = { 0 };
    const size_t none = 0;
    MOT_TRY(mot_fail_in(error, mot_follow_boxes(&nothing, &read->box_params, 0, &none, NULL, NULL, NULL, NULL, error),
                        "followed: "));
    return mot_fail_in(error, mot_follow_points(&nothing, read->convention, 0, &none, NULL, NULL, NULL, error),
                       "followed: ");
}

/* ---- on the host ---- */

static void read_numbers(double *to, const void *from, size_t count, int single)
{
    for (size_t i = 0; i < count; i++)
        to[i] = single ? (double)((const float *)from)[i] : ((const double *)from)[i];
}

static void write_numbers(void *to, const double *from, size_t count, int single)
{
    for (size_t i = 0; i < count; i++) {
        if (single)
            ((float *)to)[i] = (float)from[i];
        else
            ((double *)to)[i] = from[i];
    }
}

static motley_status check_end(const char *offsets, const char *count, size_t end, size_t all, motley_error *error)
{
    MOT_REQUIRE(end == all, error, "followed: %s ends at %zu, want %s, %zu", offsets, end, count, all);
    return MOTLEY_OK;
}

/* The part of an arena that begins with `count` doubles; NULL: nothing wants them. */
static double *take(double **arena, const void *wanted, size_t count)
{
    double *const here = *arena;
    *arena += wanted ? count : 0;
    return wanted ? here : NULL;
}

/* Copies what is moved to `kept`, and makes room there for so many bytes more, at *rest. */
static motley_status make_room(const motley_followed *f, size_t images, size_t more, mot_kept *kept, mot_moved *moved,
                               void **rest, motley_error *error)
{
    const size_t boxes = f->boxes_count, points = f->points_count;
    const size_t bytes = mot_plus(mot_times(5 * boxes + 2 * points + 6 * images, sizeof(double)), boxes + points);
    MOT_TRY(mot_keep(kept, mot_plus(bytes, more), images, error));
    *moved = (mot_moved){ .to = *f, .images = images };
    double *arena = kept->memory;
    moved->boxes = take(&arena, f, 4 * boxes);
    moved->points = take(&arena, f, 2 * points);
    moved->visibility = take(&arena, f->visibility, boxes);
    moved->matrices = take(&arena, f->matrices, 6 * images);
    *rest = arena;
    moved->keep = f->keep ? (uint8_t *)arena + more : NULL;
    moved->flags = f->flags ? (uint8_t *)arena + more + boxes : NULL;
    read_numbers(moved->boxes, f->boxes, 4 * boxes, f->single);
    read_numbers(moved->points, f->points, 2 * points, f->single);
    if (f->visibility)
        read_numbers(moved->visibility, f->visibility, boxes, f->single);
    if (f->keep)
        memcpy(moved->keep, f->keep, boxes);
    if (f->flags)
        memcpy(moved->flags, f->flags, points);
    return MOTLEY_OK;
}

/* Moves one kind of planes, with the threads of `context`, or without any if that is NULL. */
static motley_status move_planes(motley_context *context, const motley_drawn *drawn, const motley_planes *planes,
                                 mot_kept *traces, motley_error *error)
{
    mot_planes_call call;
    MOT_TRY(mot_planes_begin(drawn, planes, &call, traces, error));
    if (context)
        return context->backend->each(context->state, drawn->count, call.scratch_bytes, mot_planes_image, &call, error);
    const mot_cpu_rows *sets[MOT_CPU_SETS];
    mot_cpu_sets(sets);
    void *const scratch = malloc(call.scratch_bytes + 1);
    if (!scratch)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu bytes of scratch", call.scratch_bytes);
    for (size_t i = 0; i < drawn->count; i++)
        mot_planes_image(&call, i, sets[0], scratch);
    free(scratch);
    return MOTLEY_OK;
}

static motley_status move(motley_context *context, const motley_followed *f, const motley_drawn *drawn,
                          mot_moved *moved, mot_kept *scratch, motley_error *error)
{
    if (f->boxes_count > 0) {
        MOT_TRY(check_end("box_offsets", "boxes_count", f->box_offsets[drawn->count], f->boxes_count, error));
        MOT_TRY(mot_follow_boxes(drawn, &f->box_params, f->single, f->box_offsets, moved->boxes, moved->visibility,
                                 moved->keep, scratch, error));
    }
    if (f->points_count > 0) {
        MOT_TRY(check_end("point_offsets", "points_count", f->point_offsets[drawn->count], f->points_count, error));
        MOT_TRY(mot_follow_points(drawn, f->convention, f->single, f->point_offsets, moved->points, moved->flags,
                                  scratch, error));
    }
    if (f->matrices)
        MOT_TRY(mot_follow_matrices(drawn, moved->matrices, scratch, error));
    for (size_t k = 0; k < f->planes_count; k++)
        MOT_TRY(mot_fail_in(error, move_planes(context, drawn, &f->planes[k], scratch, error), "planes %zu: ", k));
    return MOTLEY_OK;
}

motley_status mot_follow_begin(motley_context *context, const mot_job *job, const mot_host_draws *draws,
                               const motley_step *shown, size_t shown_steps, mot_moved *moved, motley_error *error)
{
    const size_t n = draws->count, made = shown ? 0 : n * draws->most;
    void *rest;
    MOT_TRY(make_room(job->followed, n, mot_plus(mot_times(made, sizeof(motley_step)), 2 * n * sizeof(int32_t)),
                      &context->followed, moved, &rest, error));
    motley_step *const steps = rest;
    int32_t *const sides = (int32_t *)(void *)(steps + made);
    for (size_t i = 0; i < n; i++) {
        const mot_view v = mot_batch_view(job->src, i);
        const size_t first = i * draws->most;
        sides[i] = v.width;
        sides[n + i] = v.height;
        for (size_t s = first; made > 0 && s < first + (size_t)draws->counts[i]; s++)
            steps[s] = mot_step_inside(mot_step_info(draws->steps[s].op), &draws->steps[s], draws->inside[s]);
    }
    const motley_drawn drawn = { .count = n,
                                 .steps = shown ? shown : steps,
                                 .step_counts = draws->counts,
                                 .max_steps = shown ? shown_steps : draws->most,
                                 .widths = sides,
                                 .heights = sides + n,
                                 .places = draws->places };
    return move(context, job->followed, &drawn, moved, &context->scratch, error);
}

void mot_follow_end(const mot_moved *moved)
{
    const motley_followed *const f = &moved->to;
    write_numbers(f->boxes, moved->boxes, 4 * f->boxes_count, f->single);
    write_numbers(f->points, moved->points, 2 * f->points_count, f->single);
    if (f->visibility)
        write_numbers(f->visibility, moved->visibility, f->boxes_count, f->single);
    if (f->keep)
        memcpy(f->keep, moved->keep, f->boxes_count);
    if (f->flags)
        memcpy(f->flags, moved->flags, f->points_count);
    if (f->matrices)
        memcpy(f->matrices, moved->matrices, 6 * moved->images * sizeof(double));
}

motley_status motley_follow(const motley_drawn *drawn, const motley_followed *followed, motley_error *error)
{
    motley_followed read;
    mot_moved moved;
    MOT_REQUIRE(followed, error, "followed is NULL, want what to move");
    MOT_REQUIRE(drawn, error, "drawn is NULL, want the draws of a batch");
    MOT_TRY(mot_followed_read(followed, NULL, &read, error));
    MOT_TRY(mot_check_count("drawn->count", drawn->count, error));
    mot_kept numbers = { 0 }, scratch = { 0 };
    void *rest;
    motley_status status = make_room(&read, drawn->count, 1, &numbers, &moved, &rest, error);
    if (status == MOTLEY_OK)
        status = move(NULL, &read, drawn, &moved, &scratch, error);
    if (status == MOTLEY_OK)
        mot_follow_end(&moved);
    free(numbers.memory);
    free(scratch.memory);
    return status;
}
