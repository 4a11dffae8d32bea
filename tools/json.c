/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: numbers are written so that they read back as the same doubles. */
#include "tools/tool.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>

struct json_object *number_json(double value)
{
    char text[NUMBER_TEXT];
    return isfinite(value) ? need(json_object_new_double_s(value, number_text(value, text))) : NULL;
}

char *draw_json(const motley_policy *policy, uint64_t sample, const motley_step *steps, int count, int channels)
{
    motley_error error;
    char *text;
    if (motley_draw_json(policy, sample, steps, count, channels, &text, &error) == MOTLEY_OK)
        return text;
    complain("%s", error.message);
    exit(EXIT_INPUT);
}

bool print_json(FILE *stream, struct json_object *object)
{
    const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
    const bool good = fprintf(stream, "%s\n", (const char *)need((void *)text)) >= 0;
    json_object_put(object);
    return good;
}
