/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of the results of each built-in policy on fixed images, and on masks that follow them, with fixed draws. A
 * change of a policy's draws or of an op's pixels changes lines of golden/policies.hashes. Replayed draws must give the
 * same bytes. See hashes.h. */
#include "tests/hashes.h"
#include "tests/inputs.h"

#define IMAGES 60
#define WIDTH 61
#define HEIGHT 45
#define EPOCHS 200 /* more than any schedule has */

/* The hash after applying `policy` to the images in several epochs, each to the result of the one before; with new
 * draws or, if `replay`, with recorded ones. 0 after an error. */
static uint64_t hash_of(motley_context *context, const motley_policy *policy, int32_t channels, bool replay,
                        motley_error *error)
{
    static uint8_t pixels[IMAGES * WIDTH * HEIGHT * 4];
    static motley_step steps[IMAGES * 64]; /* the most that a sample can draw */
    static double boxes[IMAGES * 8];
    size_t offsets[IMAGES + 1];
    int32_t counts[IMAGES], widths[IMAGES], heights[IMAGES];
    const size_t image = (size_t)WIDTH * HEIGHT * (size_t)channels, bytes = IMAGES * image;
    void *device = NULL;
    uint64_t hash = 0;
    for (int i = 0; i < IMAGES; i++) {
        input_fill((input_kind)(i % INPUT_KINDS), (uint64_t)i, (input_size){ WIDTH, HEIGHT }, channels,
                   pixels + (size_t)i * image);
        widths[i] = WIDTH;
        heights[i] = HEIGHT;
    }
    if (motley_memory_create(context, MOTLEY_MEMORY_DEVICE, bytes, &device, error) != MOTLEY_OK)
        return 0;
    bool good = motley_memory_copy(context, device, pixels, bytes, NULL, error) == MOTLEY_OK;
    const motley_batch batch = { .count = IMAGES,
                                 .channels = channels,
                                 .alpha = channels % 2 == 0,
                                 .data = device,
                                 .width = WIDTH,
                                 .height = HEIGHT };
    for (uint32_t epoch = 0; good && epoch < EPOCHS; epoch += 50) {
        motley_apply_params params = { .samples = { .seed = 20261122, .epoch = epoch, .first = 1000 } };
        input_boxes(&params.samples, boxes, offsets, IMAGES, WIDTH, HEIGHT);
        if (replay) {
            good = motley_draw(policy, &params.samples, IMAGES, widths, heights, channels, NULL, steps, counts,
                               error) == MOTLEY_OK;
            params = (motley_apply_params){ .given_steps = steps,
                                            .given_step_counts = counts,
                                            .given_max_steps = input_most_steps(policy, 2) };
        }
        good = good && motley_apply(context, policy, &batch, &batch, &params, error) == MOTLEY_OK;
    }
    if (good && motley_memory_copy(context, pixels, device, bytes, NULL, error) == MOTLEY_OK &&
        motley_context_wait(context, NULL, error) == MOTLEY_OK)
        hash = hash_bytes(HASH_BEGIN, pixels, bytes);
    motley_memory_destroy(context, device);
    return hash;
}

/* A policy's line: the hash of what it makes of RGB images, that of masks of two bytes that follow them (0: none can),
 * its name. False after a message. */
static bool line_of(motley_context *context, const char *name, char line[HASHES_LINE])
{
    motley_policy *policy, *follower = NULL;
    motley_error error;
    uint64_t images = 0, masks = 0, replayed = 0;
    const motley_follower_params how = { .channels = 2, .fill = { 255, 1 } };
    bool good = motley_policy_builtin(name, &policy, &error) == MOTLEY_OK;
    const bool followed = good && !mixes_chains(policy); /* nothing can follow chains that are mixed */
    good = good && (!followed || motley_policy_follower(policy, &how, &follower, &error) == MOTLEY_OK);
    good = good && (images = hash_of(context, policy, 3, false, &error)) != 0;
    good = good && (!followed || (masks = hash_of(context, follower, 2, false, &error)) != 0);
    if (good)
        replayed = hash_of(context, policy, 3, true, &error);
    if (!replayed)
        fprintf(stderr, "policy_hashes: %s: %s\n", name, error.message);
    else if (replayed != images)
        fprintf(stderr, "policy_hashes: %s: its draws, replayed, give other bytes\n", name);
    snprintf(line, HASHES_LINE, "%016llx %016llx %s\n", (unsigned long long)images, (unsigned long long)masks, name);
    motley_policy_destroy(follower);
    motley_policy_destroy(policy);
    return replayed && replayed == images;
}

static bool line(motley_context *context, size_t i, char line[HASHES_LINE])
{
    return line_of(context, input_builtin(false, i)->name, line);
}

int main(int argc, char **argv)
{
    const hashes what = { input_builtins(false), line };
    return hashes_main(&what, argc, argv);
}
