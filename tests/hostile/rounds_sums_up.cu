/*---
summary: rounds each sum upwards
order: 75
symbol: gemm
precisions: [f32]
layouts: [nn]
grid: ["cdiv(N, 16)", "cdiv(M, 16)"]
block: [16, 16]
---*/

// Its sums are off by more than those of a kernel of f32, and all in one direction.

__device__ TACC add_upwards(TACC sum, double product) {
    const double exact = sum + product;
    const TACC rounded = static_cast<TACC>(exact);
    return rounded < exact ? nextafterf(rounded, INFINITY) : rounded;
}

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum = add_upwards(sum, double(A[size_t(row) * K + k]) * B[size_t(k) * N + column]);
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
