/* SPDX-License-Identifier: Apache-2.0 */
/* A context's own memory: its forecast equals what it then holds and what it requests from the caller's allocator; it
 * grows with the number of images and not with their sizes; an allocator that fails at any call corrupts nothing.
 *
 *     test_workspace cpu|cuda [--require]
 *
 * cuda: exits with 77, a skip, where no GPU is; with --require that is a failure. Compiled with MOT_RECORD it needs
 * none: a runtime that only records (emulate/record.h) takes the place of CUDA's. */
#include "tests/builtins.h"
#include "tests/inputs.h"
#include "tests/test.h"

#include <stdio.h>

#define SIDE 32
#define MOST 700
#define LARGE 2100 /* side of an image that needs a second buffer */
#define BYTES ((size_t)LARGE * LARGE * 3)

/* ---- the caller's allocator: a context's calls served by another context's memory ---- */

typedef struct ledger {
    motley_context *from;
    size_t live_bytes, sizes[64];
    void *blocks[64];
    long live, until_failure; /* 1: the next call fails; 0: none does */
} ledger;

static void *allocate(void *user, size_t bytes, void *stream)
{
    ledger *const l = user;
    void *memory;
    (void)stream;
    if ((l->until_failure > 0 && --l->until_failure == 0) ||
        motley_memory_create(l->from, MOTLEY_MEMORY_DEVICE, bytes, &memory, NULL) != MOTLEY_OK)
        return NULL;
    for (int i = 0; i < 64; i++)
        if (!l->blocks[i]) {
            l->blocks[i] = memory;
            l->sizes[i] = bytes;
            l->live_bytes += bytes;
            l->live++;
            return memory;
        }
    need(0, "more than 64 blocks are held");
    return NULL;
}

static void release(void *user, void *memory, void *stream)
{
    ledger *const l = user;
    (void)stream;
    for (int i = 0; i < 64; i++)
        if (l->blocks[i] == memory) {
            l->blocks[i] = NULL;
            l->live_bytes -= l->sizes[i];
            l->live--;
            motley_memory_destroy(l->from, memory);
            return;
        }
    need(0, "a block is released that was not allocated");
}

static motley_backend backend;
static motley_context *plain; /* without an allocator */
static uint8_t *pixels;

#ifdef MOT_RECORD
#include "tests/emulate/record.h"

/* A context of the recorded device: an H200. */
static motley_status create(const motley_context_params *params, motley_context **context, motley_error *error)
{
    *context = calloc(1, sizeof **context);
    need(*context != NULL, "no memory");
    (*context)->backend = &recorded_backend;
    return recorded_backend.create(params, &(*context)->state, error);
}

/* Begins and ends a graph of calls on the default stream, none of which is launched. */
static void capture(int begins)
{
    if (begins)
        record_capture(NULL);
    else
        record_destroy(record_capture_ends(NULL));
}
#else
static void capture(int begins)
{
    (void)begins;
}

static motley_status create(const motley_context_params *params, motley_context **context, motley_error *error)
{
    return motley_context_create(params, context, error);
}
#endif

static motley_context *open_context(ledger *l)
{
    motley_context *context;
    motley_error error;
    motley_context_params params = { .backend = backend };
    if (l) {
        *l = (ledger){ .from = plain };
        params.allocate = allocate, params.release = release, params.allocator_user = l;
    }
    need(create(&params, &context, &error) == MOTLEY_OK, error.message);
    return context;
}

static motley_batch batch_of(size_t count, int32_t side)
{
    return (motley_batch){ .count = count, .channels = 3, .data = pixels, .width = side, .height = side };
}

static motley_policy *open_policy(const char *name)
{
    motley_policy *policy;
    motley_error error;
    need(motley_policy_builtin(name, &policy, &error) == MOTLEY_OK, error.message);
    return policy;
}

static size_t workspace(motley_context *context, const motley_policy *policy, const motley_batch *batch)
{
    size_t bytes;
    motley_error error;
    need(motley_context_workspace(context, policy, batch, &bytes, &error) == MOTLEY_OK, error.message);
    return bytes;
}

static motley_status apply(motley_context *context, const motley_policy *policy, const motley_batch *batch,
                           motley_error *error)
{
    double values[MOST] = { 0 };
    return policy ? motley_apply(context, policy, batch, batch, NULL, error)
                  : motley_op_apply(context, motley_op_find("solarize"), values, 1, batch, batch, NULL, error);
}

/* ---- what must hold ---- */

