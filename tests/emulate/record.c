/* SPDX-License-Identifier: Apache-2.0 */
/* See record.h: the runtime, and which memory kernels use: what a node says, which emulated kernels keep to (watch.h),
 * and the bytes of the caller's. */
#include "tests/emulate/record.h"

#include "dispatch/cuda/parts_draw.h"
#include "dispatch/cuda/state.h"
#include "dispatch/cuda/tiles.h"
#include "dispatch/cuda/transform_draw.h"
#include "kernels/cuda/interleave.h"
#include "kernels/cuda/mix.h"
#include "kernels/cuda/tuning.h"
#include "kernels/cuda/wide.h"
#include "policies/transform.h"
#include "tests/emulate/arrays.h"

#include <cuda.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STREAMS 64 /* in a run, destroyed ones included; 0 is the default stream, the last one the allocator's */
#define EVENTS 256
#define MOST_SHOWN 5
#define IMAGE_ALIGN 16

int record_failing, record_idle, record_streamless, record_failures, record_refused, record_elsewhere;
const char *record_again = "check_order --runs 0";
static int call; /* of the caller */
static cudaStream_t call_stream;
static const mot_node *call_node;

static void fail(const char *what)
{
    if (record_failures++ < MOST_SHOWN)
        fprintf(stderr, "check_order: call %d: %s\n  again: %s\n", call, what, record_again);
}

static void *more(void *memory, size_t bytes)
{
    void *const grown = realloc(memory, bytes);
    if (!grown) {
        fprintf(stderr, "check_order: no memory\n");
        exit(2);
    }
    return grown;
}

/* ---- clocks and accesses ---- */

typedef struct block {
    char *memory;
    size_t bytes;
    int released;
} block;

#define BETWEEN 256   /* bytes between two */
static block *blocks; /* none is used again in a run, so that each address belongs to one */
static size_t blocks_count;

static const block *block_of(const void *memory)
{
    for (size_t i = 0; i < blocks_count; i++)
        if ((size_t)((const char *)memory - blocks[i].memory) < blocks[i].bytes)
            return &blocks[i];
    return NULL;
}

typedef struct clock {
    uint32_t ended[STREAMS]; /* how much work of each stream */
} clock;

/* Work that uses bytes of memory. */
typedef struct access {
    const char *begin, *end;
    const char *what, *name; /* name: of the work */
    uint32_t number;         /* of the work, on its stream */
    int stream, writes, call;
    int of_tables, own; /* in tables that are uploaded once; of now.own */
} access;

struct record_graph {
    access *accesses; /* their numbers count the graph's work */
    size_t count;
    uint32_t works;
};

static clock host, streams[STREAMS], events[EVENTS];
static clock let_begin[STREAMS]; /* of the stream's last work, when it lets the next kernel begin */
static record_graph *captures[STREAMS];
static const char unwritten[] = "the allocator's earlier use", cleared[] = "a fill with one byte";
static int streams_made, streams_left, events_made, events_left;
static access *seen; /* of all work; not those that later ones stand for */
static size_t seen_count, seen_room;
static struct {
    const char *name;
    int stream;
    uint32_t number;
    clock early;     /* of a kernel that begins while the one before it ends */
    const clock *at; /* its accesses come after all that had ended then */
    unsigned memory; /* that it touches next, as its node has it */
    int kernel, own; /* own: that memory is its call's */
} now;               /* the work that is being described */
static struct {
    int reader, writer; /* the calls of the host's last copy */
    int graphs;         /* whether any was captured: its calls may not have run */
} copied;
static uint64_t random_state;

unsigned record_random(unsigned below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % below;
}

static void join(clock *to, const clock *from)
{
    for (int s = 0; s < STREAMS; s++)
        to->ended[s] = from->ended[s] > to->ended[s] ? from->ended[s] : to->ended[s];
}

static int stream_of(cudaStream_t stream)
{
    return (int)(uintptr_t)stream;
}

