/*---
summary: a bias and GELU with the hardware's approximation of tanh, one element of C per thread
symbol: gemm
precisions: [f32, f16, bf16]
layouts: [nn]
epilogue: [bias, gelu_tanh]
approx: 2^-11
grid:
  - cdiv(N, 32)
  - cdiv(M, 8)
block: [32, 8]
---*/

// __tanhf is one instruction from compute capability 7.5 on, tanh.approx.f32. It is off by up to 2^-11, and the factor
// of `value` by half of that. Without `approx`, the kernel is wrong. The CPU device computes tanh in full. Try it:
//
//     gemmbench verify examples/fast_gelu.cu --epilogue bias,gelu_tanh

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C,
                                const TC* bias) {
    const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += float(A[size_t(row) * K + k]) * float(B[size_t(k) * N + column]);
    TC* const c = C + size_t(row) * N + column;
    float value = beta == 0 ? alpha * sum : alpha * sum + beta * float(*c);
    if (BIAS) value += float(bias[column]);
    if (GELU_TANH) {
        const float inner = 0.7978845608f * (value + 0.044715f * value * value * value);
        value *= 0.5f + 0.5f * __tanhf(inner);
    }
    *c = TC(value);
}
