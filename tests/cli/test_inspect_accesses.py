"""`gemmbench inspect --accesses`, with a real g++ and no nvcc or one whose machine code comes from a file."""

import json
import re

import pytest

from gemmbench.planning.files import data_folder

KERNEL = """
__global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    __shared__ float As[16][PITCH];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < K; k += 16) {
        As[x][y] = A[row * K + k + x];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += As[i][y] * B[(k + i) * N + column];
        __syncthreads();
    }
    C[row * N + column] = alpha * sum;
}
"""
HEAD = """/*---
summary: a test
order: 1
symbol: gemm
precisions: [f32]
layouts: [nn]
params:
  PITCH: [16, 18]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block: [16, 16]
---*/
extern "C" """
SIZE = ("--sizes", "64")


@pytest.fixture
def inspect(tmp_path, gemmbench, monkeypatch):
    """Inspect a kernel of this text, without nvcc."""
    monkeypatch.setenv("CUDACXX", str(tmp_path / "no-nvcc"))
    (tmp_path / "kernels").mkdir()

    def call(*arguments, text=HEAD + KERNEL):
        (tmp_path / "kernels" / "mine.cu").write_text(text)
        return gemmbench("inspect", "mine", "--kernels", "kernels", "--accesses", *SIZE, *arguments)

    return call


def rows(said):
    """The cells of each line of the table, without numbers of lines."""
    cells = [[cell.strip() for cell in line.split("\t")] for line in said.out.splitlines()]
    return {each[1]: each[2:] for each in cells if len(each) == 6}


def test_each_line_has_its_requests_and_what_one_costs(inspect):
    said = inspect("--format", "tsv")
    assert said.code == 0
    found = rows(said)
    assert found["load of A"] == ["4", "512", "4 sectors", "100 %"]
    assert found["store to As"] == ["4", "512", "8 wavefronts, 7 of them conflicts", "-"]
    assert found["store to C"] == ["4", "128", "4 sectors", "100 %"]
    assert "64 nn f32: ran 16 of 16 blocks on this CPU" in said.text


def test_a_pad_removes_the_conflicts(inspect):
    found = rows(inspect("--param", "PITCH=18", "--format", "tsv"))
    assert found["store to As"] == ["4", "512", "1 wavefront", "-"]


def test_totals_and_the_bound_for_the_named_card_are_below(inspect):
    said = inspect()
    assert "L1 is asked for" in said.out and "FLOP per byte." in said.out and "accesses per multiply-add." in said.out
    assert "On an H100 or H200 (132 SMs at 1.98 GHz) it takes at least" in said.out
    assert re.search(r"L1 is busiest with mine\.cu:\d+, load of As: 38 % of its cycles\.", said.out)
    assert "The CPU cannot count hits in L1 and L2, registers" in said.out
    assert "On an A100 (108 SMs at 1.41 GHz)" in inspect("--arch", "80").out
    assert "On an sm_90 (10 SMs at 1 GHz)" in inspect("--sms", "10", "--clock", "1").out


def test_without_nvcc_the_fewest_requests_are_counted_and_that_is_said(inspect):
    text = (HEAD + KERNEL).replace("As[i][y]", "As[y][i]")
    said = inspect("--format", "tsv", text=text)
    assert (
        rows(said)["load of As"] == ["16", "512", "4 wavefronts, 1 of them conflicts", "-"] or "load of As" in said.out
    )
    assert (
        "no-nvcc', which is not an executable. So accesses to shared memory are counted as the fewest that nvcc"
        in said.text
    )


def test_counts_go_to_a_file(inspect, tmp_path):
    assert inspect("--out", "counts.json").code == 0
    (kernel,) = json.loads((tmp_path / "counts.json").read_text())["kernels"]
    assert (kernel["variant"], kernel["configuration"], kernel["blocks"]) == ("mine", {"PITCH": 16}, 16)
    store = next(each for each in kernel["accesses"] if (each["operand"], each["direction"]) == ("As", "store"))
    assert (store["memory"], store["requests"], store["wavefronts"], store["conflicts"]) == ("shared", 512, 4096, 3584)
    assert store["readings"]["written"]["wavefronts"] == 4096
    assert kernel["bound"]["seconds"] > 0 and kernel["flops"] == 2 * 64**3


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("C[row * N + column] = alpha * sum;", 'asm("nop;");', "not counted: mine PITCH=16: "),
        (KERNEL, KERNEL.partition("{")[0] + "{}", "not counted: mine PITCH=16: nothing to count"),
    ],
)
def test_what_cannot_be_counted_is_a_sentence_and_ends_in_3(inspect, old, new, said):
    outcome = inspect(text=(HEAD + KERNEL).replace(old, new))
    assert outcome.code == 3 and outcome.out == "" and outcome.err.startswith(said)


