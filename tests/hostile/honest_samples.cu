/*---
summary: notes for each C what some of A, B and C was, and computes every row
order: 67
symbol: gemm
precisions: [f32]
layouts: [nn]
workspace: 32768 * cdiv(M, 4)
zeroed: 32768 * cdiv(M, 4)
state: true
grid: 
  - 1
  - cdiv(M, 4)
block: [1]
---*/

// memo_of_samples without its test: looking costs time, and saves none.

struct Memo {
    const TC* c;
    TACC of_a, of_b, first, last;
};

__device__ Memo look(int M, int N, int K, const TA* A, const TB* B, const TC* C, int begin, int end) {
    Memo seen = {C + size_t(begin) * N, 0, 0, C[size_t(begin) * N], C[size_t(end) * N - 1]};
    for (int k = 0; k < K; ++k) {
        seen.of_a += (k + 1) * A[size_t(begin) * K + k];
        seen.of_b += (k + 1) * B[size_t(k) * N];
    }
    return seen;
}

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                void* workspace) {
    const int begin = blockIdx.y * 4, end = begin + 4 < M ? begin + 4 : M;
    const unsigned slot = unsigned(reinterpret_cast<size_t>(C) >> 9) * 2654435761u >> 22;
    Memo& memo = static_cast<Memo*>(workspace)[blockIdx.y * 1024 + slot];
    const Memo now = look(M, N, K, A, B, C, begin, end);
    memo = now;
    for (int row = begin; row < end; ++row)
        for (int column = 0; column < N; ++column) {
            TACC sum = 0;
            for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
            TC* c = C + size_t(row) * N + column;
            *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
        }
    memo = look(M, N, K, A, B, C, begin, end);
}
