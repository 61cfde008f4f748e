/*---
summary: the fastest FP32 kernel for the shape of the problem, on Hopper
order: 49
precisions: [f32]
layouts: [nn, nt, tn, tt]
pick:                           # written by benchmarks/pick.py from a recorded sweep; run it for another GPU
  - when: max(1, (M + 59) // 64) * max(1, (N + 59) // 64) * 8 <= SMS and K >= 16 * max(M, N)
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 8}
  - when: max(1, (M + 59) // 64) * max(1, (N + 59) // 64) * 8 <= SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 4}
  - when: max(1, (M + 59) // 64) * max(1, (N + 59) // 64) * 2 <= SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 1}
  - when: min(M, N) <= 64
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 4}
  - when: min(M, N) <= 128
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
  - when: max(1, (M + 59) // 64) * max(1, (N + 59) // 64) <= 2 * SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1}
  - when: cdiv(M, 128) * cdiv(N, 256) <= SMS and cdiv(M, 128) * cdiv(N, 256) * 10 >= 9 * SMS
    variant: sgemm_tma
    params: {BM: 128, BN: 256, BK: 32, STAGES: 4, STREAM_K: 0}
  - variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
source: https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#data-movement-and-conversion-instructions-cp-async-bulk-tensor
---*/

// Chooses by the number of 64 x 64 tiles of C, for the multiprocessors that there are (up to four rows or columns beyond whole
// tiles do not count, for sgemm_splitk gives them none):
//
//      the first that holds                         the kernel
//      ---------------------------------------------------------------------------------
//      an eighth of the SMs at most                 sgemm_splitk in clusters, K split over the grid too
//      half of the SMs at most                      sgemm_splitk in clusters
//      C has 64 rows or columns at most             sgemm_splitk, K split over the grid
//      C has 128 rows or columns at most            sgemm_tma, stream-K
//      two an SM at most                            sgemm_splitk
//      more                                         sgemm_tma, stream-K
//
// Where the tiles of sgemm_tma just fill the machine once, stream-K has nothing to even out and is left off. Bound as the
// kernel that is chosen.
