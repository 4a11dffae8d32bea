/* SPDX-License-Identifier: Apache-2.0 */
/* motley draw: prints what samples would get, a line each, without touching pixels. */
#include "tools/tool.h"

#include <stdlib.h>

#define BLOCK 1024 /* samples drawn at a time */

typedef struct arguments {
    policy_options options;
    const char *policy;
    uint64_t samples;
    int32_t width, height, channels;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *self = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &self->options;
        return 0;
    case 'N':
        self->samples = (uint64_t)read_integer(state, "--samples", arg, 0, INT64_MAX);
        return 0;
    case 'F':
        self->options.samples.first = read_unsigned(state, "--first", arg);
        return 0;
    case 'S':
        read_size(state, arg, &self->width, &self->height);
        return 0;
    case 'C':
        self->channels = (int32_t)read_integer(state, "--channels", arg, 1, 4);
        return 0;
    default:
        return read_one_policy(key, arg, state, &self->policy);
    }
}

static const struct argp argp = {
    .parser = parse,
    .options =
        (const struct argp_option[]){
            { "samples", 'N', "COUNT", 0, "How many samples (1)", 0 },
            { "first", 'F', "ID", 0, "The id of the first sample (0)", 0 },
            { "size", 'S', "WIDTHxHEIGHT", 0, "Size of the images (224x224); counts for values relative to it", 0 },
            { "channels", 'C', "COUNT", 0, "Channels of the images (3); as many numbers has a fill", 0 },
            { 0 } },
    .args_doc = "POLICY",
    .doc =
        "Prints what samples would get, a JSON object a line, without touching a pixel.\v"
        "A draw depends on the policy, the seed, the epoch, the sample's id and the view, and on nothing else. Values "
        "are in the operation's unit (see 'motley ops'); steps that were drawn but not applied are left out. Of a "
        "transform the object also has the crop, what it is resized to, flips and erased boxes.",
    .children = (const struct argp_child[]){ { &policy_argp, 0, NULL, 0 }, { &samples_argp, 0, NULL, 0 }, { 0 } },
};

/* Draws `count` samples, BLOCK at most, and prints them. */
static bool draw_block(const arguments *self, const motley_policy *policy, const motley_policy *transform,
                       const motley_samples *samples, size_t count, motley_step *steps, size_t max_steps)
{
    static motley_place drawn[BLOCK];
    int32_t counts[BLOCK], widths[BLOCK], heights[BLOCK];
    motley_error error;
    for (size_t i = 0; i < count; i++) {
        widths[i] = self->width;
        heights[i] = self->height;
    }
    motley_status status =
        policy ? motley_draw(policy, samples, count, widths, heights, self->channels, NULL, steps, counts, &error)
               : motley_draw(transform, samples, count, widths, heights, self->channels, drawn, steps, counts, &error);
    bool good = true;
    for (size_t i = 0; status == MOTLEY_OK && good && i < count; i++) {
        char *line = NULL;
        if (policy)
            line = draw_json(policy, samples->first + i, steps + i * max_steps, counts[i], self->channels);
        else
            status = motley_draw_json(transform, samples->first + i, &drawn[i], steps + i * max_steps, counts[i],
                                      result_channels(transform, self->channels), &line, &error);
        good = !line || puts(line) >= 0;
        free(line);
    }
    if (status != MOTLEY_OK)
        complain("%s: %s", policy_label(self->policy), error.message);
    return good && status == MOTLEY_OK;
}

static bool draw_all(const arguments *self, const motley_policy *policy, const motley_policy *transform)
{
    const size_t max_steps =
        policy ? motley_policy_describe(policy)->max_steps : motley_policy_describe(transform)->max_steps;
    motley_step *steps = need(calloc(BLOCK * (max_steps ? max_steps : 1), sizeof *steps));
    float levels[BLOCK];
    bool good = true;
    for (uint64_t done = 0; good && done < self->samples;) {
        const size_t count = self->samples - done < BLOCK ? (size_t)(self->samples - done) : BLOCK;
        motley_samples samples = self->options.samples;
        samples.first += done;
        give_middle_boxes(&samples, count, self->width, self->height);
        give_levels(&self->options, &samples, count, levels);
        good = draw_block(self, policy, transform, &samples, count, steps, max_steps);
        done += count;
    }
    free(steps);
    return good;
}

int cmd_draw(int argc, char **argv)
{
    arguments self = { .samples = 1, .width = 224, .height = 224, .channels = 3 };
    argp_parse(&argp, argc, argv, 0, NULL, &self);
    if (self.samples && self.options.samples.first > UINT64_MAX - (self.samples - 1)) {
        complain("--first and --samples go beyond the last sample, 2^64-1");
        return EXIT_USAGE;
    }
    motley_policy *policy;
    motley_policy *transform;
    const bool good =
        open_either(self.policy, &self.options, &policy, &transform) && draw_all(&self, policy, transform);
    motley_policy_destroy(policy);
    motley_policy_destroy(transform);
    free(self.options.levels);
    return good ? 0 : EXIT_INPUT;
}
