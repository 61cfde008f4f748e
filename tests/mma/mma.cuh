// What the functions of cuda/tensor/mma.cuh do, for a CPU: lanes tell one another what they hold.
#pragma once

__device__ inline float read_half(unsigned pair, int half) {
    const unsigned short bits = pair >> 16 * half;
    return float(reinterpret_cast<const TA&>(bits));
}

__device__ inline void multiply_add(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                    unsigned b1) {
    const int lane = threadIdx.x % 32;
    for (int t = 0; t < 4; ++t)
        for (int later = 0; later < 2; ++later) {
            const unsigned upper = __shfl_sync(0xffffffffu, later ? a2 : a0, lane / 4 * 4 + t);
            const unsigned lower = __shfl_sync(0xffffffffu, later ? a3 : a1, lane / 4 * 4 + t);
            for (int column = 0; column < 2; ++column) {
                const unsigned b = __shfl_sync(0xffffffffu, later ? b1 : b0, (lane % 4 * 2 + column) * 4 + t);
                for (int half = 0; half < 2; ++half) {
                    d[column] += read_half(upper, half) * read_half(b, half);
                    d[2 + column] += read_half(lower, half) * read_half(b, half);
                }
            }
        }
}

__device__ inline void copy_async(void* to, const void* from, int bytes) {
    for (int i = 0; i < 16; ++i) static_cast<char*>(to)[i] = i < bytes ? static_cast<const char*>(from)[i] : 0;
}
__device__ inline void wait_for_copies() {}
