/*---
summary: all k of a few columns of B in registers, C produced row by row and streamed out, for a small K
order: 48.2
symbol: gemm<shifted>
precisions: [f32, tf32, bf16, f16]
layouts: [nn, nt, tn, tt]
params:
  DEPTH: [8, 1, 2, 4, 16, 32, 64]  # k of B in registers; a larger K takes several passes over C
  COLUMNS: [128, 64, 32, 16]    # of C in a block
  TN: [4, 2, 1]                 # results of a thread in each row
  ROWS: [64, 16, 32, 128, 256]  # of C in a block
  THREADS: [256, 128, 64]
let:
  unit: min(32 // BYTES_C, THREADS * TN // COLUMNS)  # elements: a sector of 32 bytes, or less
  shifted: TN > 1 and N % unit != 0      # rows of C do not all begin at multiples of it
  across: cdiv(N + unit - 1, COLUMNS) if shifted else cdiv(N, COLUMNS)
  staged: COLUMNS + (unit if shifted else 0)
  pitch_a: DEPTH + 4 if TRANS_A and DEPTH >= 8 else DEPTH     # floats, as below
  pitch_b: cdiv(staged, 32) * 32 + max(4, 32 // DEPTH) if TRANS_B else staged
require:
  - BYTES_C == 4 or K <= DEPTH # a second pass would add to a rounded C
  - DEPTH * TN <= 128          # registers
  - ROWS * COLUMNS % (THREADS * TN) == 0
  - THREADS % COLUMNS == 0        # all rows of a thread are shifted alike
tile: [ROWS, COLUMNS]
grid:
  - cdiv(M, ROWS) * across
block:
  - THREADS
shared: 4 * (ROWS * pitch_a + DEPTH * pitch_b)
pdl: true
sass:
  - spills == 0
accesses:
  - load_sectors <= max(4 * TN, 32 // DEPTH)
  - store_sectors <= 4 * TN
  - conflicts <= (75 if TRANS_B else 0)
source: https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#coalesced-access-to-global-memory
---*/

// With a small K, almost all of the traffic is C. A tile of C in registers would be pointless: its sums are finished
// after K steps, and then all threads store at once while nothing else happens. Here each thread keeps four full
// columns of B in registers, and rows of A stream by:
//
//                 B   columns of a thread        for each row of its block:
//                   +--+--+--+--+
//             DEPTH |  |  |  |  |  registers         a = the row of A, from shared memory: one address
//                   +--+--+--+--+                        for the whole warp, a broadcast
//         DEPTH                                      c = a x B, 4 sums
//        +-----+    +--+--+--+--+                    store c, 16 bytes per thread
//   ROWS |  a  |    |  |c |  |  |
//        +-----+    +--+--+--+--+                A thread stores all the time, and a warp stores 512
//                      COLUMNS                   bytes side by side.
//
// Stores are marked as streaming, because C is not read again soon. Both operands come through shared memory, padded
// with zeros to DEPTH, so every layout and size takes the same path. The next launch starts early (pdl).
//
// Where the row length of C is not a multiple of a sector (32 bytes), a block starts each row up to seven floats further
// left. Then no sector belongs to two blocks, and all 16-byte stores are aligned. With N = 5:
//
//      memory   0 1 2 3 4 5 6 7    the column, modulo 8, and the thread that stores it
//      row 0    0 0 0 0 1          Row 1 begins in the middle of the vector that thread 1 of row 0 would
//      row 1              1 1 1    store. So both store their own part, element by element; all between
//               2 2                the first and the last vector of a row is stored 16 bytes at a time.
//      row 2        0 0 1 1 1
//
// Rows whose distance is a multiple of eight are shifted alike. Each thread has only such rows, so its columns of B
// stay the same. Threads that cover fewer rows at once shift by that number.
//
// Bound by the stores to C. A row costs a warp DEPTH / 4 loads from shared memory and 4 DEPTH FFMA per 512 bytes, so
// memory is the bottleneck up to a K of about 32. With K = 1 this is an outer product.

#include "../common/bytes.cuh"
#include "../common/launch.cuh"

constexpr int kAcross = COLUMNS / TN, kDown = THREADS / kAcross;  // threads along a row, rows at once
constexpr int kSector = 32 / sizeof(TC), kUnit = kDown < kSector ? kDown : kSector;  // elements
// Blocks per SM: while one fetches, others store.
constexpr int kBlocks = (DEPTH <= 4 ? 1024 : DEPTH <= 8 ? 768 : DEPTH <= 16 ? 512 : 256) / THREADS;

constexpr int kAtOnce = DEPTH < 4 ? DEPTH : 4;  // k of a row of A that a thread reads
using Several = Word<kAtOnce * sizeof(float)>::type;
constexpr int kPitch = DEPTH + (TRANS_A && DEPTH >= 8 ? 4 : 0);  // floats of a row of A: eight lie in different banks
using Columns = Word<TN * sizeof(TC)>::type;  // which one instruction stores

