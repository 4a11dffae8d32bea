/* SPDX-License-Identifier: Apache-2.0 */
/* The resize kernel: a CTA makes a tile of an image's result.
 *
 * Columns first: the horizontal pass writes the rows that the tile needs to shared memory, as bytes, one plane for each
 * channel, in a ring of rows. As soon as the windows of some of the tile's rows are complete, the vertical pass makes
 * these rows. So the crop is read once, whatever its size. Rows first: the vertical pass reads the source for some rows
 * of the tile at a time, and the horizontal pass reads its result in shared memory.
 *
 * Everything else (alpha, unusual strides, windows larger than the crop or than shared memory) is computed pixel by
 * pixel. */
#ifndef MOT_RESIZE_CUH
#define MOT_RESIZE_CUH

#include "kernels/cuda/resize_direct.cuh"
#include "kernels/cuda/resize_orders.cuh"

/* C: channels that lie side by side and are resized together, 3 or 1 (grey, or a plane); 0: any number, pixel by
 * pixel. */
template <int C> DEVICE bool takes_fast_way(const mot_resize_job &job, const resize_tile &t)
{
    if (C == 0 || !t.axes.opaque || t.axes.in[0] < 4 * t.axes.groups[0] || t.axes.in[1] < 4 * t.axes.groups[1])
        return false;
    if (!t.axes.rows_first)
        return 4 * t.axes.groups[1] + 4 <= job.shared_rows;
    const int64_t row = between_bytes(t.span * C);
    return 4 * row + WORD_MORE <= (int64_t)job.shared_rows * RING_PITCH * C;
}

template <int C, bool CLAMPS, class Fill>
DEVICE void resize_fast(const mot_resize_job &job, const resize_tile &t, Fill fill)
{
    if (t.axes.rows_first)
        rows_first<C, CLAMPS>(job, t, fill, (uint8_t *)cta_memory);
    else
        columns_first<C, CLAMPS>(job, t, fill);
}

/* Images that read the fill. Separate, so that the others keep their registers. */
template <int C, bool CLAMPS>
static __device__ __noinline__ void resize_with_fill(const mot_resize_job &job, const resize_tile &t)
{
    resize_fast<C, CLAMPS>(job, t, some_fill::of(t));
}

/* Describes this CTA's tile in shared memory, since registers are few: by its first warp, a thread for each row. Width
 * 0: there is nothing to do. What is loaded does not depend on other loads, except for the image's number. */
template <int C> DEVICE void describe_tile(const mot_resize_job &job, int tile, int plane, int image)
{
    const int self = (int)threadIdx.x, down = job.tiles_across > 1 ? tile / job.tiles_across : tile;
    resize_tile t;
    t.dst = image_of(job.dst, job.channels, image);
    t.x0 = (tile - down * job.tiles_across) * job.tile_width;
    t.y0 = down * job.tile_height;
    t.width = t.y0 >= t.dst.height ? 0 : max(0, min(job.tile_width, t.dst.width - t.x0));
    if (t.width == 0) {
        resize_now.width = 0;
        return;
    }
    t.height = min(job.tile_height, t.dst.height - t.y0);
    t.out[0] = t.dst.width, t.out[1] = t.dst.height;
    uint8_t *const tables = tables_of(job, image);
    t.rows = table_of(tables, 0, t.out, 1);
    const int row = t.y0 + min(self, t.height - 1), in_table = min(t.out[1] + row, t.out[0] + t.out[1] - 1);
    const uint4 axes[2] = { load_four_words(&job.axes[image]), load_four_words((const uint4 *)&job.axes[image] + 1) };
    const mot_cuda_taps taps = load_taps(t.rows.taps + row);
    mot_cuda_taps second = load_taps(t.rows.taps + in_table); /* others if rows have only one group */
    const int first = t.rows.first[row];
    const int *const columns = (const int *)tables + t.x0, left = columns[0], right = columns[t.width - 1];
    prefetch((const uint8_t *)(columns + min(32 * self, t.width - 1)));
    t.src = image_of(job.src, job.channels, image);
    memcpy(&t.axes, axes, sizeof t.axes);
    if (t.axes.groups[1] > 1 && row >= t.out[0])
        second = load_taps(t.rows.taps + t.out[1] + row);
    t.columns = table_of(tables, t.axes.groups[1], t.out, 0);
    t.first = min(left, right);
    t.span = max(left, right) + 4 * t.axes.groups[0] - t.first;
    t.plane = plane;
    if (job.planes) {
        t.src.data += plane * t.src.channel;
        t.dst.data += plane * t.dst.channel;
        t.src.channels = t.dst.channels = 1;
    }
    t.dtype = job.as.dtype;
    t.store = store_of(t.dst, t.dtype, job.as.by_lines);
    t.fast = takes_fast_way<C>(job, t);
    const int begin = __shfl_sync(~0u, first, tile_row(t, 0)), above = t.fast && !t.axes.rows_first ? begin : 0;
    t.crop = t.src.data + (t.axes.start[1] + above) * t.src.row + t.axes.start[0] * t.src.pixel;
    const uint8_t *const rows = t.crop + (begin - above + self / 8) * t.src.row;
    for (int i = self % 8 * 32; i < t.span * C && t.fast; i += 8 * 32) /* of the first four rows */
        prefetch(rows + t.first * C + i);
    t.last_row = t.src.height - 1 - t.axes.start[1] - above;
    t.axes.in[1] -= above;
    if (self < t.height) {
        resize_first[self] = first - above;
        resize_taps[0][self] = taps;
        resize_taps[1][self] = second;
    }
    if (self == 0)
        resize_now = t;
}

