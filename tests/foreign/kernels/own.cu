/*---
summary: a manifest and a local header that uses its macros
order: 6
symbol: own
precisions: [f32]
layouts: [nn]
params: {ROWS: [4, 2]}
grid:
  - cdiv(N, 32)
  - cdiv(M, ROWS)
block: [32, ROWS]
---*/
#include <cassert>
#include "code/row_of.cuh"

extern "C" __global__ void own(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = row_of(), column = blockIdx.x * 32 + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
