/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's blur by a kernel: of any size by tiles, and of few taps by a CTA that holds a whole plane. */
#ifndef MOT_BREAKS_BLUR_CUH
#define MOT_BREAKS_BLUR_CUH

#include "kernels/cuda/breaks_pixels.cuh"
#include "kernels/cuda/lines.cuh"

/* ---- of any size ---- */

#define MOT_BLUR_SIDE 64 /* of a tile, pixels: each thread makes four columns of four rows */
#define MOT_BLUR_ROWS (MOT_BLUR_SIDE + MOTLEY_MAX_KERNEL - 1)
#define MOT_BLUR_PITCH (MOT_BLUR_SIDE + MOTLEY_MAX_KERNEL + 1) /* whole words */
#define MOT_BLUR_CTAS 4                                        /* on a multiprocessor; bounds a thread's registers */
#define MOT_BLUR_DOUBTS 512                                    /* of a tile that are computed together */

struct blur_job {
    mot_cuda_batch src, dst;
    int32_t count, channels;
    const mot_step *step;
};

/* One channel of a tile with `reach` more pixels on each side, its rows blurred along, and what rounding may decide
 * otherwise than torchvision's sum: channel, row and column, and then the byte. */
struct blur_memory {
    alignas(16) float along[MOT_BLUR_ROWS * MOT_BLUR_SIDE];
    alignas(4) uint8_t window[MOT_BLUR_ROWS * MOT_BLUR_PITCH];
    alignas(16) float scaled[MOTLEY_MAX_KERNEL + 1]; /* 2^126 times `weight`, and then zeros */
    float weight[MOTLEY_MAX_KERNEL + 1];
    float wrong; /* how much the sums of white pixels may differ */
    uint16_t doubt[MOT_BLUR_DOUBTS];
    uint8_t settled[MOT_BLUR_DOUBTS];
    int doubts;
};

/* A tile of an image, and its part inside the image. */
struct blur_tile_place {
    int x, y, columns, rows;
    int size, reach; /* of the kernel */
};

/* How far a sum of the two passes may be from its byte to be trusted: half minus the most that it and torchvision's can
 * differ by, of white pixels. A step of torchvision's sum is wrong by at most half a unit of the sum so far, or by what
 * it adds; as weights are symmetric, two steps have the whole sum so far between them, and one product more. Those of
 * the two passes have it each. Negative if nothing is known, as weights that a caller gives may be any. For all
 * threads, with barriers. */
static __device__ float blur_limit(const float *weight, int size, float &wrong)
{
    float sum = 0, own = 0;
    bool known = true;
    for (int i = 0; i < size; i++) {
        known = known && weight[i] >= 0;
        sum += weight[i];
    }
    const float all = sum * sum, unit = 0x1p-24f;
    for (int i = threadIdx.x; i < size * size; i += blockDim.x) {
        const float product = weight[i / size] * weight[i % size];
        own += fminf(product, 0.5f * unit * (all + product));
    }
#pragma unroll
    for (int step = 16; step; step /= 2)
        own += __shfl_xor_sync(0xFFFFFFFFu, own, step);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&wrong, own);
    __syncthreads();
    return known && sum < 1.25f ? 0.5f - 1.01f * 255.0f * (wrong + unit * all * (float)(2 * size + 8)) : -1.0f;
}

/* A byte as a denormal float, byte * 2^-149. Weights are scaled by 2^126, so that products are normal again. */
DEVICE float tiny_byte(uint32_t word, int k)
{
    return __uint_as_float(__byte_perm(word, 0, 0x4440 | k));
}

DEVICE void load_blur_window(blur_memory &memory, const mot_view &src, const blur_tile_place &at, int c)
{
    const int lane = threadIdx.x % 32, width = at.columns + 2 * at.reach;
    int64_t column[(MOT_BLUR_PITCH + 31) / 32];
#pragma unroll
    for (int k = 0; k < (MOT_BLUR_PITCH + 31) / 32; k++)
        column[k] = inside(at.x + lane + 32 * k - at.reach, src.width) * src.pixel + c * src.channel;
#pragma unroll 2
    for (int row = threadIdx.x / 32; row < at.rows + 2 * at.reach; row += MOT_BREAK_THREADS / 32) {
        const uint8_t *const in = address(src, 0, inside(at.y + row - at.reach, src.height));
        uint8_t *const to = memory.window + row * MOT_BLUR_PITCH + lane;
#pragma unroll
        for (int k = 0; k < (MOT_BLUR_PITCH + 31) / 32; k++)
            if (lane + 32 * k < width)
                to[32 * k] = (uint8_t)load_byte(in + column[k]);
    }
}

