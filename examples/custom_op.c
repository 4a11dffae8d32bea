/* SPDX-License-Identifier: Apache-2.0 */
/* A custom op in a policy: a cutout that leaves noise instead of a flat colour. Its place comes from the numbers drawn
 * for the step, so each sample gets the same in every run. One of three branches is chosen per image. */
#include <motley.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 8, SIDE = 32, CHANNELS = 3 };

static const char text[] = "motley: 1\n"
                           "name: noisy\n"
                           "bins: 5\n"
                           "level: uniform\n"
                           "ops:\n"
                           "  noise_cutout: {range: [0, 0.5], of: width, round: trunc}\n"
                           "  rotate: {range: [0, 30], sign: random}\n"
                           "branches:\n"
                           "  - {weight: 2, steps: [rotate, noise_cutout]}\n"
                           "  - [noise_cutout, invert]\n"
                           "  - identity\n";

/* values: the side in pixels, then two numbers in 0..1, here the centre. */
static motley_status noise_cutout(void *user, const motley_custom_batch *batch, motley_error *error)
{
    (void)error;
    for (size_t k = 0; k < batch->count; k++) {
        const motley_image *image = &batch->images.images[k];
        const double *values = batch->values[k], half = values[0] / 2;
        const double cx = values[1] * image->width, cy = values[2] * image->height;
        uint64_t noise = batch->ids[k] * 6364136223846793005u + 1;
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++)
                for (int32_t c = 0;
                     x > cx - half && x < cx + half && y > cy - half && y < cy + half && c < batch->images.channels;
                     c++) {
                    noise = noise * 6364136223846793005u + 1442695040888963407u;
                    ((uint8_t *)
                         image->data)[y * image->row_stride + x * image->pixel_stride + c * image->channel_stride] =
                        (uint8_t)(noise >> 56);
                }
    }
    *(size_t *)user += batch->count;
    return MOTLEY_OK;
}

int main(void)
{
    static uint8_t pixels[COUNT][SIDE][SIDE][CHANNELS];
    size_t cut = 0;
    motley_error error;
    motley_context *context = NULL;
    motley_policy *policy = NULL;
    const motley_custom_op op = { "noise_cutout", "side, pixels", 0, SIDE, noise_cutout, &cut };
    const motley_parse_params params = { .custom_ops = &op, .custom_ops_count = 1 };
    const motley_context_params on_cpu = { .backend = MOTLEY_BACKEND_CPU }; /* the function works on host memory */
    const motley_batch batch = { .count = COUNT, .channels = CHANNELS, .data = pixels, .width = SIDE, .height = SIDE };
    motley_status status = motley_context_create(&on_cpu, &context, &error);
    if (status == MOTLEY_OK)
        status = motley_policy_parse(text, strlen(text), &params, &policy, &error);
    if (status == MOTLEY_OK)
        status = motley_apply(context, policy, &batch, &batch, NULL, &error);
    if (status == MOTLEY_OK)
        printf("%zu of %d images got noise\n", cut, COUNT);
    else
        fprintf(stderr, "%s\n", error.message);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
    return status == MOTLEY_OK && cut > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
