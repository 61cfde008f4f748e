/*---
summary: K in SPLITS parts, whose sums in the workspace a second kernel adds up
order: 1
precisions: [f32]
layouts: [nn, nt, tn, tt]
params:
  SPLITS: [3, 1]
workspace: 4 * M * N * SPLITS if SPLITS > 1 else 0
zeroed: 4 * M * N * SPLITS if SPLITS > 1 else 0  # the second kernel resets it
launches:
  - symbol: parts
    grid:
      - cdiv(N, 16)
      - cdiv(M, 16)
      - SPLITS
    block: [16, 16]
  - symbol: total
    grid:
      - cdiv(M * N, 64)
    block: [64]
    when: SPLITS > 1
---*/

__device__ void store(TC* c, TACC alpha, TACC sum, TACC beta) { *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c; }

extern "C" __global__ void parts(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                 void* workspace) {
    __shared__ TACC a[16][17], b[16][17];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    const int length = (K + SPLITS - 1) / SPLITS, first = blockIdx.z * length, last = min(K, first + length);
    TACC sum = 0;
    for (int k0 = first; k0 < last; k0 += 16) {
        const int ka = k0 + x, kb = k0 + y;
        a[y][x] = row < M && ka < last ? A[TRANS_A ? ka * M + row : row * K + ka] : 0;
        b[y][x] = column < N && kb < last ? B[TRANS_B ? column * K + kb : kb * N + column] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (row >= M || column >= N) return;
    if (SPLITS > 1) static_cast<TACC*>(workspace)[(blockIdx.z * M + row) * N + column] += sum;
    else store(C + row * N + column, alpha, sum, beta);
}

extern "C" __global__ void total(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                 void* workspace) {
    const int i = blockIdx.x * 64 + threadIdx.x, count = M * N;
    if (i >= count) return;
    TACC sum = 0;
    for (int part = 0; part < SPLITS; ++part) {
        TACC& own = static_cast<TACC*>(workspace)[part * count + i];
        sum += own;
        own = 0;  // reset to its initial value
    }
    store(C + i, alpha, sum, beta);
}
