/* SPDX-License-Identifier: Apache-2.0 */
/* The CTAs that share one image: a thread block cluster where the chip has clusters (compute capability 9.0 and later),
 * else a single CTA. */
#ifndef MOT_GROUP_CUH
#define MOT_GROUP_CUH

#include "kernels/cuda/pixels.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#include <cooperative_groups.h>
#define MOT_CLUSTERS 1
#endif

DEVICE int group_size()
{
#ifdef MOT_CLUSTERS
    return (int)cooperative_groups::this_cluster().num_blocks();
#else
    return 1;
#endif
}

DEVICE int group_rank()
{
#ifdef MOT_CLUSTERS
    return (int)cooperative_groups::this_cluster().block_rank();
#else
    return 0;
#endif
}

/* A barrier of the group: what any of its threads wrote before is visible to all of them afterwards. */
DEVICE void group_sync()
{
#ifdef MOT_CLUSTERS
    if (group_size() > 1)
        cooperative_groups::this_cluster().sync();
    else
#endif
        __syncthreads();
}

/* The two halves of group_sync, for work between arriving and waiting. */
DEVICE void group_arrive()
{
#ifdef MOT_CLUSTERS
    if (group_size() > 1) {
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
        return;
    }
#endif
    __syncthreads();
}

DEVICE void group_wait()
{
#ifdef MOT_CLUSTERS
    if (group_size() > 1)
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/* The same shared variable in CTA `rank` of the group. */
template <class T> DEVICE T *group_at(T *mine, int rank)
{
#ifdef MOT_CLUSTERS
    return cooperative_groups::this_cluster().map_shared_rank(mine, rank);
#else
    (void)rank;
    return mine;
#endif
}

#endif
