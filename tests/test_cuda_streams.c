/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend under concurrency: contexts on separate threads and streams, one context on several streams, streams
 * that are being captured, many calls in a row, several GPUs, and several processes on one GPU. Every result has the
 * CPU's bytes.
 *
 *     test_cuda_streams streams|devices|processes [--require]
 *
 * Exits with 77, a skip, without a GPU (with --require that is a failure), or for `devices` without two of them. */
#include "tests/inputs.h"
#include "tests/test.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIDE 96
#define COUNT 300
#define BYTES ((size_t)COUNT * SIDE * SIDE * 3)
#define THREADS 4
#define PROCESSES 4
#define ROUNDS 12

static atomic_int compared;

static motley_context *open_context(motley_backend backend, int device)
{
    motley_context *context;
    motley_error error;
    const motley_context_params params = { .backend = backend, .device = device, .threads = 1 };
    need(motley_context_create(&params, &context, &error) == MOTLEY_OK, error.message);
    return context;
}

static motley_policy *open_policy(size_t i)
{
    for (size_t at = 0;; at = (at + 1) % input_builtins(false)) {
        motley_policy *policy;
        motley_error error;
        need(motley_policy_builtin(input_builtin(false, at)->name, &policy, &error) == MOTLEY_OK, error.message);
        if (!motley_policy_describe(policy)->takes_boxes && i-- == 0)
            return policy;
        motley_policy_destroy(policy);
    }
}

static motley_batch batch_of(void *data, size_t count)
{
    return (motley_batch){ .count = count, .channels = 3, .data = data, .width = SIDE, .height = SIDE };
}

static void fill(uint8_t *bytes, uint64_t state)
{
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)input_random(&state);
}

/* A batch on the device, its bytes on the host, and the CPU's result. */
typedef struct load {
    uint8_t *device, *pinned, *wanted;
} load;

static void make_load(load *l, uint64_t seed)
{
    need_cuda(cudaMalloc((void **)&l->device, BYTES));
    need_cuda(cudaMallocHost((void **)&l->pinned, BYTES));
    l->wanted = malloc(BYTES);
    need(l->wanted != NULL, "no memory");
    fill(l->pinned, seed);
    memcpy(l->wanted, l->pinned, BYTES);
}

static void destroy_load(load *l)
{
    cudaFree(l->device);
    cudaFreeHost(l->pinned);
    free(l->wanted);
}

/* Queues copy, policy and copy back; nothing waits. */
static void queue(motley_context *context, const motley_policy *policy, load *l, size_t count, uint32_t epoch,
                  cudaStream_t stream)
{
    motley_error error;
    const motley_batch batch = batch_of(l->device, count);
    const motley_apply_params params = { .samples = { .seed = 9, .epoch = epoch }, .stream = stream };
    need_cuda(cudaMemcpyAsync(l->device, l->pinned, BYTES, cudaMemcpyHostToDevice, stream));
    need(motley_apply(context, policy, &batch, &batch, &params, &error) == MOTLEY_OK, error.message);
    need_cuda(cudaMemcpyAsync(l->pinned, l->device, BYTES, cudaMemcpyDeviceToHost, stream));
}

static void queue_on_cpu(motley_context *cpu, const motley_policy *policy, load *l, size_t count, uint32_t epoch)
{
    motley_error error;
    const motley_batch batch = batch_of(l->wanted, count);
    const motley_apply_params params = { .samples = { .seed = 9, .epoch = epoch } };
    need(motley_apply(cpu, policy, &batch, &batch, &params, &error) == MOTLEY_OK, error.message);
}

/* ---- threads, each with a context, and two streams for one context ---- */

typedef struct thread {
    int device, number;
} thread;

