/*---
summary: square tiles, one element of C per thread, neighbouring threads one row apart
order: 140
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  TILE: [16, 32]
tile: [TILE, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - TILE
  - TILE
accesses:
  - load_sectors <= TILE or BYTES != 4
  - store_sectors <= TILE or BYTES != 4
  - conflicts <= (100 - 400 // TILE if TRANS_A and TRANS_B else 100 - 3200 // (TILE * TILE)) or BYTES != 4
source: "https://medium.com/@robinheijmans/building-a-matrix-multiplication-kernel-from-scratch-using-\
  cuda-and-applying-it-to-neural-networks-8da95a296de5"
---*/

// Our reconstruction of the first stage of "Building a matrix-multiplication kernel from scratch
// using CUDA and applying it to Neural Networks": tiles without more work per thread. The post
// prints only the code of its last stage and says that the accesses were not coalesced until then;
// this is wpt with one result per thread. Compared with tiled: threadIdx.x runs down the rows.
//
//      A, M x K             As               C tile          the threads x, x+1, ... of a warp
//          k0                  k
//      +---+--+---+       x   #----         x   #            read and write elements that lie one
//      | x |# |   |       x+1 #----         x+1 #            row apart: in A, B and C K or N
//      |x+1|# |   |       x+2 #----         x+2 #            elements, in As and Bs TILE
//      |x+2|# |   |           ...               ...
//      +---+--+---+        one bank or two   y: the column, the same for TILE threads
//
// Bound by these accesses: a load from global memory takes 16 or 32 transactions, and a load from As
// takes 8 or 32 cycles of shared memory (all elements lie in 2 banks for TILE = 16, in one for 32).
//
// Unlike the post's last stage, it is not tied to the network, in which rows of a batch lie
// maxNeurons apart no matter how narrow the layer is. As in the post, bias and activation are a
// separate pass over C.

extern "C" __global__ void __launch_bounds__(TILE * TILE)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[TILE][TILE];
    __shared__ TB Bs[TILE][TILE];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int x = threadIdx.x, y = threadIdx.y;
    const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;

    // The element of each tile that this thread loads: x takes the direction that is not contiguous.
    const int m = TRANS_A ? y : x, ka = TRANS_A ? x : y;
    const int n = TRANS_B ? x : y, kb = TRANS_B ? y : x;

    TACC sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[m][ka] = row0 + m < M && k0 + ka < K ? A[(row0 + m) * a_i + (k0 + ka) * a_k] : TA(0);
        Bs[kb][n] = k0 + kb < K && column0 + n < N ? B[(k0 + kb) * b_k + (column0 + n) * b_j] : TB(0);
        __syncthreads();
        for (int k = 0; k < TILE; ++k) {
            sum += TACC(As[x][k]) * TACC(Bs[k][y]);
        }
        __syncthreads();  // before the tiles are overwritten
    }

    const int row = row0 + x, column = column0 + y;
    if (row >= M || column >= N) return;
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
}
