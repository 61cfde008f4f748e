// Device functions of the toolkit that the standard library has under another name or in another form.
#pragma once
#include <fenv.h>
#include <math.h>
#include <stdint.h>

#include "small_float.h"
#include "warp.h"

namespace gb {

// The value of `operation` under another rounding mode; the operands must be read inside it.
template <class Operation> auto rounded_by(int mode, Operation operation) {
    const int usual = fegetround();
    fesetround(mode);
    const auto result = operation();
    fesetround(usual);
    return result;
}

}  // namespace gb

#define GB_ROUNDED_BY(name, T, mode)                                                                                  \
    inline T __##name##add##mode(T a, T b) { return GB_IN_MODE##mode(volatile T x = a; volatile T r = x + b; return T(r)); } \
    inline T __##name##sub##mode(T a, T b) { return GB_IN_MODE##mode(volatile T x = a; volatile T r = x - b; return T(r)); } \
    inline T __##name##mul##mode(T a, T b) { return GB_IN_MODE##mode(volatile T x = a; volatile T r = x * b; return T(r)); } \
    inline T __##name##div##mode(T a, T b) { return GB_IN_MODE##mode(volatile T x = a; volatile T r = x / b; return T(r)); } \
    inline T __##name##sqrt##mode(T a) { return GB_IN_MODE##mode(volatile T x = a; volatile T r = sqrt(T(x)); return T(r)); } \
    inline T __##name##rcp##mode(T a) { return GB_IN_MODE##mode(volatile T x = a; volatile T r = T(1) / x; return T(r)); }
