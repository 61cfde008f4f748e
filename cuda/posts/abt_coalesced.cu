/*---
summary: C = A B^T by square tiles, both tiles loaded along rows, B transposed on its way
order: 132
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nt]
params:
  TILE: [32, 16, 8]
  UNROLL: [1, 0]                # 1: the loop over a tile is unrolled; 0: it is kept a loop
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - TILE
  - TILE
source: https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#shared-memory-in-matrix-multiplication-c-aa-t
---*/

// The step that "How can CUDA optimize matrix multiplication with its transpose?" speaks of and does
// not take. Against abt_shared: a thread loads not the element of B that its own sum needs, but the
// one that its neighbour's load makes contiguous, and puts it down transposed.
//
//      B as it is stored, N x K                 Bs, TILE x PITCH
//                 k0
//      +----------+--------+---+            k = tx  +---+-------------+
//      |          |0 1 2 3 |   | n = ty             | 0 |             |   Bs[tx][ty] =
//      |          |        |   |                    | 1 |             |   B[column0 + ty][k0 + tx]
//      +----------+--------+---+                    | 2 |             |
//        tx -> one transaction                      | 3 |             |   a column: 32 rows of PITCH
//                                                   +---+-------------+
//
// A warp stores 32 / TILE columns of Bs, TILE rows deep. At TILE words a row all of them would meet
// in one bank, or in a few. PITCH = TILE + 32 / TILE = 33, 18, 12 is what sends the 32 stores to 32
// banks (of 4 bytes) for TILE = 32, 16, 8; one word of padding does so for TILE = 32 only. The loads of
// the inner loop run along a row and need no padding.
//
// Bound by shared memory: global memory is now read in whole sectors, once a tile. What is left is two
// shared loads for a multiply-add as written, 1.25 where the compiler makes four steps of As one load.
//
// What the post's version has wrong and this has not: the loads of B that are not coalesced, and
// the K % TILE products that it drops.

#define PITCH (TILE + 32 / TILE)

constexpr int kUnroll = UNROLL ? TILE : 1;  // a pragma takes a constant, not a macro

extern "C" __global__ void __launch_bounds__(TILE * TILE)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[TILE][TILE];
    __shared__ TB Bs[TILE][PITCH];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    const int n = blockIdx.x * TILE + ty;  // the row of B, a column of C, that this thread loads
    const TA* a = A + size_t(row) * K;
    const TB* b = B + size_t(n) * K;

    TACC sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[ty][tx] = row < M && k0 + tx < K ? a[k0 + tx] : TA(0);
        Bs[tx][ty] = n < N && k0 + tx < K ? b[k0 + tx] : TB(0);
        __syncthreads();
#pragma unroll kUnroll
        for (int k = 0; k < TILE; ++k) {
            sum += TACC(As[ty][k]) * TACC(Bs[k][tx]);
        }
        __syncthreads();  // before the tiles are overwritten
    }

    if (row >= M || column >= N) return;
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
}
