"""The text handed to a compiler: includes, macros, the file with its own line numbers; headers and packages."""

import pytest

from gemmbench.backends import sources
from gemmbench.backends.sources import compiler_text, explain_missing, find_header_folder, hash_code
from gemmbench.errors import DeviceError
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.problems import Problem


@pytest.fixture
def toolkit(tmp_path, monkeypatch):
    """The headers of a toolkit on a machine without wheels."""
    (tmp_path / "include").mkdir()
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    monkeypatch.setattr(sources, "find_nvcc", lambda: str(tmp_path / "bin" / "nvcc"))
    return tmp_path / "include"


def test_the_toolkit_if_there_is_one_has_what_no_wheel_has(toolkit, monkeypatch):
    def fail():
        raise DeviceError("no nvcc found")

    assert find_header_folder("cublas") is None
    (toolkit / "cublas_v2.h").write_text("")
    assert find_header_folder("cublas") == toolkit
    assert find_header_folder("cutlass") is None
    monkeypatch.setattr(sources, "find_nvcc", fail)
    assert find_header_folder("cublas") is None


TEXT = """/*---
summary: x
---*/
#include <cuda_runtime.h>
  #  include "mine.h"
#define HERE 1
__global__ void gemm() {}  // #include in a comment stays
"""


def test_the_code_comes_after_includes_and_macros_with_every_line_at_its_number_in_the_file(make_plan):
    plan = make_plan("mine", Problem(8, 8, 8, "nt"), {"BM": 64, "BK": 8}, text=TEXT)
    macros = "BM 64, BK 8, TA float, TB float, TC float, TACC float, TRANS_A 0, TRANS_B 1"
    assert compiler_text(plan).split("\n") == [
        "#include <cuda_runtime.h>",
        '  #  include "mine.h"',
        *(f"#define {macro}" for macro in macros.split(", ")),
        '#line 1 "cuda/mine.cu"',
        *("" if line.lstrip().startswith("#") and "include" in line else line for line in TEXT.split("\n")),
    ]


def test_the_text_changes_with_the_values_and_the_layout_and_not_with_the_size(make_plan):
    def made(layout="nn", size=8, **config):
        return compiler_text(make_plan("mine", Problem(size, size, size, layout), config, text=TEXT))

    assert made(T=8) == made(size=9, T=8)
    assert len({made(T=8), made(T=16), made("tn", T=8)}) == 3


def test_a_missing_package_comes_with_the_line_for_pip(monkeypatch):
    monkeypatch.setattr(sources, "find_spec", {"torch": object(), "cupy": None}.get)
    sources._is_installed.cache_clear()
    assert explain_missing(["torch"]) == ""
    assert explain_missing(["torch", "cupy"]) == "cupy is not installed: pip install cupy-cuda13x"
    sources._is_installed.cache_clear()


HEADED = """/*---
summary: {summary}
order: {order}
symbol: gemm
precisions: [f32]
layouts: [nn]
params:
  T: [8, 16]
grid:
  - {grid}
  - 1
block: [T, 1]
---*/
#include "body.cuh"
extern "C" __global__ void gemm(int M, int N, int K, {comment}float a,
                                const float* A, const float* B, float b, float* C) {{
    body(C);
}}
"""


@pytest.fixture
def hash_kernel(tmp_path):
    """The hash of a kernel with a header of its own."""

    def hash_(name="mine", body="{ *C = 1; }", **changed):
        values = {"summary": "one", "order": "1", "grid": "cdiv(N, T)", "comment": "", **changed}
        (tmp_path / "body.cuh").write_text(f"__device__ void body(float* C) {body}")
        (tmp_path / f"{name}.cu").write_text(HEADED.format(**values))
        return hash_code(read_variant(tmp_path / f"{name}.cu"))

    return hash_


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "yours"},
        {"summary": "two"},
        {"order": "2"},
        {"comment": "/* scale */ "},
        {"body": "{\n  *C = 1;  // set\n}"},
    ],
)
def test_the_hash_of_code_ignores_names_comments_and_space(hash_kernel, changed):
    assert hash_kernel(**changed) == hash_kernel() != ""


@pytest.mark.parametrize("changed", [{"grid": "cdiv(N, T) + 1"}, {"body": "{ *C = 2; }"}, {"comment": "volatile "}])
def test_the_hash_of_code_counts_text_headers_and_launch(hash_kernel, changed):
    assert hash_kernel(**changed) != hash_kernel()


def test_a_library_has_no_hash_of_code(make_variant):
    assert hash_code(make_variant("cublas", kind="library")) == ""
