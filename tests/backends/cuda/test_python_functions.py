"""Modules of Python variants: how they are loaded, what their errors become, leaks, and played frameworks."""

import inspect
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from gemmbench.backends.cuda import window
from gemmbench.backends.cuda.python_functions import (
    MemoryWatch,
    explain_errors,
    forget_module,
    load_function,
    make_current,
    private_memory,
    release_memory,
)
from gemmbench.errors import DeviceLost, LaunchError, NotOffered, OutOfMemory


@pytest.fixture
def log(monkeypatch):
    """What PyTorch and CuPy are asked, in order."""
    asked = []

    @contextmanager
    def using(name):
        asked.append(f"{name} begins")
        yield
        asked.append(f"{name} ends")

    torch = SimpleNamespace(
        ExternalStream=lambda stream, device: ("torch", stream, device),
        set_stream=asked.append,
        MemPool=lambda: "torch's pool",
        use_mem_pool=using,
        empty_cache=lambda: asked.append("torch empty"),
    )
    cupy = SimpleNamespace(
        ExternalStream=lambda *stream: SimpleNamespace(use=lambda: asked.append(("cupy", *stream))),
        MemoryPool=lambda: SimpleNamespace(malloc="CuPy's pool"),
        using_allocator=using,
    )
    pool = SimpleNamespace(free_all_blocks=lambda: asked.append("cupy empty"))
    monkeypatch.setitem(sys.modules, "torch", type("Torch", (), {"cuda": torch}))
    monkeypatch.setitem(sys.modules, "cupy", type("Cupy", (), {"cuda": cupy, "get_default_memory_pool": lambda: pool}))
    return asked


def test_both_get_the_stream_and_give_back_what_they_do_not_use(log):
    make_current(77, 1)
    release_memory()
    assert log == [("torch", 77, 1), ("cupy", 77, 1), "torch empty", "cupy empty"]


def test_while_a_graph_is_recorded_both_allocate_from_pools_that_live_on(log):
    with private_memory() as pools:
        assert log == ["torch's pool begins", "CuPy's pool begins"]
    assert log[2:] == ["CuPy's pool ends", "torch's pool ends"]
    assert len(pools) == 2


def test_neither_is_imported(monkeypatch):
    for name in ("torch", "cupy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    make_current(77, 0)
    release_memory()
    with private_memory() as pools:
        assert pools == []
    assert not {"torch", "cupy"} & set(sys.modules)


MIB = 1 << 20


def watch(*kept, is_shared=lambda: False):
    """Watch calls that keep so many MiB each, with other allocations between them."""
    free = [100 * MIB]
    memory = MemoryWatch("cuda/mine.py", lambda: free[0], is_shared)
    for size in kept:
        with memory.watch():
            free[0] -= size * MIB
        free[0] -= 7 * MIB


def test_a_function_that_keeps_memory_in_every_call_leaks():
    with pytest.raises(LaunchError, match=r"leaks memory of the GPU: its calls hold 10 MiB so far.*\(cuda/mine.py\)"):
        watch(2, 2, 2, 2, 2)


@pytest.mark.parametrize("kept", [(0,) * 20, (32, 0, 0, 2, 0) + (0,) * 20, (4, -4) * 10, (8, -2, 1, -3, 2, 1, 1, -5)])
def test_a_cache_that_stops_growing_is_no_leak(kept):
    watch(*kept)


def test_what_another_process_may_have_taken_is_no_leak_until_the_function_is_alone():
    watch(*(2,) * 20, is_shared=lambda: True)
    answers = iter([True] * 8 + [False] * 9)
    with pytest.raises(LaunchError, match="its calls hold 10 MiB so far"):
        watch(*(2,) * 20, is_shared=lambda: next(answers))


def test_what_breaks_off_is_reported_as_it_is():
    memory = MemoryWatch("cuda/mine.py", lambda: 0, lambda: False)
    with pytest.raises(ValueError, match="as it is"), memory.watch():
        raise ValueError("as it is")


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
    gemm = load_function(variant)
    assert gemm(None, None, None, None, 0, TILE=4).size == 4
    assert load_function(variant) is gemm
    assert load_function(make_function(TEXT + "\n")) is not gemm
    forget_module(variant)
    assert load_function(variant) is not gemm


def test_a_compiler_finds_the_source_of_the_function(make_function):
    """Triton reads it, also where the file is that of a git revision and does not exist."""
    gemm = load_function(make_function(TEXT, "cuda/mine.py@1abb95a"))
    assert inspect.getsource(gemm).startswith("def gemm(problem, A, B, C, stream, TILE=8):")


def test_a_module_finds_what_lies_next_to_it_and_leaves_the_path_as_it_was(make_function, tmp_path):
    (tmp_path / "tiles_of_mine.py").write_text("SIZE = 3\n")
    before = list(sys.path)
    gemm = load_function(make_function("import tiles_of_mine\ndef gemm(*_): return tiles_of_mine.SIZE\n"))
    assert gemm() == 3 and sys.path == before
    del sys.modules["tiles_of_mine"]


def test_a_missing_package_is_a_skip_with_the_line_for_pip(make_function):
    with pytest.raises(
        NotOffered, match=r"cuda/mine.py:2: Python cannot find the module no_such_package; pip install no_su"
    ):
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
        ("import json; json.loads('{')", LaunchError, "cuda/mine.py:3: JSONDecodeError"),  # below the function
    ],
)
def test_what_a_function_raises_names_its_line(make_function, line, kind, words):
    variant = make_function(f"\ndef gemm(*_):\n    {line}\n")
    with pytest.raises(kind) as caught, explain_errors(variant):
        load_function(variant)()
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
            load_function(make_function(EVIL.format(line)))
        assert (window.WindowTimer.time, window.median_frequency) == before
    load_function(make_function(EVIL.format("")))
