/*---
summary: bias and softmax of each row as a separate pass
symbol: softmax
computes: pass
precisions: [f32, f16, bf16]
layouts: [nn]
epilogue: [bias, softmax]
args: [M, N, C, bias]
params:
  WARPS: [4]
grid:
  - cdiv(M, WARPS)
block:
  - 32 * WARPS
---*/

// C = softmax(C + bias) row by row, in place. One warp per row. The largest value is subtracted first, so that no
// exponential overflows. Bound by its launch.

extern "C" __global__ void softmax(int M, int N, TC* C, const TC* bias) {
    const int row = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= M) return;  // a whole warp
    TC* const c = C + size_t(row) * N;
    const auto value = [=](int j) { return TACC(c[j]) + (BIAS ? TACC(bias[j]) : TACC(0)); };

    TACC most = -INFINITY, sum = 0;
    for (int j = lane; j < N; j += 32) most = fmaxf(most, value(j));
#pragma unroll
    for (int flip = 16; flip; flip /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, flip));
    for (int j = lane; j < N; j += 32) {
        const TACC power = expf(value(j) - most);
        c[j] = TC(power);
        sum += power;
    }
#pragma unroll
    for (int flip = 16; flip; flip /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, flip);
    for (int j = lane; j < N; j += 32) c[j] = TC(TACC(c[j]) / sum);
}
