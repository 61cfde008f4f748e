/*---
summary: copies B in its first launch and uses the copy in every later one
order: 54
precisions: [f32]
layouts: [nn]
workspace: 16 + 4 * K * N
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

// As a kernel does that arranges B once and times the rest.

extern "C" __global__ void prepare(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                   void* workspace) {
    unsigned& launches = *static_cast<unsigned*>(workspace);
    TB* kept = static_cast<TB*>(workspace) + 4;
    if (launches++) return;
    for (size_t k = 0; k < K; ++k)
        for (size_t column = 0; column < N; ++column) kept[k * N + column] = B[k * N + column];
}

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                void* workspace) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    B = static_cast<const TB*>(workspace) + 4;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
