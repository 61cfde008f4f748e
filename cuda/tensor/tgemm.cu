/*---
summary: the fastest kernel on tensor cores for the shape of the problem
order: 290
precisions: [bf16, f16, tf32, 3xtf32, f16_f16, bf16_f32, f16_f32, e4m3, e4m3_fast, e5m2, e5m2_fast]
layouts: [nn, nt, tn, tt]
let:
  square: cdiv(M, 128) * cdiv(N, 128)   # tiles of C
  large: cdiv(M, 128) * cdiv(N, 256)
  small: cdiv(M, 128) * cdiv(N, 64)
  lines: min(M, N)
  wide: 128 // BYTES                    # elements of a row of a tile in shared memory
  clustered: SMS * 10 // 11             # SMs on which clusters of four and eight fit
  size_a: cdiv(M * K * BYTES, 1024)      # KB
  size_b: cdiv(K * N * BYTES, 1024)
  inputs: size_a + size_b
  outputs: M * N * BYTES_C // 1024
  copied_a: size_a if lda * BYTES % 16 != 0 else 0
  copied_b: size_b if ldb * BYTES % 16 != 0 else 0
  copied: copied_a + copied_b
  padded: 1 if copied > 0 else 0
  # How many copies mma_sync needs for 16 bytes of a row, besides the first:
  pieces_a: 0 if lda * BYTES % 16 == 0 else 1 if lda * BYTES % 8 == 0 else 3 if lda * BYTES % 4 == 0 else 7
  pieces_b: 0 if ldb * BYTES % 16 == 0 else 1 if ldb * BYTES % 8 == 0 else 3 if ldb * BYTES % 4 == 0 else 7
  halves: BYTES == 2             # operands of 16 bits
  pitch_a: cdiv(lda * BYTES, 16) * 16    # bytes of a row as TMA fetches it
  pitch_b: cdiv(ldb * BYTES, 16) * 16
  # How often 128 bytes of a row lie in two lines of the cache, or in five sectors:
  crossed_a: 0 if pitch_a % 128 == 0 else 1 if pitch_a % 64 == 0 else 2 if pitch_a % 32 == 0 else 4
  crossed_b: 0 if pitch_b % 128 == 0 else 1 if pitch_b % 64 == 0 else 2 if pitch_b % 32 == 0 else 4
  ragged: copied > 0 or N * BYTES_C % 16 != 0   # TMA cannot fetch or store some rows
shared_costs: [wgmma_wave, wgmma_cluster, wgmma_fp8, wgmma_splitk, wgmma_hybrid, wgmma_tf32, mma_stream, mma_sync,
  sgemm_outer, sgemm_stream]
costs:                          # in ps, but start, wave, pad, join, meet, end, split, load and row in ns
  wgmma_wave: &tiles
    start: 1500                 # of a launch
    wave: 1200                  # of each wave of blocks
    latency: 120000             # of a step along K
    again: 30000                # more where the rows of products were just copied
    registers: 200000           # of one whose rows come through registers
    flight: 1200000             # of a stage, from its fetch to its use
    tensor: 2 * 64 * 64 * (128 // BYTES) * 1000000 // (PEAK * CLOCK)   # of 64 x 64 products of a step
    port: 2 * 1000000 // CLOCK  # of 128 bytes that an SM gets from L2: two cycles
    stream: 150                 # of 1 KB that all SMs fetch of the rows of products
    l2: 100                     # and of the columns
    cross: 100                  # more where 128 bytes of a row lie in two lines
    half: 50                    # and where columns come 64 bytes or fewer at a time
    dram: 1024 * 1000000 // BANDWIDTH
    out: 400                    # of 1 KB of C
    box: 5000                   # of a column of a tile of 128 rows that leaves by TMA
    loose: 10000                # of a column that threads store
    across: 10000               # and with SWAP
    pad: 1000                   # the launch before
    copy: 2048 * 1000000 // BANDWIDTH
    join: 300                   # of a cluster
    end: 300                    # of slices of K
    sums: 1000                  # and for 64 sums of a tile
  wgmma_cluster: &rows
    start: 2500
    wave: 1200
    latency: 120000
    flight: 1200000
    tensor: 2 * 64 * 64 * (128 // BYTES) * 1000000 // (PEAK * CLOCK)
    port: 2 * 1000000 // CLOCK
    l2: 100
    cross: 100
    dram: 1024 * 1000000 // BANDWIDTH
    out: 400
    loose: 10000                # of a column of a tile of 128 rows that are no multiples of 16 bytes
    pad: 1000
    copy: 2048 * 1000000 // BANDWIDTH
    join: 300
    end: 600                    # of the last tile, if it is 128 x 128
  wgmma_fp8: *rows
  wgmma_tf32: *rows
  wgmma_splitk:
    start: 2000
    wave: 1200
    latency: 120000
    flight: 1200000
    tensor: 2 * 64 * 64 * (128 // BYTES) * 1000000 // (PEAK * CLOCK)
    port: 2 * 1000000 // CLOCK
    l2: 100
    dram: 1024 * 1000000 // BANDWIDTH
    part: 400                   # of 1 KB of sums
    pad: 1000
    copy: 2048 * 1000000 // BANDWIDTH
  wgmma_hybrid:
    start: 4000
    tensor: 2 * 64 * 64 * (128 // BYTES) * 1000000 // (PEAK * CLOCK)
    end: 1500                   # of a tile
    split: 6000                 # of tiles that are cut along K
    dram: 1024 * 1000000 // BANDWIDTH
    fewer: 50                   # per mille longer with 14 clusters of eight than with 15
    more: 1000                  # and with 16: twice as long where only 15 run at once
  mma_stream:
    start: 1800
    each: 200000                # of a round along K
    busy: 20000                 # and for each eight lines
    odd: 50000                  # more where rows are no multiples of 16 bytes
    shift: 30                   # and for 1 KB
    stage: 1000                 # of 512 elements of the small operand that an SM fetches
    dram: 1024 * 1000000 // BANDWIDTH
    part: 8000
    meet: 1000                  # of parts in device memory
  mma_sync:
    start: 1500
    wave: 1000
    latency: 500000             # of a step along K
    late: 500000                # more for each operand whose rows are no multiples of 4 bytes
    step: 300000                # for 64 x 64 results of an SM
    odd: 30000                  # for 64 more copies of a step
    dram: 1024 * 1000000 // BANDWIDTH
    out: 400
    loose: 400                  # more where rows of C are no multiples of 16 bytes
    part: 400                   # of 1 KB of sums
    meet: 1000                  # of parts in device memory
  sgemm_outer:
    start: 1200
    each: 300                   # of 64 multiply-adds of an SM, or twelve for each store
    column: 300                 # of 64 elements of B that threads take from shared memory
    stage: 1000                 # of 64 elements of an operand that an SM fetches
    odd: 1000                   # of 64 results, where rows of C are no multiples of 32 bytes
    end: 400                    # of blocks that run at once
    load: 50                    # of a load of a thread, which is waited for
    row: 20                     # of a row of a thread
    dram: 1024 * 1000000 // BANDWIDTH
    out: 400
  sgemm_stream:
    start: 1000
    each: 260000                # of a step of all blocks of an SM
    busy: 5000                  # of 64 threads in a step and line
    shared: 1000                # of 128 bytes that they read from shared memory
    stage: 1000                 # of 64 elements of the small operand that an SM fetches one by one
    odd: 20000                  # more where rows are no multiples of four elements
    end: 1100                   # of blocks that run at once
    dram: 1024 * 1000000 // BANDWIDTH
    cut: 100                    # of 1 KB in pieces of 128 bytes
    part: 11000
    meet: 1000                  # of parts in device memory
    join: 300                   # of a cluster
estimates:                      # in ps
  wgmma_wave:
    cluster: CLUSTER_M * CLUSTER_N * CLUSTER_K
    blocks: cluster * cdiv(N if SWAP else M, BM * CLUSTER_M) * cdiv(M if SWAP else N, BN * CLUSTER_N)
    usable: SMS if cluster <= 2 else clustered
    bytes: STAGES * (BM + BN) * 128 + (4 * BM * BN if CLUSTER_K > 1 else 0) + 1500
    slots: usable * max(1, min(4, SMEM // bytes))
    waves: cdiv(blocks, slots)
    active: min(blocks, slots)          # at a time
    busy: cdiv(active, usable)          # of them on an SM
    stores: cdiv(blocks, usable)        # one after another on an SM
    steps: cdiv(cdiv(K, wide), CLUSTER_K)
    streamed: active * BM // CLUSTER_N // 8        # KB in a step, of the operand along the rows of products
    fetched: active * BN // CLUSTER_M // 8
    through: BYTES == 4 and (not TRANS_B if SWAP else TRANS_A)            # registers
    turned_a: size_a if BYTES == 4 and TRANS_A and SWAP else copied_a      # transposed, or copied
    turned_b: size_b if BYTES == 4 and not TRANS_B and not SWAP else copied_b
    reread: again if (turned_b if SWAP else turned_a) > 0 else 0
    paced: max(registers if through else latency, flight // STAGES) + reread
    crossed: (crossed_b if SWAP else crossed_a) * streamed + (crossed_a if SWAP else crossed_b) * fetched
    halved: 1 if BYTES == 2 and BN % 64 != 0 and (TRANS_A if SWAP else not TRANS_B) else 0
    feed: half * halved * fetched + stream * streamed + l2 * fetched + cross * crossed // 4
    step: max(paced, busy * max(tensor * BM * BN // 4096, port * (BM + BN)), feed) + feed // 10
    computed: waves * (1000 * wave + steps * step)
    moved: dram * inputs
    shorter: &shorter min(computed, moved)
    main: &overlapped max(computed, moved) + shorter * shorter // (2 * max(1, computed, moved))
    ends: (1000 * join if cluster > 1 else 0) + (1000 * end + sums * BM * BN // 64 if CLUSTER_K > 1 else 0)
    store: stores * BN * (box * BM // 128 if BYTES_C == 2 and N % 8 == 0 else across if SWAP else loose)
    copies: turned_a + turned_b
    time: 1000 * start + main + store + ends + out * outputs + (1000 * pad if copies > 0 else 0) + copy * copies
  wgmma_cluster: &persistent
    cluster: CLUSTER_M * CLUSTER_N
    tiles: cdiv(M, BM * CLUSTER_M) * cdiv(N, BN * CLUSTER_N)            # of a cluster
    usable: (SMS if cluster <= 2 else clustered) // cluster
    waves: cdiv(tiles, usable)
    steps: cdiv(K, wide)
    fetched: min(tiles, usable) * cluster * (BM // CLUSTER_N + BN // CLUSTER_M) // 8
    crossed: min(tiles, usable) * cluster * (crossed_a * BM // CLUSTER_N + crossed_b * BN // CLUSTER_M) // 8
    feed: l2 * fetched + cross * crossed // 4
    step: max(latency, flight // STAGES, tensor * BM * BN // 4096, port * (BM + BN), feed) + feed // 10
    computed: waves * (1000 * wave + steps * step)
    moved: dram * inputs
    shorter: *shorter
    main: *overlapped
    stored: 1000 * end + (waves * 128 * loose if N * BYTES_C % 16 != 0 else 0)        # of 128 x 128
    ends: (1000 * join if cluster > 1 else 0) + stored * BM * BN // 16384
    time: 1000 * start + main + ends + out * outputs + padded * 1000 * pad + copy * copied
  wgmma_fp8: *persistent
  wgmma_tf32:
    swaps: not TRANS_A and not TRANS_B
    cluster: CLUSTER_M * CLUSTER_N
    tiles: cdiv(N if swaps else M, BM * CLUSTER_M) * cdiv(M if swaps else N, BN * CLUSTER_N)
    waves: cdiv(tiles, SMS // cluster)
    steps: cdiv(K, wide)
    fetched: min(tiles, SMS // cluster) * cluster * (BM // CLUSTER_N + BN // CLUSTER_M) // 8
    rows: (crossed_b if swaps else crossed_a) * BM // CLUSTER_N
    crossed: min(tiles, SMS // cluster) * cluster * (rows + (crossed_a if swaps else crossed_b) * BN // CLUSTER_M) // 8
    feed: l2 * fetched + cross * crossed // 4
    step: max(latency, flight // STAGES, tensor * BM * BN // 4096, port * (BM + BN), feed) + feed // 10
    computed: waves * (1000 * wave + steps * step)
    moved: dram * inputs
    shorter: *shorter
    main: *overlapped
    copies: 1000 * pad + copy * size_b if TRANS_A and not TRANS_B else 0
    stored: 1000 * end + (waves * 128 * loose if N * BYTES_C % 16 != 0 else 0)        # of 128 x 128
    ends: (1000 * join if cluster > 1 else 0) + stored * BM * BN // 16384
    time: 1000 * start + main + ends + out * outputs + copies
  wgmma_splitk:
    tiles: cdiv(M, BM) * cdiv(N, BN)
    split: max(1, min(SMS // tiles, cdiv(K, 64) // 4))
    waves: cdiv(tiles * split, SMS)
    steps: cdiv(cdiv(K, 64), split)
    fetched: min(SMS, tiles * split) * (BM + BN) // 8
    step: max(latency, flight // STAGES, tensor * BM * BN // 4096, port * (BM + BN), l2 * fetched)
    computed: waves * (1000 * wave + steps * step)
    moved: dram * inputs
    shorter: *shorter
    main: *overlapped
    adding: part * split * (M * N // 256 if split > 1 else 0) + padded * 1000 * pad + copy * copied
    time: 1000 * start + main + adding
  wgmma_hybrid:
    tiles: cdiv(M, BM) * cdiv(N, BN)
    steps: cdiv(K, wide)
    share: cdiv(tiles * steps, SMS) if STREAM_K else cdiv(tiles, SMS) * steps
    longer: fewer if LARGE == 14 else more if LARGE == 16 else 0
    computed: (tensor * BM * BN // 4096 * share + 1000 * end * cdiv(tiles, SMS)) // 1000 * (1000 + longer)
    moved: dram * inputs
    shorter: *shorter
    main: *overlapped
    time: 1000 * start + (1000 * split if STREAM_K else 0) + main
  mma_stream:
    tiles: cdiv(lines, LINES) * cdiv(max(M, N), 64)
    round: 32 * WARPS * AHEAD
    split: max(1, min(BLOCKS * SMS // tiles, K // round))
    rounds: cdiv(tiles * split, BLOCKS * SMS)
    adding: part * tiles * split + 1000 * meet if split > 1 else 0
    read: inputs * cdiv(lines, LINES) + outputs
    more: 0 if (ldb if N >= M else lda) % 8 == 0 else 1
    staged: stage * (min(lines, LINES) * cdiv(K, split) // 512 * cdiv(tiles * split, SMS))
    computed: (each + busy * (LINES // 8) + odd * more) * rounds * cdiv(cdiv(K, round), split) + staged
    time: 1000 * start + computed + (dram + shift * more) * read + adding
  mma_sync:
    tiles: cdiv(M, BM) * cdiv(N, BN)
    split: max(1, min(SPLIT_K, K * BYTES // 1024))
    blocks: cdiv(tiles * split, SMS)    # one after another on an SM
    waves: cdiv(blocks, SMEM // (STAGES * (BM + BN) * 128))
    steps: cdiv(cdiv(K, wide), split)
    alone: waves * (1000 * wave + steps * (latency + late * (pieces_a // 7 + pieces_b // 7)))
    work: step * BM * BN // 4096 + odd * ((BM * pieces_a + BN * pieces_b) // 64)
    computed: alone + work * (blocks * steps)
    stored: (out + (loose if N % 4 != 0 else 0)) * outputs
    adding: part * tiles * split * BM * BN // 256 + 1000 * meet if split > 1 else 0
    time: 1000 * start + computed + dram * inputs + stored + adding
  sgemm_outer:
    blocks: cdiv(cdiv(M, ROWS) * cdiv(N, COLUMNS), SMS)
    threads: 1024 if DEPTH <= 4 else 768 if DEPTH <= 8 else 512 if DEPTH <= 16 else 256     # on an SM
    parts: blocks * ROWS * COLUMNS // 64
    work: (each * (DEPTH * TN + 12) // TN + (odd if N * BYTES_C % 32 != 0 else 0)) * parts
    fetched: (ROWS + COLUMNS) * DEPTH
    alone: end + load * cdiv(fetched, THREADS) + row * (ROWS * COLUMNS // (THREADS * TN))
    columns: column * (blocks * THREADS * DEPTH * TN // 64)
    main: work + columns + stage * (blocks * fetched // 64) + 1000 * alone * cdiv(blocks, threads // THREADS)
    time: 1000 * start + main + dram * inputs + out * outputs
  sgemm_stream:
    across: max(M, N)           # outputs of a line
    along_k: TRANS_B if M <= N else not TRANS_A
    aligned: (K if along_k else across) % 4 == 0
    step: 16 * THREADS // OUTPUTS
    tiles: cdiv(lines, LINES) * cdiv(across, OUTPUTS if aligned or along_k else OUTPUTS - 4)
    places: BLOCKS * SMS
    most: K // (2 * step * AHEAD)       # parts of a tile; how many there are, sgemm_stream says
    wanted: min(places // tiles, most)
    met: min(8, most, max(min(2, wanted), places * 7 // 8 // tiles))
    clusters: met >= min(3, wanted) and met > 1 and places // tiles <= 12
    parts: met if clusters else max(1, wanted)
    filled: 20 * tiles * parts >= 19 * cdiv(tiles * parts, places) * places
    even: not (clusters or filled) and tiles * (K // (step * AHEAD)) >= 8 * places     # shares of all places
    blocks: places if even else tiles * parts
    steps: cdiv(tiles * cdiv(K, step), blocks) if even else cdiv(cdiv(K, step), parts)
    alone: cdiv(blocks, SMS)
    rounds: cdiv(alone, BLOCKS)
    piece: BYTES * (16 * THREADS // OUTPUTS if along_k else OUTPUTS)    # of a row, which a block loads at once
    reads: max(1, THREADS // (2 * OUTPUTS)) if along_k else 1   # of 128 bytes, by a warp in a step and line
    work: ((busy + shared * reads) * (THREADS * LINES // 64) + (0 if aligned else odd)) * alone * steps
    singly: 0 if K % 4 == 0 and (not TRANS_A if M <= N else TRANS_B) and (aligned or along_k) else 1
    staged: stage * (LINES * step * steps // 64 * alone * singly)
    computed: work + staged + each * rounds * cdiv(steps, AHEAD)
    moved: dram * inputs + cut * (inputs * 128 // piece)
    adding: (part * blocks if blocks != tiles else 0) + 1000 * (join if clusters else meet if blocks != tiles else 0)
    time: 1000 * start + 1000 * end * rounds + computed + moved + adding
pick:                           # by the model that is explained below
  - when: BYTES > 1 and K <= 1
    candidates:
      - sgemm_outer: {DEPTH: 1, COLUMNS: [16, 32], TN: 1, ROWS: 16, THREADS: 256}
      - sgemm_outer: {DEPTH: 1, COLUMNS: 32, TN: 4, ROWS: 32, THREADS: 64}
      - sgemm_outer: {DEPTH: 1, COLUMNS: 32, TN: 2, ROWS: 64, THREADS: 128}
      - sgemm_outer: {DEPTH: 1, COLUMNS: 64, TN: 2, ROWS: 64, THREADS: 256}
      - sgemm_outer: {DEPTH: 1, COLUMNS: 64, TN: 4, ROWS: 64, THREADS: 128}
  - when: BYTES > 1 and K == 2
    candidates:
      - sgemm_outer: {DEPTH: 2, COLUMNS: [16, 32], TN: 1, ROWS: 16, THREADS: 256}
      - sgemm_outer: {DEPTH: 2, COLUMNS: 32, TN: 4, ROWS: 32, THREADS: 64}
      - sgemm_outer: {DEPTH: 2, COLUMNS: 32, TN: 2, ROWS: 64, THREADS: 128}
      - sgemm_outer: {DEPTH: 2, COLUMNS: 64, TN: 2, ROWS: 64, THREADS: 256}
      - sgemm_outer: {DEPTH: 2, COLUMNS: 64, TN: 4, ROWS: 64, THREADS: 128}
  - when: BYTES > 1 and K > 2 and K <= 4
    candidates:
      - sgemm_outer: {DEPTH: 4, COLUMNS: [16, 32], TN: 1, ROWS: 16, THREADS: 256}
      - sgemm_outer: {DEPTH: 4, COLUMNS: 32, TN: 4, ROWS: 32, THREADS: 64}
      - sgemm_outer: {DEPTH: 4, COLUMNS: 32, TN: 2, ROWS: 64, THREADS: 128}
      - sgemm_outer: {DEPTH: 4, COLUMNS: 64, TN: 2, ROWS: 64, THREADS: 256}
      - sgemm_outer: {DEPTH: 4, COLUMNS: 64, TN: 4, ROWS: 64, THREADS: 128}
  - when: BYTES > 1 and K > 4 and K <= 8
    candidates:
      - sgemm_outer: {DEPTH: 8, COLUMNS: [16, 32], TN: 1, ROWS: 16, THREADS: 256}
      - sgemm_outer: {DEPTH: 8, COLUMNS: 32, TN: 4, ROWS: 32, THREADS: 64}
      - sgemm_outer: {DEPTH: 8, COLUMNS: 32, TN: 2, ROWS: 64, THREADS: 128}
      - sgemm_outer: {DEPTH: 8, COLUMNS: 64, TN: 4, ROWS: 64, THREADS: 128}
  - when: BYTES > 1 and K > 8 and K <= 16
    candidates:
      - sgemm_outer: {DEPTH: 16, COLUMNS: [16, 32], TN: 1, ROWS: 16, THREADS: 256}
      - sgemm_outer: {DEPTH: 16, COLUMNS: 32, TN: 2, ROWS: 64, THREADS: 128}
      - sgemm_outer: {DEPTH: 16, COLUMNS: 128, TN: 2, ROWS: 128, THREADS: 256}
  - when: BYTES == 4 and K > 16 and K <= 32
    candidates:
      - sgemm_outer: {DEPTH: 32, COLUMNS: [16, 32], TN: 1, ROWS: 16, THREADS: 256}
      - sgemm_outer: {DEPTH: 32, COLUMNS: 32, TN: 2, ROWS: 64, THREADS: 128}
  - when: halves and lines == 1
    candidates:
      - sgemm_stream: {LINES: 1, OUTPUTS: 16, THREADS: 256, AHEAD: 1, BLOCKS: 2}
      - sgemm_stream: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
      - sgemm_stream: {LINES: 1, OUTPUTS: 16, THREADS: 128, AHEAD: [1, 2], BLOCKS: 4}
      - sgemm_stream: {LINES: 1, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 4}
      - sgemm_stream: {LINES: 1, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: halves and lines == 2
    candidates:
      - sgemm_stream: {LINES: 2, OUTPUTS: 16, THREADS: 256, AHEAD: 1, BLOCKS: 2}
      - sgemm_stream: {LINES: 2, OUTPUTS: 16, THREADS: 128, AHEAD: [1, 2], BLOCKS: 4}
      - sgemm_stream: {LINES: 2, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 4}
      - sgemm_stream: {LINES: 2, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: halves and lines > 2 and lines <= 4
    candidates:
      - sgemm_stream: {LINES: 4, OUTPUTS: 32, THREADS: 256, AHEAD: 1, BLOCKS: 2}
      - sgemm_stream: {LINES: 4, OUTPUTS: 8, THREADS: 256, AHEAD: 2, BLOCKS: 2}
      - sgemm_stream: {LINES: 4, OUTPUTS: 16, THREADS: 128, AHEAD: [1, 2], BLOCKS: 4}
      - sgemm_stream: {LINES: 4, OUTPUTS: 64, THREADS: 128, AHEAD: 2, BLOCKS: 4}
      - sgemm_stream: {LINES: 4, OUTPUTS: 64, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: BYTES <= 2 and M < N and lines <= 8
    candidates:
      - wgmma_wave: {BM: 64, BN: 8, STAGES: [6, 12], CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 8, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 8, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 1}
  - when: BYTES <= 2 and M < N and lines > 8 and lines <= 16
    candidates:
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 8, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 16, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 1}
  - when: BYTES <= 2 and M < N and lines > 16 and lines <= 32
    candidates:
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 4, SWAP: 1}
  - when: BYTES <= 2 and M < N and lines > 32 and lines <= 48
    candidates:
      - wgmma_wave: {BM: 64, BN: 48, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 48, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
  - when: BYTES <= 2 and M < N and lines > 32 and lines <= 64
    candidates:
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 12, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 4, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 1}
  - when: BYTES <= 2 and M >= N and lines <= 8
    candidates:
      - wgmma_wave: {BM: 64, BN: 8, STAGES: [6, 12], CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 8, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 8, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 0}
  - when: BYTES <= 2 and M >= N and lines > 8 and lines <= 16
    candidates:
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 8, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 16, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 0}
  - when: BYTES <= 2 and M >= N and lines > 16 and lines <= 32
    candidates:
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 4, SWAP: 0}
  - when: BYTES <= 2 and M >= N and lines > 32 and lines <= 48
    candidates:
      - wgmma_wave: {BM: 64, BN: 48, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 48, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
  - when: BYTES <= 2 and M >= N and lines > 32 and lines <= 64
    candidates:
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 12, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 4, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
  - when: halves and lines <= 16 and copied > 0
    candidates:
      - mma_stream: {LINES: 8, WARPS: 8, AHEAD: 1, BLOCKS: 2}
  - when: halves and lines > 8 and lines <= 32 and copied > 0
    candidates:
      - mma_stream: {LINES: 16, WARPS: 4, AHEAD: 1, BLOCKS: 3}
  - when: halves and lines > 16 and lines <= 64 and copied > 0 and K >= 1024
    candidates:
      - wgmma_splitk: {BN: 64, STAGES: 8}
  - when: halves and large >= 6 * SMS and K >= 1024 and not ragged
    candidates:
      - wgmma_hybrid: {BM: 256, BN: 192, STAGES: 3, LARGE: [15, 14, 16], STREAM_K: 1}
      - wgmma_hybrid: {BM: 128, BN: 256, STAGES: 4, LARGE: [15, 14, 16], STREAM_K: 0}
  - when: halves and large > 2 * SMS and not ragged
    candidates:
      - wgmma_hybrid: {BM: 128, BN: 256, STAGES: 4, LARGE: [15, 14, 16], STREAM_K: [0, 1]}
  - when: halves and lines > 64 and large > SMS
    candidates:
      - wgmma_wave: {BM: 128, BN: 160, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_cluster: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: 2, CLUSTER_N: 2}
      - wgmma_cluster: {BM: 128, BN: [192, 256], STAGES: 4, CLUSTER_M: 2, CLUSTER_N: 2}
  - when: halves and lines > 64 and large <= 3 * SMS
    candidates:
      - wgmma_wave: {BM: 128, BN: 160, STAGES: 5, CLUSTER_M: 2, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 224, STAGES: 5, CLUSTER_M: 2, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 192, BN: 128, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 2, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 192, BN: 128, STAGES: 5, CLUSTER_M: 2, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 192, BN: 160, STAGES: 5, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
  - when: halves and large > 2 * SMS
    candidates:
      - wgmma_cluster: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: 2, CLUSTER_N: 1}
      - wgmma_cluster: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 2}
      - wgmma_cluster: {BM: 128, BN: [192, 256], STAGES: 4, CLUSTER_M: 2, CLUSTER_N: 1}
      - wgmma_cluster: {BM: 256, BN: 192, STAGES: 3, CLUSTER_M: 2, CLUSTER_N: 1}
  - when: halves and lines > 64 and lines <= 256 and large <= 2 * SMS and M < N
    candidates:
      - wgmma_wave: {BM: 256, BN: 64, STAGES: 5, CLUSTER_M: [1, 4], CLUSTER_N: 2, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 192, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
  - when: halves and lines > 64 and small <= 2 * SMS
    candidates:
      - wgmma_wave: {BM: 64, BN: 8, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: [1, 2], CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 12, CLUSTER_M: 4, CLUSTER_N: 2, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 2, CLUSTER_N: [1, 2], CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 96, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 128, STAGES: 8, CLUSTER_M: 4, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 128, STAGES: [4, 8], CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 96, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 2, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 4, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 2, CLUSTER_N: 2, CLUSTER_K: [1, 2], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 96, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 96, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 2, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 96, STAGES: 6, CLUSTER_M: 2, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 12, CLUSTER_M: 2, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 192, BN: 96, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: [2, 4], CLUSTER_K: 1, SWAP: [0, 1]}
  - when: halves and lines > 64 and small <= 2 * SMS and K >= 1024
    candidates:
      - wgmma_wave: {BM: 64, BN: 128, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 4, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 4, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 5, CLUSTER_M: 2, CLUSTER_N: 1, CLUSTER_K: [2, 4], SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 160, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 192, BN: 96, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 4, SWAP: [0, 1]}
      - wgmma_splitk: {BN: [64, 128], STAGES: 6}
  - when: halves and lines > 64 and large <= 2 * SMS
    candidates:
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: [1, 2, 4], CLUSTER_N: [1, 2], CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 160, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 192, STAGES: 5, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: [160, 192], STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_cluster: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2], CLUSTER_N: [1, 4]}
      - wgmma_cluster: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: [1, 2]}
      - wgmma_cluster: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: 2, CLUSTER_N: 1}
      - wgmma_cluster: {BM: 128, BN: [192, 256], STAGES: 4, CLUSTER_M: [1, 2], CLUSTER_N: [1, 2]}
      - wgmma_cluster: {BM: 256, BN: 192, STAGES: 3, CLUSTER_M: 2, CLUSTER_N: 1}
  - when: BYTES == 1 and lines <= 64
    candidates:
      - wgmma_fp8: {BM: 128, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: BYTES == 1 and lines > 64 and small <= 2 * SMS
    candidates:
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 2, CLUSTER_N: 2, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 96, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 128, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 128, STAGES: 6, CLUSTER_M: 4, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 48, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 2, CLUSTER_N: 2, CLUSTER_K: [1, 2], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 4, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 96, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_fp8: {BM: 128, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1}
  - when: BYTES == 1 and lines > 64 and large <= 2 * SMS
    candidates:
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: [1, 2], CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 4, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 5, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 192, STAGES: 5, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_fp8: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1}
      - wgmma_fp8: {BM: 128, BN: [192, 256], STAGES: 4, CLUSTER_M: [1, 2], CLUSTER_N: 1}
      - wgmma_fp8: {BM: 256, BN: 128, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: [1, 2]}
  - when: BYTES == 1 and large > 2 * SMS
    candidates:
      - wgmma_hybrid: {BM: 128, BN: [192, 256], STAGES: 4, LARGE: [15, 14, 16], STREAM_K: 0}
      - wgmma_fp8: {BM: 128, BN: 192, STAGES: 4, CLUSTER_M: 2, CLUSTER_N: 1}
      - wgmma_fp8: {BM: 256, BN: [128, 192], STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 2}
  - when: BYTES == 2 and lines > 16 and K <= 256 and copied > 0
    candidates:
      - mma_sync: {BM: 64, BN: 64, WM: 32, WN: 32, STAGES: [2, 3], SPLIT_K: 1}
      - mma_sync: {BM: 64, BN: 128, WM: 32, WN: 32, STAGES: 3, SPLIT_K: 1}
  - when: BYTES == 4 and lines > 16 and K <= 256
    candidates:
      - mma_sync: {BM: 64, BN: [64, 128], WM: 32, WN: 32, STAGES: 3, SPLIT_K: 1}
      - mma_sync: {BM: 128, BN: 64, WM: 32, WN: 64, STAGES: 3, SPLIT_K: 1}
  - when: BYTES > 1 and lines > 16 and lines <= 256 and K > 256 and copied > 0
    candidates:
      - mma_sync: {BM: 64, BN: 64, WM: 32, WN: 32, STAGES: 4, SPLIT_K: [2, 4, 8, 16]}
      - mma_sync: {BM: 128, BN: 64, WM: 32, WN: 32, STAGES: 4, SPLIT_K: [2, 4, 8]}
      - mma_sync: {BM: 64, BN: 128, WM: 32, WN: 32, STAGES: 3, SPLIT_K: [1, 2, 4]}
  - when: BYTES == 4 and lines == 1
    candidates:
      - sgemm_stream: {LINES: 1, OUTPUTS: 16, THREADS: 256, AHEAD: 1, BLOCKS: 2}
      - sgemm_stream: {LINES: 1, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: BYTES == 4 and lines == 2
    candidates:
      - sgemm_stream: {LINES: 2, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
  - when: BYTES == 4 and lines > 16 and lines <= 32 and copied > 0 and K > 1000
    candidates:
      - sgemm_stream: {LINES: 32, OUTPUTS: [64, 128], THREADS: 128, AHEAD: 2, BLOCKS: 2}
  - when: BYTES == 4 and lines > 2 and lines <= 16
    candidates:
      - sgemm_stream: {LINES: 4, OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
      - sgemm_stream: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: [1, 2], BLOCKS: 3}
      - sgemm_stream: {LINES: 8, OUTPUTS: [64, 128], THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: BYTES == 4 and M < N and lines <= 64
    candidates:
      - wgmma_wave: {BM: 64, BN: 8, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 16, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 4], SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 1}
  - when: BYTES == 4 and M >= N and lines <= 64
    candidates:
      - wgmma_wave: {BM: 64, BN: 8, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 16, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 4], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 0}
  - when: BYTES == 4 and lines > 64 and large <= 2 * SMS
    candidates:
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 4, 8], SWAP: [0, 1]}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 12, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: [0, 1]}
      - wgmma_wave: {BM: 64, BN: 96, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 64, BN: 128, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 2, CLUSTER_N: 2, CLUSTER_K: 2, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 96, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: [1, 2], CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 192, STAGES: 5, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 96, STAGES: 6, CLUSTER_M: 2, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 224, STAGES: 5, CLUSTER_M: 2, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 192, BN: 96, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: [2, 4], CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 192, BN: 128, STAGES: 5, CLUSTER_M: 2, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 192, BN: 160, STAGES: 5, CLUSTER_M: 2, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_tf32: {BM: 128, BN: [128, 256], STAGES: 4, CLUSTER_M: [1, 2], CLUSTER_N: 1}
  - when: BYTES == 4 and lines > 64 and small <= 2 * SMS and K >= 1024
    candidates:
      - wgmma_wave: {BM: 64, BN: 128, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4], SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 96, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4], SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 4, SWAP: [0, 1]}
      - wgmma_wave: {BM: 192, BN: 96, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4], SWAP: [0, 1]}
  - when: BYTES == 4 and large > 2 * SMS
    candidates:
      - wgmma_tf32: {BM: 128, BN: [128, 256], STAGES: 4, CLUSTER_M: [1, 2], CLUSTER_N: 1}
      - wgmma_wave: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
  - when: square > SMS
    variant: wgmma_3xtf32
    params: {BM: 128, BN: 128, STAGES: 3, PROMOTE: 64, TURNS: 1}
  - when: square <= SMS
    variant: wgmma_3xtf32
    params: {BM: 128, BN: 64, STAGES: 4, PROMOTE: 32, TURNS: 1}
  - when: SMEM >= 147456 and square > SMS
    variant: mma_sync
    params: {BM: 128, BN: 256, STAGES: 3}
  - variant: mma_sync           # before Hopper
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Chooses a kernel by a model of its time. The candidates of a kernel share five to 22 constants, which are
// fitted to times on this card (tgemm.costs) or follow from its clock and bandwidth:
//
//      time = start + main
//           + store * columns of the tiles that an SM stores + out * KB of C
//           + pad and copy * KB copied                                 where TMA or wgmma cannot take an operand
//
//      main = the longer of waves of blocks * (wave + steps along K * step), and dram * KB of A and B;
//             half as long again if both take the same time, since waiting for memory is not hidden entirely
//      step = the longest of latency, the flight of a stage / STAGES, products on the tensor cores, bytes that come
//             to an SM, and KB that all SMs fetch from L2, which are fewer with larger tiles and clusters, and take
//             longer where rows are no multiples of a line of 128 bytes. A tenth of the time to fetch is added, since
//             moving tiles takes power from the tensor cores
//
// How many clusters of eight run at once depends on the wiring of a GPU. So wgmma_hybrid competes with 14, 15 and 16 of
// them, and the fit finds how much longer it takes with 14, and with 16 where one of them has to wait.
//
// Which candidates there are depends on the kind of shape:
//
//      up to 64 rows or columns              wgmma_wave: the long side along the rows of products, K split in clusters;
//                                            sgemm_stream for up to 4, and mma_stream for up to 32 with rows that are
//                                            no multiples of 16 bytes, both of which load from any address
//      K up to 16, in tf32 up to 32          sgemm_outer: products in FP32 are fast enough, since storing C takes most
//                                            of the time
//      up to 256 rows, columns or k          mma_sync where TMA cannot fetch rows: it needs no copy, and may split K
//      few tiles                             wgmma_wave with small tiles, or with slices of K
//      up to three waves of 128 x 256        wgmma_wave and wgmma_cluster in clusters of one to eight
//      more than two                         wgmma_hybrid, which may cut the last tiles along K;
//                                            wgmma_cluster where rows are not multiples of 16 bytes
//      tf32                                  the same; sgemm_stream for up to 16 lines, since reading the large operand
//                                            takes most of the time; mma_sync takes operands in any layout
//      e4m3                                  the same, and wgmma_fp8
//      e5m2, 3xtf32, older GPUs              the kernel of that precision, with smaller tiles where C is small
//
// It is bound by whatever bounds the chosen kernel.