/* Each round queues a batch on either stream, with other policies and counts, before it waits for any. */
static void *work(void *opaque)
{
    const thread *self = opaque;
    int device;
    need_cuda(cudaSetDevice(0));
    motley_context *cuda = open_context(MOTLEY_BACKEND_CUDA, self->device);
    motley_context *cpu = open_context(MOTLEY_BACKEND_CPU, 0);
    need_cuda(cudaGetDevice(&device));
    check(device == 0, "making a context changed the current device");
    cudaStream_t streams[2];
    load loads[2];
    need_cuda(cudaSetDevice(self->device));
    for (int i = 0; i < 2; i++) {
        need_cuda(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        make_load(&loads[i], (uint64_t)self->number * 10 + (uint64_t)i);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        motley_policy *policies[2] = { open_policy(round + (size_t)self->number), open_policy(2 * round) };
        const size_t counts[2] = { 20 + 280 * (round % 2), COUNT - 7 * round };
        for (int i = 0; i < 2; i++)
            queue(cuda, policies[i], &loads[i], counts[i], round, streams[i]);
        for (int i = 0; i < 2; i++) {
            queue_on_cpu(cpu, policies[i], &loads[i], counts[i], round);
            need_cuda(cudaStreamSynchronize(streams[i]));
            check(memcmp(loads[i].wanted, loads[i].pinned, BYTES) == 0, "a thread's batch differs from the CPU's");
            compared++;
            motley_policy_destroy(policies[i]);
        }
    }
    need_cuda(cudaGetDevice(&device));
    check(device == self->device, "the current device was changed");
    motley_context_destroy(cuda);
    motley_context_destroy(cpu);
    for (int i = 0; i < 2; i++) {
        need_cuda(cudaStreamDestroy(streams[i]));
        destroy_load(&loads[i]);
    }
    return NULL;
}

static void check_threads(int devices)
{
    pthread_t threads[THREADS];
    thread started[THREADS];
    for (int t = 0; t < THREADS; t++) {
        started[t] = (thread){ t % devices, t };
        need(pthread_create(&threads[t], NULL, work, &started[t]) == 0, "no thread");
    }
    for (int t = 0; t < THREADS; t++)
        need(pthread_join(threads[t], NULL) == 0, "a thread was lost");
}

/* ---- capture ---- */

static void wants(motley_status got, motley_status wanted, const motley_error *error, const char *piece)
{
    if (got != wanted || !strstr(error->message, piece)) {
        fprintf(stderr, "test_cuda_streams: wanted %s with \"%s\", found %s: %s\n", motley_status_name(wanted), piece,
                motley_status_name(got), error->message);
        failures++;
    }
}

/* Captures one call; returns its status. The capture itself must stay whole, whatever the call says. */
static motley_status capture(motley_context *context, const motley_policy *policy, const motley_batch *batch,
                             const motley_apply_params *params, cudaGraph_t *graph, motley_error *error)
{
    need_cuda(cudaStreamBeginCapture(params->stream, cudaStreamCaptureModeGlobal));
    const motley_status status = motley_apply(context, policy, batch, batch, params, error);
    need_cuda(cudaStreamEndCapture(params->stream, graph));
    return status;
}

static void replay(cudaGraph_t graph, cudaStream_t stream)
{
    cudaGraphExec_t ready;
    need_cuda(cudaGraphInstantiate(&ready, graph, 0));
    need_cuda(cudaGraphLaunch(ready, stream));
    need_cuda(cudaStreamSynchronize(stream));
    need_cuda(cudaGraphExecDestroy(ready));
    need_cuda(cudaGraphDestroy(graph));
}

static motley_status invert(void *user, const motley_custom_batch *batch, motley_error *error)
{
    (void)user;
    return motley_op_apply(batch->context, motley_op_find("invert"), NULL, 0, &batch->images, &batch->images,
                           &(motley_op_params){ .stream = batch->stream }, error);
}

/* A replayed graph's result equals the CPU's for the same samples. */
static void check_replay(const motley_policy *policy, cudaGraph_t graph, load *l, motley_context *cpu,
                         cudaStream_t stream)
{
    fill(l->pinned, 77);
    memcpy(l->wanted, l->pinned, BYTES);
    need_cuda(cudaMemcpy(l->device, l->pinned, BYTES, cudaMemcpyHostToDevice));
    replay(graph, stream);
    need_cuda(cudaMemcpy(l->pinned, l->device, BYTES, cudaMemcpyDeviceToHost));
    queue_on_cpu(cpu, policy, l, COUNT, 4);
    check(memcmp(l->wanted, l->pinned, BYTES) == 0, "a replay differs from the CPU");
    compared++;
}

/* Uses more policies than a context keeps tables of. */
static void use_many(motley_context *cuda, const motley_batch *batch, const motley_apply_params *params)
{
    for (int k = 1; k <= 41; k++) {
        motley_policy *policy;
        motley_error error;
        char text[100];
        snprintf(text, sizeof text, "{motley: 1, name: many, branches: [{op: rotate, value: %d}]}", k);
        need(motley_policy_parse(text, strlen(text), NULL, &policy, &error) == MOTLEY_OK, error.message);
        need(motley_apply(cuda, policy, batch, batch, params, &error) == MOTLEY_OK, error.message);
        motley_policy_destroy(policy);
    }
    need_cuda(cudaStreamSynchronize(params->stream));
}

static void check_capture(void)
{
    static const char text[] = "{motley: 1, name: mine, repeat: 2, branches: [mine, {op: rotate, value: 9}, equalize]}";
    const motley_custom_op op = { .name = "mine", .run = invert };
    const motley_parse_params with = { .custom_ops = &op, .custom_ops_count = 1 };
    motley_context *cuda = open_context(MOTLEY_BACKEND_CUDA, 0), *cpu = open_context(MOTLEY_BACKEND_CPU, 0);
    motley_policy *one = open_policy(0), *other = open_policy(1), *custom;
    motley_error error;
    cudaStream_t stream;
    cudaGraph_t graph;
    uint64_t *counter;
    load l;
    make_load(&l, 1);
    need(motley_policy_parse(text, strlen(text), &with, &custom, &error) == MOTLEY_OK, error.message);
    need_cuda(cudaMalloc((void **)&counter, 2 * sizeof *counter));
    need_cuda(cudaMemset(counter, 0, 2 * sizeof *counter));
    need_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const motley_batch few = batch_of(l.device, 10), all = batch_of(l.device, COUNT);
    motley_apply_params params = { .samples = { .seed = 9, .epoch = 4 }, .stream = stream };

    wants(capture(cuda, one, &few, &params, &graph, &error), MOTLEY_ERR_UNSUPPORTED, &error,
          "a policy's first use needs memory while the stream is being captured");
    need_cuda(cudaGraphDestroy(graph));
    need(motley_apply(cuda, one, &few, &few, &params, &error) == MOTLEY_OK, error.message);
    wants(capture(cuda, one, &all, &params, &graph, &error), MOTLEY_ERR_UNSUPPORTED, &error, "a larger batch");
    need_cuda(cudaGraphDestroy(graph));
    wants(capture(cuda, other, &few, &params, &graph, &error), MOTLEY_ERR_UNSUPPORTED, &error, "a policy's first use");
    need_cuda(cudaGraphDestroy(graph));
    need(motley_apply(cuda, one, &all, &all, &params, &error) == MOTLEY_OK, error.message);
    need_cuda(cudaStreamSynchronize(stream));
    need(capture(cuda, one, &all, &params, &graph, &error) == MOTLEY_OK, error.message);
    use_many(cuda, &few, &params);
    check_replay(one, graph, &l, cpu, stream);

    need(motley_apply(cuda, custom, &all, &all, &params, &error) == MOTLEY_OK, error.message);
    need_cuda(cudaStreamSynchronize(stream));
    need(capture(cuda, custom, &all, &params, &graph, &error) == MOTLEY_OK, error.message);
    check_replay(custom, graph, &l, cpu, stream);
    params.counter = counter;
    wants(motley_apply(cuda, custom, &all, &all, &params, &error), MOTLEY_ERR_UNSUPPORTED, &error,
          "counter is set, but policy 'mine' has custom ops");
    need_cuda(cudaGetLastError()); /* nothing is left behind */

    destroy_load(&l);
    need_cuda(cudaFree(counter));
    need_cuda(cudaStreamDestroy(stream));
    motley_policy_destroy(one);
    motley_policy_destroy(other);
    motley_policy_destroy(custom);
    motley_context_destroy(cuda);
    motley_context_destroy(cpu);
}

/* ---- draws that run ahead ---- */

#define CALLS 48
#define AHEAD_COUNT 64
#define AHEAD_BYTES ((size_t)AHEAD_COUNT * SIDE * SIDE * 3)
#define CROP 64    /* a side of what transforms make */
#define LARGE 5000 /* a side of an image that needs more memory; it fits into the results of all calls */

enum { POLICY, POLICY_ON_LIST, TRANSFORM, TRANSFORM_OF_LIST, COUNTED, AHEAD_KINDS };

#define FIRST "{motley: 1, name: crops, stages: [{random_resized_crop: {size: 64}}, {flip: {horizontal: 0.5}}, "
#define LAST "{policy: {name: rand_augment}}, {output: {mean: [0.5, 0.5, 0.5], std: [0.2, 0.2, 0.2]}}]}"

/* The kernel that sorts the steps draws them, or they are drawn before it. */
static const char *const texts[2] = { FIRST LAST, FIRST "{jitter: {brightness: 0.4, contrast: 0.2}}, " LAST };

/* What all calls use: on the GPU, or on the CPU. */
typedef struct ahead {
    motley_context *context;
    const motley_policy *policies[2];
    const motley_policy *transforms[2];
    uint8_t *src;
    const uint64_t *counter; /* {5, 70}, or NULL on the CPU */
    cudaStream_t stream;
} ahead;

/* Sizes change now and then, and kinds follow each other in every order. */
static void one_of_many(const ahead *a, int call, uint8_t *to)
{
    motley_image images[2][AHEAD_COUNT];
    motley_error error;
    const int kind = call < CALLS / 2 ? call / 5 : (3 * call + call / 7) % AHEAD_KINDS;
    const size_t count = call % 11 > 7 ? AHEAD_COUNT / 2 : AHEAD_COUNT;
    const int lists = kind == POLICY_ON_LIST || kind == TRANSFORM_OF_LIST,
              crops = kind == TRANSFORM || kind == TRANSFORM_OF_LIST;
    for (size_t i = 0; i < count; i++) {
        const int32_t side = SIDE - (int32_t)(i + (size_t)call) % 40;
        for (int k = 0; k < 2; k++)
            images[k][i] = (motley_image){ (k ? to : a->src) + i * SIDE * SIDE * 3, side, SIDE, SIDE * 3, 3, 1 };
    }
    motley_batch src = batch_of(a->src, count), dst = batch_of(to, count);
    if (lists)
        src.images = images[0], dst.images = images[1];
    motley_samples samples = { .seed = 3, .epoch = (uint32_t)call, .first = 1000 * (uint64_t)call };
    if (crops) {
        dst = (motley_batch){
            .count = count, .channels = 3, .dtype = MOTLEY_F16, .data = to, .width = CROP, .height = CROP
        };
        const motley_apply_params params = { .samples = samples, .stream = a->stream };
        need(motley_apply(a->context, a->transforms[call % 4 > 1], &src, &dst, &params, &error) == MOTLEY_OK,
             error.message);
        return;
    }
    if (kind == COUNTED && !a->counter)
        samples.epoch = 5, samples.first = 70;
    const motley_apply_params params = { .samples = samples,
                                         .stream = a->stream,
                                         .counter = kind == COUNTED ? a->counter : NULL };
    need(motley_apply(a->context, a->policies[call % 3 == 0], &src, &dst, &params, &error) == MOTLEY_OK, error.message);
}

static void CUDART_CB sleep_a_little(void *unused)
{
    (void)unused;
    usleep(30000);
}

/* A captured call that is refused after draws have run ahead leaves the capture whole. */
static void check_refused(const ahead *gpu, uint8_t *results)
{
    const motley_batch large = { .count = 1, .channels = 3, .data = results, .width = LARGE, .height = LARGE };
    const motley_apply_params params = { .stream = gpu->stream };
    motley_error error;
    cudaGraph_t graph;
    need_cuda(cudaLaunchHostFunc(gpu->stream, sleep_a_little, NULL));
    for (int call = 5; call < 8; call++) /* on lists */
        one_of_many(gpu, call, results + (size_t)call * AHEAD_BYTES);
    wants(capture(gpu->context, gpu->policies[0], &large, &params, &graph, &error), MOTLEY_ERR_UNSUPPORTED, &error,
          "a larger batch needs memory while the stream is being captured");
    need_cuda(cudaGraphDestroy(graph));
    need_cuda(cudaStreamSynchronize(gpu->stream));
}

/* Many calls in a row are queued while the stream is held up, so that draws run as far ahead as they can. */
static void check_ahead(void)
{
    static const uint64_t counts[2] = { 5, 70 };
    ahead gpu = { .context = open_context(MOTLEY_BACKEND_CUDA, 0) },
          cpu = { .context = open_context(MOTLEY_BACKEND_CPU, 0) };
    motley_policy *policies[2];
    motley_policy *transforms[2];
    motley_error error;
    uint8_t *results, *counter;
    need(motley_policy_builtin("rand_augment", &policies[0], &error) == MOTLEY_OK, error.message);
    need(motley_policy_builtin("timm_rand_m9_mstd05_inc1", &policies[1], &error) == MOTLEY_OK, error.message);
    for (int k = 0; k < 2; k++)
        need(motley_policy_parse(texts[k], strlen(texts[k]), NULL, &transforms[k], &error) == MOTLEY_OK, error.message);
    uint8_t *const wanted = calloc(CALLS, AHEAD_BYTES), *const found = malloc(CALLS * AHEAD_BYTES);
    cpu.src = malloc(AHEAD_BYTES);
    need(wanted && found && cpu.src, "no memory");
    uint64_t state = 5;
    for (size_t i = 0; i < AHEAD_BYTES; i++)
        cpu.src[i] = (uint8_t)input_random(&state);
    need_cuda(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking));
    need_cuda(cudaMalloc((void **)&gpu.src, AHEAD_BYTES));
    need_cuda(cudaMalloc((void **)&results, CALLS * AHEAD_BYTES));
    need_cuda(cudaMalloc((void **)&counter, sizeof counts));
    need_cuda(cudaMemcpy(counter, counts, sizeof counts, cudaMemcpyHostToDevice));
    need_cuda(cudaMemcpy(gpu.src, cpu.src, AHEAD_BYTES, cudaMemcpyHostToDevice));
    need_cuda(cudaMemset(results, 0, CALLS * AHEAD_BYTES));
    need_cuda(cudaDeviceSynchronize());
    gpu.counter = (const uint64_t *)(const void *)counter;
    for (int k = 0; k < 2; k++) {
        gpu.policies[k] = cpu.policies[k] = policies[k];
        gpu.transforms[k] = cpu.transforms[k] = transforms[k];
    }
    for (int call = 0; call < CALLS; call++)
        one_of_many(&cpu, call, wanted + (size_t)call * AHEAD_BYTES);
    for (int round = 0; round < 3; round++) { /* the first one makes memory, and uploads tables */
        need_cuda(cudaMemsetAsync(results, 0, CALLS * AHEAD_BYTES, gpu.stream));
        need_cuda(cudaLaunchHostFunc(gpu.stream, sleep_a_little, NULL));
        for (int call = 0; call < CALLS; call++)
            one_of_many(&gpu, call, results + (size_t)call * AHEAD_BYTES);
        need_cuda(cudaStreamSynchronize(gpu.stream));
        need_cuda(cudaMemcpy(found, results, CALLS * AHEAD_BYTES, cudaMemcpyDeviceToHost));
        for (size_t call = 0; call < CALLS; call++)
            check(memcmp(wanted + call * AHEAD_BYTES, found + call * AHEAD_BYTES, AHEAD_BYTES) == 0,
                  "one of many calls in a row differs from the CPU");
        compared += CALLS;
    }
    check_refused(&gpu, results);
    cudaFree(gpu.src);
    cudaFree(results);
    cudaFree(counter);
    cudaStreamDestroy(gpu.stream);
    free(cpu.src);
    free(wanted);
    free(found);
    for (int k = 0; k < 2; k++) {
        motley_policy_destroy(policies[k]);
        motley_policy_destroy(transforms[k]);
    }
    motley_context_destroy(gpu.context);
    motley_context_destroy(cpu.context);
}