/* Whether the device holds small images in shared memory. */
static int is_resident(void)
{
    motley_context *context = open_context(NULL);
    motley_policy *policy = open_policy("rand_augment");
    motley_subbatches *subbatches;
    motley_error error;
    const motley_batch batch = batch_of(5, SIDE);
    need(apply(context, policy, &batch, &error) == MOTLEY_OK, error.message);
    need(motley_context_subbatches(context, &subbatches, &error) == MOTLEY_OK, error.message);
    const int resident = strcmp(subbatches->route, "resident") == 0;
    motley_subbatches_destroy(subbatches);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
    return resident;
}

/* More policies than a context keeps tables of, one after the other, with batches that grow and shrink, and now and
 * then a large image. Graphs capture some calls: what they use is held when others have taken its place. */
static void check_forecast(void)
{
    static const size_t counts[] = { 3, 700, 1, 256, 257, 40 };
    ledger l;
    motley_context *context = open_context(&l);
    motley_error error;
    check(workspace(context, NULL, NULL) == 0 || backend != MOTLEY_BACKEND_CUDA, "a new context holds memory");
    for (size_t i = 0; i < 60; i++) {
        const char *const name = input_builtin(false, i % input_builtins(false))->name;
        motley_policy *const policy = builtin_repeated(name, 1 + (int)(i / 20));
        need(policy != NULL, name);
        if (motley_policy_describe(policy)->takes_boxes) {
            motley_policy_destroy(policy);
            continue;
        }
        const motley_batch batch =
            i % 25 == 24 ? batch_of(1, LARGE) : batch_of(counts[i % 6], 1 + (int32_t)(i * 7 % SIDE));
        const size_t before = workspace(context, i % 9 ? policy : NULL, &batch);
        need(apply(context, i % 9 ? policy : NULL, &batch, &error) == MOTLEY_OK, error.message);
        const size_t after = workspace(context, NULL, NULL);
        check(before == after, "it holds another number of bytes than it said");
        check(workspace(context, i % 9 ? policy : NULL, &batch) == after, "the same call again would take more");
        check(backend != MOTLEY_BACKEND_CUDA || after == l.live_bytes, "the allocator gave another number of bytes");
        if (i % 8 == 7) {
            capture(1);
            need(apply(context, i % 9 ? policy : NULL, &batch, &error) == MOTLEY_OK, error.message);
            capture(0);
        }
        motley_policy_destroy(policy);
    }
    motley_context_destroy(context);
    check(l.live == 0, "a destroyed context left memory behind");
}

/* A batch whose images CTAs hold takes a few hundred bytes an image, most of them for the steps, and twice, for draws
 * ahead. */
static void check_resident(void)
{
    static const struct {
        size_t count;
        int32_t side;
    } batches[] = { { 1, 32 }, { 4096, 32 }, { 3136, 64 }, { 784, 128 } };
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        for (int wide = 0; wide < 2; wide++) {
            motley_context *context = open_context(NULL);
            motley_policy *const policy = open_policy(wide ? "trivial_augment_wide" : "rand_augment");
            motley_batch batch = batch_of(batches[i].count, batches[i].side), odd = batch;
            const size_t steps = motley_policy_describe(policy)->max_steps;
            batch.data = NULL;
            odd.data = pixels + 1;
            batch.count = 1;
            const size_t one = workspace(context, policy, &batch);
            batch.count = batches[i].count;
            const size_t bytes = workspace(context, policy, &batch);
            check(one <= 192 * 1024, "one image takes more than tables and counters");
            check(bytes <= one + 2 * batch.count * (64 + 96 * steps), "more than its steps and 64 bytes an image");
            check(bytes < workspace(context, policy, &odd), "tiles take no more than resident images");
            motley_policy_destroy(policy);
            motley_context_destroy(context);
        }
}

/* On the tiles route, which odd addresses take: 33 MiB, of which 32 are for programs in two slots, and some bytes for
 * each sample and its tiles, for sizes up to a few megapixels; on the CPU, which processes images in blocks, the same
 * for any large number of them. */
