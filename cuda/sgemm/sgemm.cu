/*---
summary: the fastest FP32 kernel for the shape of the problem, on Hopper
order: 49
precisions: [f32]
layouts: [nn, nt, tn, tt]
let:                            # tiles of 64 x 64 as sgemm_splitk counts them, tiles of 128 x 256
  small: max(1, (M + 59) // 64) * max(1, (N + 59) // 64)
  large: cdiv(M, 128) * cdiv(N, 256)
  clustered: SMS * 10 // 11     # SMs on which clusters of four and eight fit, each with two blocks of sgemm_splitk
  full_2: 100 * small // (SMS * cdiv(small, SMS))  # percent of its waves that sgemm_splitk fills, K in two parts
  full_3: 100 * 3 * small // (2 * SMS * cdiv(3 * small, 2 * SMS))  # and in three
  aligned: lda % 4 == 0 and ldb % 4 == 0  # rows of A and B are multiples of 16 bytes
pick:                           # for another GPU run gemmbench tune sgemm -c sgemm_pick --write-pick
  - when: K <= 16 and N <= 16
    variant: sgemm_outer
    params: {DEPTH: 16, COLUMNS: 16, ROWS: 256, THREADS: 256}
  - when: K <= 8 and M * N < 2048 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 128, ROWS: 64, THREADS: 256}
  - when: K <= 8
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 128, ROWS: 64, THREADS: 256}
  - when: K <= 32 and M * N >= 8192 * SMS
    variant: sgemm_outer
    params: {DEPTH: 32, COLUMNS: 128, ROWS: 64, THREADS: 256}
  - when: M > N and N <= 1
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 4
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 8 and M <= 8 * SMS
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: 1, BLOCKS: 3}
  - when: M > N and N <= 8
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M > N and N <= 16 and K <= 256
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 64, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 64, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M <= 2 and N <= 32 * SMS
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 16, THREADS: 256, AHEAD: 4, BLOCKS: 1}
  - when: M <= 1
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 4
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 8 and N <= 8 * SMS
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: 1, BLOCKS: 3}
  - when: M <= 8
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M <= 16 and K <= 256
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M <= 16 and N <= 40 * SMS
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M <= 16
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M * N * K <= 8000000 and M * N <= 4096
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M * N * K <= 8000000 and M * N >= 32768
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 128, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2}
  - when: M * N * K <= 8000000
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 128, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2}
  - when: N <= 24 and M <= 64 * SMS
    variant: sgemm_small
    params: {BM: 64, BN: 24, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
  - when: N <= 24
    variant: sgemm_small
    params: {BM: 64, BN: 24, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
  - when: N <= 32 and M <= 64 * SMS
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 0}
  - when: N <= 32
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 0}
  - when: N <= 40
    variant: sgemm_small
    params: {BM: 64, BN: 40, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
  - when: N <= 48
    variant: sgemm_small
    params: {BM: 64, BN: 48, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
  - when: M <= 24 and N <= 64 * SMS
    variant: sgemm_small
    params: {BM: 24, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
  - when: M <= 24
    variant: sgemm_small
    params: {BM: 24, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
  - when: M <= 32 and N <= 64 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
  - when: M <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
  - when: M <= 40
    variant: sgemm_small
    params: {BM: 40, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
  - when: M <= 48
    variant: sgemm_small
    params: {BM: 48, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
  - when: K <= 128 and small > 8 * SMS
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
  - when: K <= 256 and small * 4 >= SMS and small <= 8 * SMS
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
  - when: K <= 512 and small > 2 * SMS and small <= 8 * SMS and min(M, N) > 64
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
  - when: not aligned and K >= 512 and small <= SMS
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
  - when: small * 8 <= SMS and K >= 16 * max(M, N)
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 8}
  - when: small * 8 <= SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 4}
  - when: small * 8 <= 2 * clustered and K >= 2048
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 8, SPLIT: 1}
  - when: small * 4 <= 2 * clustered and K >= 2048
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 4, SPLIT: 1}
  - when: small * 4 <= 2 * SMS and K >= 2048
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 4}
  - when: small * 2 <= SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 1}
  - when: small * 3 <= 2 * SMS and K >= 1024 and min(M, N) > 64
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 3}
  - when: min(M, N) <= 64 and full_3 > full_2
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 3}
  - when: min(M, N) <= 64
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 2}
  - when: small <= SMS and K >= 512
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 1}
  - when: min(M, N) <= 128
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
  - when: small <= 2 * SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1}
  - when: large <= SMS and large * 10 >= 9 * SMS
    variant: sgemm_tma
    params: {BM: 128, BN: 256, BK: 32, STAGES: 4, STREAM_K: 0}
  - when: large >= 1
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
  - variant: sgemm_cp_async
source: "https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#data-movement-and-conversion-\
  instructions-cp-async-bulk-tensor"
---*/

// Chooses a kernel by the shape, the number of 64 x 64 tiles of C and the number of SMs of the GPU.
// (Up to four rows or columns beyond whole tiles do not count, because sgemm_splitk gives them no
// tiles.)
//
//      the first that holds                         the kernel
//      ---------------------------------------------------------------------------------
//      K is at most 8, or 32 with a large C         sgemm_outer, which streams C out
//      C has at most 16 rows or columns             sgemm_stream, which streams the large operand in
//      at most 8 million multiply-adds              sgemm_stream if C has at most 4096 elements, row by row,
//                                                   else sgemm_small with tiles of 16 x 16
//      C has at most 48 rows or columns             sgemm_small with tiles as narrow as C
//      K is at most 128, C large                    sgemm_tma, stream-K
//      K is at most 256, C of middling size         sgemm_small
//      K is at most 512, C somewhat larger          sgemm_tma, stream-K
//      rows unaligned, at most one tile per SM      sgemm_small, which needs no copy of an operand
//      at most one tile per 8 SMs                   sgemm_splitk in clusters, K also split over the grid
//      at most one tile per 2 SMs                   sgemm_splitk in clusters, larger ones for a long K if all
//                                                   fit at once, else in parts of K
//      at most two tiles per 3 SMs and a long K     sgemm_splitk, K in three parts
//      C has at most 64 rows or columns             sgemm_splitk, K in the parts that fill its waves better
//      at most one tile per SM                      sgemm_splitk in clusters of two
//      C has at most 128 rows or columns            sgemm_tma, stream-K
//      at most two tiles per SM                     sgemm_splitk
//      more                                         sgemm_tma, stream-K
//      none that the GPU can run, before Hopper     sgemm_cp_async
//
// Conditions follow from bytes, waves, empty tiles and copies, counted by hand, and so do many of the parameters for
// shapes that are not square. The configs sgemm_pick_* search them.
//
// Where the tiles of sgemm_tma just fill the GPU once, stream-K has nothing to even out and is off.
// Bound like the chosen kernel.