static void begin(const char *name, cudaStream_t stream)
{
    const int s = stream_of(stream);
    now.name = name;
    now.stream = s;
    now.kernel = 0;
    if (captures[s]) {
        now.number = ++captures[s]->works;
        return;
    }
    if (captures[stream_of(call_stream)])
        fail("a captured call queues work outside of its graph");
    record_elsewhere += s != stream_of(call_stream);
    now.early = let_begin[s];
    join(&now.early, &host);
    join(&streams[s], &host);
    now.at = &streams[s];
    now.number = ++streams[s].ended[s];
    let_begin[s] = streams[s];
}

/* The kernel that is being described lets the next one begin once it has waited for the one before it. */
static void lets_next(void)
{
    if (!captures[now.stream])
        let_begin[now.stream].ended[now.stream]--;
}

/* What the kernel that is being described does now, it does before it waits for the one before it. `lets`: it lets the
 * next kernel begin as early. */
static void begins_early(int lets)
{
    if (captures[now.stream])
        return;
    now.at = &now.early;
    if (lets)
        let_begin[now.stream] = now.early;
}

static void waits(void)
{
    now.at = &streams[now.stream];
}

static int ordered(const access *a, const clock *at)
{
    return a->number <= at->ended[a->stream];
}

static int overlap(const access *a, const char *first, const char *end)
{
    return a->begin < end && first < a->end;
}

static void report(const access *a, const char *what)
{
    char text[300];
    snprintf(text, sizeof text, "nothing orders %s (%s) and %s of call %d (%s)", now.name, what, a->name, a->call,
             a->what);
    fail(text);
}

/* Whether work has written these bytes, but for what lies between images in a batch's memory. */
static int is_written(const char *begin, const char *end)
{
    for (size_t i = 0; i < seen_count && begin < end; i++)
        if (seen[i].writes && seen[i].name != unwritten && seen[i].name != cleared &&
            seen[i].begin < begin + IMAGE_ALIGN && seen[i].end > begin) {
            begin = seen[i].end;
            i = (size_t)-1;
        }
    return begin >= end;
}

/* What the caller's memory is that the kernel touches from here on: a call has not laid it out. */
static void of(unsigned memory)
{
    now.memory = memory;
}

/* Of a slot's counters, each kind of kernels has its own. */
void mot_taken(unsigned memory, void *taken, size_t bytes)
{
    mot_slot_counters *const counters = taken;
    if (!block_of(taken)) /* it is the host's, where an upload is assembled */
        return;
    if ((memory & (memory - 1)) == 0) {
        add_array(memory, taken, bytes);
        return;
    }
    add_array(MOT_PROGRAMS, (uint8_t *)&counters->tiles, sizeof counters->tiles);
    add_array(MOT_PLACES, (uint8_t *)&counters->resize, sizeof counters->resize);
    add_array(MOT_ORDER, (uint8_t *)&counters->filled, bytes - offsetof(mot_slot_counters, filled));
}

static int is_of_tables(const void *memory)
{
    for (size_t i = 0; i < arrays_count; i++)
        if ((size_t)((const uint8_t *)memory - arrays[i].begin) < (size_t)(arrays[i].end - arrays[i].begin))
            return arrays[i].memory & (MOT_TABLES | MOT_OUTPUTS);
    return 0;
}

/* Whether the kernel says that it reads or writes these bytes. */
static int is_declared(const access *a)
{
    const unsigned said = a->writes ? call_node->writes : call_node->reads;
    int arrays_here = 0;
    for (size_t i = 0; i < arrays_count; i++)
        if ((const char *)arrays[i].begin < a->end && a->begin < (const char *)arrays[i].end) {
            arrays_here++;
            if (!(said & arrays[i].memory))
                return 0;
        }
    return arrays_here > 0 || (said & now.memory);
}

/* An access of the work that is being described. Of the earlier ones, those that this one covers and comes after are
 * dropped: what nothing orders with them, nothing orders with it. */
