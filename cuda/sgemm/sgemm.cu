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
  - when: K <= 4 and tiles_32 <= 4 * SMS
    variant: sgemm_outer
    params: {DEPTH: 4, COLUMNS: 32, ROWS: 32, THREADS: 256}
  - when: K <= 4 and tiles_32 <= 8 * SMS
    variant: sgemm_outer
    params: {DEPTH: 4, COLUMNS: 32, ROWS: 32, THREADS: 128}
  - when: K <= 4
    variant: sgemm_outer
    params: {DEPTH: 4, COLUMNS: 32, ROWS: 64, THREADS: 128}
  - when: K <= 8 and tiles_32 <= 2 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 16, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
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
  - when: K <= 8 and ldb % 4 != 0 and tiles_64x32 <= 7 * SMS
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, ROWS: 64, THREADS: 128}
  - when: K <= 8
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 64, ROWS: 64, THREADS: 128}
  - when: M > N and N <= 1 and K <= 128
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1 and K <= 256 and M <= 4 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1 and K <= 256 and M <= 8 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 1}
  - when: M > N and N <= 1 and M <= 8 * SMS and K <= 1024
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 8, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1 and (M <= 4 * SMS or M <= 8 * SMS and M > 6 * SMS)
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 8, THREADS: 256, AHEAD: 2, BLOCKS: 1}
  - when: M > N and N <= 1
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 2 and K <= 256 and M >= 64 * SMS
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 2 and K <= 256
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 2 and M <= 8 * SMS
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 4 and K <= 256
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 4
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 8 and M <= 8 * SMS
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 8 and K <= 512
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M > N and N <= 8
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M > N and N <= 16 and K <= 256 and M <= 8 * SMS
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M > N and N <= 16 and K <= 256
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 1, BLOCKS: 3}
  - when: M > N and N > 8 and N <= 12 and K > 256
    variant: sgemm_stream
    params: {LINES: 12, OUTPUTS: 64, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M > N and N <= 16 and deep
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 64, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M <= 1 and N * K <= 1500000 and K > 320
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 1 and K <= 320 and N > 64 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 256, AHEAD: 1, BLOCKS: 2}
  - when: M <= 1 and N % 4 == 0 and N <= 64 * SMS and N > 58 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 1 and N % 4 != 0 and N <= 27 * SMS and N > 8 * SMS and N * K > 4000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 1 and N * K <= 20000000 and (N % 4 == 0 or N <= 27 * SMS or N * K <= 4000000)
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 1 and N * K <= 28000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 128, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 1
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 256, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 2 and N <= 16 * SMS
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
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
  - when: M <= 8 and N <= 20 * SMS
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M <= 8
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M <= 16 and K <= 256 and N > 42 * SMS
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 1, BLOCKS: 3}
  - when: M <= 16 and K <= 256
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M <= 12 and N * K > 4000000
    variant: sgemm_stream
    params: {LINES: 12, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M <= 16 and deep and N % 4 != 0
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 64, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M <= 16 and deep and N > 64 * SMS
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M <= 16 and deep
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M <= 16 and N % 4 != 0 and N > 24 * SMS
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M <= 16
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 3}
  - when: M * N * K <= 8000000 and M * N <= 4096
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 16, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1670, each: 148, round: 19700, odd: 880, ends: 104, load: 5540, store: 889, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 394, each: 1180, round: 0, odd: 240, ends: 1660, load: 4350, store: 412, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 16, TM: 8, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1290, each: 7930, round: 20700, odd: 2180, ends: 762, load: 2730, store: 843, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 1090, each: 66, round: 74500, odd: 8160, ends: 1170, load: 2980, store: 777, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 1150, each: 178, round: 63200, odd: 4540, ends: 1850, load: 2870, store: 164, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1450, each: 74, round: 1360, odd: 2130, ends: 975, load: 4880, store: 1610, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 16, BN: 64, BK: 16, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 970, each: 4230, round: 15000, odd: 3110, ends: 1140, load: 5280, store: 114, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 4, SLICES: 1, BLOCKS: 4}
    costs: {start: 1560, each: 16100, round: 17500, odd: 8780, ends: 480, load: 2030, store: 160, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 3}
    costs: {start: 1360, each: 339, round: 109000, odd: 16500, ends: 1510, load: 1670, store: 597, part: 0}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 2510, each: 10100, round: 68600, odd: 19900, ends: 656, load: 5410, store: 458, part: 0}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 4, STREAM_K: 0}
    costs: {start: 2490, each: 35000, round: 22900, odd: 21500, ends: 1650, load: 6040, store: 176, part: 0}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 2780, each: 16400, round: 59800, odd: 17300, ends: 811, load: 4440, store: 556, part: 0}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS and 2 * tiles_32 > SMS and K <= 192
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS and 2 * tiles_32 > SMS
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 128, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS and K > 768
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS and K <= 40
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS and K <= 384
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 128, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS and M * N <= 30000
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 256, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2}
  - when: M * N * K <= 40000000 and tiles_32 <= SMS
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 128, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2}
  - when: M * N * K <= 40000000 and 4 * tiles_32 <= 15 * SMS and tiles_32 > 2 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
  - when: M * N * K <= 40000000 and 4 * tiles_32 <= 15 * SMS and K <= 224
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 4, BLOCKS: 2}
  - when: M * N * K <= 40000000 and 4 * tiles_32 <= 15 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
  - when: M * N * K <= 40000000 and K <= 48 and tiles <= 2 * SMS
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 8, SLICES: 2, BLOCKS: 2}
  - when: M * N * K <= 40000000 and K <= 48
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
  - when: M * N * K <= 40000000 and 2 * tiles_32x64 <= 5 * SMS
    variant: sgemm_small
    params: {BM: 40, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
  - when: M * N * K <= 40000000
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
    costs: {start: 733, each: 7, round: 13500, odd: 1320, ends: 2040, load: 178, store: 74, part: 17100}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
    costs: {start: 520, each: 4410, round: 23300, odd: 1260, ends: 2390, load: 116, store: 0, part: 8970}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 769, each: 15400, round: 23600, odd: 1530, ends: 2870, load: 126, store: 0, part: 13700}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
    costs: {start: 516, each: 6870, round: 18700, odd: 275, ends: 2410, load: 50, store: 78, part: 10600}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 444, each: 16400, round: 21700, odd: 1840, ends: 3120, load: 149, store: 74, part: 10800}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 64, TM: 8, TN: 8, SLICES: 4, BLOCKS: 1}
    costs: {start: 844, each: 93, round: 25200, odd: 2960, ends: 1060, load: 104, store: 2220, part: 28500}
  - when: estimated
    variant: sgemm_small
    params: {BM: 40, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 1010, each: 8410, round: 18600, odd: 2040, ends: 2160, load: 197, store: 2, part: 12600}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 48, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 1040, each: 8280, round: 24100, odd: 1360, ends: 2650, load: 64, store: 579, part: 14700}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 227, each: 21800, round: 13900, odd: 762, ends: 3090, load: 106, store: 341, part: 12200}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 3}
    costs: {start: 1140, each: 7130, round: 104000, odd: 4880, ends: 3850, load: 79, store: 0, part: 24800}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
    costs: {start: 2440, each: 8280, round: 2350, odd: 569, ends: 0, load: 157, store: 1670, part: 6960}
  - when: estimated
    variant: sgemm_small
    params: {BM: 48, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 1380, each: 8640, round: 18200, odd: 2520, ends: 2390, load: 160, store: 347, part: 13000}
  - when: estimated
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 666, each: 3830, round: 4240, odd: 439, ends: 1150, load: 250, store: 1220, part: 6290}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 1}
    costs: {start: 828, each: 131, round: 44500, odd: 4660, ends: 2650, load: 223, store: 0, part: 30200}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 40, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 1220, each: 12100, round: 47300, odd: 2340, ends: 2810, load: 88, store: 0, part: 23500}
  - when: estimated
    variant: sgemm_small
    params: {BM: 48, BN: 48, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
    costs: {start: 1080, each: 0, round: 19000, odd: 1340, ends: 2030, load: 129, store: 381, part: 19800}
  - when: estimated
    variant: sgemm_small
    params: {BM: 40, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 1320, each: 11900, round: 44500, odd: 3750, ends: 4170, load: 0, store: 286, part: 19200}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 779, each: 12500, round: 25600, odd: 673, ends: 2470, load: 342, store: 35, part: 13600}
  - when: estimated
    variant: sgemm_small
    params: {BM: 40, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
    costs: {start: 871, each: 2860, round: 22600, odd: 516, ends: 2040, load: 272, store: 0, part: 7810}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 0, each: 34400, round: 18800, odd: 2680, ends: 3640, load: 178, store: 79, part: 24200}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 80, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 2}
    costs: {start: 101, each: 5830, round: 124000, odd: 4010, ends: 5510, load: 260, store: 89, part: 31500}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 1280, each: 12500, round: 34400, odd: 2190, ends: 1670, load: 227, store: 0, part: 57200}
  - when: estimated
    variant: sgemm_small
    params: {BM: 80, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 2}
    costs: {start: 1270, each: 8390, round: 119000, odd: 4960, ends: 3450, load: 24, store: 0, part: 31700}
  - when: estimated
    variant: sgemm_small
    params: {BM: 48, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 1}
    costs: {start: 5140, each: 304, round: 20600, odd: 10300, ends: 152, load: 120, store: 0, part: 117000}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 3700, each: 26800, round: 35200, odd: 13400, ends: 1590, load: 1610, store: 0, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 2, STREAM_K: 0}
    costs: {start: 2580, each: 42100, round: 76800, odd: 13400, ends: 2870, load: 835, store: 0, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 3960, each: 38200, round: 28700, odd: 5580, ends: 1370, load: 1950, store: 19, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 16, SLICES: 1, STAGES: 3, BLOCKS: 3, STREAM_K: 1}
    costs: {start: 12900, each: 32400, round: 40000, odd: 4050, ends: 0, load: 848, store: 383, part: 8000}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 8, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
    costs: {start: 13400, each: 4, round: 19300, odd: 480, ends: 0, load: 101, store: 2420, part: 0,
      copy: 2180, call: 2650}
  - when: estimated and suits_splitk and small <= SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 1, STREAM_K: 0}
    costs: {start: 2020, each: 16200, round: 2920, odd: 56, ends: 4700, load: 217, store: 867, part: 5230,
      copy: 2490, call: 1920}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
    costs: {start: 0, each: 15200, round: 7050, odd: 0, ends: 4750, load: 92, store: 0, part: 0,
      copy: 2100, call: 1790}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 3, STREAM_K: 0}
    costs: {start: 3400, each: 15300, round: 4730, odd: 0, ends: 4640, load: 275, store: 467, part: 650,
      copy: 2190, call: 3780}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
    costs: {start: 13700, each: 19200, round: 0, odd: 253, ends: 0, load: 171, store: 370, part: 7320,
      copy: 2280, call: 2700}
  - when: estimated and 2 * square >= SMS
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
    costs: {start: 17700, each: 140000, load: 485, store: 837, part: 0, copy: 2600, call: 1030}
  - when: estimated and 4 * large >= SMS
    variant: sgemm_tma
    params: {BM: 128, BN: 256, BK: 32, STAGES: 4, STREAM_K: 1}
    costs: {start: 16400, each: 141000, load: 401, store: 857, part: 0, copy: 2380, call: 3050}
  - when: small * 16 <= 2 * SMS and small * 80 >= 9 * SMS and K >= 8192
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 8, STREAM_K: 0}
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
//      K is at most 8, or 16 with at most 16        sgemm_outer, which streams C out; sgemm_small for a
//      columns                                      small C, with a K of 5 to 8
//      C has at most 16 rows or columns             sgemm_stream, which streams the large operand in
//      at most 8 million multiply-adds, and C       sgemm_stream, row by row
//      has at most 4096 elements
//      K is at most 32                              the configuration of sgemm_small or sgemm_persistent with
//                                                   the shortest estimated time
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
// with more weight where a slow kernel would be picked, and in the end one cost at a time, where that picks better.
// The kernels picked take 2 % longer than the best; at shapes that fit and model had not seen, 2 to 4 %, and those
// of a decision tree of 155 branches 6 to 7 %. Other conditions follow from bytes and waves, counted by hand, and
// from a tree for at most 40 million multiply-adds. Where a tile would be cut into more than four parts, sgemm_tma
// does not compete: measured, it was hardly ever the best, and its estimate knows no such parts.
//
// Where the tiles of sgemm_tma just fill the GPU once, stream-K has nothing to even out and is off.
// Bound like the chosen kernel.
