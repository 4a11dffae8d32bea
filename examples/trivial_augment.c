/* SPDX-License-Identifier: Apache-2.0 */
/* TrivialAugment on the first GPU, or on the CPU if there is none: pixels are copied to the context's memory and back.
 */
#include <motley.h>

#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 16, SIDE = 48, BYTES = COUNT * SIDE * SIDE * 3 };

static motley_status augment(motley_context *context, uint8_t *pixels, motley_error *error)
{
    void *memory;
    motley_status status = motley_memory_create(context, MOTLEY_MEMORY_DEVICE, BYTES, &memory, error);
    const motley_batch batch = { .count = COUNT, .channels = 3, .data = memory, .width = SIDE, .height = SIDE };
    const motley_apply_params params = { .samples = { .seed = 7 } };
    if (status == MOTLEY_OK)
        status = motley_memory_copy(context, memory, pixels, BYTES, NULL, error);
    if (status == MOTLEY_OK)
        status = motley_trivial_augment(context, &batch, &batch, &params, error); /* on CUDA, queued */
    if (status == MOTLEY_OK)
        status = motley_memory_copy(context, pixels, memory, BYTES, NULL, error);
    if (status == MOTLEY_OK)
        status = motley_context_wait(context, NULL, error);
    motley_memory_destroy(context, memory);
    return status;
}

int main(void)
{
    static uint8_t pixels[BYTES];
    for (size_t i = 0; i < BYTES; i++) /* a smooth pattern in place of photographs */
        pixels[i] = (uint8_t)(i / 37 + i % 3 * 50);
    motley_error error;
    motley_context *context;
    motley_status status = motley_context_create(NULL, &context, &error);
    if (status == MOTLEY_OK)
        status = augment(context, pixels, &error);
    if (status == MOTLEY_OK)
        printf("%d images on the %s\n", COUNT, motley_context_backend(context) == MOTLEY_BACKEND_CUDA ? "GPU" : "CPU");
    else
        fprintf(stderr, "%s\n", error.message);
    motley_context_destroy(context);
    return status == MOTLEY_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
