/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that mix the images of a batch, and their targets. */
#include "kernels/cuda/mix.h"

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/pixels.cuh"
#include "kernels/cuda/tuning.h"
#include "kernels/mix.h"

static __host__ __device__ constexpr int dtype_bytes(int dtype)
{
    return dtype == MOTLEY_U8 ? 1 : dtype == MOTLEY_F32 ? 4 : 2;
}

/* A component's bits. Components are aligned: mot_cuda_check. */
template <int DTYPE> DEVICE uint32_t read_bits(const uint8_t *from)
{
    constexpr int bytes = dtype_bytes(DTYPE);
    return bytes == 1 ? *from : bytes == 2 ? *(const uint16_t *)from : *(const uint32_t *)from;
}

template <int DTYPE> DEVICE void write_bits(uint8_t *to, uint32_t bits)
{
    constexpr int bytes = dtype_bytes(DTYPE);
    if (bytes == 1)
        *to = (uint8_t)bits;
    else if (bytes == 2)
        *(uint16_t *)to = (uint16_t)bits;
    else
        *(uint32_t *)to = bits;
}

template <int DTYPE> DEVICE float component_of(uint32_t bits)
{
    return mot_component_get((const uint8_t *)&bits, DTYPE);
}

template <int DTYPE> DEVICE void write_component(uint8_t *to, float v)
{
    uint32_t bits;
    mot_component_put((uint8_t *)&bits, DTYPE, v);
    write_bits<DTYPE>(to, bits);
}

/* The components of a strip that a thread reads and writes, of every image the same: columns and channels. */
struct column {
    int x[MOT_MIX_EACH], c[MOT_MIX_EACH];
    int n; /* how many: components lane, lane + 32 and so on */
};

DEVICE column column_of(const mot_mix_job &job, int first)
{
    column own;
    own.n = 0;
#pragma unroll
    for (int k = 0; k < MOT_MIX_EACH; k++) {
        const int within = threadIdx.x % 32 + 32 * k, e = first + within;
        own.c[k] = job.planes ? e / job.width : e % job.channels;
        own.x[k] = job.planes ? e - own.c[k] * job.width : e / job.channels;
        own.n += within < job.strip && e < job.width * job.channels;
    }
    return own;
}

DEVICE uint8_t *component(const mot_view &v, int x, int y, int c)
{
    return address(v, x, y) + c * v.channel;
}

template <int DTYPE> DEVICE float held(const mot_mix_job &job, const uint8_t *at)
{
    const float v = component_of<DTYPE>(read_bits<DTYPE>(at));
    return job.soft && job.smoothing > 0 ? mot_mix_smooth(v, job.width, job.smoothing) : v;
}

/* Loads a strip of every apart-th image from `first` on, which lie `pitch` bytes apart in `hold`. */
template <int DTYPE>
DEVICE void hold_strip(const mot_mix_job &job, const column &own, int y, int first, int apart, uint8_t *hold,
                       int64_t pitch)
{
    constexpr int bytes = dtype_bytes(DTYPE), each = MOT_MIX_EACH;
    for (int i = first; i < job.count; i += MOT_MIX_LOADS * apart) {
        uint32_t bits[MOT_MIX_LOADS][each]; /* loads that do not wait for each other */
#pragma unroll
        for (int image = 0; image < MOT_MIX_LOADS; image++) {
            if (i + image * apart >= job.count)
                break;
            const mot_view src = image_of(job.src, job.channels, i + image * apart);
#pragma unroll
            for (int k = 0; k < each; k++)
                if (k < own.n)
                    bits[image][k] = read_bits<DTYPE>(component(src, own.x[k], y, own.c[k]));
        }
#pragma unroll
        for (int image = 0; image < MOT_MIX_LOADS; image++)
#pragma unroll
            for (int k = 0; k < each; k++)
                if (k < own.n && i + image * apart < job.count)
                    write_bits<DTYPE>(hold + (i + image * apart) * pitch + 32 * k * bytes, bits[image][k]);
    }
}

