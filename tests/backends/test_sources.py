"""The text handed to a compiler: includes, macros, the file with its own line numbers; headers and packages."""

import pytest

from gemmbench.backends import sources
from gemmbench.backends.sources import compiler_text, explain_missing, find_header_folder
from gemmbench.errors import DeviceError
from gemmbench.planning.problems import Problem


@pytest.fixture
def toolkit(tmp_path, monkeypatch):
    """The headers of a toolkit on a machine without wheels."""
    (tmp_path / "include").mkdir()
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    monkeypatch.setattr(sources, "find_nvcc", lambda: str(tmp_path / "bin" / "nvcc"))
    return tmp_path / "include"


def test_the_toolkit_has_what_no_wheel_has(toolkit):
    assert find_header_folder("cublas") is None
    (toolkit / "cublas_v2.h").write_text("")
    assert find_header_folder("cublas") == toolkit
    assert find_header_folder("cutlass") is None


def test_without_a_toolkit_there_is_nothing(toolkit, monkeypatch):
    def fail():
        raise DeviceError("no nvcc found")

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


@pytest.fixture
def text(make_plan):
    plan = make_plan("mine", Problem(8, 8, 8, "nt"), {"BM": 64, "BK": 8}, text=TEXT)
    return compiler_text(plan)


def test_includes_come_before_the_macros_and_the_macros_before_the_code(text):
    lines = text.split("\n")
    line = next(number for number, line in enumerate(lines) if line.startswith("#line"))
    assert lines[:2] == ["#include <cuda_runtime.h>", '  #  include "mine.h"']
    assert lines[2:line] == [
        "#define BM 64",
        "#define BK 8",
        "#define TA float",
        "#define TB float",
        "#define TC float",
        "#define TACC float",
        "#define TRANS_A 0",
        "#define TRANS_B 1",
    ]
    assert lines[line] == '#line 1 "cuda/mine.cu"'


def test_after_the_line_mark_every_line_has_its_number_in_the_file(text):
    rest = text.split('#line 1 "cuda/mine.cu"\n')[1].split("\n")
    assert rest == ["" if line.lstrip().startswith("#") and "include" in line else line for line in TEXT.split("\n")]


def test_an_include_stands_once(text):
    assert text.count("cuda_runtime.h") == 1


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
