/*---
summary: the fastest FP32 kernel for the shape of the problem, on Hopper
order: 49
precisions: [f32]
layouts: [nn, nt, tn, tt]
let:
  small: max(1, (M + 59) // 64) * max(1, (N + 59) // 64)  # tiles of 64 x 64, as sgemm_splitk counts them
  clustered: SMS * 10 // 11     # SMs on which clusters of four or eight fit
  tiles: cdiv(M, 64) * cdiv(N, 64)  # the same as sgemm_small counts them
  tiles_32: cdiv(M, 32) * cdiv(N, 32)
  tiles_32x64: cdiv(M, 32) * cdiv(N, 64)
  tiles_64x32: cdiv(M, 64) * cdiv(N, 32)
  large: cdiv(M, 128) * cdiv(N, 256)  # tiles of sgemm_tma
  square: cdiv(M, 128) * cdiv(N, 128)  # tiles of sgemm_persistent: of 128 x 128
  tall: cdiv(M, 128) * cdiv(N, 64)     # of 128 x 64
  wide: cdiv(M, 64) * cdiv(N, 128)     # of 64 x 128
  odd_a: 1 if lda % 4 != 0 else 0  # rows of A are no multiples of 16 bytes
  odd_b: 1 if ldb % 4 != 0 else 0
  deep: max(M, N) * K > 12000000  # the large operand does not fit into L2, to be read twice
  estimated: odd_a or odd_b or K <= 320 or min(M, N) <= 48 or M * N * K <= 3000000000  # rows compete by estimate
  suits_splitk: M > 64 or not odd_b  # otherwise it reads B element by element
  inputs: (M * K + K * N) // 1000  # thousands of elements
  outputs: M * N // 1000
estimates:                      # of rows with `costs`, in picoseconds; what they mean is said below
  sgemm_small:
    count: cdiv(M, BM) * cdiv(N, BN)
    parts: max(1, min(BLOCKS * SMS // count, K // (4 * BK)))
    blocks: cdiv(count * parts, SMS)
    depth: BK * cdiv(cdiv(K, BK), parts)
    per_k: each * blocks + round * cdiv(blocks, BLOCKS) + odd * blocks * (BM * odd_a + BN * odd_b) // (BM + BN)
    operands: load * inputs + store * outputs
    adding: part * parts * count if parts > 1 else 0
    time: 1000 * (start + ends * cdiv(blocks, BLOCKS)) + per_k * depth + operands + adding
  sgemm_persistent:
    count: cdiv(M, BM) * cdiv(N, BN)
    stages: cdiv(K, BK)
    share: max(cdiv(count * stages, BLOCKS * SMS), cdiv(stages, 16)) if STREAM_K else stages
    blocks: cdiv(cdiv(count * stages, share), SMS)
    per_k: each * blocks + round * cdiv(blocks, BLOCKS) + odd * blocks * (BM * odd_a + BN * odd_b) // (BM + BN)
    operands: load * inputs + store * outputs
    time: 1000 * (start + ends * cdiv(blocks, BLOCKS)) + per_k * BK * share + operands + part * count
  sgemm_splitk:
    stages: cdiv(K, 8 * SLICES)
    room: 8 // SLICES           # for blocks on an SM
    sms: clustered if CLUSTER > 2 else SMS
    share: cdiv(small * stages, room * SMS) if STREAM_K else cdiv(stages, CLUSTER * SPLIT)
    blocks: cdiv(min(small * stages, room * SMS) if STREAM_K else small * CLUSTER * SPLIT, sms)
    per_k: each * blocks + round * cdiv(blocks, room) + odd * blocks * (odd_a + odd_b) // 2
    copied: (M * K * odd_a + (K * N * odd_b if M > BM else 0)) // 1000  # so that rows are aligned
    operands: load * inputs + store * outputs + copy * copied + (1000 * call if copied else 0)
    time: 1000 * (start + ends * cdiv(blocks, room)) + per_k * 8 * SLICES * share + operands + part * small
  sgemm_tma:
    count: cdiv(M, 128) * cdiv(N, BN)
    places: 256 // BN * SMS
    share: count // places * cdiv(K, 32) + cdiv(count % places * cdiv(K, 32), places)
    copied: (M * K * odd_a + K * N * odd_b) // 1000
    operands: load * inputs + store * outputs + copy * copied + (1000 * call if copied else 0)
    time: 1000 * start + each * 32 * share + operands + part * count
pick:                           # for another GPU run gemmbench tune sgemm -c sgemm_pick --write-pick
  - when: K <= 16 and N <= 16
    variant: sgemm_outer
    params: {DEPTH: 16, COLUMNS: 16, ROWS: 256, THREADS: 256}
  - when: K <= 8 and tiles_32 <= 3 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, ROWS: 32, THREADS: 256}
  - when: K <= 8 and tiles_32 <= 6 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, ROWS: 32, THREADS: 128}
  - when: K <= 8 and ldb % 4 == 0 and 2 * wide <= 3 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 128, ROWS: 32, THREADS: 256}
  - when: K <= 8 and ldb % 4 == 0 and tiles_64x32 <= 6 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, ROWS: 128, THREADS: 256}
  - when: K <= 8 and ldb % 4 == 0
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 64, ROWS: 64, THREADS: 128}
  - when: K <= 8 and tiles_64x32 <= 7 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, ROWS: 64, THREADS: 128}
  - when: K <= 8
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 64, ROWS: 64, THREADS: 128}
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
  - when: M <= 1 and N <= 8 * SMS and K > 2048
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 128, THREADS: 128, AHEAD: 1, BLOCKS: 4}
  - when: M <= 2 and N <= 4 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 1}
  - when: M <= 1 and K <= 320
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 256, AHEAD: 1, BLOCKS: 2}
  - when: M <= 1 and N * K <= 3000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 1 and N * K <= 15000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 1 and N * K <= 28000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 128, THREADS: 128, AHEAD: 2, BLOCKS: 4}
  - when: M <= 1
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 256, THREADS: 256, AHEAD: 2, BLOCKS: 2}
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
  - when: M <= 16 and N % 4 != 0 and N > 24 * SMS
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 3}
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
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1, EARLY: 1}
    costs: {start: 898, each: 0, round: 13100, odd: 1770, ends: 2130, load: 268, store: 0, part: 20400}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
    costs: {start: 691, each: 3010, round: 27600, odd: 988, ends: 2370, load: 140, store: 0, part: 10800}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
    costs: {start: 941, each: 3330, round: 60300, odd: 2310, ends: 2580, load: 87, store: 0, part: 15000}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3, EARLY: 1}
    costs: {start: 1140, each: 1340, round: 34700, odd: 305, ends: 2100, load: 92, store: 0, part: 11300}
  - when: estimated
    variant: sgemm_small
    params: {BM: 40, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3, EARLY: 1}
    costs: {start: 956, each: 2300, round: 22400, odd: 1130, ends: 1870, load: 235, store: 0, part: 8790}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 64, TM: 8, TN: 8, SLICES: 4, BLOCKS: 1, EARLY: 1}
    costs: {start: 812, each: 0, round: 25100, odd: 3150, ends: 1560, load: 145, store: 1520, part: 31400}
  - when: estimated
    variant: sgemm_small
    params: {BM: 48, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
    costs: {start: 998, each: 7200, round: 22000, odd: 2080, ends: 2410, load: 92, store: 0, part: 18300}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3, EARLY: 1}
    costs: {start: 993, each: 4790, round: 52700, odd: 1780, ends: 3040, load: 143, store: 0, part: 14700}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 48, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
    costs: {start: 993, each: 2820, round: 35000, odd: 513, ends: 2550, load: 96, store: 0, part: 18800}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 3, EARLY: 1}
    costs: {start: 1570, each: 11000, round: 101000, odd: 1500, ends: 3220, load: 148, store: 435, part: 22700}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4, EARLY: 1}
    costs: {start: 1300, each: 7270, round: 60000, odd: 3760, ends: 2870, load: 275, store: 0, part: 10600}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4, EARLY: 1}
    costs: {start: 766, each: 6950, round: 70600, odd: 1690, ends: 3390, load: 202, store: 0, part: 11800}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 48, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2, EARLY: 1}
    costs: {start: 395, each: 6840, round: 64200, odd: 848, ends: 3480, load: 260, store: 0, part: 21000}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3, EARLY: 1}
    costs: {start: 2350, each: 6210, round: 9970, odd: 490, ends: 0, load: 152, store: 862, part: 8650}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
    costs: {start: 1020, each: 5770, round: 38300, odd: 1570, ends: 2320, load: 578, store: 302, part: 14100}
  - when: estimated
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2, EARLY: 1}
    costs: {start: 1090, each: 4730, round: 2560, odd: 503, ends: 1300, load: 270, store: 0, part: 6970}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2, EARLY: 1}
    costs: {start: 1220, each: 10400, round: 36400, odd: 1100, ends: 2260, load: 92, store: 0, part: 18200}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 5270, each: 30600, round: 29800, odd: 12700, ends: 418, load: 888, store: 174, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 16, SLICES: 1, STAGES: 3, BLOCKS: 1, STREAM_K: 0}
    costs: {start: 2610, each: 82600, round: 0, odd: 20500, ends: 1270, load: 1280, store: 5, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 2, STREAM_K: 0}
    costs: {start: 3200, each: 40300, round: 77900, odd: 14500, ends: 3160, load: 1080, store: 0, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 96, BN: 64, BK: 16, SLICES: 1, STAGES: 3, BLOCKS: 4, STREAM_K: 1}
    costs: {start: 18300, each: 0, round: 137000, odd: 3340, ends: 0, load: 324, store: 0, part: 6130}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 1, STREAM_K: 0}
    costs: {start: 1670, each: 16100, round: 2960, odd: 35, ends: 4910, load: 230, store: 0, part: 2350,
      copy: 2450, call: 2280}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
    costs: {start: 0, each: 14200, round: 8330, odd: 0, ends: 4450, load: 36, store: 0, part: 0,
      copy: 2340, call: 2140}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 3, STREAM_K: 0}
    costs: {start: 3490, each: 15200, round: 4460, odd: 343, ends: 4340, load: 240, store: 0, part: 4050,
      copy: 2340, call: 2480}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 8, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
    costs: {start: 12700, each: 0, round: 19100, odd: 1080, ends: 0, load: 250, store: 0, part: 9360,
      copy: 1610, call: 7200}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
    costs: {start: 13600, each: 0, round: 38000, odd: 366, ends: 0, load: 290, store: 1860, part: 0,
      copy: 1970, call: 5970}
  - when: estimated
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
    costs: {start: 16200, each: 140000, load: 652, store: 824, part: 0, copy: 2790, call: 2660}
  - when: estimated
    variant: sgemm_tma
    params: {BM: 128, BN: 256, BK: 32, STAGES: 4, STREAM_K: 1}
    costs: {start: 15200, each: 141000, load: 357, store: 863, part: 0, copy: 2380, call: 3670}
  - when: small * 8 <= SMS and K >= 8192
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 8, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
  - when: small * 4 <= 2 * SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 4, STREAM_K: 0}
  - when: small * 3 <= 2 * SMS and K >= 768
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 3, STREAM_K: 0}
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

// Chooses a kernel by the shape, the number of tiles of C and the number of SMs of the GPU. (Up to four
// rows or columns beyond whole tiles of 64 x 64 do not count, because sgemm_splitk gives them no tiles.)
//
//      the first that holds                         the kernel
//      ---------------------------------------------------------------------------------
//      K is at most 8, or 16 with at most 16        sgemm_outer, which streams C out
//      columns
//      C has at most 16 rows or columns             sgemm_stream, which streams the large operand in
//      at most 8 million multiply-adds, and C       sgemm_stream, row by row
//      has at most 4096 elements
//      K is at most 32                              sgemm_small, in tiles the smaller the smaller C, or up to a
//                                                   K of 16 sgemm_outer; sgemm_persistent for a large C
//      at most 40 million multiply-adds             sgemm_small, in tiles of 16 x 16 to 64 x 32
//      rows unaligned, K at most 320, C of at       the configuration of sgemm_small, sgemm_persistent,
//      most 48 rows or columns, or at most 3        sgemm_splitk or sgemm_tma with the shortest
//      billion multiply-adds                        estimated time
//      at most two tiles per SM                     sgemm_splitk, K in as many parts as fill the SMs, or
//                                                   stream-K where no number of parts does
//      at most 96 rows or columns, or tiles of      sgemm_splitk, stream-K
//      128 x 128 much emptier than of 64 x 64
//      more                                         sgemm_tma, stream-K
//      none that the GPU can run, before Hopper     sgemm_cp_async
//
// The estimate counts what a kernel will do, before it runs:
//
//      5 blocks on an SM that has room for 3:       round 1   block | block | block     all three at once
//                                                   round 2   block | block
//      time = start + k of a block x (each x 5 blocks + round x 2 rounds) + ends x 2 rounds + ...
//
//      start   ns                     a launch, until blocks run
//      ends    ns per round           its first loads and its stores
//      each    ps per k and block     what the blocks of an SM take from each other, mostly the issue of FFMA
//      round   ps per k and round     what a block takes alone, mostly latency
//      odd     ps per k and block     if rows are no multiples of 16 bytes
//      load    ps per 1000 elements   of A and B, for the time of DRAM; store: of C
//      part    ps per tile and part   if parts are added up
//      copy    ps per 1000 elements   that are copied first, so that rows are aligned; call: ns if there are any
//
// Searches on an H100 and an H200 gave times of all kernels at about 1200 shapes, a model of them (gradient boosting)
// times for 11,000 drawn shapes, and a fit to these the costs: least squares, nothing below 0, again and again
// with more weight where a slow kernel would be picked. At shapes that fit and model had not seen, the kernels
// picked so took 2 to 4 % longer than the best; those of a decision tree of 155 branches 6 to 7 %. Other
// conditions follow from bytes and waves, counted by hand, and from a tree for at most 40 million multiply-adds.
//
// Where the tiles of sgemm_tma just fill the GPU once, stream-K has nothing to even out and is off.
// Bound like the chosen kernel.
