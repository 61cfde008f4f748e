/*---
summary: uses the scale of B of its first launch in every later one
order: 14
symbol: gemm
precisions: [e4m3_tensor]
layouts: [nt]
workspace: 8 * M * N
zeroed: 8 * M * N
state: true
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// As a launcher does that reads a scale once and passes it by value.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C,
                                const float* scale_a, const float* scale_b, void* workspace) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    float* const kept = static_cast<float*>(workspace) + 2 * (size_t(row) * N + column);
    if (kept[1] == 0) kept[0] = *scale_b;
    kept[1] = 1;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += float(A[size_t(row) * K + k]) * float(B[size_t(column) * K + k]);
    sum *= *scale_a * kept[0];
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * float(*c));
}
