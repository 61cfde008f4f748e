// 16-bit floating point: a storage format, and arithmetic that rounds every result to it.
#pragma once
#include <math.h>

#include "atomics.h"
#include "vectors.h"

namespace gb {

// Format has encode(float) -> bits, which rounds to nearest even, and decode(bits) -> float.
template <class Format> struct SmallFloat {
    uint16_t bits;
    SmallFloat() = default;
    SmallFloat(float value) : bits(Format::encode(value)) {}
    operator float() const { return Format::decode(bits); }
    SmallFloat& operator+=(SmallFloat b) { return *this = float(*this) + float(b); }
    SmallFloat& operator-=(SmallFloat b) { return *this = float(*this) - float(b); }
    SmallFloat& operator*=(SmallFloat b) { return *this = float(*this) * float(b); }
    SmallFloat& operator/=(SmallFloat b) { return *this = float(*this) / float(b); }
};

template <class Format> struct __attribute__((aligned(4))) SmallFloat2 {
    SmallFloat<Format> x, y;
    SmallFloat2() = default;
    SmallFloat2(SmallFloat<Format> x, SmallFloat<Format> y) : x(x), y(y) {}
};

template <class F> SmallFloat<F> from_bits(uint16_t bits) {
    SmallFloat<F> value;
    value.bits = bits;
    return value;
}

// Truncate to float and set the last bit if anything was cut off (round to odd). Rounding the result to 16
// bits then gives the same value as rounding the exact one.
inline float to_odd(double exact) {
    const float nearest = float(exact);
    if (!(fabs(exact) < HUGE_VAL) || double(nearest) == exact) return nearest;
    const uint32_t away = fabs(double(nearest)) > fabs(exact);
    return gb::bits<float>((gb::bits<uint32_t>(nearest) - away) | 1);
}

// A float has more than twice the bits, so rounding to float first changes no sum or product.
#define GB_ARITHMETIC(symbol, name)                                                          \
    template <class F> SmallFloat<F> name(SmallFloat<F> a, SmallFloat<F> b) {                \
        return float(a) symbol float(b);                                                     \
    }                                                                                        \
    template <class F> SmallFloat2<F> name##2(SmallFloat2<F> a, SmallFloat2<F> b) {          \
        return {name(a.x, b.x), name(a.y, b.y)};                                             \
    }                                                                                        \
    template <class F> SmallFloat<F> operator symbol(SmallFloat<F> a, SmallFloat<F> b) {     \
        return name(a, b);                                                                   \
    }                                                                                        \
    template <class F> SmallFloat2<F> operator symbol(SmallFloat2<F> a, SmallFloat2<F> b) {  \
        return name##2(a, b);                                                                \
    }
GB_ARITHMETIC(+, __hadd)
GB_ARITHMETIC(-, __hsub)
GB_ARITHMETIC(*, __hmul)
GB_ARITHMETIC(/, __hdiv)

template <class F> SmallFloat<F> operator-(SmallFloat<F> a) { return -float(a); }
template <class F> SmallFloat<F> __hneg(SmallFloat<F> a) { return -float(a); }
template <class F> SmallFloat<F> __habs(SmallFloat<F> a) { return fabsf(a); }
template <class F> SmallFloat<F> __hmax(SmallFloat<F> a, SmallFloat<F> b) { return fmaxf(a, b); }
template <class F> SmallFloat<F> __hmin(SmallFloat<F> a, SmallFloat<F> b) { return fminf(a, b); }
template <class F> bool __hisnan(SmallFloat<F> a) { return float(a) != float(a); }

template <class F> SmallFloat<F> __hfma(SmallFloat<F> a, SmallFloat<F> b, SmallFloat<F> c) {
    return to_odd(double(a) * double(b) + double(c));  // exact in double except for bits far below the result
}
template <class F> SmallFloat2<F> __hfma2(SmallFloat2<F> a, SmallFloat2<F> b, SmallFloat2<F> c) {
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}

template <class F> float __low2float(SmallFloat2<F> a) { return a.x; }
template <class F> float __high2float(SmallFloat2<F> a) { return a.y; }

}  // namespace gb
