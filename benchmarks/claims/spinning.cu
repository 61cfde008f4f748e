/*---
summary: square tiles in shared memory, and SPIN idle cycles at the end of each block
order: 31
symbol: gemm
precisions: [f32]
layouts: [nn]
params:
  SPIN: [0, 1000]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#shared-memory
---*/

// A kernel that can be slowed down by a small amount, to test whether the comparison detects that.

#define TILE 16

extern "C" __global__ void __launch_bounds__(TILE * TILE)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[TILE][TILE];
    __shared__ TB Bs[TILE][TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    TACC sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[ty][tx] = row < M && k0 + tx < K ? A[size_t(row) * K + k0 + tx] : TA(0);
        Bs[ty][tx] = k0 + ty < K && column < N ? B[size_t(k0 + ty) * N + column] : TB(0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();  // before the tiles are overwritten
    }
    if (SPIN > 0) {
        const long long start = clock64();
        while (clock64() - start < SPIN) {}
    }
    if (row >= M || column >= N) return;
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;  // beta 0: C is not read
}
