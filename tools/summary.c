/* SPDX-License-Identifier: Apache-2.0 */
/* See summary.h. */
#include "tools/summary.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a transform draws besides ops; their rows follow those of the ops. */
enum { HUE, KERNEL_BLUR, CROP_AREA, CROP_RATIO, FLIP_HORIZONTAL, FLIP_VERTICAL, ERASED_AREA, OTHERS };
static const char *const other_names[OTHERS] = { [HUE] = "hue",
                                                 [KERNEL_BLUR] = "kernel_blur",
                                                 [CROP_AREA] = "crop: area",
                                                 [CROP_RATIO] = "crop: ratio",
                                                 [FLIP_HORIZONTAL] = "flip: horizontal",
                                                 [FLIP_VERTICAL] = "flip: vertical",
                                                 [ERASED_AREA] = "erase: area" };

int summary_rows(void)
{
    return motley_op_count() + OTHERS;
}

static double real(struct json_object *object, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(object, key, &value) ? json_object_get_double(value) : NAN;
}

/* Adds a step's values to those of its op, without repetitions. */
static void add_values(op_summary *op, struct json_object *step)
{
    struct json_object *levels = json_object_object_get(step, "levels"), *of = json_object_object_get(step, "of");
    for (size_t k = 0; k < json_object_array_length(levels); k++) {
        struct json_object *level = json_object_array_get_idx(levels, k);
        struct json_object *row = need(json_object_new_object());
        json_object_object_add(row, "value", json_object_get(json_object_object_get(level, "value")));
        if (json_object_object_get(level, "minus"))
            json_object_object_add(row, "minus", json_object_get(json_object_object_get(level, "minus")));
        if (of)
            json_object_object_add(row, "of", json_object_get(of));
        if (!op->values)
            op->values = need(json_object_new_array());
        bool known = false;
        for (size_t i = 0; i < json_object_array_length(op->values) && !known; i++)
            known = json_object_equal(json_object_array_get_idx(op->values, i), row);
        if (known)
            json_object_put(row);
        else
            json_object_array_add(op->values, row);
    }
}

static bool read_description(const motley_policy *policy, op_summary *summary, motley_error *error)
{
    char *text;
    if (motley_policy_print(policy, MOTLEY_PRINT_VALUES, &text, error) != MOTLEY_OK)
        return false;
    struct json_object *described = need(json_tokener_parse(text)),
                       *phases = json_object_object_get(described, "phases");
    free(text);
    for (size_t p = 0; p < json_object_array_length(phases); p++) {
        struct json_object *branches = json_object_object_get(json_object_array_get_idx(phases, p), "branches");
        for (size_t b = 0; b < json_object_array_length(branches); b++) {
            struct json_object *steps = json_object_object_get(json_object_array_get_idx(branches, b), "steps");
            for (size_t s = 0; s < json_object_array_length(steps); s++) {
                struct json_object *step = json_object_array_get_idx(steps, s);
                const char *name = json_object_get_string(json_object_object_get(step, "op"));
                for (int i = 0; i < motley_op_count(); i++)
                    if (!strcmp(summary[i].name, name)) {
                        summary[i].used = true;
                        add_values(&summary[i], step);
                    }
            }
        }
    }
    json_object_put(described);
    return true;
}

static void count_one(op_summary *op)
{
    op->used = true;
    op->per_image++;
}

static void count_value(op_summary *op, double value)
{
    op->low = op->drawn ? fmin(op->low, value) : value;
    op->high = op->drawn ? fmax(op->high, value) : value;
    op->mean += value; /* their sum, so far */
    op->drawn = true;
    count_one(op);
}

static double share(double width, double height, double of_width, double of_height)
{
    return width * height / (of_width * of_height);
}

static void count_drawn(const motley_place *drawn, const motley_step *steps, int32_t count, picture in,
                        op_summary *summary)
{
    op_summary *const others = summary + motley_op_count();
    const motley_crop *crop = &drawn->crop;
    count_value(&others[CROP_AREA], share(crop->width, crop->height, in.width, in.height));
    count_value(&others[CROP_RATIO], (double)crop->width / crop->height);
    if (drawn->flip_horizontal)
        count_one(&others[FLIP_HORIZONTAL]);
    if (drawn->flip_vertical)
        count_one(&others[FLIP_VERTICAL]);
    for (int32_t b = 0; b < drawn->boxes_count; b++)
        count_value(&others[ERASED_AREA],
                    share(drawn->boxes[b].width, drawn->boxes[b].height, drawn->result_width, drawn->result_height));
    for (int32_t s = 0; s < count; s++) {
        const motley_step *step = &steps[s];
        if (step->op < 0 && step->op != MOTLEY_STEP_HUE && step->op != MOTLEY_STEP_KERNEL_BLUR)
            continue; /* a weight of a mix */
        op_summary *const op = step->op >= 0                 ? &summary[step->op]
                               : step->op == MOTLEY_STEP_HUE ? &others[HUE]
                                                             : &others[KERNEL_BLUR];
        if (step->values_count)
            count_value(op, step->values[0]);
        else
            count_one(op);
    }
}

