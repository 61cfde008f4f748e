/*---
summary: the fastest FP32 kernel for the shape of the problem, on Hopper
order: 49
precisions: [f32]
layouts: [nn, nt, tn, tt]
let:                            # tiles of 64 x 64 as sgemm_splitk counts them, tiles of 128 x 256
  small: max(1, (M + 59) // 64) * max(1, (N + 59) // 64)
  large: cdiv(M, 128) * cdiv(N, 256)
pick:                           # written by benchmarks/pick.py from a recorded sweep; run it for another GPU
  - when: small * 8 <= SMS and K >= 16 * max(M, N)
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 8}
  - when: small * 8 <= SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 4}
  - when: small * 2 <= SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 1}
  - when: min(M, N) <= 64
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 4}
  - when: min(M, N) <= 128
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
  - when: small <= 2 * SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1}
  - when: large <= SMS and large * 10 >= 9 * SMS
    variant: sgemm_tma
    params: {BM: 128, BN: 256, BK: 32, STAGES: 4, STREAM_K: 0}
  - variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
source: "https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#data-movement-and-conversion-\
  instructions-cp-async-bulk-tensor"
---*/

// Chooses a kernel by the number of 64 x 64 tiles of C and the number of SMs of the GPU. (Up to
// four rows or columns beyond whole tiles do not count, because sgemm_splitk gives them no tiles.)
//
//      the first that holds                         the kernel
//      ---------------------------------------------------------------------------------
//      at most one tile per 8 SMs                   sgemm_splitk in clusters, K also split over the grid
//      at most one tile per 2 SMs                   sgemm_splitk in clusters
//      C has at most 64 rows or columns             sgemm_splitk, K split over the grid
//      C has at most 128 rows or columns            sgemm_tma, stream-K
//      at most two tiles per SM                     sgemm_splitk
//      more                                         sgemm_tma, stream-K
//
// Where the tiles of sgemm_tma just fill the GPU once, stream-K has nothing to even out and is off.
// Bound like the chosen kernel.

