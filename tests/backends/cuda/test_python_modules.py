"""Modules of Python variants: how they are loaded, where their packages come from, and what their errors become."""

import inspect
import sys
from pathlib import Path

import pytest

from gemmbench.backends.cuda import python_modules, window
from gemmbench.backends.cuda.python_modules import (
    copy_module,
    explain_errors,
    forget_module,
    load_module,
    watch_shared_code,
)
from gemmbench.errors import DeviceLost, LaunchError, NotOffered, OutOfMemory
from gemmbench.planning.manifests.variant import PythonCall


def load_gemm(variant):
    return load_module(variant).gemm


TEXT = """'''summary: a function'''
import dataclasses

@dataclasses.dataclass
class Tile:
    size: int

def gemm(problem, A, B, C, stream, TILE=8):
    return Tile(TILE)
"""


def test_a_module_runs_once_for_all_rows_until_it_is_forgotten(make_function):
    variant = make_function(TEXT)
    gemm = load_gemm(variant)
    assert gemm(None, None, None, None, 0, TILE=4).size == 4
    assert load_gemm(variant) is gemm
    assert load_gemm(make_function(TEXT + "\n")) is not gemm
    forget_module(variant)
    assert load_gemm(variant) is not gemm


def test_a_copy_of_a_module_is_run_anew_and_leaves_the_first(make_function):
    variant = make_function(TEXT)
    gemm = load_gemm(variant)
    with copy_module(variant):
        copied = load_gemm(variant)
        assert copied is not gemm and copied.__module__ == gemm.__module__
    assert load_gemm(variant) is gemm
    forget_module(variant)
    with copy_module(variant):
        load_gemm(variant)
    assert load_gemm(variant) is not gemm


def test_a_compiler_finds_the_source_of_the_function(make_function):
    """Triton reads it, also where the file is that of a git revision and does not exist."""
    gemm = load_gemm(make_function(TEXT, "cuda/mine.py@1abb95a"))
    assert inspect.getsource(gemm).startswith("def gemm(problem, A, B, C, stream, TILE=8):")


def test_a_module_finds_what_lies_next_to_it_and_leaves_the_path_as_it_was(make_function, tmp_path):
    (tmp_path / "tiles_of_mine.py").write_text("SIZE = 3\n")
    before = list(sys.path)
    gemm = load_gemm(make_function("import tiles_of_mine\ndef gemm(*_): return tiles_of_mine.SIZE\n"))
    assert gemm() == 3 and sys.path == before
    del sys.modules["tiles_of_mine"]


def test_a_missing_package_is_a_skip_with_the_line_for_pip(make_function):
    with pytest.raises(
        NotOffered, match=r"cuda/mine.py:2: Python cannot find the module no_such_package; pip install no_su"
    ):
        load_gemm(make_function("\nimport no_such_package.part\n"))
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
        ("import json; json.loads('{')", LaunchError, "cuda/mine.py:3: JSONDecodeError"),  # below the function
    ],
)
def test_what_a_function_raises_names_its_line(make_function, line, kind, words):
    variant = make_function(f"\ndef gemm(*_):\n    {line}\n")
    with pytest.raises(kind) as caught, explain_errors(variant):
        load_gemm(variant)()
    assert type(caught.value) is kind and words in str(caught.value)


EVIL = """
from gemmbench.backends.cuda import window
{}
def gemm(*_): pass
"""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("window.WindowTimer.time = lambda self, launches: 0.0", "replaces WindowTimer.time of gemmbench"),
        ("window.median_frequency = lambda *_: 1e12", "replaces gemmbench.backends.cuda.window.median_frequency of"),
        ("del window.WindowTimer.time", "replaces WindowTimer.time of gemmbench"),
        ("window.WindowTimer.time = None; raise SystemExit", "SystemExit"),
    ],
)
def test_a_file_that_replaces_the_timer_fails_and_changes_no_other_row(make_function, line, words):
    before = window.WindowTimer.time, window.median_frequency
    for _ in range(2):
        with pytest.raises(LaunchError, match=words):
            load_gemm(make_function(EVIL.format(line)))
        assert (window.WindowTimer.time, window.median_frequency) == before
    load_gemm(make_function(EVIL.format("")))


