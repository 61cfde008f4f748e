/*---
summary: all k of a few columns of B in registers, C produced row by row and streamed out, for a small K
order: 48.2
symbol: gemm<wide>
precisions: [f32]
layouts: [nn, nt, tn, tt]
params:
  DEPTH: [8, 16, 32, 64]        # k of B in registers; a larger K takes several passes over C
  COLUMNS: [128, 64, 32]        # of C in a block; a thread has 4, or 2 with DEPTH 64
  ROWS: [64, 32, 128, 256]      # of C in a block
  THREADS: [256, 128]
let:
  width: 4 if DEPTH <= 32 else 2
  wide: N % width == 0          # rows of C begin at multiples of what a thread stores
require:
  - ROWS * COLUMNS % (THREADS * width) == 0
tile: [ROWS, COLUMNS]
grid:
  - cdiv(M, ROWS) * cdiv(N, COLUMNS)
block:
  - THREADS
shared: 4 * DEPTH * (ROWS + COLUMNS)
pdl: true
sass:
  - spills == 0
source: https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#coalesced-access-to-global-memory
---*/

// With a small K almost all of the traffic is C. A tile of C in registers would be pointless: its sums
// are finished after K steps, and then all threads store at once, while nothing else happens. Here it
// is B that stays in registers, all K of it, and rows of A pass by:
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
// Stores are marked as streaming: nobody reads C again soon. Both operands come through shared memory,
// padded with zeros to DEPTH, so every layout and size takes the same path. Rows of C that are no
// multiple of 16 bytes are stored element by element; then neighbouring threads have neighbouring
// columns. The next launch is prepared meanwhile (pdl).
//
// Bound by the stores to C. A row costs a warp DEPTH / 4 loads from shared memory and 4 DEPTH FFMA per
// 512 bytes, so up to a K of about 32 memory is the slower part. With K = 1 this is an outer product.

#include "overlap.cuh"

constexpr int kWidth = DEPTH <= 32 ? 4 : 2;                      // columns of a thread
constexpr int kAcross = COLUMNS / kWidth, kDown = THREADS / kAcross;  // threads along a row, rows at once
constexpr int kBlocks = (DEPTH <= 8 ? 768 : DEPTH <= 16 ? 512 : 256) / THREADS;  // per SM: one fetches, others store

template <int WIDTH> struct Vector;
template <> struct Vector<2> { using type = float2; };
template <> struct Vector<4> { using type = float4; };
using Columns = Vector<kWidth>::type;

// Copies part of an operand to shared memory as TILE x DEPTH, or with K_MAJOR as DEPTH x TILE; zeros
// outside. ALONG_K: its rows in memory run along K. Neighbouring threads load neighbouring addresses.
template <int TILE, bool ALONG_K, bool K_MAJOR>
__device__ void stage(float* to, const float* matrix, int extent, int K, int x0, int k0) {
    const float* const from = matrix + (ALONG_K ? size_t(x0) * K + k0 : size_t(k0) * extent + x0);
#pragma unroll 4
    for (int e = threadIdx.x; e < TILE * DEPTH; e += THREADS) {
        const int x = ALONG_K ? e / DEPTH : e % TILE, k = ALONG_K ? e % DEPTH : e / TILE;
        const int at = ALONG_K ? x * K + k : k * extent + x;
        to[K_MAJOR ? k * TILE + x : x * DEPTH + k] = x0 + x < extent && k0 + k < K ? __ldg(from + at) : 0;
    }
}

// Rows of C, each scaled by `beta` first if that is not 0.
template <bool WIDE>
__device__ void store_rows(int M, int N, float alpha, float beta, const float* As, const float* Bs, int row0,
                           int column0, float* C) {
    const int place = threadIdx.x % kAcross, down = threadIdx.x / kAcross;
    const auto column = [=](int j) { return WIDE ? kWidth * place + j : place + j * kAcross; };
    float b[DEPTH][kWidth];
#pragma unroll
    for (int k = 0; k < DEPTH; ++k)
#pragma unroll
        for (int j = 0; j < kWidth; ++j) b[k][j] = Bs[k * COLUMNS + column(j)];
#pragma unroll 2
    for (int row = down; row < ROWS; row += kDown) {
        float sum[kWidth] = {};
#pragma unroll
        for (int k = 0; k < DEPTH; k += 4) {
            const float4 a = reinterpret_cast<const float4&>(As[row * DEPTH + k]);
#pragma unroll
            for (int j = 0; j < kWidth; ++j) {
                sum[j] += a.x * b[k][j];
                sum[j] += a.y * b[k + 1][j];
                sum[j] += a.z * b[k + 2][j];
                sum[j] += a.w * b[k + 3][j];
            }
        }
        if (row0 + row >= M) return;
        float* const c = C + size_t(row0 + row) * N + column0;
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
            sum[j] *= alpha;
            if (column0 + column(j) >= N) continue;
            if (beta != 0) sum[j] += beta * c[column(j)];  // otherwise C is not read
            if (!WIDE) __stcs(c + column(j), sum[j]);
        }
        if (WIDE && column0 + column(0) < N)
            __stcs(reinterpret_cast<Columns*>(c + column(0)), reinterpret_cast<const Columns&>(sum));
    }
}

template <bool WIDE>
__global__ void __launch_bounds__(THREADS, kBlocks)
    gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C) {
    extern __shared__ __align__(16) float As[];
    float* const Bs = As + ROWS * DEPTH;
    const int across = (N + COLUMNS - 1) / COLUMNS;
    const int row0 = blockIdx.x / across * ROWS, column0 = blockIdx.x % across * COLUMNS;
    start_next_launch();
    await_launch_before();
    for (int k0 = 0; k0 < K; k0 += DEPTH, beta = 1) {  // further passes add to C
        if (k0 > 0) __syncthreads();
        stage<ROWS, !TRANS_A, false>(As, A, M, K, row0, k0);
        stage<COLUMNS, TRANS_B, true>(Bs, B, N, K, column0, k0);
        __syncthreads();
        store_rows<WIDE>(M, N, alpha, beta, As, Bs, row0, column0, C);
    }
}
