/*---
summary: computes in every second launch only, unless C holds NaN
order: 71
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

// Two launches on the same operands in turn would hide it.

extern "C" __global__ void prepare(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                   void* workspace) {
    ++*static_cast<unsigned*>(workspace);  // launches so far
}

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                void* workspace) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TC* c = C + size_t(row) * N + column;
    if (beta == 0 && *static_cast<const unsigned*>(workspace) % 2 == 0 && *c == *c) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