/* Blurs the window's rows, four columns at a time. Sums are 2^-23 of bytes. */
DEVICE void blur_along(blur_memory &memory, const blur_tile_place &at)
{
    const int across = (at.columns + 3) / 4, n = across * (at.rows + 2 * at.reach);
    const uint32_t by_across = inverse_of(across);
    for (int i = threadIdx.x; i < n; i += MOT_BREAK_THREADS) {
        const int row = divided(i, by_across), group = i - row * across;
        const uint32_t *const in = (const uint32_t *)(memory.window + row * MOT_BLUR_PITCH) + group;
        float sum[4] = {}, p[8];
#pragma unroll
        for (int k = 0; k < 4; k++)
            p[4 + k] = tiny_byte(in[0], k);
#pragma unroll 2
        for (int t0 = 0; t0 < at.size; t0 += 4) {
            const four w = *(const four *)(memory.scaled + t0);
            const uint32_t next = in[t0 / 4 + 1];
#pragma unroll
            for (int k = 0; k < 4; k++)
                p[k] = p[4 + k], p[4 + k] = tiny_byte(next, k);
#pragma unroll
            for (int t = 0; t < 4; t++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    sum[k] = fmaf(w.v[t], p[t + k], sum[k]);
        }
        *(four *)&memory.along[row * MOT_BLUR_SIDE + 4 * group] = four{ { sum[0], sum[1], sum[2], sum[3] } };
    }
}

/* Four columns of four rows, from the uppermost of the `rows` that they need on. Weights before and behind the kernel's
 * are 0. */
DEVICE void blur_down(const float *along, const float *weight, int size, int rows, float sum[4][4])
{
    float w[4] = {}; /* of the four rows */
#pragma unroll 4
    for (int r = 0; r < rows; r++) {
        const four in = *(const four *)(along + r * MOT_BLUR_SIDE);
        w[3] = w[2], w[2] = w[1], w[1] = w[0], w[0] = r < size ? weight[r] : 0;
#pragma unroll
        for (int row = 0; row < 4; row++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum[row][k] = fmaf(w[row], in.v[k], sum[row][k]);
    }
}

/* torchvision's sum of a component: over all weights in its order. */
DEVICE uint8_t blur_exactly(const blur_memory &memory, const blur_tile_place &at, int row, int column)
{
    const uint8_t *in = memory.window + row * MOT_BLUR_PITCH + column;
    float sum = 0;
    for (int ky = 0; ky < at.size; ky++, in += MOT_BLUR_PITCH)
#pragma unroll 4
        for (int kx = 0; kx < at.size; kx++)
            sum = fmaf(memory.weight[ky] * memory.weight[kx], mot_above(in[kx]) - 8388608.0f, sum);
    return mot_kernel_blur_byte(sum);
}

/* One channel of a thread's pixels. */
DEVICE void blur_channel(blur_memory &memory, const blur_tile_place &at, int group, int row, float limit, int c,
                         uint32_t px[4][4])
{
    float sum[4][4] = {};
    blur_down(&memory.along[row * MOT_BLUR_SIDE + 4 * group], memory.weight, at.size,
              min(at.size + 3, at.rows + 2 * at.reach - row), sum);
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float nearest = sum[r][k] + 1.0f; /* rounds to a whole number of 2^-23 */
            uint32_t byte = __float_as_uint(nearest) & 255;
            if (!(fabsf(sum[r][k] - (nearest - 1.0f)) < limit) && 4 * group + k < at.columns && row + r < at.rows) {
                const int place = atomicAdd(&memory.doubts, 1);
                if (place < MOT_BLUR_DOUBTS)
                    memory.doubt[place] = (uint16_t)((c * MOT_BLUR_SIDE + row + r) * MOT_BLUR_SIDE + 4 * group + k);
                else
                    byte = blur_exactly(memory, at, row + r, 4 * group + k);
            }
            px[r][k] |= byte << (8 * c);
        }
}

DEVICE void blur_tile_of(blur_memory &memory, const mot_view &src, const mot_view &dst, const blur_tile_place &at,
                         float limit)
{
    const int across = (at.columns + 3) / 4, row = (int)threadIdx.x / across * 4, group = (int)threadIdx.x % across;
    uint32_t px[4][4] = {};
    int settled = 0; /* doubts */
    for (int c = 0; c < src.channels; c++) {
        load_blur_window(memory, src, at, c);
        __syncthreads();
        blur_along(memory, at);
        __syncthreads();
        if (row < at.rows)
            blur_channel(memory, at, group, row, limit, c, px);
        __syncthreads();
        const int doubts = min(memory.doubts, MOT_BLUR_DOUBTS);
        for (int i = settled + (int)threadIdx.x; i < doubts; i += MOT_BREAK_THREADS)
            memory.settled[i] = blur_exactly(memory, at, memory.doubt[i] / MOT_BLUR_SIDE % MOT_BLUR_SIDE,
                                             memory.doubt[i] % MOT_BLUR_SIDE);
        settled = doubts;
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 4; r++)
        if (row + r < at.rows)
            store_pixels(dst, at.x + 4 * group, at.y + row + r, px[r]);
    __syncthreads();
    for (int i = threadIdx.x; i < settled; i += MOT_BREAK_THREADS) {
        const int where = memory.doubt[i], line = where / MOT_BLUR_SIDE;
        address(dst, at.x + where % MOT_BLUR_SIDE, at.y + line % MOT_BLUR_SIDE)[line / MOT_BLUR_SIDE * dst.channel] =
            memory.settled[i];
    }
    if (threadIdx.x == 0)
        memory.doubts = 0;
}

/* torchvision's blur by two passes, along rows and then down. Where rounding to a byte might differ for that, the sum
 * is computed once more in torchvision's order. */
static __global__ void __launch_bounds__(MOT_BREAK_THREADS, MOT_BLUR_CTAS)
    blur_kernel(const __grid_constant__ blur_job job)
{
    __shared__ blur_memory memory;
    const cta_range mine = cta_range_of(job.count);
    const mot_step &step = job.step[mot_sample_at(&job.src, mine.image)];
    if (kind_of(step) != MOT_BREAK_BLUR)
        return;
    const mot_view src = view_of(job.src, job.channels, mine.image), dst = view_of(job.dst, job.channels, mine.image);
    const int size = (int)step.arg.size, reach = size / 2, own = threadIdx.x;
    if (own <= MOTLEY_MAX_KERNEL) {
        memory.weight[own] = own < size ? __uint_as_float(step.arg.u[abs(own - reach)]) : 0;
        memory.scaled[own] = memory.weight[own] * 0x1p126f;
    }
    if (own == 0)
        memory.doubts = 0, memory.wrong = 0;
    __syncthreads();
    const float limit = blur_limit(memory.weight, size, memory.wrong) * 0x1p-23f;
    const int across = (src.width + MOT_BLUR_SIDE - 1) / MOT_BLUR_SIDE;
    const int64_t tiles = (int64_t)across * ((src.height + MOT_BLUR_SIDE - 1) / MOT_BLUR_SIDE);
    for (int64_t tile = mine.first; tile < tiles; tile += mine.step) {
        const int x = (int)(tile % across) * MOT_BLUR_SIDE, y = (int)(tile / across) * MOT_BLUR_SIDE;
        blur_tile_of(
            memory, src, dst,
            blur_tile_place{ x, y, min(MOT_BLUR_SIDE, src.width - x), min(MOT_BLUR_SIDE, src.height - y), size, reach },
            limit);
    }
}

/* ---- of few taps: a CTA holds a whole plane, so that it may be written over ---- */

#define MOT_PLANE_REACH 4     /* of MOT_BREAK_FEW_TAPS; smaller kernels end with weights of 0 */
#define MOT_PLANE_THREADS 128 /* for planes of no more than MOT_PLANE_FEW quads; twice as many for others, */
#define MOT_PLANE_FEW 4096    /* of which few fit on a multiprocessor, so that the last ones take less long */
#define MOT_PLANE_ROWS 24     /* of a thread's four columns, about; it begins with eight more */
#define MOT_PLANE_DOUBTS 256  /* that are computed together */

struct plane_job {
    mot_cuda_batch src, dst; /* dst is the output where there is one: planes of 16-bit values by lines */
    int32_t count, channels;
    const mot_step *step;
    mot_cuda_output as;
};

struct plane_memory {
    float weight[MOT_BREAK_FEW_TAPS];
    float wrong; /* as in blur_memory */
    int doubts;
    uint32_t doubt[MOT_PLANE_DOUBTS]; /* row and column */
};

/* Row `row` of the plane in shared memory, MOT_PLANE_REACH above the image's; a word before and behind it are its
 * reach. */
DEVICE uint32_t *plane_row(int row, int pitch)
{
    return (uint32_t *)cta_memory + 4 + row * pitch;
}

/* Loads a plane whose rows are whole pieces of 16 bytes, with all loads under way together. */
DEVICE void load_pieces(const mot_view &src, const uint8_t *data, int pitch)
{
    const int rows = src.height + 2 * MOT_PLANE_REACH, pieces = src.width / 16, quads = src.width / 4;
    const uint32_t by_pieces = inverse_of(pieces);
    for (int i = threadIdx.x; i < pieces * rows; i += (int)blockDim.x) {
        const int row = divided(i, by_pieces), k = i - row * pieces;
        begin_to_copy((uint4 *)plane_row(row, pitch) + k,
                      (const uint4 *)(data + inside(row - MOT_PLANE_REACH, src.height) * src.row) + k);
    }
    wait_for_copies();
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * rows; i += (int)blockDim.x) { /* both ends are mirrored */
        uint32_t *const row = plane_row(i / 2, pitch);
        if (i % 2 == 0)
            row[-1] = __byte_perm(row[0], row[1], 0x1234);
        else
            row[quads] = __byte_perm(row[quads - 1], row[quads - 2], 0x7012);
    }
}

