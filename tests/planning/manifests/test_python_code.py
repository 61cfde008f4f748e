"""Python functions as variants: the manifest in the docstring, the signature, the packages."""

import re

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.manifests.catalog import Catalog, read_variant
from gemmbench.planning.manifests.python_code import parse_module
from gemmbench.planning.precisions import PRECISIONS

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
        (
            "import torch\n",
            "mine.py:1: no manifest: the file must begin with a docstring of YAML lines, or be described",
        ),
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


PRODUCT = "import torch\n\ndef product(a, b, c=None, scale=1):\n    return a @ b\n\ndef pack(b):\n    return b\n"


def test_a_call_in_the_manifest_replaces_gemm(write):
    keys = "call: product(A, B, scale=BM)\nreturns: true\nstream: default\nparams:\n  BM: [64]\nkinds: [one, many]\n"
    variant = read_variant(write(keys, PRODUCT))
    python = variant.python
    assert (python.call, python.reads, python.returns) == ("product(A, B, scale=BM)", ("A", "B"), True)
    assert (python.default_stream, python.library, variant.kinds) == (True, "torch", ("one", "many"))
    assert variant.takes_scalars(PRECISIONS["f32"], 1, 0)
    assert not variant.takes_scalars(PRECISIONS["f32"], 2, 0)


def test_a_call_that_passes_alpha_and_beta_takes_them(write):
    variant = read_variant(write("call: torch.addmm(C, A, B, alpha=alpha, beta=beta)\nreturns: true\n", PRODUCT))
    assert variant.takes_scalars(PRECISIONS["f32"], 2, 3)
    assert variant.python.reads == ("A", "B", "C", "alpha", "beta")


def test_what_setup_returns_is_passed_as_prepared(write):
    python = read_variant(write("setup: pack(B)\ncall: product(A, prepared, C)\n", PRODUCT)).python
    assert (python.setup, python.reads) == ("pack(B)", ("A", "B", "C"))


def test_views_list_dimensions_and_packages_from_is_relative_to_the_manifest(write, tmp_path):
    keys = "call: product(A, B, C)\nviews: {A: [M, K, L], B: [N, K]}\npackages_from: wheels\n"
    python = read_variant(write(keys, PRODUCT)).python
    assert python.views == (("A", ("M", "K", "L")), ("B", ("N", "K")))
    assert python.packages_from == str(tmp_path / "wheels")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("call: product\n", "mine.py:5: call: 'product' is not a call; write call: matmul(A, B)"),
        ("call: product(A, B C)\n", "call: not valid Python: "),
        ("call: product(A, B)\n", "call: no argument is C; add it, or write `returns: true`"),
        ("call: product(A, A)\nreturns: true\n", "call: no argument is B; add it, or `prepared` with a `setup`"),
        ("call: produkt(A, B, C)\n", "call: 'produkt' is not known (did you mean 'product'?); the function before"),
        ("call: product(A, B, C, beta=betta)\n", "'betta' is not known (did you mean 'beta'?)"),
        ("call: product(A)(B, C)\n", "call: 'A' cannot be read here"),
        ("call: product(A, B, prepared, C)\n", "call: 'prepared' is not known"),
        ("call: product(A, B, beta=beta)\nreturns: true\n", "call: no argument is C"),
        ("setup: pack(B)\n", "setup: its value is passed by `call`, which is missing"),
        ("setup: pack(A)\ncall: product(A, prepared, C)\n", "setup: 'A' cannot be read here; setup may read B, M, N"),
        ("setup: pack(B)\ncall: product(A, B, C)\n", "setup: `call` does not read `prepared`, its value; add it"),
        ("stream: mine\ncall: product(A, B, C)\n", "stream: unknown 'mine'; known: default"),
        ("views: {D: [M]}\ncall: product(A, B, C)\n", "views: unknown operand 'D'; known: A, B, C"),
        ("views: {B: [N, M]}\ncall: product(A, B, C)\n", "views.B: write its dimensions in the order of the function"),
        ("views: {B: NK}\ncall: product(A, B, C)\n", "such as [N, K] or [K, N, L]"),
        (
            "views: {B: [N, K]}\nkinds: [many]\ncall: product(A, B, C)\n",
            "views.B: a batch has a third dimension; add L",
        ),
        (
            "kinds: [one, groups]\ncall: product(A, B, C)\n",
            "call: no argument is offsets; add it, the first row of each",
        ),
        (
            "kinds: [one, groups]\nviews: {B: [N, K]}\ncall: product(A, B, C, offsets)\n",
            "views.B: groups are passed as they are stored",
        ),
        ("kinds: [one, padded]\ncall: product(A, B, C)\n", "kinds: a Python function takes packed rows and no D"),
    ],
)
def test_a_call_that_cannot_be_made_is_an_error_on_its_line(write, keys, words):
    with pytest.raises(SpecError, match=re.escape(words)):
        read_variant(write(keys, PRODUCT))


