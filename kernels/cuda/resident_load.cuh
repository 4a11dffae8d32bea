/* SPDX-License-Identifier: Apache-2.0 */
/* Loads an image into shared memory by bulk copies, in stretches, and waits for those that a loop reads. */
#ifndef MOT_RESIDENT_LOAD_CUH
#define MOT_RESIDENT_LOAD_CUH

#include "kernels/cuda/resident_state.cuh"

#include <climits>

/* Each warp's first thread loads a stretch, the last warp the first one: one thread for all of them would be too slow,
 * and the first warps plan the steps. */
#define MOT_FOR_STRETCHES(stretch) \
    if ((threadIdx.x & 31) == 0) \
        for (int stretch = (cta_threads() - 1 - (int)threadIdx.x) / 32; stretch < MOT_STRETCHES; \
             stretch += cta_threads() / 32)

DEVICE int stretch_shift(int quads)
{
    int shift = MOT_STRETCH_SHIFT;
    while ((quads - 1) >> shift >= MOT_STRETCHES)
        shift++;
    return shift;
}

DEVICE int stretches_of(int quads)
{
    return ((quads - 1) >> stretch_shift(quads)) + 1;
}

/* Call first: sets up barriers for the stretches of so many quads. */
DEVICE void make_stretches(int quads)
{
    const int stretches = stretches_of(quads);
    MOT_FOR_STRETCHES(stretch)
    {
        if (stretch >= stretches)
            break;
        make_barrier(shared_address(&resident_cta().stretch[stretch]));
    }
    barriers_made();
}

/* Starts to load the image's stretches from `begin` on and below `end`. */
template <int FORMAT> DEVICE void load_stretches(const mot_view &src, int begin, int end)
{
    const int quads = src.width / 4 * src.height, shift = stretch_shift(quads);
    const int bytes = 4 * pixel_bytes(FORMAT); /* of a quad in a plane */
    const uint64_t once = used_once();
    MOT_FOR_STRETCHES(stretch)
    {
        const int first = stretch << shift, count = min(1 << shift, quads - first);
        if (count <= 0 || stretch >= end)
            break;
        if (stretch < begin)
            continue;
        const uint32_t barrier = shared_address(&resident_cta().stretch[stretch]);
        expect_bytes(barrier, count * bytes * planes_of(FORMAT));
#pragma unroll
        for (int plane = 0; plane < planes_of(FORMAT); plane++)
            copy_in_bulk(image_memory() + (plane * quads + first) * bytes,
                         src.data + plane * src.channel + first * bytes, count * bytes, barrier, once);
    }
}

/* How much of the image has arrived, as far as a loop over it knows. */
struct arriving {
    int next; /* the first quad that has not; INT_MAX: none */
    int stretch, quads, shift;
    uint32_t phase;
};

DEVICE arriving arriving_of(int quads)
{
    return arriving{ resident_cta().all_here ? INT_MAX : 0, 0, quads, stretch_shift(quads), resident_cta().phase };
}

/* Waits until the quads below `end` have arrived. */
DEVICE void wait_quads(arriving &a, int end)
{
    while (a.next < end) {
        barrier_wait(shared_address(&resident_cta().stretch[a.stretch++]), a.phase);
        const int next = a.stretch << a.shift;
        a.next = next < a.quads ? next : INT_MAX;
    }
}

/* After a loop over the whole image: no thread reads it any more, and no stretch has to be waited for. */
DEVICE void loop_ended()
{
    __syncthreads();
    if (threadIdx.x == 0)
        resident_cta().all_here = true;
    __syncthreads();
}

#endif
