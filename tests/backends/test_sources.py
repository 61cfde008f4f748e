"""The text handed to a compiler: includes, macros, the file with its own line numbers; headers and packages."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy
import pytest

from gemmbench.backends import sources
from gemmbench.backends.sources import (
    SourceLine,
    compiler_text,
    describe_packages,
    explain_missing,
    find_header_folder,
    inline_text,
    list_source_lines,
)
from gemmbench.errors import BuildError, DeviceError
from gemmbench.planning.manifests.variant import PythonCall
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


@pytest.fixture
def inline(make_variant, tmp_path):
    """Inline the headers of a text."""

    def make(text):
        path = tmp_path / "x.cu"
        path.write_text(text)
        variant = make_variant("x", text=text, path=str(path))
        return inline_text(replace(variant, code=replace(variant.code, file=str(path))))

    return make


def test_headers_that_include_the_next_one_twice_are_refused(inline, tmp_path):
    for number in range(40):
        (tmp_path / f"h{number}.cuh").write_text(f'#include "h{number + 1}.cuh"\n' * 2)
    (tmp_path / "h40.cuh").write_text("")
    with pytest.raises(
        BuildError, match="more than 10,000 inclusions of headers: a header that includes another one twice"
    ):
        inline('#include "h0.cuh"\n')


def test_a_long_chain_of_headers_is_refused(inline, tmp_path):
    for number in range(300):
        (tmp_path / f"h{number}.cuh").write_text(f'#include "h{number + 1}.cuh"\n')
    (tmp_path / "h300.cuh").write_text("int last;")
    with pytest.raises(BuildError, match="headers are nested more than 200 deep;"):
        inline('#include "h0.cuh"\n')
    assert "int last;" in inline('#include "h150.cuh"\n')


def test_long_lines_of_headers_are_counted_too(inline, tmp_path):
    (tmp_path / "h.cuh").write_text("x" * 1_000_000)
    with pytest.raises(BuildError, match="more than 200,000 lines or 16,777,216 characters of headers"):
        inline('#include "h.cuh"\n' * 40)


def test_every_line_of_a_text_and_its_headers_is_known_by_file_and_number(make_plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.h").write_text("first\n  int x = 1;  // one\n")
    variant = make_plan("mine", Problem(8, 8, 8), {}, text=TEXT).variant
    plain = list_source_lines(variant)
    variant = replace(variant, code=replace(variant.code, file=str(tmp_path / "mine.cu")))
    lines = list_source_lines(variant)
    assert lines["mine.cu", 7] == plain["mine.cu", 7] == SourceLine("cuda/mine.cu", "__global__voidgemm(){}")
    assert lines["mine.h", 2] == SourceLine("mine.h", "intx=1;")


@pytest.fixture
def wheels(tmp_path):
    """A folder as `pip install --target` fills it, with one package in a folder that a .pth file names."""
    for path, text in {
        "mine_dsl/paths/dsl_of_tests/__init__.py": "raise RuntimeError('imported')",
        "dsl.pth": "# places\nmine_dsl/paths\nnowhere\n",
        "kernels_of_tests/__init__.py": "",
        "kernels_of_tests_wheel-0.6.5.dist-info/METADATA": "Name: kernels-of-tests-wheel\nVersion: 0.6.5\n",
        "kernels_of_tests_wheel-0.6.5.dist-info/RECORD": "kernels_of_tests/__init__.py,,\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_packages_in_a_folder_are_found_without_importing_them(wheels):
    assert explain_missing(["dsl_of_tests", "kernels_of_tests"], str(wheels)) == ""
    assert explain_missing(["kernels_of_tests"]) == ("kernels_of_tests is not installed: pip install kernels_of_tests")
    missing = explain_missing(["kernels_of_tests", "cutlass_of_tests"], str(wheels))
    assert missing.startswith(f"cutlass_of_tests is not installed in {wheels}: pip install --target {wheels} cutlass")


def test_nothing_is_missing_in_a_folder_whose_pth_files_run_code(wheels):
    (wheels / "code.pth").write_text("import os; os._exit(1)\n")
    assert explain_missing(["cutlass_of_tests"], str(wheels)) == ""


def test_a_row_names_the_versions_of_its_packages(wheels, make_variant, monkeypatch):
    python, packages = PythonCall(packages_from=str(wheels)), ("kernels_of_tests", "numpy", "no_such_package")
    versions = describe_packages(make_variant(kind="python", packages=packages, python=python))
    assert versions == {"kernels_of_tests": "0.6.5", "numpy": numpy.__version__}
    version = type("TorchVersion", (str,), {})("0.7")
    monkeypatch.setitem(sys.modules, "kernels_of_tests", SimpleNamespace(__version__=version))
    found = describe_packages(make_variant(kind="python", packages=packages))["kernels_of_tests"]
    assert (found, type(found)) == ("0.7", str)
