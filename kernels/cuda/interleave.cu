/* SPDX-License-Identifier: Apache-2.0 */
/* A thread copies four neighbouring pixels, C of their channels at a time. */
#include "kernels/cuda/interleave.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/memory.cuh"

#define INTERLEAVE_THREADS 256

/* Four pixels of four channels, a word each, become four channels of four pixels; and back. */
DEVICE void transpose_four(uint32_t w[4])
{
    const uint32_t low = __byte_perm(w[0], w[1], 0x5140), high = __byte_perm(w[0], w[1], 0x7362);
    const uint32_t low2 = __byte_perm(w[2], w[3], 0x5140), high2 = __byte_perm(w[2], w[3], 0x7362);
    w[0] = __byte_perm(low, low2, 0x5410), w[1] = __byte_perm(low, low2, 0x7632);
    w[2] = __byte_perm(high, high2, 0x5410), w[3] = __byte_perm(high, high2, 0x7632);
}

/* Whether C channels lie side by side, and four pixels from p on can be loaded and stored together. */
template <int C> DEVICE bool is_interleaved(const mot_view &v, const uint8_t *p)
{
    return C > 1 && v.pixel == C && v.channel == 1 && aligned(p, 4 * C);
}

/* Whether four pixels of each channel are a word. */
template <int C> DEVICE bool is_planar(const mot_view &v, const uint8_t *p)
{
    return v.pixel == 1 && aligned(p, 4) && (C == 1 || v.channel % 4 == 0);
}

/* C channels of four pixels from p on, or of the first `count` of them: a word for each channel. */
template <int C> DEVICE void load_channels(const mot_view &v, const uint8_t *p, int count, uint32_t band[C])
{
    if (count == 4 && is_interleaved<C>(v, p)) {
        if constexpr (C == 4) {
            const uint4 px = *(const uint4 *)p;
            band[0] = px.x, band[1] = px.y, band[2] = px.z, band[3] = px.w;
            transpose_four(band);
        } else if constexpr (C == 2) {
            const uint2 px = *(const uint2 *)p;
            band[0] = __byte_perm(px.x, px.y, 0x6420), band[1] = __byte_perm(px.x, px.y, 0x7531);
        }
        return;
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        const uint8_t *const from = p + c * v.channel;
        if (count == 4 && is_planar<C>(v, p)) {
            band[c] = *(const uint32_t *)from;
            continue;
        }
        band[c] = 0;
        for (int k = 0; k < count; k++)
            band[c] |= (uint32_t)from[k * v.pixel] << (8 * k);
    }
}

template <int C> DEVICE void store_channels(const mot_view &v, uint8_t *p, int count, uint32_t band[C])
{
    if (count == 4 && is_interleaved<C>(v, p)) {
        if constexpr (C == 4) {
            transpose_four(band);
            *(uint4 *)p = make_uint4(band[0], band[1], band[2], band[3]);
        } else if constexpr (C == 2) {
            *(uint2 *)p = make_uint2(__byte_perm(band[0], band[1], 0x5140), __byte_perm(band[0], band[1], 0x7362));
        }
        return;
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        uint8_t *const to = p + c * v.channel;
        if (count == 4 && is_planar<C>(v, p)) {
            *(uint32_t *)to = band[c];
            continue;
        }
        for (int k = 0; k < count; k++)
            to[k * v.pixel] = (uint8_t)(band[c] >> (8 * k));
    }
}

/* `ctas`: of each image. */
template <int C>
static __global__ void __launch_bounds__(INTERLEAVE_THREADS)
    interleave_kernel(const __grid_constant__ mot_interleave_job job, int ctas)
{
    const int image = (int)blockIdx.x / ctas;
    const mot_view src = image_of(job.src, job.channels, image), dst = image_of(job.dst, job.channels, image);
    const uint32_t across = (uint32_t)(src.width + 3) / 4;
    const uint32_t quad = ((uint32_t)blockIdx.x - (uint32_t)(image * ctas)) * INTERLEAVE_THREADS + threadIdx.x;
    const int y = (int)(quad / across), x = 4 * (int)(quad - (uint32_t)y * across), count = min(src.width - x, 4);
    if (y >= src.height)
        return;
    const uint8_t *from = address(src, x, y);
    uint8_t *to = address(dst, x, y);
    for (int c = 0; c < job.channels; c += C, from += C * src.channel, to += C * dst.channel) {
        uint32_t band[C];
        load_channels<C>(src, from, count, band);
        store_channels<C>(dst, to, count, band);
    }
}

cudaError_t mot_interleave_launch(const mot_interleave_job *job, cudaStream_t stream)
{
    const void *const kernel = job->channels % 4 == 0   ? (const void *)interleave_kernel<4>
                               : job->channels % 2 == 0 ? (const void *)interleave_kernel<2>
                                                        : (const void *)interleave_kernel<1>;
    const int64_t quads = (int64_t)((job->src.width + 3) / 4) * job->src.height;
    const int ctas = (int)((quads + INTERLEAVE_THREADS - 1) / INTERLEAVE_THREADS);
    return mot_launch(kernel, (int64_t)ctas * job->src.samples, INTERLEAVE_THREADS, 0, 0, stream, *job, ctas);
}