/* In a turn each of a CTA's groups of warps takes a strip, beside those of the others. */
template <int DTYPE>
static __global__ void __launch_bounds__(MOT_MIX_THREADS, MOT_MIX_CTAS)
    mix_kernel(const __grid_constant__ mot_mix_job job)
{
    constexpr int bytes = dtype_bytes(DTYPE), each = MOT_MIX_EACH;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = warp % job.groups;
    const int first = warp / job.groups, apart = MOT_MIX_THREADS / 32 / job.groups;       /* images of a warp */
    const int64_t own_bytes = (int64_t)job.strip * bytes, pitch = own_bytes * job.groups; /* from image to image */
    uint8_t *const hold = (job.hold ? job.hold + blockIdx.x * pitch * job.count : (uint8_t *)cta_memory) +
                          group * own_bytes + lane * bytes;
    const int strips = (job.width * job.channels + job.strip - 1) / job.strip, step = job.ctas * job.groups;
    const int begin = blockIdx.x * job.groups + group, rows = step / strips, rest = step % strips;
    int y = begin / strips, strip = begin % strips;
    for (int turn = blockIdx.x; turn < job.turns; turn += job.ctas, y += rows, strip += rest) {
        if (strip >= strips) {
            strip -= strips;
            y++;
        }
        column own = column_of(job, strip * job.strip);
        own.n = y < job.height ? own.n : 0;
        __syncthreads(); /* what the turn before held is read */
        hold_strip<DTYPE>(job, own, y, first, apart, hold, pitch);
        __syncthreads();
        for (int i = first; i < job.count; i += apart) {
            const motley_mixed &m = job.drawn[i];
            if (job.in_place && m.kind == MOTLEY_MIX_NONE && !job.soft)
                continue;
            const mot_view dst = image_of(job.dst, job.channels, i);
            const uint8_t *const mine = hold + i * pitch, *const other = hold + m.partner * pitch;
            const bool mixes = job.soft || m.kind == MOTLEY_MIX_MIXUP;
            const bool pastes = !job.soft && m.kind == MOTLEY_MIX_INSTANCES;
            const uint8_t *const cut = pastes ? job.cut + ((int64_t)i * job.height + y) * job.width : nullptr;
            const bool cuts = m.kind == MOTLEY_MIX_CUTMIX && y >= m.box.top && y < m.box.top + m.box.height;
            const double share = job.soft ? m.share : m.lambda;
#pragma unroll
            for (int k = 0; k < each; k++) {
                if (k >= own.n)
                    break;
                const float x = held<DTYPE>(job, mine + 32 * k * bytes), z = held<DTYPE>(job, other + 32 * k * bytes);
                const bool theirs =
                    pastes ? cut[own.x[k]] != 0 : cuts && own.x[k] >= m.box.left && own.x[k] < m.box.left + m.box.width;
                write_component<DTYPE>(component(dst, own.x[k], y, own.c[k]),
                                       mixes    ? mot_mix_value(x, z, (float)share, (float)(1.0 - share), DTYPE)
                                       : theirs ? z
                                                : x);
            }
        }
    }
}

/* A component of an image, as it is. */
template <int DTYPE> DEVICE float read_component(const mot_mix_job &job, int i, int x, int y, int c)
{
    return component_of<DTYPE>(read_bits<DTYPE>(component(image_of(job.src, job.channels, i), x, y, c)));
}

/* Each CTA makes rows of results, whose components read from anywhere. */
template <int DTYPE>
static __global__ void __launch_bounds__(MOT_MIX_THREADS) gather_kernel(const __grid_constant__ mot_mix_job job)
{
    for (int64_t at = blockIdx.x; at < (int64_t)job.count * job.height; at += job.ctas) {
        const int i = (int)(at / job.height), row = (int)(at - (int64_t)i * job.height);
        const mot_view src = image_of(job.src, job.channels, i), dst = image_of(job.dst, job.channels, i);
        const motley_mixed &m = job.drawn[i];
        const int y = mot_mix_nearest(row, src.height, job.height);
        const float own = (float)m.lambda, other = (float)(1.0 - m.lambda);
        for (int e = threadIdx.x; e < job.width * job.channels; e += MOT_MIX_THREADS) {
            const int c = job.planes ? e / job.width : e % job.channels;
            const int column = job.planes ? e - c * job.width : e / job.channels;
            const int x = mot_mix_nearest(column, src.width, job.width);
            float v = read_component<DTYPE>(job, i, x, y, c);
            if (m.kind == MOTLEY_MIX_MIXUP)
                v = mot_mix_value(v, read_component<DTYPE>(job, m.partner, x, y, c), own, other, DTYPE);
            else if (m.kind == MOTLEY_MIX_CUTMIX && mot_mix_inside(&m.box, x, y))
                v = read_component<DTYPE>(job, m.partner, x, y, c);
            for (int k = 0; m.kind == MOTLEY_MIX_PASTE && k < m.pastes; k++) {
                const motley_paste &p = job.pastes[m.paste + k];
                if (mot_mix_inside(&p.part, x, y))
                    v = mot_mix_value(
                        v, read_component<DTYPE>(job, p.image, x - p.part.left + p.left, y - p.part.top + p.top, c),
                        own, other, DTYPE);
            }
            write_component<DTYPE>(component(dst, column, row, c), v);
        }
    }
}

