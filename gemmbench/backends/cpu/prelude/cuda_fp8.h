// __nv_fp8_e4m3 and __nv_fp8_e5m2: storage formats without arithmetic. Conversions to them round to nearest even,
// and values that are too large become the largest number.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned;

namespace gb {

// Format has kFraction, bits of fraction; kBias, that of the exponent; kLargest, the bits of the largest number.
template <class Format> uint8_t encode_fp8(float value) {
    const uint32_t word = bits<uint32_t>(value), sign = word >> 24 & 0x80;
    uint32_t magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000) return 0x7f;  // NaN, as CUDA writes it
    constexpr int shift = 23 - Format::kFraction;
    constexpr uint32_t offset = uint32_t(127 - Format::kBias) << 23, least_normal = offset + (1u << 23);
    if (magnitude < least_normal) {  // one unit of `large` is the step between subnormal numbers
        const float large = bits<float>(least_normal + (uint32_t(shift) << 23));
        const float sum = bits<float>(magnitude) + large;
        return sign | (bits<uint32_t>(sum) - bits<uint32_t>(large));
    }
    magnitude += (1u << (shift - 1)) - 1 + (magnitude >> shift & 1);  // may carry to the next exponent
    const uint32_t rounded = (magnitude - offset) >> shift;
    return sign | (rounded < Format::kLargest ? rounded : Format::kLargest);
}

struct E4m3 {  // no infinity, and one NaN of each sign
    static constexpr int kFraction = 3, kBias = 7;
    static constexpr uint32_t kLargest = 0x7e;
    static float decode(uint8_t byte) {
        const float value = bits<float>(uint32_t(byte & 0x7f) << 20) * 0x1p120f;
        const uint32_t word = (byte & 0x7f) == 0x7f ? 0x7fffffff : bits<uint32_t>(value);
        return bits<float>(word | uint32_t(byte & 0x80) << 24);
    }
};

struct E5m2 {  // the upper half of a __half
    static constexpr int kFraction = 2, kBias = 15;
    static constexpr uint32_t kLargest = 0x7b;
    static float decode(uint8_t byte) { return Half::decode(uint16_t(byte) << 8); }
};

template <class Format> struct Fp8 {
    __nv_fp8_storage_t __x;
    Fp8() = default;
    template <class T> explicit Fp8(T value) : __x(encode_fp8<Format>(narrow(value))) {}
    explicit operator float() const { return Format::decode(__x); }
    explicit operator double() const { return Format::decode(__x); }
    explicit operator __half() const { return Format::decode(__x); }
    explicit operator __nv_bfloat16() const { return Format::decode(__x); }
    explicit operator int() const { return int(Format::decode(__x)); }
    explicit operator bool() const { return __x & 0x7f; }

private:
    template <class T> static float narrow(T value) {
        if constexpr (sizeof(T) < 4 || std::is_same_v<T, float>) return float(value);
        else return to_odd(double(value));
    }
};

template <class Format> struct __attribute__((aligned(2))) Fp8x2 {
    __nv_fp8x2_storage_t __x;
    Fp8x2() = default;
    explicit Fp8x2(float2 v) : __x(encode_fp8<Format>(v.x) | encode_fp8<Format>(v.y) << 8) {}
    explicit operator float2() const { return {Format::decode(__x), Format::decode(__x >> 8)}; }
    explicit operator __half2() const { return __half2(Format::decode(__x), Format::decode(__x >> 8)); }
};

template <class Format> struct __attribute__((aligned(4))) Fp8x4 {
    __nv_fp8x4_storage_t __x;
    Fp8x4() = default;
    explicit Fp8x4(float4 v)
        : __x(encode_fp8<Format>(v.x) | encode_fp8<Format>(v.y) << 8 | encode_fp8<Format>(v.z) << 16 |
              uint32_t(encode_fp8<Format>(v.w)) << 24) {}
    explicit operator float4() const {
        return {Format::decode(__x), Format::decode(__x >> 8), Format::decode(__x >> 16), Format::decode(__x >> 24)};
    }
};

}  // namespace gb

using __nv_fp8_e4m3 = gb::Fp8<gb::E4m3>;
using __nv_fp8_e5m2 = gb::Fp8<gb::E5m2>;
using __nv_fp8x2_e4m3 = gb::Fp8x2<gb::E4m3>;
using __nv_fp8x2_e5m2 = gb::Fp8x2<gb::E5m2>;
using __nv_fp8x4_e4m3 = gb::Fp8x4<gb::E4m3>;
using __nv_fp8x4_e5m2 = gb::Fp8x4<gb::E5m2>;
