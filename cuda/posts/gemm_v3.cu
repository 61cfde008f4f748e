/*---
summary: tiles of BM x BK and BK x BN for BX x BY threads, a dot product for each result
order: 152
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  BM: [64, 128, 32]
  BN: [64, 128, 32]
  BK: [16, 8, 32]
  BX: [16, 32]                  # threads along N
  BY: [16, 8]                   # threads along M
  UNROLL: [1, 0, -1]            # 1: #pragma unroll; 0: no pragma; -1: #pragma unroll 1, which forbids it
require:
  - BM % BY == 0
  - BN % BX == 0
  - (BM * (BK + 1) + (BN + 4) * BK) * BYTES <= 49152     # both tiles fit static shared memory
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BX
  - BY
accesses:
  - load_sectors <= 4 or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
  - conflicts == 0 or BYTES != 4
source: CUDA 007 - GEMM
---*/

// From "CUDA 007 - GEMM": version 3. Compared with gemm_v2, the tiles need not be square. A short BK
// takes a quarter of the shared memory, so more blocks share an SM and BM and BN can grow: with 128
// x 128 x 8 a thread owns 64 results, and each element of A or B is fetched half as often as with 64
// x 64.
//
//                    BN
//               +-----------+
//           BK  |    Bs     |                a thread's results: rows ty, ty + BY, ty + 2 BY, ...,
//               +-----------+                columns tx, tx + BX, ...
//        BK     +-----------+
//      +----+   | x  x  x  x|                for each result       (this file: a dot product)
//  BM  | As |   |           |                  for each k
//      |    |   | x  x  x  x|                    result += As[row][k] * Bs[k][column]
//      +----+   +-----------+
//
// Bound by shared memory: as written, each multiply-add takes two loads, and only the compiler can
// share them between dot products. `gemmbench inspect gemm_v3 --sass-mix` counts loads. UNROLL=0
// has no pragma. If the compiler keeps a loop over the results, they are in local memory, which
// `inspect` shows as stack bytes. UNROLL=-1 forbids unrolling any loop and shows the kernel as it
// is written.
//
// The post is right to drop the padding of As here: with 16 or 8 words per row, the rows that a warp reads at once
// lie in different banks. Rows are padded only where a layout transposes the tile.
//
// Differences from the post's kernel (post004_v3): it takes all layouts and precisions, computes
// addresses in 64 bits, declares the size of its block (`__launch_bounds__`), and guards every load
// and store; the post's is correct only for multiples of BM, BN and BK. It supports tiles that the
// block does not divide. If beta is 0 it does not read C. The post's kernel does, so a NaN there
// survives. The row lengths of tiles are padded in the other layouts.

#define THREADS (BX * BY)
#define ROWS (BM / BY)     // results per thread
#define COLUMNS (BN / BX)
#define PITCH_A (BK + TRANS_A)
#define PITCH_B (BN + (TRANS_B ? (31 + BK) / BK : 0))

// Used before every loop over a tile; the loop over k0 has no pragma.
#if UNROLL > 0
#define UNROLLING _Pragma("unroll")
#elif UNROLL < 0
#define UNROLLING _Pragma("unroll 1")
#else
#define UNROLLING
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[BM][PITCH_A];
    __shared__ TB Bs[BK][PITCH_B];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * BX + tx;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;

    TACC sum[ROWS][COLUMNS] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Neighbouring threads load neighbouring addresses in every layout. Zeros outside the matrices.
        UNROLLING for (int start = 0; start < BM * BK; start += THREADS) {
            const int e = start + thread;
            const int m = TRANS_A ? e % BM : e / BK, k = TRANS_A ? e / BM : e % BK;
            if (BM * BK % THREADS && e >= BM * BK) continue;
            As[m][k] = row0 + m < M && k0 + k < K ? A[(row0 + m) * a_i + (k0 + k) * a_k] : TA(0);
        }
        UNROLLING for (int start = 0; start < BN * BK; start += THREADS) {
            const int e = start + thread;
            const int n = TRANS_B ? e / BK : e % BN, k = TRANS_B ? e % BK : e / BN;
            if (BN * BK % THREADS && e >= BN * BK) continue;
            Bs[k][n] = k0 + k < K && column0 + n < N ? B[(k0 + k) * b_k + (column0 + n) * b_j] : TB(0);
        }
        __syncthreads();
        UNROLLING for (int i = 0; i < ROWS; ++i)
            UNROLLING for (int j = 0; j < COLUMNS; ++j)
                UNROLLING for (int k = 0; k < BK; ++k)
                    sum[i][j] += TACC(As[ty + i * BY][k]) * TACC(Bs[k][tx + j * BX]);
        __syncthreads();  // before the tiles are overwritten
    }

    UNROLLING for (int i = 0; i < ROWS; ++i) {
        UNROLLING for (int j = 0; j < COLUMNS; ++j) {
            const int row = row0 + ty + i * BY, column = column0 + tx + j * BX;
            if (row >= M || column >= N) continue;
            TC* c = C + size_t(row) * N + column;
            *c = TC(beta == 0 ? alpha * sum[i][j] : alpha * sum[i][j] + beta * TACC(*c));  // beta 0: C is not read
        }
    }
}