/* Of all rows. */
static int64_t strips_of(const mot_mix_job *job)
{
    return ((int64_t)job->width * job->channels + job->strip - 1) / job->strip * job->height;
}

size_t mot_mix_cut(mot_mix_job *job, int shared_bytes, int multiprocessors)
{
    const int size = dtype_bytes(job->dtype);
    if (job->gathers) {
        const int64_t rows = (int64_t)job->count * job->height, most = (int64_t)multiprocessors * MOT_MIX_GATHER_CTAS;
        job->ctas = (int32_t)(rows < most ? rows : most);
        job->strip = 0;
        return 0;
    }
    const int64_t one = (int64_t)job->count * size;
    job->strip = 32 * MOT_MIX_EACH;
    while (job->strip * size > MOT_MIX_STRIP_BYTES &&
           (one * job->strip * MOT_MIX_CTAS > shared_bytes || strips_of(job) < (int64_t)multiprocessors * MOT_MIX_CTAS))
        job->strip /= 2;
    while (job->strip > 1 && one * job->strip > shared_bytes)
        job->strip /= 2;
    const bool fits = one * job->strip <= shared_bytes;
    const int per = fits && one * job->strip * MOT_MIX_CTAS <= shared_bytes ? MOT_MIX_CTAS : 1;
    if (!fits)
        job->strip = MOT_MIX_STRIP_BYTES / size;
    const int64_t strips = strips_of(job), ctas = (int64_t)multiprocessors * per;
    constexpr int warps = MOT_MIX_THREADS / 32;
    job->groups = 1; /* more, until a warp has few images, where all CTAs still have strips */
    while (job->groups < warps && job->groups * job->count < MOT_MIX_FEW * warps && strips >= 2 * job->groups * ctas &&
           2 * job->groups * one * job->strip * per <= shared_bytes)
        job->groups *= 2;
    job->turns = (int32_t)((strips + job->groups - 1) / job->groups);
    job->ctas = (int32_t)(strips < ctas ? strips : ctas);
    return fits ? 0 : (size_t)(job->ctas * one * job->strip);
}

template <int DTYPE> static const void *kernel_of(const mot_mix_job *job)
{
    return job->gathers ? (const void *)gather_kernel<DTYPE> : (const void *)mix_kernel<DTYPE>;
}

cudaError_t mot_mix_launch(const mot_mix_job *job, cudaStream_t stream)
{
    const void *const kernel = job->dtype == MOTLEY_U8    ? kernel_of<MOTLEY_U8>(job)
                               : job->dtype == MOTLEY_F32 ? kernel_of<MOTLEY_F32>(job)
                               : job->dtype == MOTLEY_F16 ? kernel_of<MOTLEY_F16>(job)
                                                          : kernel_of<MOTLEY_BF16>(job);
    const int shared_bytes = job->hold ? 0 : job->count * job->groups * job->strip * dtype_bytes(job->dtype);
    cudaError_t error = cudaSuccess;
    if (shared_bytes > 48 * 1024)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    return error == cudaSuccess ? mot_launch(kernel, job->ctas, MOT_MIX_THREADS, (size_t)shared_bytes, 0, stream, *job)
                                : error;
}

/* A tile of where pixels are cut: the union of masks around it, then what is up to `grow` beside it, then above and
 * below it. */
