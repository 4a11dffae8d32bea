/* SPDX-License-Identifier: Apache-2.0 */
/* Draws of policies that take boxes, on the host. The sample's draw is that of any policy; each of its steps that works
 * in boxes then becomes one step for each box that it is applied to.
 *
 * The words of box b are Philox's with words 2 and 3 of the step's second block as the key and {0, 0, b, 0} as the
 * counter. Word 0: applied or not, 1 and 2: where a cutout lies, 3: the order in which boxes are worked on, the lowest
 * first. */
#include "base/error.h"
#include "base/values.h"
#include "followers/boxes.h"
#include "policies/custom.h"
#include "policies/transform_draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A box as the steps so far have moved it. */
typedef struct box {
    mot_rect pixels; /* the pixels that it touches; empty: it has left the image */
    mot_words words;
    size_t number;
} box;

/* The state of drawing one image. */
typedef struct drawing {
    const mot_transform *transform;
    mot_drawn_sample sample;
    motley_place place; /* the boxes are of the image before it, */
    size_t image, count;
    const double (*given)[4]; /* [count] */
    double (*moved)[4];       /* [count] */
    box *boxes;               /* [count] */
    motley_step *moves;       /* the warps so far: they move the boxes */
    int32_t moves_count;
    mot_kept *scratch;
} drawing;

motley_status mot_steps_room(const mot_transform *transform, const motley_samples *samples, size_t count, size_t *room,
                             motley_error *error)
{
    size_t most = 1; /* boxes of an image */
    for (size_t i = 0; transform->facts.inside && i < count; i++) {
        const size_t own = samples->box_offsets[i + 1] - samples->box_offsets[i];
        most = own > most ? own : most;
    }
    *room = mot_times(transform->info.max_steps, most);
    MOT_TRY(mot_check_count("the most steps of an image in its boxes", *room, error));
    return mot_check_array("the number of all steps", mot_times(count, *room), 4 * sizeof(motley_step), error);
}

motley_status mot_boxes_check(const mot_transform *transform, const motley_samples *samples, size_t count, bool device,
                              motley_error *error)
{
    if (!transform->facts.takes_boxes || count == 0)
        return MOTLEY_OK;
    const size_t *offsets = samples->box_offsets;
    MOT_REQUIRE(offsets, error,
                "policy '%s' draws by the boxes of an image, but samples.box_offsets is NULL: want the boxes",
                transform->name);
    MOT_REQUIRE(device || !samples->boxes_on_device, error,
                "samples.boxes_on_device is set, but the host draws policy '%s': want boxes in host memory",
                transform->name);
    if (samples->boxes_on_device)
        return MOTLEY_OK;
    for (size_t i = 0; i < count; i++)
        MOT_REQUIRE(offsets[i] <= offsets[i + 1], error,
                    "samples.box_offsets falls from %zu to %zu after image %zu, want it to rise", offsets[i],
                    offsets[i + 1], i);
    MOT_TRY(mot_check_array("the last of samples.box_offsets", offsets[count], 4 * sizeof(double), error));
    MOT_REQUIRE(offsets[count] == offsets[0] || samples->boxes, error, "samples.boxes is NULL, want %zu boxes",
                offsets[count] - offsets[0]);
    return MOTLEY_OK;
}

/* Moves the given boxes by the place and the steps so far. */
static motley_status move_boxes(drawing *d, motley_error *error)
{
    const size_t offsets[2] = { 0, d->count };
    const motley_drawn drawn = { .count = 1,
                                 .steps = d->moves,
                                 .step_counts = &d->moves_count,
                                 .max_steps = d->transform->info.max_steps,
                                 .widths = &d->sample.width,
                                 .heights = &d->sample.height,
                                 .places = d->transform->plain ? NULL : &d->place };
    const motley_box_rules rules = { 0 };
    motley_error own = { 0 };
    memcpy(d->moved, d->given, d->count * sizeof *d->moved);
    const motley_status status =
        mot_follow_boxes(&drawn, &rules, false, offsets, &d->moved[0][0], NULL, NULL, d->scratch, &own);
    if (status != MOTLEY_OK) /* it knows only this image, which it calls image 0 */
        return mot_fail(error, status, "image %zu%s", d->image,
                        strncmp(own.message, "image 0", 7) == 0 ? own.message + 7 : own.message);
    for (size_t b = 0; b < d->count; b++) {
        const double *at = d->moved[b];
        const mot_rect touched = { (int)floor(at[0]), (int)floor(at[1]), (int)ceil(at[2]), (int)ceil(at[3]) };
        d->boxes[b].pixels = at[0] < at[2] && at[1] < at[3] ? touched : (mot_rect){ 0, 0, 0, 0 };
        d->boxes[b].number = b;
    }
    return MOTLEY_OK;
}

static int by_order(const void *a, const void *b)
{
    const box *x = a, *y = b;
    return x->words.w[3] != y->words.w[3] ? (x->words.w[3] > y->words.w[3]) - (x->words.w[3] < y->words.w[3])
                                          : (x->number > y->number) - (x->number < y->number);
}

/* Puts a cutout's centre, drawn by the box's words, into the step's argument, relative to (left, top). */
static void place(const box *b, int draws, int left, int top, mot_step *step)
{
    const uint32_t width = (uint32_t)(b->pixels.x1 - b->pixels.x0), height = (uint32_t)(b->pixels.y1 - b->pixels.y0);
    const double unit = 1.0 / 4294967296.0;
    const int whole = draws != MOT_DRAWS_POINT;
    step->arg.d[1] = b->pixels.x0 - left + (whole ? mot_choose(b->words.w[1], width) : b->words.w[1] * unit * width);
    step->arg.d[2] = b->pixels.y0 - top + (whole ? mot_choose(b->words.w[2], height) : b->words.w[2] * unit * height);
}

