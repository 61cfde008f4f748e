"""`gemmbench new`: files to start from, and the commands that come next."""

import re
import shutil

import pytest

CODE = """
__global__ void sgemm(float* A, float* B, float* C, int n) { C[0] = A[0]; }
__global__ void other(float* A) {}
"""


def test_a_new_kernel_is_right_and_the_next_commands_work(gemmbench):
    said = gemmbench("new", "mine")
    assert (said.code, said.err) == (0, "")
    first, second, verify, compare = said.out.splitlines()
    assert (first, second) == ("wrote mine.cu", "next:")
    assert verify == "  gemmbench verify ./mine.cu"
    assert re.fullmatch(r"  gemmbench compare \./mine\.cu (cublas|openblas)", compare)
    if shutil.which("g++") is None:
        pytest.skip("no g++ on this machine")
    found = gemmbench(*verify.split()[1:], "--device", "cpu", "--sizes", "1,33x65x17", "--precision", "f32,f16,bf16")
    assert found.code == 0, found.out
    assert re.search(r"mine\S* +2 +12 +0 +0 ", found.out), found.out


def test_a_manifest_is_written_next_to_the_code_and_what_must_be_corrected_is_said(gemmbench, tmp_path):
    (tmp_path / "code.cuh").write_text(CODE)
    said = gemmbench("new", "theirs", "--from", "code.cuh")
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert re.fullmatch(r"wrote theirs\.yaml for sgemm; \d+ lines marked `# check`", lines[0])
    assert lines[1:4] == [
        "other functions in the file, for --symbol: other",
        "next:",
        "  gemmbench verify ./theirs.yaml --sizes 384",
    ]
    said = gemmbench("new", "others", "--from", "code.cuh", "--symbol", "other")
    assert said.code == 0 and "correct this first: others.yaml:5: args: no argument is B" in said.out


def test_a_python_kernel_is_compared_on_a_gpu(gemmbench, tmp_path):
    (tmp_path / "plain.py").write_text("import torch\ndef matmul(a, b): return a @ b\n")
    said = gemmbench("new", "mine", "--from", "plain.py")
    assert said.code == 0 and said.out.endswith("  gemmbench compare ./mine.yaml cublas\n")


def test_paths_with_spaces_are_quoted(gemmbench, tmp_path):
    (tmp_path / "my kernels").mkdir()
    assert "  gemmbench verify './my kernels/mine.cu'\n" in gemmbench("new", "my kernels/mine").out


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["mine"], "gemmbench: mine.cu already exists; choose another name, or remove it"),
        (["a", "--from", "b.cuh"], "gemmbench: no file at b.cuh; correct the path after --from"),
        (
            ["a", "--from", "mine.cu:mm"],
            "gemmbench: no file at mine.cu:mm; write --from mine.cu --symbol mm",
        ),
        (["a", "--symbol", "f"], "gemmbench: --symbol names a function in a file; add --from FILE"),
        (["a", "--from", "mine.cu"], "gemmbench: mine.cu: no kernel and no launcher"),
        (["a", "--from", "known.cu"], "gemmbench: known.cu has a manifest; edit that one, or name another function"),
    ],
)
def test_a_fault_is_one_line(gemmbench, tmp_path, words, fault):
    (tmp_path / "mine.cu").write_text("int x;")
    (tmp_path / "known.cu").write_text("/*---\nsummary: x\n---*/\n" + CODE)
    said = gemmbench("new", *words)
    assert said.code == 2 and said.err.startswith(fault) and said.err.count("\n") == 1
    assert (tmp_path / "mine.cu").read_text() == "int x;"