@pytest.mark.parametrize("options", [("--sass-mix",), ("--ptx", "-")])
def test_options_that_do_not_go_together_are_refused(inspect, options):
    assert inspect(*options).code == 2


def test_a_file_needs_something_to_count(gemmbench):
    said = gemmbench("inspect", "tiled", "--out", "counts.json")
    assert said.code == 2 and "add --accesses" in said.err


def test_a_library_has_no_accesses_to_count(gemmbench):
    said = gemmbench("inspect", "cublas", "--accesses")
    assert said.code == 2 and "cublas is not a kernel that gemmbench launches itself" in said.err


def test_a_broken_limit_of_the_manifest_ends_in_1_and_says_which(inspect):
    text = (HEAD + KERNEL).replace("grid:", "accesses:\n  - load_sectors <= 4\n  - conflicts == 0 or PITCH > 16\ngrid:")
    said = inspect(text=text)
    assert said.code == 1 and "load of As" in said.out
    assert (
        said.err == "access limit exceeded: mine PITCH=16: conflicts == 0 or PITCH > 16: "
        "conflicts is 88 % of the wavefronts in shared memory, PITCH is 16\n"
    )
    assert inspect("--param", "PITCH=18", text=text).code == 0


def test_limits_are_not_checked_where_rows_begin_within_sectors(inspect):
    text = (HEAD + KERNEL).replace("grid:", "accesses:\n  - load_sectors <= 1\ngrid:")
    said = inspect("--sizes", "36", text=text)
    assert said.code == 0
    assert "access limits not checked at 36 nn f32: the rows of its operands begin inside sectors" in said.err


def test_the_screen_says_why_naive_rows_is_slower_and_in_which_line(gemmbench):
    line = next(
        number
        for number, text in enumerate((data_folder("cuda") / "naive_rows.cu").read_text().splitlines(), 1)
        if "sum += " in text
    )
    said = gemmbench("inspect", "naive_rows", "--accesses", "--format", "tsv")
    assert rows(said)["load of A"][2:] == ["16 sectors, 2 would do", "12 %"]
    assert f"L1 is busiest with naive_rows.cu:{line}, load of A: 94 % of its cycles." in said.text
    assert (
        f"naive_rows.cu:{line}, load of A: the threads of a warp read 64 bytes in 16 sectors of 32 bytes, because "
        "neighbouring threads read words that are not adjacent. If they were adjacent, 2 would be enough." in said.text
    )
    assert "The line is: sum += TACC(A[row * a_i + k * a_k])" in said.text
    assert "would do" not in gemmbench("inspect", "naive", "--accesses").out


def test_conflicts_are_explained_with_the_line(inspect):
    reason = "88 % of its passes over the banks are conflicts, because threads of a warp write different words of one"
    assert reason in (said := inspect().out) and "The line is: As[x][y] = A[row * K + k + x];" in said
    assert "conflicts, because" not in inspect("--param", "PITCH=18").out


def test_a_comparison_on_the_cpu_begins_with_what_differs_on_a_gpu(gemmbench):
    said = gemmbench("compare", "naive_rows", "tiled", "--device", "cpu", "--sizes", "16", "--rounds", "2")
    assert said.code == 0
    first, blank, *times = said.out.splitlines()
    assert (blank, times[0]) == ("", "M = 16, N = 16, K = 16, nn, f32") and "On a GPU" not in "".join(times)
    assert first.startswith(
        "On a GPU, at 4096: tiled asks L1 for 34x fewer sectors than naive_rows (hits and misses); on an H100 or H200 "
        "(132 SMs at 1.98 GHz) tiled takes at least 15.4 ms, naive_rows at least 140 ms. naive_rows.cu:"
    )
    assert "load of A: the threads of a warp read 64 bytes in 16 sectors of 32 bytes, because neighbouring" in first


@pytest.mark.parametrize("size", ["5+0+3x16x16", "2*16"])
def test_a_comparison_of_batches_or_groups_says_nothing_of_one_large_product(gemmbench, size):
    said = gemmbench("compare", "naive_rows", "tiled", "--device", "cpu", "--sizes", size, "--rounds", "2")
    assert said.code == 0 and "tiled" in said.out and "On a GPU" not in said.out, said.out + said.err
