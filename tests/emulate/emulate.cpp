/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the kernels of kernels/cuda/large.cu on the CPU, so that their arithmetic, addresses and barriers are tested
 * where no GPU is. A CTA's threads are fibers of one host thread, which change only where the kernel waits: what a
 * missing barrier would let through shows when the fibers run in the other order (emulate_backwards). */
#define __CUDACC__ 1 /* device code only */
#include <cuda_runtime_api.h>

#include "kernels/cuda/large.cu"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define MOST_THREADS 256
#define STACK_BYTES ((size_t)96 * 1024)

dim3 threadIdx, blockIdx, blockDim, gridDim;
extern "C" int emulate_backwards;
int emulate_backwards;

/* Something to go on with where it was left. Jumps cost less than contexts, but the address sanitizer knows contexts. */
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

static place_to_go_on host, fiber[MOST_THREADS];
static unsigned threads, alive, current;
static bool ended[MOST_THREADS];
static barrier all, warp[MOST_THREADS / 32];
static unsigned warp_alive[MOST_THREADS / 32];
static uint64_t shared_word[2][MOST_THREADS]; /* of collective functions, by turns */
static unsigned collective[MOST_THREADS];
static const void *kernel_now;
static void **arguments_now;
static unsigned waited; /* changes without anyone getting on */

static void go_on(unsigned self)
{
    current = self;
    threadIdx.x = self;
}

static void yield()
{
    const unsigned self = current, step = emulate_backwards ? threads - 1 : 1;
    unsigned other = self;
    do
        other = (other + step) % threads;
    while (ended[other] && other != self);
    if (other == self)
        return;
    change(fiber[self], fiber[other]);
    go_on(self);
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
    while (b.turn == turn) {
        if (++waited > 4 * MOST_THREADS) {
            fprintf(stderr, "emulate: threads wait at different barriers\n");
            abort();
        }
        yield();
    }
    waited = 0;
}

void __syncthreads()
{
    wait_at(all, alive);
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

/* One thread of one CTA after the other. */
static void fiber_main()
{
    const unsigned self = current;
    change(fiber[self], host);
    for (;;) {
        typedef void kernel(mot_large_job, int); /* those of one argument ignore the second */
        go_on(self);
        ((kernel *)kernel_now)(*(mot_large_job *)arguments_now[0], *(int *)arguments_now[1]);
        ended[self] = true;
        alive--;
        warp_alive[self / 32]--;
        waited = 0;
        if (alive > 0 && all.arrived == alive) /* the others wait for nobody any more */
            all.arrived = 0, all.turn++;
        if (alive > 0)
            yield();
        else
            change(fiber[self], host);
    }
}

static void make_fibers()
{
    char *const stacks = (char *)malloc(MOST_THREADS * STACK_BYTES); /* for as long as the program runs */
    if (!stacks)
        abort();
    for (current = 0; current < MOST_THREADS; current++) {
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

static void run_cta()
{
    threads = alive = blockDim.x;
    all = barrier{ 0, 0 };
    for (unsigned t = 0; t < threads; t++) {
        ended[t] = false;
        collective[t] = 0;
        warp[t / 32] = barrier{ 0, 0 };
        warp_alive[t / 32] = 32;
    }
    change(host, fiber[emulate_backwards ? threads - 1 : 0]);
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t, cudaStream_t)
{
    static bool made;
    if (!made)
        make_fibers();
    made = true;
    if (block.x != MOST_THREADS)
        abort();
    kernel_now = kernel;
    arguments_now = arguments;
    gridDim = grid;
    blockDim = block;
    const unsigned ctas = grid.x * grid.y;
    for (unsigned i = 0; i < ctas; i++) {
        const unsigned cta = emulate_backwards ? ctas - 1 - i : i;
        blockIdx = dim3(cta % grid.x, cta / grid.x, 0);
        run_cta();
    }
    return cudaSuccess;
}
