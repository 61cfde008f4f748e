/*---
summary: has as many tiles as all rows need together
order: 15
symbol: gemm
kinds: [groups]
precisions: [f32]
layouts: [nn]
args: [M, N, K, alpha, A, B, beta, C, offsets, groups]
grid:
  - cdiv(N, 16)
  - cdiv(M, 4)
block:
  - 16
  - 4
---*/

// Each group begins a tile of its own, so that groups need more tiles than one product of as many rows.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                const int* offsets, int groups) {
    int group = 0, tile = blockIdx.y;
    for (; group < groups; ++group) {
        const int tiles = (offsets[group + 1] - offsets[group] + 3) / 4;
        if (tile < tiles) break;
        tile -= tiles;
    }
    if (group == groups) return;
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
