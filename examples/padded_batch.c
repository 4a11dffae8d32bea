/* SPDX-License-Identifier: Apache-2.0 */
/* A padded batch with its mask, as DETR wants them: the results have sizes of their own, lie at the upper left of
 * frames of one size, and are written there by the call. On CUDA cudaMemsetAsync and cudaMemset2DAsync fill block and
 * mask. */
#include <motley.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 3, CHANNELS = 3, MULTIPLE = 32 };

static int32_t largest(const int32_t *sides)
{
    int32_t most = 0;
    for (int i = 0; i < COUNT; i++)
        most = sides[i] > most ? sides[i] : most;
    return (most + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
}

int main(void)
{
    static uint8_t photos[COUNT][480 * 640 * CHANNELS];
    const int32_t widths[COUNT] = { 640, 480, 500 }, heights[COUNT] = { 480, 640, 375 };
    int32_t result_widths[COUNT], result_heights[COUNT];
    motley_image sources[COUNT], results[COUNT];
    motley_error error;
    motley_context *context = NULL;
    motley_policy *policy = NULL;
    const motley_context_params on_cpu = { .backend = MOTLEY_BACKEND_CPU };
    const motley_apply_params params = { .samples = { .seed = 7, .epoch = 2, .first = 1000 } };
    float *block = NULL; /* [COUNT][CHANNELS][height][width], 0 where there is no image */
    size_t wrong = 0;
    uint8_t *mask = NULL; /* [COUNT][height][width], 1 where there is no image */

    /* The draws of these samples say how large the results will be. */
    motley_status status = motley_context_create(&on_cpu, &context, &error);
    if (status == MOTLEY_OK)
        status = motley_policy_builtin("detr", &policy, &error);
    if (status == MOTLEY_OK)
        status = motley_policy_result_sizes(policy, &params.samples, COUNT, widths, heights, result_widths,
                                            result_heights, &error);
    if (status == MOTLEY_OK) {
        const size_t width = (size_t)largest(result_widths), height = (size_t)largest(result_heights);
        const size_t plane = width * height;
        block = calloc(COUNT * CHANNELS * plane, sizeof *block);
        mask = malloc(COUNT * plane);
        if (!block || !mask)
            return EXIT_FAILURE;
        memset(mask, 1, COUNT * plane);
        for (int i = 0; i < COUNT; i++) {
            memset(photos[i], 60 * (i + 1), sizeof photos[i]); /* in place of a photograph */
            sources[i] = (motley_image){ photos[i], widths[i], heights[i], widths[i] * CHANNELS, CHANNELS, 1 };
            results[i] = (motley_image){ .data = block + (size_t)i * CHANNELS * plane,
                                         .width = result_widths[i],
                                         .height = result_heights[i],
                                         .row_stride = (int64_t)(width * sizeof *block),
                                         .pixel_stride = sizeof *block,
                                         .channel_stride = (int64_t)(plane * sizeof *block) };
            for (int32_t y = 0; y < result_heights[i]; y++)
                memset(mask + (size_t)i * plane + (size_t)y * width, 0, (size_t)result_widths[i]);
        }
        const motley_batch src = { .count = COUNT, .channels = CHANNELS, .images = sources };
        const motley_batch dst = { .count = COUNT, .channels = CHANNELS, .dtype = MOTLEY_F32, .images = results };
        status = motley_apply(context, policy, &src, &dst, &params, &error);
        for (size_t k = 0; status == MOTLEY_OK && k < COUNT * plane; k++) /* no pixel of these photographs becomes 0 */
            wrong += (block[k / plane * CHANNELS * plane + k % plane] == 0) != mask[k];
        for (int i = 0; status == MOTLEY_OK && i < COUNT; i++)
            printf("image %d: %d x %d of %zu x %zu\n", i, result_widths[i], result_heights[i], width, height);
    }
    if (status != MOTLEY_OK)
        fprintf(stderr, "%s\n", error.message);
    if (wrong > 0)
        fprintf(stderr, "%zu pixels are not what the mask says\n", wrong);
    free(mask);
    free(block);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
    return status == MOTLEY_OK && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