/* Each byte as the result's type, for `plane` or for all channels; for the threads from `first` on. */
DEVICE void load_values(const mot_resize_job &job, int plane, int first)
{
    const int channels = job.planes ? 1 : job.channels;
    for (int i = (int)threadIdx.x - first; i < 64 * channels && job.as.dtype != MOTLEY_U8 && !job.as.by_lines;
         i += (int)blockDim.x - first)
        ((uint4 *)resize_values)[i] = load_four_words(job.as.values + 256 * plane + 4 * i);
}

/* Goes on to the next plane of the same tile. For all threads. */
DEVICE void next_plane(const mot_resize_job &job)
{
    __syncthreads();
    load_values(job, resize_now.plane + 1, 0);
    __syncthreads();
    if (threadIdx.x == 0) {
        resize_tile &t = resize_now;
        t.plane++;
        t.src.data += t.src.channel;
        t.crop += t.src.channel;
        t.dst.data += t.dst.channel;
        t.store = store_of(t.dst, t.dtype, job.as.by_lines);
    }
    __syncthreads();
}

template <int C>
static __global__ void __launch_bounds__(MOT_RESIZE_THREADS, MOT_RESIZE_CTAS)
    resize_kernel(const __grid_constant__ mot_resize_job job)
{
    const uint32_t tiles = (uint32_t)(job.tiles_across * job.tiles_down), turn = blockIdx.x / tiles;
    const int nth = (int)(job.planes_apart ? turn / job.channels : turn);
    const int plane = job.planes_apart ? (int)turn - nth * job.channels : 0;
    wait_for_previous_kernel();
    let_next_kernel_begin();
    if (threadIdx.x < 32)
        describe_tile<C>(job, (int)(blockIdx.x - turn * tiles), plane, (int)job.order[nth]);
    else
        load_values(job, plane, 32);
    __syncthreads();
    const resize_tile &t = resize_now;
    if (t.width == 0)
        return;
    const int c = C ? C : 1;
#pragma unroll 1
    for (;;) {
        if (!t.fast)
            pixel_by_pixel(job, t);
        else if (t.axes.fills && t.axes.clamps)
            resize_with_fill<c, true>(job, t);
        else if (t.axes.fills)
            resize_with_fill<c, false>(job, t);
        else if (t.axes.clamps)
            resize_fast<c, true>(job, t, no_fill());
        else
            resize_fast<c, false>(job, t, no_fill());
        if (C == 3 || !job.planes || job.planes_apart || t.plane + 1 >= job.channels)
            return;
        next_plane(job);
    }
}

/* One CTA for each image. */
static __global__ void __launch_bounds__(MOT_RESIZE_THREADS) axes_kernel(const __grid_constant__ mot_resize_job job)
{
    __shared__ uint32_t most[2];
    let_next_kernel_begin();
    if (threadIdx.x < 2)
        most[threadIdx.x] = 1;
    __syncthreads();
    make_axes(job, blockIdx.x, job.place[blockIdx.x], MOT_RESIZE_THREADS, most);
}

#endif
