"""The stream and the memory of PyTorch and CuPy, which stand in here as modules that note what is asked of them."""

import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from gemmbench.backends.cuda.python_functions import make_current, private_memory, release_memory


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


def test_both_get_the_stream(log):
    make_current(77, 1)
    assert log == [("torch", 77, 1), ("cupy", 77, 1)]


def test_while_a_graph_is_recorded_both_allocate_from_pools_that_live_on(log):
    with private_memory() as pools:
        assert log == ["torch's pool begins", "CuPy's pool begins"]
    assert log[2:] == ["CuPy's pool ends", "torch's pool ends"]
    assert len(pools) == 2


def test_both_give_back_what_they_do_not_use(log):
    release_memory()
    assert log == ["torch empty", "cupy empty"]


def test_neither_is_imported(monkeypatch):
    for name in ("torch", "cupy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    make_current(77, 0)
    release_memory()
    with private_memory() as pools:
        assert pools == []
    assert not {"torch", "cupy"} & set(sys.modules)