/* Expands a step that takes boxes to one step for each box that it is applied to; returns their number. */
static int32_t expand(drawing *d, const motley_policy *policy, const mot_step *step, int draws, mot_step *steps,
                      mot_rect *inside)
{
    const mot_policy_step *from = &policy->step[step->table_step];
    const uint64_t threshold = (uint64_t)rint(ldexp(from->probability, 32));
    const mot_words shared = mot_words_of(&d->sample, step->block + 1);
    const uint64_t key = shared.w[2] | (uint64_t)shared.w[3] << 32;
    size_t left = 0;
    for (size_t b = 0; b < d->count; b++) {
        if (d->boxes[b].pixels.x0 >= d->boxes[b].pixels.x1)
            continue;
        d->boxes[left] = d->boxes[b];
        d->boxes[left].words = mot_random(key, 0, b, 0);
        left++;
    }
    if (left == 0)
        return 0;
    if (draws == MOT_DRAWS_BOX) {
        const box *chosen = &d->boxes[mot_choose(shared.w[0], (uint32_t)left)];
        *steps = *step;
        *inside = (mot_rect){ 0, 0, 0, 0 };
        place(chosen, draws, 0, 0, steps);
        steps->arg.d[3] = chosen->pixels.x1 - chosen->pixels.x0;
        steps->arg.d[4] = chosen->pixels.y1 - chosen->pixels.y0;
        return 1;
    }
    qsort(d->boxes, left, sizeof *d->boxes, by_order);
    int32_t count = 0;
    for (size_t b = 0; b < left; b++) {
        if (d->boxes[b].words.w[0] >= threshold)
            continue;
        steps[count] = *step;
        inside[count] = d->boxes[b].pixels;
        if (draws != MOT_DRAWS_NOTHING)
            place(&d->boxes[b], draws, d->boxes[b].pixels.x0, d->boxes[b].pixels.y0, &steps[count]);
        count++;
    }
    return count;
}

/* Draws the steps of stage `stage`, behind *count that were drawn before. */
static motley_status draw_stage(drawing *d, uint32_t stage, mot_step *steps, mot_rect *inside, int32_t *count,
                                motley_error *error)
{
    mot_step drawn[MOT_MAX_STEPS + 1];
    const motley_policy *const policy = d->transform->stage[stage].policy;
    const int n =
        mot_transform_steps(d->transform, stage, &d->sample, d->place.result_width, d->place.result_height, drawn);
    for (int s = 0; s < n; s++) {
        const int op = drawn[s].op, draws = policy && op >= 0 ? mot_policy_facts(op)->draws : MOT_DRAWS_NOTHING;
        if (draws == MOT_DRAWS_BOX ||
            (policy && op >= 0 && policy->space[policy->step[drawn[s].table_step].space].in_boxes)) {
            if (d->count)
                MOT_TRY(move_boxes(d, error));
            *count += expand(d, policy, &drawn[s], draws, &steps[*count], &inside[*count]);
            continue;
        }
        steps[*count] = drawn[s];
        inside[(*count)++] = (mot_rect){ 0, 0, 0, 0 };
        const motley_op_info *info = motley_op_get(op); /* NULL: custom, or no op */
        if (info && info->shape == MOTLEY_SHAPE_WARP)
            d->moves[d->moves_count++] = mot_public_step(info, &drawn[s]);
    }
    return MOTLEY_OK;
}

motley_status mot_draw_image(const mot_transform *transform, const motley_samples *samples, size_t i, int32_t width,
                             int32_t height, int32_t channels, motley_place *place, mot_step *steps, mot_rect *inside,
                             int32_t *count, mot_kept scratch[2], motley_error *error)
{
    drawing d = { .transform = transform,
                  .sample = mot_sample_of(samples, i, width, height, channels),
                  .image = i,
                  .scratch = &scratch[1] };
    if (transform->facts.takes_boxes)
        mot_sample_give_boxes(&d.sample, samples, i);
    const motley_status status =
        mot_transform_place(transform, &d.sample, place, transform->facts.draws_sizes ? error : NULL);
    if (transform->facts.draws_sizes) /* else they were checked */
        MOT_TRY(mot_fail_in(error, status, "image %zu: ", i));
    if (!transform->facts.takes_boxes) {
        *count = mot_transform_draw_steps(transform, &d.sample, place, steps);
        return MOTLEY_OK;
    }
    d.count = d.sample.boxes_count;
    d.given = d.sample.boxes;
    MOT_TRY(mot_keep(&scratch[0],
                     d.count * (sizeof *d.moved + sizeof *d.boxes) + transform->info.max_steps * sizeof *d.moves, i + 1,
                     error));
    d.moves = scratch[0].memory;
    d.moved = (double(*)[4])(void *)(d.moves + transform->info.max_steps);
    d.boxes = (box *)(void *)(d.moved + d.count);
    d.place = *place;
    d.place.boxes_count = 0; /* what is erased in the end moves no box */
    *count = 0;
    if (d.count)
        MOT_TRY(move_boxes(&d, error)); /* wrong boxes are reported whatever is drawn */
    for (uint32_t s = 0; s < transform->stages; s++) {
        MOT_TRY(draw_stage(&d, s, steps, inside, count, error));
        if (transform->fact[s].before)
            place->before = (uint8_t)*count;
    }
    return MOTLEY_OK;
}
