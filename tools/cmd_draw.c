/* SPDX-License-Identifier: Apache-2.0 */
/* motley draw: prints what samples would get, a line each, without touching pixels. */
#include "tools/parts.h"

#include <stdlib.h>

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
        "transform the object also has the crop, what it is resized to, flips and erased boxes, and of one with views "
        "each result is a line, with the name of its view; what the views share comes first, as \"\".",
    .children = (const struct argp_child[]){ { &policy_argp, 0, NULL, 0 }, { &samples_argp, 0, NULL, 0 }, { 0 } },
};

/* Draws `count` samples, PART_BLOCK at most, by one part; `lines` of a sample are `opened->count` apart. */
static bool draw_part(const arguments *self, const parts *opened, const part *drawing, uint64_t first, size_t count,
                      char **lines)
{
    static motley_place places[PART_BLOCK];
    const picture image = { .width = self->width, .height = self->height, .channels = self->channels };
    const picture in = taken_by(opened, drawing, image);
    const size_t most = motley_policy_describe(drawing->policy)->max_steps;
    motley_step *steps = need(calloc(PART_BLOCK * (most + 1), sizeof *steps));
    int32_t counts[PART_BLOCK];
    float levels[PART_BLOCK];
    motley_samples samples = drawing->samples;
    motley_error error;
    samples.first = first;
    give_middle_boxes(&samples, count, in.width, in.height);
    give_levels(&self->options, &samples, count, levels);
    const bool good = accepted(part_draw(opened, drawing, &samples, count, image, places, steps, counts, &error),
                               self->policy, &error);
    for (size_t i = 0; good && i < count; i++)
        lines[i * opened->count] =
            part_json(opened, drawing, first + i, image, &places[i], steps + i * most, counts[i]);
    free(steps);
    return good;
}

static bool draw_all(const arguments *self, const parts *opened)
{
    const size_t block = PART_BLOCK / opened->count;
    char **lines = need(calloc(PART_BLOCK, sizeof *lines));
    bool good = true;
    for (uint64_t done = 0; good && done < self->samples;) {
        const size_t count = self->samples - done < block ? (size_t)(self->samples - done) : block;
        for (size_t p = 0; good && p < opened->count; p++)
            good = draw_part(self, opened, &opened->part[p], self->options.samples.first + done, count, lines + p);
        for (size_t i = 0; i < count * opened->count; i++) {
            good = good && puts(lines[i]) >= 0;
            free(lines[i]);
            lines[i] = NULL;
        }
        done += count;
    }
    free(lines);
    return good;
}

int cmd_draw(int argc, char **argv)
{
    arguments self = { .samples = 1, .width = 224, .height = 224, .channels = 3 };
    argp_parse(&argp, argc, argv, 0, NULL, &self);
    if (self.samples && self.options.samples.first > UINT64_MAX - (self.samples - 1)) {
        complain("--first and --samples go beyond the last sample, 2^64-1");
        policy_options_free(&self.options);
        return EXIT_USAGE;
    }
    parts opened;
    const bool good = parts_open(self.policy, &self.options, &opened) && draw_all(&self, &opened);
    parts_close(&opened);
    policy_options_free(&self.options);
    return good ? 0 : EXIT_INPUT;
}
