// Instructions that only Hopper has: 8 x 8 matrices, and products of warpgroups.

#pragma once

#include <cuda_fp16.h>

#include "../common/hopper.cuh"

struct __nv_fp8_e5m2;  // of <cuda_fp8.h>, which other types do not need

// Tensor maps that are passed by value. From device memory, the first copy would wait for them.
template <int COUNT> struct Maps {
    CUtensorMap map[COUNT];
};

// ---- Matrices of 8 x 8 elements of 16 bits. Lane i supplies the address of row i % 8 of matrix i / 8; register j of
// a lane is its part of matrix j, two neighbouring elements of row lane / 4.

__device__ inline unsigned pack(float low, float high) {
    unsigned pair;
    if constexpr (std::is_same_v<TC, __half>)
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    else
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

// The two elements of a pair in f16.
__device__ inline float2 unpack(unsigned pair) { return __half22float2(reinterpret_cast<const __half2&>(pair)); }

__device__ inline void store_matrices(unsigned row, const unsigned (&v)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(v[0]), "r"(v[1]),
                 "r"(v[2]), "r"(v[3])
                 : "memory");
}

// Like store_matrices, but each matrix is transposed: register j of a lane has two neighbours of a column.
__device__ inline void store_transposed(unsigned column, const unsigned (&v)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(column), "r"(v[0]),
                 "r"(v[1]), "r"(v[2]), "r"(v[3])
                 : "memory");
}
__device__ inline void store_transposed(unsigned column, unsigned v, unsigned next) {  // two matrices
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(column), "r"(v), "r"(next) : "memory");
}

// ---- Sums in shared memory, of this block and of others of its cluster.

__device__ inline void store_in_block(unsigned to, int rank, float4 v) {
    asm volatile(
        "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; st.shared::cluster.v4.f32 [there], {%2, %3, %4, %5}; }" ::"r"(
            to),
        "r"(rank), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
        : "memory");
}
__device__ inline void store_sum(unsigned to, float v) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(v) : "memory");
}
__device__ inline float4 load_quad(unsigned from) {
    float4 v;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(from));
    return v;
}

// Synchronise the threads of a warpgroup.
__device__ inline void meet_group(int group) { asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory"); }

// ---- Products of a warpgroup: 64 rows of A, N columns of B and 32 bytes along K, all in shared memory; tile.cuh
// describes the operands.

// Writes to registers and shared memory before this are visible to the products after it.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LATER> __device__ void wait_for_products() {  // of all groups but the last LATER
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LATER) : "memory");
}

