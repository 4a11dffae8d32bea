/* SPDX-License-Identifier: Apache-2.0 */
/* motley bench: measures speed. Each result is first checked against the reference, and compared with a copy. */
#include "bench/bench.h"
#include "tools/tool.h"

#include <string.h>

typedef struct arguments {
    policy_options options;
    bench_params bench;
    char **policies; /* [count] */
    int count;
    const char *op; /* NAME or "all"; NULL: policies */
    double values[MOTLEY_MAX_VALUES];
} arguments;

enum { KEY_OP = 256, KEY_LAYOUT, KEY_RUNS, KEY_IN_PLACE };

/* "NAME" or "NAME=VALUE,..." */
static void read_op(struct argp_state *state, char *text, arguments *self)
{
    char *equals = strchr(text, '=');
    self->op = text;
    if (!equals)
        return;
    *equals = '\0';
    self->bench.values = self->values;
    self->bench.values_count = read_list(state, "the value in --op", equals + 1, self->values, MOTLEY_MAX_VALUES);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *self = state->input;
    bench_params *bench = &self->bench;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &self->options;
        state->child_inputs[1] = &bench->context;
        return 0;
    case KEY_OP:
        read_op(state, arg, self);
        return 0;
    case 'S':
        read_size(state, arg, &bench->width, &bench->height);
        return 0;
    case 'C':
        bench->channels = (int32_t)read_integer(state, "--channels", arg, 1, 4);
        return 0;
    case 'B':
        bench->batch = (size_t)read_integer(state, "--batch", arg, 1, 1000000);
        return 0;
    case KEY_RUNS:
        bench->runs = (int)read_integer(state, "--runs", arg, 1, BENCH_MAX_RUNS);
        return 0;
    case KEY_LAYOUT:
        if (strcmp(arg, "hwc") != 0 && strcmp(arg, "chw") != 0)
            argp_error(state, "--layout is '%s', want hwc or chw", arg);
        bench->layout = strcmp(arg, "hwc") == 0 ? MOTLEY_HWC : MOTLEY_CHW;
        return 0;
    case KEY_IN_PLACE:
        bench->in_place = 1;
        return 0;
    case 'j':
        bench->json = 1;
        return 0;
    case ARGP_KEY_ARGS:
        self->policies = state->argv + state->next;
        self->count = state->argc - state->next;
        return 0;
    case ARGP_KEY_END:
        if (self->op && self->count)
            argp_error(state, "want --op or POLICY, not both");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .parser = parse,
    .options =
        (const struct argp_option[]){
            { "op", KEY_OP, "NAME[=VALUE]", 0, "One operation in place of a policy; 'all' is every one", 0 },
            { "size", 'S', "WIDTHxHEIGHT", 0, "Size of the images (224x224)", 0 },
            { "channels", 'C', "COUNT", 0, "Channels of the images (3)", 0 },
            { "batch", 'B', "COUNT", 0, "Images of a batch (64)", 0 },
            { "layout", KEY_LAYOUT, "NAME", 0, "hwc (default) or chw", 0 },
            { "in-place", KEY_IN_PLACE, NULL, 0, "Write over the images", 0 },
            { "runs", KEY_RUNS, "COUNT", 0, "How often each is timed; the median counts (15)", 0 },
            { "json", 'j', NULL, 0, "A JSON object a line in place of a table", 0 },
            { 0 } },
    .args_doc = "[POLICY...]",
    .doc =
        "Measures the speed of policies, rand_augment and trivial_augment_wide when none is named, or of operations.\v"
        "Nothing is timed that differs from the reference in one byte. Beside each stands the time of a copy of the "
        "same bytes, on one thread or by the GPU. There, several batches are queued one after the other, each with "
        "separate buffers, and timed from the first call to the end of the last.",
    .children = (const struct argp_child[]){ { &policy_argp, 0, NULL, 0 }, { &device_argp, 0, NULL, 0 }, { 0 } },
};

static bool run(const bench_params *bench, const char *name)
{
    motley_error error;
    if (bench_run(bench, stdout, &error) == MOTLEY_OK)
        return true;
    complain("%s: %s", name, error.message);
    return false;
}

static bool run_op(arguments *self)
{
    const bool all = strcmp(self->op, "all") == 0;
    self->bench.op = all ? -1 : motley_op_find(self->op);
    if (!all && self->bench.op < 0) {
        complain("unknown operation '%s'; 'motley ops' lists them", self->op);
        return false;
    }
    for (int i = 0; i < 3; i++)
        if (self->options.interpolations & 1 << i)
            self->bench.interpolation = (motley_interpolation)i;
    return run(&self->bench, self->op);
}

static bool run_policies(arguments *self)
{
    static char *defaults[] = { "rand_augment", "trivial_augment_wide" };
    char **names = self->count ? self->policies : defaults;
    bool good = true;
    for (int i = 0; i < (self->count ? self->count : 2); i++) {
        motley_policy *policy = open_policy(names[i], self->options.changes);
        const bool staged = policy && motley_policy_describe(policy)->stages > 0;
        if (staged)
            complain("%s: it is a transform, want a policy without stages", policy_label(names[i]));
        self->bench.policy = policy;
        good = policy && !staged && run(&self->bench, policy_label(names[i])) && good;
        motley_policy_destroy(policy);
    }
    return good;
}

int cmd_bench(int argc, char **argv)
{
    arguments self = { .bench = { .op = -1, .context.backend = MOTLEY_BACKEND_CPU } };
    argp_parse(&argp, argc, argv, 0, NULL, &self);
    const bool good = self.op ? run_op(&self) : run_policies(&self);
    policy_options_free(&self.options);
    return good ? 0 : EXIT_INPUT;
}
