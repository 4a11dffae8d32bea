/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of what each built-in policy makes of fixed images, and of masks that follow them, with fixed draws: whoever
 * changes a policy's draws or an op's pixels changes lines of golden/policies.hashes. Draws that are replayed have to
 * give the same bytes.
 *
 *     policy_hashes cpu|reference|cuda FILE [--require]     compares with FILE
 *     policy_hashes cpu > tests/golden/policies.hashes      rewrites it
 *
 * cuda: exits with 77, a skip, where no GPU is; with --require that is a failure. */
#include "tests/inputs.h"

#include <motley.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SKIPPED 77
#define IMAGES 60
#define WIDTH 61
#define HEIGHT 45
#define EPOCHS 200 /* more than any schedule has */
#define LINE 128

/* What `policy` makes of the images in some epochs, each of what the one before left; by its own draws, or with draws
 * that are made here and handed in. 0 after an error. */
static uint64_t hash_of(motley_context *context, const motley_policy *policy, int32_t channels, bool replay,
                        motley_error *error)
{
    static uint8_t pixels[IMAGES * WIDTH * HEIGHT * 4];
    static motley_step steps[IMAGES * 64]; /* the most that a sample can draw */
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
    const motley_batch batch = {
        .count = IMAGES, .channels = channels, .data = device, .width = WIDTH, .height = HEIGHT
    };
    for (uint32_t epoch = 0; good && epoch < EPOCHS; epoch += 50) {
        const motley_apply_params params = { .samples = { .seed = 20261122, .epoch = epoch, .first = 1000 } };
        if (replay)
            good = motley_draw(policy, &params.samples, IMAGES, widths, heights, channels, steps, counts, error) ==
                       MOTLEY_OK &&
                   motley_replay(context, &batch, &batch, steps, counts, motley_policy_max_steps(policy), NULL,
                                 error) == MOTLEY_OK;
        else
            good = motley_apply(context, policy, &batch, &batch, &params, error) == MOTLEY_OK;
    }
    if (good && motley_memory_copy(context, pixels, device, bytes, NULL, error) == MOTLEY_OK &&
        motley_context_wait(context, NULL, error) == MOTLEY_OK) {
        hash = 14695981039346656037u; /* FNV-1a */
        for (size_t i = 0; i < bytes; i++)
            hash = (hash ^ pixels[i]) * 1099511628211u;
    }
    motley_memory_destroy(context, device);
    return hash;
}

/* A policy's line: the hash of what it makes of RGB images, that of masks of two bytes that follow them (0: none can),
 * its name. False after a message. */
static bool line_of(motley_context *context, const char *name, char line[LINE])
{
    motley_policy *policy, *follower = NULL;
    motley_error error;
    uint64_t images = 0, masks = 0, replayed = 0;
    const motley_follower_params how = { .channels = 2, .fill = { 255, 1 } };
    bool good = motley_policy_builtin(name, &policy, &error) == MOTLEY_OK;
    const bool followed =
        good && motley_policy_augmix(policy).width == 0; /* nothing can follow chains that are mixed */
    good = good && (!followed || motley_policy_follower(policy, &how, &follower, &error) == MOTLEY_OK);
    good = good && (images = hash_of(context, policy, 3, false, &error)) != 0;
    good = good && (!followed || (masks = hash_of(context, follower, 2, false, &error)) != 0);
    if (good)
        replayed = hash_of(context, policy, 3, true, &error);
    if (!replayed)
        fprintf(stderr, "policy_hashes: %s: %s\n", name, error.message);
    else if (replayed != images)
        fprintf(stderr, "policy_hashes: %s: its draws, replayed, give other bytes\n", name);
    snprintf(line, LINE, "%016llx %016llx %s\n", (unsigned long long)images, (unsigned long long)masks, name);
    motley_policy_destroy(follower);
    motley_policy_destroy(policy);
    return replayed && replayed == images;
}

/* Whether the backend has a policy's ops, but cannot mix its chains. */
static bool is_left_out(motley_backend backend, const char *name)
{
    motley_policy *policy;
    if (backend != MOTLEY_BACKEND_CUDA || motley_policy_builtin(name, &policy, NULL) != MOTLEY_OK)
        return false;
    const bool mixes = motley_policy_augmix(policy).width > 0;
    motley_policy_destroy(policy);
    return mixes;
}

/* Compares the lines of FILE with the results, one per policy in the order of the built-ins; empty results were left
 * out. */
static int differences(const char *path, char (*got)[LINE], size_t count)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return 1;
    }
    int wrong = 0;
    char line[LINE];
    for (size_t i = 0; i < count; i++) {
        if (!fgets(line, sizeof line, file))
            strcpy(line, "no line\n");
        if (*got[i] && strcmp(line, got[i]) != 0) {
            fprintf(stderr, "policy_hashes: %s has %.80sthis library gives %s", path, line, got[i]);
            wrong++;
        }
    }
    if (fgets(line, sizeof line, file)) {
        fprintf(stderr, "policy_hashes: %s goes on with %s", path, line);
        wrong++;
    }
    fclose(file);
    return wrong;
}

int main(int argc, char **argv)
{
    const char *const backend = argc > 1 ? argv[1] : "";
    const motley_context_params params = { .backend = !strcmp(backend, "cuda")        ? MOTLEY_BACKEND_CUDA
                                                      : !strcmp(backend, "reference") ? MOTLEY_BACKEND_REFERENCE
                                                                                      : MOTLEY_BACKEND_CPU };
    motley_context *context;
    motley_error error;
    if (motley_context_create(&params, &context, &error) != MOTLEY_OK) {
        fprintf(stderr, "policy_hashes: %s\n", error.message);
        return params.backend == MOTLEY_BACKEND_CUDA && (argc < 4 || strcmp(argv[3], "--require") != 0) ? SKIPPED : 1;
    }
    static char lines[1024][LINE];
    const size_t count = motley_policy_builtin_count();
    int status = count > 1024;
    for (size_t i = 0; i < count && !status; i++) {
        if (is_left_out(params.backend, motley_policy_builtin_name(i)))
            continue;
        status = !line_of(context, motley_policy_builtin_name(i), lines[i]);
        if (argc < 3)
            fputs(lines[i], stdout);
    }
    motley_context_destroy(context);
    if (argc > 2 && !status)
        status = differences(argv[2], lines, count) > 0;
    return status;
}
