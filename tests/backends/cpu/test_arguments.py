"""Arguments by value on the CPU device: structures, types of numbers, and sizes that the kernel does not read."""

import re

import pytest

from gemmbench import verify

MATRIX = """
struct Matrix { int width, height; float* elements; short stride; };
__global__ void mm(Matrix A, Matrix B, Matrix C) {
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= C.height || col >= C.width) return;
    float sum = 0;
    for (int k = 0; k < A.width; ++k) sum += A.elements[row * A.stride + k] * B.elements[k * B.stride + col];
    C.elements[row * C.stride + col] = sum;
}
"""
FIELDS = [
    "{width: K, height: M, elements: A, stride: short(K)}",
    "{width: N, height: K, elements: B, stride: short(N)}",
    "{width: N, height: M, elements: C, stride: short(N)}",
]
LONG = """
using index_t = long long;
__global__ void mm(index_t M, index_t N, index_t K, const float* A, const float* B, float* C) {
    index_t col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (index_t k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
"""
BIAS = """
__global__ void mm(const float* A, const float* B, const float* bias, float* C, int M, int N, int K) {
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= M || col >= N) return;
    float sum = bias ? bias[col] : 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
"""
GRID = {"symbol": "mm", "precisions": "[f32]", "layouts": "[nn]", "grid": ["cdiv(N, 16)", "cdiv(M, 16)"]}


@pytest.fixture
def run_once(write_kernel):
    """The record of one small problem."""

    def check(body, args, **keys):
        rest = {**GRID, **keys}
        path = write_kernel("mine.cu", body=body, args=args, params=None, require=None, block="[16, 16]", **rest)
        [record] = verify(str(path), sizes="33x21x17", device="cpu", watch=False).records
        return record

    return check


def test_a_structure_is_passed_by_value(run_once):
    assert run_once(MATRIX, FIELDS).status == "ok"


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (
            [FIELDS[0].replace("width: K, height: M", "height: M, width: K"), *FIELDS[1:]],
            "the fields of item 1 do not",
        ),
        ([*FIELDS[:2], FIELDS[2].replace("short(N)", "N")], "the fields of item 3 do not"),
        ([*FIELDS[:2], "C"], "args: item 3 is an array, but the kernel reads a number or a structure there"),
        ([*FIELDS, "M"], "args: 4 items, but mm has a different number of parameters"),
    ],
)
def test_a_structure_of_other_fields_is_refused(run_once, args, fault):
    record = run_once(MATRIX, args)
    assert (record.status, fault in record.reason) == ("failed", True), record.reason


def test_a_number_of_another_size_is_refused(run_once):
    assert run_once(LONG, ["long(M)", "long(N)", "size_t(K)", "A", "B", "C"]).status == "ok"
    record = run_once(LONG, ["M", "N", "K", "A", "B", "C"])
    assert re.search(r"item 1 has 4 bytes, but the kernel reads another size; .*long\(M\)", record.reason)


def test_exchanged_arguments_are_refused_at_the_line_of_args_without_text_of_the_compiler(run_once):
    record = run_once(BIAS, ["A", "M", "null", "C", "B", "N", "K"])
    assert re.search(r"mine\.cu:\d+: args: item 2 is a number, but the kernel reads a pointer there", record.reason)
    assert "args: item 5 is an array, but the kernel reads a number or a structure there" in record.reason
    assert "static assertion" not in record.reason and "error:" not in record.reason


def test_a_number_of_another_kind_is_refused(run_once):
    scaled = LONG.replace("float* C)", "float* C, int scale, float power)").replace("= sum", "= sum * scale * power")
    sizes = ["long(M)", "long(N)", "long(K)", "A", "B", "C"]
    assert run_once(scaled, [*sizes, "1", "1.0"]).status == "ok"
    assert "item 7 is a fraction, but the kernel reads an integer" in run_once(scaled, [*sizes, "1.0", "1.0"]).reason
    assert "item 8 is an integer, but the kernel reads a fraction" in run_once(scaled, [*sizes, "1", "1"]).reason


def test_pointers_to_pointers_are_refused_with_the_line(run_once):
    body = BIAS.replace("const float* A", "float** A").replace("A[row * K", "A[0][row * K")
    record = run_once(body, ["A", "B", "null", "C", "M", "N", "K"])
    assert re.search(r"mine\.cu:\d+:.*item 1 points to pointers, which cannot be passed", record.reason)


def test_kernels_of_one_name_are_told_apart_by_their_lines(run_once):
    other = BIAS.replace("float", "double") + BIAS
    record = run_once(other, ["A", "B", "null", "C", "M", "N", "K"])
    assert re.search(r"several kernels are called mm \(mine\.cu:\d+ and mine\.cu:\d+\)", record.reason), record.reason
    special = "template <class T> " + BIAS.strip().replace("float", "T")
    special += "\ntemplate <> " + BIAS.strip().replace("mm(", "mm<double>(").replace("float", "double")
    record = run_once(special, ["A", "B", "null", "C", "M", "N", "K"], symbol="mm<float>")
    assert record.status == "ok", record.reason


def test_a_bias_is_null_where_none_is_added(run_once):
    args = ["A", "B", "bias", "C", "M", "N", "K"]
    assert run_once(BIAS, args).status == "ok"
    reason = run_once(BIAS.replace("bias ? bias[col] : 0", "bias[col]"), args).reason
    assert "through a null pointer" in reason and "`bias` is a null pointer where none is asked for" in reason


@pytest.mark.parametrize(
    ("arguments", "keys", "words"),
    [
        (
            ["scale_a", "scale_b"],
            {"precisions": "[f32, e4m3_rows]"},
            "`scale_a` is a null pointer in f32, which has no scales, so",
        ),
        (
            ["offsets", "null"],
            {"kinds": "[one, groups]"},
            "`offsets` is a null pointer for one product, so look at the macro GROUPS",
        ),
    ],
)
def test_scales_and_offsets_are_null_where_a_problem_has_none(run_once, arguments, keys, words):
    args = ["A", "B", *arguments, "C", "M", "N", "K"]
    body = BIAS.replace("float* bias", "float* bias, const float* other")
    assert run_once(body, args, **keys).status == "ok"
    reason = run_once(body.replace("bias ? bias[col] : 0", "bias[0]"), args, **keys).reason
    assert "through a null pointer; " in reason and words in reason, reason
