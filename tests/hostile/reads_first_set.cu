/*---
summary: multiplies the operands of its first launch in every launch
order: 53
precisions: [f32]
layouts: [nn]
workspace: 32
zeroed: 32
state: true
launches:
  - symbol: prepare
    grid: [1]
    block: [1]
  - symbol: gemm
    grid: ["cdiv(N, 16)", "cdiv(M, 16)"]
    block: [16, 16]
---*/

// As a tensor map does that is written once: the operands of one set stay in L2.

struct Kept {
    unsigned launches;
    const TA* A;
    const TB* B;
};

extern "C" __global__ void prepare(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                   void* workspace) {
    Kept& kept = *static_cast<Kept*>(workspace);
    if (kept.launches++) return;
    kept.A = A;
    kept.B = B;
}

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                void* workspace) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    const Kept& kept = *static_cast<const Kept*>(workspace);
    A = kept.A;
    B = kept.B;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
