/* SPDX-License-Identifier: Apache-2.0 */
/* A small loader with Motley as its transform stage: threads decode batch k + 1 into pinned memory while the device
 * copies, augments and normalises batch k on its stream; then the consumer gets it. The same calls work on the CPU. */
#include <motley.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, BATCHES = 6, COUNT = 24, SIDE = 64, EACH = SIDE * SIDE * 3, BYTES = COUNT * EACH };

static motley_error error;

static void need(motley_status status)
{
    if (status == MOTLEY_OK)
        return;
    fprintf(stderr, "%s\n", error.message);
    exit(EXIT_FAILURE);
}

/* A thread's share of a batch. */
typedef struct share {
    pthread_t thread;
    uint64_t first; /* sample, and every THREADS-th after it */
    uint8_t *pixels;
} share;

static void *decode(void *opaque) /* in place of reading and decoding files */
{
    const share *own = opaque;
    for (uint64_t sample = own->first; sample / COUNT == own->first / COUNT; sample += THREADS)
        for (size_t i = 0; i < EACH; i++)
            own->pixels[sample % COUNT * EACH + i] = (uint8_t)(i / 97 * (sample % 13 + 1) + i % 3 * 40);
    return NULL;
}

static void start_decoding(share *shares, uint64_t batch, uint8_t *pixels)
{
    for (unsigned t = 0; t < THREADS; t++) {
        shares[t] = (share){ .first = batch * COUNT + t, .pixels = pixels };
        need(pthread_create(&shares[t].thread, NULL, decode, &shares[t]) ? MOTLEY_ERR_MEMORY : MOTLEY_OK);
    }
}

int main(int argc, char **argv)
{
    void *stream = NULL, *memory[5], **pinned = memory; /* stream: on CUDA, any cudaStream_t */
    share shares[THREADS];
    motley_context *context;
    motley_policy *policy;
    motley_call *call;
    double sum = 0;
    need(motley_context_create(NULL, &context, &error)); /* the first GPU, or else the CPU */
    need(argc > 1 ? motley_policy_open(argv[1], NULL, &policy, &error)
                  : motley_policy_builtin("trivial_augment_wide", &policy, &error));
    for (int i = 0; i < 5; i++) /* two to decode into, a result; bytes and floats on the device */
        need(motley_memory_create(context, i < 3 ? MOTLEY_MEMORY_HOST : MOTLEY_MEMORY_DEVICE, BYTES * sizeof(float),
                                  &memory[i], &error));
    const motley_batch images = { .count = COUNT, .channels = 3, .width = SIDE, .height = SIDE };
    motley_output output = { .batch = images, .mean = { 0.485f, 0.456f, 0.406f }, .std = { 0.229f, 0.224f, 0.225f } };
    output.batch.dtype = MOTLEY_F32; /* NCHW floats, as a network takes them */
    output.batch.layout = MOTLEY_CHW;
    motley_apply_params params = { .samples = { .seed = 1, .epoch = 3 }, .stream = stream };
    const motley_call_params what = { .policy = policy, .output = &output };
    need(motley_call_create(context, &images, NULL, &what, &call, &error)); /* every batch has this shape */

    start_decoding(shares, 0, pinned[0]);
    for (uint64_t k = 0; k < BATCHES; k++) {
        for (int t = 0; t < THREADS; t++)
            pthread_join(shares[t].thread, NULL);
        params.samples.first = k * COUNT;
        need(motley_memory_copy(context, memory[3], pinned[k % 2], BYTES, stream, &error));
        need(motley_call_run(call, memory[3], NULL, memory[4], &params, &error));
        need(motley_memory_copy(context, memory[2], memory[4], BYTES * sizeof(float), stream, &error));
        if (k + 1 < BATCHES)
            start_decoding(shares, k + 1, pinned[(k + 1) % 2]);
        need(motley_context_wait(context, stream, &error));
        for (size_t i = 0; i < BYTES; i++) /* the consumer */
            sum += (double)((const float *)memory[2])[i];
    }
    printf("%d images, mean %.6f\n", BATCHES * COUNT, sum / ((double)BATCHES * BYTES));
    motley_call_destroy(call);
    for (int i = 0; i < 5; i++)
        motley_memory_destroy(context, memory[i]);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
    return EXIT_SUCCESS;
}
