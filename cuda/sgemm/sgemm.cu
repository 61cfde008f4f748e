/*---
summary: the fastest FP32 kernel for the shape of the problem, on Hopper
order: 49
precisions: [f32]
layouts: [nn, nt, tn, tt]
let:
  small: max(1, (M + 59) // 64) * max(1, (N + 59) // 64)  # tiles of 64 x 64, as sgemm_splitk counts them
  clustered: SMS * 10 // 11     # SMs on which clusters of eight fit, each with two blocks of sgemm_splitk
  tiles: cdiv(M, 64) * cdiv(N, 64)  # the same as sgemm_small counts them
  tiles_32: cdiv(M, 32) * cdiv(N, 32)
  tiles_32x64: cdiv(M, 32) * cdiv(N, 64)
  tiles_64x32: cdiv(M, 64) * cdiv(N, 32)
  tiles_96: cdiv(M, 128) * cdiv(N, 96)  # of 128 x 96
  large: cdiv(M, 128) * cdiv(N, 256)  # tiles of sgemm_tma
  square: cdiv(M, 128) * cdiv(N, 128)  # tiles of sgemm_persistent: of 128 x 128
  tall: cdiv(M, 128) * cdiv(N, 64)     # of 128 x 64
  wide: cdiv(M, 64) * cdiv(N, 128)     # of 64 x 128
  tiles_128x32: cdiv(M, 128) * cdiv(N, 32)
  tiles_32x128: cdiv(M, 32) * cdiv(N, 128)
  # For tiles of 64 x 64, three to an SM, and so on: in how many parts sgemm_small takes K, and what percentage of its
  # work ends up in C. The rest is places that stay empty in the last wave, and tiles that extend past C.
  split_64x64: max(1, min(3 * SMS // tiles, K // 64))
  used_64x64: 100 * M * N * split_64x64 // (64 * 64 * 3 * SMS * cdiv(tiles * split_64x64, 3 * SMS))
  split_64x32: max(1, min(4 * SMS // tiles_64x32, K // 64))
  used_64x32: 100 * M * N * split_64x32 // (64 * 32 * 4 * SMS * cdiv(tiles_64x32 * split_64x32, 4 * SMS))
  split_32x64: max(1, min(4 * SMS // tiles_32x64, K // 64))
  used_32x64: 100 * M * N * split_32x64 // (32 * 64 * 4 * SMS * cdiv(tiles_32x64 * split_32x64, 4 * SMS))
  split_128x32: max(1, min(3 * SMS // tiles_128x32, K // 64))
  used_128x32: 100 * M * N * split_128x32 // (128 * 32 * 3 * SMS * cdiv(tiles_128x32 * split_128x32, 3 * SMS))
  split_32x128: max(1, min(3 * SMS // tiles_32x128, K // 64))
  used_32x128: 100 * M * N * split_32x128 // (32 * 128 * 3 * SMS * cdiv(tiles_32x128 * split_32x128, 3 * SMS))
  split_64x128: max(1, min(2 * SMS // wide, K // 64))
  used_64x128: 100 * M * N * split_64x128 // (64 * 128 * 2 * SMS * cdiv(wide * split_64x128, 2 * SMS))
  copied: (M * K if lda % 4 != 0 else 0) + (K * N if ldb % 4 != 0 else 0)  # elements, so that rows are aligned
  aligned: lda % 4 == 0 and ldb % 4 == 0  # rows of A and B are multiples of 16 bytes
  deep: max(M, N) * K > 12000000  # the large operand does not fit into L2, to be read twice
pick:                           # for another GPU run gemmbench tune sgemm -c sgemm_pick --write-pick
  - when: K <= 16 and N <= 16
    variant: sgemm_outer
    params: {DEPTH: 16, COLUMNS: 16, ROWS: 256, THREADS: 256}
  - when: K <= 8 and tiles_32 <= 3 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, ROWS: 32, THREADS: 256}
  - when: K <= 8 and tiles_32 <= 5 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, ROWS: 64, THREADS: 256}
  - when: K <= 8 and ldb % 4 == 0 and 2 * wide <= 3 * SMS and tiles_64x32 <= 3 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, ROWS: 64, THREADS: 256}
  - when: K <= 8 and ldb % 4 == 0 and 2 * wide <= 3 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 128, ROWS: 32, THREADS: 256}
  - when: K <= 8 and ldb % 4 == 0 and tiles_64x32 <= 6 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, ROWS: 128, THREADS: 256}
  - when: K <= 8 and ldb % 4 == 0
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 64, ROWS: 64, THREADS: 128}
  - when: K <= 8 and tiles_64x32 <= 12 * SMS and tiles_32 <= 6 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, ROWS: 32, THREADS: 128}
  - when: K <= 8 and tiles_64x32 <= 12 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, ROWS: 64, THREADS: 128}
  - when: K <= 8 and square <= 2 * SMS
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 2, STREAM_K: 0}
  - when: K <= 8 and wide <= 6 * SMS
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
  - when: K <= 8
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 2, STREAM_K: 0}
  - when: M > N and N <= 1 and K > 128 and K <= 256 and M <= 4 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1 and K > 128 and K <= 256 and M <= 8 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 1}
  - when: M > N and N <= 2 and K <= 256 and M >= 64 * SMS
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 2 and K <= 256
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1 and M <= 8 * SMS and K > 1024
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 1}
  - when: M > N and N <= 1 and M <= 8 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 8, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 4 and K <= 256
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 4
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 8 and M <= 8 * SMS
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 8
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M > N and N <= 16 and K <= 256
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 1, BLOCKS: 3}
  - when: M > N and N <= 12 and deep
    variant: sgemm_stream
    params: {LINES: 12, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M > N and N <= 16 and deep
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M <= 1 and N <= 8 * SMS and N % 4 != 0 and K > 2048
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 128, AHEAD: 1, BLOCKS: 4}
  - when: M <= 2 and N <= 4 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 1}
  - when: M <= 1 and K <= 256
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 256, AHEAD: 1, BLOCKS: 2}
  - when: M <= 1 and N <= 40 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 1 and N > 80 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 4}
  - when: M <= 1 and N > 40 * SMS and K <= 2048
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 128, AHEAD: 1, BLOCKS: 4}
  - when: M <= 1
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 2 and K <= 256
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 64, THREADS: 256, AHEAD: 1, BLOCKS: 2}
  - when: M <= 2
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 4 and K <= 512 and N > 32 * SMS
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 64, THREADS: 256, AHEAD: 1, BLOCKS: 2}
  - when: M <= 4 and deep
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 128, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 4
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 8 and N <= 8 * SMS
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 8
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M <= 16 and K <= 256
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M <= 12 and deep
    variant: sgemm_stream
    params: {LINES: 12, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M <= 16 and deep
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M <= 16
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M * N * K <= 8000000 and M * N <= 4096
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: K <= 32 and tiles_64x32 > 4 * SMS and tiles_32 <= 12 * SMS and 2 * wide <= 3 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: K <= 32 and tiles_64x32 > 4 * SMS and tiles_32 <= 12 * SMS
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: K <= 32 and tiles_64x32 > 4 * SMS and M * N <= 2000000
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4, EARLY: 1}
  - when: K <= 32 and tiles_64x32 > 4 * SMS and tall <= 3 * SMS
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 16, SLICES: 1, STAGES: 3, BLOCKS: 3, STREAM_K: 1}
  - when: K <= 32 and tiles_64x32 > 4 * SMS and square <= 2 * SMS
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 2, STREAM_K: 0}
  - when: K <= 32 and tiles_64x32 > 4 * SMS and N <= 768
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
  - when: K <= 32 and tiles_64x32 > 4 * SMS
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
  - when: K <= 32 and tiles_64x32 > 2 * SMS and tiles_32x64 > 3 * SMS and N <= 448
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: K <= 32 and tiles_64x32 > 2 * SMS and tiles_32x64 > 3 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: K <= 16 and tiles_64x32 > 2 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: K <= 32 and tiles_64x32 > 2 * SMS and tiles_32 <= 4 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4, EARLY: 1}
  - when: K <= 32 and tiles_64x32 > 2 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: K <= 32 and 4 * tiles_32 <= SMS
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2, EARLY: 1}
  - when: K <= 32 and tiles_32 <= SMS
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2, EARLY: 1}
  - when: K <= 32 and tiles_32 <= 2 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 4, TN: 4, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: K <= 16
    variant: sgemm_outer
    params: {DEPTH: 16, COLUMNS: 32, ROWS: 64, THREADS: 256}
  - when: K <= 32 and tiles_32 <= 3 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4, EARLY: 1}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS and 2 * tiles_32 > SMS and K <= 192
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2, EARLY: 1}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS and 2 * tiles_32 > SMS
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 128, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2, EARLY: 1}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS and K > 768
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2, EARLY: 1}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS and K <= 40
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2, EARLY: 1}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS and K <= 384
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 128, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2, EARLY: 1}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS and M * N <= 30000
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 256, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2, EARLY: 1}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 128, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2, EARLY: 1}
  - when: M * N * K <= 40000000 and 4 * tiles_32 <= 15 * SMS and tiles_32 > 2 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: M * N * K <= 40000000 and 4 * tiles_32 <= 15 * SMS and K <= 224
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: M * N * K <= 40000000 and 4 * tiles_32 <= 15 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: M * N * K <= 40000000 and K <= 48 and tiles <= 2 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: M * N * K <= 40000000 and K <= 48
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: M * N * K <= 40000000 and 2 * tiles_32x64 <= 5 * SMS
    variant: sgemm_small
    params: {BM: 40, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: M * N * K <= 40000000
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 0}
  - when: N <= 32 and M * N * K > 1000000000
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4, EARLY: 1}
  - when: N <= 32 and M * N > 40000
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 0}
  - when: N <= 32 and M * N * K <= 100000000
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: N <= 32
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: N <= 48 and M * N * K > 400000000 and lda % 4 != 0
    variant: sgemm_small
    params: {BM: 128, BN: 48, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: N <= 48 and M * N * K > 400000000 and max(M, N) <= 3072
    variant: sgemm_small
    params: {BM: 64, BN: 48, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: N <= 48 and M * N * K > 400000000
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 8, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
  - when: N <= 48 and 4 * tiles <= 3 * SMS and M * N * K > 100000000
    variant: sgemm_small
    params: {BM: 64, BN: 48, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: N <= 40 and 4 * tiles <= 3 * SMS
    variant: sgemm_small
    params: {BM: 48, BN: 48, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: N <= 48 and 4 * tiles <= 3 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: N <= 48 and tiles <= SMS
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 64, TM: 8, TN: 4, SLICES: 4, BLOCKS: 1, EARLY: 1}
  - when: N <= 48 and 2 * tiles <= 3 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: N <= 48
    variant: sgemm_small
    params: {BM: 64, BN: 48, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: M <= 32 and M * N * K <= 200000000 and tiles <= SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: M <= 32 and M * N * K <= 200000000
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 4, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: M <= 32 and 4 * tiles <= 3 * SMS and M * N * K <= 1000000000
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: M <= 32 and 4 * tiles <= 3 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: M <= 32 and M * N <= 300000
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: M <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: M <= 40 and M * N * K > 700000000
    variant: sgemm_small
    params: {BM: 40, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: M <= 48 and M * N * K > 700000000
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 8, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
  - when: M <= 40 and M * N <= 100000
    variant: sgemm_small
    params: {BM: 40, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: M <= 40
    variant: sgemm_small
    params: {BM: 40, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: M <= 48 and M * N * K > 70000000
    variant: sgemm_small
    params: {BM: 48, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: M <= 48 and K <= 256
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 0}
  - when: M <= 48
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: K <= 320 and 2 * tiles > 9 * SMS and tall <= 3 * SMS and M <= 448
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
  - when: K <= 320 and 2 * tiles > 9 * SMS and tall <= 3 * SMS
    variant: sgemm_small
    params: {BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 3, EARLY: 1}
  - when: K <= 320 and 2 * tiles > 9 * SMS and square <= 2 * SMS and used_128x32 <= 60
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: K <= 320 and 2 * tiles > 9 * SMS and square <= 2 * SMS
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 4, STREAM_K: 0}
  - when: K <= 320 and 2 * tiles > 9 * SMS and K > 160 and M <= 1536
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
  - when: K <= 320 and 2 * tiles > 9 * SMS and K > 160
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
  - when: K <= 320 and 2 * tiles > 9 * SMS and tall <= 4 * SMS
    variant: sgemm_small
    params: {BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: K <= 320 and 2 * tiles > 9 * SMS and N > 768
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
  - when: K <= 320 and 2 * tiles > 9 * SMS and 2 * tiles_96 <= 9 * SMS
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
  - when: K <= 320 and 2 * tiles > 9 * SMS
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
  - when: K <= 320 and tiles_64x32 <= 3 * SMS and tiles_32 > 4 * SMS and 2 * tiles <= 3 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: K <= 320 and tiles_64x32 <= 3 * SMS and tiles_32 > 4 * SMS
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: K <= 320 and tiles_64x32 <= 3 * SMS and 2 * tiles <= SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: K <= 320 and tiles_64x32 <= 3 * SMS and M * N <= 400000 and 4 * tiles_32 <= 9 * SMS
    variant: sgemm_small
    params: {BM: 40, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: K <= 320 and tiles_64x32 <= 3 * SMS and M * N <= 400000
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: K <= 320 and tiles_64x32 <= 3 * SMS and M <= 512
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 4, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: K <= 320 and tiles_64x32 <= 3 * SMS
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 0}
  - when: K <= 320 and used_32x128 > used_32x64 - 10 and used_64x32 > used_32x64
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: K <= 320 and used_32x128 > used_32x64 and M <= 96
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: K <= 320 and used_32x128 > used_32x64
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: K <= 48 and used_32x128 > used_32x64 - 10
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 16, SLICES: 1, STAGES: 3, BLOCKS: 3, STREAM_K: 1}
  - when: K <= 320 and used_32x128 > used_32x64 - 10 and aligned
    variant: sgemm_small
    params: {BM: 48, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 1, EARLY: 1}
  - when: K <= 320 and used_32x128 > used_32x64 - 10
    variant: sgemm_small
    params: {BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 3, EARLY: 1}
  - when: K <= 320 and used_64x64 <= used_64x128 - 10 and tiles <= 2 * SMS and lda % 4 == 0
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
  - when: K <= 320 and used_64x64 <= used_64x128 - 10 and tiles <= 2 * SMS
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 1, EARLY: 1}
  - when: K <= 320 and used_64x64 <= used_64x128 - 10 and used_64x64 <= used_128x32 - 20
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: K <= 320 and used_64x64 <= used_64x128 - 10
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: K <= 320 and 4 * small <= 11 * SMS and used_64x64 <= used_32x64 - 10
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: K <= 320 and 4 * small <= 11 * SMS
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: K <= 320 and used_128x32 <= 70
    variant: sgemm_small
    params: {BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: K <= 320
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: not aligned and M * N * K > 1000000000 and tiles > 6 * SMS and used_64x64 <= used_32x128 - 20
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: not aligned and M * N * K > 1000000000 and tiles > 6 * SMS
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
  - when: not aligned and M * N * K > 1000000000 and used_64x64 <= used_32x128 - 10
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: not aligned and M * N * K > 1000000000 and N <= 64 and lda % 4 == 0
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 8, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
  - when: not aligned and M * N * K > 1000000000 and N <= 64
    variant: sgemm_small
    params: {BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 3, EARLY: 1}
  - when: not aligned and M * N * K > 1000000000 and K <= 1280 and N <= 224
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: not aligned and M * N * K > 1000000000 and K <= 1280
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
  - when: not aligned and M * N * K > 1000000000 and 8 * wide <= 5 * SMS and tiles_32 <= SMS
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: not aligned and M * N * K > 1000000000 and 8 * wide <= 5 * SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 8, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
  - when: not aligned and M * N * K > 1000000000 and used_32x64 <= 40
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4, EARLY: 1}
  - when: not aligned and M * N * K > 1000000000 and used_64x64 <= used_128x32 - 20
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: not aligned and M * N * K > 1000000000 and used_64x32 <= used_32x64 - 20
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: not aligned and M * N * K > 1000000000 and used_32x64 <= 80
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
  - when: not aligned and M * N * K > 1000000000 and M * N * K <= 10000000000
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
  - when: not aligned and M * N * K > 1000000000
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
  - when: not aligned and M * N * K <= 100000000 and used_64x32 > used_32x64 + 5
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: not aligned and M * N * K <= 100000000 and used_64x64 <= used_64x128 + 5
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: not aligned and M * N * K <= 100000000
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: not aligned and used_64x64 <= used_128x32 - 10 and used_32x128 <= used_32x64 + 5
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: not aligned and used_64x64 <= used_128x32 - 10
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: not aligned and used_64x64 <= used_64x128 - 20 and copied <= 1000000
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
  - when: not aligned and used_64x64 <= used_64x128 - 20
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 1, EARLY: 1}
  - when: not aligned and M * N * K <= 300000000 and tiles_32 <= 3 * SMS and 4 * tiles_32x64 <= SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: not aligned and M * N * K <= 300000000 and tiles_32 <= 3 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: not aligned and M * N * K <= 300000000 and tiles <= SMS
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 64, TM: 8, TN: 4, SLICES: 4, BLOCKS: 1, EARLY: 1}
  - when: not aligned and M * N * K <= 300000000
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: not aligned and used_64x64 <= used_32x128 - 5 and 4 * tiles_32 <= 5 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: not aligned and used_64x64 <= used_32x128 - 5
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: not aligned and used_64x64 <= used_64x32 - 20 and N <= 192
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
  - when: not aligned and used_64x64 <= used_64x32 - 20
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
  - when: not aligned and used_64x64 <= used_64x128 - 5
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
  - when: not aligned and used_64x64 <= used_64x128 and 4 * tiles_96 <= SMS
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 1, EARLY: 1}
  - when: not aligned and used_64x64 <= used_64x128
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 1, STREAM_K: 0}
  - when: not aligned and used_64x64 > 70
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: not aligned and copied <= 1000000
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
  - when: not aligned
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: M * N * K <= 120000000 and tiles_32x64 <= SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: M * N * K <= 120000000
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
  - when: min(M, N) <= 128 and M * N * K <= 300000000 and used_128x32 <= used_32x128 - 5
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
  - when: min(M, N) <= 128 and M * N * K <= 300000000 and K <= 640
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
  - when: min(M, N) <= 128 and M * N * K <= 300000000 and used_64x32 <= used_32x64 + 5
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: min(M, N) <= 128 and M * N * K <= 300000000
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
  - when: square <= SMS and tiles > 3 * SMS and K <= 384 and 10 * M * N < 9 * 4096 * tiles
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 16, SLICES: 1, STAGES: 3, BLOCKS: 1, STREAM_K: 0}
  - when: small * 8 <= SMS and K >= 8192
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 8, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
  - when: small * 8 <= SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 4, SPLIT: 3, STREAM_K: 0}
  - when: small * 6 <= SMS and K >= 768
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 3, STREAM_K: 0}
  - when: small * 8 <= 2 * clustered and K >= 1024
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 0}
  - when: small * 6 <= 2 * SMS and K >= 768
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 3, STREAM_K: 0}
  - when: small * 2 <= SMS and K < 768
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 1, STREAM_K: 0}
  - when: small * 4 <= 2 * SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 4, STREAM_K: 0}
  - when: small * 3 <= 2 * SMS and K >= 768
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 3, STREAM_K: 0}
  - when: small <= SMS and K < 1024
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
  - when: small * 11 >= 9 * SMS and small <= SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
  - when: small * 3 <= 4 * SMS and K >= 512
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 8, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
  - when: small * 4 <= 7 * SMS and K >= 2048
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
  - when: small <= 2 * SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
  - when: K <= 512 and tiles <= 3 * SMS
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
  - when: K <= 512 and small <= 4 * SMS and 20 * small >= 17 * 2 * SMS * cdiv(small, 2 * SMS)
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
  - when: K <= 512 and small <= 6 * SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
  - when: (min(M, N) <= 96 or 10 * tiles <= 34 * square) and small <= 8 * SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
  - when: large <= SMS and large * 10 >= 9 * SMS and 10 * M * N >= 8 * 32768 * large
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
//      K is at most 8, or 16 with at most 16        sgemm_outer, which streams C out; sgemm_persistent if C is
//      columns                                      large and its rows are not aligned
//      C has at most 16 rows or columns             sgemm_stream, which streams the large operand in
//      at most 8 million multiply-adds, and C       sgemm_stream, row by row
//      has at most 4096 elements
//      K is at most 32                              sgemm_small, in tiles the smaller the smaller C;
//                                                   sgemm_persistent for a large C
//      at most 40 million multiply-adds             sgemm_small, in tiles of 16 x 16 to 64 x 32
//      C has at most 48 columns or rows             sgemm_small, with tiles as narrow as C; sgemm_splitk,
//                                                   stream-K, for the largest of 33 to 48
//      K is at most 320                             sgemm_small, in the tiles that fill the SMs best; mostly
//                                                   sgemm_persistent or sgemm_tma from 4.5 tiles per SM on
//      rows unaligned                               sgemm_small likewise, which needs no copy of an operand; for more
//                                                   than a billion multiply-adds also sgemm_splitk and sgemm_tma
//      at most 120 million multiply-adds, or 300    sgemm_small or sgemm_splitk
//      and at most 128 rows or columns
//      at most two tiles per SM                     sgemm_splitk, K in as many parts as fill the SMs with one
//                                                   or two blocks each, in clusters where these fit;
//                                                   stream-K where no number of parts does
//      K is at most 512, C of middling size         sgemm_small, then sgemm_splitk
//      at most 96 rows or columns, or tiles of      sgemm_splitk, stream-K
//      128 x 128 much emptier than of 64 x 64
//      more                                         sgemm_tma, stream-K
//      none that the GPU can run, before Hopper     sgemm_cp_async
//
// Conditions for large problems and for sgemm_stream follow from bytes and waves, counted by hand, and from
// searches on an H100 and an H200. Most others are the branches of a decision tree. A model of the times of
// all kernels, fitted to what those searches measured, said for 11,000 drawn shapes how long each
// configuration takes, and the tree loses as little of the best as 155 branches can.
//
// Where the tiles of sgemm_tma just fill the GPU once, stream-K has nothing to even out and is off.
// Bound like the chosen kernel.
