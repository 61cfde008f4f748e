// __half: 5 bits of exponent, 10 bits of fraction.
#pragma once
#include "small_float.h"

namespace gb {

struct Half {
    static uint16_t encode(float value) {
        const uint32_t word = bits<uint32_t>(value), sign = word >> 16 & 0x8000;
        uint32_t magnitude = word & 0x7fffffff;
        if (magnitude > 0x7f800000) return 0x7fff;           // NaN, as CUDA writes it
        if (magnitude >= 0x47800000) return sign | 0x7c00;   // 65536 and above
        if (magnitude < 0x38800000) {                        // below 2^-14: one unit of 0.5 is 2^-24
            const float sum = bits<float>(magnitude) + 0.5f;
            return sign | (bits<uint32_t>(sum) - bits<uint32_t>(0.5f));
        }
        magnitude += 0xfff + (magnitude >> 13 & 1);          // to nearest even; may carry to infinity
        return sign | ((magnitude - 0x38000000) >> 13);
    }
    static float decode(uint16_t half) {
        const float scaled = bits<float>(uint32_t(half & 0x7fff) << 13) * 0x1p112f;
        uint32_t word = bits<uint32_t>(scaled);
        if (scaled >= 65536) word |= 0x7f800000;             // the highest exponent: infinity or NaN
        return bits<float>(word | uint32_t(half & 0x8000) << 16);
    }
};

}  // namespace gb

using __half = gb::SmallFloat<gb::Half>;
using __half2 = gb::SmallFloat2<gb::Half>;
using half = __half;
using half2 = __half2;

inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline __half __double2half(double x) { return gb::to_odd(x); }
inline __half __int2half_rn(int x) { return gb::to_odd(x); }
inline float __half2float(__half x) { return x; }
inline uint16_t __half_as_ushort(__half x) { return x.bits; }
inline __half __ushort_as_half(uint16_t bits) { return gb::from_bits<gb::Half>(bits); }

inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
