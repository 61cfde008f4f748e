"""On a GPU: arguments by value are read as they are passed, and others are refused before a launch, with the line."""

import re

import pytest

from gemmbench import verify
from gemmbench.backends.cuda.system import probe

MANIFEST = """/*---
summary: mm
order: 10
symbol: {symbol}
args: [{args}]
precisions: [f32]
layouts: [nn]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block: [16, 16]
---*/
#include <cuda_fp16.h>
"""
LINE = 5
"""Of `args`, which the compiler says are wrong."""

BODY = """
{{
    long col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= {M} || col >= {N}) return;
    float sum = 0;
    for (long k = 0; k < {K}; ++k) sum += {A}[row * {K} + k] * {B}[k * {N} + col];
    {C}[row * {N} + col] = {factor}sum;
}}
"""
PLAIN = "const float* A, const float* B, float* C"


def write_body(M="M", N="N", K="K", A="A", B="B", C="C", factor=""):
    """The body of a kernel with these names for what it takes."""
    return BODY.format(M=M, N=N, K=K, A=A, B=B, C=C, factor=factor)


MATRIX = "struct Matrix { bool whole; int rows; short cols; float* data; size_t pitch; };\n"
MATRIX_BODY = write_body("C.rows", "C.cols", "A.cols", "A.data", "B.data", "C.data")
FIELDS = {
    "A": "{whole: bool(1), rows: M, cols: short(K), data: A, pitch: size_t(K)}",
    "B": "{whole: bool(1), rows: K, cols: short(N), data: B, pitch: size_t(N)}",
    "C": "{whole: bool(1), rows: M, cols: short(N), data: C, pitch: size_t(N)}",
}
SWAPPED = FIELDS["A"].replace("rows: M, cols: short(K)", "cols: short(K), rows: M")
NARROW = FIELDS["A"].replace("size_t(K)", "K")

RIGHT = {
    "structures": (
        "mm",
        list(FIELDS.values()),
        f"{MATRIX}__global__ void mm(Matrix A, Matrix B, Matrix C){MATRIX_BODY}",
    ),
    "structures_among_numbers": (
        "mm",
        ["double(1)", FIELDS["A"], "char(1)", FIELDS["B"], "half(alpha)", FIELDS["C"], "uchar(1)"],
        f"{MATRIX}__global__ void mm(double one, Matrix A, signed char two, Matrix B, half alpha, Matrix C, "
        f"unsigned char three){MATRIX_BODY.replace('= sum', '= float(one) * two * three * __half2float(alpha) * sum')}",
    ),
    "aliases": (
        "mm",
        ["long(M)", "size_t(N)", "unsigned(K)", "A", "B", "C"],
        "using index_t = long long; typedef unsigned long long count_t; using small_t = unsigned;\n"
        f"__global__ void mm(index_t M, count_t N, small_t K, {PLAIN}){write_body(M='(long)M', N='(long)N')}",
    ),
    "narrow_numbers": (
        "mm",
        ["short(M)", "ushort(N)", "A", "bool(1)", "B", "half(alpha)", "C", "size_t(K)"],
        "__global__ void mm(short M, unsigned short N, const float* A, bool on, const float* B, half alpha, float* C, "
        f"size_t K){write_body(K='(long)K', factor='on * __half2float(alpha) * ')}",
    ),
    "double_scalars": (
        "mm",
        ["M", "double(alpha)", "N", "double(0.5)", "K", "A", "B", "C"],
        f"__global__ void mm(int M, double alpha, int N, double half_, int K, {PLAIN})"
        f"{write_body(factor='float(2 * half_ * alpha) * ')}",
    ),
    "template_types": (
        "mm<long, short>",
        ["long(M)", "short(N)", "long(K)", "A", "B", "C"],
        f"template <class Index, class Narrow> __global__ void mm(Index M, Narrow N, Index K, {PLAIN}){write_body()}",
    ),
    "dim3_by_value": (
        "mm",
        ["{x: unsigned(M), y: unsigned(N), z: unsigned(K)}", "A", "B", "C"],
        f"__global__ void mm(dim3 size, {PLAIN}){write_body('size.x', 'size.y', 'size.z')}",
    ),
}
SIZES = ["M", "N", "K", "A", "B", "C"]
LONG = f"__global__ void mm(long long M, long long N, long long K, {PLAIN}){write_body()}"
INTS = f"__global__ void mm(int M, int N, int K, {PLAIN}){write_body()}"
SCALED = f"__global__ void mm(int M, int N, int K, {PLAIN}, SCALE scale){write_body(factor='float(scale) * ')}"
STRUCTURES = RIGHT["structures"][2]

REFUSED = {
    "int_for_long": (LONG, SIZES, "item 1 has 4 bytes, but the kernel reads another size"),
    "long_for_int": (INTS, ["M", "long(N)", *SIZES[2:]], "item 2 has 8 bytes, but the kernel reads another size"),
    "short_for_int": (
        INTS,
        ["M", "N", "short(K)", *SIZES[3:]],
        "item 3 has 2 bytes, but the kernel reads another size",
    ),
    "float_for_double": (SCALED.replace("SCALE", "double"), [*SIZES, "alpha"], "item 7 has 4 bytes"),
    "float_for_half": (SCALED.replace("SCALE", "half"), [*SIZES, "alpha"], "item 7 has 4 bytes"),
    "int_for_bool": (SCALED.replace("SCALE", "bool"), [*SIZES, "1"], "item 7 has 4 bytes"),
    "float_for_int": (SCALED.replace("SCALE", "int"), [*SIZES, "alpha"], "item 7 is a fraction, but the kernel reads"),
    "int_for_float": (SCALED.replace("SCALE", "float"), [*SIZES, "1"], "item 7 is an integer, but the kernel reads"),
    "too_few": (INTS, ["M", "N", "A", "B", "C"], "5 items, but mm has a different number of parameters"),
    "pointers_to_pointers": (
        INTS.replace("const float* A", "const float* const* A").replace("A[row", "A[0][row"),
        SIZES,
        "item 4 points to pointers, which cannot be passed",
    ),
    "fields_in_another_order": (STRUCTURES, [SWAPPED, *list(FIELDS.values())[1:]], "the fields of item 1 do not match"),
    "field_of_another_size": (STRUCTURES, [NARROW, *list(FIELDS.values())[1:]], "the fields of item 1 do not match"),
    "pointer_for_structure": (STRUCTURES, ["A", *list(FIELDS.values())[1:]], "item 1 is an array"),
}


@pytest.fixture(scope="module")
def records(tmp_path_factory, cache):
    """The record of each of these kernels on one small problem."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("by_value")
    known = {name: (symbol, args, text) for name, (symbol, args, text) in RIGHT.items()}
    known |= {name: ("mm", args, text) for name, (text, args, _) in REFUSED.items()}
    for name, (symbol, args, text) in known.items():
        manifest = MANIFEST.format(symbol=symbol, args=", ".join(args))
        (folder / f"{name}.cu").write_text(manifest + text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMMBENCH_CACHE_DIR", str(cache))
        found = verify(list(known), kernels=str(folder), sizes="33x21x17", device="cuda").records
    return {record.variant: record for record in found}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_passed_by_value_is_read(records, name):
    assert records[name].status == "ok", records[name].reason


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_kernel_would_read_otherwise_is_refused_with_the_line(records, name):
    record = records[name]
    assert record.status == "failed" and REFUSED[name][2] in record.reason, record.reason
    assert re.search(rf"{name}\.cu:{LINE}\b", record.reason), record.reason
