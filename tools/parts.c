/* SPDX-License-Identifier: Apache-2.0 */
/* See parts.h. */
#include "tools/parts.h"

#include <stdlib.h>
#include <string.h>

/* Replaces a policy by what it is in an epoch. */
static motley_policy *in_epoch(motley_policy *policy, const char *name, uint32_t epoch)
{
    motley_policy *plain = NULL;
    motley_error error;
    accepted(motley_policy_at(policy, epoch, &plain, &error), name, &error);
    motley_policy_destroy(policy);
    return plain;
}

static void add_part(parts *opened, const motley_policy *policy, const motley_view *view, int32_t result,
                     const motley_samples *samples)
{
    part *const made = &opened->part[opened->count++];
    *made = (part){ .policy = policy, .result = result, .samples = *samples };
    if (view) {
        made->view = view->name;
        made->samples.view = 256 * samples->view + 16 * (uint32_t)view->number + (uint32_t)result;
    }
}

/* Adds the results of the views that the options want. False after a message. */
static bool add_views(parts *opened, const char *name, const policy_options *options)
{
    const char *const only = options->only;
    const size_t views = (size_t)motley_policy_describe(opened->whole)->views, length = only ? strcspn(only, ":") : 0;
    const char *const digits = only && only[length] ? only + length + 1 : "0";
    const bool number = *digits && !digits[strspn(digits, "0123456789")];
    const long wanted = number ? strtol(digits, NULL, 10) : -1;
    const motley_view *const shared = motley_policy_view(opened->whole, views);
    if (options->samples.view > 255) {
        complain("--view is %u, want a read of 0 to 255 of a transform with views", options->samples.view);
        exit(EXIT_USAGE);
    }
    opened->shares = shared != NULL;
    if (shared)
        add_part(opened, shared->policy, shared, 0, &options->samples);
    for (size_t i = 0; i < views; i++) {
        const motley_view *const view = motley_policy_view(opened->whole, i);
        if (!only || (strncmp(view->name, only, length) == 0 && view->name[length] == '\0'))
            for (int32_t result = 0; result < view->count; result++)
                if (!only || result == wanted)
                    add_part(opened, view->policy, view, result, &options->samples);
    }
    if (opened->count > opened->shares)
        return true;
    complain("%s: --only is '%s', want one of its views, as motley show lists them, and a result below its count",
             policy_label(name), only);
    return false;
}

bool parts_open(const char *name, const policy_options *options, parts *opened)
{
    *opened = (parts){ .whole = open_policy(name, options->changes) };
    opened->staged = opened->whole && motley_policy_describe(opened->whole)->stages > 0;
    if (opened->staged && motley_policy_describe(opened->whole)->scheduled && (!options->every_epoch || options->only))
        opened->whole = in_epoch(opened->whole, name, options->samples.epoch);
    if (!opened->whole)
        return false;
    opened->part = need(calloc(1 + MOTLEY_MAX_VIEWS * MOTLEY_MAX_VIEW_COUNT, sizeof *opened->part));
    bool good = true;
    if (motley_policy_describe(opened->whole)->views) {
        good = add_views(opened, name, options);
    } else {
        add_part(opened, opened->whole, NULL, 0, &options->samples);
        good = !options->only;
        if (!good)
            complain("%s: it has no views, want none of --only", policy_label(name));
    }
    if (good && options->levels_count && !motley_policy_describe(opened->whole)->takes_levels) {
        complain("%s: no step has the level 'given': --levels has no use", policy_label(name));
        good = false;
    }
    if (!good)
        parts_close(opened);
    return good;
}

void parts_close(parts *opened)
{
    motley_policy_destroy(opened->whole);
    free(opened->part);
    *opened = (parts){ 0 };
}

const part *parts_single(const parts *opened, const char *name)
{
    if (opened->count == (size_t)opened->shares + 1)
        return &opened->part[opened->shares];
    complain("%s: it has views, want --only with one of them, as motley show lists them", policy_label(name));
    return NULL;
}

