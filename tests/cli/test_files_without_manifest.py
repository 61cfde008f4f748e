"""Files without a manifest: what was found by trying is verified, shown and kept; what cannot be found is said."""

import re

import pytest

from gemmbench.backends.cpu import manifest_search

PLAIN = """
#include <torch/extension.h>
__global__ void other(float* x) { x[threadIdx.x] = 0; }
__global__ void mm(ARGS) {
    int row = blockIdx.x * 16 + threadIdx.x, col = blockIdx.y * 16 + threadIdx.y;
    if (row >= rows || col >= cols) return;
    float sum = 0;
    for (int i = 0; i < inner; ++i) sum += x[row * inner + i] * y[i * cols + col];
    z[row * cols + col] = sum;
}
torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    dim3 block(16, 16), grid(CEIL(a.size(0), 16), CEIL(b.size(1), 16));
    return a;
}
"""
SIZES = "const float* x, const float* y, float* z, int rows, int inner, int cols"
FLOORED = """
const int TILE = 16;
__global__ void mm(float* A, float* B, float* C, int n) {
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += A[row * n + i] * B[i * n + col];
    C[row * n + col] = sum;
}
int main() {
    int n = 512;
    dim3 threads(TILE, TILE), blocks(n / TILE, n / TILE);
    mm<<<blocks, threads>>>(nullptr, nullptr, nullptr, n);
}
"""
MATRIX = """
typedef struct { int width, height; float* elements; } Matrix;
__global__ void mm(const Matrix A, const Matrix B, Matrix C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= C.height || col >= C.width) return;
    float sum = 0;
    for (int i = 0; i < A.width; ++i) sum += A.elements[row * A.width + i] * B.elements[i * B.width + col];
    C.elements[row * C.width + col] = sum;
}
"""
COLUMNS = """
__global__ void mm(int m, int n, int k, double alpha, const double* A, const double* B, double beta, double* C) {
    int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
    if (i >= m || j >= n) return;
    double sum = 0;
    for (int p = 0; p < k; ++p) sum += A[i + p * m] * B[p + j * k];
    C[i + j * m] = alpha * sum + beta * C[i + j * m];
}
"""
FUNCTOR = """
struct Scale { float by; __device__ float operator()(float x) const { return x * by; } };
template <class Op>
__global__ void mm(int m, int n, int k, const float* a, const float* b, float* c, Op op) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = op(sum);
}
"""
OF_TYPE = (
    re.sub(r"Matrix (?=[ABC])", "Matrix<float> ", MATRIX).replace(" } Matrix;", " };").replace("float* el", "T* el")
)
OF_TYPE = OF_TYPE.replace("typedef struct", "template <class T> struct Matrix")
FLAGS = PLAIN.replace("ARGS", f"{SIZES}, bool longer, bool right").replace("i < inner", "i < inner + longer - !right")
NARROW = """
#include <cuda_bf16.h>
#include <cuda_fp8.h>
__global__ void mm(const TA* A, const TB* B, TC* C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += float(A[row * K + k]) * float(B[k * N + col]);
    C[row * N + col] = TC(sum);
}
"""
FLOATS = SIZES.replace("const ", "")
WRONG = """
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int i = 0; i < K - 1; ++i) sum += A[row * K + i] * B[i * N + col];
    C[row * N + col] = sum;
}
void run(float* A, float* B, float* C, int M, int N, int K) {
    mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def verify(folder, gemmbench):
    def run(body, *options, sizes="48x32x64"):
        (folder / "mine.cu").write_text(body)
        return gemmbench("verify", "./mine.cu", "--device", "cpu", "--sizes", sizes, *options)

    return run


TILED = """
#include "sizes.h"
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
    DECLARED
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE_WIDTH + y, col = blockIdx.x * TILE_WIDTH + x;
    float sum = 0;
    for (int t = 0; t < K; t += TILE_WIDTH) {
        As[y * TILE_WIDTH + x] = row < M && t + x < K ? A[row * K + t + x] : 0;
        Bs[y * TILE_WIDTH + x] = col < N && t + y < K ? B[(t + y) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += As[y * TILE_WIDTH + k] * Bs[k * TILE_WIDTH + x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
"""
STATIC = TILED.replace("DECLARED", "__shared__ float As[TILE_WIDTH * TILE_WIDTH], Bs[TILE_WIDTH * TILE_WIDTH];")
DYNAMIC = "const int TILE_WIDTH = 16;" + TILED.replace(
    "DECLARED", "extern __shared__ float As[]; float* Bs = As + TILE_WIDTH * TILE_WIDTH;"
)
PROPERTIES = """
int main() {
    cudaDeviceProp prop;
    float side = sqrt(prop.maxThreadsPerBlock);
    dim3 block(side, side), grid(ceil(n / side), ceil(m / side));
    size_t bytes = 2 * block.x * block.y * sizeof(float);
    mm<<<grid, block, bytes>>>(a, b, c, m, n, k);
}
"""
ONE_SIZE = FLOORED.replace("int n = 512;", "").replace(", n)", ", 512)").replace("n / TILE", "512 / TILE")
GUARDED = "#if defined(GPU)\n#if BACKEND == 2" + COLUMNS + "#endif\n#endif\n"


DEEP = "#define K 2048" + FLOORED.split("int main")[0].replace("int n)", "int d0, int d1, int d2)").replace(
    "i < n", "i < K"
).replace("A[row * n", "A[row * d2").replace("* n +", "* d1 +")
TEMPLATE = FLOORED.split("int main")[0].replace("__global__", "template <int ROWS, int INNER, int COLS> __global__")
TEMPLATE = TEMPLATE.replace("float sum", "if (row >= ROWS || col >= COLS) return; float sum").replace(", int n", "")
TEMPLATE = TEMPLATE.replace("i < n", "i < INNER").replace("A[row * n", "A[row * INNER").replace("* n +", "* COLS +")
ELEMENTS = """
__global__ void mm(int n, const float* a, const float* b, float* c) {
    int index = blockIdx.x * blockDim.x + threadIdx.x, row = index / n, col = index % n;
    if (row >= n) return;
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += a[row * n + i] * b[i * n + col];
    c[index] = sum;
}
int main() {
    int n = 200, all = n * n, threads = 512, blocks = (all + threads - 1) / threads;
    mm<<<blocks, threads>>>(n, nullptr, nullptr, nullptr);
}
"""
BLOCKS = """
__global__ void mm(const float* a, const float* b, float* c, int inner, int cols) {
    float sum = 0;
    for (int i = 0; i < inner; ++i) sum += a[blockIdx.x * inner + i] * b[i * cols + blockIdx.y];
    c[blockIdx.x * cols + blockIdx.y] = sum;
}
"""
WARPS = WRONG.replace("K - 1", "K").replace("* 16", "* (WARP_SIZE / 2)")


FIXED = """
#define M 96
#define N 64
#define K 80
__global__ void mm(const float* A, const float* B, float* C) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
"""


@pytest.mark.parametrize(
    ("body", "sizes", "shown"),
    [
        (PLAIN.replace("ARGS", SIZES), "48x32x64", "args [A, B, C, M, K, N]; grid [cdiv(M, 16), cdiv(N, 16)]"),
        (FLOORED, "48", "grid [N // 16, N // 16]; block [16, 16]; needs M == N and K == N and N % 16 == 0"),
        (MATRIX, "33x21x17", "{width: K, height: M, elements: A}"),
        (OF_TYPE, "33x21x17", "{width: K, height: M, elements: A}"),
        (FLAGS, "48x32x64", "args [A, B, C, M, K, N, bool(0), bool(1)]"),
        (COLUMNS, "33x21x17", "A, B and C by columns"),
        (FUNCTOR, "33x21x17", "{by: 1.0}"),
        (GUARDED, "33x21x17", "with GPU = 1, BACKEND = 2; args"),
        (STATIC, "33x21x17", "with TILE_WIDTH = 32; args [A, B, C, M, N, K]; grid [cdiv(N, 32), cdiv(M, 32)]"),
        (DYNAMIC, "33x21x17", "grid [cdiv(N, 16), cdiv(M, 16)]; block [16, 16]"),
        (DYNAMIC + PROPERTIES, "33x21x17", "grid [cdiv(N, 16), cdiv(M, 16)]; block [16, 16]"),
        (ONE_SIZE, "48", "grid [cdiv(N, 16), cdiv(M, 16)]; block [16, 16]; needs M == N"),
        (DEEP, "16x32x2048", "needs K == 2048"),
        (TEMPLATE, "96x80x64", "template <96, 64, 80>; args [A, B, C]; grid [cdiv(N, 16), cdiv(M, 16)]"),
        (ELEMENTS, "33", "grid [cdiv(M * N, 512)]; block [512]"),
        (BLOCKS, "33x21x17", "args [A, B, C, K, N]; grid [M, N]; block [1]"),
        (WARPS, "32x64x16", "with WARP_SIZE = 32"),
        (FIXED, "96x64x80", "needs M == 96 and N == 64 and K == 80"),
        (FIXED.replace("#define M 96", "").replace("C)", "C, int M)"), "33x64x80", "needs N == 64 and K == 80"),
    ],
)
def test_a_file_without_a_manifest_is_verified_as_it_was_found(verify, body, sizes, shown):
    said = verify(body, sizes=sizes)
    assert said.code == 0, said.out + said.err
    assert shown in said.err
    assert "keep it: gemmbench new NAME --from ./mine.cu --symbol mm --try" in said.err


@pytest.mark.parametrize(
    ("a", "c", "stored", "line"),
    [("i * {5} + p", "j * {3} + i", "A and B by rows, C by columns", "writes C by columns (`C[j * M + i]`); if C"),
     ("i + p * {3}", "i * {4} + j", "B and C by rows, A by columns", "reads A by columns (`A[i + p * M]`); if A")],
)  # fmt: skip
def test_matrices_that_are_not_all_by_rows_are_named_with_the_line_that_may_be_wrong(verify, a, c, stored, line):
    said = verify(make_found_out(NAMED, a=a).replace("[i * N + j] = sum", f"[{c}] = sum".format(*NAMED)))
    assert said.code == 0 and stored in said.err, said.out + said.err
    assert re.search(rf"mine\.cu:\d+ {re.escape(line)} is stored by rows, this is the mistake", said.err), said.err


def test_a_mistake_in_a_leading_dimension_does_not_seem_right_with_other_arguments(verify):
    launch = "void run() { dim3 block(16, 16), grid(N / 16, M / 16); mm<<<grid, block>>>(A, B, C, M, N, K); }"
    body = MISTAKEN.format("row * M + k") + launch
    said = verify(body, sizes="64x96x128")
    assert said.code == 1 and "as if the leading dimension of A were M instead of K" in said.out


MISTAKEN = """
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[{}] * B[k * N + col];
    C[row * N + col] = sum;
}}
"""


SQUARE_CALL = """
void run() {{
    int n = 1024;
    dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    mm<<<grid, block>>>(a, b, c, {});
}}
"""


@pytest.mark.parametrize(
    ("sizes", "exchanged", "grid"),
    [
        ("n, n, n", False, "[cdiv(N, 16), cdiv(M, 16)]"),
        ("n, n, k", False, "[cdiv(N, 16), cdiv(M, 16)]"),
        ("n, n, n", True, "[cdiv(M, 16), cdiv(N, 16)]"),
    ],
)
def test_a_launch_with_one_size_for_several_does_not_hide_the_mistake(verify, hurried, sizes, exchanged, grid):
    body = make_found_out(NAMED, b="p * {5} + j")
    if exchanged:
        body = body.replace("blockIdx.y", "blockIdx.z").replace("blockIdx.x", "blockIdx.y")
        body = body.replace("blockIdx.z", "blockIdx.x")
    said = verify(body + SQUARE_CALL.format(sizes), sizes="31x97x61")
    assert f"grid {grid}" in said.err, said.err
    assert said.code == 1 and "as if the leading dimension of B were K instead of N" in said.out, said.out


def test_a_launch_with_one_size_for_several_is_right_for_a_right_kernel(verify):
    said = verify(make_found_out(NAMED) + SQUARE_CALL.format("n, n, n"), sizes="31x97x61")
    assert said.code == 0 and "(1 try," in said.err and "grid [cdiv(N, 16), cdiv(M, 16)]" in said.err


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "(N + 15) / 16, (M + 15) / 16",
            "(M + 15) / 16, (N + 15) / 16",
            "grid [cdiv(M, 16), cdiv(N, 16)]; correct with",
        ),
        (
            "(A, B, C, M, N, K)",
            "(dB, dA, dC, M, N, K)",
            "args [B, A, C, M, N, K]; correct with args [A, B, C, M, N, K]",
        ),
        ("dim3(16, 16)>", "dim3(16, 8)>", "block [16, 8]; correct with block [16, 16]"),
    ],
)
def test_a_wrong_launch_of_a_right_kernel_is_named_and_fails(verify, old, new, fault):
    said = verify(WRONG.replace("K - 1", "K").replace(old, new))
    assert f"as launched at line 10 it is wrong: {fault}" in said.err, said.err
    assert said.code == 1 and "./mine.cu: the kernel is correct, but its launch is not" in said.err


@pytest.mark.parametrize(
    "launch",
    [
        "mm<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(B, A, C, n, m, K);",  # by columns
        "mm<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(A, B, C, n, m, K);",  # other names
        "mm<<<dim3(64, 64), dim3(16, 16)>>>(A, B, C, M, N, K);",  # one problem
        "mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(B, A, C, n, n, n);",
    ],
)
def test_a_launch_that_is_right_in_its_own_way_is_not_called_wrong(verify, launch):
    body = WRONG.replace("K - 1", "K")
    said = verify(body.split("    mm<<<")[0] + launch + "}")
    assert said.code == 0 and "as launched" not in said.err, said.err


def test_a_kernel_that_is_never_right_is_verified_as_its_names_say(verify):
    said = verify(WRONG)
    assert (said.code, "assumed because names and code say so" in said.err) == (1, True)
    assert "as if the last product of 64 were lost" in said.out and "see mine.cu:6" in said.out


@pytest.fixture
def hurried(monkeypatch):
    """The search gives up after two seconds."""
    monkeypatch.setattr(manifest_search, "_BUDGET", 2.0)


FOUND_OUT = """
__global__ void mm(const float* {0}, const float* {1}, float* {2}, int {3}, int {4}, int {5}) {{
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= {3} || j >= {4}) return;
    float sum = 0;
    for (int p = 0; p < {5}; ++p) {6};
    {2}[i * {7} + j] = sum;
}}
"""
NAMED, UNNAMED = ("A", "B", "C", "M", "N", "K"), ("x", "y", "z", "p1", "p2", "p3")


def make_found_out(names, a="i * {5} + p", b="p * {4} + j", step="{4}"):
    products = f"sum += {names[0]}[{a}] * {names[1]}[{b}]".format(*names)
    return FOUND_OUT.format(*names, products, step.format(*names))


@pytest.mark.parametrize("names", [NAMED, UNNAMED])
@pytest.mark.parametrize(
    ("mistake", "cause"),
    [
        ({"a": "i * {4} + p"}, "as if the leading dimension of A were N instead of K"),
        ({"step": "{3}"}, "as if the leading dimension of C were M instead of N"),
    ],
)
def test_a_mistake_is_named_without_launch_and_manifest_whatever_the_names_are(verify, hurried, names, mistake, cause):
    said = verify(make_found_out(names, **mistake), sizes="31x61x97")
    if names == UNNAMED and said.code == 2:  # without names several assumptions may explain the result
        assert "explain its result equally well" in said.err and cause in said.err
        return
    assert said.code == 1 and cause in said.out and "see mine.cu:" in said.out, said.out + said.err
    assert "assumed args [A, B, C, M, N, K]" in said.err and "assumed because" in said.err


def test_a_right_kernel_is_not_assumed_to_be_anything(verify):
    said = verify(make_found_out(UNNAMED), sizes="31x61x97")
    assert said.code == 0 and "assumed" not in said.err


def test_a_kernel_that_is_no_product_is_not_blamed_for_a_mistake(verify, hurried):
    said = verify(make_found_out(UNNAMED).replace("] * ", "] + "), sizes="31x61x97")
    assert said.code == 2 and "its names do not tell which argument is which; write the one that is meant" in said.err


def test_tile_coordinates_and_steps_are_named_without_values_of_the_template(verify):
    said = verify(TEMPLATE.format("col * T * N + row * T", "T * N"), sizes="64x96x128")
    assert said.code == 1 and "were exchanged in the address of C; see mine.cu:9" in said.out, said.out + said.err
    said = verify(TEMPLATE.format("row * T * N + col * T", "T * K"), sizes="64x128x96")
    assert said.code == 1 and "as if B advanced by" in said.out and "see mine.cu:18" in said.out, said.out + said.err
    lost = TEMPLATE.format("row * T * N + col * T", "T * N").replace("k < T;", "k < T - 1;")
    said = verify(lost, sizes="64x128x96")
    assert said.code == 1 and "were lost, from k = " in said.out and "see mine.cu:15" in said.out, said.out + said.err


TEMPLATE = """
template <int T>
__global__ void mm(int M, int N, int K, const float* A, const float* B, float* C) {{
    __shared__ float As[T * T], Bs[T * T];
    int row = blockIdx.y, col = blockIdx.x;
    int x = threadIdx.x % T, y = threadIdx.x / T;
    A += row * T * K;
    B += col * T;
    C += {0};
    float sum = 0;
    for (int t = 0; t < K; t += T) {{
        As[y * T + x] = A[y * K + x];
        Bs[y * T + x] = B[y * N + x];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y * T + k] * Bs[k * T + x];
        __syncthreads();
        A += T;
        B += {1};
    }}
    C[y * N + x] = sum;
}}
"""


def test_a_kernel_that_tests_sizes_in_vain_fails(verify):
    body = LOST.replace("TILE - 1; ++k", "TILE; ++k").replace("(K + TILE - 1) / TILE", "K / TILE")
    said = verify(body, sizes="31x61x97")
    assert "mm tests M and N and K, but is correct only where K % 16 == 0: at 32x64x65, as if the last" in said.err
    assert said.code == 1 and "as if the last product of 97 were lost" in said.out, said.out + said.err


@pytest.mark.parametrize("guard", ["row >= M", "col >= N"])
def test_a_kernel_that_tests_only_some_sizes_fails_where_the_others_are_no_multiples(verify, guard):
    body = WRONG.replace("K - 1", "K").replace("row >= M || col >= N", guard)
    said = verify(body, sizes="31x61x97")
    tested, other = (guard[-1], "MN".replace(guard[-1], ""))
    assert f"tests {tested}, but not {other}, and is correct only where {other} % 16 == 0: at" in said.err
    assert said.code == 1 and "needs" not in said.err, said.out + said.err


def test_nothing_is_said_to_be_correct_of_a_kernel_that_adds_to_c(verify):
    body = LOST.replace("TILE - 1; ++k", "TILE; ++k").replace("(K + TILE - 1) / TILE", "K / TILE")
    assert body.count("] = sum;") == 1
    said = verify(body.replace("] = sum;", "] += sum;"), sizes="31x61x97,32x64x96")
    assert "is correct only where" not in said.err and said.code == 1, said.out + said.err
    assert "C is read although beta is 0" in said.out or "added to C although beta is 0" in said.out


def test_a_kernel_with_a_single_size_fails_if_it_tests_that_in_vain(verify):
    said = verify(FLOORED.replace("float sum", "if (row >= n) return; float sum"), sizes="33")
    assert "tests N, but is correct only where N % 16 == 0" in said.err and said.code == 1, said.out + said.err


@pytest.mark.parametrize(
    ("guard", "cause"),
    [
        ("row > M || col >= N", "`row > M` at mine.cu:4 lets row = M through; write `row >= M`"),
        ("row >= M || N < col", "`N < col` at mine.cu:4 lets col = N through; write `N <= col`"),
        ("!(row <= M && col <= N)", "`row <= M` and `col <= N` at mine.cu:4 let row = M and col = N through; "
         "write `row < M` and `col < N`"),
        ("row > M) return; int ldd = N; if (ldd > N || col >= N",
         "`row > M` at mine.cu:4 lets row = M through; write `row >= M`"),
        ("row >= M + 1 || col >= N", "it writes outside C, so a guard on M is missing or wrong"),
        ("row > M - 1 || col > N - 1", ""),
    ],
)  # fmt: skip
def test_a_guard_that_lets_one_too_many_through_is_named_with_its_line(verify, guard, cause):
    said = verify(WRONG.replace("K - 1", "K").replace("row >= M || col >= N", guard), sizes="31x61x97")
    assert said.code == bool(cause) and ("writes outside C" in said.err) == bool(cause), said.out + said.err
    assert cause in said.err
    if "through" in cause:
        seen, checked = said.out.split("guard check: ")
        assert cause in seen and cause in checked and "is missing" not in said.out + said.err, said.out + said.err


def test_what_a_drafted_manifest_requires_is_cited_without_a_line_that_nobody_sees(verify):
    said = verify(FLOORED, sizes="32,33")
    assert said.code == 0 and "1 skipped: require N % 16 == 0 (drafted manifest)" in said.out, said.out


def test_a_failed_assertion_names_the_file_of_the_user(verify):
    said = verify("#include <cassert>\n" + WRONG.replace("float sum", "assert(K < 65); float sum"), sizes="32x32x80")
    assert "mine.cu:6: assertion `K < 65` failed" in said.out and ".kernel" not in said.out, said.out


def test_a_kernel_that_does_not_end_is_tried_twice(verify):
    said = verify(LOST.replace("++t", "t += 0"), "--launch-limit", "1")
    assert (
        "mm did not finish within 2 s with 2 combinations of its arguments; assumed args [A, B, C, M, N, K]" in said.err
    )
    assert said.code == 1 and "timeout" in said.out


def test_a_tile_with_more_elements_than_a_block_has_threads_is_not_called_a_race(verify):
    said = verify(LOST.replace("TILE 16", "TILE 64"))
    assert "a block of 4096 threads; a block may have 1 to 1024" in said.out


def test_a_kernel_that_writes_only_over_nan_never_writes(verify):
    body = LOST.replace("TILE - 1; ++k", "TILE; ++k").replace(
        "col < N) C", "col < N && C[row * N + col] != C[row * N + col]) C"
    )
    said = verify(body, sizes="31x61x97")
    assert said.code == 1 and "1891 of 1891 elements were never written" in said.out


def test_the_pointer_that_a_kernel_assigns_is_its_result(verify):
    body = FLOORED.replace("i < n", "i < n - 1").replace("float* A", "float* one").replace("float* B", "float* two")
    said = verify(body.replace("A[", "one[").replace("B[", "two[").replace("C", "three"), sizes="48")
    assert said.code == 1 and "args [A, B, C, N]" in said.err
    assert "as if the last product of 48 were lost" in said.out


def test_a_launch_of_one_block_is_what_the_text_says(verify):
    alone = """
    __global__ void mm(int M, int N, int K, double* A, double* B, double* C) {
        for (int i = 0; i < M; ++i)
            for (int k = 0; k < K; ++k)
                for (int j = 0; j < N; ++j) C[i * N + j] += A[i * K + k] * B[k * N + j];
    }
    void run(int m, int n, int k) { mm<<<1, 1>>>(m, n, k, nullptr, nullptr, nullptr); }
    """
    said = verify(alone)
    assert said.code == 1 and "the product is added to C although beta is 0;" in said.out
    assert "found the arguments of mm by trying (1 try" in said.err and "grid [1]; block [1]" in said.err


def test_a_wrong_kernel_that_adds_to_its_result_has_written_it(verify):
    said = verify(FLOORED.replace("C[row * n + col] = sum", "C[row * n + col] += 2 * sum"), sizes="48")
    assert said.code == 1 and "C was never written" not in said.out
    assert "C is read although beta is 0, and the result is also wrong" in said.out


def test_arguments_without_names_are_found_for_a_kernel_that_adds_to_its_result(verify):
    said = verify(PLAIN.replace("ARGS", SIZES).replace("] = sum", "] += sum").replace("z", "out").replace("inner", "s"))
    assert said.code == 1 and "the product is added to C although beta is 0;" in said.out
    assert "args [A, B, C, M, K, N]" in said.err


@pytest.mark.parametrize(
    ("sizes", "cause"),
    [("31x61x97", "one product in 16 were lost, from k = 15 on"), ("32x64x16", "the last product of 16 were lost")],
)
def test_a_tiled_kernel_that_is_never_right_needs_no_launch_for_its_cause_and_the_inner_loop(verify, sizes, cause):
    said = verify(LOST, sizes=sizes)
    line = LOST.partition("k < TILE - 1")[0].count("\n") + 1
    assert said.code == 1 and cause in said.out and f"see mine.cu:{line}" in said.out, said.out


LOST = """
#define TILE 16
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        As[y][x] = row < M && t * TILE + x < K ? A[row * K + t * TILE + x] : 0;
        Bs[y][x] = col < N && t * TILE + y < K ? B[(t * TILE + y) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE - 1; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (PLAIN.replace("ARGS", FLOATS.replace("float* x", "float** x")), "an array of pointers cannot be passed"),
        (PLAIN.replace("ARGS", SIZES.replace("float*", "int*")), "multiplies int matrices"),
        (PLAIN.replace("ARGS", SIZES.replace("float*", "signed char*")), "multiplies 8-bit integers (`char* x`)"),
        (
            PLAIN.replace("ARGS", f"const __nv_fp8_e4m3* x, {SIZES.partition(', ')[2]}, const float* scale_a"),
            "takes scales (`scale_a`) of 8-bit floats, which trying does not fill",
        ),
        (
            NARROW.replace("TA", "__nv_fp8_e4m3").replace("TB", "__nv_fp8_e5m2").replace("TC", "__nv_bfloat16"),
            "multiplies e4m3 by e5m2 into bfloat16, for which there is no precision",
        ),
        (
            PLAIN.replace("ARGS", f"{SIZES}, const int* offsets"),
            "takes an array of numbers besides its matrices (`int* offsets`), which trying does not fill",
        ),
        ("int main() { return 0; }", "no kernel: no `__global__` function"),
        (FIXED.replace("96", "4096").replace("64", "4096").replace("80", "4096"), "such as 4096, are too large to try"),
        (
            '#include "matrix.h"\n' + MATRIX.partition("Matrix;")[2],
            'plain structure; left out, because not found: "matrix.h": give the folder',
        ),
        ("#if 0\n__global__ void mm() {}\n#endif", "; its code is left out by `#if 0` (mine.cu:1)"),
        (
            "#ifdef X_H\n#elif X > 1\n__global__ void mm() {}\n#endif",
            "; its code is left out by `#elif X > 1` (mine.cu:2)",
        ),
        ("/*---\nsummary: x\n--- */\n" + PLAIN.replace("ARGS", SIZES), "mine.cu:1: the manifest has no end"),
    ],
)
def test_a_file_that_cannot_be_tried_is_refused_with_the_reason(verify, body, reason):
    said = verify(body)
    assert (said.code, reason in said.err) == (2, True), said.err


