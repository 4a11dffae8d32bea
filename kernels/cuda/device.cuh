/* SPDX-License-Identifier: Apache-2.0 */
/* What CUDA's language does not have, or does not do the way a kernel needs it: every PTX instruction of the kernels,
 * with what the emulator (tests/emulate) does in its place. No other file of kernels/ has inline assembly. */
#ifndef MOT_DEVICE_CUH
#define MOT_DEVICE_CUH

#include "augmentations/op.h"
#include "kernels/output.h"

#include <cuda_runtime_api.h>
#include <stdint.h>

#define DEVICE static __device__ __forceinline__
#define DEVICE_MEMBER __device__ __forceinline__
/* A function that is called, and so has all registers to itself. */
#define OUTLINE static __device__ __noinline__

#if defined(__NVCC__) && defined(__CUDA_ARCH__)
#define MOT_ON_DEVICE 1 /* nvcc's pass for a chip */
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define MOT_BULK_COPIES 1
#endif

/* A CTA's dynamic shared memory. */
#if defined(__NVCC__)
extern __shared__ uint4 cta_memory[];
#else
extern uint4 *cta_memory; /* of the CTA that is being emulated */
#endif

/* ---- threads ---- */

/* blockDim.x, which the compiler would keep in local memory. */
DEVICE int cta_threads()
{
#ifdef MOT_ON_DEVICE
    int threads;
    asm volatile("mov.u32 %0, %%ntid.x;" : "=r"(threads));
    return threads;
#else
    return (int)blockDim.x;
#endif
}

/* Re-reads threadIdx.x, so that values derived from it do not stay live across a loop. */
DEVICE int thread_again()
{
#ifdef MOT_ON_DEVICE
    int self;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(self));
    return self;
#else
    return (int)threadIdx.x;
#endif
}

/* Stops nvcc from computing a value again at each use. */
DEVICE void keep(uint32_t &value)
{
#ifdef MOT_ON_DEVICE
    asm volatile("" : "+r"(value));
#else
    (void)value;
#endif
}

/* Of 32-bit numbers. */
template <class T> DEVICE T sum_of_warp(T v)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xFFFFFFFFu, v);
#else
    for (int step = 16; step; step /= 2)
        v += __shfl_xor_sync(0xFFFFFFFFu, v, step);
    return v;
#endif
}

/* 1 / v, with an error of one unit in the last place. */
DEVICE float reciprocal_near(float v)
{
#ifdef MOT_ON_DEVICE
    float by;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(by) : "f"(v));
    return by;
#else
    return 1.0f / v;
#endif
}

/* ---- kernels of a stream that overlap, where the chip can (sm_90 and later) and the launch allows it ---- */

