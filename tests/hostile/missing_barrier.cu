/*---
summary: reads a tile before it is complete
order: 40
symbol: gemm
precisions: [f32]
layouts: [nn]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// Tiles of 16 x 16 in shared memory, without __syncthreads() between the stores and the loads.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[16][16];
    __shared__ TB Bs[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    TACC sum = 0;
    for (int first = 0; first < K; first += 16) {
        As[y][x] = row < M && first + x < K ? A[size_t(row) * K + first + x] : TA(0);
        Bs[y][x] = column < N && first + y < K ? B[size_t(first + y) * N + column] : TB(0);
        for (int k = 0; k < 16; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    if (row >= M || column >= N) return;

    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