@pytest.mark.parametrize(
    ("types", "precision"),
    [
        (("__nv_fp8_e4m3", "__nv_fp8_e4m3", "__nv_bfloat16"), "e4m3"),
        (("__nv_fp8_e5m2", "__nv_fp8_e4m3", "__nv_bfloat16"), "e5m2"),
        (("__nv_bfloat16", "__nv_bfloat16", "__nv_bfloat16"), "bf16"),
        (("__nv_bfloat16", "__nv_bfloat16", "float"), "bf16_f32"),
    ],
)
def test_the_precision_follows_from_the_types_of_a_b_and_c(verify, types, precision):
    body = NARROW
    for name, kind in zip(("TA", "TB", "TC"), types, strict=True):
        body = body.replace(name, kind)
    said = verify(body, "--no-watch", "--sizes", "33x65x40")
    assert said.code == 0 and "found the arguments of mm by trying" in said.err, said.err
    assert f"; {precision}\n" in said.err
    wrong = verify(body.replace("k < K", "k < K - 1"), "--no-watch", "--sizes", "33x65x40")
    assert wrong.code != 0 and f"nn {precision}" in wrong.out + wrong.err, wrong.err


BY_COLUMNS = """
struct Matrix { typedef float T; int rows, cols, ld; T* data; };
__global__ void mm(Matrix A, Matrix B, Matrix C) {
    int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
    if (i >= C.rows || j >= C.cols) return;
    Matrix::T sum = 0;
    for (int k = 0; k < A.cols; ++k) sum += A.data[i + k * A.ld] * B.data[k + j * B.ld];
    C.data[i + j * C.ld] = sum;
}
void run() {
    const int M = 1000, N = 700, K = 300;
    Matrix A{M, K, M, nullptr}, B{K, N, K, nullptr}, C{M, N, M, nullptr};
    mm<<<dim3((M + 15) / 16, (N + 15) / 16), dim3(16, 16)>>>(A, B, C);
}
"""


