/*---
summary: adds four slices of K with atomics, whose order changes, and says so
order: 62
precisions: [f32]
layouts: [nn]
deterministic: false
launches:
  - symbol: prepare
    grid: ["cdiv(N, 16)", "cdiv(M, 16)"]
    block: [16, 16]
  - symbol: gemm
    grid: ["cdiv(N, 16)", "cdiv(M, 16)", 4]
    block: [16, 16]
---*/

// Right within rounding. Equal launches may differ in their last bits.

extern "C" __global__ void prepare(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? 0 : beta * *c;
}

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    const int share = (K + gridDim.z - 1) / gridDim.z, first = blockIdx.z * share;
    TACC sum = 0;
    for (int k = first; k < K && k < first + share; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    atomicAdd(C + size_t(row) * N + column, alpha * sum);
}