/* The next kernel may begin once all CTAs of this one have called this or have ended. */
DEVICE void let_next_kernel_begin()
{
#if defined(MOT_ON_DEVICE) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#if defined(__NVCC__)
DEVICE void emulate_others()
{
}
#else
void emulate_previous_kernel();
void emulate_others(); /* while a thread waits for other CTAs or kernels */
#endif

/* Waits until the previous kernel has ended and what it wrote is visible. */
DEVICE void wait_for_previous_kernel()
{
#if defined(MOT_ON_DEVICE) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#elif !defined(__NVCC__)
    emulate_previous_kernel();
#endif
}

/* ---- loads and stores of device memory ---- */

/* Explicit loads of global memory: a pointer that was kept in shared memory is a generic one, and the compiler may not
 * move a generic load across a store to shared memory. */
DEVICE uint32_t load_word(const void *p)
{
#ifdef MOT_ON_DEVICE
    uint32_t v;
    asm("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
#else
    return *(const uint32_t *)p;
#endif
}

DEVICE uint32_t load_byte(const void *p)
{
#ifdef MOT_ON_DEVICE
    uint32_t v;
    asm("ld.global.u8 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
#else
    return *(const uint8_t *)p;
#endif
}

DEVICE uint4 load_four_words(const void *p)
{
#ifdef MOT_ON_DEVICE
    uint4 v;
    asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
#else
    return *(const uint4 *)p;
#endif
}

/* The same, but never moved out of a branch. */
DEVICE uint4 load_four_words_here(const void *p)
{
#ifdef MOT_ON_DEVICE
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
#else
    return *(const uint4 *)p;
#endif
}

/* Two words at each of four addresses, all of them under way before the first is used. */
DEVICE void load_four_pairs(const uint8_t *const p[4], uint32_t low[4], uint32_t high[4])
{
#ifdef MOT_ON_DEVICE
    asm volatile("ld.global.u32 %0, [%8]; ld.global.u32 %1, [%9]; ld.global.u32 %2, [%10]; ld.global.u32 %3, [%11];\n"
                 "ld.global.u32 %4, [%8+4]; ld.global.u32 %5, [%9+4]; ld.global.u32 %6, [%10+4]; "
                 "ld.global.u32 %7, [%11+4];"
                 : "=&r"(low[0]), "=&r"(low[1]), "=&r"(low[2]), "=&r"(low[3]), "=&r"(high[0]), "=&r"(high[1]),
                   "=&r"(high[2]), "=&r"(high[3])
                 : "l"(p[0]), "l"(p[1]), "l"(p[2]), "l"(p[3]));
#else
    for (int i = 0; i < 4; i++)
        low[i] = load_word(p[i]), high[i] = load_word(p[i] + 4);
#endif
}

DEVICE void store_four_words(void *p, uint4 v)
{
#ifdef MOT_ON_DEVICE
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
#else
    *(uint4 *)p = v;
#endif
}

DEVICE void store_two_words(void *p, uint2 v)
{
#ifdef MOT_ON_DEVICE
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(p), "r"(v.x), "r"(v.y) : "memory");
#else
    *(uint2 *)p = v;
#endif
}

DEVICE void store_word(void *p, uint32_t v)
{
#ifdef MOT_ON_DEVICE
    asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
#else
    *(uint32_t *)p = v;
#endif
}

DEVICE void store_byte(void *p, uint32_t v)
{
#ifdef MOT_ON_DEVICE
    asm volatile("st.global.u8 [%0], %1;" ::"l"(p), "r"(v) : "memory");
#else
    *(uint8_t *)p = (uint8_t)v;
#endif
}

/* Prefetches the line in which a byte lies into the L1 cache. */
DEVICE void prefetch(const uint8_t *p)
{
#ifdef MOT_ON_DEVICE
    asm volatile("prefetch.global.L1 [%0];" ::"l"(p));
#else
    (void)load_byte(p);
#endif
}

/* ---- numbers by which CTAs and kernels wait for each other ---- */

/* What another CTA or kernel wrote before it stored the number that this returns is visible from here on. */
DEVICE int load_acquired(const int32_t *p)
{
#ifdef MOT_ON_DEVICE
    int v;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
#else
    return *(const volatile int32_t *)p;
#endif
}

/* Whoever sees the counter's new value by load_acquired sees what this thread wrote before. */
DEVICE void add_released(int32_t *counter)
{
#ifdef MOT_ON_DEVICE
    asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(counter) : "memory");
#else
    ++*counter;
#endif
}

/* The same of the number that is stored. */
DEVICE void store_released(int32_t *to, int v)
{
#ifdef MOT_ON_DEVICE
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(to), "r"(v) : "memory");
#else
    *to = v;
#endif
}

/* As add_released; returns what the counter was before. */
DEVICE int add_released_to(int32_t *counter)
{
#ifdef MOT_ON_DEVICE
    int before;
    asm volatile("atom.release.gpu.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
#else
    return (*counter)++;
#endif
}

#if !defined(__NVCC__)
void emulate_barrier(int barrier, unsigned threads, bool waits);
#endif

/* Barriers of some of a CTA's threads, by number: all of `threads` wait, or some of them arrive and go on. */
template <int THREADS> DEVICE void wait_at_barrier(int barrier)
{
#ifdef MOT_ON_DEVICE
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(THREADS) : "memory");
#elif !defined(__NVCC__)
    emulate_barrier(barrier, THREADS, true);
#endif
}

template <int THREADS> DEVICE void arrive_at_barrier(int barrier)
{
#ifdef MOT_ON_DEVICE
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(THREADS) : "memory");
#elif !defined(__NVCC__)
    emulate_barrier(barrier, THREADS, false);
#endif
}

/* ---- shared memory, by address: as integers, because nvcc would compute generic pointers again at each use ---- */

DEVICE uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* The same, once for all uses. */
DEVICE uint32_t kept_address(const void *p)
{
    uint32_t at = shared_address(p);
    keep(at);
    return at;
}

DEVICE uint32_t load_shared_word(uint32_t at)
{
#ifdef MOT_ON_DEVICE
    uint32_t v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at));
    return v;
#else
    return *(const uint32_t *)__cvta_shared_to_generic(at);
#endif
}

DEVICE uint32_t load_shared_byte(uint32_t at)
{
#ifdef MOT_ON_DEVICE
    uint32_t v;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(at));
    return v;
#else
    return *(const uint8_t *)__cvta_shared_to_generic(at);
#endif
}

DEVICE uint4 load_shared_four_words(uint32_t at)
{
#ifdef MOT_ON_DEVICE
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at));
    return v;
#else
    return *(const uint4 *)__cvta_shared_to_generic(at);
