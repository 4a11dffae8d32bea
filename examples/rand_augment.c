/* SPDX-License-Identifier: Apache-2.0 */
/* Applies RandAugment in place to a batch in host memory, and prints what each image got. */
#include <motley.h>

#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 4, SIDE = 32, CHANNELS = 3, NUM_OPS = 2, MAGNITUDE = 9 };

static void print_draw(int image, const motley_step *steps, int count)
{
    printf("image %d:", image);
    for (int s = 0; s < count; s++) {
        printf(" %s", motley_op_get(steps[s].op)->name);
        if (steps[s].values_count)
            printf(" %g", steps[s].values[0]);
        printf("%s", s + 1 < count ? "," : "");
    }
    printf("\n");
}

int main(void)
{
    static uint8_t pixels[COUNT][SIDE][SIDE][CHANNELS];
    for (size_t i = 0; i < sizeof pixels; i++) /* a smooth pattern in place of photographs */
        ((uint8_t *)pixels)[i] = (uint8_t)(i / 37 + i % 3 * 50);

    motley_error error;
    motley_context *context;
    const motley_context_params on_cpu = { .backend = MOTLEY_BACKEND_CPU };
    if (motley_context_create(&on_cpu, &context, &error) != MOTLEY_OK) {
        fprintf(stderr, "%s\n", error.message);
        return EXIT_FAILURE;
    }
    const motley_batch batch = { .count = COUNT, .channels = CHANNELS, .data = pixels, .width = SIDE, .height = SIDE };
    motley_step steps[COUNT][NUM_OPS];
    int32_t step_counts[COUNT];
    const motley_apply_params params = { .samples = { .seed = 7 }, .steps = steps[0], .step_counts = step_counts };
    const motley_status status = motley_rand_augment(context, NUM_OPS, MAGNITUDE, &batch, &batch, &params, &error);
    if (status != MOTLEY_OK)
        fprintf(stderr, "%s\n", error.message);
    for (int i = 0; status == MOTLEY_OK && i < COUNT; i++)
        print_draw(i, steps[i], step_counts[i]);
    motley_context_destroy(context);
    return status == MOTLEY_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
