/*---
summary: bias and activation as a separate pass, for a GEMM that cannot fuse them
order: 0
symbol: activate
precisions: [f32]
layouts: [nn]
epilogue: [bias, relu]
params:
  THREADS: [256]
grid:
  - cdiv(M * N, THREADS)
block:
  - THREADS
---*/

// C = activation(beta C + bias), in place. Has the signature of every kernel; alpha is 0, so A and
// B are not read. One thread per element, neighbouring threads along a row. Bound by its launch:
// the C of a small layer lies in L2.

extern "C" __global__ void activate(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                    const TC* bias) {
    const int e = blockIdx.x * THREADS + threadIdx.x;
    if (e >= M * N) return;
    TACC value = beta * TACC(C[e]);
    if (BIAS) value += TACC(bias[e % N]);
    if (RELU && value < 0) value = 0;  // a NaN stays
    C[e] = TC(value);
}