static void touch(const void *memory, size_t bytes, int writes, const char *what)
{
    if (!memory || bytes == 0)
        return;
    const access a = { .begin = memory,
                       .end = (const char *)memory + bytes,
                       .what = what,
                       .name = now.name,
                       .number = now.number,
                       .stream = now.stream,
                       .writes = writes,
                       .call = call,
                       .of_tables = is_of_tables(memory),
                       .own = now.own };
    if (now.kernel && call_node && !is_declared(&a)) {
        char text[200];
        snprintf(text, sizeof text, "%s does not say that it %s %s", now.name, writes ? "writes" : "reads", what);
        fail(text);
    }
    record_graph *const graph = captures[now.stream];
    if (graph) {
        if (graph->count % 64 == 0)
            graph->accesses = more(graph->accesses, (graph->count + 64) * sizeof a);
        graph->accesses[graph->count++] = a;
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < seen_count; i++) {
        const access *const b = &seen[i];
        const int own = b->stream == now.stream && b->number == now.number, before = own || ordered(b, now.at);
        if (!before && (writes || b->writes) && overlap(b, a.begin, a.end))
            report(b, what);
        if (!before || b->begin < a.begin || b->end > a.end || b->writes > writes)
            seen[kept++] = *b;
    }
    seen_count = kept;
    if (!writes && !now.own && !is_written(a.begin, a.end)) {
        char text[200];
        snprintf(text, sizeof text, "%s reads what nothing has written (%s)", now.name, what);
        fail(text);
    }
    if (seen_count == seen_room)
        seen = more(seen, (seen_room = 2 * seen_room + 64) * sizeof a);
    seen[seen_count++] = a;
}

/* The kernel that is being described uses all that its node names among these bits, of what the call has laid out.
 * Whether the call has written what it reads there is for those who run its kernels to find. */
static void uses(unsigned memory)
{
    for (size_t i = 0, end; call_node && i < arrays_count; i = end) {
        const unsigned own = arrays[i].memory & memory;
        for (end = i + 1;
             end < arrays_count && arrays[end].memory == arrays[i].memory && arrays[end].begin == arrays[end - 1].end;)
            end++;
        const size_t bytes = (size_t)(arrays[end - 1].end - arrays[i].begin);
        now.own = !(own & (MOT_TABLES | MOT_OUTPUTS));
        if (call_node->reads & own)
            touch(arrays[i].begin, bytes, 0, "what it reads of its call's memory");
        if (call_node->writes & own)
            touch(arrays[i].begin, bytes, 1, "what it writes of its call's memory");
    }
    now.own = 0;
}

#define READS(memory, bytes) touch((memory), (bytes), 0, #memory)
#define WRITES(memory, bytes) touch((memory), (bytes), 1, #memory)

/* ---- the caller ---- */

static int chip_multiprocessors, chip_overlaps;

void record_call(int number, cudaStream_t stream, const mot_node *node)
{
    call = number;
    call_stream = stream;
    call_node = node;
    arrays_count = 0;
}

void record_work(const char *name, cudaStream_t stream)
{
    begin(name, stream);
}

void record_access(const char *what, const void *memory, size_t bytes, int writes)
{
    touch(memory, bytes, writes, what);
}

void record_wait(cudaStream_t stream, cudaStream_t other)
{
    join(&streams[stream_of(stream)], &streams[stream_of(other)]);
}

void record_capture(cudaStream_t stream)
{
    copied.graphs = 1;
    captures[stream_of(stream)] = memset(more(NULL, sizeof(record_graph)), 0, sizeof(record_graph));
}

record_graph *record_capture_ends(cudaStream_t stream)
{
    record_graph *const graph = captures[stream_of(stream)];
    captures[stream_of(stream)] = NULL;
    return graph;
}

/* Whether anything was written there after the call that the graph captured. */
static int is_replaced(const access *a)
{
    for (size_t i = 0; i < seen_count; i++)
        if (seen[i].writes && seen[i].call > a->call && overlap(&seen[i], a->begin, a->end))
            return 1;
    return 0;
}

