"""
summary: returns an array of CuPy, from a kernel in a string
order: 32
precisions: [f32]
layouts: [nn]
packages: [cupy]
call: product(A, B)
returns: true
"""

import cupy

# CuPy compiles with -ftz=true, which __fmaf_ieee_rn ignores.
CODE = r"""
extern "C" __global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum = __fmaf_ieee_rn(A[row * K + k], B[k * N + column], sum);
    C[row * N + column] = sum;
}
"""
multiply = cupy.RawKernel(CODE, "multiply")


def product(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = cupy.empty((M, N), a.dtype)
    grid, block = ((N + 15) // 16, (M + 15) // 16), (16, 16)
    multiply(grid, block, (cupy.int32(M), cupy.int32(N), cupy.int32(K), a, b, c))
    return c
