/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the tile kernel and those that draw transforms, resize and erase on the CPU, so that its arithmetic, addresses
 * and barriers are tested where no GPU is. The threads of all CTAs are fibers of one host thread, which change only
 * where the kernel waits: what a missing barrier would let through shows when the fibers run in the other order
 * (emulate_backwards), or in a random one: where the environment has EMULATE_SEED, a number from 1 on, each wait goes
 * on with any thread that can. Shuffles and ballots are barriers of a warp here; on a GPU they order no memory. CTAs of
 * a cooperative launch run together. The chip is the oldest and smallest, sm_75: no bulk copies, 64 KB of shared
 * memory; what asks for more is refused. */
#define __CUDACC__ 1 /* device code only */
#include <cuda_runtime_api.h>

#include "dispatch/cuda/draw.h"
#include "dispatch/cuda/transform_draw.cu"
#include "kernels/cuda/resize.cu"
#include "kernels/cuda/tile_kernel.cuh"
#include "kernels/cuda/tile_planner.cuh"
#include "kernels/cuda/tuning.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define MOST_CTAS 9
#define MOST_THREADS 256 /* of a CTA, if several run together */
#define MOST_FIBERS (MOST_CTAS * MOST_THREADS)
#define STACK_BYTES ((size_t)96 * 1024)
/* Dynamic shared memory of a CTA on the smallest chip, sm_75: without asking, and beside a kernel's own variables. */
#define SHARED_BYTES (48 * 1024)
#define SHARED_BYTES_MOST (64 * 1024 - MOT_STATIC_BYTES)

dim3 threadIdx, blockIdx, blockDim, gridDim;
extern "C" int emulate_backwards;
int emulate_backwards;

/* Something to go on with where it was left. Jumps cost less than contexts, but the address sanitizer knows contexts.
 */
struct place_to_go_on {
    ucontext_t context;
    jmp_buf jump;
};

static void change(place_to_go_on &from, place_to_go_on &to)
{
#ifdef __SANITIZE_ADDRESS__
    swapcontext(&from.context, &to.context);
#else
    if (!_setjmp(from.jump))
        _longjmp(to.jump, 1);
#endif
}

/* Where threads wait for each other: `arrived` of the present turn. */
struct barrier {
    unsigned arrived, turn;
};

static place_to_go_on host, fiber[MOST_FIBERS];
static unsigned threads, ctas, alive, current; /* threads of a CTA, CTAs that run together; `alive` of all */
static bool ended[MOST_FIBERS];
static barrier all[MOST_CTAS], warp[MOST_FIBERS / 32];
static unsigned cta_alive[MOST_CTAS], warp_alive[MOST_FIBERS / 32];
static uint64_t shared_word[2][MOST_FIBERS]; /* of collective functions, by turns */
static unsigned collective[MOST_FIBERS];
static const barrier *waits_at[MOST_FIBERS]; /* ... or did last ... */
static unsigned waits_in[MOST_FIBERS];       /* ... in this turn of it */
static uint64_t random_state;                /* 0: threads run in order */
static int shared_bytes = SHARED_BYTES;      /* that a launch may have */
static const void *kernel_now;
static void *argument_now;
static unsigned first_cta; /* of those that run */
static unsigned waited;    /* changes without anyone getting on */
static uint4 *memory[MOST_CTAS];
uint4 *tile_memory;

static void go_on(unsigned self)
{
    current = self;
    threadIdx.x = self % threads;
    blockIdx.x = first_cta + self / threads;
    tile_memory = memory[self / threads];
}

static bool can_run(unsigned i)
{
    return !ended[i] && !(waits_at[i] && waits_at[i]->turn == waits_in[i]);
}

static unsigned random_below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((random_state >> 33) % n);
}

/* The thread to go on with: the first one that can from `from` on. */
static unsigned next_thread(unsigned from)
{
    const unsigned fibers = threads * ctas;
    const bool down = random_state ? random_below(2) : emulate_backwards;
    unsigned other = random_state ? random_below(fibers) : from;
    for (unsigned i = 0; i < fibers && !can_run(other); i++)
        other = (other + (down ? fibers - 1 : 1)) % fibers;
    if (!can_run(other) || ++waited > 64 * MOST_FIBERS) {
        fprintf(stderr, "emulate: threads wait for each other\n");
        abort();
    }
    return other;
}