void record_launch(const record_graph *graph, cudaStream_t stream)
{
    uint32_t number = 0;
    for (size_t i = 0; i < graph->count; i++) {
        const access *const a = &graph->accesses[i];
        const block *const b = block_of(a->begin);
        if (b && b->released)
            fail("a graph uses memory that is released");
        if (a->of_tables && is_replaced(a))
            fail("a graph reads other tables than it captured");
        if (a->number != number)
            begin(a->name, stream);
        number = a->number;
        now.own = a->own;
        touch(a->begin, (size_t)(a->end - a->begin), a->writes, a->what);
    }
    now.own = 0;
}

void record_destroy(record_graph *graph)
{
    free(graph->accesses);
    free(graph);
}

/* ---- memory ---- */

static int fails(void)
{
    const int failed = record_failing && record_random(40) == 0;
    record_refused += failed;
    return failed;
}

void *record_allocate(void *user, size_t bytes, void *stream)
{
    (void)user;
    if (captures[stream_of(stream)])
        fail("memory is allocated for a captured call");
    if (fails())
        return NULL;
    /* little of it is written: malloc would fill all of it under MALLOC_PERTURB_ */
    void *const memory =
        mmap(NULL, bytes + BETWEEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    blocks = more(blocks, (blocks_count + 1) * sizeof *blocks);
    block *const b = &blocks[blocks_count++];
    *b = (block){ .memory = memory, .bytes = bytes };
    if (record_streamless)
        return b->memory;
    begin(unwritten, stream);
    WRITES(b->memory, b->bytes);
    return b->memory;
}

void record_release(void *user, void *memory, void *stream)
{
    (void)user;
    if (captures[stream_of(stream)])
        fail("memory is released for a captured call");
    block *const b = (block *)(uintptr_t)block_of(memory);
    if (!b || b->released || b->memory != memory) {
        fail("memory is released that was not allocated");
        return;
    }
    b->released = 1;
    size_t left = 0; /* of the arrays: a call that stops lays out its memory for each run between two stops */
    for (size_t i = 0; i < arrays_count; i++)
        if (block_of(arrays[i].begin) != b)
            arrays[left++] = arrays[i];
    arrays_count = left;
    begin("use after release", record_streamless ? (cudaStream_t)(uintptr_t)(STREAMS - 1) : stream);
    WRITES(b->memory, b->bytes);
}

void record_begin(uint64_t seed, int multiprocessors, int overlaps)
{
    memset(&host, 0, sizeof host);
    memset(streams, 0, sizeof streams);
    memset(let_begin, 0, sizeof let_begin);
    memset(events, 0, sizeof events);
    streams_made = streams_left = events_made = events_left = 0;
    seen_count = 0;
    memset(&copied, 0, sizeof copied);
    random_state = seed * 0x9E3779B97F4A7C15u;
    chip_multiprocessors = multiprocessors;
    chip_overlaps = overlaps;
}

void record_end(void)
{
    if (streams_left || events_left)
        fail("streams or events are left");
    for (size_t i = 0; i < blocks_count; i++) {
        if (!blocks[i].released)
            fail("memory is left");
        munmap(blocks[i].memory, blocks[i].bytes + BETWEEN);
    }
    blocks_count = 0;
}

/* ---- the runtime ---- */

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

const char *cudaGetErrorName(cudaError_t code)
{
    return code == cudaSuccess ? "cudaSuccess" : "an error";
}

const char *cudaGetErrorString(cudaError_t code)
{
    return cudaGetErrorName(code);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : cudaErrorInvalidConfiguration;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    const int old = !chip_overlaps; /* sm_75 or sm_90 */
    (void)device;
    *value = attribute == cudaDevAttrComputeCapabilityMajor             ? (old ? 7 : 9)
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin     ? (old ? 64 : 227) * 1024
             : attribute == cudaDevAttrMaxThreadsPerMultiProcessor      ? (old ? 1024 : 2048)
             : attribute == cudaDevAttrMaxSharedMemoryPerMultiprocessor ? (old ? 64 : 228) * 1024
                                                                        : chip_multiprocessors;
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *result)
{
    (void)name, (void)version, (void)flags;
    *function = NULL;
    *result = cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    (void)pointer;
    *attributes = (struct cudaPointerAttributes){ .type = cudaMemoryTypeDevice };
    return cudaSuccess;
}

/* Memory of the default allocator is not recorded. */
cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = calloc(1, bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    return cudaMalloc(memory, bytes);
}

cudaError_t cudaFreeHost(void *memory)
{
    return cudaFree(memory);
}

cudaError_t cudaDeviceSynchronize(void)
{
    for (int s = 0; s <= streams_made; s++)
        join(&host, &streams[s]);
    return cudaSuccess;
}

/* The host reads what work has written: all that a call reads was written by one other, if there were no graphs. */
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    int last = -1;
    if (kind != cudaMemcpyDeviceToHost)
        fail("a copy that waits goes to the device");
    now.name = "the host's copy";
    for (size_t i = 0; i < seen_count; i++) {
        if (!seen[i].writes || !overlap(&seen[i], from, (const char *)from + bytes))
            continue;
        if (!ordered(&seen[i], &host))
            report(&seen[i], "from");
        last = seen[i].call;
    }
    if (copied.reader == call && copied.writer != last && !copied.graphs)
        fail("the host reads what several calls have written");
    copied.reader = call;
    copied.writer = last;
    if (!is_written(from, (const char *)from + bytes) && !copied.graphs)
        fail("the host reads what nothing has written");
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (fails())
        return cudaErrorInvalidConfiguration;
    begin("a copy", stream);
    if (kind == cudaMemcpyDeviceToDevice)
        READS(from, bytes);
    WRITES(to, bytes);
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    (void)value;
    begin(cleared, stream);
    WRITES(memory, bytes);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    if (events_made == EVENTS - 1)
        return cudaErrorMemoryAllocation;
    *event = (cudaEvent_t)(uintptr_t)++events_made;
    events_left++;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    (void)event;
    events_left--;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    clock *const e = &events[(uintptr_t)event];
    if (captures[stream_of(stream)])
        fail("an event is recorded in a captured stream");
    *e = streams[stream_of(stream)];
    join(e, &host);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    if (captures[stream_of(stream)]) {
        fail("a captured stream waits for an event outside of its graph");
        return cudaErrorStreamCaptureUnsupported;
    }
    join(&streams[stream_of(stream)], &events[(uintptr_t)event]);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    join(&host, &events[(uintptr_t)event]);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    if (streams_made == STREAMS - 2)
        return cudaErrorMemoryAllocation;
    *stream = (cudaStream_t)(uintptr_t)++streams_made;
    streams_left++;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    (void)priority;
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    (void)stream;
    streams_left--;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    join(&host, &streams[stream_of(stream)]);
    return cudaSuccess;
}

