"""Loads and binds Python functions that launch kernels, and sets the stream and memory of PyTorch and CuPy for them."""

from __future__ import annotations

import linecache
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from gemmbench.backends.base import OperandSet
from gemmbench.backends.code_cache import content_key
from gemmbench.backends.cuda.device_arrays import DeviceArray, GemmProblem
from gemmbench.backends.cuda.driver import to_plan_error
from gemmbench.backends.cuda.window import Calls
from gemmbench.backends.sources import find_pip_line
from gemmbench.errors import DeviceLost, LaunchError, NotOffered, OutOfMemory, PlanError
from gemmbench.planning.manifests.kernel_code import FUNCTION
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Plan


def make_current(stream: int, device: int) -> None:
    """Make a stream of a GPU the current one in PyTorch and CuPy. They queue work on it unless told otherwise."""
    if torch := sys.modules.get("torch"):
        torch.cuda.set_stream(_wrap_for_torch(torch, stream, device))
    if cupy := sys.modules.get("cupy"):
        _wrap_for_cupy(cupy, stream, device).use()


@lru_cache(maxsize=64)
def _wrap_for_torch(torch: Any, stream: int, device: int) -> Any:
    return torch.cuda.ExternalStream(stream, device=device)


@lru_cache(maxsize=64)
def _wrap_for_cupy(cupy: Any, stream: int, device: int) -> Any:
    return cupy.cuda.ExternalStream(stream, device)


@contextmanager
def private_memory() -> Iterator[object]:
    """Let PyTorch and CuPy allocate from private pools in the `with` block. The yielded object keeps the pools alive.

    A graph keeps the addresses of temporary arrays. In the usual pool, the next call would get the same memory.
    """
    pools: list[object] = []
    with ExitStack() as held:
        torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
        if torch and hasattr(torch.cuda, "use_mem_pool"):
            pools.append(torch.cuda.MemPool())
            held.enter_context(torch.cuda.use_mem_pool(pools[-1]))
        if cupy:
            pool = cupy.cuda.MemoryPool()
            pools.append(pool)
            held.enter_context(cupy.cuda.using_allocator(pool.malloc))
        yield pools


def release_memory() -> None:
    """Free the GPU memory that PyTorch and CuPy hold but do not use."""
    if torch := sys.modules.get("torch"):
        with suppress(RuntimeError):  # after a crashed kernel nothing can be freed
            torch.cuda.empty_cache()
    if cupy := sys.modules.get("cupy"):
        with suppress(RuntimeError):
            cupy.get_default_memory_pool().free_all_blocks()


_MOST_RECORDS = 4
"""The number of times that calls may use more memory than ever before, not counting the very first calls."""


class MemoryWatch:
    """Adds up the memory that calls of one function do not release.

    `read_free` returns the number of free bytes on the GPU. `is_shared` returns whether another process uses it.
    """

    def __init__(self, name: str, read_free: Callable[[], int], is_shared: Callable[[], bool]):
        self._name, self._read_free, self._is_shared = name, read_free, is_shared
        self._kept, self._most, self._records = 0, 0, 0

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch the calls in the `with` block, which must wait until they are complete.

        Raises LaunchError for a leak.
        """
        before = self._read_free()
        yield
        kept = self._kept + before - self._read_free()
        if kept > self._most and self._is_shared():
            return
        self._kept = kept
        if self._kept > self._most:
            self._most = self._kept
            self._records += 1
        if self._records > _MOST_RECORDS:
            raise LaunchError(
                f"leaks memory of the GPU: its calls hold {self._kept / 2**20:,.0f} MiB so far, and more each "
                f"time; free or reuse whatever a call allocates ({self._name})"
            )


Gemm = Callable[..., object]

_PACKAGE = __name__.partition(".")[0]

_ADVICE_OF_TORCH = "CUDA kernel errors might be asynchronously reported"
"""The first words of the advice that PyTorch appends to every CUDA error."""


def load_function(variant: Variant) -> Gemm:
    """Run the module of a variant and return its `gemm`.

    The plan's text is run, even if the file has changed since. Raises PlanError.
    """
    name = _name_module(variant)
    if name not in sys.modules:
        with explain_errors(variant), _keep_own_code(variant):
            sys.modules[name] = _run_module(name, variant)
    gemm: Gemm = getattr(sys.modules[name], FUNCTION)
    return gemm


def forget_module(variant: Variant) -> None:
    """Release a module and everything that it keeps, once none of its functions is in use."""
    sys.modules.pop(_name_module(variant), None)


@contextmanager
def _keep_own_code(variant: Variant) -> Iterator[None]:
    """Restore functions and classes of gemmbench that the `with` block replaces, such as its timer.

    Raises LaunchError if it replaces any, because the rows of a batch share them.
    """
    before = [(owner, name, value) for owner in _list_own_code() for name, value in list(vars(owner).items())]
    changed = []
    try:
        yield
    finally:
        for owner, name, value in before:
            if _is_code(value) and vars(owner).get(name) is not value:
                setattr(owner, name, value)
                changed.append(f"{owner.__name__}.{name}")
    if changed:
        sys.modules.pop(_name_module(variant), None)
        raise LaunchError(f"{variant.path} replaces {changed[0]} of gemmbench, which its rows share; do not change it")


def _list_own_code() -> Iterator[ModuleType | type]:
    """Yield the loaded modules of gemmbench and their classes."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE:
            yield module
            yield from (each for each in vars(module).values() if isinstance(each, type) and each.__module__ == name)