static void yield()
{
    const unsigned self = current, fibers = threads * ctas;
    const unsigned other = next_thread((self + (emulate_backwards ? fibers - 1 : 1)) % fibers);
    if (other == self)
        return;
    change(fiber[self], fiber[other]);
    go_on(self);
}

void emulate_others()
{
    yield();
}

static void wait_at(barrier &b, unsigned expected)
{
    const unsigned turn = b.turn;
    if (++b.arrived == expected) {
        b.arrived = 0;
        b.turn++;
        waited = 0;
        return;
    }
    waits_at[current] = &b;
    waits_in[current] = turn;
    yield();
    waited = 0;
}

void __syncthreads()
{
    wait_at(all[current / threads], cta_alive[current / threads]);
}

void __syncwarp()
{
    wait_at(warp[current / 32], warp_alive[current / 32]);
}

static const uint64_t *exchange(uint64_t value)
{
    const unsigned turn = collective[current]++ & 1;
    if (warp_alive[current / 32] != 32) {
        fprintf(stderr, "emulate: a lane is missing\n");
        abort();
    }
    shared_word[turn][current] = value;
    __syncwarp();
    return &shared_word[turn][current & ~31u];
}

unsigned __ballot_sync(unsigned, int vote)
{
    const uint64_t *const votes = exchange(vote != 0);
    unsigned out = 0;
    for (unsigned i = 0; i < 32; i++)
        out |= (unsigned)votes[i] << i;
    return out;
}

uint64_t emulate_shuffle(uint64_t value, int from_lane)
{
    return exchange(value)[from_lane & 31];
}

static bool resizes(const void *kernel)
{
    return kernel == (const void *)axes_kernel || kernel == (const void *)resize_kernel<0> ||
           kernel == (const void *)resize_kernel<1> || kernel == (const void *)resize_kernel<3>;
}

template <class Job> static void call(void (*kernel)(Job))
{
    kernel(*(const Job *)argument_now);
}

/* One thread after the other. */
static void fiber_main()
{
    const unsigned self = current;
    change(fiber[self], host);
    for (;;) {
        go_on(self);
        if (resizes(kernel_now))
            call((void (*)(mot_resize_job))kernel_now);
        else if (kernel_now == (const void *)transform_draw_kernel)
            call(transform_draw_kernel);
        else if (kernel_now == (const void *)erase_kernel)
            call(erase_kernel);
        else if (kernel_now == (const void *)fill_kernel)
            call(fill_kernel);
        else
            call((void (*)(mot_tiles_job))kernel_now);
        const unsigned cta = self / threads;
        ended[self] = true;
        alive--;
        cta_alive[cta]--;
        warp_alive[self / 32]--;
        waited = 0;
        if (cta_alive[cta] > 0 && all[cta].arrived == cta_alive[cta]) /* the others wait for nobody any more */
            all[cta].arrived = 0, all[cta].turn++;
        if (alive > 0)
            yield();
        else
            change(fiber[self], host);
    }
}

static void make_fibers()
{
    char *const stacks = (char *)malloc(MOST_FIBERS * STACK_BYTES); /* for as long as the program runs */
    if (!stacks)
        abort();
    for (current = 0; current < MOST_FIBERS; current++) {
        ucontext_t &c = fiber[current].context;
        getcontext(&c);
        c.uc_stack.ss_sp = stacks + current * STACK_BYTES;
        c.uc_stack.ss_size = STACK_BYTES;
        c.uc_link = nullptr;
        makecontext(&c, fiber_main, 0);
        if (!_setjmp(host.jump))
            swapcontext(&host.context, &c);
    }
}

