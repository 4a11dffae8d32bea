/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reading of draws: any text is refused with a place in it, or is a draw that is written, reads back the
 * same, and can be replayed. */
#include "motley.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_STEPS = 16, SIDE = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static motley_context *context;
    static motley_policy *policy;
    if (!context) {
        MUST(motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU, .threads = 1 }, &context,
                                   NULL) == MOTLEY_OK);
        MUST(motley_policy_builtin("rand_augment", &policy, NULL) == MOTLEY_OK);
    }
    motley_step steps[MOST_STEPS], back[MOST_STEPS];
    memset(steps, 0, sizeof steps);
    memset(back, 0, sizeof back);
    uint64_t sample = 0, sample_back = 1;
    int32_t count = 0, count_back = -1;
    motley_error error = { 0 };
    const int32_t channels = size ? data[0] % 4 + 1 : 3;
    if (size)
        data++, size--;
    const motley_status status =
        motley_draw_read((const char *)data, size, channels, &sample, NULL, steps, MOST_STEPS, &count, &error);
    if (status != MOTLEY_OK) {
        MUST(status == MOTLEY_ERR_POLICY && error.line > 0 && error.column > 0 && *error.message);
        return 0;
    }
    char *text = NULL, *again = NULL;
    MUST(count >= 0 && count <= MOST_STEPS);
    MUST(motley_draw_json(policy, sample, NULL, steps, count, channels, &text, &error) == MOTLEY_OK);
    MUST(motley_draw_read(text, strlen(text), channels, &sample_back, NULL, back, MOST_STEPS, &count_back, &error) ==
         MOTLEY_OK);
    MUST(sample_back == sample && count_back == count);
    MUST(motley_draw_json(policy, sample, NULL, back, count, channels, &again, &error) == MOTLEY_OK);
    MUST(strcmp(text, again) == 0);
    free(text);
    free(again);
    for (int i = 0; i < count; i++) {
        const motley_op_info *op = motley_op_get(steps[i].op); /* NULL: the step mixes chains */
        if (op && op->shape == MOTLEY_SHAPE_BLUR && !(steps[i].values[0] < 100))
            return 0; /* takes long */
    }
    uint8_t pixels[SIDE * SIDE * 4];
    memset(pixels, 7, sizeof pixels);
    const motley_batch batch = { .count = 1, .channels = channels, .data = pixels, .width = SIDE, .height = SIDE };
    const motley_apply_params given = { .given_steps = steps,
                                        .given_step_counts = &count,
                                        .given_max_steps = MOST_STEPS };
    const motley_status replayed = motley_apply(context, NULL, &batch, &batch, &given, &error);
    MUST(replayed == MOTLEY_OK || (error.status == replayed && *error.message));
    return 0;
}
