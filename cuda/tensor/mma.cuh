// What all GPUs since compute capability 8.0 have: warp-level products, loads of their fragments, and copies in the
// background.

#pragma once

#include <cuda_fp16.h>

#include <type_traits>

// d += A B, 16 x 8 and 16 k. Lane 4 g + t holds the elements of row g of A at k 2 t, 2 t + 1 and at 2 t + 8, 2 t + 9 in
// a0 and a2, and those of row g + 8 in a1 and a3; b0 and b1 hold the elements of column g of B at these k. d[0], d[1]
// are the sums of row g in columns 2 t and 2 t + 1, and d[2], d[3] those of row g + 8. In tf32 there are 8 k, and a
// register holds one element, at k t or t + 4.
__device__ inline void multiply_add(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                    unsigned b1) {
#define MULTIPLY_ADD(SHAPE, TYPE)                                                                                     \
    asm("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
        "{%0, %1, %2, %3};"                                                                                           \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                              \
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))
    if constexpr (sizeof(TA) == 4) MULTIPLY_ADD("m16n8k8", "tf32");
    else if constexpr (std::is_same_v<TA, __half>) MULTIPLY_ADD("m16n8k16", "f16");
    else MULTIPLY_ADD("m16n8k16", "bf16");
#undef MULTIPLY_ADD
}
// The same with sums in f16: d[0] holds those of row g, and d[1] those of row g + 8.
__device__ inline void multiply_add(unsigned (&d)[2], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                    unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(d[0]), "+r"(d[1])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
// Sum i of the two in a register.
__device__ inline float read_half(unsigned pair, int i) { return __half2float(__ushort_as_half(pair >> i * 16)); }
// TF32 keeps 10 bits after the point: round to nearest, because the instruction would truncate the others.
__device__ inline unsigned round_to_tf32(unsigned bits) {
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
    return rounded;
}

// Where something lies in shared memory.
__device__ inline unsigned address(const void* shared) { return unsigned(__cvta_generic_to_shared(shared)); }

__device__ inline void store_shared(unsigned to, uint4 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
}
__device__ inline unsigned load_shared(unsigned from) {
    unsigned value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(from));
    return value;
}
// Lane i supplies the address of row i % 8 of matrix i / 8; register j of a lane is its part of matrix j.
template <bool TRANSPOSED> __device__ void load_matrices(unsigned (&to)[4], unsigned row) {
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(row));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(row));
}

// Copy SIZE bytes, 4, 8 or 16, to shared memory in the background; those after the first `bytes` are zeros.
template <int SIZE> __device__ void copy_async(unsigned to, const void* from, int bytes) {
    if constexpr (SIZE == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(SIZE), "r"(bytes)
                     : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LATER> __device__ void wait_for_copies() {  // of this thread, for all groups except the last LATER
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}
