/*---
summary: rounds its sums to bf16 before it applies their scales
order: 5
symbol: gemm
precisions: [e4m3_rows]
layouts: [nt]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// As a GEMM does whose result is scaled by a second kernel.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C,
                                const float* scale_a, const float* scale_b) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += float(A[size_t(row) * K + k]) * float(B[size_t(column) * K + k]);
    sum = float(__nv_bfloat16(sum)) * (scale_a[row] * scale_b[column]);
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * float(*c));
}