static bool count_draws(const parts *opened, const part *counted, const policy_options *options,
                        const counting_options *counting, op_summary *summary, motley_error *error)
{
    static motley_place places[PART_BLOCK];
    const uint64_t count = counting->samples;
    const picture image = { .width = counting->width, .height = counting->height, .channels = 3 };
    const picture in = taken_by(opened, counted, image);
    const size_t max_steps = motley_policy_describe(counted->policy)->max_steps;
    motley_step *steps = need(calloc(PART_BLOCK * (max_steps ? max_steps : 1), sizeof *steps));
    int32_t counts[PART_BLOCK];
    float levels[PART_BLOCK];
    bool good = true;
    for (uint64_t done = 0; good && done < count; done += PART_BLOCK) {
        const size_t n = count - done < PART_BLOCK ? (size_t)(count - done) : PART_BLOCK;
        motley_samples next = counted->samples;
        next.first += done;
        give_middle_boxes(&next, n, in.width, in.height);
        give_levels(options, &next, n, levels);
        good = part_draw(opened, counted, &next, n, image, places, steps, counts, error) == MOTLEY_OK;
        for (size_t i = 0; good && opened->staged && i < n; i++)
            count_drawn(&places[i], steps + i * max_steps, counts[i], in, summary);
        for (size_t i = 0; good && !opened->staged && i < n; i++)
            for (int s = 0; s < counts[i]; s++)
                if (steps[i * max_steps + (size_t)s].op >= 0) /* and not a weight of a mix */
                    summary[steps[i * max_steps + (size_t)s].op].per_image++;
    }
    for (int i = 0; i < summary_rows(); i++) {
        summary[i].mean /= fmax(1, summary[i].per_image);
        summary[i].per_image /= (double)count;
    }
    free(steps);
    return good;
}

op_summary *summarise(const char *name, const parts *opened, const part *counted, const policy_options *options,
                      const counting_options *counting)
{
    op_summary *summary = need(calloc((size_t)summary_rows(), sizeof *summary));
    for (int i = 0; i < summary_rows(); i++)
        summary[i].name = i < motley_op_count() ? motley_op_get(i)->name : other_names[i - motley_op_count()];
    motley_error error;
    if ((opened->staged || read_description(counted->policy, summary, &error)) &&
        count_draws(opened, counted, options, counting, summary, &error))
        return summary;
    complain("%s: %s", policy_label(name), error.message);
    summary_free(summary);
    return NULL;
}

void summary_free(op_summary *summary)
{
    for (int i = 0; summary && i < summary_rows(); i++)
        json_object_put(summary[i].values);
    free(summary);
}

struct json_object *summary_json(const op_summary *op)
{
    struct json_object *row = need(json_object_new_object());
    json_object_object_add(row, "per_image", number_json(op->per_image));
    if (!op->drawn) {
        json_object_object_add(row, "values", op->values ? json_object_get(op->values) : need(json_object_new_array()));
        return row;
    }
    struct json_object *drawn = need(json_object_new_object());
    json_object_object_add(drawn, "low", number_json(op->low));
    json_object_object_add(drawn, "mean", number_json(op->mean));
    json_object_object_add(drawn, "high", number_json(op->high));
    json_object_object_add(row, "drawn", drawn);
    return row;
}

const char *values_text(const op_summary *op, char text[VALUES_TEXT])
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], mean[NUMBER_TEXT];
    if (op->drawn) {
        if (op->low == op->high)
            snprintf(text, VALUES_TEXT, "%s", short_number(op->low, a));
        else
            snprintf(text, VALUES_TEXT, "%s..%s, mean %s", short_number(op->low, a), short_number(op->high, b),
                     short_number(op->mean, mean));
        return text;
    }
    const size_t count = op->values ? json_object_array_length(op->values) : 0;
    if (count == 0) {
        snprintf(text, VALUES_TEXT, "%s", op->used ? "no value" : "-");
        return text;
    }
    double low = HUGE_VAL, high = -HUGE_VAL;
    bool both = false;
    const char *side = "";
    for (size_t i = 0; i < count; i++) {
        struct json_object *row = json_object_array_get_idx(op->values, i);
        const double value = real(row, "value"), minus = real(row, "minus");
        low = fmin(low, fmin(value, minus)); /* fmin ignores a NaN */
        high = fmax(high, fmax(value, minus));
        both = both || !isnan(minus);
        side = json_object_object_get(row, "of") ? " of the side" : side;
    }
    short_number(low, a);
    short_number(high, b);
    if (low == high)
        snprintf(text, VALUES_TEXT, "%s%s", a, side);
    else if (count == 1)
        snprintf(text, VALUES_TEXT, "%s or %s%s", a, b, side);
    else
        snprintf(text, VALUES_TEXT, "%s..%s%s, %zu values", a, b, side, both ? 2 * count : count);
    return text;
}
