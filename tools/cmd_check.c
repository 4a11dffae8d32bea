/* SPDX-License-Identifier: Apache-2.0 */
/* motley check: reports every mistake in files of policies and transforms. */
#include "tools/tool.h"

#include <stdlib.h>
#include <unistd.h>

#define SAMPLES 4096 /* that are drawn to see which ops a policy has */

typedef struct arguments {
    int first; /* file */
    int32_t bands;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *const self = state->input;
    if (key == ARGP_KEY_ARGS)
        self->first = state->next;
    else if (key == 'b')
        self->bands = (int32_t)read_integer(state, "--bands", arg, 1, MOTLEY_MAX_BANDS);
    else if (key == ARGP_KEY_NO_ARGS)
        argp_error(state, "want at least one FILE");
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static const struct argp_option options[] = {
    { "bands", 'b', "N", 0, "Also say which steps need three colours, and leave images of N bands as they are", 0 },
    { 0 },
};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "FILE...",
    .doc = "Reports every mistake in files of policies and transforms, as FILE:LINE:COLUMN: error: MESSAGE on standard "
           "error. A built-in policy's name stands for it where there is no file of that name.\v"
           "Says nothing but what --bands asks for, and exits 0, when all files are good.",
};

/* Opens a file, whatever it is called; where there is none, what a name stands for. NULL after a message. */
static motley_policy *open_either(const char *name)
{
    if (motley_policy_source_of(name) != MOTLEY_POLICY_BUILTIN || access(name, F_OK) == 0)
        return open_policy_file(name);
    motley_policy *policy = NULL;
    motley_error error;
    if (motley_policy_open(name, NULL, &policy, &error) != MOTLEY_OK)
        complain("there is no file '%s', and %s", name, error.message);
    return policy;
}

static void say_colour(const char *name, const char *view, const char *step, int32_t bands)
{
    printf("%s: %s%s%s needs three colours, and leaves images of %d bands as they are\n", name, view, *view ? ": " : "",
           step, (int)bands);
}

/* Prints what a policy, or one of its views, draws that needs three colours. False after a message. */
static bool say_colours(const char *name, const char *view, const motley_policy *policy, int32_t bands)
{
    const motley_policy_info *const info = motley_policy_describe(policy);
    const motley_view *part;
    for (size_t v = 0; info->views && (part = motley_policy_view(policy, v)); v++)
        if (!say_colours(name, *part->name ? part->name : "shared", part->policy, bands))
            return false;
    if (info->views)
        return true;
    const size_t most = (size_t)(info->max_steps > 0 ? info->max_steps : 1);
    int32_t *const sides = need(malloc(2 * SAMPLES * sizeof *sides)), *const counts = sides + SAMPLES;
    float *const levels = need(malloc(SAMPLES * sizeof *levels));
    motley_step *const steps = need(calloc(SAMPLES * most, sizeof *steps));
    for (size_t i = 0; i < SAMPLES; i++) {
        sides[i] = 512;
        levels[i] = 0.5f;
    }
    const motley_samples samples = { .levels = levels };
    motley_error error;
    const bool drawn =
        motley_draw(policy, &samples, SAMPLES, sides, sides, 3, NULL, steps, counts, &error) == MOTLEY_OK;
    if (!drawn)
        complain("%s: %s", name, error.message);
    if (info->to_rgb)
        say_colour(name, view, "to_rgb", bands);
    for (int op = MOTLEY_STEP_HUE; drawn && op < motley_op_count(); op++) {
        bool has = false;
        for (size_t i = 0; i < SAMPLES; i++)
            for (int32_t s = 0; s < counts[i]; s++)
                has |= steps[i * most + (size_t)s].op == op;
        const motley_op_info *const row = op < 0 ? NULL : motley_op_get(op);
        if (has && (op == MOTLEY_STEP_HUE || (row && row->shape == MOTLEY_SHAPE_COLOR)))
            say_colour(name, view, row ? row->name : "hue", bands);
    }
    free(steps);
    free(levels);
    free(sides);
    return drawn;
}

int cmd_check(int argc, char **argv)
{
    arguments self = { .first = argc };
    int status = 0;
    argp_parse(&argp, argc, argv, 0, NULL, &self);
    for (int i = self.first; i < argc; i++) {
        motley_policy *policy = open_either(argv[i]);
        if (!policy || (self.bands && self.bands != 3 && !say_colours(argv[i], "", policy, self.bands)))
            status = EXIT_INPUT;
        motley_policy_destroy(policy);
    }
    return status;
}
