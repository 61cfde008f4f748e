// Stores the sums of a warpgroup as elements of C.

#pragma once

#include "finish.cuh"
#include "wgmma.cuh"

// Store two neighbouring elements of a row, which begin at a multiple of their size.
__device__ inline void store_pair(TC* c, float first, float second) {
    if constexpr (sizeof(TC) == 4) *reinterpret_cast<float2*>(c) = make_float2(first, second);
    else *reinterpret_cast<unsigned*>(c) = pack(first, second);
}

// Store whichever of two neighbouring elements of a row are in C; the first is in an even column.
__device__ inline void store_neighbours(float sum, float next, int M, int columns, int m, int n, float alpha,
                                        float beta, TC* C, const TC* bias) {
    if (m >= M || n >= columns) return;
    TC* const c = C + size_t(m) * columns + n;
    const float first = finish(sum, alpha, beta, c, bias, n);
    if (columns % 2 == 0) {
        store_pair(c, first, finish(next, alpha, beta, c + 1, bias, n + 1));
    } else {
        *c = TC(first);
        if (n + 1 < columns) c[1] = TC(finish(next, alpha, beta, c + 1, bias, n + 1));
    }
}

// Store the sums of a warpgroup: 64 x N of C, starting at (row0, column0). Each thread stores its own sums, which are
// pairs of neighbours: see multiply_add.
template <int N>
__device__ void store_sums(const float (&sum)[N / 2], int M, int columns, int row0, int column0, float alpha,
                           float beta, TC* C, const TC* bias) {
    const int lane = threadIdx.x % 32, row = row0 + threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < N / 2; i += 2)
        store_neighbours(sum[i], sum[i + 1], M, columns, row + i / 2 % 2 * 8, column0 + i / 4 * 8 + lane % 4 * 2, alpha,
                         beta, C, bias);
}