static enum cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    if (captures[stream_of(stream)])
        fail("a captured stream is asked whether it has work left");
    for (int s = 0; s <= streams_made; s++)
        if (captures[s] && capture_mode != cudaStreamCaptureModeRelaxed)
            fail("a stream is asked whether it has work left, which ends the capture of another");
    if (!record_idle && record_random(8) > 0)
        return cudaErrorNotReady;
    join(&host, &streams[stream_of(stream)]);
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    *status = captures[stream_of(stream)] ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    const enum cudaStreamCaptureMode before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return cudaSuccess;
}

/* ---- the kernels ---- */

/* The pixels of `count` images from `first` on, or all bytes between them. `size`: of a component. */
static void images(const mot_cuda_batch *batch, int first, int count, int channels, size_t size, int writes,
                   const char *what)
{
    const char *begin = NULL, *end = NULL;
    for (int i = first; i < first + count; i++) {
        const int own = mot_sample_at(batch, i), band = mot_band_of(batch, i);
        motley_image v = {
            batch->data + own * batch->image, batch->width, batch->height, batch->row, batch->pixel, batch->channel
        };
        if (batch->images)
            v = batch->images[own];
        v.data = (char *)v.data + band * v.channel_stride;
        const char *const last = (const char *)v.data + (v.height - 1) * v.row_stride + (v.width - 1) * v.pixel_stride +
                                 (channels - 1) * v.channel_stride + size;
        begin = begin && begin < (const char *)v.data ? begin : v.data;
        end = end > last ? end : last;
    }
    of(MOT_IMAGES);
    touch(begin, (size_t)(end - begin), writes, what);
}

