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
  inputs: (M * K + K * N) * BYTES // 1024     # KB
  outputs: M * N * BYTES_C // 1024
  turned_a: BYTES == 4 and TRANS_A      # 32-bit operands that run along M or N are transposed
  turned_b: BYTES == 4 and not TRANS_B
  copied_a: M * K * BYTES // 1024 if turned_a or lda * BYTES % 16 != 0 else 0  # KB
  copied_b: K * N * BYTES // 1024 if turned_b or ldb * BYTES % 16 != 0 else 0
  copied: copied_a + copied_b
  padded: 1 if copied > 0 else 0
  halves: BYTES == 2             # operands of 16 bits
costs:                          # start, ends and call in ns, the others in ps; l2, dram and copy are for a KB
  wgmma_wave: &tiles
    start: 1700
    ends: 500
    step: 2 * BM * BN * (128 // BYTES) * 1000000 // (PEAK * CLOCK)
    l2: 200
    dram: 1024 * 1000000 // BANDWIDTH
    call: 1300
    copy: 2048 * 1000000 // BANDWIDTH
  wgmma_cluster: *tiles
  wgmma_fp8: *tiles
  wgmma_splitk:
    start: 2500
    ends: 500
    step: 2 * BM * BN * (128 // BYTES) * 1000000 // (PEAK * CLOCK)
    l2: 200
    dram: 1024 * 1000000 // BANDWIDTH
    part: 20
    call: 1300
    copy: 2048 * 1000000 // BANDWIDTH
  wgmma_hybrid:
    start: 5000
    step: 2 * BM * BN * (128 // BYTES) * 1000000 // (PEAK * CLOCK)
    ends: 700
    dram: 1024 * 1000000 // BANDWIDTH
  wgmma_tf32:
    start: 2500
    ends: 700
    step: 2 * BM * BN * (128 // BYTES) * 1000000 // (PEAK * CLOCK)
    l2: 200
    dram: 1024 * 1000000 // BANDWIDTH
    call: 1300
    copy: 2048 * 1000000 // BANDWIDTH
  mma_stream: &stream
    start: 1800
    each: 200000
    dram: 1024 * 1000000 // BANDWIDTH
    part: 8000
  sgemm_stream: *stream
  mma_sync:
    start: 1500
    step: 6 * BM * BN * (128 // BYTES) * 1000000 // (PEAK * CLOCK)
    dram: 1024 * 1000000 // BANDWIDTH
estimates:                      # in ps
  wgmma_wave:
    cluster: CLUSTER_M * CLUSTER_N * CLUSTER_K
    blocks: cluster * cdiv(N if SWAP else M, BM * CLUSTER_M) * cdiv(M if SWAP else N, BN * CLUSTER_N)
    usable: SMS if cluster <= 2 else clustered
    shared: STAGES * (BM + BN) * 128 + (4 * BM * BN if CLUSTER_K > 1 else 0) + 1500
    room: max(1, min(4, SMEM // shared))    # for blocks on an SM
    alone: cdiv(blocks, usable)         # blocks that an SM computes
    steps: cdiv(cdiv(K, wide), CLUSTER_K)
    moved: blocks * steps * (BM // CLUSTER_N + BN // CLUSTER_M) // 8    # KB from L2
    memory: l2 * moved + dram * (inputs + outputs) + padded * 1000 * call + copy * copied
    time: 1000 * (start + ends * cdiv(blocks, usable * room)) + step * steps * alone + memory
  wgmma_cluster: &persistent
    cluster: CLUSTER_M * CLUSTER_N
    tiles: cdiv(M, BM * CLUSTER_M) * cdiv(N, BN * CLUSTER_N)            # of a cluster
    rounds: cdiv(tiles, SMS // cluster)
    steps: cdiv(K, wide)
    moved: tiles * cluster * steps * (BM // CLUSTER_N + BN // CLUSTER_M) // 8
    copies: padded * 1000 * call + copy * copied
    time: 1000 * (start + ends * rounds) + step * steps * rounds + l2 * moved + dram * (inputs + outputs) + copies
  wgmma_fp8: *persistent
  wgmma_splitk:
    tiles: cdiv(M, BM) * cdiv(N, BN)
    split: max(1, min(SMS // tiles, cdiv(K, 64) // 4))
    rounds: cdiv(tiles * split, SMS)
    steps: cdiv(cdiv(K, 64), split)
    moved: tiles * cdiv(K, 64) * (BM + BN) // 8
    adding: part * split * (M * N // 256 if split > 1 else 0) + padded * 1000 * call + copy * copied
    time: 1000 * (start + ends * rounds) + step * steps * rounds + l2 * moved + dram * (inputs + outputs) + adding
  wgmma_hybrid:
    tiles: cdiv(M, BM) * cdiv(N, BN)
    steps: cdiv(K, wide)
    share: cdiv(tiles * steps, SMS) if STREAM_K else cdiv(tiles, SMS) * steps
    time: 1000 * (start + ends * cdiv(tiles, SMS)) + step * share + dram * (inputs + outputs)
  wgmma_tf32:
    swaps: not TRANS_A and not TRANS_B
    cluster: CLUSTER_M * CLUSTER_N
    tiles: cdiv(N if swaps else M, BM * CLUSTER_M) * cdiv(M if swaps else N, BN * CLUSTER_N)
    rounds: cdiv(tiles, SMS // cluster)
    steps: cdiv(K, wide)
    moved: tiles * cluster * steps * (BM // CLUSTER_N + BN // CLUSTER_M) // 8
    copies: 1000 * call + copy * copied_b if TRANS_A and not TRANS_B else 0
    time: 1000 * (start + ends * rounds) + step * steps * rounds + l2 * moved + dram * (inputs + outputs) + copies
  mma_stream:
    tiles: cdiv(lines, LINES) * cdiv(max(M, N), 64)
    round: 32 * WARPS * AHEAD
    split: max(1, min(BLOCKS * SMS // tiles, K // round))
    rounds: cdiv(tiles * split, BLOCKS * SMS)
    adding: part * tiles * split if split > 1 else 0
    time: 1000 * start + each * rounds * cdiv(cdiv(K, round), split) + dram * (inputs + outputs) + adding
  sgemm_stream:
    tiles: cdiv(lines, LINES) * cdiv(max(M, N), OUTPUTS)
    round: 16 * THREADS // OUTPUTS * AHEAD
    split: max(1, min(BLOCKS * SMS // tiles, K // (2 * round)))
    rounds: cdiv(tiles * split, BLOCKS * SMS)
    adding: part * tiles * split if split > 1 else 0
    time: 1000 * start + each * rounds * cdiv(cdiv(K, round), split) + dram * (inputs + outputs) + adding
  mma_sync:
    rounds: cdiv(cdiv(M, BM) * cdiv(N, BN), SMS)
    time: 1000 * start + step * cdiv(K, wide) * rounds + dram * (inputs + outputs)
pick:                           # the model of each candidate's time is said below
  - when: halves and M < N and lines > 0 and lines <= 8
    region: narrow8
    candidates:
      - wgmma_wave: {BM: 64, BN: 8, STAGES: [6, 12], CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 8, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 8, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 1}
  - when: halves and M < N and lines > 8 and lines <= 16
    region: narrow16
    candidates:
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 8, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 16, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 1}
  - when: halves and M < N and lines > 16 and lines <= 24
    region: narrow32
    candidates:
      - wgmma_wave: {BM: 64, BN: 24, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
  - when: halves and M < N and lines > 16 and lines <= 32
    region: narrow32
    candidates:
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 4, SWAP: 1}
  - when: halves and M < N and lines > 32 and lines <= 48
    region: narrow64
    candidates:
      - wgmma_wave: {BM: 64, BN: 48, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 48, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
  - when: halves and M < N and lines > 32 and lines <= 64
    region: narrow64
    candidates:
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 12, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 4, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 1}
  - when: halves and M >= N and lines > 0 and lines <= 8
    region: narrow8
    candidates:
      - wgmma_wave: {BM: 64, BN: 8, STAGES: [6, 12], CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 8, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 8, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 0}
  - when: halves and M >= N and lines > 8 and lines <= 16
    region: narrow16
    candidates:
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 8, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 16, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 0}
  - when: halves and M >= N and lines > 16 and lines <= 24
    region: narrow32
    candidates:
      - wgmma_wave: {BM: 64, BN: 24, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
  - when: halves and M >= N and lines > 16 and lines <= 32
    region: narrow32
    candidates:
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 4, SWAP: 0}
  - when: halves and M >= N and lines > 32 and lines <= 48
    region: narrow64
    candidates:
      - wgmma_wave: {BM: 64, BN: 48, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 48, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
  - when: halves and M >= N and lines > 32 and lines <= 64
    region: narrow64
    candidates:
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 12, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 4, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
  - when: halves and lines > 0 and lines <= 16 and copied > 0
    region: narrow_copied
    candidates:
      - mma_stream: {LINES: 8, WARPS: 8, AHEAD: 1, BLOCKS: 2}
  - when: halves and lines > 16 and lines <= 64 and copied > 0
    region: narrow_copied
    candidates:
      - wgmma_splitk: {BN: 64, STAGES: 8}
  - when: halves and large >= 6 * SMS and K >= 1024 and copied == 0 and N * BYTES_C % 16 == 0
    region: huge
    candidates:
      - wgmma_hybrid: {BM: 256, BN: 192, STAGES: 3, LARGE: [15, 14, 16], STREAM_K: 1}
      - wgmma_hybrid: {BM: 128, BN: 256, STAGES: 4, LARGE: [15, 14, 16], STREAM_K: 0}
  - when: halves and large > 2 * SMS and copied == 0 and N * BYTES_C % 16 == 0
    candidates:
      - wgmma_hybrid: {BM: 128, BN: 256, STAGES: 4, LARGE: [15, 14, 16], STREAM_K: 0}
  - when: halves and large > 2 * SMS
    candidates:
      - wgmma_cluster: {BM: 128, BN: [192, 256], STAGES: 4, CLUSTER_M: 2, CLUSTER_N: 1}
      - wgmma_cluster: {BM: 256, BN: 192, STAGES: 3, CLUSTER_M: 2, CLUSTER_N: 1}
  - when: halves and lines > 64 and lines <= 256 and large <= 2 * SMS and M < N
    candidates:
      - wgmma_wave: {BM: 256, BN: 64, STAGES: 5, CLUSTER_M: [1, 4], CLUSTER_N: 2, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: [96, 192], STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
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
      - wgmma_wave: {BM: 64, BN: [192, 224], STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 96, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 224, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 48, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 2, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 4, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 2, CLUSTER_N: 2, CLUSTER_K: [1, 2], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 96, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: [0, 1]}
      - wgmma_wave: {BM: 128, BN: 96, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 2, CLUSTER_K: 1, SWAP: 0}
      - wgmma_splitk: {BN: [64, 128], STAGES: 6}
      - mma_sync: {BM: 64, BN: 64, WM: 32, WN: 32, STAGES: 3}
  - when: halves and lines > 64 and large <= 2 * SMS
    candidates:
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: [1, 2, 4], CLUSTER_N: [1, 2], CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: [4, 8], CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 5, CLUSTER_M: [1, 2], CLUSTER_N: [1, 2], CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 192, STAGES: 5, CLUSTER_M: 4, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 160, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 192, STAGES: 5, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 224, STAGES: 4, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: [160, 192], STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_cluster: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2], CLUSTER_N: [1, 4]}
      - wgmma_cluster: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: [1, 2, 4]}
      - wgmma_cluster: {BM: 128, BN: [192, 256], STAGES: 4, CLUSTER_M: [1, 2], CLUSTER_N: [1, 2]}
      - wgmma_cluster: {BM: 256, BN: 192, STAGES: 3, CLUSTER_M: 2, CLUSTER_N: 1}
  - when: BYTES == 1 and M < N and lines > 0 and lines <= 8
    region: thin8
    candidates:
      - wgmma_wave: {BM: 64, BN: 8, STAGES: [6, 12], CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 8, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 8, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 1}
  - when: BYTES == 1 and M < N and lines > 8 and lines <= 16
    region: thin16
    candidates:
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 8, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 16, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 1}
  - when: BYTES == 1 and M < N and lines > 16 and lines <= 24
    region: thin32
    candidates:
      - wgmma_wave: {BM: 64, BN: 24, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
  - when: BYTES == 1 and M < N and lines > 16 and lines <= 32
    region: thin32
    candidates:
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 4, SWAP: 1}
  - when: BYTES == 1 and M < N and lines > 32 and lines <= 48
    region: thin64
    candidates:
      - wgmma_wave: {BM: 64, BN: 48, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 48, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
  - when: BYTES == 1 and M < N and lines > 32 and lines <= 64
    region: thin64
    candidates:
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 12, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 4, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 1}
  - when: BYTES == 1 and M >= N and lines > 0 and lines <= 8
    region: thin8
    candidates:
      - wgmma_wave: {BM: 64, BN: 8, STAGES: [6, 12], CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 8, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 8, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 0}
  - when: BYTES == 1 and M >= N and lines > 8 and lines <= 16
    region: thin16
    candidates:
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 16, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 8, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 16, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 0}
  - when: BYTES == 1 and M >= N and lines > 16 and lines <= 24
    region: thin32
    candidates:
      - wgmma_wave: {BM: 64, BN: 24, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
  - when: BYTES == 1 and M >= N and lines > 16 and lines <= 32
    region: thin32
    candidates:
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 4, SWAP: 0}
  - when: BYTES == 1 and M >= N and lines > 32 and lines <= 48
    region: thin64
    candidates:
      - wgmma_wave: {BM: 64, BN: 48, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 48, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
  - when: BYTES == 1 and M >= N and lines > 32 and lines <= 64
    region: thin64
    candidates:
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 12, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2, 4], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [2, 4], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 4, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
  - when: BYTES == 1 and lines <= 64
    region: thin
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
  - when: BYTES == 4 and lines <= 16
    region: lines
    candidates:
      - sgemm_stream: {LINES: [1, 2, 4], OUTPUTS: 32, THREADS: 256, AHEAD: 2, BLOCKS: 2}
      - sgemm_stream: {LINES: 8, OUTPUTS: 32, THREADS: 128, AHEAD: [1, 2], BLOCKS: 3}
      - sgemm_stream: {LINES: [8, 16], OUTPUTS: [64, 128], THREADS: 128, AHEAD: 4, BLOCKS: 2}
  - when: BYTES == 4 and M < N and lines <= 64
    candidates:
      - wgmma_wave: {BM: 64, BN: 8, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 16, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 4], SWAP: 1}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 1}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 1}
  - when: BYTES == 4 and M >= N and lines <= 64
    candidates:
      - wgmma_wave: {BM: 64, BN: 8, STAGES: 10, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 16, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 32, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 4], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 2], SWAP: 0}
  - when: BYTES == 4 and lines > 64 and large <= 2 * SMS
    candidates:
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: [1, 4, 8], SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 64, STAGES: 12, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 96, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 64, BN: 128, STAGES: 8, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 64, STAGES: 8, CLUSTER_M: 2, CLUSTER_N: 2, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 96, STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 6, CLUSTER_M: [1, 2], CLUSTER_N: [1, 2], CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 128, STAGES: 5, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 2, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 192, STAGES: 5, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: 256, STAGES: 4, CLUSTER_M: [1, 2], CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 0}
      - wgmma_wave: {BM: 128, BN: [64, 96], STAGES: 6, CLUSTER_M: 1, CLUSTER_N: 1, CLUSTER_K: 1, SWAP: 1}
      - wgmma_tf32: {BM: 128, BN: [128, 256], STAGES: 4, CLUSTER_M: [1, 2], CLUSTER_N: 1}
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

// Chooses a kernel by a model of its time. Each candidate has a few constants, which are fitted to times on this card
// (tgemm.costs) or follow from its clock and bandwidth:
//
//      time = start + ends * waves           launch and end of each wave of blocks
//           + step * steps of an SM          products, or waiting for their tiles
//           + l2 * KB that SMs fetch         less with larger tiles and clusters
//           + dram * KB of A, B and C
//           + call and copy * KB copied      where TMA or wgmma cannot take an operand as it is
//
// Which candidates there are depends on the kind of shape:
//
//      up to 64 rows or columns              wgmma_wave: the long side along the rows of products, K split in clusters;
//                                            mma_stream, which loads from any address
//      few tiles                             wgmma_wave with small tiles, or with slices of K
//      up to two waves of 128 x 256          wgmma_wave and wgmma_cluster in clusters of one to eight
//      more                                  wgmma_hybrid; wgmma_cluster where rows are not multiples of 16 bytes
//      tf32                                  the same, and sgemm_stream for up to 16 lines: products in FP32 are fast
//                                            enough, since reading the large operand takes most of the time
//      e4m3                                  the same, and wgmma_fp8
//      e5m2, 3xtf32, older GPUs              the kernel of that precision, with smaller tiles where C is small
//
// It is bound by whatever bounds the chosen kernel.