#endif
}

/* As load_four_pairs. */
DEVICE void load_shared_four_pairs(const uint32_t at[4], uint32_t low[4], uint32_t high[4])
{
#ifdef MOT_ON_DEVICE
    asm volatile("ld.shared.u32 %0, [%8]; ld.shared.u32 %1, [%9]; ld.shared.u32 %2, [%10]; ld.shared.u32 %3, [%11];\n"
                 "ld.shared.u32 %4, [%8+4]; ld.shared.u32 %5, [%9+4]; ld.shared.u32 %6, [%10+4]; "
                 "ld.shared.u32 %7, [%11+4];"
                 : "=&r"(low[0]), "=&r"(low[1]), "=&r"(low[2]), "=&r"(low[3]), "=&r"(high[0]), "=&r"(high[1]),
                   "=&r"(high[2]), "=&r"(high[3])
                 : "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
#else
    for (int i = 0; i < 4; i++)
        low[i] = load_shared_word(at[i]), high[i] = load_shared_word(at[i] + 4);
#endif
}

DEVICE void store_shared_word(uint32_t at, uint32_t word)
{
#ifdef MOT_ON_DEVICE
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(word) : "memory");
#else
    *(uint32_t *)__cvta_shared_to_generic(at) = word;
#endif
}

/* ---- copies from device memory to shared memory that run beside the thread ---- */

/* Begins to copy 8 or 16 bytes; the same thread sees them from wait_for_copies() on. */
DEVICE void begin_to_copy(uint64_t *to, const uint64_t *from)
{
#if defined(MOT_ON_DEVICE) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
#else
    *to = *from;
#endif
}

DEVICE void begin_to_copy(uint4 *to, const uint4 *from)
{
#if defined(MOT_ON_DEVICE) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
#else
    *to = *from;
#endif
}

DEVICE void wait_for_copies()
{
#if defined(MOT_ON_DEVICE) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

#ifdef MOT_BULK_COPIES
#if defined(__NVCC__)
/* Makes a barrier, by its shared address, at which bytes arrive; barriers_made() shows the ones that the thread made to
 * bulk copies. */
DEVICE void make_barrier(uint32_t barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}

DEVICE void barriers_made()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* The barrier's phase ends when so many bytes have arrived. */
DEVICE void expect_bytes(uint32_t barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/* How the L2 cache treats what is copied: it should keep code and tables, which the next call needs, and not pixels. */
DEVICE uint64_t used_once()
{
    uint64_t once;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once));
    return once;
}

/* Begins to copy from device memory; addresses and size are multiples of 16. */
DEVICE void copy_in_bulk(uint8_t *to, const uint8_t *from, int bytes, uint32_t barrier, uint64_t once)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], "
                 "%2, [%3], %4;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier), "l"(once)
                 : "memory");
}

/* Orders ordinary stores to the image before later bulk copies that read them; every thread that stored must call it. A
 * barrier of the CTA is not enough: it orders the stores for this multiprocessor only, and a bulk copy bypasses the
 * multiprocessor's cache. It waits for device memory, about a microsecond. */
DEVICE void image_fence()
{
    asm volatile("fence.proxy.async;" ::: "memory");
}

DEVICE void barrier_wait(uint32_t barrier, uint32_t phase)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(phase)
                 : "memory");
}
#else /* emulated */
void make_barrier(uint32_t barrier);
void barriers_made();
void expect_bytes(uint32_t barrier, int bytes);
uint64_t used_once();
void copy_in_bulk(uint8_t *to, const uint8_t *from, int bytes, uint32_t barrier, uint64_t once);
void image_fence();
void barrier_wait(uint32_t barrier, uint32_t phase);
#endif
#endif

/* ---- arithmetic of packed bytes ---- */

DEVICE uint32_t byte_of(uint32_t word, int c)
{
    return word >> (8 * c) & 0xFF;
}

/* `sum` plus a word's two halves, each multiplied by the first two bytes of another word, or by its last two. */
template <bool SIGNED> DEVICE uint32_t add_pair_low(uint32_t halves, uint32_t bytes, uint32_t sum)
{
#ifdef MOT_ON_DEVICE
    uint32_t out;
    if (SIGNED)
        asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(halves), "r"(bytes), "r"(sum));
    else
        asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(halves), "r"(bytes), "r"(sum));
    return out;
#else
    for (int i = 0; i < 2; i++) {
        const uint32_t half = halves >> 16 * i & 0xFFFF;
        sum += (SIGNED ? (uint32_t)(int16_t)half : half) * (bytes >> 8 * i & 0xFF);
    }
    return sum;
#endif
}

