"""Drafts: what the code says is not marked, and what it does not say is."""

import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies

from gemmbench.errors import UsageError
from gemmbench.planning.drafts.draft import draft_manifest

ARGUMENTS = "int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C"
LAUNCHED = f"""
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
template <typename T, int BM, int BN>
__global__ void sgemm(int M, int N, int K, T alpha, const T* A, const T* B, T beta, T* C) {{
    if (blockIdx.x * BN < N && blockIdx.y * BM < M) C[0] = beta == 0 ? alpha : beta * C[0];
}}
void launch({ARGUMENTS}) {{
    const int TILE_ROWS = 64, threads = 128;
    constexpr int COLS = 32;
    dim3 grid(CEIL_DIV(N, COLS), CEIL_DIV(M, 64));
    sgemm<float, 64, COLS><<<grid, COLS * 4>>>(M, N, K, alpha, A, B, beta, C);
}}
"""


@pytest.fixture
def draft(tmp_path):
    """The keys of the draft for a text, and the lines of the draft that are marked."""

    def read(text, symbol=None, name="theirs.cuh"):
        written = draft_manifest(text, tmp_path / name, (tmp_path / name).parent, symbol).text
        return yaml.safe_load(written), [line for line in written.splitlines() if "# check" in line]

    return read


def test_a_launch_in_the_file_leaves_one_doubt(draft):
    keys, marked = draft(LAUNCHED)
    assert keys == {
        "summary": "sgemm",
        "file": "theirs.cuh",
        "symbol": "sgemm<float, BM, BN>",
        "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C"],
        "precisions": ["f32"],
        "layouts": ["nn"],
        "params": {"BM": [64], "BN": [32]},
        "grid": ["cdiv(N, BN)", "cdiv(M, 64)"],
        "block": ["BN * 4"],
    }
    assert marked == ["layouts: [nn]  # check: neither A nor B is transposed"]


def test_scales_and_offsets_are_passed_and_what_they_belong_to_is_declared(draft):
    fp8 = "const __nv_fp8_e4m3*"
    keys, marked = draft(
        f"__global__ void mm({fp8} A, {fp8} B, __nv_bfloat16* C, const float* scale_a, const float* scale_b) {{}}"
    )
    assert keys["args"] == ["A", "B", "C", "scale_a", "scale_b"]
    assert keys["precisions"] == ["e4m3_rows"] and any("or _tensor, or _blocks" in line for line in marked)
    keys, _ = draft(f"__global__ void mm({ARGUMENTS}, const int* offsets, int groups) {{}}")
    assert keys["args"][-2:] == ["offsets", "groups"] and keys["kinds"] == ["groups"]


@pytest.mark.parametrize(
    ("index", "shared"), [("[0]", "tensor"), ("[row]", "rows"), ("[(k / 128) * M + row]", "blocks"), ("", "rows")]
)
def test_the_index_of_a_scale_says_what_shares_it(draft, index, shared):
    fp8 = "const __nv_fp8_e4m3*"
    read = f"C[0] = scale_a{index} * scale_b{index};" if index else ""
    keys, _ = draft(
        f"__global__ void mm({fp8} A, {fp8} B, float* C, const float* scale_a, const float* scale_b) {{ {read} }}"
    )
    assert keys["precisions"] == [f"e4m3_{shared}"]


MOE = """__global__ void moe(const float* x, const float* w, float* y, const int* begin, int N, int K) {
    int g = blockIdx.z, row = begin[g] + blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    if (row >= begin[g + 1] || col >= N) return;
}"""


def test_offsets_are_known_by_their_use_and_blocks_by_the_numbers_in_their_indices(draft):
    keys, marked = draft(MOE)
    assert keys["args"] == ["A", "B", "C", "offsets", "N", "K"] and keys["kinds"] == ["groups"]
    assert keys["grid"] == ["cdiv(N, 8)", "cdiv(M, 16)", "groups"] and keys["block"] == [8, 16]
    assert any("one layer of blocks for each group?" in line for line in marked)
    several, _ = draft(MOE.replace("* 8 + threadIdx.x", "* 64 + threadIdx.x * 4"))
    assert several["grid"][0] == "cdiv(N, 64)" and several["block"] == [32, 16]


def test_without_a_launch_tiles_and_threads_are_guesses(draft):
    text = f"template <int BM, int BN, int TM, int TN> __global__ void sgemm({ARGUMENTS}) {{ C[0] = beta * C[0]; }}"
    keys, marked = draft(text)
    assert keys["grid"] == ["cdiv(N, BN)", "cdiv(M, BM)"] and keys["block"] == ["BM * BN // (TM * TN)"]
    assert keys["params"] == {"BM": [128], "BN": [128], "TM": [8], "TN": [8]}
    assert keys["require"] == ["M % BM == 0", "N % BN == 0"]
    assert keys["reads_c"] is True
    assert len(marked) == 1 + 4 + 2 + 1 + 1


@pytest.mark.parametrize(
    ("body", "first"),
    [("int row = blockIdx.x * 8;", "cdiv(M, 8)"), ("int row = blockIdx.y * 8;", "cdiv(N, 16)"), ("", "cdiv(N, 16)")],
)
def test_a_variable_called_row_tells_which_index_runs_over_rows(draft, body, first):
    keys, _ = draft(f"#define BM 8\n#define BN 16\n__global__ void sgemm({ARGUMENTS}) {{ {body} }}")
    assert keys["grid"][0] == first


