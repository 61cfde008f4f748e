"""half, bfloat16 and the formats of fp8: conversions bit by bit, arithmetic rounded once."""

import ml_dtypes
import numpy as np
import pytest

# alpha 0: the float of the bits in A. 1: the bits of A rounded. 2, 3: what only one family has.
TEXT = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
__device__ half decode(int bits, half) { return __ushort_as_half(bits); }
__device__ __nv_bfloat16 decode(int bits, __nv_bfloat16) { return __ushort_as_bfloat16(bits); }
template <class T> __device__ T decode(int bits, T small) { return small.__x = bits, small; }
__device__ int encode(half small) { return __half_as_ushort(small); }
__device__ int encode(__nv_bfloat16 small) { return __bfloat16_as_ushort(small); }
template <class T> __device__ int encode(T small) { return small.__x; }
SIGNATURE {
    for (int i = 0; i < M * N; ++i) {
        if (alpha == 0) C[i] = float(decode(A[i], SMALL(0.f)));
        if (alpha == 1) C[i] = encode(SMALL(A[i]));
        MORE
    }
}
"""
ARITHMETIC = """
        if (alpha == 2) C[i] = __hfma(SMALL(A[i]), SMALL(B[i]), SMALL(B[(i + 1) % N]));
        if (alpha == 3) C[i] = SMALL(A[i]) * SMALL(B[i]) + SMALL(B[(i + 1) % N]);
"""
CONVERSIONS = """
        if (alpha == 2) C[i] = SMALL(int(A[i])).__x;
        if (alpha == 3 && i % 4 == 0) {
            const float4 v = float4(QUAD(make_float4(A[i], A[i + 1], A[i + 2], A[i + 3])));
            C[i] = v.x, C[i + 1] = v.y, C[i + 2] = v.z, C[i + 3] = v.w;
        }
"""
HALF, BFLOAT16 = np.float16, ml_dtypes.bfloat16
E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
NAMES = {HALF: "half", BFLOAT16: "__nv_bfloat16", E4M3: "__nv_fp8_e4m3", E5M2: "__nv_fp8_e5m2"}


def formats(*kinds):
    return pytest.mark.parametrize("kind", kinds, ids=[NAMES[kind] for kind in kinds])


def compute(bench, values, kind, what, b=None):
    text = TEXT.replace("MORE", CONVERSIONS if kind in (E4M3, E5M2) else ARITHMETIC)
    text = text.replace("SMALL", NAMES[kind]).replace("QUAD", NAMES[kind].replace("fp8", "fp8x4"))
    b = None if b is None else b.reshape(1, -1)
    return bench.run(bench.plan(text, (1, values.size, 1)), values.reshape(1, -1).astype(np.float32), b, alpha=what)[0]


def decode(bits, kind):
    return bits.astype(f"u{np.dtype(kind).itemsize}").view(kind).astype(np.float32)


def encode(values, kind):
    """Rounded to nearest even; a byte saturates where two bytes overflow."""
    largest = np.float32(ml_dtypes.finfo(kind).max)
    clipped = np.clip(values, -largest, largest) if kind in (E4M3, E5M2) else values
    with np.errstate(over="ignore", under="ignore"):
        return clipped.astype(kind).view(f"u{np.dtype(kind).itemsize}")


def list_patterns(kind):
    return np.arange(1 << 8 * np.dtype(kind).itemsize)


@formats(*NAMES)
def test_every_pattern_is_decoded(bench, kind):
    patterns = list_patterns(kind)
    result, expected = compute(bench, patterns, kind, 0), decode(patterns, kind)
    np.testing.assert_array_equal(result, expected)  # NaN where NaN
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))


@formats(*NAMES)
def test_encoding_rounds_to_nearest_even(bench, kind):
    exact = decode(list_patterns(kind), kind)
    exact = np.unique(exact[np.isfinite(exact)])
    ties = ((exact[1:].astype(np.float64) + exact[:-1]) / 2).astype(np.float32)
    around = [np.nextafter(ties, np.float32(side)) for side in (-np.inf, np.inf)]
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << 32, 50_000, dtype=np.uint32).view(np.float32)
    random = [bits[~np.isnan(bits)], rng.standard_normal(5000).astype(np.float32)]
    special = np.array([0, np.inf, 65519.996, 65520, 65536, 1e-8, 1e-45, 3.4e38], np.float32)
    beyond = 1.01 * exact[-1:] if exact[-1] < 1e38 else exact[-1:]
    values = np.concatenate([exact, ties, *around, *random, special, -special, beyond, -beyond])
    np.testing.assert_array_equal(compute(bench, values, kind, 1), encode(values, kind))


@formats(*NAMES)
def test_nan_stays_nan(bench, kind):
    nans = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(decode(compute(bench, nans, kind, 1), kind)).all()


@formats(HALF, BFLOAT16)
def test_fma_rounds_once_and_operators_twice(bench, kind):
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(5000).astype(kind).astype(np.float32) for _ in range(2))
    c = np.roll(b, -1)
    fused = compute(bench, a, kind, 2, b)
    if kind is HALF:  # NumPy rounds float64 to half at once; it has no bfloat16
        np.testing.assert_array_equal(fused, (a.astype(np.float64) * b + c).astype(kind).astype(np.float32))
    product = (a * b).astype(kind).astype(np.float32)
    np.testing.assert_array_equal(compute(bench, a, kind, 3, b), (product + c).astype(kind).astype(np.float32))


@formats(E4M3, E5M2)
def test_integers_and_quadruples_are_converted(bench, kind):
    whole = np.array([0, 1, -3, 17, 100, -448, 5, 16_777_217], np.float32)
    np.testing.assert_array_equal(compute(bench, whole, kind, 2), encode(whole, kind))
    np.testing.assert_array_equal(compute(bench, whole, kind, 3), decode(encode(whole, kind), kind))


PAIRS = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
SIGNATURE {
    const half2 h = __hfma2(__floats2half2_rn(1, 2), __float2half2_rn(3), __halves2half2(half(0.5f), half(1)));
    const float2 f = __half22float2(h);
    const __nv_bfloat162 b = __floats2bfloat162_rn(4, 5) + __float22bfloat162_rn(make_float2(1, 1));
    half sum = __float2half(1);
    sum += half(2);
    C[0] = f.x, C[1] = f.y, C[2] = __low2float(b), C[3] = __high2bfloat16(b);
    C[4] = sizeof(half2) + alignof(half2), C[5] = sum, C[6] = __hisnan(half(NAN)), C[7] = half(1) < half(2);
}
"""


def test_pairs(bench):
    result = bench.run(bench.plan(PAIRS, (1, 8, 1)))
    np.testing.assert_array_equal(result, [[3.5, 7, 5, 6, 8, 3, 1, 1]])
