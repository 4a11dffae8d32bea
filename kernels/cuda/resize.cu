/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts results into tiles, and launches the resize kernels. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/resize.cuh"
#include "kernels/cuda/tuning.h"

int mot_resize_most_groups(motley_filter filter, int in, int out)
{
    if (filter == MOTLEY_FILTER_NEAREST)
        return 1;
    const mot_resize_axis axis = mot_resize_axis_of(filter, in, 0, (float)in, out);
    return (mot_resize_taps(&axis) + 3) / 4;
}

void mot_resize_cut(mot_resize_job *job, int width, int height, int row_groups, int shared_bytes)
{
    const int most = MOT_RESIZE_THREADS, channels = job->format == MOT_FORMAT_RGB ? 3 : 1;
    const int across = (width + most - 1) / most;
    job->tile_width = ((width + across - 1) / across + 31) / 32 * 32;
    job->tiles_across = (width + job->tile_width - 1) / job->tile_width;
    const bool narrow = 2 * job->tile_width <= most;
    job->tile_height = narrow                               ? MOT_RESIZE_NARROW_ROWS
                       : row_groups > MOT_RESIZE_FEW_GROUPS ? MOT_RESIZE_LOW_ROWS
                                                            : MOT_RESIZE_TILE_ROWS;
    job->tiles_down = (height + job->tile_height - 1) / job->tile_height;
    job->lanes = most / job->tile_width;
    job->lane_of_thread = 65536 / (uint32_t)job->tile_width + 1;
    const int row = RING_PITCH * channels, possible = shared_bytes / row / 4 * 4;
    /* packed pixels are written a component at a time, which several CTAs share */
    job->planes_apart =
        job->planes && (job->dst.channel < job->dst.pixel ||
                        (int64_t)job->count * job->tiles_across * job->tiles_down < MOT_RESIZE_MANY_TILES);
    const int fewest = narrow && channels == 1 ? 2 * MOT_RESIZE_SHARED_ROWS : MOT_RESIZE_SHARED_ROWS;
    const int rows = 4 * row_groups + 4 > fewest ? 4 * row_groups + 4 : fewest;
    job->shared_rows = rows < possible ? rows : possible;
    if (job->shared_rows > MOT_RESIZE_MOST_ROWS)
        job->shared_rows = MOT_RESIZE_MOST_ROWS;
}

/* What channels the kernel of a format resizes together. */
static const void *resize_kernel_of(int format)
{
    return format == MOT_FORMAT_RGB                                   ? (const void *)resize_kernel<3>
           : format == MOT_FORMAT_GREY || format == MOT_FORMAT_PLANES ? (const void *)resize_kernel<1>
                                                                      : (const void *)resize_kernel<0>;
}

cudaError_t mot_resize_prepare(int shared_bytes)
{
    for (int format = 0; format < MOT_FORMATS; format++) {
        const cudaError_t error =
            cudaFuncSetAttribute(resize_kernel_of(format), cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
        if (error != cudaSuccess)
            return error;
    }
    return cudaSuccess;
}

cudaError_t mot_resize_axes_launch(const mot_resize_job *job, cudaStream_t stream)
{
    return mot_launch((const void *)axes_kernel, job->count, MOT_RESIZE_THREADS, 0, 0, stream, *job);
}

cudaError_t mot_resize_launch(const mot_resize_job *job, int overlap, cudaStream_t stream)
{
    const int channels = job->format == MOT_FORMAT_RGB ? 3 : 1;
    const int64_t tiles = (int64_t)job->tiles_across * job->tiles_down * (job->planes_apart ? job->channels : 1);
    return mot_launch(resize_kernel_of(job->format), tiles * job->count, job->lanes * job->tile_width,
                      (size_t)job->shared_rows * RING_PITCH * channels, overlap, stream, *job);
}
