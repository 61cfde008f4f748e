/*---
summary: leaves out the last k of one group
order: 12
symbol: gemm
kinds: [groups]
precisions: [f32]
layouts: [nn]
args: [M, N, K, alpha, A, B, beta, C, offsets, groups]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
  - groups
block:
  - 16
  - 16
---*/

// As a special case for short groups does.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                const int* offsets, int groups) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    const int group = blockIdx.z, first = offsets[group], rows = offsets[group + 1] - first;
    if (row >= rows || column >= N) return;
    const float* a = A + size_t(first + row) * K;
    const float* b = B + size_t(group) * K * N + column;
    float* c = C + size_t(first + row) * N + column;
    const int depth = rows == 1 ? K - 1 : K;
    float sum = 0;
    for (int k = 0; k < depth; ++k) sum += a[k] * b[size_t(k) * N];
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
