/*---
summary: the fastest kernel on tensor cores for the shape of the problem
order: 290
precisions: [bf16, f16, tf32]
layouts: [nn, nt, tn, tt]
let:                            # tiles of C
  large: cdiv(M, 128) * cdiv(N, 256)
  square: cdiv(M, 128) * cdiv(N, 128)
  small: cdiv(M, 128) * cdiv(N, 64)
pick:
  - when: large >= 6 * SMS
    variant: wgmma_hybrid
    params: {BM: 256, BN: 192, STAGES: 3, LARGE: 15, STREAM_K: 1}
  - when: large > 2 * SMS
    variant: wgmma_hybrid
    params: {BM: 128, BN: 256, STAGES: 4, LARGE: 15, STREAM_K: 0}
  - when: small <= SMS
    variant: wgmma_cluster
    params: {BM: 128, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: square <= SMS
    variant: wgmma_cluster
    params: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: M <= 128
    variant: wgmma_cluster
    params: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: large <= SMS
    variant: wgmma_cluster
    params: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 2}
  - when: square > SMS
    variant: wgmma_cluster
    params: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: 2, CLUSTER_N: 1}
  - variant: mma_sync           # before Hopper, and in tf32
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Chooses a kernel by the number of tiles of C and the number of SMs of the GPU. wgmma_hybrid cannot have rows that
// are no multiples of 16 bytes; such problems go on to wgmma_cluster, which copies them first.
//
//      the first that holds and can run             the kernel
//      ---------------------------------------------------------------------------------
//      six waves of 128 x 256 tiles or more         wgmma_hybrid, tiles of 256 x 192, stream-K
//      more than two waves                          wgmma_hybrid, tiles of 128 x 256
//      all tiles of 128 x 64 in one wave            wgmma_cluster with these tiles, no clusters
//      all tiles of 128 x 128 in one wave           the same with these
//      C has at most 128 rows                       the same with tiles of 128 x 256
//      all tiles of 128 x 256 in one wave           wgmma_cluster, tiles side by side share A
//      more                                         wgmma_cluster, tiles below one another share B
//
// In one wave, nothing overlaps the beginning and the end of a launch but its neighbours (pdl), and what counts is
// that every SM has work; with many waves, what counts is how few bytes leave L2, so clusters and tiles are large.
// Bound like the chosen kernel.
