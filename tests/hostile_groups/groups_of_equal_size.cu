/*---
summary: takes the rows of A as if all groups had the same number of them
order: 9
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

// As a batch does: the rows of A of a group begin at its number times the mean.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                const int* offsets, int groups) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    const int group = blockIdx.z, first = offsets[group], rows = offsets[group + 1] - first;
    if (row >= rows || column >= N) return;
    const int begin = min(group * (M / groups), M - rows);
    const float* a = A + size_t(begin + row) * K;
    const float* b = B + size_t(group) * K * N + column;
    float* c = C + size_t(first + row) * N + column;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += a[k] * b[size_t(k) * N];
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
