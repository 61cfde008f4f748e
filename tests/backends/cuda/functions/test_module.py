"""Loading the module of a Python variant, and what its errors become."""

import inspect
import sys

import pytest

from gemmbench.backends.cuda.python_functions import explain_errors, forget_module, load_function
from gemmbench.errors import DeviceLost, LaunchError, NotOffered, OutOfMemory
from gemmbench.planning.manifests.variant import Code

TEXT = """'''summary: a function'''
import dataclasses

@dataclasses.dataclass
class Tile:
    size: int

def gemm(problem, A, B, C, stream, TILE=8):
    return Tile(TILE)
"""


@pytest.fixture
def make_function(make_variant, tmp_path):
    """A variant of this text, whose modules are forgotten at the end."""
    made = []

    def make(text=TEXT, path="cuda/mine.py"):
        code = Code(str(tmp_path / "mine.py"))
        made.append(make_variant("mine", kind="python", text=text, path=path, code=code))
        return made[-1]

    yield make
    for variant in made:
        forget_module(variant)


def test_a_module_runs_once_for_all_rows(make_function):
    variant = make_function()
    gemm = load_function(variant)
    assert gemm(None, None, None, None, 0, TILE=4).size == 4
    assert load_function(variant) is gemm
    assert load_function(make_function(TEXT + "\n")) is not gemm


def test_a_forgotten_module_runs_anew(make_function):
    variant = make_function()
    gemm = load_function(variant)
    forget_module(variant)
    assert load_function(variant) is not gemm


def test_a_compiler_finds_the_source_of_the_function(make_function):
    """Triton reads it, also where the file is that of a git revision and does not exist."""
    gemm = load_function(make_function(path="cuda/mine.py@1abb95a"))
    assert inspect.getsource(gemm).startswith("def gemm(problem, A, B, C, stream, TILE=8):")


def test_a_module_finds_what_lies_next_to_it_and_leaves_the_path_as_it_was(make_function, tmp_path):
    (tmp_path / "tiles_of_mine.py").write_text("SIZE = 3\n")
    before = list(sys.path)
    gemm = load_function(make_function("import tiles_of_mine\ndef gemm(*_): return tiles_of_mine.SIZE\n"))
    assert gemm() == 3 and sys.path == before
    del sys.modules["tiles_of_mine"]


def test_a_missing_package_is_a_skip_with_the_line_for_pip(make_function):
    with pytest.raises(NotOffered, match=r"cuda/mine.py:2: Python finds no module no_such_package; pip install no_su"):
        load_function(make_function("\nimport no_such_package.part\n"))
    assert not [name for name in sys.modules if name.startswith("gemmbench_variant")]


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        ("raise ValueError('no tile')", LaunchError, "the function raised: cuda/mine.py:3: ValueError: no tile"),
        ("import sys; sys.exit(3)", LaunchError, "the function raised: cuda/mine.py:3: SystemExit: 3"),
        ("assert False", LaunchError, "the function raised: cuda/mine.py:3: AssertionError"),
        (
            "raise RuntimeError('CUDA error: no capture\\nCUDA kernel errors might be asynchronously reported: DSA')",
            LaunchError,
            "the function raised: cuda/mine.py:3: RuntimeError: CUDA error: no capture",
        ),
        ("[][0]", LaunchError, "cuda/mine.py:3: IndexError: list index out of range"),
        ("raise RuntimeError('CUDA out of memory. Tried to')", OutOfMemory, "cuda/mine.py:3: RuntimeError: CUDA out"),
        ("raise RuntimeError('an illegal memory access was')", DeviceLost, "cuda/mine.py:3: RuntimeError: an illegal"),
    ],
)
def test_what_a_function_raises_names_its_line(make_function, line, kind, words):
    variant = make_function(f"\ndef gemm(*_):\n    {line}\n")
    with pytest.raises(kind) as caught, explain_errors(variant):
        load_function(variant)()
    assert type(caught.value) is kind and words in str(caught.value)


def test_an_error_below_the_function_names_the_line_that_called(make_function):
    variant = make_function("import json\ndef gemm(*_):\n    return json.loads('{')\n")
    with pytest.raises(LaunchError, match=r"cuda/mine.py:3: JSONDecodeError"), explain_errors(variant):
        load_function(variant)()
