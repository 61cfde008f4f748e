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
costs:                          # for a card without fitted ones; what they mean is said below
  sgemm_outer:
    start: 1200
    each: 80 * ROWS * COLUMNS * 1000000 // (PEAK * CLOCK)
    ends: 400
    load: 2600 * BYTES * 1000000 // BANDWIDTH
    store: 600 * BYTES * 1000000 // BANDWIDTH
    odd: 8 * DEPTH * ROWS * COLUMNS * 1000000 // (PEAK * CLOCK)
  sgemm_stream:
    start: 1000
    each: 260000 + 80 * THREADS * 1000000 // (PEAK * CLOCK)
    busy: 55 * THREADS * LINES * 1000000 // (PEAK * CLOCK)
    ends: 1100
    load: 700 * BYTES * 1000000 // BANDWIDTH
    odd: 20000
    part: 11000
    meet: 0
  sgemm_small:
    start: 1200
    each: BM * BN * (8 * TM * TN + 12 * (TM + TN)) // (TM * TN) * 200000 // (PEAK * CLOCK)
    round: 80000000 // (CLOCK * SLICES)
    odd: BM * BN * 200000 // (PEAK * CLOCK)
    ends: 1000
    load: 200 * BYTES * 1000000 // BANDWIDTH
    store: 1000 * BYTES * 1000000 // BANDWIDTH
    part: 10000 + 2 * BM * BN
  sgemm_persistent:
    start: 1800
    each: 2 * BM * BN * 1000000 // (PEAK * CLOCK)
    round: 70000000 // CLOCK
    odd: BM * BN * 1000000 // (PEAK * CLOCK)
    ends: 250
    load: 700 * BYTES * 1000000 // BANDWIDTH
    store: 0
    part: 5000
  sgemm_splitk:
    start: 1500 + 10000 * STREAM_K
    each: 22 * BM * BN * 100000 // (PEAK * CLOCK)
    round: 5000000 // CLOCK
    odd: BM * BN * 10000 // (PEAK * CLOCK)
    ends: 4000
    load: 100 * BYTES * 1000000 // BANDWIDTH
    store: 200 * BYTES * 1000000 // BANDWIDTH
    part: 8000 * SPLIT
    copy: 2200 * BYTES * 1000000 // BANDWIDTH
    call: 1600
  sgemm_tma:
    start: 12000
    each: 45 * BM * BN * 100000 // (PEAK * CLOCK)
    load: 200 * BYTES * 1000000 // BANDWIDTH
    store: 200 * BYTES * 1000000 // BANDWIDTH
    part: 0
    copy: 2200 * BYTES * 1000000 // BANDWIDTH
    call: 3000
