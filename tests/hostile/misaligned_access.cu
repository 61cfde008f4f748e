/*---
summary: loads a float4 from an address that is not a multiple of 16
order: 7
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

// The float4 begins at the second element of A.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    const float4 four = *reinterpret_cast<const float4*>(A + 1);
    TACC sum = 0 * (four.x + four.y + four.z + four.w);
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