def test_a_function_of_groups_takes_their_offsets_or_the_problem(write):
    for call in ("product(A, B, C, offsets)", "product(A, B, C, problem)"):
        assert read_variant(write(f"kinds: [one, groups]\ncall: {call}\n", PRODUCT)).kinds == ("one", "groups")
    with pytest.raises(SpecError, match="kinds: a function of groups needs their offsets; write `call: "):
        read_variant(write("kinds: [one, groups]\n"))


def test_a_function_of_factors_with_scales_takes_these(write):
    function = "def product(*operands):\n    pass\n"

    def read(call):
        keys = KEYS.replace("[f32, bf16]", "[e4m3_blocks]")
        return read_variant(write(text=f'"""{keys}{call}"""\n\n{FUNCTION}{function}'))

    assert read("call: product(A, B, scale_a, scale_b, C)\n").python.takes("scale_b")
    with pytest.raises(SpecError, match="call: no argument is scale_b"):
        read("call: product(A, B, scale_a, C)\n")
    with pytest.raises(SpecError, match="precisions: a function of factors with scales needs these; write `call: "):
        read("")


def test_returns_needs_a_library_of_arrays(write):
    with pytest.raises(SpecError, match="returns: tensors of PyTorch and arrays of CuPy can be returned"):
        read_variant(write("returns: true\n"))
    assert read_variant(write("returns: true\npackages: [cupy]\n")).python.library == "cupy"


def test_names_that_a_module_defines_in_any_way_may_be_called(write):
    text = "try:\n    from fast import product\nexcept ImportError:\n    pass\nother = product\n"
    for name in ("product", "other"):
        assert read_variant(write(f"call: {name}(A, B, C)\n", text)).python.call == f"{name}(A, B, C)"
    assert read_variant(write("call: unknown(A, B, C)\n", "from fast import *\n")).is_python


def test_a_manifest_in_yaml_describes_a_python_file_without_one(write, tmp_path):
    write(text=PRODUCT)
    manifest = tmp_path / "other.yaml"
    manifest.write_text(f"{KEYS}file: mine.py\ncall: product(A, B, C)\n")
    variant = read_variant(manifest)
    assert (variant.kind, variant.text, variant.code.file) == ("python", PRODUCT, str(tmp_path / "mine.py"))
    assert Catalog([tmp_path]).names == ["other"]


def test_a_python_file_with_a_manifest_is_not_described_by_another(write, tmp_path):
    write()
    manifest = tmp_path / "other.yaml"
    manifest.write_text(f"{KEYS}file: mine.py\n")
    with pytest.raises(SpecError, match=r"other.yaml:5: file: mine.py has its manifest in its docstring"):
        read_variant(manifest)


def test_packages_are_imports_from_elsewhere(write, tmp_path):
    (tmp_path / "helper.py").write_text("")
    text = "import sys, helper\nfrom torch.nn import Linear\nimport triton.language as tl\nfrom . import near\n"
    assert parse_module(text, "mine.py").list_packages(tmp_path) == ["torch", "triton"]
