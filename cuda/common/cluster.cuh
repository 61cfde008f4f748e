// Thread block clusters: blocks of a cluster can read each other's shared memory. Below compute capability 9.0 and on
// the CPU there are no clusters, so each block is a cluster by itself.

#pragma once

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ inline int count_blocks_of_cluster() { return __clusterSizeInBlocks(); }

// Number of this block in its cluster.
__device__ inline int rank_in_cluster() { return __clusterRelativeBlockRank(); }

// Synchronise all threads of the cluster; each then sees what the others have written.
__device__ inline void sync_cluster() {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}

// The corresponding address in the shared memory of block `rank`.
__device__ inline const float* find_in_block(const float* shared, int rank) {
    return static_cast<const float*>(__cluster_map_shared_rank(shared, rank));
}

#else

__device__ inline int count_blocks_of_cluster() { return 1; }
__device__ inline int rank_in_cluster() { return 0; }
__device__ inline void sync_cluster() { __syncthreads(); }
__device__ inline const float* find_in_block(const float* shared, int) { return shared; }

#endif
