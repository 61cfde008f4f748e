/*---
summary: multiplies columns with the scale of B of the next 128
order: 4
symbol: gemm
precisions: [e4m3_blocks]
layouts: [nt]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// The number of the block of columns is rounded up.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C,
                                const float* scale_a, const float* scale_b) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    const int steps = (K + 127) / 128, pitch = (steps + 3) / 4 * 4;
    float sum = 0;
    for (int step = 0; step < steps; ++step) {
        float part = 0;
        for (int k = step * 128; k < min(K, step * 128 + 128); ++k)
            part += float(A[size_t(row) * K + k]) * float(B[size_t(column) * K + k]);
        sum += part * scale_a[size_t(step) * M + row] * scale_b[size_t(min((column + 127) / 128, (N - 1) / 128)) * pitch + step];
    }
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * float(*c));
}
