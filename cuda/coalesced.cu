/*---
summary: one thread per element of C, a warp runs along a row
order: 20
symbol: gemm
precisions: [f32, f64, f16, bf16, f16_f32, bf16_f32, e4m3, e5m2]
layouts: [nn, nt, tn, tt]
params:
  BX: [128, 256, 32, 16, 8]     # threads along N
  BY: [4, 8, 16, 32]            # threads along M
  UNROLL: [8, 0]                # how often the loop over k is unrolled; 0: the compiler decides
require:
  - BX * BY <= 1024
tile: [1, 1]  # each element of C reads its row of A and its column of B
grid:
  - cdiv(N, BX)
  - cdiv(M, BY)
block:
  - BX
  - BY
source: https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#coalesced-access-to-global-memory
---*/

// Against naive: x runs along N, so a warp covers neighbouring columns. In layout nn it now reads
// one element of A (a broadcast) and 32 neighbours of B, and stores 32 neighbours of C: one
// transaction each. The loop over k is unrolled UNROLL times, so that many loads are in flight at
// once (but not too often: on an H200, 32 is 4 % slower than 8 at 4096).
//
// Bound by the load units: two loads per multiply-add, mostly served by L1 and L2.
//
//            B  K x N
//            |x|x+1|x+2|                a warp covers BX consecutive columns
//      A     +-+---+---+---+
//      y --> |.   .   .    |            x = blockIdx.x * BX + threadIdx.x   (column)
//            +-------------+            y = blockIdx.y * BY + threadIdx.y   (row)
//
// With BX=16 BY=16 UNROLL=0, where a warp covers two rows, this computes what the naive kernel of
// most tutorials and of three posts computes; theirs is naive_2d, in cuda/posts.

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