#define GB_IN_MODE_rz(...) gb::rounded_by(FE_TOWARDZERO, [&] { __VA_ARGS__; })
#define GB_IN_MODE_ru(...) gb::rounded_by(FE_UPWARD, [&] { __VA_ARGS__; })
#define GB_IN_MODE_rd(...) gb::rounded_by(FE_DOWNWARD, [&] { __VA_ARGS__; })
GB_ROUNDED_BY(f, float, _rz) GB_ROUNDED_BY(f, float, _ru) GB_ROUNDED_BY(f, float, _rd)
GB_ROUNDED_BY(d, double, _rz) GB_ROUNDED_BY(d, double, _ru) GB_ROUNDED_BY(d, double, _rd)
inline double __dadd_rn(double a, double b) { volatile double r = a + b; return r; }
inline double __dsub_rn(double a, double b) { volatile double r = a - b; return r; }
inline double __dmul_rn(double a, double b) { volatile double r = a * b; return r; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __frsqrt_rn(float a) { return float(1 / sqrt(double(a))); }
inline double __drcp_rn(double a) { return 1 / a; }

inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline void __sincosf(float x, float* sine, float* cosine) { *sine = sinf(x), *cosine = cosf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __exp10f(float x) { return powf(10, x); }
inline float fdividef(float a, float b) { return a / b; }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float rcbrtf(float x) { return 1 / cbrtf(x); }
inline float sinpif(float x) { return float(sin(M_PI * x)); }
inline float cospif(float x) { return float(cos(M_PI * x)); }
inline float normcdff(float x) { return float(0.5 * erfc(-x * M_SQRT1_2)); }

inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1u) << (31 - i);
    return reversed;
}
inline unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(unsigned(x))) << 32 | __brev(unsigned(x >> 32));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline int __mulhi(int a, int b) { return int(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(static_cast<unsigned long long>(a) * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return static_cast<long long>(static_cast<__int128>(a) * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline unsigned __sad(int a, int b, unsigned c) { return unsigned(a > b ? a - b : b - a) + c; }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
inline int __hadd(int a, int b) { return int((static_cast<long long>(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return int((static_cast<long long>(a) + b + 1) >> 1); }
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 32; i += 8) c += int(int8_t(a >> i)) * int(int8_t(b >> i));
    return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 32; i += 8) c += (a >> i & 0xff) * (b >> i & 0xff);
    return c;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned bits) {
    return unsigned((static_cast<unsigned long long>(high) << 32 | low) << bits % 32 >> 32);
}
inline int __float2int_rn(float x) { return int(rintf(x)); }
inline int __float2int_rz(float x) { return int(x); }
inline int __float2int_ru(float x) { return int(ceilf(x)); }
inline int __float2int_rd(float x) { return int(floorf(x)); }
inline unsigned __float2uint_rn(float x) { return x > 0 ? unsigned(rintf(x)) : 0; }
inline unsigned __float2uint_rz(float x) { return x > 0 ? unsigned(x) : 0; }
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline double __int2double_rn(int x) { return x; }
inline float __double2float_rn(double x) { return float(x); }
inline int __double2int_rn(double x) { return int(rint(x)); }
inline int __double2int_rz(double x) { return int(x); }
inline void __nanosleep(unsigned) {}

// The lanes of this warp that are in the block, because a thread cannot see which others have branched away.
inline unsigned __activemask() {
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z, first = gb::thread / gb::kWarp * gb::kWarp;
    return threads - first < gb::kWarp ? (1u << (threads - first)) - 1 : 0xffffffff;
}

// The result of applying `combine` to the values of all lanes in `mask` that have not returned.
namespace gb {
template <class T, class Combine> T reduce(unsigned mask, T value, Combine combine) {
    const unsigned present = __ballot_sync(mask, 1);
    bool first = true;
    T result = value;
    for (unsigned lane = 0; lane < kWarp; ++lane) {
        if (!(present >> lane & 1)) continue;
        const T other = exchange(mask, value, lane);
        result = first ? other : combine(result, other);
        first = false;
    }
    return result;
}
}  // namespace gb

#define GB_REDUCE(name, expression) \
    template <class T> T name(unsigned mask, T value) { return gb::reduce(mask, value, [](T a, T b) -> T { return expression; }); }
GB_REDUCE(__reduce_add_sync, a + b)
GB_REDUCE(__reduce_min_sync, b < a ? b : a)
GB_REDUCE(__reduce_max_sync, a < b ? b : a)
GB_REDUCE(__reduce_and_sync, a & b)
GB_REDUCE(__reduce_or_sync, a | b)
GB_REDUCE(__reduce_xor_sync, a ^ b)

template <class T> unsigned __match_any_sync(unsigned mask, T value) {
    const unsigned present = __ballot_sync(mask, 1);
    unsigned same = 0;
    for (unsigned lane = 0; lane < gb::kWarp; ++lane)
        if (present >> lane & 1 && gb::exchange(mask, value, lane) == value) same |= 1u << lane;
    return same;
}

namespace gb {  // found by their operands
#define GB_OF_HALF(name, function)                                                      \
    template <class F> SmallFloat<F> h##name(SmallFloat<F> x) { return function(x); }   \
    template <class F> SmallFloat2<F> h2##name(SmallFloat2<F> v) { return {function(v.x), function(v.y)}; }
GB_OF_HALF(exp, expf) GB_OF_HALF(exp2, exp2f) GB_OF_HALF(log, logf) GB_OF_HALF(log2, log2f) GB_OF_HALF(log10, log10f)
GB_OF_HALF(sin, sinf) GB_OF_HALF(cos, cosf) GB_OF_HALF(tanh, tanhf) GB_OF_HALF(sqrt, sqrtf) GB_OF_HALF(rsqrt, 1 / sqrtf)
GB_OF_HALF(rcp, 1 / float) GB_OF_HALF(floor, floorf) GB_OF_HALF(ceil, ceilf) GB_OF_HALF(rint, rintf) GB_OF_HALF(trunc, truncf)
#define GB_COMPARE_HALF(name, symbol) \
    template <class F> bool __h##name(SmallFloat<F> a, SmallFloat<F> b) { return float(a) symbol float(b); }
GB_COMPARE_HALF(eq, ==) GB_COMPARE_HALF(ne, !=) GB_COMPARE_HALF(lt, <)
GB_COMPARE_HALF(le, <=) GB_COMPARE_HALF(gt, >) GB_COMPARE_HALF(ge, >=)
}  // namespace gb
