/*---
summary: multiplies with the scale of A twice, once in place of that of B
order: 15
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

// The address is that of the scale of B, but in the array of A.

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
        sum += part * scale_a[size_t(step) * M + row] * scale_a[size_t(column / 128) * pitch + step];
    }
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * float(*c));
}