def test_structures_with_a_typedef_and_matrices_by_columns_are_found(verify):
    said = verify(BY_COLUMNS, sizes="33x21x17")
    assert said.code == 0 and "A, B and C by columns" in said.err, said.out + said.err
    assert "{rows: M, cols: K, ld: M, data: A}" in said.err


def test_matrices_of_integers_are_refused_with_what_to_change(verify):
    said = verify(WRONG.replace("float*", "int*"))
    assert said.code == 2 and "make their type a parameter of a template, or a typedef of float" in said.err


@pytest.mark.parametrize(
    ("right", "mistake", "said_of_it"),
    [
        ("float sum = 0;", "float sum = 0", "mine.cu:6: the compiler says error: "),
        ("float sum = 0;", "float sun = 0;", "mine.cu:6: the compiler says error: 'sum' was not declared"),
        ("float sum = 0;", "\n#error no\nfloat sum = 0;", "mine.cu:6: the compiler says error: #error no"),
    ],
)
def test_what_does_not_compile_is_the_compilers_to_say(verify, right, mistake, said_of_it):
    said = verify(WRONG.replace(right, mistake))
    assert said.code == 2 and said_of_it in said.err and "manifest" not in said.err, said.err


def test_a_file_whose_kernel_needs_a_gpu_is_skipped_with_construct_and_line(verify, gemmbench):
    said = verify(FLOORED.replace("float sum = 0;", 'float sum = 0; asm("bar;");'))
    assert "./mine.cu: skipped: uses inline PTX (mine.cu:5), which the CPU cannot execute" in said.out
    assert "to run it on a GPU, write one: gemmbench new NAME --from ./mine.cu" in said.err
    inspected = gemmbench("inspect", "./mine.cu")
    assert (inspected.code, "because it uses inline PTX (mine.cu:5)" in inspected.err) == (2, True)


