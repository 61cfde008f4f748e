/*---
summary: the fastest kernel on tensor cores for the shape of the problem
order: 290
precisions: [bf16, f16, tf32, 3xtf32, f16_f16, bf16_f32, f16_f32, e4m3, e4m3_fast, e5m2, e5m2_fast]
layouts: [nn, nt, tn, tt]
let:                            # tiles of C
  large: cdiv(M, 128) * cdiv(N, 256)
  middling: cdiv(M, 128) * cdiv(N, 192)
  square: cdiv(M, 128) * cdiv(N, 128)
  small: cdiv(M, 128) * cdiv(N, 64)
  pairs: 2 * cdiv(M, 256)                                 # rows of tiles, in clusters of two
  waves: cdiv(cdiv(M, 256) * cdiv(N, 256), SMS // 2)      # of clusters of two tiles of 128 x 256
  tall_waves: cdiv(cdiv(M, 512) * cdiv(N, 192), SMS // 2) # of two tiles of 256 x 192
  pitch: ldb if M < N else lda                            # of the large operand, in elements
  fits_small: M <= 64 or N <= 64 and M <= 128             # a tile of 128 x 64 has the whole C in one direction
  clustered: SMS * 10 // 11                               # SMs on which clusters of four and eight fit
pick:
  - when: min(M, N) <= 8 and (pitch * BYTES % 16 != 0 or N < M and small > 16)
    variant: mma_stream
    params: {LINES: 8, WARPS: 8, AHEAD: 1, BLOCKS: 2}
  - when: small <= SMS and (fits_small or 2 * small <= SMS and K >= 1536)
    variant: wgmma_splitk
    params: {BM: 128, BN: 64, STAGES: 8}
  - when: M <= 64 and square <= SMS and K <= 1024
    variant: wgmma_splitk
    params: {BM: 128, BN: 128, STAGES: 6}
  - when: M <= 64 and middling <= SMS
    variant: wgmma_splitk
    params: {BM: 128, BN: 192, STAGES: 5}
  - when: M <= 64 and large <= SMS
    variant: wgmma_splitk
    params: {BM: 128, BN: 256, STAGES: 4}
  - when: large >= 6 * SMS and K >= 1024 and BYTES == 2
    variant: wgmma_hybrid
    params: {BM: 256, BN: 192, STAGES: 3, LARGE: 15, STREAM_K: 1}
  - when: large >= 6 * SMS and PROMOTED_EVERY
    variant: wgmma_hybrid
    params: {BM: 128, BN: 192, STAGES: 4, LARGE: 15, STREAM_K: 0}
  - when: large > 2 * SMS and (K >= 1024 or BYTES == 1)
    variant: wgmma_hybrid
    params: {BM: 128, BN: 256, STAGES: 4, LARGE: 15, STREAM_K: 0}
  - when: M > 64 and M <= 128 and small <= clustered and K >= 2048
    variant: wgmma_cluster
    params: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 4}
  - when: small <= SMS and M >= 2048
    variant: wgmma_cluster
    params: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 2, CLUSTER_N: 1}
  - when: small <= SMS
    variant: wgmma_cluster
    params: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: pairs * cdiv(N, 128) <= SMS and M > 128
    variant: wgmma_cluster
    params: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: 2, CLUSTER_N: 1}
  - when: square <= SMS
    variant: wgmma_cluster
    params: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: M <= 128 and cdiv(N, 2048) <= SMS // 8 - 1
    variant: wgmma_cluster
    params: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 8}
  - when: M <= 128
    variant: wgmma_cluster
    params: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: pairs * cdiv(N, 192) <= SMS
    variant: wgmma_cluster
    params: {BM: 128, BN: 192, STAGES: 4, CLUSTER_M: 2, CLUSTER_N: 1}
  - when: middling <= SMS
    variant: wgmma_cluster
    params: {BM: 128, BN: 192, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: large <= SMS and cdiv(N, 256) % 2 == 0
    variant: wgmma_cluster
    params: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 2}
  - when: pairs * cdiv(N, 256) <= SMS
    variant: wgmma_cluster
    params: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: 2, CLUSTER_N: 1}
  - when: large <= SMS
    variant: wgmma_cluster
    params: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: K <= 128
    variant: wgmma_cluster
    params: {BM: 128, BN: 192, STAGES: 4, CLUSTER_M: 2, CLUSTER_N: 1}
  - when: square > SMS and (3 * tall_waves < 2 * waves or large > 2 * SMS and K < 1024)
    variant: wgmma_cluster
    params: {BM: 256, BN: 192, STAGES: 3, CLUSTER_M: 2, CLUSTER_N: 1}
  - when: square > SMS
    variant: wgmma_cluster
    params: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: 2, CLUSTER_N: 1}
  - when: square > SMS          # from here on in the precisions that those above do not have
    variant: wgmma_tf32
    params: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: 2, CLUSTER_N: 1}
  - when: square <= SMS
    variant: wgmma_tf32
    params: {BM: 128, BN: 128, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: square > SMS
    variant: wgmma_fp8
    params: {BM: 256, BN: 128, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 2}
  - when: small > SMS
    variant: wgmma_fp8
    params: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: small <= SMS
    variant: wgmma_fp8
    params: {BM: 128, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: square > SMS
    variant: wgmma_3xtf32
    params: {BM: 128, BN: 128, STAGES: 3, PROMOTE: 64, TURNS: 1}
  - when: square <= SMS
    variant: wgmma_3xtf32
    params: {BM: 128, BN: 64, STAGES: 4, PROMOTE: 32, TURNS: 1}
  - when: SMEM >= 147456 and square > SMS
    variant: mma_sync
    params: {BM: 128, BN: 256, STAGES: 3}
  - variant: mma_sync           # before Hopper, and in tf32 where TMA cannot fetch the rows
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Chooses a kernel by the number of tiles of C and the number of SMs of the GPU. wgmma_hybrid needs rows whose length
// is a multiple of 16 bytes; other problems go to wgmma_cluster, which copies them first.
//
//      the first that holds and can run             the kernel
//      ---------------------------------------------------------------------------------
//      C has at most 8 rows or columns, and the     mma_stream, which loads from any address
//      large operand would be copied; or it has at
//      most 8 columns and many rows
//      C has at most 64 rows, or a long K and       wgmma_splitk, with the narrowest tiles that fit in one wave
//      128 x 64 tiles for at most half of the SMs
//      six waves of 128 x 256 tiles or more         wgmma_hybrid, tiles of 256 x 192, stream-K; in e4m3, whose
//                                                   sums need twice the registers, tiles of 128 x 192
//      more than two waves, and K from 1024 on or   wgmma_hybrid, tiles of 128 x 256
//      fp8
//      all tiles of 128 x 64 in one wave            wgmma_cluster with these tiles; in a row with a long K, four share
//                                                   A, and below one another two share B
//      all tiles of 128 x 128 in one wave           the same with these, in pairs if C has more than 128 rows
//      C has at most 128 rows                       the same with tiles of 128 x 256, in clusters of eight that
//                                                   share A where all fit in one wave
//      all tiles of 128 x 192 in one wave           the same with these, in pairs that share B where none is left over
//      all tiles of 128 x 256 in one wave           the same with these, in pairs that share A or, where one would be
//                                                   left over, B; alone where pairs would make a second wave
//      K up to 128                                  wgmma_cluster with tiles of 128 x 192: C is most of the traffic
//      256 x 192 needs less time for its waves      wgmma_cluster with these tiles, as at 4097
//      more                                         wgmma_cluster, tiles below one another share B
//
// In tf32 and 3xtf32, and in fp8 with fewer tiles, it chooses the rung of that precision, with smaller tiles where
// large ones would leave SMs idle.
//
// Within one wave, only neighbouring launches (pdl) overlap with the beginning and end of a launch, and every SM must
// have work. With many waves, as few bytes as possible should leave L2, so clusters and tiles are large. It is bound
// by whatever bounds the chosen kernel.
