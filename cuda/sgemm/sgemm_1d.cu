/*---
summary: 1D thread tile, TM results per thread in one column of the block tile
order: 35
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  BM: [64, 128, 32]
  BN: [64, 128, 32]
  BK: [8, 16, 32]
  TM: [16, 8, 4]
require:
  - BM % TM == 0
  - BM // TM * BN >= 32
  - BM // TM * BN <= 1024
  - (BM + BN + 2) * BK * BYTES <= 49152      # both tiles fit static shared memory
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BM / TM * BN
accesses:
  - load_sectors <= 4 or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
  - conflicts <= (75 if TRANS_A or TRANS_B else 0) or BYTES != 4
source: https://siboehm.com/articles/22/CUDA-MMM
---*/

// Compared with tiled: an element of Bs, once loaded into a register, serves TM results instead of
// one. TM + 1 loads from shared memory then feed TM multiply-adds, whereas tiled needs 2 TM. The
// tiles are no longer tied to the block's shape: BK is a parameter, and a thread loads several
// elements.
//
//               k                    a thread's results: rows ty ... ty + TM - 1 of column tx
//            +--+-------+ Bs
//         BK |  |b      |            b is one register, for TM rows
//            +--+-------+            a comes from shared memory for each result; the 32 lanes of a warp
//     BK        tx                   lie in one row of C, so they all want the same a: a broadcast
//   +-----+  +--+-------+
//   |     |  |  |x      |
// BM| As a|  |  |x TM   | C tile     As has the order of A's rows, so nvcc reads the a of four k at
//   |    a|  |  |x      |            once, with one load of 16 bytes
//   +-----+  +--+-------+
//                 BN
//
// It is still bound by shared memory: a is read again for every column. The next rung adds a second
// dimension and keeps a in a register as well.

#define THREADS (BM / TM * BN)
#define PITCH_A (BK + (TRANS_A ? 16 / sizeof(TA) : 0))  // padded against bank conflicts where a tile
#define PITCH_B (BN + TRANS_B)                          // is transposed on its way

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ __align__(16) TA As[BM][PITCH_A];
    __shared__ TB Bs[BK][PITCH_B];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const int tx = threadIdx.x % BN, ty = threadIdx.x / BN * TM;

    TACC sum[TM] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Neighbouring threads load neighbouring addresses in every layout. Zeros outside the matrices.
#pragma unroll
        for (int e0 = 0; e0 < BM * BK; e0 += THREADS) {
            const int e = e0 + threadIdx.x;
            if (BM * BK % THREADS && e >= BM * BK) break;
            const int m = TRANS_A ? e % BM : e / BK, k = TRANS_A ? e / BM : e % BK;
            As[m][k] = row0 + m < M && k0 + k < K ? A[(row0 + m) * a_i + (k0 + k) * a_k] : TA(0);
        }
#pragma unroll
        for (int e0 = 0; e0 < BN * BK; e0 += THREADS) {
            const int e = e0 + threadIdx.x;
            if (BN * BK % THREADS && e >= BN * BK) break;
            const int n = TRANS_B ? e / BK : e % BN, k = TRANS_B ? e % BK : e / BN;
            Bs[k][n] = k0 + k < K && column0 + n < N ? B[(k0 + k) * b_k + (column0 + n) * b_j] : TB(0);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            const TACC b = TACC(Bs[k][tx]);
#pragma unroll
            for (int m = 0; m < TM; ++m) sum[m] += TACC(As[ty + m][k]) * b;
        }
        __syncthreads();  // before the tiles are overwritten
    }

#pragma unroll
    for (int m = 0; m < TM; ++m) {
        const int row = row0 + ty + m, column = column0 + tx;
        if (row >= M || column >= N) continue;
        TC* c = C + size_t(row) * N + column;
        *c = TC(beta == 0 ? alpha * sum[m] : alpha * sum[m] + beta * TACC(*c));  // beta 0: C is not read
    }
}
