/*---
summary: needs more registers than an SM has
order: 5
symbol: gemm
precisions: [f32]
layouts: [nn]
grid:
  - cdiv(N, 512)
  - cdiv(M, 256)
block:
  - 32
  - 32
---*/

// Right where it can run, such as on a CPU. A thread keeps 8 x 16 sums, about 150 registers. 1024
// such threads need twice what an SM has, and without __launch_bounds__ the compiler cannot know.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * 256 + threadIdx.y * 8, column = blockIdx.x * 512 + threadIdx.x * 16;
    TACC sum[8][16] = {};
    for (int k = 0; k < K; ++k) {
        TACC a[8], b[16];
        for (int i = 0; i < 8; ++i) a[i] = row + i < M ? A[size_t(row + i) * K + k] : TA(0);
        for (int j = 0; j < 16; ++j) b[j] = column + j < N ? B[size_t(k) * N + column + j] : TB(0);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 16; ++j) sum[i][j] += a[i] * b[j];
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 16; ++j) {
            if (row + i >= M || column + j >= N) continue;
            TC* c = C + size_t(row + i) * N + column + j;
            *c = beta == 0 ? alpha * sum[i][j] : alpha * sum[i][j] + beta * *c;
        }
}
