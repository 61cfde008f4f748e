/*---
summary: block tile, warp tile and thread tile, after CUTLASS, with scalar loads
order: 122
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  BM: [64, 128]
  BN: [64, 128]
  BK: [4, 8, 16]
  WM: [16, 32, 64]              # a warp's part of the block tile; the post's 32 x 16 by columns
  WN: [32, 16, 64]              # is 16 x 32 by rows
  TM: [4, 8]
  TN: [4, 8]
require:
  - BM % WM == 0
  - BN % WN == 0
  - (WM // TM) * (WN // TN) == 32             # the lanes of a warp
  - BM // TM * (BN // TN) <= 1024
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BM / TM * (BN / TN)
accesses:
  - load_sectors <= cdiv(BK * TM * TN, min(BM, BN)) * (4 if TRANS_A and not TRANS_B else max(4, 32 // BK)) or BYTES != 4
  - store_sectors <= 4 * TN or BYTES != 4
  - conflicts == 0 or BK > 4 or TM + TN > 8 or WM > 16 or BYTES != 4
source: https://github.com/Deyht/frugal_ai
---*/

// From "Complementary material for the Frugal AI PSL week": its custom SGEMM. Compared with blocktile_2d:
// the warp becomes a level between block and thread. Its 32 threads cover a compact WM x WN part of the
// block tile, so they read few different elements of As and Bs. Each thread's elements are also adjacent,
// so nvcc 13 needs 8 loads of 16 bytes for the 64 multiply-adds of a tile.
//
//      C tile, BM x BN               a warp, WM x WN              a lane, TM x TN
//      +-------+-------+             +--+--+--+--+--+--+--+--+    +---------+
//      | warp 0| warp 1|  16         | 0| 1| 2| 3| 4| 5| 6| 7|    | . . . . |  a[4] x b[4],
//      +-------+-------+             +--+--+--+--+--+--+--+--+    | . . . . |  for each k
//      |   2   |   3   |             | 8| 9| ...             |    | . . . . |
//      :       :       :             :                       :    | . . . . |
//          32      32                +-----------------------+    +---------+
//
// The post stores matrices column by column. Its C, read by rows, is C^T = B^T A^T, so its A is our
// B and its B is our A: layout nn, with the same memory accesses. A row of a tile of our B is
// contiguous. Of our A, a block reads only BK = 4 elements per row at a time, 16 bytes of each
// 32-byte sector, and columns of C are stored TN apart. A thread loads adjacent elements, or one if
// the tile has one per thread; with larger tiles, neighbours in a warp load elements that far
// apart.
//
// Bound by latency: with BK = 4 there is a barrier after every 64 multiply-adds, and the loads of
// the next tile wait for it.
//
// Differences from the post's kernel (post001_custom): it takes row-major matrices of all layouts
// and precisions, other tiles, and no unused arguments. It computes addresses in 64 bits, declares
// the size of its block (`__launch_bounds__`), and guards every load and store; the post's kernel
// drops the last K % 4 products and goes out of bounds unless M and N are multiples of 64. If beta
// is 0 it does not read C; the post's kernel does. Two more things may change its speed: there is
// one barrier after both loads instead of one after each, and the load loops, whose length is a
// run-time value in the post, are unrolled.
//
// The post's text promises 60 % of cuBLAS, but its output shows 49 %, and its GFLOPS count N cubed operations instead
// of 2 N cubed.

#define THREADS (BM / TM * (BN / TN))
#define PER_A ((BM * BK + THREADS - 1) / THREADS)  // elements of a tile per thread
#define PER_B ((BN * BK + THREADS - 1) / THREADS)
#define PITCH_A (BK + TRANS_A)                          // padded where the tile is transposed
#define PITCH_B (BN + (TRANS_B ? (31 + BK) / BK : 0))   // on its way: stores hit different banks

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[BM][PITCH_A];
    __shared__ TB Bs[BK][PITCH_B];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;

    // This thread's first row and column in the tile: its warp's origin, then its own offset.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int ty = warp / (BN / WN) * WM + lane / (WN / TN) * TM;
    const int tx = warp % (BN / WN) * WN + lane % (WN / TN) * TN;

    TACC sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
#pragma unroll
        for (int l = 0; l < PER_A; ++l) {
            const int e = threadIdx.x * PER_A + l;
            const int m = TRANS_A ? e % BM : e / BK, k = TRANS_A ? e / BM : e % BK;
            if (BM * BK % THREADS && e >= BM * BK) continue;
            As[m][k] = row0 + m < M && k0 + k < K ? A[(row0 + m) * a_i + (k0 + k) * a_k] : TA(0);
        }
#pragma unroll
        for (int l = 0; l < PER_B; ++l) {
            const int e = threadIdx.x * PER_B + l;
            const int n = TRANS_B ? e / BK : e % BN, k = TRANS_B ? e % BK : e / BN;
            if (BN * BK % THREADS && e >= BN * BK) continue;
            Bs[k][n] = k0 + k < K && column0 + n < N ? B[(k0 + k) * b_k + (column0 + n) * b_j] : TB(0);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            TACC a[TM], b[TN];
#pragma unroll
            for (int m = 0; m < TM; ++m) a[m] = TACC(As[ty + m][k]);
#pragma unroll
            for (int n = 0; n < TN; ++n) b[n] = TACC(Bs[k][tx + n]);
#pragma unroll
            for (int m = 0; m < TM; ++m)
#pragma unroll
                for (int n = 0; n < TN; ++n) sum[m][n] += a[m] * b[n];
        }
        __syncthreads();  // before the tiles are overwritten
    }

#pragma unroll
    for (int m = 0; m < TM; ++m) {
#pragma unroll
        for (int n = 0; n < TN; ++n) {
            const int row = row0 + ty + m, column = column0 + tx + n;
            if (row >= M || column >= N) continue;
            TC* c = C + size_t(row) * N + column;
            *c = TC(beta == 0 ? alpha * sum[m][n] : alpha * sum[m][n] + beta * TACC(*c));  // beta 0: C is not read
        }
    }
}
