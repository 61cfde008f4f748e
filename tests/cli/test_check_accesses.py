"""`gemmbench check --accesses`, with a real g++: what lines ask for, now and at a git revision."""

import pytest

from .conftest import git

KERNEL = """/*---
summary: a test
order: 1
symbol: gemm
precisions: [f32]
layouts: [nn]
params:
  TILE: [16]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block: [TILE, TILE]
---*/
#include "sizes.cuh"

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int k = 0; k < K; k += TILE) {
        As[y][x] = A[row * K + k + x];
        Bs[y][x] = B[(k + y) * N + column];
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += As[y][i] * Bs[i][x];
        __syncthreads();
    }
    C[INDEX(row, N, column)] = alpha * sum;
}
"""
HEADER = "#define INDEX(row, width, column) ((row) * (width) + (column))\n"
LOAD = "As[y][x] = A[row * K + k + x];"
UNCOALESCED = "As[x][y] = A[(blockIdx.y * TILE + x) * K + k + y];"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of kernels in git, with a kernel in its only commit."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    kernels = tmp_path / "repository" / "kernels"
    kernels.mkdir(parents=True)
    (kernels / "mine.cu").write_text(KERNEL)
    (kernels / "sizes.cuh").write_text(HEADER)
    git(tmp_path, "init", "--quiet", kernels.parent)
    git(kernels, "add", "--all")
    git(kernels, "commit", "--quiet", "-m", "one")
    return kernels


@pytest.fixture
def check(gemmbench, folder):
    """Check the folder against its only commit, after the text of a kernel was changed."""

    def call(*arguments, old="", new="", against="HEAD"):
        assert old in KERNEL
        (folder / "mine.cu").write_text(KERNEL.replace(old, new) if old else KERNEL)
        return gemmbench("check", "--accesses", "--against", against, "--kernels", folder, "--sizes", "64", *arguments)

    return call


def closing(said):
    return said.out.splitlines()[-1].partition(": ")[2]


def test_a_load_that_is_no_longer_coalesced_fails_at_its_line(check, folder, monkeypatch):
    said = check(old=LOAD, new=UNCOALESCED)
    line = 1 + KERNEL[: KERNEL.index(LOAD)].count("\n")
    more = f"mine.cu:{line} load of A: 4 -> 16 sectors per request"
    assert (said.code, closing(said)) == (1, "1 worse")
    assert (
        f"asks for more: {more}\nasks for more: mine.cu:{line} store to As: 1 -> 8 wavefronts per request\n" in said.out
    )
    assert "::" not in said.out
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    annotated = check(old=LOAD, new=UNCOALESCED).out
    title = f"more than in HEAD ({git(folder, 'rev-parse', '--short', 'HEAD')})"
    assert f"::error file=repository/kernels/mine.cu,line={line},title={title}::{more}\n" in annotated


def test_a_committed_change_is_found_against_the_commit_before(check, folder):
    (folder / "mine.cu").write_text(KERNEL.replace(LOAD, UNCOALESCED))
    git(folder, "commit", "--quiet", "--all", "-m", "two")
    assert check(old=LOAD, new=UNCOALESCED).code == 0
    assert check(old=LOAD, new=UNCOALESCED, against="HEAD~1").code == 1
    better = check()
    assert (better.code, closing(better)) == (0, "1 better") and "load of A: 16 -> 4 sectors per request" in better.out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (" sum", " total", "1 the same"),
        ("As", "tile_of_a", "1 the same"),
        ("TILE", "EDGE", "1 the same"),
        ("    float sum = 0;", "    // a comment\n\n    float sum = 0;  /* another */", "1 unchanged"),
        (
            "        Bs[y][x] = B[(k + y) * N + column];\n",
            "        float b = B[(k + y) * N + column];\n        Bs[y][x] = b;\n",
            "1 the same",
        ),
        ("", "", "1 unchanged"),
    ],
)
def test_a_rename_a_comment_and_code_that_moved_pass(check, old, new, words):
    said = check(old=old, new=new)
    assert (said.code, closing(said)) == (0, words)
    assert "asks for" not in said.out


