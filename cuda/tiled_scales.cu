/*---
summary: tiled in fp8 with scales; the sum of each block along K is multiplied with those of the block
order: 38
symbol: gemm
precisions: [e4m3_blocks, e4m3_rows, e4m3_tensor]
layouts: [nt, nn, tn, tt]
params:
  TILE: [16, 8, 32]
tile: [TILE, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - TILE
  - TILE
accesses:
  - load_sectors <= 32 // TILE
  - store_sectors <= max(2, 32 // TILE)
  - conflicts == 0
source: https://docs.nvidia.com/cuda/cublas/#scaling-factors-layouts
---*/

// Compared with tiled: the elements of A and B are 8-bit numbers whose largest value is 448, and the numbers that they
// stand for are these elements times scales. SCALE_M rows of A, SCALE_N columns of B and SCALE_K k share a scale; 0
// stands for all of them:
//
//     e4m3_tensor   one scale of A, one of B                      SCALE_M = SCALE_N = SCALE_K = 0
//     e4m3_rows     one of each row of A and column of B          SCALE_M = SCALE_N = 1, SCALE_K = 0
//     e4m3_blocks   A: one of 1 x 128, B: one of 128 x 128        SCALE_M = 1, SCALE_N = SCALE_K = 128
//
// A sum over k that share their scales is multiplied with both of them once. With blocks there are K / 128 such sums:
//
//      k ->  0          128         256
//            +-----------+-----------+---        sum = scale_a[0][row] * scale_b[column / 128][0] * (products 0 to 127)
//     row    |  . . . .  |  . . . .  |               + scale_a[1][row] * scale_b[column / 128][1] * (128 to 255)
//            +-----------+-----------+---            + ...
//
// Bound by shared memory, as tiled is: two loads for each multiply-add. The two scales of a block are read once for 128
// of them, so they cost next to nothing. wgmma_fp8_blocks does the same on tensor cores.

constexpr int kDepth = SCALE_K ? SCALE_K : 1 << 30;  // k that share their scales

// The scales at step number `step` along K. Those of A lie row by row next to each other. So do those of B, column by
// column, unless several columns share one: then the steps along K lie next to each other.
__device__ float find_scale_a(const float* scale_a, int M, int row, int step) {
    return SCALE_M ? scale_a[size_t(step) * M + row] : *scale_a;
}
__device__ float find_scale_b(const float* scale_b, int N, int K, int column, int step) {
#if SCALE_N > 1
    const int pitch = ((K + kDepth - 1) / kDepth + 3) / 4 * 4;  // rows begin at multiples of 16 bytes
    return scale_b[size_t(column / SCALE_N) * pitch + step];
#else
    return SCALE_N ? scale_b[size_t(step) * N + column] : *scale_b;
#endif
}

extern "C" __global__ void __launch_bounds__(TILE * TILE)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const float* scale_a,
         const float* scale_b) {
    __shared__ TA As[TILE][TILE + 4];
    __shared__ TB Bs[TILE][TILE + 4];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1, b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int tx = threadIdx.x, ty = threadIdx.y, row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
    const int row = row0 + ty, column = column0 + tx;
    // The element of each tile that this thread loads; threadIdx.x runs along the rows in memory.
    const int a_row = TRANS_A ? tx : ty, a_depth = TRANS_A ? ty : tx;
    const int b_depth = TRANS_B ? tx : ty, b_column = TRANS_B ? ty : tx;
    const int i = row0 + a_row, j = column0 + b_column;

    TACC sum = 0, partial = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        const bool has_a = i < M && k0 + a_depth < K, has_b = j < N && k0 + b_depth < K;
        const TA a = has_a ? A[i * a_i + (k0 + a_depth) * a_k] : TA(0);
        const TB b = has_b ? B[(k0 + b_depth) * b_k + j * b_j] : TB(0);
        __syncthreads();
        As[a_row][a_depth] = a;
        Bs[b_depth][b_column] = b;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) partial += TACC(As[ty][k]) * TACC(Bs[k][tx]);
        const int end = k0 + TILE;
        if (row < M && column < N && (end >= K || end % kDepth == 0)) {
            const int step = k0 / kDepth;
            sum += partial * (find_scale_a(scale_a, M, row, step) * find_scale_b(scale_b, N, K, column, step));
            partial = 0;
        }
    }
    if (row >= M || column >= N) return;
    TC* const c = C + size_t(row) * N + column;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
}