motley_image image_of(const picture *in)
{
    const int64_t pixel = (int64_t)picture_pixel_bytes(in);
    return (motley_image){ in->pixels, in->width, in->height, in->width * pixel, pixel, pixel / in->channels };
}

motley_batch batch_of(const picture *in, const pixel_range *range)
{
    return (motley_batch){ .count = 1,
                           .channels = in->channels,
                           .dtype = in->wide ? MOTLEY_U16 : MOTLEY_U8,
                           .alpha = in->channels % 2 == 0,
                           .data = in->pixels,
                           .width = in->width,
                           .height = in->height,
                           .range = in->wide ? &range->pair : NULL };
}

picture made_by(const motley_policy *policy, const motley_samples *samples, picture from)
{
    const motley_policy_info *const info = motley_policy_describe(policy);
    picture made = { .width = info->width ? info->width : from.width,
                     .height = info->width ? info->height : from.height,
                     .channels = info->to_rgb ? 3 : from.channels,
                     .wide = from.wide };
    motley_error error; /* which motley_apply repeats */
    if (info->width || !samples || !info->stages || info->views ||
        motley_policy_result_sizes(policy, samples, 1, &from.width, &from.height, &made.width, &made.height, &error) ==
            MOTLEY_OK)
        return made;
    made.width = from.width;
    made.height = from.height;
    return made;
}

picture taken_by(const parts *opened, const part *taking, picture from)
{
    return opened->shares && taking != opened->part ? made_by(opened->part[0].policy, NULL, from) : from;
}

motley_status part_draw(const parts *opened, const part *drawing, const motley_samples *samples, size_t n, picture from,
                        motley_place *places, motley_step *steps, int32_t *counts, motley_error *error)
{
    const picture in = taken_by(opened, drawing, from);
    int32_t widths[PART_BLOCK], heights[PART_BLOCK];
    for (size_t i = 0; i < n; i++) {
        widths[i] = in.width;
        heights[i] = in.height;
    }
    return motley_draw(drawing->policy, samples, n, widths, heights, in.channels, opened->staged ? places : NULL, steps,
                       counts, error);
}

char *part_json(const parts *opened, const part *drawn, uint64_t sample, picture from, const motley_place *place,
                const motley_step *steps, int32_t count)
{
    const int32_t channels = made_by(drawn->policy, NULL, from).channels;
    char *text, *named;
    motley_error error;
    if (motley_draw_json(drawn->policy, sample, opened->staged ? place : NULL, steps, count, channels, &text, &error) !=
        MOTLEY_OK) {
        complain("%s", error.message);
        exit(EXIT_INPUT);
    }
    if (!drawn->view)
        return text;
    if (asprintf(&named, "%.*s, \"view\": \"%s\", \"result\": %d }", (int)strlen(text) - 2, text, drawn->view,
                 drawn->result) < 0)
        need(NULL);
    free(text);
    return named;
}

motley_status part_follow(const parts *opened, const part *drawn, picture from, const motley_place *place,
                          const motley_step *steps, int32_t count, size_t n, double *boxes, double *visibility,
                          uint8_t *keep, motley_error *error)
{
    const picture in = taken_by(opened, drawn, from);
    const size_t offsets[2] = { 0, n };
    double *left = need(calloc(n + 1, sizeof *left));
    uint8_t *kept = need(calloc(n + 1, 1));
    const motley_drawn what = { .count = 1,
                                .steps = steps,
                                .step_counts = &count,
                                .max_steps = (size_t)count,
                                .widths = &in.width,
                                .heights = &in.height,
                                .places = opened->staged ? place : NULL };
    const motley_followed followed = {
        .boxes_count = n, .boxes = boxes, .box_offsets = offsets, .visibility = left, .keep = kept
    };
    const motley_status status = motley_follow(&what, &followed, error);
    for (size_t i = 0; status == MOTLEY_OK && i < n; i++) {
        keep[i] &= kept[i];
        if (visibility)
            visibility[i] *= left[i];
    }
    free(left);
    free(kept);
    return status;
}
