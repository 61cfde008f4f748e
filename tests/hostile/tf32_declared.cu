/*---
summary: rounds its factors to TF32, and says so
order: 45
symbol: gemm
precisions: [f32]
layouts: [nn]
class: tf32
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// Wrong if it were not declared: see tf32_inside.

// To nearest: add half of the last bit that is kept, then cut off the rest.
__device__ float tf32(float x) { return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u); }

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) {
        const float a = A[size_t(row) * K + k], b = B[size_t(k) * N + column];
        sum += tf32(a) * tf32(b);
    }
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