estimates:                      # of candidates, in picoseconds
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
pick:                           # for another GPU run gemmbench tune sgemm --survey --write-pick
  - when: K <= 16 and N <= 16
    variant: sgemm_outer
    params: {DEPTH: 16, COLUMNS: 16, ROWS: 256, THREADS: 256}
  - when: K <= 4 and M * N > 2000000
    variant: sgemm_outer
    params: {DEPTH: 4, COLUMNS: 64, TN: 2, ROWS: 64, THREADS: 256}
  - when: K <= 4
    region: k4
    candidates:
      - sgemm_outer: {DEPTH: 4, COLUMNS: 32, TN: 1, ROWS: [16, 32], THREADS: 256}
      - sgemm_outer: {DEPTH: 4, COLUMNS: 64, TN: 2, ROWS: [16, 32], THREADS: 256}
      - sgemm_outer: {DEPTH: 4, COLUMNS: 32, TN: 2, ROWS: 32, THREADS: 256}
      - sgemm_outer: {DEPTH: 4, COLUMNS: 32, TN: 4, ROWS: 32, THREADS: 128}
  - when: K <= 8 and M * N > 2000000
    variant: sgemm_outer
    params: {DEPTH: 8, COLUMNS: 64, TN: 4, ROWS: 64, THREADS: 128}
  - when: K <= 8
    region: k8
    candidates:
      - sgemm_outer: {DEPTH: 8, COLUMNS: 32, TN: 1, ROWS: [16, 32], THREADS: 256}
      - sgemm_outer: {DEPTH: 8, COLUMNS: 128, TN: 4, ROWS: [16, 32], THREADS: 256}
      - sgemm_outer: {DEPTH: 8, COLUMNS: 32, TN: 2, ROWS: 32, THREADS: 128}
      - sgemm_outer: {DEPTH: 8, COLUMNS: 32, TN: 4, ROWS: 32, THREADS: 64}
      - sgemm_outer: {DEPTH: 8, COLUMNS: 64, TN: 2, ROWS: 64, THREADS: 256}
      - sgemm_small: {BM: 16, BN: 64, BK: 16, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
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
    region: columns
    candidates:
      - sgemm_stream: {LINES: 4, OUTPUTS: [32, 64], THREADS: 256, AHEAD: 2, BLOCKS: 2}
      - sgemm_stream: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: [1, 2], BLOCKS: 3}
      - sgemm_stream: {LINES: 8, OUTPUTS: 64, THREADS: 128, AHEAD: 4, BLOCKS: 2}
      - sgemm_stream: {LINES: [2, 4], OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 2}
      - sgemm_stream: {LINES: 1, OUTPUTS: 16, THREADS: 128, AHEAD: 2, BLOCKS: 2}
      - sgemm_stream: {LINES: 2, OUTPUTS: [16, 32], THREADS: 256, AHEAD: 2, BLOCKS: 2}
      - sgemm_stream: {LINES: 16, OUTPUTS: 128, THREADS: 128, AHEAD: 4, BLOCKS: 2}
      - sgemm_stream: {LINES: 2, OUTPUTS: 16, THREADS: 256, AHEAD: 4, BLOCKS: 1}
      - sgemm_stream: {LINES: 1, OUTPUTS: 8, THREADS: 256, AHEAD: 2, BLOCKS: 1}
      - sgemm_small: {BM: 16, BN: 16, BK: 128, TM: 4, TN: 4, SLICES: [8, 16], BLOCKS: 2}
  - when: M <= 1 and N * K <= 5000000
    region: row
    candidates:
      - sgemm_stream: {LINES: 1, OUTPUTS: 16, THREADS: 256, AHEAD: [2, 4], BLOCKS: 1}
      - sgemm_stream: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 1}
      - sgemm_stream: {LINES: 1, OUTPUTS: 32, THREADS: 128, AHEAD: 2, BLOCKS: 4}
      - sgemm_stream: {LINES: 1, OUTPUTS: 16, THREADS: 128, AHEAD: 1, BLOCKS: 2}
      - sgemm_stream: {LINES: 2, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
      - sgemm_stream: {LINES: 1, OUTPUTS: 48, THREADS: 192, AHEAD: 1, BLOCKS: 3}
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
    region: long_row
    candidates:
      - sgemm_stream: {LINES: 1, OUTPUTS: [64, 128], THREADS: 256, AHEAD: 2, BLOCKS: 2}
      - sgemm_stream: {LINES: 2, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
      - sgemm_stream: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 1}
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
    region: k32
    candidates:
      - sgemm_small: {BM: 16, BN: 64, BK: 16, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
      - sgemm_small: {BM: 16, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
      - sgemm_small: {BM: 16, BN: 16, BK: 64, TM: 4, TN: 4, SLICES: 16, BLOCKS: 2}
      - sgemm_small: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
      - sgemm_small: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
      - sgemm_small: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 4, SLICES: 1, BLOCKS: 4}
      - sgemm_small: {BM: 40, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 2}
      - sgemm_small: {BM: 64, BN: 96, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
      - sgemm_small: {BM: 40, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
      - sgemm_small: {BM: 32, BN: 32, BK: 32, TM: 4, TN: 4, SLICES: 2, BLOCKS: 4}
      - sgemm_small: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
      - sgemm_persistent: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: [3, 4], STREAM_K: 0}
      - sgemm_persistent: {BM: 128, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
      - sgemm_persistent: {BM: 128, BN: 128, BK: 16, SLICES: 1, STAGES: 3, BLOCKS: 1, STREAM_K: 0}
      - sgemm_outer: {DEPTH: 16, COLUMNS: 128, TN: 4, ROWS: 64, THREADS: 256}
  - when: tiny
    region: tiny
    candidates:
      - sgemm_small: {BM: 16, BN: [16, 32], BK: [64, 128], TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
      - sgemm_small: {BM: 16, BN: 16, BK: [64, 128, 256], TM: 4, TN: 4, SLICES: 16, BLOCKS: 2}
      - sgemm_small: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
      - sgemm_small: {BM: 32, BN: 64, BK: 16, TM: 4, TN: 8, SLICES: 2, BLOCKS: 3}
      - sgemm_small: {BM: 32, BN: 64, BK: 32, TM: 4, TN: 8, SLICES: 4, BLOCKS: 2}
      - sgemm_small: {BM: [32, 40], BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
      - sgemm_small: {BM: 32, BN: 32, BK: 64, TM: 4, TN: 4, SLICES: 4, BLOCKS: 2}
      - sgemm_small: {BM: 16, BN: 64, BK: 64, TM: 4, TN: 4, SLICES: 4, BLOCKS: 2}
      - sgemm_small: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
      - sgemm_small: {BM: 40, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
      - sgemm_small: {BM: 64, BN: 32, BK: 16, TM: 8, TN: 4, SLICES: 2, BLOCKS: 4}
      - sgemm_small: {BM: 40, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
      - sgemm_stream: {LINES: 1, OUTPUTS: 32, THREADS: 128, AHEAD: 1, BLOCKS: 2}
  - when: short
    region: short
    candidates:
      - sgemm_small: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
      - sgemm_small: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
      - sgemm_small: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
      - sgemm_small: {BM: 64, BN: 128, BK: 32, TM: 8, TN: 8, SLICES: 2, BLOCKS: 1}
      - sgemm_small: {BM: 32, BN: 128, BK: 64, TM: 8, TN: 8, SLICES: 4, BLOCKS: 1}
      - sgemm_small: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
      - sgemm_small: {BM: [32, 40], BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
      - sgemm_small: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
      - sgemm_small: {BM: [40, 48], BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
      - sgemm_small: {BM: 128, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 2}
      - sgemm_small: {BM: 64, BN: 32, BK: 16, TM: 8, TN: 4, SLICES: 2, BLOCKS: 4}
      - sgemm_small: {BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 3}
      - sgemm_small: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
      - sgemm_small: {BM: 64, BN: 96, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
      - sgemm_persistent: {BM: 64, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: [3, 4], STREAM_K: 0}
      - sgemm_persistent: {BM: 128, BN: 64, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 3, STREAM_K: 0}
      - sgemm_persistent: {BM: 128, BN: 128, BK: 8, SLICES: 1, STAGES: 4, BLOCKS: 2, STREAM_K: 0}
  - when: short and 2 * square >= SMS
    region: short
    candidates:
      - sgemm_tma: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
  - when: short and suits_splitk
    region: short
    candidates:
      - sgemm_splitk: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: 1, STREAM_K: 0}
  - when: estimated
    region: estimated
    candidates:
      - sgemm_small: {BM: 32, BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
      - sgemm_small: {BM: 64, BN: 32, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 3}
      - sgemm_small: {BM: 32, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 3}
      - sgemm_small: {BM: 32, BN: 64, BK: 64, TM: 8, TN: 8, SLICES: 8, BLOCKS: 1}
      - sgemm_small: {BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
      - sgemm_small: {BM: 64, BN: 48, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
      - sgemm_small: {BM: [40, 48], BN: 64, BK: 32, TM: 8, TN: 8, SLICES: 4, BLOCKS: 2}
      - sgemm_small: {BM: 40, BN: 32, BK: 32, TM: 8, TN: 4, SLICES: 4, BLOCKS: 3}
      - sgemm_small: {BM: 128, BN: 32, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 4}
      - sgemm_small: {BM: 32, BN: 128, BK: 64, TM: 8, TN: 8, SLICES: 4, BLOCKS: 1}
      - sgemm_small: {BM: 40, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 2, BLOCKS: 2}
      - sgemm_small: {BM: 16, BN: 32, BK: [64, 128], TM: 4, TN: 4, SLICES: 8, BLOCKS: 2}
      - sgemm_small: {BM: 128, BN: [80, 128], BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 2}
      - sgemm_small: {BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 3}
      - sgemm_small: {BM: 96, BN: 128, BK: 16, TM: 8, TN: 8, SLICES: 1, BLOCKS: 2}
      - sgemm_persistent: {BM: 32, BN: 128, BK: 16, SLICES: 1, STAGES: 4, BLOCKS: 4, STREAM_K: 1}
  - when: estimated and 2 * square >= SMS
    region: estimated
    candidates:
      - sgemm_tma: {BM: 128, BN: 128, BK: 32, STAGES: 3, STREAM_K: 1}
  - when: estimated and suits_splitk
    region: estimated
    candidates:
      - sgemm_splitk: {BM: 64, BN: 64, STAGES: 4, SLICES: [4, 8], CLUSTER: 1, SPLIT: 1, STREAM_K: 1}
      - sgemm_splitk: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 1, SPLIT: [1, 3, 4], STREAM_K: 0}
  - when: estimated and suits_splitk and small <= SMS
    region: estimated
    candidates:
      - sgemm_splitk: {BM: 64, BN: 64, STAGES: 6, SLICES: 4, CLUSTER: 2, SPLIT: 1, STREAM_K: 0}
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
// `costs` has formulas of these constants for any card. sgemm.costs/ has those that were fitted on a card, for each group
// of rows (`region`): on the H100, 20 to 60 candidates were timed at each of about 4000 drawn shapes. For shapes outside
// the fit, the chosen kernel takes 1 to 2 % longer than the best one where K is over 32, and 4 to 7 % where a launch
// takes a few microseconds. The rules for one column come from a decision tree, those for one long row of a multiple of
// 1024 columns come from the times themselves, and other conditions come from bytes and waves counted by hand. Where a
// tile would be cut into more than four parts, sgemm_tma does not compete: it was rarely the best, and its estimate does
// not cover such parts.
//
// Where the tiles of sgemm_tma fill the GPU exactly once, stream-K has nothing to even out and is off. It is bound by
// whatever bounds the chosen kernel.
