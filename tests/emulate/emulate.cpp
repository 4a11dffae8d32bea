/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the kernels on the CPU (the image kernel is in image.cpp), so that their arithmetic, addresses and barriers are
 * tested where no GPU is. The threads of all CTAs are fibers of one host thread, which change only where the kernel
 * waits: what a missing barrier would let through shows when the fibers run in the other order (emulate_backwards), or
 * in a random one: where the environment has EMULATE_SEED, a number from 1 on, each wait goes on with any thread that
 * can. Ballots are barriers of a warp here, though on a GPU they order no memory; so are shuffles, but in random order
 * a lane waits only for the one that it reads from, so that what relies on them as barriers shows. CTAs of a
 * cooperative launch run together. The chip is the oldest and smallest, sm_75: no bulk copies, 64 KB of shared memory;
 * what asks for more is refused. Only the image kernel has sm_90's. */
#define __CUDACC__ 1 /* device code only */
#include <cuda_runtime_api.h>

#include "dispatch/cuda/draw.cu"
#include "dispatch/cuda/parts_draw.cu"
#include "dispatch/cuda/transform_draw.cu"
#include "followers/follow.cu"
#include "kernels/cuda/breaks.cu"
#include "kernels/cuda/interleave.cu"
#include "kernels/cuda/mix.cu"
#include "kernels/cuda/resize.cu"
#include "kernels/cuda/tile_kernel.cuh"
#include "kernels/cuda/tuning.h"
#include "kernels/cuda/wide.cu"
#include "tests/emulate/emulate.h"

#include <initializer_list>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define LEAVE_STACK(from, to) __sanitizer_start_switch_fiber(&(from).fake_stack, (to).stack, (to).stack_bytes)
#define ENTER_STACK __sanitizer_finish_switch_fiber
#else
#define LEAVE_STACK(from, to)
#define ENTER_STACK(...)
#endif

#define MOST_THREADS 256 /* of a CTA, if several run together */
#define MOST_FIBERS (EMULATED_CTAS * MOST_THREADS)
#define MOST_BARRIERS 16                 /* of some of a CTA's threads */
#define STACK_BYTES ((size_t)160 * 1024) /* the kernel that uploads has 32 KB of arguments */
/* Dynamic shared memory of a CTA on the smallest chip, sm_75: without asking, and beside a kernel's own variables. */
#define SHARED_BYTES (48 * 1024)
#define SHARED_BYTES_MOST (64 * 1024 - MOT_STATIC_BYTES)
#define SHARED_GUARD 256       /* bytes behind it that no kernel writes ... */
#define SHARED_GUARD_BYTE 0xC9 /* ... and what they are */

dim3 threadIdx, blockIdx, blockDim, gridDim;
int emulate_backwards;
unsigned long emulate_floors;
void (*emulate_previous)(int all);
void (*emulate_images)(const void *job);

/* Something to go on with where it was left. AddressSanitizer is told whose stack runs. */
struct place_to_go_on {
    void *jump[5];
    const void *stack;
    size_t stack_bytes;
    void *fake_stack;
};

[[noreturn, gnu::noinline, gnu::no_sanitize_address]] static void go_to(place_to_go_on &to)
{
    __builtin_longjmp(to.jump, 1);
}

/* What the compiler and the C library do at jumps in code that is sanitized clears all that is known of a stack. */
[[gnu::no_sanitize_address]] static void change(place_to_go_on &from, place_to_go_on &to)
{
    LEAVE_STACK(from, to);
    if (!__builtin_setjmp(from.jump))
        go_to(to);
    ENTER_STACK(from.fake_stack, nullptr, nullptr);
}

/* Where threads wait for each other: `arrived` of the present turn. */
struct barrier {
    unsigned arrived, turn;
    int vote[2]; /* of this turn and of the last one */
};