/* ---- several GPUs ---- */

/* Memory of another GPU than the context's is refused. */
static void check_mismatch(void)
{
    motley_context *first = open_context(MOTLEY_BACKEND_CUDA, 0);
    motley_policy *policy = open_policy(0);
    motley_error error;
    void *far;
    need_cuda(cudaSetDevice(1));
    need_cuda(cudaMalloc(&far, BYTES));
    const motley_batch batch = batch_of(far, COUNT);
    wants(motley_apply(first, policy, &batch, &batch, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
          "data is on CUDA device 1, want device 0");
    int device;
    need_cuda(cudaGetDevice(&device));
    check(device == 1, "a refused call changed the current device");
    need_cuda(cudaFree(far));
    need_cuda(cudaSetDevice(0));
    motley_policy_destroy(policy);
    motley_context_destroy(first);
}

/* Runs this program PROCESSES times at once: on each, several threads and captured streams. Waiting CTAs of one process
 * must not keep another's from ever starting, so a hang is a failure of this test, by its time limit. */
static int run_processes(char **argv)
{
    pid_t child[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) { /* before this process has a CUDA context, which a fork would break */
        child[i] = fork();
        need(child[i] >= 0, "no process");
        if (child[i] == 0) {
            execl("/proc/self/exe", argv[0], "streams", argv[2], (char *)NULL);
            _exit(2);
        }
    }
    int skipped = 0;
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        need(waitpid(child[i], &status, 0) == child[i], "a process is gone");
        const int skips = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;
        check(skips || (WIFEXITED(status) && WEXITSTATUS(status) == 0), "a process failed");
        skipped += skips;
    }
    printf("processes: %d of %d skipped, %d failures\n", skipped, PROCESSES, failures);
    check(skipped == 0 || skipped == PROCESSES, "only some processes found a GPU");
    return failures > 0 ? 1 : skipped > 0 ? SKIPPED : 0;
}

int main(int argc, char **argv)
{
    int devices = 0;
    need(argc > 1, "usage: test_cuda_streams streams|devices|processes [--require]");
    if (strcmp(argv[1], "processes") == 0)
        return run_processes(argv);
    const int several = strcmp(argv[1], "devices") == 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("skipped: no CUDA device can be used\n");
        return argc > 2 ? 1 : SKIPPED;
    }
    if (several && devices < 2) {
        printf("skipped: there is one GPU only\n");
        return SKIPPED;
    }
    check_threads(several ? devices : 1);
    if (several) {
        check_mismatch();
    } else {
        check_capture();
        check_ahead();
    }
    printf("%s: %d batches compared, %d failures\n", argv[1], (int)compared, failures);
    return failures > 0;
}