def test_a_file_is_run_in_the_precision_and_the_layout_that_it_has(folder, gemmbench):
    (folder / "mine.cu").write_text(COLUMNS.replace("B[p + j * k]", "B[j + p * n]"))
    said = gemmbench("run", "./mine.cu", "--device", "cpu", "--sizes", "32", "--dry-run")
    assert said.code == 0 and "f64" in said.out and "tn" in said.out and "does not support" not in said.out, said.out
    asked = gemmbench("run", "./mine.cu", "--device", "cpu", "--sizes", "32", "--dry-run", "--precision", "f32")
    assert "does not support precision f32; supports f64" in asked.out


def test_a_grid_is_not_that_of_another_size_which_is_larger(verify):
    launch = (
        "void run() { mm<<<dim3((inner + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(x, y, z, rows, inner, cols); }"
    )
    body = PLAIN.partition("torch::Tensor")[0].replace("ARGS", SIZES).replace("blockIdx.x", "blockIdx.w")
    said = verify(
        body.replace("blockIdx.y", "blockIdx.x").replace("blockIdx.w", "blockIdx.y") + launch, sizes="17x100x27"
    )
    assert said.code == 1 and "wrong: grid [cdiv(K, 16), cdiv(M, 16)]; correct with grid [cdiv(N, 16)" in said.err, (
        said.err
    )


