// Declares the types, variables and functions of CUDA C++ before a kernel's first line.
#pragma once
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <type_traits>

#include "abi.h"
#include "atomics.h"
#include "vectors.h"
#include "warp.h"

// Constant during the life of a thread, so the compiler may keep them in registers across a
// barrier. The runtime, another translation unit, changes them when it switches threads.
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
constexpr int warpSize = gb::kWarp;

// The runtime's storage for `extern __shared__` arrays.
extern char gb_dynamic_shared[];
namespace gb {
template <class T> using Type = T;
}

#define GB_LOAD(name) \
    template <class T> T name(const T* address) { return *address; }
#define GB_STORE(name) \
    template <class T> void name(T* address, T value) { *address = value; }
GB_LOAD(__ldg) GB_LOAD(__ldca) GB_LOAD(__ldcg) GB_LOAD(__ldcs) GB_LOAD(__ldlu) GB_LOAD(__ldcv)
GB_STORE(__stwb) GB_STORE(__stcg) GB_STORE(__stcs) GB_STORE(__stwt)

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
inline void __trap() { __builtin_trap(); }

// min and max of two arithmetic types. If one operand is NaN, the result is the other.
template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b) {
    using T = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point_v<T>) return T(a) != T(a) || T(b) < T(a) ? T(b) : T(a);
    else return T(b) < T(a) ? T(b) : T(a);
}
template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b) {
    using T = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point_v<T>) return T(a) != T(a) || T(b) > T(a) ? T(b) : T(a);
    else return T(b) > T(a) ? T(b) : T(a);
}

// The compiler may fuse a * b + c, as nvcc does. These functions round every intermediate result.
inline float gb_rounded(float value) { asm("" : "+m"(value)); return value; }
inline float __fmul_rn(float a, float b) { return gb_rounded(a * b); }
inline float __fadd_rn(float a, float b) { return gb_rounded(gb_rounded(a) + gb_rounded(b)); }
inline float __fsub_rn(float a, float b) { return gb_rounded(gb_rounded(a) - gb_rounded(b)); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

// Bytes of two words: digit i of `order` chooses byte i.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned order) {
    const unsigned long long bytes = static_cast<unsigned long long>(high) << 32 | low;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) result |= unsigned(bytes >> (order >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return result;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits) {
    return unsigned((static_cast<unsigned long long>(high) << 32 | low) >> bits % 32);
}

inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline float __expf(float x) { return expf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline float __logf(float x) { return logf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return fminf(fmaxf(x, 0), 1); }

inline int __float_as_int(float x) { return gb::bits<int>(x); }
inline unsigned __float_as_uint(float x) { return gb::bits<unsigned>(x); }
inline float __int_as_float(int x) { return gb::bits<float>(x); }
inline float __uint_as_float(unsigned x) { return gb::bits<float>(x); }
inline long long __double_as_longlong(double x) { return gb::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return gb::bits<double>(x); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __mul24(int a, int b) { return a * b; }

// In nanoseconds: the cores of a CPU do not share a cycle counter.
inline long long clock64() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

#include "device_functions.h"
#include "host_types.h"