// Floats of a row of B of so many columns: the k of a warp lie in different banks if it copies along K.
__device__ constexpr int pitch(int columns) {
    return TRANS_B ? (columns + 31) / 32 * 32 + (DEPTH < 8 ? 32 / DEPTH : 4) : columns;
}

// Copies part of an operand to shared memory as TILE x DEPTH, or as DEPTH x TILE with K_MAJOR, with zeros outside.
// ALONG_K: its rows in memory run along K. Neighbouring threads load neighbouring addresses in every layout.
template <int TILE, bool ALONG_K, bool K_MAJOR, typename T>
__device__ void stage(float* to, const T* matrix, int extent, int K, int x0, int k0) {
    constexpr int kEach = ALONG_K || K_MAJOR ? 1 : kAtOnce;  // k that a thread copies together
    constexpr int kItems = TILE * DEPTH / kEach;
    const T* const from = matrix + (ALONG_K ? (long long)x0 * K + k0 : (long long)k0 * extent + x0);
#pragma unroll 8
    for (int round = 0; round < (kItems + THREADS - 1) / THREADS; ++round) {
        const int item = round * THREADS + threadIdx.x;
        const int x = ALONG_K ? item / DEPTH : item % TILE, k = ALONG_K ? item % DEPTH : item / TILE * kEach;
        if (kItems % THREADS != 0 && item >= kItems) break;
        const bool inside = unsigned(x0 + x) < unsigned(extent);  // x0 can be negative
        typename Word<kEach * sizeof(float)>::type several;
        float* const values = reinterpret_cast<float*>(&several);
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            const int at = ALONG_K ? x * K + k : (k + i) * extent + x;
            values[i] = inside && k0 + k + i < K ? float(__ldg(from + at)) : 0;
        }
        float* const place = to + (K_MAJOR ? k * pitch(TILE) + x : x * kPitch + k);
        reinterpret_cast<decltype(several)&>(*place) = several;
    }
}

// Rows of C, each scaled by `beta` first if that is not 0. Bs begins `LEFT` columns before column0.
template <bool SHIFTED, int LEFT>
__device__ void store_rows(int M, int N, float alpha, float beta, const float* As, const float* Bs, int row0,
                           int column0, TC* C) {
    const int down = threadIdx.x / kAcross;
    const int shift = SHIFTED ? (row0 + down) % kUnit * (N % kUnit) % kUnit : 0;  // beyond whole units
    const int place = threadIdx.x % kAcross * TN - shift, column = column0 + place;
    float b[DEPTH][TN];
#pragma unroll
    for (int k = 0; k < DEPTH; ++k)
#pragma unroll
        for (int j = 0; j < TN; ++j) b[k][j] = Bs[k * pitch(LEFT + COLUMNS) + LEFT + place + j];
    const bool whole = !SHIFTED || column >= 0 && column + TN <= N;
#pragma unroll 2
    for (int row = down; row < ROWS; row += kDown) {
        float sum[TN] = {};
#pragma unroll
        for (int k = 0; k < DEPTH; k += kAtOnce) {
            const Several several = reinterpret_cast<const Several&>(As[row * kPitch + k]);
            const float* const a = reinterpret_cast<const float*>(&several);
#pragma unroll
            for (int j = 0; j < TN; ++j)
#pragma unroll
                for (int i = 0; i < kAtOnce; ++i) sum[j] += a[i] * b[k + i][j];
        }
        if (row0 + row >= M) return;
        TC* const c = C + (long long)(row0 + row) * N + column;
        Columns word;
        TC* const values = reinterpret_cast<TC*>(&word);
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            sum[j] *= alpha;
            if (unsigned(column + j) >= unsigned(N)) continue;
            if (beta != 0) sum[j] += beta * float(c[j]);  // otherwise C is not read
            values[j] = TC(sum[j]);
            if (!whole) c[j] = values[j];
        }
        if (whole && column < N) __stcs(reinterpret_cast<Columns*>(c), word);
    }
}

template <bool SHIFTED>
__global__ void __launch_bounds__(THREADS, kBlocks)
    gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C) {
    extern __shared__ __align__(16) float As[];
    float* const Bs = As + ROWS * kPitch;
    constexpr int LEFT = SHIFTED ? kUnit : 0;
    const int across = (N + (SHIFTED ? kUnit - 1 : 0) + COLUMNS - 1) / COLUMNS;
    const int row0 = blockIdx.x / across * ROWS, column0 = blockIdx.x % across * COLUMNS;
    start_next_launch();
    await_launch_before();
    for (int k0 = 0; k0 < K; k0 += DEPTH, beta = 1) {  // further passes add to C
        if (k0 > 0) __syncthreads();
        stage<ROWS, !TRANS_A, false>(As, A, M, K, row0, k0);
        stage<LEFT + COLUMNS, TRANS_B, true>(Bs, B, N, K, column0 - LEFT, k0);
        __syncthreads();
        store_rows<SHIFTED, LEFT>(M, N, alpha, beta, As, Bs, row0, column0, C);
    }
}
