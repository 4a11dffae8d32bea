/* SPDX-License-Identifier: Apache-2.0 */
/* motley show: prints a policy or a transform as canonical text, which loads back to an equal one. */
#include "tools/parts.h"

#include <stdlib.h>

typedef struct arguments {
    policy_options options;
    const char *policy;
    bool json, values;
    uint32_t epochs; /* the length that schedules get; 0: their own */
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *self = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &self->options;
        return 0;
    case 'j':
        self->json = true;
        return 0;
    case 'v':
        self->values = true;
        return 0;
    case 'e':
        self->options.samples.epoch = (uint32_t)read_integer(state, "--epoch", arg, 0, (1 << 30) - 1);
        self->options.every_epoch = false;
        return 0;
    case 'E':
        self->epochs = (uint32_t)read_integer(state, "--epochs", arg, 1, (1 << 30) - 1);
        return 0;
    default:
        return read_one_policy(key, arg, state, &self->policy);
    }
}

static const struct argp argp = {
    .parser = parse,
    .options =
        (const struct argp_option[]){
            { "json", 'j', NULL, 0, "Print JSON, which is a policy file, too", 0 },
            { "epoch", 'e', "E", 0, "Print what a transform with schedules is in an epoch", 0 },
            { "epochs", 'E', "COUNT", 0, "Print it with schedules of another length", 0 },
            { "values", 'v', NULL, 0, "Print as JSON what it can draw: chances, and the values at each level", 0 },
            { 0 } },
    .args_doc = "POLICY",
    .doc = "Prints a policy in full: a built-in name or a file, with the changes that are asked for; or a transform.\v"
           "Without --values the output is a policy file. doc/policy-format.md describes the format.",
    .children = (const struct argp_child[]){ { &policy_argp, 0, NULL, 0 }, { 0 } },
};

/* Prints a policy in one of its forms. */
static bool print(const arguments *self, const motley_policy *policy, bool staged)
{
    const motley_print_format format = self->values ? MOTLEY_PRINT_VALUES
                                       : self->json ? MOTLEY_PRINT_JSON
                                                    : MOTLEY_PRINT_TEXT;
    char *text = NULL;
    motley_error error = { .message = "it is a transform, want a policy for --values" };
    if ((staged && self->values) || motley_policy_print(policy, format, &text, &error) != MOTLEY_OK) {
        complain("%s: %s", policy_label(self->policy), error.message);
        return false;
    }
    fputs(text, stdout);
    free(text);
    return true;
}

/* Prints a transform with schedules of another length. */
static bool print_scaled(const arguments *self, const motley_policy *policy, bool staged)
{
    motley_policy *scaled = NULL;
    motley_error error = { .message = "it is a policy without schedules, want none of --epochs" };
    if (!staged || motley_policy_scale(policy, self->epochs, &scaled, &error) != MOTLEY_OK) {
        complain("%s: %s", policy_label(self->policy), error.message);
        return false;
    }
    const bool good = print(self, scaled, staged);
    motley_policy_destroy(scaled);
    return good;
}

int cmd_show(int argc, char **argv)
{
    arguments self = { .options.every_epoch = true };
    argp_parse(&argp, argc, argv, 0, NULL, &self);
    parts opened;
    bool good = parts_open(self.policy, &self.options, &opened);
    if (good) {
        const motley_policy *shown = self.options.only ? opened.part[opened.shares].policy : opened.whole;
        good = (self.epochs ? print_scaled : print)(&self, shown, opened.staged);
    }
    parts_close(&opened);
    policy_options_free(&self.options);
    return good ? 0 : EXIT_INPUT;
}
