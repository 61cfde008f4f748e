/*---
summary: computes with two TF32 parts of each factor
order: 44
symbol: gemm
precisions: [f32, 3xtf32]
layouts: [nn]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// As tensor cores can: three products of TF32 parts keep 22 of 24 bits.

// To nearest: add half of the last bit that is kept, then cut off the rest.
__device__ float tf32(float x) { return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u); }

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC large = 0, small = 0;
    for (int k = 0; k < K; ++k) {
        const float a = A[size_t(row) * K + k], b = B[size_t(k) * N + column];
        const float a0 = tf32(a), a1 = tf32(a - a0), b0 = tf32(b), b1 = tf32(b - b0);
        large += a0 * b0;
        small += a0 * b1 + a1 * b0;
    }
    const TACC sum = small + large;
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