static place_to_go_on host, fiber[MOST_FIBERS];
static unsigned threads, ctas, alive, current; /* threads of a CTA, CTAs that run together; `alive` of all */
static bool ended[MOST_FIBERS];
static barrier all[EMULATED_CTAS], some[EMULATED_CTAS][MOST_BARRIERS], warp[MOST_FIBERS / 32];
static unsigned cta_alive[EMULATED_CTAS], warp_alive[MOST_FIBERS / 32];
static uint64_t shared_word[2][MOST_FIBERS]; /* of collective functions, by turns */
static unsigned collective[MOST_FIBERS];
static uint64_t given_word[4][MOST_FIBERS];                 /* of shuffles in random order, by turns, ... */
static unsigned given[MOST_FIBERS];                         /* ... each lane's number of them ... */
static unsigned wants_of[MOST_FIBERS], wanted[MOST_FIBERS]; /* ... and whose words it waits for, and how many */
static const barrier *waits_at[MOST_FIBERS];                /* ... or did last ... */
static unsigned waits_in[MOST_FIBERS];                      /* ... in this turn of it */
static uint64_t first_state, random_state;                  /* 0: threads run in order */
static int memory_bytes;                                    /* of each CTA's shared memory */
static size_t launch_bytes;                                 /* ... and those of the launch */
static int shared_bytes = SHARED_BYTES, image_bytes;        /* that a launch may have; of the image kernel */
static const void *kernel_now;
static void **arguments_now;
static unsigned first_cta;               /* of those that run */
static unsigned waited;                  /* changes without anyone getting on */
static bool saw_previous[EMULATED_CTAS]; /* has waited for the previous kernel */
static uint4 *memory[EMULATED_CTAS];
uint4 *cta_memory;

static void go_on(unsigned self)
{
    current = self;
    threadIdx.x = self % threads;
    blockIdx.x = first_cta + self / threads;
    cta_memory = memory[self / threads];
}

static bool can_run(unsigned i)
{
    return !ended[i] && !(waits_at[i] && waits_at[i]->turn == waits_in[i]) && given[wants_of[i]] >= wanted[i];
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
    if (!can_run(other) || ++waited > 64 * MOST_FIBERS)
        emulate_fail("threads wait for each other");
    return other;
}

static void yield()
{
    const unsigned self = current, fibers = threads * ctas;
    if (emulate_random(8) == 7)
        emulate_early_copy();
    const unsigned other = next_thread((self + (emulate_backwards ? fibers - 1 : 1)) % fibers);
    if (other == self)
        return;
    change(fiber[self], fiber[other]);
    go_on(self);
}

void emulate_others()
{
    if (emulate_previous)
        emulate_previous(0);
    yield();
}

void emulate_previous_kernel()
{
    if (emulate_previous)
        emulate_previous(1);
    saw_previous[current / threads] = true;
}

void emulate_fail(const char *what)
{
    fprintf(stderr, "emulate: %s\n", what);
    abort();
}

unsigned emulate_thread()
{
    return current % threads;
}

unsigned emulate_cta()
{
    return current / threads;
}

unsigned emulate_random(unsigned below)
{
    return random_state ? random_below(below) : 0;
}

void emulate_begin(uint64_t turn)
{
    if (random_state)
        random_state = first_state + turn * 0x9E3779B97F4A7C15u;
}

/* All threads have arrived. */
static void complete(barrier &b)
{
    b.arrived = 0;
    b.turn++;
    b.vote[b.turn & 1] = 0;
    waited = 0;
}

