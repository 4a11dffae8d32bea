/* SPDX-License-Identifier: Apache-2.0 */
/* Draws as JSON: numbers are written so that they read back as the same doubles. */
#include "tools/tool.h"

#include <json-c/json.h>
#include <math.h>

struct json_object *number_json(double value)
{
    char text[NUMBER_TEXT];
    return isfinite(value) ? need(json_object_new_double_s(value, number_text(value, text))) : NULL;
}

static struct json_object *numbers_json(const double *values, int count)
{
    struct json_object *array = need(json_object_new_array());
    for (int i = 0; i < count; i++)
        json_object_array_add(array, number_json(values[i]));
    return array;
}

static struct json_object *step_json(const motley_step *step, int channels)
{
    const motley_op_info *op = motley_op_get(step->op);
    struct json_object *object = need(json_object_new_object());
    json_object_object_add(object, "op", need(json_object_new_string(op->name)));
    const bool erases = op->shape == MOTLEY_SHAPE_ERASE, warps = op->shape == MOTLEY_SHAPE_WARP;
    if (step->values_count == 1 || (erases && step->values_count > 1))
        json_object_object_add(object, "value", number_json(step->values[0]));
    else if (step->values_count > 1)
        json_object_object_add(object, "value", numbers_json(step->values, step->values_count));
    if (erases && step->values_count == 3)
        json_object_object_add(object, "center", numbers_json(step->values + 1, 2));
    if (warps)
        json_object_object_add(object, "interpolation",
                               need(json_object_new_string(interpolation_name(step->interpolation))));
    if (warps || erases) {
        struct json_object *fill = need(json_object_new_array());
        for (int c = 0; c < channels; c++)
            json_object_array_add(fill, need(json_object_new_int(step->fill[c])));
        json_object_object_add(object, "fill", fill);
    }
    return object;
}

struct json_object *draw_json(uint64_t sample, const motley_step *steps, int count, int channels)
{
    struct json_object *object = need(json_object_new_object());
    struct json_object *array = need(json_object_new_array());
    json_object_object_add(object, "sample", need(json_object_new_uint64(sample)));
    for (int i = 0; i < count; i++)
        json_object_array_add(array, step_json(&steps[i], channels));
    json_object_object_add(object, "steps", array);
    return object;
}

bool print_json(FILE *stream, struct json_object *object)
{
    const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
    const bool good = fprintf(stream, "%s\n", (const char *)need((void *)text)) >= 0;
    json_object_put(object);
    return good;
}
