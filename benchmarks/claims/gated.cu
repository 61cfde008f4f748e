/*---
summary: square tiles in shared memory; the claim `gate` makes it slower
order: 30
symbol: gemm
precisions: [f32]
layouts: [nn]
params:
  TILE: [16]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - TILE
  - TILE
---*/

// The claim writes copies of this file with another EXTRA. Each extra tile costs as much as a tile of K,
// and its sum is never stored.
constexpr int EXTRA = 0;

__device__ __forceinline__ float multiply_tile(const float* a, const float* b, bool row, bool column, int left,
                                               float As[TILE][TILE], float Bs[TILE][TILE]) {
    const int tx = threadIdx.x, ty = threadIdx.y;
    const float a_new = row && tx < left ? *a : 0.0f;
    const float b_new = column && ty < left ? *b : 0.0f;
    __syncthreads();
    As[ty][tx] = a_new;
    Bs[ty][tx] = b_new;
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
    return sum;
}

extern "C" __global__ void __launch_bounds__(TILE * TILE)
    gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    const int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
    const float* a = A + size_t(i) * K + threadIdx.x;
    const float* b = B + size_t(threadIdx.y) * N + j;

    float sum = 0, extra = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        sum += multiply_tile(a + k0, b + size_t(k0) * N, i < M, j < N, K - k0, As, Bs);
    }
    for (int tile = 0; tile < EXTRA; ++tile) {
        const int k0 = tile * TILE % K;
        extra += multiply_tile(a + k0, b + size_t(k0) * N, i < M, j < N, K - k0, As, Bs);
    }
    if (extra == 1.234567e30f) sum = extra;  // never, but the compiler cannot know

    if (i >= M || j >= N) return;
    float* c = C + size_t(i) * N + j;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