def test_a_call_that_replaces_the_timer_and_fails_changes_no_other_row(make_function):
    text = TEXT.replace("return Tile(TILE)", "window.median_frequency = None; raise ValueError('own')")
    variant, before = make_function(f"{text}\nfrom gemmbench.backends.cuda import window\n"), window.median_frequency
    gemm = load_gemm(variant)
    with pytest.raises(ValueError, match="own"), watch_shared_code(variant):
        gemm(None, None, None, None, 0)
    assert window.median_frequency is before


def test_a_submission_to_gpu_mode_finds_its_types_and_leaves_nothing(make_function):
    gemm = load_gemm(make_function("from task import input_t, output_t\ndef gemm(data: input_t): return output_t\n"))
    assert gemm(None) is object and "task" not in sys.modules


def test_a_module_called_task_next_to_the_file_comes_first(make_function, tmp_path):
    (tmp_path / "task.py").write_text("input_t = 5\n")
    assert load_gemm(make_function("from task import input_t\ngemm = input_t\n")) == 5
    del sys.modules["task"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write a package with a version into a folder, and forget it at the end."""
    monkeypatch.setattr(python_modules, "_folders", {})
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(name, version, package="package_of_tests"):
        place = tmp_path / name
        (place / "inside" / package).mkdir(parents=True)
        (place / "inside" / package / "__init__.py").write_text(f"__version__ = '{version}'\n")
        (place / "paths.pth").write_text("# a comment\ninside\nmissing\n")
        return str(place)

    yield write
    sys.modules.pop("package_of_tests", None)


USER = "import package_of_tests\ndef gemm(): return package_of_tests.__version__\n"


def test_packages_come_from_the_folder_of_the_manifest(make_function, folder):
    python = PythonCall(packages_from=folder("first", "1.5"))
    assert load_gemm(make_function(USER, packages=("package_of_tests",), python=python))() == "1.5"


def test_lines_of_code_in_a_pth_file_are_run_when_the_folder_already_comes_first(make_function, folder):
    first = Path(folder("first", "1.5"))
    (first / "paths.pth").unlink()
    (first / "dsl_of_tests.py").write_text("PLACE = 'inside'\n")
    line = f"import sys, dsl_of_tests; sys.path.insert(0, '{first}/' + dsl_of_tests.PLACE)\n"
    (first / "code.pth").write_text(line)
    python = PythonCall(packages_from=str(first))
    assert load_gemm(make_function(USER, packages=("package_of_tests",), python=python))() == "1.5"
    assert {*sys.path[:2]} == {f"{first}/inside", str(first)}
    del sys.modules["dsl_of_tests"]


def test_a_pth_file_that_replaces_the_timer_fails(make_function, folder):
    first, before = Path(folder("first", "1.5")), window.median_frequency
    (first / "code.pth").write_text("import gemmbench.backends.cuda.window as window; window.median_frequency = None\n")
    python = PythonCall(packages_from=str(first))
    with pytest.raises(LaunchError, match=r"replaces gemmbench\.backends\.cuda\.window\.median_frequency"):
        load_gemm(make_function(USER, packages=("package_of_tests",), python=python))
    assert window.median_frequency is before


def test_two_folders_do_not_go_together_in_one_process(make_function, folder):
    first, second = (PythonCall(packages_from=folder(name, name)) for name in ("first", "second"))
    load_gemm(make_function(USER, packages=("package_of_tests",), python=first))
    with pytest.raises(NotOffered, match=r"imports its packages from .*first; a process cannot have a package twice"):
        load_gemm(make_function(USER + "#", packages=("package_of_tests",), python=second))


def test_a_package_that_another_row_loaded_from_elsewhere_is_refused(make_function, folder):
    python = PythonCall(packages_from=folder("first", "1.5"))
    load_gemm(make_function(USER, packages=("package_of_tests",), python=python))
    with pytest.raises(NotOffered, match=r"package_of_tests was loaded from .*first for another kernel of this run"):
        load_gemm(make_function(USER + "#", packages=("package_of_tests",)))


def test_a_package_that_is_missing_in_the_folder_is_a_skip_that_says_how_to_install_it(make_function, folder):
    python = PythonCall(packages_from=folder("first", "1.5"))
    with pytest.raises(NotOffered, match=r"pip install --target \S*first no_such_package"):
        load_gemm(make_function("import no_such_package\n", python=python))
