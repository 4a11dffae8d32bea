/* SPDX-License-Identifier: Apache-2.0 */
/* motley compare: prints side by side what policies, or transforms, do with each op. */
#include "tools/summary.h"
#include "tools/tool.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define MAX_POLICIES 16

typedef struct arguments {
    policy_options options;
    counting_options counting;
    const char *policy[MAX_POLICIES];
    int policies;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *self = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &self->options;
        state->child_inputs[2] = &self->counting;
        return 0;
    case ARGP_KEY_ARG:
        if (self->policies == MAX_POLICIES)
            argp_error(state, "more than %d policies", MAX_POLICIES);
        self->policy[self->policies++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (self->policies < 2)
            argp_error(state, "%d policies are given, want two or more", self->policies);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .parser = parse,
    .args_doc = "POLICY POLICY...",
    .doc =
        "Prints policies or transforms side by side: for each operation the values that it gets, and how many times an "
        "image gets it.\v"
        "'motley compare --level 9 rand_augment timm_rand_augment' shows what level 9 means to each. Changes such as "
        "--level apply to every policy. Values are in the operation's unit (see 'motley ops').",
    .children =
        (const struct argp_child[]){
            { &policy_argp, 0, NULL, 0 }, { &samples_argp, 0, NULL, 0 }, { &counting_argp, 0, NULL, 0 }, { 0 } },
};

static void print_table(const arguments *self, op_summary *const *summary)
{
    int width[MAX_POLICIES];
    char text[VALUES_TEXT], cell[VALUES_TEXT + 32];
    for (int pass = 0; pass < 2; pass++) { /* the widths first */
        for (int i = -1; i < summary_rows(); i++) {
            bool used = i < 0;
            for (int p = 0; p < self->policies; p++)
                used = used || summary[p][i].used;
            if (!used)
                continue;
            if (pass)
                printf("%-16s", i < 0 ? "op" : summary[0][i].name);
            for (int p = 0; p < self->policies; p++) {
                if (i < 0)
                    snprintf(cell, sizeof cell, "%s", policy_label(self->policy[p]));
                else if (summary[p][i].used)
                    snprintf(cell, sizeof cell, "%s (x %.3f)", values_text(&summary[p][i], text),
                             summary[p][i].per_image);
                else
                    snprintf(cell, sizeof cell, "-");
                const int length = (int)strlen(cell);
                width[p] = !pass && (i < 0 || length > width[p]) ? length : width[p];
                if (pass)
                    printf("  %-*s", p + 1 < self->policies ? width[p] : 0, cell);
            }
            if (pass)
                printf("\n");
        }
    }
}

static bool print_comparison_json(const arguments *self, op_summary *const *summary)
{
    struct json_object *object = need(json_object_new_object());
    for (int p = 0; p < self->policies; p++) {
        struct json_object *ops = need(json_object_new_object());
        for (int i = 0; i < summary_rows(); i++)
            if (summary[p][i].used)
                json_object_object_add(ops, summary[p][i].name, summary_json(&summary[p][i]));
        json_object_object_add(object, self->policy[p], ops);
    }
    return print_json(stdout, object);
}

int cmd_compare(int argc, char **argv)
{
    arguments self = { .counting = COUNTING_DEFAULTS };
    argp_parse(&argp, argc, argv, 0, NULL, &self);
    op_summary *summary[MAX_POLICIES] = { NULL };
    bool good = true;
    for (int p = 0; p < self.policies; p++) {
        parts opened;
        const part *counted = NULL;
        if (parts_open(self.policy[p], &self.options, &opened) && (counted = parts_single(&opened, self.policy[p])))
            summary[p] = summarise(self.policy[p], &opened, counted, &self.options, &self.counting);
        good = good && summary[p];
        parts_close(&opened);
    }
    if (good && self.counting.json)
        good = print_comparison_json(&self, summary);
    else if (good)
        print_table(&self, summary);
    for (int p = 0; p < self.policies; p++)
        summary_free(summary[p]);
    policy_options_free(&self.options);
    return good ? 0 : EXIT_INPUT;
}
