/*---
summary: the fastest FP32 kernel for the shape of the problem, on Hopper
order: 49
precisions: [f32]
layouts: [nn, nt, tn, tt]
let:
  small: max(1, (M + 59) // 64) * max(1, (N + 59) // 64)  # tiles of 64 x 64, as sgemm_splitk counts them
  clustered: SMS * 10 // 11     # SMs on which clusters of four or eight fit
  tiles: cdiv(M, 64) * cdiv(N, 64)  # the same as sgemm_small counts them
  large: cdiv(M, 128) * cdiv(N, 256)  # tiles of sgemm_tma
  square: cdiv(M, 128) * cdiv(N, 128)  # of 128 x 128
  odd_a: 1 if lda % 4 != 0 else 0  # the row length of A is not a multiple of 16 bytes
  odd_b: 1 if ldb % 4 != 0 else 0
  deep: max(M, N) * K > 12000000  # the large operand does not fit into L2, to be read twice
  tiny: K > 32 and M * N * K <= 40000000
  short: K > 32 and K <= 320 and not tiny
  estimated: K > 320 and not tiny and (odd_a or odd_b or min(M, N) <= 48 or M * N * K <= 3000000000)
  suits_splitk: M > 64 or not odd_b  # otherwise it reads B element by element
  inputs: (M * K + K * N) // 1000  # thousands of elements
  outputs: M * N // 1000
estimates:                      # of rows with `costs`, in picoseconds; what they mean is said below
  sgemm_outer:
    blocks: cdiv(cdiv(M, ROWS) * cdiv(N, COLUMNS), SMS)
    room: (1024 if DEPTH <= 4 else 768 if DEPTH <= 8 else 512) // THREADS  # for blocks on an SM
    passes: cdiv(K, DEPTH)
    per_pass: each * blocks + 1000 * ends * cdiv(blocks, room) + (odd * blocks if N % 8 else 0) + store * outputs
    time: 1000 * start + per_pass * passes + load * inputs
  sgemm_stream:
    lines: min(M, N)
    across: max(M, N)           # outputs of a line
    along_k: TRANS_B if M <= N else not TRANS_A
    aligned: (K if along_k else across) % 4 == 0
    step: 16 * THREADS // OUTPUTS
    count: cdiv(lines, LINES) * cdiv(across, OUTPUTS if aligned or along_k else OUTPUTS - 4)  # tiles
    places: BLOCKS * SMS
    most: K // (2 * step * AHEAD)  # parts of a tile; how many there are, sgemm_stream says
    wanted: min(places // count, most)
    met: min(8, most, max(min(2, wanted), places * 7 // 8 // count))
    clusters: met >= min(3, wanted) and met > 1 and places // count <= 12
    parts: met if clusters else max(1, wanted)
    filled: 20 * count * parts >= 19 * cdiv(count * parts, places) * places
    shared: not (clusters or filled) and count * (K // (step * AHEAD)) >= 8 * places  # evenly among all places
    blocks: places if shared else count * parts
    steps: cdiv(count * cdiv(K, step), blocks) if shared else cdiv(cdiv(K, step), parts)
    alone: cdiv(blocks, SMS)
    rounds: cdiv(alone, BLOCKS)
    per_step: each * rounds + (busy if aligned else busy + odd) * alone
    adding: (part * blocks if blocks != count else 0) + (1000 * meet if clusters else 0)
    time: 1000 * (start + ends * rounds) + per_step * steps + load * (across * K // 1000) + adding
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
  - when: K <= 4 and M * N > 2000000
    variant: sgemm_outer
    params: {DEPTH: 4, COLUMNS: 64, TN: 2, ROWS: 64, THREADS: 256}
  - when: K <= 4
    variant: sgemm_outer
    params: {DEPTH: 4, COLUMNS: 32, TN: 1, ROWS: 16, THREADS: 256}
    costs: {start: 651, each: 0, ends: 806, load: 0, store: 686, odd: 0}
  - when: K <= 4
    variant: sgemm_outer
    params: {DEPTH: 4, COLUMNS: 64, TN: 2, ROWS: 32, THREADS: 256}
    costs: {start: 1630, each: 0, ends: 241, load: 5520, store: 535, odd: 146000}
  - when: K <= 4
    variant: sgemm_outer
    params: {DEPTH: 4, COLUMNS: 64, TN: 2, ROWS: 16, THREADS: 256}
    costs: {start: 906, each: 0, ends: 720, load: 0, store: 516, odd: 129000}
  - when: K <= 4
    variant: sgemm_outer
    params: {DEPTH: 4, COLUMNS: 32, TN: 2, ROWS: 32, THREADS: 256}
    costs: {start: 924, each: 0, ends: 722, load: 6950, store: 490, odd: 82700}
  - when: K <= 4
    variant: sgemm_outer
    params: {DEPTH: 4, COLUMNS: 32, TN: 4, ROWS: 32, THREADS: 128}
    costs: {start: 1180, each: 5960, ends: 511, load: 12500, store: 743, odd: 94000}
  - when: K <= 4
    variant: sgemm_outer
    params: {DEPTH: 4, COLUMNS: 32, TN: 1, ROWS: 32, THREADS: 256}
    costs: {start: 1160, each: 2920, ends: 575, load: 0, store: 720, odd: 36500}
  - when: K <= 8 and M * N > 2000000
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 64, TN: 4, ROWS: 64, THREADS: 128}
  - when: K <= 8
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, TN: 1, ROWS: 16, THREADS: 256}
    costs: {start: 1120, each: 141000, ends: 232, load: 11100, store: 813, odd: 7000}
  - when: K <= 8
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 128, TN: 4, ROWS: 32, THREADS: 256}
    costs: {start: 1270, each: 0, ends: 1200, load: 6570, store: 313, odd: 701000}
  - when: K <= 8
    variant: sgemm_small
    params: {BM: 16, BN: 64, BK: 16, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 736, each: 4740, round: 812, odd: 0, ends: 1160, load: 0, store: 942, part: 2990}
  - when: K <= 8
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, TN: 1, ROWS: 32, THREADS: 256}
    costs: {start: 1830, each: 0, ends: 23, load: 14500, store: 1650, odd: 0}
  - when: K <= 8
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 128, TN: 4, ROWS: 16, THREADS: 256}
    costs: {start: 1000, each: 4040, ends: 1000, load: 16000, store: 418, odd: 472000}
  - when: K <= 8
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, TN: 2, ROWS: 32, THREADS: 128}
    costs: {start: 2400, each: 2940, ends: 0, load: 7060, store: 736, odd: 56700}
  - when: K <= 8
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 32, TN: 4, ROWS: 32, THREADS: 64}
    costs: {start: 1690, each: 0, ends: 579, load: 1180, store: 829, odd: 149000}
  - when: K <= 8
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 64, TN: 2, ROWS: 64, THREADS: 256}
    costs: {start: 2890, each: 2700, ends: 0, load: 10600, store: 209, odd: 316000}
  - when: M > N and N <= 1 and M <= 7 * SMS and K <= 130
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 4}
  - when: M > N and N <= 1 and M <= 50 * SMS and K <= 130
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 1}
  - when: M > N and N <= 1 and M <= 50 * SMS and K <= 270
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1 and M <= 24 * SMS and M * K <= 900000 and K <= 510
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 8, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1 and M <= 24 * SMS and M * K <= 900000 and K <= 820
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 256, AHEAD: 4, BLOCKS: 1}
  - when: M > N and N <= 1 and M <= 24 * SMS and M * K <= 900000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 8, THREADS: 256, AHEAD: 2, BLOCKS: 1}
  - when: M > N and N <= 1 and M <= 848 and K <= 3800
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 8, THREADS: 256, AHEAD: 2, BLOCKS: 1}
  - when: M > N and N <= 1 and M <= 24 * SMS and M * K <= 3930000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 8, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1 and M <= 50 * SMS and M * K <= 6700000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1 and M <= 50 * SMS and M * K <= 35000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1 and M <= 50 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1 and M <= 63 * SMS and K <= 1650
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 1 and K <= 1650
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 4}
  - when: M > N and N <= 1
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
    costs: {start: 0, each: 218000, busy: 182000, ends: 2680, load: 731, odd: 6680, part: 11000, meet: 0}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 3}
    costs: {start: 391, each: 462000, busy: 67000, ends: 1720, load: 816, odd: 6270, part: 5740, meet: 0}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 4, BLOCKS: 2}
    costs: {start: 0, each: 293000, busy: 16100, ends: 2620, load: 851, odd: 55900, part: 13500, meet: 0}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
    costs: {start: 159, each: 306000, busy: 47900, ends: 2360, load: 917, odd: 43600, part: 13400, meet: 0}
  - when: M > N and N <= 16
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 128, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2}
    costs: {start: 379, each: 980, round: 6250, odd: 167, ends: 955, load: 0, store: 4920, part: 9920}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 4, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 2}
    costs: {start: 1020, each: 120000, busy: 160000, ends: 858, load: 677, odd: 3220, part: 10600, meet: 0}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 128, AHEAD: 2, BLOCKS: 2}
    costs: {start: 1140, each: 0, busy: 157000, ends: 886, load: 621, odd: 12100, part: 16200, meet: 0}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 2}
    costs: {start: 1160, each: 67900, busy: 121000, ends: 750, load: 880, odd: 2680, part: 10800, meet: 125}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
    costs: {start: 80, each: 237000, busy: 79900, ends: 2340, load: 902, odd: 17700, part: 8530, meet: 0}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: 1, BLOCKS: 3}
    costs: {start: 0, each: 647000, busy: 55600, ends: 1700, load: 825, odd: 5880, part: 4730, meet: 117}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 16, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
    costs: {start: 5860, each: 176000, busy: 0, ends: 0, load: 1470, odd: 65800, part: 14700, meet: 0}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 16, THREADS: 256, AHEAD: 4, BLOCKS: 1}
    costs: {start: 124, each: 351000, busy: 0, ends: 2200, load: 664, odd: 54200, part: 18500, meet: 14}
  - when: M > N and N <= 16
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 128, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 1540, each: 1840, round: 4240, odd: 72, ends: 2, load: 138, store: 0, part: 14400}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 16, THREADS: 256, AHEAD: 2, BLOCKS: 2}
    costs: {start: 112, each: 142000, busy: 216000, ends: 2420, load: 766, odd: 14700, part: 5270, meet: 0}
  - when: M > N and N <= 16
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 8, THREADS: 256, AHEAD: 2, BLOCKS: 1}
    costs: {start: 0, each: 516000, busy: 0, ends: 2210, load: 254, odd: 48400, part: 41500, meet: 0}
  - when: M <= 1 and N * K <= 5000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 256, AHEAD: 2, BLOCKS: 1}
    costs: {start: 1750, each: 239000, busy: 5260, ends: 513, load: 878, odd: 75700, part: 8010, meet: 89}
  - when: M <= 1 and N * K <= 5000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 256, AHEAD: 4, BLOCKS: 1}
    costs: {start: 463, each: 123000, busy: 0, ends: 2200, load: 877, odd: 41700, part: 999, meet: 3200}
  - when: M <= 1 and N * K <= 5000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 1}
    costs: {start: 1870, each: 278000, busy: 476, ends: 291, load: 710, odd: 36000, part: 17200, meet: 0}
  - when: M <= 1 and N * K <= 5000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 4}
    costs: {start: 822, each: 380000, busy: 61900, ends: 685, load: 624, odd: 20700, part: 9300, meet: 111}
  - when: M <= 1 and N * K <= 5000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 16, THREADS: 128, AHEAD: 1, BLOCKS: 2}
    costs: {start: 1620, each: 579000, busy: 8590, ends: 24, load: 498, odd: 4540, part: 7470, meet: 0}
  - when: M <= 1 and N * K <= 5000000
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
    costs: {start: 839, each: 265000, busy: 3700, ends: 1320, load: 982, odd: 38500, part: 16300, meet: 0}
  - when: M <= 1 and N * K <= 5000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 48, THREADS: 192, AHEAD: 1, BLOCKS: 3}
    costs: {start: 1960, each: 467000, busy: 4770, ends: 10, load: 598, odd: 41300, part: 11100, meet: 0}
  - when: M <= 1 and N * K > 5000000 and N % 1024 == 0 and N <= 20 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 1 and N * K > 5000000 and N % 1024 == 0 and N <= 35 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 4, BLOCKS: 1}
  - when: M <= 1 and N * K > 5000000 and N % 1024 == 0 and N <= 42 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 128, AHEAD: 1, BLOCKS: 4}
  - when: M <= 1 and N * K > 5000000 and N % 1024 == 0 and N <= 52 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 256, AHEAD: 4, BLOCKS: 1}
  - when: M <= 1 and N * K > 5000000 and N % 1024 == 0 and N > 58 * SMS and N <= 64 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 1 and N * K > 5000000 and N % 1024 == 0 and N > 150 * SMS
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 256, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: M <= 1 and N * K > 5000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 128, THREADS: 256, AHEAD: 2, BLOCKS: 2}
    costs: {start: 164, each: 0, busy: 32300, ends: 185, load: 1170, odd: 10800, part: 20100, meet: 0}
  - when: M <= 1 and N * K > 5000000
    variant: sgemm_stream
    params: {LINES: 2, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
    costs: {start: 0, each: 195000, busy: 3860, ends: 918, load: 1270, odd: 26100, part: 6190, meet: 0}
  - when: M <= 1 and N * K > 5000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
    costs: {start: 188, each: 0, busy: 24300, ends: 1580, load: 1320, odd: 39300, part: 13600, meet: 227}
  - when: M <= 1 and N * K > 5000000
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 1}
    costs: {start: 1580, each: 3720, busy: 4210, ends: 224, load: 1460, odd: 112000, part: 24200, meet: 295}
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
  - when: M * N * K <= 8000000 and M * N <= 4096 and K > 96
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 16, BN: 64, BK: 16, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 747, each: 1010, round: 34900, odd: 529, ends: 700, load: 360, store: 1280, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 532, each: 1600, round: 0, odd: 764, ends: 1230, load: 4890, store: 2920, part: 5000}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 1160, each: 32700, round: 7540, odd: 30500, ends: 1080, load: 4250, store: 0, part: 5390}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 4, STREAM_K: 0}
    costs: {start: 1400, each: 36000, round: 4880, odd: 23700, ends: 905, load: 4360, store: 0, part: 6090}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 64, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2}
    costs: {start: 1080, each: 4750, round: 0, odd: 348, ends: 0, load: 4350, store: 10000, part: 0}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 699, each: 37700, round: 8840, odd: 12700, ends: 1550, load: 2810, store: 723, part: 467}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 841, each: 0, round: 67200, odd: 3360, ends: 1320, load: 642, store: 975, part: 40400}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
    costs: {start: 571, each: 0, round: 81200, odd: 2970, ends: 0, load: 1700, store: 741, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 4, SLICES: 1, BLOCKS: 4}
    costs: {start: 1150, each: 0, round: 54800, odd: 813, ends: 566, load: 1550, store: 1320, part: 19400}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 40, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 2}
    costs: {start: 1580, each: 0, round: 22600, odd: 2970, ends: 0, load: 3070, store: 2650, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 64, BN: 96, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 844, each: 1960, round: 59100, odd: 11600, ends: 1440, load: 795, store: 906, part: 6090}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 40, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 425, each: 0, round: 0, odd: 9020, ends: 2560, load: 3540, store: 608, part: 0}
  - when: K <= 32
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 16, SLICES: 1, STAGES: 3, BLOCKS: 1, STREAM_K: 0}
    costs: {start: 2260, each: 72300, round: 0, odd: 30900, ends: 403, load: 4680, store: 826, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1450, each: 1900, round: 0, odd: 68, ends: 1080, load: 1450, store: 2070, part: 0}
  - when: K <= 32
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
    costs: {start: 810, each: 105, round: 79500, odd: 788, ends: 0, load: 2170, store: 940, part: 73100}
  - when: K <= 32
    variant: sgemm_outer
    params: {DEPTH: 16, COLUMNS: 128, TN: 4, ROWS: 64, THREADS: 256}
    costs: {start: 475, each: 0, ends: 4040, load: 2400, store: 0, odd: 1330000}
  - when: tiny
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 779, each: 0, round: 11400, odd: 283, ends: 420, load: 687, store: 4770, part: 8070}
  - when: tiny
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 64, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2}
    costs: {start: 1410, each: 4410, round: 0, odd: 62, ends: 0, load: 775, store: 11200, part: 13400}
  - when: tiny
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 128, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 983, each: 3410, round: 3380, odd: 340, ends: 666, load: 854, store: 2440, part: 11400}
  - when: tiny
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
    costs: {start: 458, each: 14000, round: 0, odd: 2390, ends: 1530, load: 684, store: 855, part: 27900}
  - when: tiny
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 767, each: 2780, round: 32500, odd: 412, ends: 858, load: 878, store: 1470, part: 16200}
  - when: tiny
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 4, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 1180, each: 1620, round: 21500, odd: 1260, ends: 881, load: 1100, store: 970, part: 16700}
  - when: tiny
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
    costs: {start: 2520, each: 125, round: 17000, odd: 1380, ends: 9, load: 244, store: 2340, part: 12700}
  - when: tiny
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 256, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2}
    costs: {start: 1250, each: 2500, round: 2030, odd: 58, ends: 282, load: 1270, store: 6560, part: 12100}
  - when: tiny
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 4, BLOCKS: 2}
    costs: {start: 1110, each: 3220, round: 9850, odd: 295, ends: 792, load: 637, store: 2510, part: 15000}
  - when: tiny
    variant: sgemm_small
    params: {BM: 16, BN: 64, BK: 64, TM: 4, TN: 4, SLICES: 4, BLOCKS: 2}
    costs: {start: 858, each: 4120, round: 8780, odd: 1080, ends: 1020, load: 535, store: 1660, part: 14800}
  - when: tiny
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 1710, each: 4000, round: 74, odd: 0, ends: 0, load: 699, store: 4950, part: 12400}
  - when: tiny
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 198, each: 8610, round: 28300, odd: 3730, ends: 1950, load: 1470, store: 937, part: 27300}
  - when: tiny
    variant: sgemm_small
    params: {BM: 40, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 635, each: 1600, round: 26400, odd: 4660, ends: 1870, load: 914, store: 458, part: 22000}
  - when: tiny
    variant: sgemm_small
    params: {BM: 40, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
    costs: {start: 1310, each: 0, round: 25600, odd: 1680, ends: 648, load: 801, store: 2270, part: 10900}
  - when: tiny
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 16, TM: 8, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1350, each: 3290, round: 36500, odd: 0, ends: 211, load: 497, store: 2270, part: 16200}
  - when: tiny
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 128, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2}
    costs: {start: 1020, each: 764, round: 5670, odd: 0, ends: 263, load: 1060, store: 12300, part: 7870}
  - when: tiny
    variant: sgemm_small
    params: {BM: 16, BN: 16, BK: 128, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 1810, each: 1100, round: 4780, odd: 0, ends: 0, load: 827, store: 4730, part: 13800}
  - when: tiny
    variant: sgemm_stream
    params: {LINES: 1, OUTPUTS: 32, THREADS: 128, AHEAD: 1, BLOCKS: 2}
    costs: {start: 920, each: 140000, busy: 75900, ends: 542, load: 1990, odd: 12500, part: 27900, meet: 11900}
  - when: tiny
    variant: sgemm_small
    params: {BM: 40, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 0, each: 14200, round: 30900, odd: 6370, ends: 2530, load: 1340, store: 0, part: 44100}
  - when: short
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 825, each: 17300, round: 13500, odd: 0, ends: 1680, load: 371, store: 819, part: 13900}
  - when: short
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 4, STREAM_K: 0}
    costs: {start: 2560, each: 37100, round: 16400, odd: 13000, ends: 0, load: 1190, store: 0, part: 5100}
  - when: short
    variant: sgemm_persistent
    params: {BM: 128, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 2440, each: 38900, round: 22000, odd: 4740, ends: 0, load: 1010, store: 667, part: 0}
  - when: short
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 387, each: 12000, round: 31400, odd: 3970, ends: 2130, load: 0, store: 467, part: 12000}
  - when: short and 2 * square >= SMS
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
    costs: {start: 8830, each: 148000, load: 882, store: 705, part: 0, copy: 3380, call: 2550}
  - when: short
    variant: sgemm_persistent
    params: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
    costs: {start: 2480, each: 36000, round: 16100, odd: 13000, ends: 54, load: 828, store: 40, part: 5690}
  - when: short
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
    costs: {start: 891, each: 6270, round: 16600, odd: 2740, ends: 1780, load: 156, store: 375, part: 6620}
  - when: short
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 1}
    costs: {start: 730, each: 46700, round: 0, odd: 4390, ends: 1560, load: 108, store: 734, part: 36500}
  - when: short
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 64, TM: 8, TN: 8, SLICES: 4, BLOCKS: 1}
    costs: {start: 649, each: 24500, round: 0, odd: 4240, ends: 1710, load: 399, store: 736, part: 0}
  - when: short
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
    costs: {start: 1320, each: 7930, round: 15100, odd: 617, ends: 1320, load: 108, store: 980, part: 10000}
  - when: short
    variant: sgemm_small
    params: {BM: 40, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
    costs: {start: 1040, each: 4980, round: 15600, odd: 1870, ends: 1160, load: 344, store: 746, part: 4290}
  - when: short
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
    costs: {start: 865, each: 0, round: 13000, odd: 2430, ends: 1520, load: 587, store: 1290, part: 166000}
  - when: short
    variant: sgemm_small
    params: {BM: 40, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 274, each: 6130, round: 23200, odd: 4110, ends: 2200, load: 332, store: 11, part: 9310}
  - when: short
    variant: sgemm_small
    params: {BM: 128, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 2}
    costs: {start: 1940, each: 70700, round: 17300, odd: 7220, ends: 987, load: 295, store: 1100, part: 43000}
  - when: short
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 16, TM: 8, TN: 4, SLICES: 2, BLOCKS: 4}
    costs: {start: 1420, each: 6650, round: 28300, odd: 0, ends: 770, load: 371, store: 1510, part: 5910}
  - when: short
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 3}
    costs: {start: 549, each: 36700, round: 19700, odd: 5670, ends: 2350, load: 144, store: 885, part: 22000}
  - when: short
    variant: sgemm_small
    params: {BM: 48, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 753, each: 9080, round: 19500, odd: 3390, ends: 1400, load: 382, store: 1080, part: 13400}
  - when: short
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 1930, each: 17200, round: 23800, odd: 5310, ends: 174, load: 607, store: 1810, part: 13200}
  - when: short
    variant: sgemm_persistent
    params: {BM: 128, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 2, STREAM_K: 0}
    costs: {start: 2180, each: 73200, round: 23700, odd: 14500, ends: 262, load: 624, store: 0, part: 13500}
  - when: short
    variant: sgemm_small
    params: {BM: 32, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
    costs: {start: 2260, each: 7730, round: 0, odd: 1110, ends: 0, load: 458, store: 2660, part: 5820}
  - when: short and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
    costs: {start: 1070, each: 18000, round: 344, odd: 1390, ends: 3740, load: 678, store: 0, part: 266,
      copy: 1890, call: 1640}
  - when: short
    variant: sgemm_small
    params: {BM: 64, BN: 96, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 961, each: 10000, round: 50100, odd: 5790, ends: 1630, load: 0, store: 742, part: 19900}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
    costs: {start: 0, each: 7790, round: 12600, odd: 1660, ends: 3000, load: 163, store: 0, part: 6810}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
    costs: {start: 0, each: 8850, round: 12600, odd: 204, ends: 2400, load: 36, store: 44, part: 8490}
  - when: estimated and 2 * square >= SMS
    variant: sgemm_tma
    params: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
    costs: {start: 13900, each: 142000, load: 0, store: 0, part: 0, copy: 2610, call: 3230}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 8, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
    costs: {start: 13700, each: 18500, round: 0, odd: 718, ends: 0, load: 55, store: 4560, part: 0,
      copy: 2520, call: 911}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
    costs: {start: 0, each: 14200, round: 22700, odd: 2210, ends: 4510, load: 172, store: 0, part: 15900}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
    costs: {start: 745, each: 14200, round: 0, odd: 953, ends: 1090, load: 239, store: 2850, part: 13000}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 2680, each: 18800, round: 13000, odd: 639, ends: 1770, load: 43, store: 0, part: 10700}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 4, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
    costs: {start: 16200, each: 18700, round: 0, odd: 0, ends: 117, load: 30, store: 1450, part: 0,
      copy: 2600, call: 2880}
  - when: estimated and suits_splitk and small <= SMS
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 1, STREAM_K: 0}
    costs: {start: 0, each: 15800, round: 4550, odd: 154, ends: 5420, load: 71, store: 0, part: 14100,
      copy: 2410, call: 1810}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 48, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 1230, each: 13500, round: 12100, odd: 2770, ends: 1890, load: 20, store: 0, part: 14400}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
    costs: {start: 1620, each: 16400, round: 4070, odd: 59, ends: 2500, load: 57, store: 0, part: 9620,
      copy: 2900, call: 1670}
  - when: estimated
    variant: sgemm_small
    params: {BM: 48, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 648, each: 7600, round: 23000, odd: 3120, ends: 1830, load: 0, store: 0, part: 17100}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 4, STREAM_K: 0}
    costs: {start: 5660, each: 16100, round: 4330, odd: 0, ends: 2430, load: 117, store: 1470, part: 40400,
      copy: 2660, call: 1170}
  - when: estimated
    variant: sgemm_small
    params: {BM: 40, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
    costs: {start: 848, each: 5310, round: 15200, odd: 1670, ends: 1620, load: 134, store: 0, part: 4880}
  - when: estimated and suits_splitk
    variant: sgemm_splitk
    params: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 3, STREAM_K: 0}
    costs: {start: 5040, each: 15900, round: 4690, odd: 139, ends: 1990, load: 104, store: 0, part: 36300,
      copy: 2710, call: 1500}
  - when: estimated
    variant: sgemm_small
    params: {BM: 40, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
    costs: {start: 0, each: 1980, round: 31000, odd: 2920, ends: 2350, load: 105, store: 0, part: 15600}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
    costs: {start: 375, each: 19300, round: 7480, odd: 5070, ends: 4840, load: 479, store: 3090, part: 12900}
  - when: estimated
    variant: sgemm_persistent
    params: {BM: 32, BN: 128, BK: 16, SLICES: 1, STAGES: 4, BLOCKS: 4, STREAM_K: 1}
    costs: {start: 18400, each: 16100, round: 35300, odd: 13900, ends: 0, load: 150, store: 0, part: 0}
  - when: estimated
    variant: sgemm_small
    params: {BM: 32, BN: 128, BK: 64, TM: 8, TN: 8, SLICES: 4, BLOCKS: 1}
    costs: {start: 1000, each: 25800, round: 0, odd: 1580, ends: 1830, load: 113, store: 1940, part: 31000}
  - when: estimated
    variant: sgemm_small
    params: {BM: 40, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
    costs: {start: 430, each: 2210, round: 61300, odd: 4810, ends: 3160, load: 184, store: 0, part: 27400}
  - when: estimated
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 948, each: 788, round: 11200, odd: 38, ends: 647, load: 274, store: 1670, part: 4580}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 80, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 2}
    costs: {start: 0, each: 0, round: 129000, odd: 7840, ends: 5170, load: 0, store: 0, part: 45700}
  - when: estimated
    variant: sgemm_small
    params: {BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 3}
    costs: {start: 293, each: 31800, round: 29100, odd: 4090, ends: 6990, load: 0, store: 0, part: 26100}
  - when: estimated
    variant: sgemm_small
    params: {BM: 96, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 2}
    costs: {start: 0, each: 0, round: 130000, odd: 7080, ends: 4690, load: 51, store: 0, part: 51300}
  - when: estimated
    variant: sgemm_small
    params: {BM: 16, BN: 32, BK: 128, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
    costs: {start: 1660, each: 5510, round: 1490, odd: 14, ends: 468, load: 34, store: 0, part: 5610}
  - when: estimated
    variant: sgemm_small
    params: {BM: 128, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 2}
    costs: {start: 3840, each: 75300, round: 7300, odd: 5080, ends: 6560, load: 109, store: 0, part: 43400}
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

// Chooses a kernel by the shape, the number of tiles of C and the number of SMs of the GPU. (Up to four rows or columns
// beyond whole tiles of 64 x 64 do not count, because sgemm_splitk handles them without tiles.)
//
//      the first that holds                         the kernel
//      ---------------------------------------------------------------------------------
//      K is at most 8, or 16 with at most 16        sgemm_outer, which streams C out; if C has at most 2 million
//      columns                                      elements, the fastest configuration by estimate
//      C has at most 16 rows or columns             sgemm_stream, which streams the large operand in: for one row
//                                                   and for 2 to 16 columns the fastest configuration by
//                                                   estimate, or small tiles of sgemm_small; else by rules
//      at most 8 million multiply-adds, and C       sgemm_stream, row by row
//      has at most 4096 elements
//      K is at most 32                              the fastest of sgemm_small, sgemm_persistent, sgemm_outer
//      at most 40 million multiply-adds             the fastest of sgemm_small and sgemm_stream
//      K is at most 320                             the fastest of sgemm_small, sgemm_persistent, sgemm_splitk
//      rows unaligned, C of at most 48 rows or      and sgemm_tma
//      columns, or at most 3 billion multiply-adds
//      at most two tiles per SM                     sgemm_splitk, K in as many parts as fill the SMs, or
//                                                   stream-K where no number of parts does
//      at most 96 rows or columns, or tiles of      sgemm_splitk, stream-K
//      128 x 128 much emptier than of 64 x 64
//      more                                         sgemm_tma, stream-K
//      none that the GPU can run, before Hopper     sgemm_cp_async
//
// The estimate counts the work of a kernel before it runs:
//
//      5 blocks on an SM that has room for 3:       round 1   block | block | block     all three at once
//                                                   round 2   block | block
//      time = start + k of a block x (each x 5 blocks + round x 2 rounds) + ends x 2 rounds + ...
//
//      start   ns                     a launch, until blocks run
//      ends    ns per round           its first loads and its stores
//      each    ps per k and block     what the blocks of an SM take from each other, mostly the issue of FFMA;
//                                     of sgemm_stream: ps per step and round, and `busy` per step and block
//      round   ps per k and round     what a block takes alone, mostly latency
//      odd     ps per k and block     if the row length is not a multiple of 16 bytes
//      load    ps per 1000 elements   of A and B, for the time of DRAM; store: of C
//      part    ps per tile and part   if parts are added up; meet: ns if they meet in a cluster
//      copy    ps per 1000 elements   that are copied first, so that rows are aligned; call: ns if there are any
//
// An H100 timed 20 to 60 candidates at each of about 4000 drawn shapes. The costs of each group of rows are fitted to
// these times: non-negative least squares of the relative errors, then one cost at a time where that improves the
// choice, above all where a library is as fast. For shapes outside the fit, the chosen kernel takes 1 to 2 % longer
// than the best one where K is over 32, and 4 to 7 % longer where a launch takes a few microseconds. The rules for one
// column come from a decision tree, those for one long row of a multiple of 1024 columns come from the times
// themselves, and other conditions come from bytes and waves counted by hand. Where a tile would be cut into more than
// four parts, sgemm_tma does not compete: it was rarely the best, and its estimate does not cover such parts.
//
// Where the tiles of sgemm_tma fill the GPU exactly once, stream-K has nothing to even out and is off. It is bound by
// whatever bounds the chosen kernel.
