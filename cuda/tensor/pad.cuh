// Copies of operands whose rows are no multiples of 16 bytes, which TMA cannot fetch.

#pragma once

#include "unaligned.cuh"

// What TMA fetches: the operands, or copies of them in the workspace, first that of A.
struct Operands {
    int rows_a, columns_a, rows_b, columns_b;  // as stored
    bool copies_a, copies_b;

    __device__ Operands(int M, int N, int K)
        : rows_a(TRANS_A ? K : M), columns_a(TRANS_A ? M : K), rows_b(TRANS_B ? N : K), columns_b(TRANS_B ? K : N),
          copies_a(columns_a % kWide != 0), copies_b(columns_b % kWide != 0) {}

    // Elements of the copies.
    __device__ size_t count_a() const { return copies_a ? size_t(rows_a) * padded(columns_a) : 0; }
    __device__ size_t count_b() const { return copies_b ? size_t(rows_b) * padded(columns_b) : 0; }

    // The whole grid copies.
    __device__ void copy(const TA* A, const TB* B, void* to) const {
        start_next_launch();
        await_launch_before();
        constexpr int kWarps = kPadThreads / 32;  // of a block; neighbours in memory go to different blocks
        const int warp = threadIdx.x / 32 * gridDim.x + blockIdx.x, warps = gridDim.x * kWarps;
        if (copies_a) pad_matrix(A, static_cast<TA*>(to), rows_a, columns_a, warp, warps);
        if (copies_b) pad_matrix(B, static_cast<TB*>(to) + count_a(), rows_b, columns_b, warp, warps);
    }
};
