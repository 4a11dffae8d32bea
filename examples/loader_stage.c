/* SPDX-License-Identifier: Apache-2.0 */
/* The transform stage of a loader on the CPU: images of many sizes arrive shuffled, each with its sample id, so its
 * draw depends neither on its batch nor on its place in the batch. */
#include <motley.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct sample {
    uint64_t id;
    int32_t width, height;
    uint8_t *pixels; /* [height][width][3] */
} sample;

/* Augments the batch in place. A loader keeps `context` and `policy` for as long as it runs. */
static motley_status augment(motley_context *context, const motley_policy *policy, const sample *samples, size_t count,
                             uint32_t epoch, motley_error *error)
{
    enum { MOST = 64 };
    motley_image images[MOST];
    uint64_t ids[MOST];
    for (size_t i = 0; i < count && i < MOST; i++) {
        images[i] =
            (motley_image){ samples[i].pixels, samples[i].width, samples[i].height, 3 * samples[i].width, 3, 1 };
        ids[i] = samples[i].id;
    }
    const motley_batch batch = { .count = count < MOST ? count : MOST, .channels = 3, .images = images };
    const motley_apply_params params = { .samples = { .seed = 1, .epoch = epoch, .ids = ids } };
    return motley_apply(context, policy, &batch, &batch, &params, error);
}

int main(void)
{
    static uint8_t a[48 * 64 * 3], b[32 * 32 * 3], c[20 * 40 * 3];
    const sample batch[] = { { 1201, 64, 48, a }, { 17, 32, 32, b }, { 640, 40, 20, c } };
    motley_error error;
    motley_context *context = NULL;
    motley_policy *policy = NULL;
    const motley_context_params on_cpu = { .backend = MOTLEY_BACKEND_CPU }; /* where these pixels are */
    motley_status status = motley_context_create(&on_cpu, &context, &error);
    if (status == MOTLEY_OK)
        status = motley_policy_builtin("trivial_augment_wide", &policy, &error);
    for (uint32_t epoch = 0; status == MOTLEY_OK && epoch < 2; epoch++)
        status = augment(context, policy, batch, 3, epoch, &error);
    if (status == MOTLEY_OK)
        puts("augmented 3 images in each of 2 epochs");
    else
        fprintf(stderr, "%s\n", error.message);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
    return status == MOTLEY_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