#define NAMES_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES_1 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_2 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define NAMES_3 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_4 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define NAMES_5 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NAMES_6 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define NAMES_7 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
// With this many registers:
#define NAMES_OF_4 "%0, %1, %2, %3"
#define NAMES_OF_8 NAMES_OF_4 ", %4, %5, %6, %7"
#define NAMES_OF_12 NAMES_OF_8 ", %8, %9, %10, %11"
#define NAMES_OF_16 NAMES_0
#define NAMES_OF_24 NAMES_OF_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define NAMES_OF_32 NAMES_OF_16 ", " NAMES_1
#define NAMES_OF_48 NAMES_OF_32 ", " NAMES_2
#define NAMES_OF_64 NAMES_OF_48 ", " NAMES_3
#define NAMES_OF_80 NAMES_OF_64 ", " NAMES_4
#define NAMES_OF_96 NAMES_OF_80 ", " NAMES_5
#define NAMES_OF_112 NAMES_OF_96 ", " NAMES_6
#define NAMES_OF_128 NAMES_OF_112 ", " NAMES_7
#define SUMS_4(KIND, i) "+" KIND(d[i]), "+" KIND(d[i + 1]), "+" KIND(d[i + 2]), "+" KIND(d[i + 3])
#define SUMS_16(KIND, i) SUMS_4(KIND, i), SUMS_4(KIND, i + 4), SUMS_4(KIND, i + 8), SUMS_4(KIND, i + 12)
#define SUMS_OF_4(KIND) SUMS_4(KIND, 0)
#define SUMS_OF_8(KIND) SUMS_OF_4(KIND), SUMS_4(KIND, 4)
#define SUMS_OF_12(KIND) SUMS_OF_8(KIND), SUMS_4(KIND, 8)
#define SUMS_OF_16(KIND) SUMS_16(KIND, 0)
#define SUMS_OF_24(KIND) SUMS_OF_16(KIND), SUMS_4(KIND, 16), SUMS_4(KIND, 20)
#define SUMS_OF_32(KIND) SUMS_OF_16(KIND), SUMS_16(KIND, 16)
#define SUMS_OF_48(KIND) SUMS_OF_32(KIND), SUMS_16(KIND, 32)
#define SUMS_OF_64(KIND) SUMS_OF_48(KIND), SUMS_16(KIND, 48)
#define SUMS_OF_80(KIND) SUMS_OF_64(KIND), SUMS_16(KIND, 64)
#define SUMS_OF_96(KIND) SUMS_OF_80(KIND), SUMS_16(KIND, 80)
#define SUMS_OF_112(KIND) SUMS_OF_96(KIND), SUMS_16(KIND, 96)
#define SUMS_OF_128(KIND) SUMS_OF_112(KIND), SUMS_16(KIND, 112)
// The operands after the sums continue their numbers: A, B, and whether to add. 16-bit operands may run along M and N,
// which two more operands specify.
#define MAJORS(ALONG_M, ALONG_N) ", %" ALONG_M ", %" ALONG_N
#define NO_MAJORS(ALONG_M, ALONG_N)
#define PRODUCT(N, REGISTERS, KIND, TYPES, A, B, ADDS, TAIL)                                                        \
    asm volatile("{ .reg .pred adds; setp.ne.s32 adds, %" ADDS ", 0; wgmma.mma_async.sync.aligned.m64n" #N TYPES    \
                 " {" NAMES_OF_##REGISTERS "}, %" A ", %" B ", adds, 1, 1" TAIL "; }"                               \
                 : SUMS_OF_##REGISTERS(KIND)                                                                        \
                 : "l"(a), "l"(b), "r"(adds), "n"(MAJOR_A), "n"(MAJOR_B))

// d += A B, or d = A B if not `adds`. The sums of lane 4 g + t of warp w: d[4 j] and d[4 j + 1] belong to row
// 16 w + g and columns 8 j + 2 t and 8 j + 2 t + 1, d[4 j + 2] and d[4 j + 3] to row 16 w + g + 8.
template <int N, int MAJOR_A = 0, int MAJOR_B = 0>
__device__ void multiply_add(float (&d)[N / 2], uint64_t a, uint64_t b, int adds) {
    static_assert(N % 8 == 0 && N <= 256, "a product has a multiple of 8 columns");
#define PRODUCTS(TYPES, TAIL)                                                                      \
    if constexpr (N == 8) PRODUCT(8, 4, "f", TYPES, "4", "5", "6", TAIL("7", "8"));                \
    if constexpr (N == 16) PRODUCT(16, 8, "f", TYPES, "8", "9", "10", TAIL("11", "12"));           \
    if constexpr (N == 32) PRODUCT(32, 16, "f", TYPES, "16", "17", "18", TAIL("19", "20"));        \
    if constexpr (N == 24) PRODUCT(24, 12, "f", TYPES, "12", "13", "14", TAIL("15", "16"));        \
    if constexpr (N == 48) PRODUCT(48, 24, "f", TYPES, "24", "25", "26", TAIL("27", "28"));        \
    if constexpr (N == 96) PRODUCT(96, 48, "f", TYPES, "48", "49", "50", TAIL("51", "52"));        \
    if constexpr (N == 160) PRODUCT(160, 80, "f", TYPES, "80", "81", "82", TAIL("83", "84"));      \
    if constexpr (N == 224) PRODUCT(224, 112, "f", TYPES, "112", "113", "114", TAIL("115", "116")); \
    if constexpr (N == 64) PRODUCT(64, 32, "f", TYPES, "32", "33", "34", TAIL("35", "36"));        \
    if constexpr (N == 128) PRODUCT(128, 64, "f", TYPES, "64", "65", "66", TAIL("67", "68"));      \
    if constexpr (N == 192) PRODUCT(192, 96, "f", TYPES, "96", "97", "98", TAIL("99", "100"));     \
    if constexpr (N == 256) PRODUCT(256, 128, "f", TYPES, "128", "129", "130", TAIL("131", "132"))
    static_assert(sizeof(TA) == 2 || (!MAJOR_A && !MAJOR_B), "only operands of 16 bits may run along M and N");
    if constexpr (std::is_same_v<TA, __half>) {
        PRODUCTS("k16.f32.f16.f16", MAJORS);
    } else if constexpr (sizeof(TA) == 2) {
        PRODUCTS("k16.f32.bf16.bf16", MAJORS);
    } else if constexpr (sizeof(TA) == 4) {
        PRODUCTS("k8.f32.tf32.tf32", NO_MAJORS);
    } else if constexpr (std::is_same_v<TA, __nv_fp8_e5m2>) {
        PRODUCTS("k32.f32.e5m2.e4m3", NO_MAJORS);
    } else {
        PRODUCTS("k32.f32.e4m3.e4m3", NO_MAJORS);
    }
#undef PRODUCTS
}

