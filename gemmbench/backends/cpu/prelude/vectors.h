// CUDA's vector types with its alignments: vectors of 2 and 4 are aligned to their size, at most 16
// bytes.
#pragma once

typedef unsigned int uint;

#define GB_ALIGNED(bytes) __attribute__((aligned((bytes) < 16 ? (bytes) : 16)))
#define GB_VECTOR(name, T)                                                                      \
    struct name##1 { T x; };                                                                    \
    struct GB_ALIGNED(2 * sizeof(T)) name##2 { T x, y; };                                       \
    struct name##3 { T x, y, z; };                                                              \
    struct GB_ALIGNED(4 * sizeof(T)) name##4 { T x, y, z, w; };                                 \
    constexpr name##1 make_##name##1(T x) { return {x}; }                                       \
    constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }                               \
    constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                       \
    constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

GB_VECTOR(char, signed char)
GB_VECTOR(uchar, unsigned char)
GB_VECTOR(short, short)
GB_VECTOR(ushort, unsigned short)
GB_VECTOR(int, int)
GB_VECTOR(uint, unsigned)
GB_VECTOR(long, long)
GB_VECTOR(ulong, unsigned long)
GB_VECTOR(longlong, long long)
GB_VECTOR(ulonglong, unsigned long long)
GB_VECTOR(float, float)
GB_VECTOR(double, double)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
