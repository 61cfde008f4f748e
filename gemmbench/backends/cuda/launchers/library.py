"""A launcher's shared library, loaded with ctypes.

It has a CUDA runtime of its own, linked statically, which uses whatever context is current: the primary one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from ctypes import CDLL, RTLD_GLOBAL, Array, Structure, byref, c_char, c_char_p, c_int, c_longlong
from functools import cache

from gemmbench.backends.cuda.launchers.arguments import Slot
from gemmbench.backends.cuda.launchers.source import RUN, WORKSPACE
from gemmbench.errors import LaunchError

_DRIVER = "libcuda.so.1"
_WORDS = 500
_PARTS = ("name", "words")
"""Of an error of CUDA."""


class Outcome(Structure):
    """What a call came to, as launcher.h has it."""

    _fields_ = (("value", c_longlong), ("threw", c_int), ("words", c_char * _WORDS))


class LauncherLibrary:
    """The functions of one shared library; `host` and `host_workspace` are their names in the manifest."""

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
        """The bytes that the manifest's host function returns for M, N and K. Raises LaunchError."""
        outcome = Outcome()
        getattr(self._code, WORKSPACE)(sizes, byref(outcome))
        if outcome.threw:
            raise LaunchError(f"{self._host_workspace} threw: {_read_words(outcome)}")
        if outcome.value < 0:
            raise LaunchError(f"{self._host_workspace} returned {outcome.value} bytes of workspace")
        return int(outcome.value)

    def bind(self, slots: Array[Slot]) -> Callable[[], None]:
        """A callable that calls the host function with these arguments. It raises LaunchError."""
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
        """The name and the meaning of an error of CUDA's runtime, "" for a number that it does not know."""
        name, words = (getattr(self._code, f"gemmbench_error_{part}")(c_int(code)).decode() for part in _PARTS)
        return f"{name}, {words}" if name.startswith("cudaError") else ""

    def take_last_error(self) -> str:
        """The last error of a CUDA call in this library, in words, "" if there was none; it is forgotten."""
        code = int(self._code.gemmbench_last_error())
        return self.describe_error(code) if code else ""


def _read_words(outcome: Outcome) -> str:
    return " ".join(outcome.words.decode(errors="replace").split())


@cache
def _load_driver_symbols() -> None:
    """Make the driver's functions known to libraries that call them directly; nothing happens without a driver."""
    with suppress(OSError):
        CDLL(_DRIVER, mode=RTLD_GLOBAL)