def _is_code(value: object) -> bool:
    return callable(value) or hasattr(value, "__get__")


def _name_module(variant: Variant) -> str:
    return f"gemmbench_variant_{content_key([variant.path, variant.text])}"


def _run_module(name: str, variant: Variant) -> ModuleType:
    """Run the text. It is also put into linecache, through which Triton reads the source of a function."""
    code = compile(variant.text, variant.path, "exec")
    linecache.cache[variant.path] = len(variant.text), None, variant.text.splitlines(keepends=True), variant.path
    module = ModuleType(name)
    module.__file__ = variant.code.file
    sys.modules[name] = module  # dataclasses and Triton look up classes and functions in their module
    try:
        with _import_from(str(Path(module.__file__).parent)):
            exec(code, module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def _import_from(folder: str) -> Iterator[None]:
    """Also find modules next to the variant, after all other places."""
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextmanager
def explain_errors(variant: Variant) -> Iterator[None]:
    """Convert exceptions from a variant's code to a PlanError that names the line of its file."""
    try:
        yield
    except (PlanError, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as fault:
        if fault.name is None:
            raise _explain(variant, fault) from fault
        pip = find_pip_line(fault.name.partition(".")[0])
        raise NotOffered(f"{_find_place(variant, fault)}: Python cannot find the module {fault.name}; {pip}") from fault
    except BaseException as fault:  # a module may call sys.exit()
        raise _explain(variant, fault) from fault


def _explain(variant: Variant, fault: BaseException) -> PlanError:
    text = " ".join(str(fault).partition(_ADVICE_OF_TORCH)[0].split())
    words = f"{_find_place(variant, fault)}: {type(fault).__name__}" + (f": {text}" if text else "")
    known = to_plan_error(Exception(text))
    if isinstance(known, DeviceLost | OutOfMemory):
        return type(known)(words)
    return LaunchError(f"the function raised: {words}")


def _find_place(variant: Variant, fault: BaseException) -> str:
    """Return the last line of the variant's file in the traceback, or the file if there is none."""
    lines = [frame.lineno for frame in traceback.extract_tb(fault.__traceback__) if frame.filename == variant.path]
    return f"{variant.path}:{lines[-1]}" if lines else variant.path


@dataclass(frozen=True)
class Findings:
    """Findings from the first calls of a function.

    `kernels` is the number of kernels that a call queues. `no_graph` is the reason why calls cannot be recorded as a
    CUDA graph, or "". `overlap` has the same meaning as in BoundExecutable. If the function `waits` for the device
    before it returns, it cannot be queued behind a gate.
    """

    kernels: int = 1
    no_graph: str = ""
    overlap: str = ""
    waits: bool = False


class PythonFunction:
    """The `gemm` function of a variant. It launches on the stream with this handle, on GPU number `device`.

    `memory` watches the memory that its calls do not release. `findings` is None until its first calls have been
    examined.
    """

    errors: tuple[type[Exception], ...] = ()

    def __init__(self, variant: Variant, stream: int, device: int, memory: MemoryWatch):
        """Load the module. Raises LaunchError, NotOffered for a missing package, OutOfMemory."""
        self.variant, self._stream, self._device = variant, stream, device
        self._gemm = load_function(variant)
        self._memory = memory
        self.findings: Findings | None = None
        weakref.finalize(self, release_memory).atexit = False

    def calls(self, plan: Plan, sets: Sequence[OperandSet]) -> Calls:
        """Fix the arguments of a call on each operand set. Functions do not add a bias and have no workspace."""
        problem, params = GemmProblem.of(plan.problem), dict(plan.config.values)

        def bound(at: OperandSet) -> partial[None]:
            arrays = [self._find_array(plan, name, at[name]) for name in "ABC"]
            return partial(self._call, partial(self._gemm, problem, *arrays, self._stream, **params))

        return Calls(tuple(map(bound, sets)), f"gemm of {self.variant.path}", keep=self)

    @contextmanager
    def watch_memory(self) -> Iterator[None]:
        """Watch the memory of calls in the `with` block. The module of a leaking function is released."""
        try:
            with self._memory.watch():
                yield
        except LaunchError:
            forget_module(self.variant)
            raise

    def _find_array(self, plan: Plan, operand: str, address: int) -> DeviceArray:
        problem = plan.problem
        return DeviceArray.at(address, problem.stored_shape(operand), problem.storage(operand), self._device)

    def _call(self, gemm: Callable[[], object]) -> None:
        try:
            with explain_errors(self.variant):
                make_current(self._stream, self._device)
                gemm()
        except OutOfMemory:
            forget_module(self.variant)
            raise