#define READS_IMAGES(batch, count, channels, size) images(&(batch), 0, (count), (channels), (size), 0, #batch)
#define WRITES_IMAGES(batch, count, channels, size) images(&(batch), 0, (count), (channels), (size), 1, #batch)

/* `bits`: the memory that the kernel uses as soon as it begins. */
#define LAUNCH(name, stream, bits) \
    do { \
        if (fails()) \
            return cudaErrorInvalidConfiguration; \
        begin((name), (stream)); \
        lets_next(); \
        now.kernel = 1; \
        now.memory = 0; \
        uses(bits); \
    } while (0)
#define ALL (~0u)

/* A kernel that begins when the one before it has ended, and what it does with the caller's memory. */
#define KERNEL(launch, called, job_type, ...) \
    cudaError_t launch(const job_type *job, cudaStream_t stream) \
    { \
        (void)job; \
        LAUNCH(called, stream, ALL); \
        __VA_ARGS__ \
        return cudaSuccess; \
    }

void mot_cuda_op_facts(mot_cuda_op op[MOT_OP_COUNT])
{
    memset(op, 0, MOT_OP_COUNT * sizeof *op);
}

cudaError_t mot_cuda_draw_prepare(int shared_bytes)
{
    (void)shared_bytes;
    return cudaSuccess;
}

cudaError_t mot_resident_prepare(mot_cuda_format format, int shared_bytes_max)
{
    (void)format, (void)shared_bytes_max;
    return cudaSuccess;
}

cudaError_t mot_resize_prepare(int shared_bytes)
{
    (void)shared_bytes;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value)
{
    (void)kernel, (void)attribute, (void)value;
    return cudaSuccess;
}

#define TILE_KERNEL(format) \
    const void *mot_tile_kernel_##format(void) \
    { \
        return "tile kernel"; \
    }
TILE_KERNEL(grey)
TILE_KERNEL(rgb)
TILE_KERNEL(planes)
TILE_KERNEL(rgba)
TILE_KERNEL(strided)

int mot_tile_kernel_bytes(void)
{
    return (MOT_TILE_WORDS + MOT_TILE_SPARE_WORDS) * 4;
}

/* Any sizes that grow with the images will do. */
int mot_resize_most_groups(motley_filter filter, int in, int out)
{
    (void)filter;
    return in / out + 2;
}

void mot_resize_cut(mot_resize_job *job, int width, int height, int row_groups, int shared_bytes)
{
    (void)width, (void)height, (void)row_groups, (void)shared_bytes;
    job->tile_width = job->tile_height = 32;
}

size_t mot_mix_cut(mot_mix_job *job, int shared_bytes, int multiprocessors)
{
    (void)shared_bytes, (void)multiprocessors;
    return job->count > 60 ? (size_t)job->count * 256 : 0;
}