static __global__ void __launch_bounds__(MOT_MIX_THREADS) cut_kernel(const __grid_constant__ mot_mix_masks_job job)
{
    constexpr int tile_w = MOT_MIX_CUT_WIDTH, tile_h = MOT_MIX_CUT_HEIGHT, most = MOTLEY_MAX_GROW;
    __shared__ uint8_t any[tile_h + 2 * most][tile_w + 2 * most], beside[tile_h + 2 * most][tile_w];
    const int columns = (job.width + tile_w - 1) / tile_w, tiles = columns * ((job.height + tile_h - 1) / tile_h);
    const int64_t pixels = (int64_t)job.width * job.height;
    for (int k = blockIdx.x * MOT_MIX_THREADS + threadIdx.x; k < job.planes_count; k += gridDim.x * MOT_MIX_THREADS)
        job.extents[k] = MOT_NO_EXTENT;
    for (int64_t at = blockIdx.x; at < (int64_t)job.count * tiles; at += gridDim.x) {
        const int i = (int)(at / tiles), tile = (int)(at - (int64_t)i * tiles);
        const motley_mixed &m = job.drawn[i];
        if (m.kind != MOTLEY_MIX_INSTANCES)
            continue;
        const int grow = m.grow, left = tile % columns * tile_w, top = tile / columns * tile_h;
        const int w = tile_w + 2 * grow, h = tile_h + 2 * grow;
        const uint8_t *const src = job.src[m.partner];
        __syncthreads(); /* what the turn before had is read */
        for (int e = threadIdx.x; e < w * h; e += MOT_MIX_THREADS) {
            const int row = e / w, column = e - row * w, x = left + column - grow, y = top + row - grow;
            uint8_t v = 0;
            if (x >= 0 && x < job.width && y >= 0 && y < job.height)
                for (int k = 0; k < m.pastes; k++)
                    v |= src[job.pastes[m.paste + k].object * pixels + (int64_t)y * job.width + x];
            any[row][column] = v;
        }
        __syncthreads();
        for (int e = threadIdx.x; e < tile_w * h; e += MOT_MIX_THREADS) {
            uint8_t v = 0;
            for (int k = 0; k <= 2 * grow; k++)
                v |= any[e / tile_w][e % tile_w + k];
            beside[e / tile_w][e % tile_w] = v;
        }
        __syncthreads();
        for (int e = threadIdx.x; e < tile_w * tile_h; e += MOT_MIX_THREADS) {
            const int x = left + e % tile_w, y = top + e / tile_w;
            uint8_t v = 0;
            for (int k = 0; k <= 2 * grow; k++)
                v |= beside[e / tile_w + k][e % tile_w];
            if (x < job.width && y < job.height)
                job.cut[i * pixels + (int64_t)y * job.width + x] = v ? 255 : 0;
        }
    }
}

/* BYTES of a mask, in one access. */
template <int BYTES> DEVICE uint32_t mask_word(const uint8_t *at)
{
    return BYTES == 4 ? *(const uint32_t *)at : *at;
}

/* Writes rows of a mask, of which each warp takes one at a time, and finds where its pixels are. */
template <int BYTES>
DEVICE void write_mask(const mot_mix_masks_job &job, const mot_mix_plane &plane, int first, motley_extent &seen)
{
    const int lane = threadIdx.x % 32, end = min(first + MOT_MIX_MASK_ROWS, job.height);
    const uint8_t *const cut = job.cut + (int64_t)plane.image * job.width * job.height;
    for (int y = first + threadIdx.x / 32; y < end; y += MOT_MIX_THREADS / 32)
        for (int x = lane * BYTES; x < job.width; x += 32 * BYTES) {
            const int64_t at = (int64_t)y * job.width + x;
            const uint32_t v = mask_word<BYTES>(plane.src + at) & ~(plane.own ? mask_word<BYTES>(cut + at) : 0u);
            if (BYTES == 4)
                *(uint32_t *)(plane.dst + at) = v;
            else
                plane.dst[at] = (uint8_t)v;
            const uint32_t any = (((v & 0x7F7F7F7Fu) + 0x7F7F7F7Fu) | v) & 0x80808080u; /* a bit for each byte */
            if (!any)
                continue;
            seen.pixels += __popc(any);
            seen.left = min(seen.left, x + (__ffs(any) - 1) / 8);
            seen.right = max(seen.right, x + (31 - __clz(any)) / 8);
            seen.top = min(seen.top, y);
            seen.bottom = max(seen.bottom, y);
        }
}

