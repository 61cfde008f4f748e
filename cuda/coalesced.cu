/*---
summary: one thread an element, a warp walks along a row of C
order: 20
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  BX: [128, 256, 32, 16, 8]     # threads along N
  BY: [4, 8, 16, 32]            # threads along M
  UNROLL: [8, 0]                # steps of k whose loads are under way together; 0: what the compiler makes of the loop
require:
  - BX * BY <= 1024
grid:
  - cdiv(N, BX)
  - cdiv(M, BY)
block:
  - BX
  - BY
source: https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#coalesced-access-to-global-memory
---*/

// Against naive: x runs along N. In layout nn a warp now reads one element of A (a broadcast) and
// 32 neighbours of B, and stores 32 neighbours of C: one transaction each. UNROLL steps of k are
// written out, so that their loads are under way together (32 take twice the time of 8).
// Bound by the load units: two loads for every multiply-add, mostly served by L1 and L2.
// (With BX = BY = 16 a warp covers two rows; that and UNROLL = 0 is the naive kernel of most tutorials.)
//
//            B  K x N
//            |x|x+1|x+2|                warp = BX consecutive columns
//      A     +-+---+---+---+
//      y --> |.   .   .    |            x = blockIdx.x * BX + threadIdx.x   (column)
//            +-------------+            y = blockIdx.y * BY + threadIdx.y   (row)

constexpr int kUnroll = UNROLL;  // a pragma takes a constant, not a macro

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    // Strides of op(A)[i][k] and op(B)[k][j] in the packed arrays.
    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;

    const int row = blockIdx.y * BY + threadIdx.y;
    const int column = blockIdx.x * BX + threadIdx.x;
    if (row >= M || column >= N) return;

    TACC sum = 0;
#if UNROLL
#pragma unroll kUnroll
#endif
    for (int k = 0; k < K; ++k) {
        sum += TACC(A[row * a_i + k * a_k]) * TACC(B[k * b_k + column * b_j]);
    }
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
}
