/*---
summary: the naive kernel of posts 000, 002 and 004, one thread per element of C in blocks of 16 x 16
order: 101
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt]
params:
  BX: [16, 32, 8]               # threads along N
  BY: [16, 32, 8]               # threads along M
tile: [1, 1]  # each element of C reads its row of A and its column of B
grid:
  - cdiv(N, BX)
  - cdiv(M, BY)
block:
  - BX
  - BY
source: https://github.com/kHarshit/cuda-programming
---*/

// The first kernel of three posts: "Matrix Multiplication in CUDA", "How can CUDA optimize matrix
// multiplication with its transpose?" (layout nt) and "CUDA 007 - GEMM". Against naive, the kernel
// of the same idea outside cuda/posts: x runs along N instead of M, so it is coalesced, and at 4096
// about 5 times as fast. Against coalesced: blocks of 16 x 16, so a warp covers two rows, and no
// pragma on the loop.
//
//              B  K x N                      in layout nt, B is stored N x K:
//              |x|x+1| ... |x+15|
//        A     +-+---+-----+----+             x    --> | k ->          |
//        y --> |.  .   16 columns           x+1  --> | k ->          |   the threads of a row read
//        y+1 ->|.  .   16 columns             ...      | k ->          |   addresses K apart
//              +----------------+
//
// Bound by the load units: two loads for each multiply-add, 2 M N K elements in all. In layout nn
// the loads of a warp are two elements of A (each a broadcast) and 16 neighbours of B. In layout nt
// its 16 elements of B lie in 16 rows: 16 sectors of 32 bytes for 64 bytes.
//
// Bugs in the posts' versions, fixed here: the third reads C even when beta is 0, so a NaN in C
// stays, and the index row * K overflows an int from 46341 x 46341 on.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * BY + threadIdx.y;
    const int column = blockIdx.x * BX + threadIdx.x;
    if (row < M && column < N) {
        const TA* a = A + size_t(row) * K;
        const TB* b = TRANS_B ? B + size_t(column) * K : B + column;
        const size_t step = TRANS_B ? 1 : N;  // elements of B from one k to the next

        TACC sum = 0;
        for (int k = 0; k < K; ++k) {
            sum += TACC(a[k]) * TACC(b[k * step]);
        }

        TC* c = C + size_t(row) * N + column;
        *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
    }
}
