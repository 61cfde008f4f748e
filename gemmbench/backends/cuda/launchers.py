"""Launchers: host functions in a shared library, loaded with ctypes and bound to operands on one stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from ctypes import CDLL, RTLD_GLOBAL, Array, Structure, byref, c_char, c_char_p, c_int, c_longlong
from functools import cache
from typing import Any

from gemmbench.backends.base import OperandSet
from gemmbench.backends.cuda.driver import load_driver
from gemmbench.backends.cuda.launcher_code import (
    RUN,
    WORKSPACE,
    HostScalars,
    Slot,
    count_kernels,
    count_sizes,
    list_arguments,
    pack_slots,
)
from gemmbench.backends.cuda.window import Calls
from gemmbench.errors import LaunchError
from gemmbench.planning.manifests.variant import STREAM
from gemmbench.planning.plans.plan import Plan

_DRIVER = "libcuda.so.1"
_WORDS = 500
_PARTS = ("name", "words")
"""The parts of a CUDA error."""


class Outcome(Structure):
    """The outcome of a call, as defined in launcher.h."""

    _fields_ = (("value", c_longlong), ("threw", c_int), ("words", c_char * _WORDS))


class LauncherLibrary:
    """The functions of one shared library. `host` and `host_workspace` are their names in the manifest."""

    def __init__(self, path: str, host: str, host_workspace: str):
        """Load the library. Raises LaunchError."""
        _load_driver_symbols()
        try:
            self._code = CDLL(path)
        except OSError as fault:
            missing = str(fault).removeprefix(f"{path}: ")
            raise LaunchError(f"its shared library cannot be loaded: {missing}") from fault
        self._host, self._host_workspace = host, host_workspace
        for part in _PARTS:
            getattr(self._code, f"gemmbench_error_{part}").restype = c_char_p

    def count_workspace(self, sizes: Array[Slot]) -> int:
        """Return the workspace size in bytes that the manifest's host function computes. Raises LaunchError."""
        outcome = Outcome()
        getattr(self._code, WORKSPACE)(sizes, byref(outcome))
        if outcome.threw:
            raise LaunchError(f"{self._host_workspace} threw: {_read_words(outcome)}")
        if outcome.value < 0:
            raise LaunchError(f"{self._host_workspace} returned {outcome.value} bytes of workspace")
        return int(outcome.value)

    def bind(self, slots: Array[Slot]) -> Callable[[], None]:
        """Return a callable that calls the host function with these arguments. The callable raises LaunchError."""
        run, outcome = getattr(self._code, RUN), Outcome()
        at_outcome = byref(outcome)

        def launch() -> None:
            run(slots, at_outcome)
            if outcome.threw or outcome.value:
                raise LaunchError(self._explain(outcome))

        return launch

    def _explain(self, outcome: Outcome) -> str:
        if outcome.threw:
            return f"{self._host} threw: {_read_words(outcome)}"
        error = self.describe_error(outcome.value)
        meaning = f"; CUDA calls that {error}" if error else ""
        return f"{self._host} returned {outcome.value} instead of 0{meaning}"

    def describe_error(self, code: int) -> str:
        """Return the name and meaning of an error of CUDA's runtime; "" for an unknown number."""
        name, words = (getattr(self._code, f"gemmbench_error_{part}")(c_int(code)).decode() for part in _PARTS)
        return f"{name}, {words}" if name.startswith("cudaError") else ""

    def take_last_error(self) -> str:
        """Describe the last error of a CUDA call in this library, and clear it; "" if there was none."""
        code = int(self._code.gemmbench_last_error())
        return self.describe_error(code) if code else ""


def _read_words(outcome: Outcome) -> str:
    return " ".join(outcome.words.decode(errors="replace").split())


@cache
def _load_driver_symbols() -> None:
    """Make the driver's functions visible to libraries that call them directly. Does nothing if there is no driver."""
    with suppress(OSError):
        CDLL(_DRIVER, mode=RTLD_GLOBAL)


class Launcher:
    """The host function of a plan, from its shared library."""

    errors: tuple[type[Exception], ...] = ()

    def __init__(self, path: str, plan: Plan, stream: Any):
        """Load the library. Raises LaunchError."""
        call = plan.variant.call
        self._host, self._stream = call.host, stream
        self._library = LauncherLibrary(path, call.host, call.host_workspace)
        self._kernels: dict[Plan, int] = {}

    def count_workspace(self, plan: Plan) -> int:
        """Return the workspace size in bytes that a plan needs.

        If the manifest names a host function for it, call that.

        Raises LaunchError.
        """
        if not plan.variant.call.host_workspace:
            return plan.workspace
        nbytes = self._library.count_workspace(pack_slots([Slot(whole=size) for size in count_sizes(plan).values()]))
        if nbytes < plan.zeroed:
            raise LaunchError(f"{plan.zeroed} zeroed bytes of a workspace of {nbytes} ({plan.variant.path})")
        return nbytes

    def calls(self, plan: Plan, sets: Sequence[OperandSet]) -> Calls:
        """Fix the arguments of a launch on each operand set.

        A plan's first launch runs on the first set. A second launch is recorded, to check that it only queues work.
        Raises LaunchError if it does anything else, NotOffered, OutOfMemory and pycuda's errors.
        """
        arguments = list_arguments(plan)
        scalars = HostScalars(plan)
        shared = {STREAM: int(self._stream.handle)}
        shared |= {each.place: scalars.find(each.passed) for each in arguments if each.passed.by_pointer}

        def bind(operands: OperandSet) -> Callable[[], None]:
            found = {"workspace": 0, **shared, **operands}
            return self._library.bind(pack_slots([each.fill(plan.problem, found) for each in arguments]))

        queue = tuple(map(bind, sets))
        if plan not in self._kernels:
            self._kernels[plan] = self._try(queue[0])
        return Calls(queue, f"{plan.variant.name}: {self._host}", self._kernels[plan], (self, scalars))

    def _try(self, launch: Callable[[], object]) -> int:
        """Launch once, then record a launch and return the number of kernels that it queues."""
        launch()
        load_driver().Context.synchronize()  # the launch may also use other streams
        return count_kernels(launch, self._stream, self._host, self._library.take_last_error)


def count_workspace(loaded: object, plan: Plan) -> int:
    """Return the workspace size of a loaded plan in bytes.

    For a launcher, its host function provides the size. Raises LaunchError.
    """
    return loaded.count_workspace(plan) if isinstance(loaded, Launcher) else plan.workspace