def test_the_name_of_a_kernel_may_hold_its_tile(draft):
    keys, _ = draft(f"__global__ __launch_bounds__(256) void sgemm_128x64x8({ARGUMENTS}) {{}}")
    assert keys["grid"] == ["cdiv(N, 64)", "cdiv(M, 128)"] and keys["block"] == [256]


@pytest.mark.parametrize(
    ("body", "reads"),
    [
        ("C[0] = alpha + beta * C[0];", True),
        ("C[0] = beta == 0 ? alpha : beta * C[0];", False),
        ("if (beta) C[0] *= beta;", False),
        ("C[0] = alpha;", False),
        ("store(C, beta);", True),
    ],
)
def test_beta_without_a_test_means_that_c_is_read(draft, body, reads):
    helper = "__device__ void store(float* C, float beta) { *C = *C * beta; }\n"
    keys, _ = draft(f"{helper}__global__ void sgemm({ARGUMENTS}) {{ {body} }}")
    assert keys.get("reads_c", False) is reads


def test_a_macro_with_the_leading_dimension_on_the_second_index_means_column_major(draft):
    macro = "#define A(i,j) A[(i) + (j)*lda]\n"
    keys, _ = draft(f"{macro}#define MS 32\n#define NS 64\n__global__ void sgemm({ARGUMENTS}) {{}}")
    assert keys["storage"] == "column" and keys["grid"] == ["cdiv(M, 32)", "cdiv(N, 64)"]
    keys, _ = draft(f"#define A(i,j) A[(i)*lda + (j)]\n__global__ void sgemm({ARGUMENTS}) {{}}")
    assert "storage" not in keys


def test_a_kernel_of_one_size_requires_squares(draft):
    keys, marked = draft("__global__ void matmul(float* a, float* b, float* c, int n) { if (threadIdx.y < n) {} }")
    assert keys["args"] == ["A", "B", "C", "N"] and keys["require"] == ["M == N and K == N"]
    assert "  - N  # check: its only size: are all three equal?" in marked


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (f"#define BM 64\n__global__ void f({ARGUMENTS}) {{}}", "512x256x384"),
        (f"__global__ void f({ARGUMENTS}) {{}}", ""),
        ("#define BM 64\n__global__ void f(float* A, float* B, float* C, int n) {}", "384"),
    ],
)
def test_sizes_to_verify_meet_the_requirements(tmp_path, text, sizes):
    assert draft_manifest(text, tmp_path / "theirs.cuh", tmp_path).sizes == sizes


def test_names_are_such_as_a_manifest_allows_and_long_ones_stay_readable(draft):
    keys, _ = draft("template <int kBlockSize, int M, int _x> __global__ void f(float* A, float* B, float* C) {}")
    assert keys["symbol"] == "f<K_BLOCK_SIZE, P_M, X>"
    assert list(keys["params"]) == ["K_BLOCK_SIZE", "P_M", "X"]
    names = [f"A_LONG_NAME_OF_A_PARAMETER_{index}" for index in range(8)]
    template = ", ".join(f"int {name}" for name in names)
    keys, _ = draft(f"template <{template}> __global__ void f({ARGUMENTS}) {{}}", name="the: #1 kernel.cuh")
    assert keys["symbol"] == f"f<{', '.join(names)}>" and keys["file"] == "the: #1 kernel.cuh"


def test_a_launcher_has_no_grid(draft):
    arguments = ARGUMENTS.replace("float alpha", "const float* alpha")
    keys, marked = draft(f"const int BM = 64;\nint run({arguments}, cudaStream_t stream) {{ return 0; }}")
    assert keys["host"] == "run" and keys["args"][3] == "&alpha" and keys["args"][-1] == "stream"
    assert not {"symbol", "grid", "block", "require"} & set(keys)
    assert not [line for line in marked if "alpha" in line]


def test_the_function_most_like_a_gemm_is_chosen_if_there_is_one(draft):
    text = f"__global__ void fill(float* A, int n) {{}}\n__global__ void sgemm({ARGUMENTS}) {{}}\n"
    assert draft(text)[0]["symbol"] == "sgemm"
    assert draft(text, symbol="fill")[0]["symbol"] == "fill"
    with pytest.raises(UsageError, match=r"theirs.cuh: no function 'sgem' \(did you mean 'sgemm'\?\)"):
        draft(text, symbol="sgem")
    with pytest.raises(UsageError, match=r"theirs.cuh: no kernel and no launcher"):
        draft("void run(int M) {}\n__device__ void f(int M) {}\n")


def test_folders_with_headers_and_packages_are_included(draft, tmp_path):
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "help er.h").write_text("")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "beside.h").write_text("")
    headers = '#include "help er.h"\n#include "beside.h"\n#include <cublas_v2.h>\n#include <cute/tensor.hpp>\n'
    keys, _ = draft(f"{headers}__global__ void sgemm({ARGUMENTS}) {{}}", name="src/theirs.cuh")
    assert keys["include"] == ["../common", "cutlass", "cublas"]


_PIECES = strategies.sampled_from(
    "template < > ( ) { } , ; int float * A B C M __global__ void gemm <<<grid, dim3(1)>>> = 128 #define \n namespace "
    "\" ' /* // const BM blockIdx.x row + / \\".split(" ")
)


@given(strategies.lists(_PIECES, max_size=60).map(" ".join))
@settings(deadline=None, max_examples=75, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_gives_a_draft_or_one_line(draft, text):
    try:
        keys, _ = draft(text)
    except UsageError as fault:
        assert "\n" not in str(fault)
    else:
        assert keys["file"] == "theirs.cuh"