static __global__ void __launch_bounds__(MOT_MIX_THREADS) masks_kernel(const __grid_constant__ mot_mix_masks_job job)
{
    const int parts = (job.height + MOT_MIX_MASK_ROWS - 1) / MOT_MIX_MASK_ROWS;
    for (int64_t at = blockIdx.x; at < (int64_t)job.planes_count * parts; at += gridDim.x) {
        const int k = (int)(at / parts), first = (int)(at - (int64_t)k * parts) * MOT_MIX_MASK_ROWS;
        const mot_mix_plane plane = job.planes[k];
        motley_extent seen = MOT_NO_EXTENT;
        if (job.width % 4 == 0 && aligned(plane.src, 4) && aligned(plane.dst, 4))
            write_mask<4>(job, plane, first, seen);
        else
            write_mask<1>(job, plane, first, seen);
        for (int step = 16; step; step /= 2) {
            seen.pixels += __shfl_xor_sync(0xFFFFFFFFu, seen.pixels, step);
            seen.left = min(seen.left, __shfl_xor_sync(0xFFFFFFFFu, seen.left, step));
            seen.right = max(seen.right, __shfl_xor_sync(0xFFFFFFFFu, seen.right, step));
            seen.top = min(seen.top, __shfl_xor_sync(0xFFFFFFFFu, seen.top, step));
            seen.bottom = max(seen.bottom, __shfl_xor_sync(0xFFFFFFFFu, seen.bottom, step));
        }
        if (threadIdx.x % 32 || seen.pixels == 0)
            continue;
        uint32_t *const extent = (uint32_t *)&job.extents[k];
        atomicAdd(&extent[0], (uint32_t)seen.pixels);
        atomicMin(&extent[1], (uint32_t)seen.left);
        atomicMin(&extent[2], (uint32_t)seen.top);
        atomicMax(&extent[3], (uint32_t)seen.right);
        atomicMax(&extent[4], (uint32_t)seen.bottom);
    }
}

static cudaError_t launch_masks(const void *kernel, const mot_mix_masks_job *job, int64_t tasks, cudaStream_t stream)
{
    return mot_launch(kernel, tasks < job->ctas ? tasks : job->ctas, MOT_MIX_THREADS, 0, 0, stream, *job);
}

cudaError_t mot_mix_cut_launch(const mot_mix_masks_job *job, cudaStream_t stream)
{
    const int64_t columns = (job->width + MOT_MIX_CUT_WIDTH - 1) / MOT_MIX_CUT_WIDTH;
    const int64_t rows = (job->height + MOT_MIX_CUT_HEIGHT - 1) / MOT_MIX_CUT_HEIGHT;
    return launch_masks((const void *)cut_kernel, job, job->count * columns * rows, stream);
}

cudaError_t mot_mix_masks_launch(const mot_mix_masks_job *job, cudaStream_t stream)
{
    const int64_t parts = (job->height + MOT_MIX_MASK_ROWS - 1) / MOT_MIX_MASK_ROWS;
    return launch_masks((const void *)masks_kernel, job, job->planes_count * parts, stream);
}

static __global__ void __launch_bounds__(MOT_MIX_THREADS)
    targets_kernel(const __grid_constant__ mot_mix_targets_job job)
{
    const int64_t all = (int64_t)job.count * job.classes;
    for (int64_t k = (int64_t)blockIdx.x * MOT_MIX_THREADS + threadIdx.x; k < all;
         k += (int64_t)gridDim.x * MOT_MIX_THREADS) {
        const int i = (int)(k / job.classes);
        const int64_t own = job.labels[i], other = job.labels[job.drawn[i].partner], c = k - (int64_t)i * job.classes;
        const bool classes = own >= 0 && own < job.classes && other >= 0 && other < job.classes;
        const double share = job.drawn[i].share;
        job.targets[k] = classes ? mot_mix_value(mot_mix_target(own == c, job.classes, job.smoothing),
                                                 mot_mix_target(other == c, job.classes, job.smoothing), (float)share,
                                                 (float)(1.0 - share), MOTLEY_F32)
                                 : mot_bits_float(0x7FC00000u);
    }
}

cudaError_t mot_mix_targets_launch(const mot_mix_targets_job *job, cudaStream_t stream)
{
    const int64_t ctas = ((int64_t)job->count * job->classes + MOT_MIX_THREADS - 1) / MOT_MIX_THREADS;
    return mot_launch((const void *)targets_kernel, ctas < 65536 ? ctas : 65536, MOT_MIX_THREADS, 0, 0, stream, *job);
}