cudaError_t mot_cuda_send(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    if (bytes == 0)
        return cudaSuccess;
    LAUNCH("an upload", stream, ALL);
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t mot_cuda_fill(int32_t *to, int32_t value, size_t count, cudaStream_t stream)
{
    LAUNCH("a fill", stream, ALL);
    for (size_t i = 0; i < count; i++)
        to[i] = value;
    return cudaSuccess;
}

/* What samples are drawn by, of the caller's. */
static void samples(const mot_cuda_samples *s, size_t n)
{
    of(MOT_COUNTER);
    READS(s->counter, 2 * sizeof *s->counter);
    READS(s->given.levels, n * sizeof *s->given.levels);
    if (s->given.boxes_on_device) {
        of(MOT_NUMBERS);
        READS(s->given.box_offsets, (n + 1) * sizeof *s->given.box_offsets);
        READS(s->given.boxes, 4 * sizeof *s->given.boxes);
    }
}

/* Draws samples, none of which has steps. */
static void draws(const mot_cuda_draw *d)
{
    if (d->draws) {
        samples(&d->samples, (size_t)d->src.samples);
        memset(d->plan.steps, 0, (size_t)d->count * (size_t)d->max_steps * sizeof(mot_step));
    }
    memset(d->plan.step_count, 0, (size_t)d->count * sizeof *d->plan.step_count);
}

cudaError_t mot_cuda_draw_launch(const mot_cuda_draw *d, cudaStream_t stream)
{
    LAUNCH("draw kernel", stream, 0);
    if (d->overlap)
        begins_early(1);
    uses(ALL);
    draws(d);
    return cudaSuccess;
}

cudaError_t mot_cuda_plan_launch(const mot_cuda_draw *d, const mot_tiles_job *job, const motley_image *few,
                                 cudaStream_t stream)
{
    LAUNCH("plan kernel", stream, 0);
    if (d->overlap && job->first == 0)
        begins_early(1);
    uses(ALL);
    if (few)
        memcpy((motley_image *)(uintptr_t)job->src.images, few, (size_t)job->src.samples * sizeof *few);
    draws(d);
    return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments)
{
    const mot_tiles_job *const job = arguments[0];
    LAUNCH(kernel, config->stream, ALL);
    images(&job->src, job->first, job->images, job->channels, 1, 0, "src");
    images(&job->work, job->first, job->images, job->channels, 1, 1, "work");
    images(&job->output, job->first, job->images, job->channels, mot_dtype_bytes(job->as.dtype), 1, "output");
    return cudaSuccess;
}

cudaError_t mot_resident_launch(const mot_resident_job *job, mot_cuda_format format, const mot_resident_shape *shape,
                                int overlap, cudaStream_t stream)
{
    (void)format, (void)shape;
    LAUNCH("image kernel", stream, 0);
    if (overlap && job->ordered)
        begins_early(0);
    uses(MOT_STEPS);
    waits();
    uses(MOT_ORDER | MOT_OUTPUTS | MOT_PARTS);
    if (overlap && job->first_wave > 0)
        begins_early(1);
    uses(MOT_IMAGES | MOT_SENT);
    READS_IMAGES(job->src, job->count, job->channels, 1);
    WRITES_IMAGES(job->work, job->count, job->channels, 1);
    WRITES_IMAGES(job->output, job->count, job->channels, mot_dtype_bytes(job->as.dtype));
    return cudaSuccess;
}

cudaError_t mot_transform_draw_launch(const mot_transform_draw_job *job, int overlap, cudaStream_t stream)
{
    (void)overlap;
    LAUNCH("draw kernel of transforms", stream, ALL);
    samples(&job->samples, (size_t)job->resize.count);
    return cudaSuccess;
}

KERNEL(mot_resize_axes_launch, "kernel of axes", mot_resize_job, )

cudaError_t mot_resize_launch(const mot_resize_job *job, int overlap, cudaStream_t stream)
{
    (void)overlap;
    LAUNCH("resize kernel", stream, ALL);
    READS_IMAGES(job->src, job->count, job->channels, 1);
    WRITES_IMAGES(job->dst, job->count, job->channels, mot_dtype_bytes(job->as.dtype));
    return cudaSuccess;
}

KERNEL(mot_erase_launch, "erasing kernel", mot_erase_job,
       WRITES_IMAGES(job->dst, job->count, job->channels, mot_dtype_bytes(job->dtype));)

cudaError_t mot_follow_launch(const mot_follow_job *job, cudaStream_t stream)
{
    const size_t n = (size_t)job->count;
    LAUNCH("kernel of followers", stream, 0);
    if (job->waits != MOT_FOLLOW_BEGINS_AFTER)
        begins_early(0);
    of(MOT_NUMBERS);
    READS(job->followed.boxes, job->followed.boxes_count * 4 * sizeof(double));
    waits();
    uses(ALL);
    of(MOT_NUMBERS);
    WRITES(job->followed.boxes, job->followed.boxes_count * 4 * sizeof(double));
    WRITES(job->followed.matrices, n * 6 * sizeof(double));
    return cudaSuccess;
}

cudaError_t mot_planes_launch(const mot_follow_job *job, const motley_planes *planes, cudaStream_t stream)
{
    const size_t n = (size_t)job->count;
    LAUNCH("kernel of planes", stream, 0);
    if (job->waits != MOT_FOLLOW_BEGINS_AFTER)
        begins_early(0);
    waits();
    uses(ALL);
    of(MOT_NUMBERS);
    READS(planes->images, n * sizeof *planes->images);
    WRITES(planes->dst, planes->count * (size_t)planes->element_size);
    return cudaSuccess;
}

cudaError_t mot_parts_draw_launch(const mot_cuda_draw *d, const mot_tables *of_transform, int own_steps,
                                  cudaStream_t stream)
{
    const size_t n = (size_t)d->count;
    (void)of_transform, (void)own_steps;
    LAUNCH("draw kernel of parts", stream, ALL);
    samples(&d->samples, n);
    memset(d->plan.steps, 0, n * (size_t)d->max_steps * sizeof *d->plan.steps);
    if (d->plan.step_count)
        memset(d->plan.step_count, 0, n * sizeof *d->plan.step_count);
    return cudaSuccess;
}

KERNEL(mot_parts_launch, "kernel of the parts", mot_parts_job, )

cudaError_t mot_break_launch(const mot_break_job *job, cudaStream_t stream)
{
    LAUNCH("kernel of breaks", stream, ALL);
    READS_IMAGES(job->src, job->count, job->channels, 1);
    if (job->has_output) {
        WRITES_IMAGES(job->output, job->count, job->channels, 2);
        return cudaSuccess;
    }
    WRITES_IMAGES(job->dst, job->count, job->channels, 1);
    if (job->in_place && !mot_blurs_planes(job->kinds, job->taps, job->width, job->height))
        WRITES_IMAGES(job->spare, job->count, job->channels, 1);
    return cudaSuccess;
}

KERNEL(mot_chains_launch, "kernel of chains", mot_chains_job, READS_IMAGES(job->src, job->count, job->channels, 1);
       READS_IMAGES(job->chains, job->count, job->channels, 1); WRITES_IMAGES(job->dst, job->count, job->channels, 1);)

KERNEL(mot_interleave_launch, "interleaving kernel", mot_interleave_job,
       READS_IMAGES(job->src, job->src.samples, job->channels, 1);
       WRITES_IMAGES(job->dst, job->dst.samples, job->channels, 1);)

KERNEL(mot_wide_plan_launch, "kernel of plans", mot_wide_call, )

KERNEL(mot_wide_count_launch, "kernel of statistics", mot_wide_call,
       READS_IMAGES(job->src, job->count, job->channels, mot_dtype_bytes(job->src_dtype));)

KERNEL(mot_wide_run_launch, "kernel of passes", mot_wide_call,
       READS_IMAGES(job->src, job->count, job->channels, mot_dtype_bytes(job->src_dtype));
       WRITES_IMAGES(job->dst, job->count, job->channels, mot_dtype_bytes(job->dst_dtype));
       if (job->beside) WRITES_IMAGES(job->output, job->count, job->channels, mot_dtype_bytes(job->output_dtype));)

KERNEL(mot_mix_launch, "mixing kernel", mot_mix_job, const size_t size = mot_dtype_bytes(job->dtype);
       READS_IMAGES(job->src, job->count, job->channels, size);
       WRITES_IMAGES(job->dst, job->count, job->channels, size);)

/* The planes of the caller are listed in memory that is none here. */
KERNEL(mot_mix_cut_launch, "kernel of pasted masks", mot_mix_masks_job, of(MOT_NUMBERS);
       WRITES(job->extents, (size_t)job->planes_count * sizeof *job->extents);)

KERNEL(mot_mix_masks_launch, "kernel of masks", mot_mix_masks_job, of(MOT_NUMBERS);
       WRITES(job->extents, (size_t)job->planes_count * sizeof *job->extents);)

KERNEL(mot_mix_targets_launch, "kernel of targets", mot_mix_targets_job, of(MOT_NUMBERS);
       READS(job->labels, (size_t)job->count * sizeof *job->labels);
       WRITES(job->targets, (size_t)job->count *(size_t)job->classes * sizeof *job->targets);)
