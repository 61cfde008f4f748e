/*---
summary: writes its result also where the launch before wrote its own
order: 58
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

// A pointer to C is kept from launch to launch.

struct Kept {
    TC *before, *now;
};

extern "C" __global__ void prepare(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                   void* workspace) {
    Kept& kept = *static_cast<Kept*>(workspace);
    kept.before = kept.now;
    kept.now = C;
}

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                void* workspace) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
    TC* before = static_cast<const Kept*>(workspace)->before;
    if (before) before[size_t(row) * N + column] = *c;
}
