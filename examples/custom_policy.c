/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a policy, a file or the text below, and prints what its first samples would get. */
#include <motley.h>

#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 3 };

/* A built-in policy with changes. Of any policy, motley_policy_print gives the JSON, for programs to change and parse.
 */
static const char text[] = "motley: 1\n"
                           "name: mine\n"
                           "stages:\n"
                           "  - policy: {name: rand_augment, repeat: 3, level: 12, interpolation: bilinear}\n";

static void report(void *user, const motley_error *problem)
{
    fprintf(stderr, "%s:%d:%d: error: %s\n", (const char *)user, problem->line, problem->column, problem->message);
}

static void print_draws(const motley_policy *policy)
{
    const size_t max_steps = motley_policy_describe(policy)->max_steps;
    const int32_t widths[COUNT] = { 224, 224, 320 }, heights[COUNT] = { 224, 160, 240 };
    motley_step *steps = calloc(COUNT * max_steps, sizeof *steps);
    int32_t counts[COUNT];
    const motley_samples samples = { .seed = 1, .epoch = 3 };
    if (steps && motley_draw(policy, &samples, COUNT, widths, heights, 3, NULL, steps, counts, NULL) == MOTLEY_OK)
        for (size_t i = 0; i < COUNT; i++)
            for (int s = 0; s < counts[i]; s++)
                printf("sample %zu: %s %g\n", i, motley_op_get(steps[i * max_steps + s].op)->name,
                       steps[i * max_steps + s].values[0]);
    free(steps);
}

int main(int argc, char **argv)
{
    motley_error error;
    motley_policy *policy = NULL;
    const motley_parse_params params = { .report = report, .user = argc > 1 ? argv[1] : "text" };
    const int good = motley_policy_open(argc > 1 ? argv[1] : text, &params, &policy, &error) == MOTLEY_OK;
    if (good)
        print_draws(policy);
    else
        fprintf(stderr, "%s\n", error.message);
    motley_policy_destroy(policy);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