def test_a_kernel_of_fixed_sizes_by_columns_is_verified_at_these(folder, gemmbench):
    fixed = COLUMNS.replace("int m, int n, int k, ", "").replace("* m", "* 80").replace("* k", "* 96")
    fixed = fixed.replace(">= m", ">= 80").replace(">= n", ">= 64").replace("< k", "< 96")
    (folder / "mine.cu").write_text(fixed)
    said = gemmbench("verify", "./mine.cu", "--device", "cpu")
    assert said.code == 0 and "A, B and C by columns; f64; needs M == 80 and N == 64 and K == 96" in said.err, (
        said.out + said.err
    )
    assert "reads A by columns" not in said.err  # as all are
    assert "choose --sizes 64x80x96" in said.out, said.out


def test_a_kernel_of_the_file_can_be_named(folder, gemmbench):
    (folder / "mine.cu").write_text(PLAIN.replace("ARGS", SIZES))
    assert gemmbench("verify", "./mine.cu:mm", "--device", "cpu", "--sizes", "33x21x17").code == 0
    said = gemmbench("verify", "./mine.cu:mn", "--device", "cpu", "--sizes", "33x21x17")
    assert (said.code, "no kernel 'mn' (did you mean 'mm'?); it has other, mm" in said.err) == (2, True)


