/* SPDX-License-Identifier: Apache-2.0 */
/* motley stats: prints how often a policy or a transform applies each op, and with which values. */
#include "tools/summary.h"
#include "tools/tool.h"

#include <json-c/json.h>
#include <stdlib.h>

typedef struct arguments {
    policy_options options;
    counting_options counting;
    const char *policy;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *self = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &self->options;
        state->child_inputs[2] = &self->counting;
        return 0;
    default:
        return read_one_policy(key, arg, state, &self->policy);
    }
}

static const struct argp argp = {
    .parser = parse,
    .args_doc = "POLICY",
    .doc =
        "Prints how often a policy or a transform applies each operation to an image, and with which values.\v"
        "Frequencies are counted over samples that are drawn; a schedule's are those of --epoch. Values are all that "
        "the policy can draw, in the operation's unit (see 'motley ops'); a transform's are those that were drawn, and "
        "areas are shares of the image's.",
    .children =
        (const struct argp_child[]){
            { &policy_argp, 0, NULL, 0 }, { &samples_argp, 0, NULL, 0 }, { &counting_argp, 0, NULL, 0 }, { 0 } },
};

static bool print_stats(const arguments *self, const char *name, const op_summary *summary)
{
    if (!self->counting.json) {
        printf("%-16s %9s  %s\n", "op", "per image", "values");
        for (int i = 0; i < summary_rows(); i++) {
            char text[VALUES_TEXT];
            if (summary[i].used)
                printf("%-16s %9.4f  %s\n", summary[i].name, summary[i].per_image, values_text(&summary[i], text));
        }
        return true;
    }
    struct json_object *object = need(json_object_new_object()), *ops = need(json_object_new_array());
    json_object_object_add(object, "policy", need(json_object_new_string(name)));
    json_object_object_add(object, "samples", need(json_object_new_uint64(self->counting.samples)));
    json_object_object_add(object, "ops", ops);
    for (int i = 0; i < summary_rows(); i++) {
        if (!summary[i].used)
            continue;
        struct json_object *row = summary_json(&summary[i]);
        json_object_object_add(row, "op", need(json_object_new_string(summary[i].name)));
        json_object_array_add(ops, row);
    }
    return print_json(stdout, object);
}

int cmd_stats(int argc, char **argv)
{
    arguments self = { .counting = COUNTING_DEFAULTS };
    argp_parse(&argp, argc, argv, 0, NULL, &self);
    parts opened;
    const part *counted = NULL;
    op_summary *summary = NULL;
    if (parts_open(self.policy, &self.options, &opened) && (counted = parts_single(&opened, self.policy)))
        summary = summarise(self.policy, &opened, counted, &self.options, &self.counting);
    const bool good = summary && print_stats(&self, motley_policy_describe(counted->policy)->name, summary);
    summary_free(summary);
    parts_close(&opened);
    policy_options_free(&self.options);
    return good ? 0 : EXIT_INPUT;
}
