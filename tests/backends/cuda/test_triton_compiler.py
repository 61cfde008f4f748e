"""Triton kernels compile together, without being launched; a stand-in for Triton has its classes and its mode."""

import sys
from types import ModuleType

import pytest

from gemmbench.backends.cuda.triton_compiler import compile_kernels
from gemmbench.errors import DeviceLost


class JITFunction:
    def run(self, *args, grid, warmup, **options):
        done.append(("compiled" if warmup else "launched", args, options))


class Autotuner:
    def run(self, *args, **options):
        done.append(("timed", args, options))


class AsyncCompileMode:
    def __init__(self, executor, *, ignore_errors):
        assert ignore_errors and executor.submit(int).result() == 0

    def __enter__(self):
        done.append("begin")

    def __exit__(self, *_):
        done.append("end")


done = []


@pytest.fixture(autouse=True)
def triton(monkeypatch):
    """The stand-in, with an empty list of what was done."""
    done.clear()
    found = ModuleType("triton")
    found.AsyncCompileMode = AsyncCompileMode
    parts = {"runtime.jit": {"JITFunction": JITFunction}, "runtime.autotuner": {"Autotuner": Autotuner}, "runtime": {}}
    monkeypatch.setitem(sys.modules, "triton", found)
    for name, content in parts.items():
        module = ModuleType(f"triton.{name}")
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, f"triton.{name}", module)
    return found


def launch(*args, **options):
    JITFunction().run(*args, grid=(1,), warmup=False, **options)


def test_calls_only_compile_and_what_they_would_launch_is_as_before_afterwards():
    compile_kernels([lambda: launch(1, BM=64), lambda: launch(2, BM=128)])
    assert done == ["begin", ("compiled", (1,), {"BM": 64}), ("compiled", (2,), {"BM": 128}), "end"]
    launch(3)
    assert done[-1] == ("launched", (3,), {})


def test_an_autotuner_times_nothing_and_calls_that_fail_do_not_stop_others():
    def fail():
        raise ValueError("no tile")

    compile_kernels([lambda: Autotuner().run(1), fail, lambda: launch(2)])
    assert done == ["begin", ("compiled", (2,), {}), "end"]
    Autotuner().run(3)
    assert done[-1] == ("timed", (3,), {})


def test_a_lost_device_ends_it_and_restores_triton():
    def lose():
        raise DeviceLost("an illegal address")

    with pytest.raises(DeviceLost):
        compile_kernels([lose, lambda: launch(1)])
    launch(2)
    assert done == ["begin", "end", ("launched", (2,), {})]


@pytest.mark.parametrize("version", ["missing", "old"])
def test_nothing_is_called_without_triton_or_its_mode(monkeypatch, triton, version):
    if version == "old":
        del triton.AsyncCompileMode
    else:
        monkeypatch.delitem(sys.modules, "triton")
    compile_kernels([lambda: launch(1)])
    assert done == []