def test_what_was_found_is_kept(folder, gemmbench):
    (folder / "mine.cu").write_text(MATRIX)
    assert gemmbench("new", "kept", "--from", "mine.cu", "--try").code == 0
    assert "check" not in (folder / "kept.yaml").read_text()
    assert gemmbench("verify", "./kept.yaml", "--device", "cpu", "--sizes", "33x21x17").code == 0


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mien.cu", "no such file: mien.cu (did you mean 'mine.cu'"),
        ("./mien.cu:mm", "no such file: ./mien.cu (did you mean './mine.cu'"),
        ("tiled.cu", "no such file: tiled.cu (did you mean 'tiled'"),
        ("./other/mine.cu", "no such file: ./other/mine.cu: the folder other does not exist; correct the path"),
        ("./mine", "./mine is a folder; to use all kernels in it, write --kernels ./mine"),
        ("mine", "mine is a folder; to use all kernels in it, write --kernels mine"),
        ("./mine/old.cu", "./mine/old.cu is a folder; to use all kernels in it, write --kernels ./mine/old.cu"),
    ],
)
def test_a_name_that_is_no_file_is_answered_with_the_nearest(folder, gemmbench, name, hint):
    (folder / "mine.cu").write_text(WRONG)
    (folder / "mine" / "old.cu").mkdir(parents=True)
    said = gemmbench("verify", name, "--device", "cpu")
    assert said.code == 2 and hint in said.err, said.err


