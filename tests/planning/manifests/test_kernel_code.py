"""Python functions as variants: the manifest in the docstring, the signature, the packages."""

import re

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.manifests.catalog import Catalog, read_variant

KEYS = """summary: a function
order: 5
precisions: [f32, bf16]
layouts: [nn, tn]
"""
FUNCTION = "def gemm(problem, A, B, C, stream, **params):\n    pass\n"


@pytest.fixture
def write(tmp_path):
    """Write a module with more keys, or with another text."""

    def write_module(keys="", function=FUNCTION, text=None):
        path = tmp_path / "mine.py"
        path.write_text(f'"""{KEYS}{keys}"""\n\n{function}' if text is None else text)
        return path

    return write_module


def test_the_docstring_is_the_manifest(write):
    variant = read_variant(write("packages: [torch, triton]\nparams:\n  BM: [64, 128]\nrequire:\n  - BM <= M\n"))
    assert (variant.name, variant.kind, variant.devices) == ("mine", "python", ("cuda",))
    assert variant.packages == ("torch", "triton")
    assert (variant.precisions, variant.layouts) == (("f32", "bf16"), ("nn", "tn"))
    assert (variant.params, [str(rule) for rule in variant.require]) == ((("BM", (64, 128)),), ["BM <= M"])
    assert variant.launches == () and variant.is_python and variant.text.endswith(FUNCTION)


def test_a_python_function_lies_in_a_folder_of_kernels(write):
    path = write()
    assert Catalog([path.parent]).get("mine").is_python
    assert Catalog([]).get(str(path)).is_python


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def gemm(:\n", "mine.py:1: not valid Python: "),
        ("import torch\n", "mine.py:1: no manifest: the file must begin with a docstring of YAML lines"),
        ("'''a helper'''\n", "mine.py:1: expected `key: value` lines"),
        ("x = '" + "\0" + "'", "not valid Python"),
        ("x = " + "-" * 100_000 + "1", "not valid Python"),
    ],
)
def test_a_file_without_a_manifest_is_an_error_of_one_line(write, text, words):
    with pytest.raises(SpecError, match=re.escape(words)) as caught:
        read_variant(write(text=text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "function", "words"),
    [
        ("", "def gem(problem): pass\n", "no function `gemm` (did you mean 'gem'?); define `def gemm(problem, A, B, C"),
        ("", "def gemm(A, B, C): pass\n", "mine.py:7: `gemm` takes A, B, C; define `def gemm(problem, A, B, C, stream"),
        ("", "def gemm(): pass\n", "`gemm` takes nothing"),
        (
            "params:\n  BM: 64\n",
            "def gemm(problem, A, B, C, stream, BN=1): pass\n",
            "mine.py:6: params.BM: `gemm` has no argument BM (did you mean 'BN'?); add it, or **params",
        ),
        ("grid: [1]\n", FUNCTION, "mine.py:5: grid: a .py file has no grid, because its function launches by itself"),
        ("workspace: 4\n", FUNCTION, "workspace: a .py file has no workspace"),
        ("symbol: gemm\n", FUNCTION, "symbol: a .py file has no symbol"),
        ("source: here\ngird: 1\n", FUNCTION, "mine.py:6: unknown key 'gird'"),
    ],
)
def test_a_faulty_key_or_function_is_reported_on_its_line(write, keys, function, words):
    with pytest.raises(SpecError, match=re.escape(words)):
        read_variant(write(keys, function))


@pytest.mark.parametrize(
    "function",
    [
        "def gemm(problem, A, B, C, stream, BM): pass\n",
        "def gemm(problem, A, B, C, stream, *, BM=4): pass\n",
        "def gemm(*arguments, **params): pass\n",
    ],
)
def test_params_are_passed_by_name(write, function):
    assert read_variant(write("params:\n  BM: [64]\n", function)).default() == {"BM": 64}


def test_a_python_file_is_not_described_by_another(write, tmp_path):
    write()
    manifest = tmp_path / "other.yaml"
    manifest.write_text(f"{KEYS}file: mine.py\n")
    with pytest.raises(SpecError, match=r"other.yaml:5: file: mine.py has its manifest in its docstring"):
        read_variant(manifest)
