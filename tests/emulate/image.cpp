/* SPDX-License-Identifier: Apache-2.0 */
/* The image kernel for emulate.cpp, as compiled for sm_90. Bytes of a bulk copy arrive when a thread waits for them; in
 * random order, sometimes earlier. Until then they are wrong where they arrive. */
#define __CUDACC__ 1 /* device code only */
#define __CUDA_ARCH__ 900
#include <cuda_runtime_api.h>

#include "kernels/cuda/tuning.h"
#undef MOT_BAND_SHIFT
#define MOT_BAND_SHIFT 5 /* so that small images are loaded in several bands */
#include "kernels/cuda/resident_kernel.cu"
#include "tests/emulate/emulate.h"

#include <stdlib.h>

struct bulk_copy {
    uint8_t *to;
    const uint8_t *from;
    int bytes;
};

/* What a barrier of resident_cta().stretch is. */
struct copy_barrier {
    bool made, seen; /* seen: by bulk copies */
    unsigned maker;  /* the thread */
    uint32_t phase;
    bool arrived;
    int64_t expected; /* bytes, less those that have arrived */
    int copies;
    bulk_copy copy[3]; /* under way */
};

static copy_barrier barriers[EMULATED_CTAS][MOT_STRETCHES];
static unsigned fenced[EMULATED_CTAS]; /* threads, since bulk copies last saw all */
static const uint8_t *watched;
static uint8_t *seen_by_copies; /* the watched bytes as bulk copies see them */
static size_t watched_bytes;

bool emulate_resident_kernel(const void *kernel, const void *job)
{
    for (int i = 0; i < 4; i++)
        for (int format = 0; format < MOT_RESIDENT_FORMATS; format++)
            if (kernel == (const void *)kernels[i / 2][i % 2][format]) {
                if (job)
                    kernels[i / 2][i % 2][format](*(const mot_resident_job *)job);
                return true;
            }
    return false;
}

void emulate_watch(const uint8_t *begin, size_t bytes)
{
    free(seen_by_copies);
    watched = begin;
    watched_bytes = bytes;
    seen_by_copies = (uint8_t *)malloc(bytes);
    if (!seen_by_copies)
        emulate_fail("no memory");
    memcpy(seen_by_copies, begin, bytes);
}

void emulate_forget_copies()
{
    memset((void *)barriers, 0, sizeof barriers);
    memset(fenced, 0, sizeof fenced);
}

static copy_barrier &barrier_at(uint32_t address, bool made)
{
    const uint32_t at = address - shared_address(resident_cta().stretch);
    if (at % sizeof resident_cta().stretch[0] || at >= sizeof resident_cta().stretch)
        emulate_fail("no such barrier");
    copy_barrier &b = barriers[emulate_cta()][at / sizeof resident_cta().stretch[0]];
    if (b.made != made)
        emulate_fail(made ? "a barrier is not made" : "a barrier is made twice");
    return b;
}

void make_barrier(uint32_t barrier)
{
    copy_barrier &b = barrier_at(barrier, false);
    b.made = true;
    b.maker = emulate_thread();
}

void barriers_made()
{
    for (copy_barrier &b : barriers[emulate_cta()])
        b.seen |= b.made && b.maker == emulate_thread();
}

static void end_phase(copy_barrier &b)
{
    if (!b.arrived || b.expected != 0)
        return;
    b.arrived = false;
    b.phase ^= 1;
}

void expect_bytes(uint32_t barrier, int bytes)
{
    copy_barrier &b = barrier_at(barrier, true);
    if (b.arrived)
        emulate_fail("a barrier is used again before its phase has ended");
    b.arrived = true;
    b.expected += bytes;
    end_phase(b);
}

uint64_t used_once()
{
    return 0;
}

void copy_in_bulk(uint8_t *to, const uint8_t *from, int bytes, uint32_t barrier, uint64_t)
{
    copy_barrier &b = barrier_at(barrier, true);
    if (((uintptr_t)to | (uintptr_t)from | (uintptr_t)bytes) % 16 || bytes <= 0 || !b.seen || b.copies == 3)
        emulate_fail("a bulk copy is not aligned, or its barrier is not made for it");
    if (from >= watched && from < watched + watched_bytes &&
        memcmp(from, seen_by_copies + (from - watched), (size_t)bytes) != 0)
        emulate_fail("a bulk copy reads what no fence has ordered before it");
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)~from[i];
    b.copy[b.copies++] = bulk_copy{ to, from, bytes };
}

/* Bytes of one of the barrier's copies arrive. */
static void let_arrive(copy_barrier &b)
{
    bulk_copy &chosen = b.copy[emulate_random((unsigned)b.copies)];
    memcpy(chosen.to, chosen.from, (size_t)chosen.bytes);
    b.expected -= chosen.bytes;
    chosen = b.copy[--b.copies];
    end_phase(b);
}

void emulate_early_copy()
{
    copy_barrier &b = barriers[emulate_random(EMULATED_CTAS)][emulate_random(MOT_STRETCHES)];
    if (b.copies > 0)
        let_arrive(b);
}

void image_fence()
{
    unsigned &n = fenced[emulate_cta()];
    if (++n < blockDim.x)
        return;
    n = 0;
    memcpy(seen_by_copies, watched, watched_bytes);
}

void barrier_wait(uint32_t barrier, uint32_t phase)
{
    copy_barrier &b = barrier_at(barrier, true);
    while (b.phase == phase)
        if (b.copies > 0 && (emulate_random(2) == 0))
            let_arrive(b);
        else
            emulate_others();
}