def test_text_of_cuda_in_python_that_no_function_launches_is_refused(folder, gemmbench):
    (folder / "model.py").write_text('import x\nsource = r"""__global__ void mm() {}"""\n')
    said = gemmbench("new", "kept", "--from", "model.py")
    assert said.code == 2
    assert "model.py: line 2 is CUDA text in a string (mm), which only a function of the file can launch" in said.err
    assert said.err == gemmbench("verify", "./model.py", "--device", "cpu").err
    (folder / "syntax.py").write_text("def f(a, b)\n")
    said = gemmbench("verify", "./syntax.py", "--device", "cpu")
    assert said.err.count("syntax.py") == 1 and "syntax.py:1: not valid Python" in said.err


MODEL = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, A, B):
        return torch.matmul(A.T, B)
M, N = 256, 1
M = 256
N = 512
K = 128 * 2
def get_inputs():
    return [torch.rand(K, M).cuda(), torch.rand(K, N).cuda()]
"""


def test_a_python_file_is_called_as_it_asks_for_and_its_manifest_is_kept(folder, gemmbench):
    (folder / "model.py").write_text(MODEL)
    said = gemmbench("verify", "./model.py", "--device", "fake")
    assert said.code == 0 and "./model.py" in said.out
    assert (
        "model.py has no manifest; it is called as ModelNew().cuda()(A, B) (f32, tn, returns C, only 256x512x256)"
        in (said.err)
    )
    written = gemmbench("new", "kept", "--from", "model.py")
    assert "gemmbench verify ./kept.yaml --sizes 256x512x256" in written.out
    kept = gemmbench("verify", "./kept.yaml", "--device", "fake")
    assert (kept.code, kept.err) == (0, "") and "./kept.yaml" in kept.out


def test_a_pass_follows_a_function_that_writes_c_and_none_that_returns_it(folder, gemmbench):
    (folder / "two.py").write_text("import torch\ndef matmul(a, b): return a @ b\ndef gemm(a, b, out): pass\n")
    options = "--device", "fake", "--sizes", "33", "--epilogue", "relu"
    assert gemmbench("verify", "./two.py:gemm", *options).code == 0
    said = gemmbench("verify", "./two.py:matmul", *options)
    assert "returns its result, so no pass can apply --epilogue to C" in said.out


def test_a_python_function_takes_groups_if_it_says_so(folder, gemmbench):
    (folder / "mine.py").write_text("import torch\ndef gemm(a, b, c, offsets): pass\n")
    manifest = (
        "summary: groups\nfile: mine.py\ncall: gemm(A, B, C, offsets)\nprecisions: f32\nlayouts: nn\nkinds: [{}]\n"
    )
    options = "--device", "fake", "--sizes", "5+0+7x33x16"
    (folder / "grouped.yaml").write_text(manifest.format("groups"))
    assert gemmbench("verify", "./grouped.yaml", *options).code == 0
    (folder / "single.yaml").write_text(manifest.format("one"))
    said = gemmbench("verify", "./single.yaml", *options)
    assert "is a Python function of one product; its `kinds` has no `groups`" in said.out


def test_a_batch_of_a_python_function_is_announced_to_be_split_unless_it_takes_batches(folder, gemmbench):
    (folder / "two.py").write_text("import torch\ndef matmul(a, b): return a @ b\ndef many(a, b): return a.bmm(b)\n")
    warned = "./two.py:matmul is called for each product of a batch; if it takes operands with three dimensions, add"
    for command in ("verify", "run"):
        said = gemmbench(command, "./two.py:matmul", "--device", "fake", "--sizes", "3*33")
        assert (said.code, said.err.count(warned)) == (0, 1)
        assert warned not in gemmbench(command, "./two.py:matmul", "--device", "fake", "--sizes", "33").err
        said = gemmbench(command, "./two.py:many", "--device", "fake", "--sizes", "3*33")
        assert said.code == 0 and "for each product" not in said.err


def test_another_function_of_a_python_file_is_named_after_a_colon(folder, gemmbench):
    (folder / "two.py").write_text("import torch\ndef matmul(a, b): return a @ b\ndef gemm(a, b, out): pass\n")
    said = gemmbench("verify", "./two.py:matmul", "--device", "fake")
    assert (
        "it is called as matmul(A, B) (f32, nn, returns C)" in said.err and "other functions: two.py:gemm" in said.err
    )
    said = gemmbench("verify", "./two.py:mattul", "--device", "fake")
    assert (said.code, "'mattul' cannot be called as a product (did you mean 'matmul'?)" in said.err) == (2, True)