template <bool SIGNED> DEVICE uint32_t add_pair_high(uint32_t halves, uint32_t bytes, uint32_t sum)
{
#ifdef MOT_ON_DEVICE
    uint32_t out;
    if (SIGNED)
        asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(halves), "r"(bytes), "r"(sum));
    else
        asm("dp2a.hi.u32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(halves), "r"(bytes), "r"(sum));
    return out;
#else
    return add_pair_low<SIGNED>(halves, bytes >> 16, sum);
#endif
}

/* `sum` plus the bytes of a word, each multiplied by its byte of another word. */
DEVICE uint32_t add_four(uint32_t factors, uint32_t bytes, uint32_t sum)
{
#ifdef MOT_ON_DEVICE
    uint32_t out;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(factors), "r"(bytes), "r"(sum));
    return out;
#else
    for (int i = 0; i < 32; i += 8)
        sum += (factors >> i & 0xFF) * (bytes >> i & 0xFF);
    return sum;
#endif
}

DEVICE uint32_t add_byte(uint32_t sum, mot_u8 v)
{
#ifdef MOT_ON_DEVICE
    return __dp4a(v.word, 1u << (8 * v.at), sum);
#else
    return sum + v;
#endif
}

/* The table's value for byte `i` of a word. */
DEVICE uint32_t look_up_byte(const uint8_t *table, uint32_t word, int i)
{
#ifdef MOT_ON_DEVICE
    const uint32_t at =
        __dp4a(word, 1u << (8 * i), (uint32_t)__cvta_generic_to_shared(table)); /* takes the byte, adds the address */
    return *(const uint8_t *)__cvta_shared_to_generic(at);
#else
    return table[byte_of(word, i)];
#endif
}

/* Counts byte `i` of a pixel. The counters of consecutive values are 4 x `copies` bytes apart. */
DEVICE void count_byte(uint32_t *histogram, uint32_t px, int i, uint32_t copies)
{
#ifdef MOT_ON_DEVICE
    const uint32_t at = __dp4a(px, (4 * copies) << (8 * i), (uint32_t)__cvta_generic_to_shared(histogram));
    atomicAdd((uint32_t *)__cvta_shared_to_generic(at + 1024 * copies * i), 1u);
#else
    atomicAdd(&histogram[(256 * i + byte_of(px, i)) * copies], 1u);
#endif
}

/* Four numbers, clamped to bytes. */
DEVICE uint32_t pack_clamped(const int v[4])
{
#ifdef MOT_ON_DEVICE
    uint32_t high, all;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(v[3]), "r"(v[2]));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(v[1]), "r"(v[0]), "r"(high));
#else
    uint32_t all = 0;
    for (int i = 0; i < 4; i++)
        all |= (uint32_t)min(max(v[i], 0), 255) << (8 * i);
#endif
    return all;
}

/* ---- floating point ---- */

/* Two values, rounded to 16 bits. */
DEVICE uint32_t two_f16(float first, float second)
{
#if defined(MOT_ON_DEVICE) && __CUDA_ARCH__ >= 800
    uint32_t both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
#else
    return mot_output_f16(first) | (uint32_t)mot_output_f16(second) << 16;
#endif
}

DEVICE uint32_t two_bf16(float first, float second)
{
#if defined(MOT_ON_DEVICE) && __CUDA_ARCH__ >= 800
    uint32_t both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
#else
    return mot_output_bf16(first) | (uint32_t)mot_output_bf16(second) << 16;
#endif
}

/* The sum of a word's bytes, each multiplied by its signed byte of `counts`. Whole numbers become doubles by adding a
 * large number: as exact as a conversion, and much faster. */
DEVICE double dot(uint32_t bytes, uint32_t counts)
{
#ifdef MOT_ON_DEVICE
    uint32_t low; /* 2^52 + 2^31 + the sum, as a double's low half */
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(low) : "r"(bytes), "r"(counts), "r"(0x80000000u));
    return __hiloint2double(0x43300000, (int)low) - 4503601774854144.0;
#else
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (int)byte_of(bytes, i) * (int8_t)byte_of(counts, i);
    return sum;
#endif
}

#ifndef MOT_ON_DEVICE
extern "C" unsigned long emulate_floors; /* counts calls of floor_of: binary64 is slow on most GPUs */
#endif

/* floor(v) for |v| < 2^31, as a whole number and as a double; likewise. */
DEVICE int floor_of(double v, double *whole)
{
#ifdef MOT_ON_DEVICE
    const double big = 6755399441055744.0, moved = __dadd_rd(v, big); /* 3 x 2^51 */
    *whole = moved - big;
    return __double2loint(moved);
#else
    emulate_floors++;
    *whole = floor(v);
    return (int)*whole;
#endif
}

#endif
