// What all GPUs since compute capability 8.0 have: the warp-level product for 16-bit operands, and copies in the
// background.

#pragma once

#include <cuda_fp16.h>

#include <type_traits>

// d += A B, 16 x 8 and 16 k. Lane 4 g + t holds the elements of row g of A at k 2 t, 2 t + 1 and at 2 t + 8, 2 t + 9 in
// a[0] and a[2], and those of row g + 8 in a[1] and a[3]; b0 and b1 hold the elements of column g of B at these k; d[0]
// and d[1] hold the sums of row g in columns 2 t and 2 t + 1, and d[2] and d[3] those of row g + 8.
__device__ inline void multiply_add(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                    unsigned b1) {
#define MULTIPLY_ADD(TYPE)                                                                                        \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
        "{%0, %1, %2, %3};"                                                                                       \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                          \
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))
    if constexpr (std::is_same_v<TA, __half>) MULTIPLY_ADD("f16");
    else MULTIPLY_ADD("bf16");
#undef MULTIPLY_ADD
}

// Copy 16 bytes to shared memory in the background; those after the first `bytes` are zeros.
__device__ inline void copy_async(void* to, const void* from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(unsigned(__cvta_generic_to_shared(to))), "l"(from),
                 "r"(bytes)
                 : "memory");
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }  // of this thread
