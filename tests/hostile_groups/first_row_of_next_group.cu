/*---
summary: writes one row too many, which is the first of the next group
order: 7
symbol: gemm
kinds: [groups]
precisions: [f32]
layouts: [nn]
args: [M, N, K, alpha, A, B, beta, C, offsets, groups]
grid:
  - cdiv(N, 16)
block:
  - 16
  - 16
---*/

// The guard is off by one. The last group is computed first, so that the row stays.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                const int* offsets, int groups) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int group = groups - 1; group >= 0; --group) {
        const int first = offsets[group], rows = offsets[group + 1] - first, end = rows + 1;
        for (int row = threadIdx.y; row < end && first + row < M && column < N; row += blockDim.y) {
            const float* a = A + size_t(first + row) * K;
            const float* b = B + size_t(group) * K * N + column;
            float* c = C + size_t(first + row) * N + column;
            float sum = 0;
            for (int k = 0; k < K; ++k) sum += a[k] * b[size_t(k) * N];
            *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
        }
        __syncthreads();
    }
}
