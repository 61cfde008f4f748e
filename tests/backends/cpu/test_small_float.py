"""half and bfloat16: conversions bit by bit, arithmetic rounded once."""

import ml_dtypes
import numpy as np
import pytest

# alpha 0: the float of the 16 bits whose number is in A. 1: A rounded to 16 bits. 2: fma of three of them.
TEXT = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#if BFLOAT
typedef __nv_bfloat16 Small;
#define FROM_BITS __ushort_as_bfloat16
#define TO_BITS __bfloat16_as_ushort
#else
typedef half Small;
#define FROM_BITS __ushort_as_half
#define TO_BITS __half_as_ushort
#endif
SIGNATURE {
    for (int i = 0; i < M * N; ++i) {
        if (alpha == 0) C[i] = float(FROM_BITS(A[i]));
        if (alpha == 1) C[i] = TO_BITS(Small(A[i]));
        if (alpha == 2) C[i] = __hfma(Small(A[i]), Small(B[i]), Small(B[(i + 1) % N]));
        if (alpha == 3) C[i] = Small(A[i]) * Small(B[i]) + Small(B[(i + 1) % N]);
    }
}
"""

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


def bfloat_bits(values):
    """Round to nearest even by integer arithmetic on the bits of float32."""
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def bfloat_value(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def half_bits(values):
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(np.float16).view(np.uint16)


def half_value(bits):
    return bits.astype(np.uint16).view(np.float16).astype(np.float32)


FORMATS = pytest.mark.parametrize(
    ("bfloat", "to_bits", "to_value"), [(0, half_bits, half_value), (1, bfloat_bits, bfloat_value)]
)


def convert(bench, values, bfloat, what, b=None):
    count = values.size
    plan = bench.plan(TEXT, (1, count, 1), BFLOAT=bfloat)
    return bench.run(plan, values.reshape(1, -1), b, alpha=what)[0]


@FORMATS
def test_every_pattern_is_decoded(bench, bfloat, to_bits, to_value):
    patterns = np.arange(1 << 16, dtype=np.uint16)
    result = convert(bench, patterns.astype(np.float32), bfloat, 0)
    expected = to_value(patterns)
    np.testing.assert_array_equal(result, expected)  # NaN where NaN
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))


@FORMATS
def test_encoding_rounds_to_nearest_even(bench, bfloat, to_bits, to_value):
    exact = to_value(np.arange(1 << 16, dtype=np.uint16))
    exact = exact[np.isfinite(exact)].astype(np.float32)
    with np.errstate(over="ignore"):
        following = to_value(to_bits(exact) + np.uint16(1))
        ties = ((exact.astype(np.float64) + following) / 2).astype(np.float32)
    ties = ties[np.isfinite(ties)]
    around = [np.nextafter(ties, np.float32(side)) for side in (-np.inf, np.inf)]
    random = np.random.default_rng(1).integers(0, 1 << 32, 50_000, dtype=np.uint32).view(np.float32)
    special = np.array([0, -0.0, np.inf, -np.inf, 65519.996, 65520, 65536, 1e-8, -1e-45, 3.4e38], np.float32)
    values = np.concatenate([exact, ties, *around, random[~np.isnan(random)], special])
    np.testing.assert_array_equal(convert(bench, values, bfloat, 1), to_bits(values))


@FORMATS
def test_nan_stays_nan(bench, bfloat, to_bits, to_value):
    nans = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(to_value(convert(bench, nans, bfloat, 1).astype(np.uint16))).all()


@FORMATS
def test_fma_rounds_once_and_operators_twice(bench, bfloat, to_bits, to_value):
    rng = np.random.default_rng(2)
    a, b = (to_value(to_bits(rng.standard_normal(5000).astype(np.float32))) for _ in range(2))
    c = np.roll(b, -1)
    exact = a.astype(np.float64) * b + c
    nearest = to_value(to_bits(exact.astype(np.float16).astype(np.float32))) if not bfloat else None
    fused = convert(bench, a, bfloat, 2, b.reshape(1, -1))
    if nearest is not None:  # NumPy rounds float64 to half at once; it has no bfloat16
        np.testing.assert_array_equal(fused, nearest)
    product = to_value(to_bits(a * b))
    np.testing.assert_array_equal(convert(bench, a, bfloat, 3, b.reshape(1, -1)), to_value(to_bits(product + c)))


def test_pairs(bench):
    result = bench.run(bench.plan(PAIRS, (1, 8, 1)))
    np.testing.assert_array_equal(result, [[3.5, 7, 5, 6, 8, 3, 1, 1]])


# alpha 0: the float of the byte in A. 1: A rounded to a byte. 2: as 1, from an int. 3: as 0 and 1, four at a time.
EIGHT_BITS = """
#include <cuda_fp8.h>
SIGNATURE {
    for (int i = 0; i < M * N; ++i) {
        FORMAT small(A[i]);
        if (alpha == 0) small.__x = int(A[i]), C[i] = float(small);
        if (alpha == 1) C[i] = small.__x;
        if (alpha == 2) C[i] = FORMAT(int(A[i])).__x;
        if (alpha == 3 && i % 4 == 0) {
            const float4 v = float4(QUAD(make_float4(A[i], A[i + 1], A[i + 2], A[i + 3])));
            C[i] = v.x, C[i + 1] = v.y, C[i + 2] = v.z, C[i + 3] = v.w;
        }
    }
}
"""
FP8_FORMATS = pytest.mark.parametrize(("kind", "largest"), [("float8_e4m3fn", 448), ("float8_e5m2", 57344)])


def convert_fp8(bench, values, kind, what):
    name = kind.removeprefix("float8_").removesuffix("fn")
    text = EIGHT_BITS.replace("FORMAT", f"__nv_fp8_{name}").replace("QUAD", f"__nv_fp8x4_{name}")
    return bench.run(bench.plan(text, (1, values.size, 1)), values.reshape(1, -1).astype(np.float32), alpha=what)[0]


def decode_fp8(patterns, kind):
    return patterns.astype(np.uint8).view(getattr(ml_dtypes, kind)).astype(np.float32)


@FP8_FORMATS
def test_every_byte_is_decoded(bench, kind, largest):
    patterns = np.arange(256, dtype=np.uint8)
    result, expected = convert_fp8(bench, patterns, kind, 0), decode_fp8(patterns, kind)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))


@FP8_FORMATS
def test_encoding_to_a_byte_rounds_to_nearest_even_and_saturates(bench, kind, largest):
    numbers = decode_fp8(np.arange(256), kind)
    numbers = np.sort(numbers[np.isfinite(numbers)])
    ties = (numbers[1:] + numbers[:-1]) / 2
    around = [np.nextafter(ties, np.float32(side)) for side in (-np.inf, np.inf)]
    random = np.random.default_rng(1).standard_normal(5000).astype(np.float32)
    special = np.array([0, -0.0, np.inf, -np.inf, 1e-8, -1e-45, 3.4e38, largest * 1.01], np.float32)
    values = np.concatenate([numbers, ties, *around, random, special, -special])
    clipped = np.clip(values, -largest, largest).astype(getattr(ml_dtypes, kind)).view(np.uint8)
    np.testing.assert_array_equal(convert_fp8(bench, values, kind, 1), clipped)


@FP8_FORMATS
def test_integers_and_quadruples_are_converted(bench, kind, largest):
    whole = np.array([0, 1, -3, 17, 100, -448, 5, 16_777_217], np.float32)
    expected = np.clip(whole, -largest, largest).astype(getattr(ml_dtypes, kind))
    np.testing.assert_array_equal(convert_fp8(bench, whole, kind, 2), expected.view(np.uint8))
    np.testing.assert_array_equal(convert_fp8(bench, whole, kind, 3), expected.astype(np.float32))


@FP8_FORMATS
def test_nan_stays_nan_in_a_byte(bench, kind, largest):
    patterns = convert_fp8(bench, np.array([np.nan, -np.nan], np.float32), kind, 1)
    assert np.isnan(decode_fp8(patterns, kind)).all()
