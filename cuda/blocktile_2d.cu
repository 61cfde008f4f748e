/*---
summary: 2D block tile in shared memory, TM x TN accumulators per thread
order: 40
symbol: gemm
precisions: [f32, f64, f16, bf16, f16_f32, bf16_f32, e4m3, e5m2, int8]
layouts: [nn, nt, tn, tt]
kinds: [one, many]
epilogue: [bias, relu]
params:
  BM: [128, 64, 32]
  BN: [128, 64, 32]
  BK: [32, 16, 8]
  TM: [8, 4]
  TN: [4, 8]
let:
  pad: max(min(32, 128 // BYTES) // BK, 4 // BYTES, 1)  # as PAD below
require:
  - BM * BN / (TM * TN) >= 32
  - BM * BN / (TM * TN) <= 1024
  - (BM + pad + BN + pad) * BK * BYTES <= 49152  # both tiles fit static shared memory
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
  - count
block:
  - BM * BN / (TM * TN)
sass:
  - spills == 0 or TM * TN > 32
  - 2 * ffma > instructions or BK < 32 or TM * TN < 32 or BYTES != 4
accesses:
  - load_sectors <= 4 or BYTES != 4
  - store_sectors <= max(4, 32 * TN // BN) or BYTES != 4
  - conflicts == 0
source: https://siboehm.com/articles/22/CUDA-MMM
---*/

// Compared with tiled: each thread keeps TM x TN sums in registers and adds one outer product per k. TM + TN loads
// from shared memory then feed TM * TN multiply-adds, whereas tiled needs two loads for each.
//
// Bound by the issue of shared-memory loads, which are scalar here, and by latency at the barriers, because the next
// tile is not loaded while this one is being computed.
//
//              BN                      one thread's elements (TM = TN = 2, drawn in C):
//            +-------+ Bs BK
//            +-------+                   x . . x . .      rows    ty, ty + RM, ty + 2 RM, ...
//      BK    .       .                   . . . . . .      columns tx, tx + RN, tx + 2 RN, ...
//    +---+   +-------+                   x . . x . .      RM = BM / TM,  RN = BN / TN
//  BM|As |   |   C   |
//    +---+   +-------+                 Strided, not adjacent: neighbours in a warp read neighbouring
//                                      banks of Bs and store neighbouring columns of C.
//
// As is stored transposed (BK x BM). In the layouts with B transposed, so is Bs. The lanes of a warp load
// BK elements along K from each of 32 / BK rows, and store them to the same number of rows of As. If these
// rows had BM elements, they would all begin in the same bank. Padding each by PAD, which is 32 / BK words
// of 4 bytes, sends each lane to a different bank. Elements of 8 bytes are stored 16 lanes at a time;
// smaller elements share words.

#define THREADS (BM * BN / (TM * TN))
#define RM (BM / TM)
#define RN (BN / TN)

constexpr int LANES = sizeof(TA) < 8 ? 32 : 16, PER_WORD = sizeof(TA) < 4 ? 4 / sizeof(TA) : 1;
constexpr int PAD = LANES / BK > PER_WORD ? LANES / BK : PER_WORD;

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias) {
    __shared__ TA As[BK][BM + PAD];
    __shared__ TB Bs[BK][BN + PAD];

#if MANY  // product blockIdx.z of a batch
    A += blockIdx.z * size_t(M) * K, B += blockIdx.z * size_t(K) * N, C += blockIdx.z * size_t(M) * N;
    if (BIAS) bias += blockIdx.z * size_t(N);
#endif
    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const int tx = threadIdx.x % RN, ty = threadIdx.x / RN;

    TACC sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Neighbouring threads load neighbouring addresses in every layout. Zeros outside the matrices.
        for (int e = threadIdx.x; e < BM * BK; e += THREADS) {
            const int m = TRANS_A ? e % BM : e / BK, k = TRANS_A ? e / BM : e % BK;
            const int i = row0 + m;
            As[k][m] = i < M && k0 + k < K ? A[i * a_i + (k0 + k) * a_k] : TA(0);
        }
        for (int e = threadIdx.x; e < BN * BK; e += THREADS) {
            const int n = TRANS_B ? e / BK : e % BN, k = TRANS_B ? e % BK : e / BN;
            const int j = column0 + n;
            Bs[k][n] = k0 + k < K && j < N ? B[(k0 + k) * b_k + j * b_j] : TB(0);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            TACC a[TM], b[TN];
#pragma unroll
            for (int m = 0; m < TM; ++m) a[m] = TACC(As[k][ty + m * RM]);
#pragma unroll
            for (int n = 0; n < TN; ++n) b[n] = TACC(Bs[k][tx + n * RN]);
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
            const int row = row0 + ty + m * RM, column = column0 + tx + n * RN;
            if (row >= M || column >= N) continue;
            TC* c = C + size_t(row) * N + column;
            TACC value = alpha * sum[m][n];
            if (beta != 0) value += beta * TACC(*c);  // beta 0: C is not read
            if (BIAS) value += TACC(bias[column]);
            if (RELU && value < 0) value = 0;  // a NaN stays
            *c = TC(value);
        }
    }
}
