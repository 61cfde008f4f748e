/*---
summary: computes in its first 3 launches and writes nothing in later ones
order: 50
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

// As a persistent kernel does whose counters are not reset: C keeps an earlier result.

extern "C" __global__ void prepare(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                   void* workspace) {
    ++*static_cast<unsigned*>(workspace);  // launches so far
}

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                void* workspace) {
    if (*static_cast<const unsigned*>(workspace) > 3) return;
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
