/* SPDX-License-Identifier: Apache-2.0 */
/* motley_draw_json: what a sample draws as JSON. */
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "base/values.h"
#include "policies/print.h"
#include "policies/transform.h"

#include <stdlib.h>
#include <string.h>

/* Writes `before`, then a number with a point or an exponent, which JSON readers parse as a float. */
static void say_real(mot_text *w, const char *before, double number)
{
    char text[MOT_NUMBER_ROOM];
    mot_number_print(number, text);
    mot_say(w, "%s%s%s", before, text, strpbrk(text, ".e") ? "" : ".0");
}

static void say_reals(mot_text *w, const char *key, const double *values, int count)
{
    mot_say(w, ", \"%s\": [ ", key);
    for (int i = 0; i < count; i++)
        say_real(w, i ? ", " : "", values[i]);
    mot_say(w, " ]");
}

static void say_step(mot_text *w, const motley_op_info *op, const motley_step *step, int32_t channels)
{
    const bool erases = op->shape == MOTLEY_SHAPE_ERASE, warps = op->shape == MOTLEY_SHAPE_WARP;
    const bool custom = op->shape == MOTLEY_SHAPE_CUSTOM;
    /* A value, a centre, the sides of a box; of a centre or a box with one number, all values are a list. */
    const bool placed = erases && (step->values_count == 3 || step->values_count == 5);
    mot_say(w, "{ \"op\": \"%s\"", op->name);
    if (step->op >= 0) /* mixing has no level */
        mot_say(w, ", \"level\": %d", step->level);
    if (custom ? op->values_max > 0 : step->values_count == 1 || placed)
        say_real(w, ", \"value\": ", step->values[0]);
    else if (!custom && step->values_count > 1)
        say_reals(w, "value", step->values, step->values_count);
    if (placed)
        say_reals(w, "center", step->values + 1, 2);
    if (placed && step->values_count == 5)
        say_reals(w, "box", step->values + 3, 2);
    if (custom)
        say_reals(w, "random", step->values + 1, 2);
    if (warps)
        mot_say(w, ", \"interpolation\": \"%s\"", mot_interpolation_names[step->interpolation]);
    for (int32_t c = 0; (warps || erases) && c < channels; c++)
        mot_say(w, "%s%d%s", c ? ", " : ", \"fill\": [ ", step->fill[c], c + 1 < channels ? "" : " ]");
    const int32_t *at = step->inside;
    if (at[0] | at[1] | at[2] | at[3])
        mot_say(w, ", \"inside\": [ %d, %d, %d, %d ]", at[0], at[1], at[2], at[3]);
    mot_say(w, ", \"applied\": true }");
}

static void say_rectangle(mot_text *w, int32_t left, int32_t top, int32_t width, int32_t height)
{
    mot_say(w, "{ \"left\": %d, \"top\": %d, \"width\": %d, \"height\": %d }", left, top, width, height);
}

static const char *truth(int value)
{
    return value ? "true" : "false";
}

static void say_place(mot_text *w, const motley_place *place)
{
    mot_say(w, "\"crop\": ");
    say_rectangle(w, place->crop.left, place->crop.top, place->crop.width, place->crop.height);
    if (place->beyond)
        mot_say(w, ", \"beyond\": true");
    if (place->canvas_left || place->canvas_top)
        mot_say(w, ", \"canvas\": { \"left\": %d, \"top\": %d }", place->canvas_left, place->canvas_top);
    if (place->overlap)
        mot_say(w, ", \"overlap\": \"%s\"", mot_overlap_names[place->overlap - 1]);
    if (place->before)
        mot_say(w, ", \"before\": %d", place->before);
    mot_say(w, ", \"resize\": { \"width\": %d, \"height\": %d, \"filter\": \"%s\" }", place->width, place->height,
            mot_filter_names[place->filter]);
    mot_say(w, ", \"window\": ");
    say_rectangle(w, place->left, place->top, place->result_width, place->result_height);
    mot_say(w, ", \"flip\": { \"horizontal\": %s, \"vertical\": %s }", truth(place->flip_horizontal),
            truth(place->flip_vertical));
    if (place->torch_planes)
        mot_say(w, ", \"torch_planes\": true");
    if (place->flipped_first)
        mot_say(w, ", \"flipped_first\": { \"horizontal\": %s, \"vertical\": %s }", truth(place->flipped_first & 1),
                truth(place->flipped_first & 2));
}

static void say_erased(mot_text *w, const motley_place *place)
{
    for (int32_t b = 0; b < place->boxes_count; b++) {
        const motley_erased_box *box = &place->boxes[b];
        mot_say(w, "%s", b ? ", " : ", \"erase\": [ ");
        say_rectangle(w, box->left, box->top, box->width, box->height);
    }
    if (place->boxes_count)
        mot_say(w, " ], \"noise\": %llu", (unsigned long long)place->noise);
}

motley_status motley_draw_json(const motley_policy *policy, uint64_t sample, const motley_place *place,
                               const motley_step *steps, int32_t count, int32_t channels, char **text,
                               motley_error *error)
{
    MOT_REQUIRE(text, error, "text is NULL, want a place for the result");
    *text = NULL;
    MOT_REQUIRE(policy, error, "policy is NULL, want the one that drew");
    MOT_REQUIRE(count >= 0, error, "count is %d, want 0 or more", count);
    MOT_REQUIRE(steps || count == 0, error, "steps is NULL, want %d of them", count);
    MOT_REQUIRE(channels >= 1 && channels <= 4, error, "channels is %d, want 1 to 4", channels);
    MOT_REQUIRE(!place || ((unsigned)place->filter < MOT_FILTERS && (unsigned)place->first.filter < MOT_FILTERS &&
                           place->overlap <= MOTLEY_OVERLAP_UNDECIDED &&
                           (unsigned)place->boxes_count <= MOTLEY_MAX_ERASED_BOXES),
                error, "filter is %d and boxes_count %d, want what was drawn", (int)place->filter, place->boxes_count);
    for (int32_t i = 0; i < count; i++) {
        MOT_REQUIRE(motley_policy_op(policy, steps[i].op) && (place || !mot_step_of_stages(steps[i].op)), error,
                    "step %d: op is %d, which the policy does not have", i, steps[i].op);
        MOT_REQUIRE((unsigned)steps[i].interpolation <= MOTLEY_BICUBIC &&
                        (unsigned)steps[i].values_count <= MOTLEY_MAX_VALUES,
                    error, "step %d: interpolation is %d and values_count %d, want what was drawn", i,
                    (int)steps[i].interpolation, steps[i].values_count);
    }
    mot_text w = { 0 };
    mot_say(&w, "{ \"sample\": %llu, ", (unsigned long long)sample);
    if (place && place->first.width) {
        const motley_place first = mot_first_place(place, 0, 0);
        mot_say(&w, "\"first\": { ");
        say_place(&w, &first);
        mot_say(&w, " }, ");
    }
    if (place) {
        const motley_place last = mot_last_place(place);
        say_place(&w, &last);
        mot_say(&w, ", ");
    }
    mot_say(&w, "\"steps\": [ ");
    for (int32_t i = 0; i < count; i++) {
        mot_say(&w, "%s", i ? ", " : "");
        say_step(&w, motley_policy_op(policy, steps[i].op), &steps[i], channels);
    }
    mot_say(&w, "%s]", count > 0 ? " " : "");
    if (place)
        say_erased(&w, place);
    mot_say(&w, " }");
    if (w.failed) {
        free(w.text);
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the draw of sample %llu", (unsigned long long)sample);
    }
    *text = w.text;
    return MOTLEY_OK;
}
