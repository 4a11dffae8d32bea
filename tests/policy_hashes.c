/* SPDX-License-Identifier: Apache-2.0 */
/* A hash of what each built-in policy makes of fixed images with fixed draws: whoever changes a policy's draws or an op's
 * pixels changes lines of golden/policies.hashes.
 *
 *     policy_hashes cpu|reference|cuda FILE [--require]     compares with FILE
 *     policy_hashes cpu > tests/golden/policies.hashes      writes it anew
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

static uint64_t hash_of(motley_context *context, const char *name, motley_error *error)
{
    static uint8_t pixels[IMAGES * WIDTH * HEIGHT * 3];
    const size_t bytes = sizeof pixels;
    motley_policy *policy;
    void *device = NULL;
    uint64_t hash = 0;
    for (int i = 0; i < IMAGES; i++)
        input_fill((input_kind)(i % INPUT_KINDS), (uint64_t)i, (input_size){ WIDTH, HEIGHT }, 3,
                   pixels + (size_t)i * WIDTH * HEIGHT * 3);
    if (motley_policy_builtin(name, &policy, error) != MOTLEY_OK)
        return 0;
    if (motley_memory_create(context, MOTLEY_MEMORY_DEVICE, bytes, &device, error) == MOTLEY_OK) {
        bool good = motley_memory_copy(context, device, pixels, bytes, NULL, error) == MOTLEY_OK;
        for (uint32_t epoch = 0; good && epoch < EPOCHS; epoch += 50) { /* each on what the one before left */
            const motley_batch batch = { .count = IMAGES, .channels = 3, .data = device, .width = WIDTH, .height = HEIGHT };
            const motley_apply_params params = { .samples = { .seed = 20261122, .epoch = epoch, .first = 1000 } };
            good = motley_apply(context, policy, &batch, &batch, &params, error) == MOTLEY_OK;
        }
        if (good && motley_memory_copy(context, pixels, device, bytes, NULL, error) == MOTLEY_OK &&
            motley_context_wait(context, NULL, error) == MOTLEY_OK) {
            hash = 14695981039346656037u; /* FNV-1a */
            for (size_t i = 0; i < bytes; i++)
                hash = (hash ^ pixels[i]) * 1099511628211u;
        }
        motley_memory_destroy(context, device);
    }
    motley_policy_destroy(policy);
    return hash;
}

/* Compares the lines of FILE with `wanted`, one a policy in the order of the built-ins. */
static int differences(const char *path, char (*got)[96], size_t count)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return 1;
    }
    int wrong = 0;
    char line[96];
    for (size_t i = 0; i < count; i++) {
        if (!fgets(line, sizeof line, file))
            strcpy(line, "no line\n");
        if (strcmp(line, got[i]) != 0) {
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
    static char lines[1024][96];
    const size_t count = motley_policy_builtin_count();
    int status = count > 1024;
    for (size_t i = 0; i < count && !status; i++) {
        const char *name = motley_policy_builtin_name(i);
        const uint64_t hash = hash_of(context, name, &error);
        if (!hash) {
            fprintf(stderr, "policy_hashes: %s: %s\n", name, error.message);
            status = 1;
        }
        snprintf(lines[i], sizeof lines[i], "%016llx %s\n", (unsigned long long)hash, name);
        if (argc < 3)
            fputs(lines[i], stdout);
    }
    motley_context_destroy(context);
    if (argc > 2 && !status)
        status = differences(argv[2], lines, count) > 0;
    return status;
}
