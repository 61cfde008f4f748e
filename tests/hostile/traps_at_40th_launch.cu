/*---
summary: traps at its fortieth launch
order: 77
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

// It ends its process, or its context, while it is timed.

extern "C" __global__ void prepare(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                   void* workspace) {
    if (++*static_cast<unsigned*>(workspace) == 40) __trap();
}

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                void* workspace) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
