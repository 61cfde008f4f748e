"""The stream and memory of played frameworks, and leaks of Python functions."""

import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from gemmbench.backends.cuda.python_functions import DEFAULT, MemoryWatch, make_current, private_memory, release_memory
from gemmbench.errors import LaunchError


class Module(SimpleNamespace):
    """A module of tests."""

    __hash__ = object.__hash__


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
        default_stream=lambda device: ("torch", "default", device),
        set_stream=asked.append,
        MemPool=lambda: "torch's pool",
        use_mem_pool=using,
        empty_cache=lambda: asked.append("torch empty"),
    )
    cupy = SimpleNamespace(
        ExternalStream=lambda *stream: SimpleNamespace(use=lambda: asked.append(("cupy", *stream))),
        Stream=SimpleNamespace(null=SimpleNamespace(use=lambda: asked.append("cupy default"))),
        MemoryPool=lambda: SimpleNamespace(malloc="CuPy's pool"),
        using_allocator=using,
    )
    pool = SimpleNamespace(free_all_blocks=lambda: asked.append("cupy empty"))
    torch = Module(cuda=torch, set_grad_enabled=lambda on: asked.append(f"gradients {on}"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", Module(cuda=cupy, get_default_memory_pool=lambda: pool))
    return asked


def test_both_get_the_stream_and_give_back_what_they_do_not_use(log):
    make_current(77, 1)
    release_memory()
    assert log == [("torch", 77, 1), "gradients False", ("cupy", 77, 1), "torch empty", "cupy empty"]


def test_a_function_of_the_default_stream_gets_it_from_both(log):
    make_current(DEFAULT, 1)
    assert log == [("torch", "default", 1), "gradients False", "cupy default"]


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
