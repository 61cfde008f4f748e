/*---
summary: keeps the compiler busy for minutes
order: 2
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

// Right, but slow to compile: g++ takes about three minutes, nvcc more than ten, both at most 2 GB.
// 48 functions that are never called hold 512 branches each, every one of which depends on the one
// before. Whatever stops the compiler must stop its children too.

#define EIGHT(text) text text text text text text text text
#define BRANCH if (c[x & 1023] > s) { s = s * c[x] + x; x = x * 5 + n; } else c[x >> 3] = s;

template <int n> __device__ __noinline__ float slow(TC* c, int x, float s) {
    EIGHT(EIGHT(EIGHT(BRANCH)))
    return s + x + slow<n - 1>(c, x, s);
}
template <> __device__ float slow<0>(TC*, int, float s) { return s; }

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    if (K < 0) sum = slow<48>(C, column, sum);
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
