/* SPDX-License-Identifier: Apache-2.0 */
/* A sample's draw as JSON. */
#include "policies/draw_json.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "motley/apply.h"

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

void mot_draw_say_step(mot_text *w, const motley_op_info *op, const motley_step *step, int32_t channels)
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