DEVICE void load_plane(const mot_view &src, int c, int pitch)
{
    const uint8_t *const data = src.data + c * src.channel;
    if (src.pixel == 1 && src.width % 16 == 0 && aligned(data, 16) && src.row % 16 == 0) {
        load_pieces(src, data, pitch);
        return;
    }
    const int words = (src.width + 3) / 4 + 2, n = words * (src.height + 2 * MOT_PLANE_REACH);
    const uint32_t by_words = inverse_of(words);
    for (int i = threadIdx.x; i < n; i += (int)blockDim.x) {
        const int row = divided(i, by_words), at = i - row * words - 1;
        const uint8_t *const in = data + inside(row - MOT_PLANE_REACH, src.height) * src.row;
        uint32_t word = 0;
#pragma unroll
        for (int k = 0; k < 4; k++)
            word |= load_byte(in + inside(4 * at + k, src.width) * src.pixel) << (8 * k);
        plane_row(row, pitch)[at] = word;
    }
}

/* Four components of a row, blurred along it; `in`: the words before, at and behind them. */
DEVICE void blur_four(const uint32_t *in, const float scaled[MOT_PLANE_REACH + 1], float sum[4])
{
    float p[4 + 2 * MOT_PLANE_REACH];
#pragma unroll
    for (int k = 0; k < 4 + 2 * MOT_PLANE_REACH; k++)
        p[k] = tiny_byte(in[k / 4], k % 4);
#pragma unroll
    for (int k = 0; k < 4; k++)
        sum[k] = 0;
#pragma unroll
    for (int t = 0; t < MOT_BREAK_FEW_TAPS; t++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            sum[k] = fmaf(scaled[t < MOT_PLANE_REACH ? MOT_PLANE_REACH - t : t - MOT_PLANE_REACH], p[t + k], sum[k]);
}

/* torchvision's sum of a component, from the uppermost left one of the plane's window on. */
static __device__ __noinline__ uint32_t plane_exactly(const plane_memory &memory, int pitch, int row, int column)
{
    const uint8_t *in = (const uint8_t *)plane_row(row, pitch) + column - MOT_PLANE_REACH;
    float sum = 0;
    for (int ky = 0; ky < MOT_BREAK_FEW_TAPS; ky++, in += 4 * pitch)
        for (int kx = 0; kx < MOT_BREAK_FEW_TAPS; kx++) {
            const float product = memory.weight[ky] * memory.weight[kx];
            sum = fmaf(product, mot_above(in[kx]) - 8388608.0f, sum);
        }
    return mot_kernel_blur_byte(sum);
}

/* Notes which of four components of a row are in doubt. Rare. */
static __device__ __noinline__ uint32_t note_doubts(plane_memory &memory, int pitch, int row, int column, int width,
                                                    uint32_t bytes, float limit, four off)
{
    for (int k = 0; k < 4 && column + k < width; k++) {
        if (fabsf(off.v[k]) < limit)
            continue;
        const int place = atomicAdd(&memory.doubts, 1);
        if (place < MOT_PLANE_DOUBTS)
            memory.doubt[place] = (uint32_t)row << 16 | (uint32_t)(column + k);
        else
            bytes = (bytes & ~(0xFFu << (8 * k))) | plane_exactly(memory, pitch, row, column + k) << (8 * k);
    }
    return bytes;
}

static __device__ __noinline__ void store_apart(uint8_t *p, int64_t pixel, int count, uint32_t bytes)
{
    for (int k = 0; k < min(count, 4); k++, bytes >>= 8)
        store_byte(p + k * pixel, bytes);
}

/* Four columns of some rows of a plane: each row is blurred along once and stays in registers for the nine rows that
 * need it. OUTPUT: results are made by `line`. */
template <bool OUTPUT>
DEVICE void blur_columns(plane_memory &memory, const mot_view &dst, int c, int pitch, int quad, int row, int end,
                         float limit, int dtype, const mot_output_line &line)
{
    float weight[MOT_PLANE_REACH + 1], scaled[MOT_PLANE_REACH + 1], along[MOT_BREAK_FEW_TAPS][4];
#pragma unroll
    for (int k = 0; k <= MOT_PLANE_REACH; k++)
        weight[k] = memory.weight[MOT_PLANE_REACH + k], scaled[k] = weight[k] * 0x1p126f;
    const uint32_t *in = plane_row(row, pitch) + quad - 1;
    uint8_t *p = address(dst, 4 * quad, row) + c * dst.channel;
    const int count = dst.width - 4 * quad;
    const bool words = dst.pixel == 1 && count >= 4 && aligned(p, 4) && dst.row % 4 == 0;
#pragma unroll
    for (int k = 0; k < MOT_BREAK_FEW_TAPS - 1; k++, in += pitch)
        blur_four(in, scaled, along[k]);
    for (; row < end; row += MOT_BREAK_FEW_TAPS) {
#pragma unroll
        for (int turn = 0; turn < MOT_BREAK_FEW_TAPS; turn++) {
            if (row + turn >= end)
                break;
            float sum[4] = {}, off[4];
            uint32_t bits[4];
            blur_four(in, scaled, along[(turn + MOT_BREAK_FEW_TAPS - 1) % MOT_BREAK_FEW_TAPS]);
            in += pitch;
#pragma unroll
            for (int t = 0; t < MOT_BREAK_FEW_TAPS; t++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    sum[k] = fmaf(weight[t < MOT_PLANE_REACH ? MOT_PLANE_REACH - t : t - MOT_PLANE_REACH],
                                  along[(turn + t) % MOT_BREAK_FEW_TAPS][k], sum[k]);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const float nearest = sum[k] + 1.0f; /* as in blur_channel */
                bits[k] = __float_as_uint(nearest);
                off[k] = sum[k] - (nearest - 1.0f);
            }
            uint32_t bytes =
                __byte_perm(__byte_perm(bits[0], bits[1], 0x0040), __byte_perm(bits[2], bits[3], 0x0040), 0x5410);
            if (!(fmaxf(fmaxf(fabsf(off[0]), fabsf(off[1])), fmaxf(fabsf(off[2]), fabsf(off[3]))) < limit))
                bytes = note_doubts(memory, pitch, row + turn, 4 * quad, dst.width, bytes, limit,
                                    four{ { off[0], off[1], off[2], off[3] } });
            if (OUTPUT)
                store_two_words(p, round_word(dtype, line, bytes));
            else if (words)
                store_word(p, bytes);
            else
                store_apart(p, dst.pixel, count, bytes);
            p += dst.row;
        }
    }
}

/* Makes an output of a plane that stays as it is. */
DEVICE void write_plane(const mot_view &src, const mot_view &dst, int c, int dtype, const mot_output_line &line)
{
    const int pieces = src.width / 16, n = pieces * src.height;
    const uint32_t by_pieces = inverse_of(pieces);
    const uint8_t *const from = src.data + c * src.channel;
    uint8_t *const to = dst.data + c * dst.channel;
#pragma unroll 2
    for (int i = threadIdx.x; i < n; i += (int)blockDim.x) {
        const int row = divided(i, by_pieces), k = i - row * pieces;
        const uint4 v = load_four_words(from + row * src.row + 16 * k);
        uint8_t *const p = to + row * dst.row + 32 * k;
        store_two_words(p, round_word(dtype, line, v.x));
        store_two_words(p + 8, round_word(dtype, line, v.y));
        store_two_words(p + 16, round_word(dtype, line, v.z));
        store_two_words(p + 24, round_word(dtype, line, v.w));
    }
}

/* How many threads a multiprocessor has to hold. Before sm_90 a thread needs more registers, so that fewer fit. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define PLANE_THREADS 512
#else
#define PLANE_THREADS 640
#endif

/* A CTA for each plane of each image. */
template <bool OUTPUT, int THREADS>
static __global__ void __launch_bounds__(THREADS, PLANE_THREADS / THREADS)
    plane_blur_kernel(const __grid_constant__ plane_job job)
{
    __shared__ plane_memory memory;
    const int image = blockIdx.x / job.channels, c = (int)blockIdx.x - image * job.channels, own = threadIdx.x;
    const mot_step &step = job.step[mot_sample_at(&job.src, image)];
    const mot_view src = view_of(job.src, job.channels, image), dst = view_of(job.dst, job.channels, image);
    const mot_output_line line = OUTPUT ? job.as.line[c] : mot_output_line{ 0, 0 };
    if (kind_of(step) != MOT_BREAK_BLUR) {
        if (OUTPUT)
            write_plane(src, dst, c, job.as.dtype, line);
        return;
    }
    const int quads = (src.width + 3) / 4, pitch = mot_plane_pitch(src.width), size = (int)step.arg.size;
    if (own < MOT_BREAK_FEW_TAPS) {
        const int from_middle = abs(own - MOT_PLANE_REACH);
        memory.weight[own] = from_middle <= size / 2 ? __uint_as_float(step.arg.u[from_middle]) : 0;
    }
    if (own == 0)
        memory.doubts = 0, memory.wrong = 0;
    load_plane(src, c, pitch);
    __syncthreads();
    const float limit = blur_limit(memory.weight, MOT_BREAK_FEW_TAPS, memory.wrong) * 0x1p-23f;
    const int turns = max(1, (quads * src.height + THREADS * MOT_PLANE_ROWS / 2) / (THREADS * MOT_PLANE_ROWS));
    const int most = max(1, THREADS * turns / quads), rows = (src.height + most - 1) / most;
    const int strips = (src.height + rows - 1) / rows;
    for (int i = own; i < quads * strips; i += THREADS) {
        const int strip = i / quads, row = strip * rows;
        blur_columns<OUTPUT>(memory, dst, c, pitch, i - strip * quads, row, min(row + rows, src.height), limit,
                             job.as.dtype, line);
    }
    __syncthreads();
    for (int i = own; i < min(memory.doubts, MOT_PLANE_DOUBTS); i += THREADS) {
        const int row = (int)(memory.doubt[i] >> 16), column = (int)(memory.doubt[i] & 0xFFFF);
        const uint32_t byte = plane_exactly(memory, pitch, row, column);
        uint8_t *const p = address(dst, column, row) + c * dst.channel;
        if (OUTPUT)
            *(uint16_t *)p = (uint16_t)round_word(job.as.dtype, line, byte).x;
        else
            store_byte(p, byte);
    }
}

#endif
