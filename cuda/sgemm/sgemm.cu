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
  - when: K <= 8 and ldb % 4 == 0
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 64, ROWS: 64, THREADS: 128}
  - when: K <= 8 and tiles_64x32 <= 7 * SMS
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
  - when: M > N and N <= 12 and deep
    variant: sgemm_stream
    params: {LINES: 12, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M > N and N > 8 and N <= 12 and K > 256
    variant: sgemm_stream
    params: {LINES: 12, OUTPUTS: 64, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M > N and N <= 16 and deep
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
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
  - when: M <= 12 and deep
    variant: sgemm_stream
    params: {LINES: 12, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M <= 16 and deep and N % 4 != 0
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 64, THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: M <= 16 and deep and N > 64 * SMS
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
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 16, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1720, each: 17, round: 23300, odd: 3920, ends: 136, load: 5430, store: 367, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 419, each: 559, round: 30000, odd: 487, ends: 0, load: 9390, store: 0, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 16, TM: 8, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1480, each: 7300, round: 18100, odd: 4810, ends: 843, load: 1380, store: 701, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 16, BN: 64, BK: 16, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1350, each: 0, round: 21600, odd: 3840, ends: 634, load: 2590, store: 738, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 821, each: 0, round: 59000, odd: 14500, ends: 2100, load: 1280, store: 298, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 1200, each: 0, round: 81900, odd: 11400, ends: 1630, load: 1650, store: 586, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1540, each: 0, round: 0, odd: 2710, ends: 1060, load: 4870, store: 1330, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 1870, each: 0, round: 17300, odd: 6660, ends: 620, load: 2120, store: 412, part: 0}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 2620, each: 9030, round: 73700, odd: 20300, ends: 556, load: 4760, store: 466, part: 0}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 4, STREAM_K: 0}
    costs: {start: 2590, each: 20100, round: 71300, odd: 22700, ends: 817, load: 6650, store: 382, part: 0}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 2420, each: 19100, round: 54300, odd: 15600, ends: 1040, load: 3760, store: 431, part: 0}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 16, SLICES: 1, STAGES: 3, BLOCKS: 1, STREAM_K: 0}
    costs: {start: 2350, each: 56600, round: 0, odd: 24800, ends: 1090, load: 4280, store: 520, part: 0}
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
    costs: {start: 820, each: 0, round: 13400, odd: 1930, ends: 2080, load: 234, store: 0, part: 21300}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
    costs: {start: 623, each: 4560, round: 23400, odd: 912, ends: 2340, load: 126, store: 0, part: 11100}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 970, each: 12100, round: 32800, odd: 2660, ends: 2730, load: 112, store: 0, part: 15700}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
    costs: {start: 693, each: 7170, round: 18100, odd: 135, ends: 2350, load: 70, store: 0, part: 12100}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 602, each: 14200, round: 24900, odd: 1780, ends: 3390, load: 57, store: 0, part: 15400}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 64, TM: 8, TN: 8, SLICES: 4, BLOCKS: 1}
    costs: {start: 712, each: 0, round: 25400, odd: 3010, ends: 1990, load: 94, store: 540, part: 30700}
  - when: estimated
    variant: sgemm_small
    params: {BM: 40, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
    costs: {start: 864, each: 3050, round: 20800, odd: 934, ends: 1930, load: 221, store: 0, part: 8410}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 48, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 837, each: 2440, round: 35300, odd: 1150, ends: 2590, load: 108, store: 0, part: 18600}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 204, each: 15900, round: 26700, odd: 3290, ends: 3630, load: 242, store: 0, part: 11500}
  - when: estimated
    variant: sgemm_small
    params: {BM: 48, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 999, each: 6780, round: 23200, odd: 2110, ends: 2400, load: 120, store: 0, part: 16700}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 0, each: 21600, round: 13900, odd: 1710, ends: 3950, load: 127, store: 0, part: 12800}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
    costs: {start: 743, each: 0, round: 15500, odd: 632, ends: 2060, load: 192, store: 0, part: 22800}
  - when: estimated
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 730, each: 4060, round: 3880, odd: 447, ends: 1360, load: 266, store: 0, part: 7660}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
    costs: {start: 2210, each: 9090, round: 0, odd: 799, ends: 0, load: 164, store: 1440, part: 8700}
  - when: estimated
    variant: sgemm_small
    params: {BM: 48, BN: 48, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
    costs: {start: 1010, each: 0, round: 19100, odd: 1700, ends: 2010, load: 60, store: 776, part: 25500}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 1140, each: 10200, round: 30400, odd: 2490, ends: 2430, load: 278, store: 0, part: 15700}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 3}
    costs: {start: 617, each: 30700, round: 42700, odd: 2420, ends: 3800, load: 81, store: 320, part: 22800}
  - when: estimated
    variant: sgemm_small
    params: {BM: 40, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 1330, each: 10600, round: 47800, odd: 4410, ends: 2460, load: 83, store: 0, part: 23100}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 40, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 1480, each: 11400, round: 52200, odd: 2780, ends: 2580, load: 123, store: 0, part: 22100}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 510, each: 38100, round: 14900, odd: 3680, ends: 3920, load: 85, store: 0, part: 23600}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 1050, each: 12200, round: 32600, odd: 1370, ends: 2350, load: 127, store: 0, part: 17200}
  - when: estimated
    variant: sgemm_small
    params: {BM: 80, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 2}
    costs: {start: 1060, each: 3910, round: 129000, odd: 7850, ends: 3360, load: 38, store: 0, part: 35300}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 3480, each: 30100, round: 30400, odd: 12700, ends: 1300, load: 1910, store: 0, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 2, STREAM_K: 0}
    costs: {start: 2740, each: 43000, round: 73900, odd: 13600, ends: 3020, load: 1270, store: 0, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 16, SLICES: 1, STAGES: 3, BLOCKS: 1, STREAM_K: 0}
    costs: {start: 2940, each: 85100, round: 0, odd: 21300, ends: 1050, load: 689, store: 0, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 3330, each: 34400, round: 31000, odd: 7660, ends: 1650, load: 1550, store: 0, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 128, BN: 96, BK: 16, SLICES: 1, STAGES: 3, BLOCKS: 2, STREAM_K: 1}
    costs: {start: 16900, each: 0, round: 140000, odd: 4060, ends: 0, load: 628, store: 0, part: 12500}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
    costs: {start: 0, each: 14700, round: 7060, odd: 0, ends: 4410, load: 137, store: 0, part: 0,
      copy: 2260, call: 2290}
  - when: estimated and suits_splitk and small <= SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 1, STREAM_K: 0}
    costs: {start: 1710, each: 16300, round: 2850, odd: 140, ends: 4960, load: 181, store: 0, part: 1640,
      copy: 2410, call: 2310}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
    costs: {start: 13600, each: 19300, round: 0, odd: 301, ends: 0, load: 157, store: 0, part: 8710,
      copy: 2150, call: 2340}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 3, STREAM_K: 0}
    costs: {start: 3420, each: 15400, round: 4730, odd: 167, ends: 4110, load: 158, store: 0, part: 7140,
      copy: 2360, call: 2350}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 8, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
    costs: {start: 14100, each: 19100, round: 0, odd: 1300, ends: 0, load: 119, store: 778, part: 7050,
      copy: 2030, call: 2350}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 8, SPLIT: 1, STREAM_K: 0}
    costs: {start: 1760, each: 17800, round: 754, odd: 609, ends: 3990, load: 242, store: 4300, part: 21300,
      copy: 2270, call: 2440}
  - when: estimated
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
    costs: {start: 16200, each: 139000, load: 648, store: 884, part: 0, copy: 3200, call: 2280}
  - when: estimated
    variant: sgemm_tma
    params: {BM: 128, BN: 256, BK: 32, STAGES: 4, STREAM_K: 1}
    costs: {start: 14900, each: 141000, load: 329, store: 885, part: 0, copy: 2440, call: 4250}
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
//      columns                                      small C
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
// with more weight where a slow kernel would be picked. At shapes that fit and model had not seen, the kernels
// picked so took 2 to 4 % longer than the best; those of a decision tree of 155 branches 6 to 7 %. Other
// conditions follow from bytes and waves, counted by hand, and from a tree for at most 40 million multiply-adds.
//
// Where the tiles of sgemm_tma just fill the GPU once, stream-K has nothing to even out and is off.
// Bound like the chosen kernel.