// The same for products of f16 with sums in f16, two neighbours in a register: d[j] holds what d[2 j] and d[2 j + 1]
// hold in f32.
template <int N, int MAJOR_A = 0, int MAJOR_B = 0>
__device__ void multiply_add(unsigned (&d)[N / 4], uint64_t a, uint64_t b, int adds) {
    static_assert(N == 64 || N == 128 || N == 192 || N == 256, "no product of this width here");
#define TYPES "k16.f16.f16.f16"
    if constexpr (N == 64) PRODUCT(64, 16, "r", TYPES, "16", "17", "18", MAJORS("19", "20"));
    if constexpr (N == 128) PRODUCT(128, 32, "r", TYPES, "32", "33", "34", MAJORS("35", "36"));
    if constexpr (N == 192) PRODUCT(192, 48, "r", TYPES, "48", "49", "50", MAJORS("51", "52"));
    if constexpr (N == 256) PRODUCT(256, 64, "r", TYPES, "64", "65", "66", MAJORS("67", "68"));
#undef TYPES
}

// The same for tf32, with A in registers. Lane 4 g + t of warp w has four elements of A: a[0] of row 16 w + g and
// column t, a[1] of row 16 w + g + 8; a[2] and a[3] of column t + 4.
#define PRODUCT_OF_REGISTERS(N, REGISTERS, A, B, ADDS)                                                           \
    asm volatile("{ .reg .pred adds; setp.ne.s32 adds, %" ADDS ", 0; wgmma.mma_async.sync.aligned.m64n" #N       \
                 "k8.f32.tf32.tf32 {" NAMES_OF_##REGISTERS "}, {" A "}, %" B ", adds, 1, 1; }"                   \
                 : SUMS_OF_##REGISTERS("f")                                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds))

template <int N> __device__ void multiply_add(float (&d)[N / 2], const unsigned (&a)[4], uint64_t b, int adds) {
    if constexpr (N == 8) PRODUCT_OF_REGISTERS(8, 4, "%4, %5, %6, %7", "8", "9");
    if constexpr (N == 16) PRODUCT_OF_REGISTERS(16, 8, "%8, %9, %10, %11", "12", "13");
    if constexpr (N == 24) PRODUCT_OF_REGISTERS(24, 12, "%12, %13, %14, %15", "16", "17");
    if constexpr (N == 32) PRODUCT_OF_REGISTERS(32, 16, "%16, %17, %18, %19", "20", "21");
    if constexpr (N == 48) PRODUCT_OF_REGISTERS(48, 24, "%24, %25, %26, %27", "28", "29");
    if constexpr (N == 64) PRODUCT_OF_REGISTERS(64, 32, "%32, %33, %34, %35", "36", "37");
    if constexpr (N == 96) PRODUCT_OF_REGISTERS(96, 48, "%48, %49, %50, %51", "52", "53");
    if constexpr (N == 128) PRODUCT_OF_REGISTERS(128, 64, "%64, %65, %66, %67", "68", "69");
    if constexpr (N == 160) PRODUCT_OF_REGISTERS(160, 80, "%80, %81, %82, %83", "84", "85");
    if constexpr (N == 192) PRODUCT_OF_REGISTERS(192, 96, "%96, %97, %98, %99", "100", "101");
    if constexpr (N == 224) PRODUCT_OF_REGISTERS(224, 112, "%112, %113, %114, %115", "116", "117");
    if constexpr (N == 256) PRODUCT_OF_REGISTERS(256, 128, "%128, %129, %130, %131", "132", "133");
}
