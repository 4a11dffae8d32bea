/* SPDX-License-Identifier: Apache-2.0 */
/* motley draw: what samples would get, a line each, without touching a pixel. */
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
    .doc = "Prints what samples would get, a JSON object a line, without touching a pixel.\v"
           "A draw depends on the policy, the seed, the epoch, the sample's id and the view, and on nothing else. Values "
           "are in the operation's unit (see 'motley ops'); steps that were drawn but not applied are left out.",
    .children = (const struct argp_child[]){ { &policy_argp, 0, NULL, 0 }, { &samples_argp, 0, NULL, 0 }, { 0 } },
};

static bool draw_all(const arguments *self, const motley_policy *policy)
{
    const size_t max_steps = motley_policy_max_steps(policy);
    motley_step *steps = need(calloc(BLOCK * (max_steps ? max_steps : 1), sizeof *steps));
    int32_t counts[BLOCK], widths[BLOCK], heights[BLOCK];
    for (size_t i = 0; i < BLOCK; i++) {
        widths[i] = self->width;
        heights[i] = self->height;
    }
    bool good = true;
    for (uint64_t done = 0; good && done < self->samples;) {
        const size_t count = self->samples - done < BLOCK ? (size_t)(self->samples - done) : BLOCK;
        motley_samples samples = self->options.samples;
        samples.first += done;
        motley_error error;
        if (motley_draw(policy, &samples, count, widths, heights, self->channels, steps, counts, &error) != MOTLEY_OK) {
            complain("%s: %s", self->policy, error.message);
            good = false;
        }
        for (size_t i = 0; good && i < count; i++) {
            char *line = draw_json(policy, samples.first + i, steps + i * max_steps, counts[i], self->channels);
            good = puts(line) >= 0;
            free(line);
        }
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
    motley_policy *policy = open_policy(self.policy, &self.options.changes);
    const bool good = policy && draw_all(&self, policy);
    motley_policy_destroy(policy);
    return good ? 0 : EXIT_INPUT;
}
