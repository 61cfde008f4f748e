// __nv_bfloat16: the upper half of a float.
#pragma once
#include "small_float.h"

namespace gb {

struct Bfloat16 {
    static uint16_t encode(float value) {
        const uint32_t word = bits<uint32_t>(value);
        if ((word & 0x7fffffff) > 0x7f800000) return 0x7fff;  // NaN, as CUDA writes it
        return (word + 0x7fff + (word >> 16 & 1)) >> 16;      // to nearest even; may carry to infinity
    }
    static float decode(uint16_t upper) { return bits<float>(uint32_t(upper) << 16); }
};

}  // namespace gb

using __nv_bfloat16 = gb::SmallFloat<gb::Bfloat16>;
using __nv_bfloat162 = gb::SmallFloat2<gb::Bfloat16>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline __nv_bfloat16 __double2bfloat16(double x) { return gb::to_odd(x); }
inline __nv_bfloat16 __int2bfloat16_rn(int x) { return gb::to_odd(x); }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline uint16_t __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(uint16_t bits) { return gb::from_bits<gb::Bfloat16>(bits); }

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {v.x, v.y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
