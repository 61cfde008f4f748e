/*---
summary: the steps of an epilogue as a separate pass over C, for a kernel that does not fuse them
symbol: apply_epilogue
computes: pass
precisions: [f32, tf32, 3xtf32, f64, f16, f16_f16, bf16, f16_f32, bf16_f32, e4m3, e4m3_fast, e5m2, e5m2_fast, int8]
layouts: [nn, nt, tn, tt]
kinds: [one, many, groups, padded, separate_c]
epilogue: [bias, residual, scale, relu, gelu, gelu_tanh, silu]
args: [M, N, count, D, ldd, bias, residual, scale, offsets, groups]
params:
  THREADS: [256]
  PER_THREAD: [4]
grid:
  - cdiv(count * M * N, THREADS * PER_THREAD)
block:
  - THREADS
---*/

// Applies EPILOGUE, one assignment to `value` per step, to every element of the result in place. A thread takes PER_THREAD
// elements, THREADS apart, so that neighbouring threads touch neighbouring elements. The rows of groups lie below one
// another, and a search finds the group of an element. Bound by DRAM for a large C, by its launch for one that lies in
// L2.

template <class Sum> struct Wide { using type = float; };
template <> struct Wide<double> { using type = double; };
template <> struct Wide<int> { using type = double; };
using Real = Wide<TACC>::type;

// The group that has a row: the last one that does not begin after it.
__device__ inline int find_group(const int* offsets, int groups, int row) {
    int found = 0;
    for (int end = groups; end - found > 1;) {
        const int middle = (found + end) / 2;
        if (offsets[middle] <= row) found = middle;
        else end = middle;
    }
    return found;
}

extern "C" __global__ void apply_epilogue(int M, int N, int count, TC* D, int ldd, const TC* bias,
                                          const TC* residual, const Real* scale, const int* offsets, int groups) {
    const size_t elements = size_t(count) * M * N, first = size_t(blockIdx.x) * THREADS * PER_THREAD + threadIdx.x;
    for (int each = 0; each < PER_THREAD; ++each) {
        const size_t at = first + size_t(each) * THREADS;
        if (at >= elements) return;
        const size_t product = groups ? find_group(offsets, groups, at / N) : at / (size_t(M) * N), column = at % N;
        TC* const element = D + at / N * ldd + column;
        Real value = Real(*element);
        EPILOGUE
        *element = TC(value);
    }
}