/* Runs `n` CTAs from `first` on together. */
static void run_ctas(unsigned first, unsigned n)
{
    first_cta = first;
    ctas = n;
    threads = blockDim.x;
    alive = n * threads;
    waited = 0;
    for (unsigned c = 0; c < n; c++) {
        cta_alive[c] = threads;
        all[c] = barrier{ 0, 0 };
    }
    for (unsigned t = 0; t < alive; t++) {
        ended[t] = false;
        collective[t] = 0;
        waits_at[t] = nullptr;
        warp[t / 32] = barrier{ 0, 0 };
        warp_alive[t / 32] = 32;
    }
    change(host, fiber[next_thread(emulate_backwards ? alive - 1 : 0)]);
}

cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int bytes)
{
    if (bytes > SHARED_BYTES_MOST)
        return cudaErrorInvalidConfiguration;
    shared_bytes = bytes > shared_bytes ? bytes : shared_bytes;
    for (int c = 0; c < MOST_CTAS; c++)
        if (!memory[c]) {
            memory[c] = (uint4 *)aligned_alloc(256, ((size_t)bytes + 255) & ~(size_t)255);
            memset((void *)memory[c], 0xAB, (size_t)bytes);
        }
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t)
{
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *, int, size_t, cudaStream_t)
{
    abort(); /* no launch fails */
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments)
{
    static bool made;
    if (config->dynamicSmemBytes > (size_t)shared_bytes)
        return cudaErrorInvalidConfiguration;
    if (!made) {
        const char *const seed = getenv("EMULATE_SEED");
        random_state = seed ? strtoull(seed, nullptr, 10) : 0;
        make_fibers();
    }
    made = true;
    kernel_now = kernel;
    argument_now = arguments[0];
    gridDim = dim3(config->gridDim.x);
    blockDim = dim3(config->blockDim.x);
    const unsigned n = gridDim.x;
    const bool together = config->numAttrs > 0 && config->attrs[0].id == cudaLaunchAttributeCooperative;
    if (blockDim.x > MOST_FIBERS || (together && (n > MOST_CTAS || blockDim.x > MOST_THREADS)))
        abort();
    for (unsigned i = 0; i < n && !together; i++)
        run_ctas(emulate_backwards ? n - 1 - i : i, 1);
    if (together)
        run_ctas(0, n);
    return cudaSuccess;
}

static const mot_cuda_draw *draw_now;
static const motley_image *few_now;

static void programs_kernel(mot_tiles_job job)
{
    static workplace places[MOST_THREADS / 32];
    const int i = (int)(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32), sample = job.first + i;
    const mot_cuda_draw &d = *draw_now;
    workplace &place = places[threadIdx.x / 32];
    if (i < job.images && threadIdx.x % 32 == 0)
        find_image(job, few_now ? few_now : job.src.images, place, i);
    __syncwarp();
    if (i < job.images)
        make_programs(job, place, i, d.plan.steps + (int64_t)sample * d.max_steps, d.plan.step_count[sample]);
    if (blockIdx.x == 0)
        make_output_values(job, (int)threadIdx.x, (int)blockDim.x);
}

/* The steps are there. */
extern "C" cudaError_t mot_cuda_plan_launch(const mot_cuda_draw *draw, const mot_tiles_job *job,
                                            const motley_image *images, cudaStream_t)
{
    mot_tiles_job copy = *job;
    void *arguments[] = { &copy };
    cudaLaunchConfig_t config = {};
    draw_now = draw;
    few_now = images;
    config.blockDim = dim3(MOST_THREADS);
    config.gridDim = dim3((unsigned)(job->images + MOST_THREADS / 32 - 1) / (MOST_THREADS / 32));
    return cudaLaunchKernelExC(&config, (const void *)programs_kernel, arguments);
}

#define KERNEL(name, FORMAT) \
    const void *mot_tile_kernel_##name(void) \
    { \
        return (const void *)tile_kernel<FORMAT>; \
    }
KERNEL(grey, MOT_FORMAT_GREY)
KERNEL(rgb, MOT_FORMAT_RGB)
KERNEL(planes, MOT_FORMAT_PLANES)
KERNEL(rgba, MOT_FORMAT_RGBA)
KERNEL(strided, MOT_FORMAT_STRIDED)
