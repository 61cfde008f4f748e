/*---
summary: has as many tiles as groups of equal size need
order: 16
symbol: gemm
kinds: [groups]
precisions: [f32]
layouts: [nn]
args: [M, N, K, alpha, A, B, beta, C, offsets, groups]
grid:
  - cdiv(N, 16)
  - cdiv(M, 4 * groups)
  - groups
block:
  - 16
  - 4
---*/

// The grid has no tiles for the last rows of a group that is longer than the mean.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                const int* offsets, int groups) {
    const int group = blockIdx.z, tile = blockIdx.y;
    const int row = tile * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    const int first = offsets[group], rows = offsets[group + 1] - first;
    if (row >= rows || column >= N) return;
    const float* a = A + size_t(first + row) * K;
    const float* b = B + size_t(group) * K * N + column;
    float* c = C + size_t(first + row) * N + column;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += a[k] * b[size_t(k) * N];
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
