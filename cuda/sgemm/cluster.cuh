// Thread block clusters, for kernels whose manifest says `cluster`: the blocks of one can read each other's shared
// memory. Below compute capability 9.0, and on the CPU, there is only the block itself.

#pragma once

__device__ inline int count_blocks_of_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return __clusterSizeInBlocks();
#else
    return 1;
#endif
}

// Number of this block in its cluster.
__device__ inline int rank_in_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return __clusterRelativeBlockRank();
#else
    return 0;
#endif
}

// All threads of the cluster meet, and see what the others have written.
__device__ inline void sync_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
#endif
}

// The same place in the shared memory of block `rank`.
__device__ inline const float* find_in_block(const float* shared, int rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return static_cast<const float*>(__cluster_map_shared_rank(shared, rank));
#else
    return shared;
#endif
}
