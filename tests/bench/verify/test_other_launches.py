"""On the CPU device a wrong kernel is launched in other ways, and the one that is right is named with its line."""

import pytest

from gemmbench.planning.sweeps.run_request import make_request
from gemmbench.session.machine import find_machine
from gemmbench.session.reporter import SILENT
from gemmbench.session.verification_runs import verify_kernels

MANIFEST = """file: mm.cu
summary: mm
order: 10
symbol: mm
args: [A, B, C, M, N, K]
precisions: [f32]
layouts: [nn]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
"""
KERNEL = """
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[16][16], Bs[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int t = 0; t < (K + 15) / 16; ++t) {
        As[y][x] = row < M && t * 16 + x < K ? A[row * K + t * 16 + x] : 0;
        Bs[y][x] = col < N && t * 16 + y < K ? B[(t * 16 + y) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
"""


@pytest.fixture
def verify(tmp_path, monkeypatch):
    """The record of a kernel on the CPU device, after replacements in its text and its manifest."""
    monkeypatch.chdir(tmp_path)

    def verify(code=(), manifest=()):
        texts = []
        for text, changes in ((KERNEL, code), (MANIFEST, manifest)):
            for old, new in changes:
                assert old in text
                text = text.replace(old, new)
            texts.append(text)
        (tmp_path / "mm.cu").write_text(texts[0])
        (tmp_path / "mm.yaml").write_text(texts[1])
        request = make_request(variants=("./mm.yaml",), sizes="31x61x97")
        (record,) = verify_kernels(request, find_machine("cpu", SILENT), watch=False).records
        return record

    return verify


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ([("A, B, C, M, N, K", "A, B, C, M, K, N")], "right if args were [A, B, C, M, N, K] (mm.yaml:5)"),
        ([("A, B, C, M, N, K", "A, B, C, K, N, M")], "right if args were [A, B, C, M, N, K] (mm.yaml:5)"),
        ([("A, B, C", "B, A, C")], "right if args were [A, B, C, M, N, K] (mm.yaml:5)"),
        (
            [("cdiv(N", "cdiv(X"), ("cdiv(M", "cdiv(N"), ("cdiv(X", "cdiv(M")],
            "right if the lines of grid changed places (mm.yaml:9)",
        ),
        ([("block:\n  - 16\n  - 16", "block:\n  - 16\n  - 8")], "right if block were [16, 16] (mm.yaml:12)"),
        ([("block:\n  - 16\n  - 16", "block:\n  - 32\n  - 32")], "right if block were [16, 16] (mm.yaml:12)"),
    ],
)
def test_the_launch_that_would_be_right_is_named(verify, manifest, words):
    record = verify(manifest=manifest)
    assert record.status == "wrong" and words in record.reason and not record.wrong_map


@pytest.mark.parametrize(("condition", "is_reported"), [("blockDim.x != 16", False), ("blockDim.x == 16", True)])
def test_what_another_launch_prints_is_not_reported(verify, condition, is_reported):
    """gemmbench chose its block, not the manifest."""
    talks = "if (row == 7 && col == 0 && " + condition + ') printf("%d", row); sum = 7'
    record = verify([("float sum = 0", "float sum = 0; " + talks), ("k < 16", "k < 7")])
    assert record.status == "wrong" and bool(record.printed) == is_reported


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        (
            [("float sum = 0;", "float sum = 0; if (row >= M || col >= N) return;")],
            "wrong",
            "61 threads of a block had",
        ),
        (
            [("if (row < M && col < N) C", "C")],
            "wrong",
            "the last write is the one for C[31][63], so a guard on M and N is missing",
        ),
        ([("A[row * K + t * 16 + x]", "A[row * K + t * 16 + y]")], "wrong", "A[i][i] instead of A[i][k]"),
        ([("(t * 16 + y) * N", "(t * 16 + x) * N")], "wrong", "B[j][j] instead of B[k][j]"),
        ([("C[row * N", "C[(row + 1) * N")], "wrong", "as if each row held the row 1 above it"),
        ([("= sum", "+= sum")], "wrong", "the product is added to C although beta is 0;"),
        (
            [("float sum = 0;", "float sum = 0; extern __shared__ float more[]; more[y] = 1;")],
            "failed",
            "mm declares `extern __shared__`, but `shared` is 0 bytes (mm.yaml",
        ),
        ([("const float* A", "const char* A")], "wrong", "mm takes `char* A`, which are integers, not f32"),
        ([("float", "int")], "wrong", "mm takes `int* A`, `int* B`, `int* C`, which are integers, not f32"),
        ([("        __syncthreads();\n        for", "        for")], "wrong", "a race, a missing __syncthreads()"),
    ],
)
def test_what_the_text_does_wrong_is_named(verify, code, status, words):
    record = verify(code=code)
    assert record.status == status and words in record.reason


def test_a_kernel_with_sizes_of_its_own_is_told_from_one_that_lacks_a_guard(verify):
    sizes = "#define M 48\n#define N 64\n#define K 80\n__global__"
    code = [(", int M, int N, int K", ""), ("\n__global__", f"\n{sizes}")]
    record = verify(code=code, manifest=[("C, M, N, K", "C")])
    assert record.status == "wrong"
    assert "mm takes no size, so its sizes are in its text; write them under `require`" in record.reason


def test_launch_bounds_in_a_macro_are_found(verify):
    code = [("void mm", "void BOUNDS mm"), ("\n__global__", "\n#define BOUNDS __launch_bounds__(128, 2)\n__global__")]
    record = verify(code=code)
    assert record.status == "skipped" and "of mm allows 128 (mm.cu:2)" in record.reason


def test_launch_bounds_below_the_block_are_refused_with_the_line(verify):
    record = verify(
        code=[("void mm", "void\n__launch_bounds__(THREADS)\nmm"), ("\n__global__", "#define THREADS 64\n__global__")]
    )
    assert record.status == "skipped"
    assert "a block of 256 threads, but `__launch_bounds__(THREADS)` of mm allows 64 (mm.cu:3)" in record.reason


def test_arguments_in_structures_are_named_as_they_are_written(verify):
    structure = "struct Sizes { int rows, columns, depth; };\n__global__ void mm("
    code = [
        ("__global__ void mm(", structure),
        ("int M, int N, int K) {", "Sizes s) {\n    int M = s.rows, N = s.columns, K = s.depth;"),
    ]
    record = verify(code, [("[A, B, C, M, N, K]", "[A, B, C, {rows: M, columns: K, depth: N}]")])
    assert "right if args were [A, B, C, {rows: M, columns: N, depth: K}] (mm.yaml:5)" in record.reason