static void check_growth(void)
{
    motley_context *context = open_context(NULL);
    motley_policy *policy = open_policy("rand_augment");
    const size_t each = 1024 * motley_policy_describe(policy)->max_steps, mib = (size_t)1 << 20;
    for (size_t count = 1; count <= 65536; count *= 4) {
        motley_batch small = batch_of(count, 8), medium = batch_of(count, 224);
        small.data = medium.data = pixels + 1;
        const size_t bytes = workspace(context, policy, &small);
        if (backend == MOTLEY_BACKEND_CUDA)
            check(workspace(context, policy, &medium) <= bytes + 512 * count + 512,
                  "images of 7 tiles, which may be halved, take more than 512 bytes more than smaller ones");
        check(bytes <= 33 * mib + count * each,
              "it is more than 33 MiB and a kilobyte per step that a sample can draw");
    }
    const motley_batch many = batch_of(10000, 8), more = batch_of(1000000, 8);
    if (backend == MOTLEY_BACKEND_CPU)
        check(workspace(context, policy, &many) == workspace(context, policy, &more), "the CPU's blocks grow");
    motley_image sizes[2] = { { .width = 3, .height = 5 }, { .width = 0, .height = 5 } };
    const motley_batch mixed = { .count = 2, .channels = 3, .images = sizes };
    size_t bytes;
    motley_error error;
    check(motley_context_workspace(context, policy, &mixed, &bytes, &error) == MOTLEY_ERR_ARGUMENT &&
              strstr(error.message, "batch image 1: width is 0"),
          "a wrong size is not refused");
    sizes[1].width = 2;
    check(workspace(context, policy, &mixed) > 0, "mixed sizes take nothing");
    motley_policy_destroy(policy);
    motley_context_destroy(context);
}

/* The k-th call of the allocator fails, for every k: MEMORY, pixels as they were, nothing lost, and then it works. */
static void check_failing_allocator(void)
{
    motley_policy *policies[2] = { open_policy("rand_augment"), open_policy("trivial_augment_wide") };
    uint8_t *const before = malloc(BYTES), *const now = malloc(BYTES);
    long refused = 0, wanted = 1;
    need(before && now, "no memory");
    for (long k = 1; k <= wanted; k++) {
        ledger l;
        motley_error error;
        motley_context *context = open_context(&l);
        l.until_failure = k;
        for (int i = 0; i < 3; i++) { /* grows twice, and then has another policy's tables */
            const motley_batch batch = batch_of(i == 0 ? 5 : MOST, SIDE);
            for (int turn = 0; turn < 2; turn++) {
                need(motley_memory_copy(plain, before, pixels, BYTES, NULL, NULL) == MOTLEY_OK, "copying failed");
                const motley_status status = apply(context, policies[i == 2], &batch, &error);
                if (status == MOTLEY_OK)
                    break;
                refused++;
                check(turn == 0, "it fails again, with memory there");
                check(status == MOTLEY_ERR_MEMORY && strstr(error.message, "allocator"), error.message);
                need(motley_memory_copy(plain, now, pixels, BYTES, NULL, NULL) == MOTLEY_OK &&
                         motley_context_wait(plain, NULL, NULL) == MOTLEY_OK,
                     "copying failed");
                check(memcmp(before, now, BYTES) == 0, "pixels changed though memory was missing");
                check(workspace(context, NULL, NULL) == l.live_bytes, "after a failure it holds other bytes");
            }
        }
        if (l.until_failure == 0)
            wanted = k + 1;
        motley_context_destroy(context);
        check(l.live == 0, "memory was lost");
    }
    check(refused == wanted - 1 && refused >= 4, "the allocator was hardly called");
    motley_policy_destroy(policies[0]);
    motley_policy_destroy(policies[1]);
    free(before);
    free(now);
}

int main(int argc, char **argv)
{
    motley_error error;
    void *memory;
    need(argc > 1, "usage: test_workspace cpu|cuda [--require]");
    backend = strcmp(argv[1], "cuda") == 0 ? MOTLEY_BACKEND_CUDA : MOTLEY_BACKEND_CPU;
#ifdef MOT_RECORD
    record_begin(1, 132, 1);
#endif
    if (create(&(motley_context_params){ .backend = backend }, &plain, &error) != MOTLEY_OK) {
        printf("skipped: %s\n", error.message);
        return argc > 2 ? 1 : SKIPPED;
    }
    need(motley_memory_create(plain, MOTLEY_MEMORY_DEVICE, BYTES, &memory, &error) == MOTLEY_OK, error.message);
    pixels = memory;
    uint8_t *const host = malloc(BYTES);
    need(host != NULL, "no memory");
    uint64_t state = 1;
    for (size_t i = 0; i < BYTES; i++)
        host[i] = (uint8_t)input_random(&state);
    need(motley_memory_copy(plain, pixels, host, BYTES, NULL, NULL) == MOTLEY_OK, "copying failed");
    free(host);
    check_forecast();
    check_growth();
    if (is_resident())
        check_resident();
    if (backend == MOTLEY_BACKEND_CUDA)
        check_failing_allocator();
    motley_memory_destroy(plain, memory);
    motley_context_destroy(plain);
#ifdef MOT_RECORD
    failures += record_failures;
#endif
    printf("%s: %d failures\n", argv[1], failures);
    return failures > 0;
}
