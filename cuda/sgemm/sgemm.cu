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
  - when: K <= 4 and tiles_32 <= 2 * SMS
    variant: sgemm_outer
    params: {DEPTH: 4, COLUMNS: 32, ROWS: 32, THREADS: 256}
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
    costs: {start: 1700, each: 0, round: 24200, odd: 2280, ends: 62, load: 5910, store: 532, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 425, each: 612, round: 0, odd: 645, ends: 1850, load: 9740, store: 0, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 16, BN: 64, BK: 16, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1070, each: 915, round: 21600, odd: 4210, ends: 775, load: 3940, store: 518, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 16, TM: 8, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1430, each: 6300, round: 19000, odd: 1720, ends: 605, load: 2410, store: 1050, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 949, each: 0, round: 58400, odd: 8960, ends: 1820, load: 1290, store: 472, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1430, each: 0, round: 0, odd: 813, ends: 1060, load: 5440, store: 1300, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 841, each: 241, round: 75000, odd: 15300, ends: 1780, load: 2150, store: 619, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 4, SLICES: 1, BLOCKS: 4}
    costs: {start: 1520, each: 14000, round: 21200, odd: 8770, ends: 547, load: 1840, store: 159, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 1490, each: 0, round: 74100, odd: 6840, ends: 982, load: 1980, store: 875, part: 0}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 2640, each: 11900, round: 60500, odd: 20600, ends: 761, load: 4920, store: 428, part: 0}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 2460, each: 13600, round: 62800, odd: 15000, ends: 737, load: 4310, store: 597, part: 0}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 2, STREAM_K: 0}
    costs: {start: 2100, each: 2920, round: 132000, odd: 29800, ends: 1550, load: 6920, store: 404, part: 0}
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
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
    costs: {start: 450, each: 3450, round: 25800, odd: 1580, ends: 2380, load: 163, store: 0, part: 8510}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
    costs: {start: 404, each: 7100, round: 18100, odd: 345, ends: 2470, load: 20, store: 0, part: 10000}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
    costs: {start: 977, each: 0, round: 13200, odd: 1620, ends: 2020, load: 233, store: 0, part: 18700}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 574, each: 14900, round: 24800, odd: 2010, ends: 2780, load: 78, store: 0, part: 14200}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 942, each: 16900, round: 19000, odd: 1660, ends: 2800, load: 185, store: 105, part: 11600}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 64, TM: 8, TN: 8, SLICES: 4, BLOCKS: 1}
    costs: {start: 1290, each: 0, round: 25400, odd: 2920, ends: 273, load: 93, store: 3840, part: 32600}
  - when: estimated
    variant: sgemm_small
    params: {BM: 40, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
    costs: {start: 1120, each: 3270, round: 19400, odd: 1070, ends: 1860, load: 215, store: 0, part: 7360}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 48, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 659, each: 10200, round: 20400, odd: 637, ends: 2490, load: 79, store: 0, part: 15900}
  - when: estimated
    variant: sgemm_small
    params: {BM: 40, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 1050, each: 12000, round: 44100, odd: 4390, ends: 2290, load: 133, store: 0, part: 18400}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 561, each: 8220, round: 67400, odd: 4490, ends: 3280, load: 395, store: 20, part: 20300}
  - when: estimated
    variant: sgemm_small
    params: {BM: 48, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 1180, each: 6940, round: 22400, odd: 2480, ends: 2150, load: 129, store: 0, part: 14400}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
    costs: {start: 2800, each: 6820, round: 5650, odd: 651, ends: 0, load: 103, store: 240, part: 7540}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 767, each: 12500, round: 22400, odd: 2710, ends: 2410, load: 586, store: 0, part: 12400}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 617, each: 16400, round: 19300, odd: 1490, ends: 3210, load: 28, store: 0, part: 13200}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 810, each: 19100, round: 23300, odd: 729, ends: 1810, load: 116, store: 871, part: 14000}
  - when: estimated
    variant: sgemm_small
    params: {BM: 48, BN: 48, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
    costs: {start: 1100, each: 0, round: 18600, odd: 1900, ends: 1650, load: 164, store: 1730, part: 22100}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 3}
    costs: {start: 1530, each: 7730, round: 103000, odd: 5540, ends: 3650, load: 110, store: 4, part: 19800}
  - when: estimated
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 882, each: 3880, round: 4060, odd: 539, ends: 1320, load: 201, store: 0, part: 7300}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 40, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 1220, each: 14900, round: 42900, odd: 2350, ends: 2520, load: 121, store: 0, part: 20400}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 173, each: 38300, round: 12000, odd: 2120, ends: 3830, load: 172, store: 6, part: 20600}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 845, each: 11300, round: 31500, odd: 1590, ends: 2420, load: 195, store: 0, part: 15500}
  - when: estimated
    variant: sgemm_small
    params: {BM: 80, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 2}
    costs: {start: 1400, each: 6060, round: 122000, odd: 6490, ends: 3270, load: 134, store: 0, part: 31300}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 80, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 2}
    costs: {start: 552, each: 4870, round: 124000, odd: 6270, ends: 4290, load: 267, store: 0, part: 32500}
  - when: estimated
    variant: sgemm_small
    params: {BM: 48, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 1}
    costs: {start: 6100, each: 19500, round: 0, odd: 9040, ends: 90, load: 69, store: 0, part: 19500}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 4610, each: 29300, round: 29900, odd: 15200, ends: 1120, load: 1000, store: 74, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 3520, each: 35900, round: 28800, odd: 7450, ends: 1460, load: 1760, store: 0, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 2, STREAM_K: 0}
    costs: {start: 3120, each: 42100, round: 75200, odd: 14800, ends: 2960, load: 800, store: 0, part: 0}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 16, SLICES: 1, STAGES: 3, BLOCKS: 3, STREAM_K: 1}
    costs: {start: 12700, each: 30800, round: 37700, odd: 7610, ends: 0, load: 641, store: 0, part: 12100}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 64, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 6, STREAM_K: 0}
    costs: {start: 3890, each: 14600, round: 43600, odd: 6530, ends: 1870, load: 1630, store: 0, part: 0}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
    costs: {start: 259, each: 15400, round: 5500, odd: 0, ends: 4380, load: 134, store: 0, part: 0,
      copy: 2410, call: 2210}
  - when: estimated and suits_splitk and small <= SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 1, STREAM_K: 0}
    costs: {start: 1870, each: 16000, round: 3520, odd: 0, ends: 4310, load: 169, store: 0, part: 6930,
      copy: 2490, call: 2250}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 3, STREAM_K: 0}
    costs: {start: 3070, each: 15200, round: 5070, odd: 0, ends: 4740, load: 155, store: 0, part: 0,
      copy: 2410, call: 2480}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
    costs: {start: 13700, each: 19400, round: 0, odd: 147, ends: 0, load: 149, store: 1710, part: 1120,
      copy: 2050, call: 3710}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 8, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
    costs: {start: 12200, each: 19300, round: 0, odd: 775, ends: 0, load: 168, store: 0, part: 11500,
      copy: 2070, call: 3790}
  - when: estimated
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
    costs: {start: 16700, each: 140000, load: 473, store: 939, part: 0, copy: 2570, call: 1270}
  - when: estimated
    variant: sgemm_tma
    params: {BM: 128, BN: 256, BK: 32, STAGES: 4, STREAM_K: 1}
    costs: {start: 14900, each: 140000, load: 559, store: 975, part: 0, copy: 2290, call: 3320}
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
