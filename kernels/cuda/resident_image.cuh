/* SPDX-License-Identifier: Apache-2.0 */
/* The box: an image in shared memory, laid out without gaps, as in device memory, so that bulk copies load it. */
#ifndef MOT_RESIDENT_IMAGE_CUH
#define MOT_RESIDENT_IMAGE_CUH

#include "kernels/cuda/pixels.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define MOT_BULK_COPIES 1
#endif

/* Formats: GREY, RGB and PLANES. */
struct box {
    uint8_t *data;
    int width;        /* pixels */
    int pitch, plane; /* bytes from row to row, and from plane to plane */
};

/* Bytes of a pixel in a row, and the number of planes. */
DEVICE int pixel_bytes(int format)
{
    return format == MOT_FORMAT_RGB ? 3 : 1;
}

DEVICE int planes_of(int format)
{
    return format == MOT_FORMAT_PLANES ? 3 : 1;
}

/* One pixel of the box. For RGB it reads the two words in which the pixel may lie: there are four spare bytes behind
 * the box. */
template <int FORMAT> DEVICE uint32_t box_tap(const box &b, int x, int y)
{
    const int row = y * b.pitch;
    if (FORMAT == MOT_FORMAT_RGB) {
        const int at = row + x * 3;
        const uint32_t *const w = (const uint32_t *)(b.data + (at & ~3));
        return __funnelshift_r(w[0], w[1], (at & 3) * 8);
    }
    if (FORMAT == MOT_FORMAT_PLANES) {
        const uint8_t *const p = b.data + row + x;
        return p[0] | (uint32_t)p[b.plane] << 8 | (uint32_t)p[2 * b.plane] << 16;
    }
    return b.data[row + x];
}

/* ---- bulk copies ---- */

DEVICE uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
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

#endif