static void wait_at(barrier &b, unsigned expected)
{
    const unsigned turn = b.turn;
    if (++b.arrived == expected) {
        complete(b);
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

void emulate_barrier(int number, unsigned expected, bool waits)
{
    barrier &b = some[current / threads][number];
    if (waits)
        wait_at(b, expected);
    else if (++b.arrived == expected)
        complete(b);
}

int __syncthreads_or(int vote)
{
    barrier &b = all[current / threads];
    int &any = b.vote[b.turn & 1];
    any |= vote != 0;
    __syncthreads();
    return any;
}

int __syncthreads_and(int vote)
{
    return !__syncthreads_or(!vote);
}

void __syncwarp()
{
    wait_at(warp[current / 32], warp_alive[current / 32]);
}

static const uint64_t *exchange(uint64_t value)
{
    const unsigned turn = collective[current]++ & 1;
    if (warp_alive[current / 32] != 32)
        emulate_fail("a lane is missing");
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

/* Waits until a lane has given so many words. */
static void wait_for_lane(unsigned lane, unsigned words)
{
    if (given[lane] >= words)
        return;
    wants_of[current] = lane;
    wanted[current] = words;
    yield();
    wanted[current] = 0;
    waited = 0;
}

uint64_t emulate_shuffle(uint64_t value, int from_lane)
{
    if (!random_state)
        return exchange(value)[from_lane & 31];
    const unsigned turn = given[current], first = current & ~31u, from = first + (unsigned)(from_lane & 31);
    for (unsigned lane = first; turn >= 3 && lane < first + 32; lane++)
        wait_for_lane(lane, turn - 2); /* it has read what is overwritten now */
    given_word[turn % 4][current] = value;
    given[current]++;
    wait_for_lane(from, turn + 1);
    return given_word[turn % 4][from];
}

template <class... Arguments, size_t... I>
static void call_with(void (*kernel)(Arguments...), std::index_sequence<I...>)
{
    kernel(*(const Arguments *)arguments_now[I]...);
}

template <class... Arguments> static void call(void (*kernel)(Arguments...))
{
    call_with(kernel, std::index_sequence_for<Arguments...>());
}

/* Calls the one of these kernels that was launched; false: it is another. */
template <class... Kernels> static bool is_any(Kernels... kernels)
{
    bool found = false;
    for (bool done : { kernel_now == (const void *)kernels && (call(kernels), true)... })
        found |= done;
    return found;
}

/* One thread after the other. */
static void fiber_main()
{
    const unsigned self = current;
    ENTER_STACK(nullptr, &host.stack, &host.stack_bytes);
    change(fiber[self], host);
    for (;;) {
        go_on(self);
        if (!is_any(tile_kernel<MOT_FORMAT_GREY>, tile_kernel<MOT_FORMAT_RGB>, tile_kernel<MOT_FORMAT_PLANES>,
                    tile_kernel<MOT_FORMAT_RGBA>, tile_kernel<MOT_FORMAT_STRIDED>, draw_kernel, plan_kernel<0>,
                    plan_kernel<MOT_FEW_IMAGES>, send_kernel<SEND_FEW_WORDS>, send_kernel<SEND_WORDS>,
                    transform_draw_kernel<MOT_TRANSFORM_THREADS>, transform_draw_kernel<MOT_TRANSFORM_FEW_THREADS>,
                    erase_kernel, interleave_kernel<1>, interleave_kernel<2>, interleave_kernel<4>, copy_kernel,
                    blur_kernel, plane_blur_kernel<false, 128>, plane_blur_kernel<false, 256>,
                    plane_blur_kernel<true, 128>, plane_blur_kernel<true, 256>, filter_kernel, chains_kernel<3>,
                    chains_kernel<4>, parts_draw_kernel, parts_kernel, fill_numbers_kernel, mix_kernel<MOTLEY_U8>,
                    mix_kernel<MOTLEY_F32>, mix_kernel<MOTLEY_F16>, mix_kernel<MOTLEY_BF16>, targets_kernel, cut_kernel,
                    masks_kernel, gather_kernel<MOTLEY_U8>, gather_kernel<MOTLEY_F32>, gather_kernel<MOTLEY_F16>,
                    gather_kernel<MOTLEY_BF16>, follow_kernel<float>, follow_kernel<double>, planes_kernel<uint8_t>,
                    planes_kernel<uint16_t>, planes_kernel<uint32_t>, planes_kernel<uint64_t>, wide_plan_kernel,
                    wide_look_kernel<false>, wide_look_kernel<true>, wide_resize_kernel<false>,
                    wide_resize_kernel<true>, wide_count_kernel<1, false>, wide_count_kernel<3, false>,
                    wide_count_kernel<1, true>, wide_count_kernel<3, true>, wide_run_kernel<1, false>,
                    wide_run_kernel<3, false>, wide_run_kernel<1, true>, wide_run_kernel<3, true>, axes_kernel,
                    resize_kernel<0>, resize_kernel<1>, resize_kernel<3>) &&
            !emulate_resident_kernel(kernel_now, arguments_now[0]))
            emulate_fail("a kernel that fiber_main does not list");
        const unsigned cta = self / threads;
        ended[self] = true;
        alive--;
        cta_alive[cta]--;
        warp_alive[self / 32]--;
        waited = 0;
        if (cta_alive[cta] > 0 && all[cta].arrived == cta_alive[cta]) /* the others wait for nobody any more */
            complete(all[cta]);
        if (alive > 0)
            yield();
        else
            change(fiber[self], host);
    }
}

/* Goes to the beginning of a fiber. */
[[gnu::no_sanitize_address]] static void begin(place_to_go_on &from, place_to_go_on &to, const ucontext_t &context)
{
    LEAVE_STACK(from, to);
    if (!__builtin_setjmp(from.jump))
        setcontext(&context);
    ENTER_STACK(from.fake_stack, nullptr, nullptr);
}

static void make_fibers()
{
    char *const stacks = (char *)malloc(MOST_FIBERS * STACK_BYTES); /* for as long as the program runs */
    if (!stacks)
        abort();
    for (current = 0; current < MOST_FIBERS; current++) {
        fiber[current].stack = stacks + current * STACK_BYTES;
        fiber[current].stack_bytes = STACK_BYTES;
        ucontext_t context;
        getcontext(&context);
        context.uc_stack.ss_sp = stacks + current * STACK_BYTES;
        context.uc_stack.ss_size = STACK_BYTES;
        context.uc_link = nullptr;
        makecontext(&context, fiber_main, 0);
        begin(host, fiber[current], context);
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
        all[c] = barrier{};
        for (barrier &b : some[c])
            b = barrier{};
        saw_previous[c] = false;
        memset((void *)memory[c], 0xAB, launch_bytes);
        memset((uint8_t *)memory[c] + launch_bytes, SHARED_GUARD_BYTE, SHARED_GUARD);
    }
    for (unsigned t = 0; t < alive; t++) {
        ended[t] = false;
        collective[t] = given[t] = wanted[t] = 0;
        waits_at[t] = nullptr;
        warp[t / 32] = barrier{};
        warp_alive[t / 32] = 32;
    }
    emulate_forget_copies();
    change(host, fiber[next_thread(emulate_backwards ? alive - 1 : 0)]);
    for (unsigned c = 0; c < n; c++) {
        for (int i = 0; i < SHARED_GUARD; i++)
            if (((const uint8_t *)memory[c])[launch_bytes + (size_t)i] != SHARED_GUARD_BYTE)
                emulate_fail("a CTA wrote past the end of its shared memory");
        if (emulate_previous && !saw_previous[c])
            emulate_fail("a CTA ended that had not waited for the previous kernel");
    }
}

/* Gives every CTA so much shared memory, or more. */
static void make_memory(int bytes)
{
    if (memory[0] && bytes <= memory_bytes)
        return;
    memory_bytes = bytes;
    for (int c = 0; c < EMULATED_CTAS; c++) {
        free(memory[c]);
        memory[c] = (uint4 *)aligned_alloc(256, ((size_t)bytes + SHARED_GUARD + 255) & ~(size_t)255);
        if (!memory[c])
            emulate_fail("no memory");
    }
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int bytes)
{
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudaSuccess;                                      /* the L1 cache is not emulated */
    const bool image = emulate_resident_kernel(kernel, nullptr); /* has the memory of sm_90 */
    int &most = image ? image_bytes : shared_bytes;
    if (bytes > (image ? EMULATED_RESIDENT_BYTES : SHARED_BYTES_MOST))
        return cudaErrorInvalidConfiguration;
    most = bytes > most ? bytes : most;
    make_memory(bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t)
{
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t)
{
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned)
{
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t)
{
    memset(memory, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments)
{
    static bool made;
    const bool image = emulate_resident_kernel(kernel, nullptr);
    if (config->dynamicSmemBytes > (size_t)(image ? max(image_bytes, SHARED_BYTES) : shared_bytes))
        return cudaErrorInvalidConfiguration;
    launch_bytes = config->dynamicSmemBytes;
    make_memory((int)launch_bytes);
    if (!made) {
        const char *const seed = getenv("EMULATE_SEED");
        first_state = random_state = seed ? strtoull(seed, nullptr, 10) : 0;
        make_fibers();
    }
    made = true;
    if (image && emulate_images)
        emulate_images(arguments[0]);
    kernel_now = kernel;
    arguments_now = arguments;
    gridDim = dim3(config->gridDim.x);
    blockDim = dim3(config->blockDim.x);
    const unsigned n = gridDim.x;
    const bool together = config->numAttrs > 0 && config->attrs[0].id == cudaLaunchAttributeCooperative;
    if (blockDim.x > MOST_FIBERS || (together && (n > EMULATED_CTAS || blockDim.x > MOST_THREADS)))
        abort();
    const unsigned room = image && random_state ? MOST_FIBERS / blockDim.x : 1; /* some of the image kernel's as well */
    for (unsigned i = 0, some; i < n && !together; i += some) {
        some = min(1 + emulate_random(min(room, (unsigned)EMULATED_CTAS)), n - i);
        run_ctas(emulate_backwards ? n - some - i : i, some);
    }
    if (together)
        run_ctas(0, n);
    return cudaSuccess;
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
