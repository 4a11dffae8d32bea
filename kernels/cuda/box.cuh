/* SPDX-License-Identifier: Apache-2.0 */
/* The box: a part of an image in shared memory, laid out like the image itself, so that one copy loads it. Rows are a
 * multiple of 16 bytes long. */
#ifndef MOT_BOX_CUH
#define MOT_BOX_CUH

#include "kernels/cuda/pixels.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define MOT_BULK_COPIES 1
#endif

struct box {
    uint8_t *data;
    int x0, y0, width, height; /* the part of the image; x0 and width are multiples of 16 pixels */
    int pitch, plane;          /* bytes from row to row, and from plane to plane */
};

/* Bytes of a pixel in a row, and the number of planes. STRIDED images lie as words. */
DEVICE int pixel_bytes(int format)
{
    return format == MOT_FORMAT_RGB ? 3 : format == MOT_FORMAT_RGBA || format == MOT_FORMAT_STRIDED ? 4 : 1;
}

DEVICE int planes_of(int format)
{
    return format == MOT_FORMAT_PLANES ? 3 : 1;
}

template <int FORMAT> DEVICE void box_place(box &b, int x0, int y0, int width, int height)
{
    b.x0 = x0, b.y0 = y0, b.width = width, b.height = height;
    b.pitch = width * pixel_bytes(FORMAT);
    b.plane = b.pitch * height;
}

/* One pixel of the box. For RGB it reads the two words in which the pixel may lie: there are four spare bytes behind
 * the box. */
template <int FORMAT> DEVICE uint32_t box_tap(const box &b, int x, int y)
{
    const int row = (y - b.y0) * b.pitch;
    if (FORMAT == MOT_FORMAT_RGB) {
        const int at = row + (x - b.x0) * 3;
        const uint32_t *const w = (const uint32_t *)(b.data + (at & ~3));
        return __funnelshift_r(w[0], w[1], (at & 3) * 8);
    }
    if (FORMAT == MOT_FORMAT_PLANES) {
        const uint8_t *const p = b.data + row + (x - b.x0);
        return p[0] | (uint32_t)p[b.plane] << 8 | (uint32_t)p[2 * b.plane] << 16;
    }
    if (FORMAT == MOT_FORMAT_GREY)
        return b.data[row + (x - b.x0)];
    return *(const uint32_t *)(b.data + row + (x - b.x0) * 4);
}

/* ---- bulk copies ---- */

DEVICE uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* Orders ordinary stores to the image before later bulk copies that read them; every thread that stored must call it. A
 * barrier of the CTA is not enough: it orders the stores for this multiprocessor only, and a bulk copy bypasses the
 * multiprocessor's cache. It waits for device memory, about a microsecond. */
DEVICE void image_fence()
{
#ifdef MOT_BULK_COPIES
    asm volatile("fence.proxy.async;" ::: "memory");
#else
    __threadfence();
#endif
}

#ifdef MOT_BULK_COPIES
DEVICE void barrier_wait(const unsigned long long *barrier, uint32_t phase)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(shared_address(barrier)),
                 "r"(phase)
                 : "memory");
}
#endif

#endif
