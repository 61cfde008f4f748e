/*---
summary: sums in the opposite order in every second launch
order: 60
precisions: [f32]
layouts: [nn]
workspace: 16
zeroed: 16
state: true
launches:
  - symbol: prepare
    grid: [1]
    block: [1]
  - symbol: gemm
    grid: ["cdiv(N, 16)", "cdiv(M, 16)"]
    block: [16, 16]
---*/

// Right within rounding, but not repeatable, and the manifest does not say so.

extern "C" __global__ void prepare(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                   void* workspace) {
    ++*static_cast<unsigned*>(workspace);  // launches so far
}

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                void* workspace) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    const bool backwards = *static_cast<const unsigned*>(workspace) % 2;
    TACC sum = 0;
    for (int i = 0; i < K; ++i) {
        const int k = backwards ? K - 1 - i : i;
        sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    }
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
