/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the policy parser: any text is refused with a place in it, or is a policy that prints, reads back equal and
 * draws; so is one of timm's strings. Seeds: run.sh names them. */
#include "motley.h"
#include "policies/policy.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

static void check_problem(void *user, const motley_error *problem)
{
    ++*(int *)user;
    MUST(problem->status == MOTLEY_ERR_POLICY && problem->line > 0 && problem->column > 0 && problem->message[0]);
}

static motley_status do_nothing(void *user, const motley_custom_batch *batch, motley_error *error)
{
    (void)user, (void)batch, (void)error;
    return MOTLEY_OK;
}

/* The custom ops that texts may name. */
static const motley_custom_op ops[] = { { .name = "mine", .unit = "px", .maximum = 9, .run = do_nothing },
                                        { .name = "own", .run = do_nothing } };

static void there_and_back(const motley_policy *policy)
{
    char *text;
    motley_policy *back;
    const motley_parse_params params = { .custom_ops = ops, .custom_ops_count = 2 };
    MUST(motley_policy_print(policy, MOTLEY_PRINT_TEXT, &text, NULL) == MOTLEY_OK);
    MUST(motley_policy_parse(text, strlen(text), &params, &back, NULL) == MOTLEY_OK);
    MUST(motley_policy_equal(policy, back));
    motley_policy_destroy(back);
    free(text);
    MUST(motley_policy_print(policy, MOTLEY_PRINT_JSON, &text, NULL) == MOTLEY_OK);
    MUST(motley_policy_parse(text, strlen(text), &params, &back, NULL) == MOTLEY_OK);
    MUST(motley_policy_equal(policy, back));
    MUST(policy->compiled_bytes == back->compiled_bytes);
    free(text);
    motley_policy_destroy(back);
}

/* `random`: of which epochs are among those that are drawn for. */
static void draw(const motley_policy *policy, uint32_t random)
{
    const motley_policy_info *const info = motley_policy_describe(policy);
    for (size_t v = 0; motley_policy_view(policy, v); v++)
        draw(motley_policy_view(policy, v)->policy, random);
    if (info->views)
        return;
    enum { SAMPLES = 8 };
    const int32_t sides[SAMPLES] = { 1, 2, 3, 32, 224, 333, 4096, 1048576 };
    const float levels[SAMPLES] = { 0, 1, 0.5f, 2, -1, NAN, 0.999f, 1e-30f };
    int32_t counts[SAMPLES];
    double boxes[2 * SAMPLES][4];
    size_t offsets[SAMPLES + 1];
    const size_t most = info->max_steps * (info->takes_boxes ? 2 : 1);
    motley_step *steps = malloc((most ? most : 1) * SAMPLES * sizeof *steps);
    fuzz_boxes(sides, SAMPLES, boxes, offsets);
    const uint32_t epochs[] = { 0, 1, random % 16, random % 300, random % 16384, (1u << 30) - 1 };
    for (size_t k = 0; k < sizeof epochs / sizeof *epochs; k++) {
        const motley_samples samples = {
            .seed = 1, .epoch = epochs[k], .boxes = boxes[0], .box_offsets = offsets, .levels = levels
        };
        motley_error error = { 0 };
        const motley_status status =
            motley_draw(policy, &samples, SAMPLES, sides, sides, 3, NULL, steps, counts, &error);
        if (info->stages && strstr(error.message, "each way")) /* a stage makes an image larger than any may be */
            continue;
        MUST(status == MOTLEY_OK);
        for (int i = 0; i < SAMPLES; i++)
            MUST(counts[i] >= 0 && (size_t)counts[i] <= most);
        for (int i = 0; i < SAMPLES; i++)
            for (int k = 0; k < counts[i]; k++)
                MUST(info->stages || motley_policy_op(policy, steps[(size_t)i * most + (size_t)k].op));
    }
    free(steps);
}

/* What a policy with schedules means in an epoch can be made, and takes no more steps than it says. */
static void draw_in(const motley_policy *policy, uint32_t epoch)
{
    motley_policy *plain;
    MUST(motley_policy_at(policy, epoch, &plain, NULL) == MOTLEY_OK);
    MUST(motley_policy_describe(plain)->max_steps == motley_policy_describe(policy)->max_steps);
    draw(plain, epoch);
    motley_policy_destroy(plain);
}

/* One of timm's strings. */
static void read_timm(const uint8_t *data, size_t size)
{
    char name[600] = "timm:";
    motley_policy *policy;
    motley_error error = { 0 };
    memcpy(name + 5, data, size < 500 ? size : 500);
    const motley_status status = motley_policy_builtin(name, &policy, &error);
    MUST((status == MOTLEY_OK) == (policy != NULL) && (policy || error.message[0]));
    if (policy)
        there_and_back(policy);
    motley_policy_destroy(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    motley_policy *policy;
    motley_error error = { 0 };
    int problems = 0;
    const motley_parse_params params = {
        .report = check_problem, .user = &problems, .custom_ops = ops, .custom_ops_count = 2
    };
    const motley_status status = motley_policy_parse((const char *)data, size, &params, &policy, &error);
    MUST(status == MOTLEY_OK || status == MOTLEY_ERR_POLICY);
    MUST((status == MOTLEY_OK) == (policy != NULL));
    MUST((status == MOTLEY_OK) == (problems == 0));
    if (policy) {
        there_and_back(policy);
        const uint32_t random = (uint32_t)(fuzz_hash(data, size) >> 32);
        draw(policy, random);
        draw_in(policy, random % 300);
        draw_in(policy, random % (1u << 30));
        motley_policy_destroy(policy);
    }
    read_timm(data, size);
    return 0;
}