def test_a_line_of_a_header_is_found_there(check, folder):
    (folder / "sizes.cuh").write_text("\n" + HEADER.replace("(row) * (width) + (column)", "(column) * (width) + (row)"))
    said = check()
    assert said.code == 1 and "store to C: 4 -> 16 sectors per request" in said.out


def test_kernels_that_are_new_or_removed_do_not_fail(check, folder):
    (folder / "fresh.cu").write_text(KERNEL)
    git(folder, "rm", "--quiet", "--cached", "mine.cu")
    said = check()
    assert (said.code, closing(said)) == (0, "1 unchanged, 1 new") and "new: fresh" in said.out
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "two")
    (folder / "fresh.cu").unlink()
    removed = check()
    assert (removed.code, closing(removed)) == (0, "1 unchanged, 1 removed") and "removed: fresh" in removed.out
    named = check("fresh")
    assert (named.code, closing(named)) == (0, "1 removed")


def test_a_kernel_that_no_longer_compiles_fails_and_one_that_now_needs_a_gpu_does_not(check):
    broken = check(old="float sum = 0;", new="float sum = nothing;")
    assert (broken.code, closing(broken)) == (1, "1 broken") and "broken: mine: " in broken.out
    ptx = 'float sum = 0; asm("nop;");'
    unsupported = check(old="float sum = 0;", new=ptx)
    assert (unsupported.code, closing(unsupported)) == (3, "1 not counted") and "inline PTX" in unsupported.out
    assert check("mine", old="float sum = 0;", new=ptx).code == 3


def test_a_manifest_that_is_broken_now_fails(check):
    said = check(old="order: 1", new="order: [")
    assert (said.code, closing(said)) == (1, "1 broken")


@pytest.mark.parametrize(
    ("arguments", "against", "fault"),
    [
        ((), "HEAD~7", "--against HEAD~7: no revision 'HEAD~7' in the git checkout of "),
        (("nothing",), "HEAD", "unknown kernel 'nothing'"),
        (("openblas",), "HEAD", "openblas"),
        (("--rounds", "9"), "HEAD", "--accesses counts and does not time anything; leave out --rounds"),
        (("--junit", "x.xml"), "HEAD", "leave out --junit"),
        (("--margin", "3%"), "HEAD", "leave out --margin"),
        (("--fail-on", "inconclusive"), "HEAD", "leave out --fail-on"),
        (("--fleet", "local"), "HEAD", "--accesses uses one device; leave out --fleet"),
        (("--param", "BK=8"), "HEAD", "none of the chosen kernels has a parameter 'BK'"),
        ((), "run.jsonl", " results files do not contain accesses; give a git revision"),
    ],
)
def test_what_cannot_be_checked_is_refused(check, arguments, against, fault):
    said = check(*arguments, against=against)
    assert (said.code, said.out) == (2, "") and fault in said.err


def test_it_needs_a_revision_and_a_checkout(gemmbench, tmp_path):
    assert "give a git revision" in gemmbench("check", "--accesses", "--against", "a.jsonl").err
    assert "add one, as in --against HEAD~1" in gemmbench("check", "--accesses").err
    (tmp_path / "loose").mkdir()
    (tmp_path / "loose" / "mine.cu").write_text(KERNEL)
    said = gemmbench("check", "--accesses", "--against", "HEAD", "--kernels", "loose")
    assert said.code == 2 and "loose is not in a readable git checkout" in said.err


def test_a_file_can_be_named_and_a_problem_chosen(check, folder, gemmbench):
    check(old=LOAD, new=UNCOALESCED)
    said = gemmbench("check", folder / "mine.cu", "--accesses", "--against", "HEAD", "--sizes", "64,128")
    assert said.code == 1 and "load of A: 4 -> 16 sectors per request\n" in said.out
