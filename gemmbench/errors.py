"""The errors that gemmbench raises on purpose, and the exit code of each.

    GemmbenchError
    |-- UsageError         2   an option, a config file or a manifest is wrong
    |   `-- SpecError      2   ... at a known line of a file
    |-- StoreError         2   a results file cannot be read or written
    |-- DeviceError        3   no such device, or its tools are missing
    `-- PlanError          -   one plan failed: its row has the reason, and the sweep continues
        |-- BuildError         the compiler refused the text
        |   `-- BuildTimeout   ... or did not finish in time
        |-- LaunchError        the launch failed, or the kernel crashed
        |   |-- KernelCrash    ... with a signal, on the CPU device
        |   `-- DeviceLost     ... and the device's context is lost: a new process must continue
        |-- LaunchTimeout      the kernel did not finish in time
        |-- OutOfMemory        the operands do not fit
        |-- NotOffered         the library has no such algorithm for this problem
        |-- Unsupported        the kernel needs what this device lacks
        `-- HostError          gemmbench itself failed, which costs one batch

A message gives the location, the fault and the next step. Only `gemmbench.cli` turns an error
into its message and exit code.
"""

from __future__ import annotations

import re
import signal
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_PACKAGE = Path(__file__).parent

OK, BAD_ROW, USAGE, NO_DEVICE, INCONCLUSIVE, HUNG_UP, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 4, 129, 130, 143

EXIT_CODES = {
    OK: "Every row that ran is correct.",
    BAD_ROW: "A row is wrong, failed or timed out; a kernel is slower (`check`, `--fail-on slower`); a line asks "
    "for more sectors (`check --accesses`); or a limit of a manifest is broken (`inspect`).",
    USAGE: "An option, a config, a manifest or a results file is wrong, or a file cannot be written.",
    NO_DEVICE: "The device, a tool or the cache folder is missing, nothing ran, a kernel to be compared could not run, "
    "or two runs have no rows in common.",
    INCONCLUSIVE: "A verdict is inconclusive, with `--fail-on inconclusive`.",
    HUNG_UP: "Ended by SIGHUP, because the terminal or the connection to it was lost. Every complete batch is saved.",
    INTERRUPTED: "Interrupted with Ctrl-C, or ended by `--sweep-limit`. Everything measured so far is saved and shown.",
    TERMINATED: "Terminated by SIGTERM. Every complete batch is saved.",
}
"""The meaning of each exit code, as the manual explains it."""


class GemmbenchError(Exception):
    """The base class of all errors: a message for the user and an exit code."""

    exit_code = BAD_ROW


class UsageError(GemmbenchError):
    """An option, a config file or a manifest is wrong."""

    exit_code = USAGE


class SpecError(UsageError):
    """A fault at `location` (a file such as "cuda/tiled.cu") and, if known, at a line of it."""

    def __init__(self, location: str, line: int | None, fault: str):
        fault = fault.replace("\n", r"\n")  # it may quote a value of the file, and is one line
        self.location, self.line, self.fault = location, line, fault
        super().__init__(f"{location}:{line}: {fault}" if line else f"{location}: {fault}")

    def __reduce__(self) -> tuple[type[SpecError], tuple[str, int | None, str]]:
        # Exception would pickle the finished message as the only argument.
        return type(self), (self.location, self.line, self.fault)


@contextmanager
def at_line(location: str, line: int | None) -> Iterator[None]:
    """Add a file and line to any UsageError raised inside the block that lacks them. None means the command line."""
    try:
        yield
    except SpecError:
        raise
    except UsageError as fault:
        raise SpecError(location, line, str(fault)) if line else fault from None


class StoreError(GemmbenchError):
    """A results file cannot be read or written."""

    exit_code = USAGE


class DeviceError(GemmbenchError):
    """The device, or a tool that it needs, is missing."""

    exit_code = NO_DEVICE


def shorten_reason(text: str, longest: int = 2000, kept: int = 1900) -> str:
    """Return the text. If it is too long, return its beginning and the number of characters left out."""
    return text if len(text) <= longest else f"{text[:kept]} ... ({len(text) - kept:,} more characters)"


class PlanError(GemmbenchError):
    """One plan cannot be measured. Its row gets `status`, and the message as its reason, shortened if long."""

    status = "failed"

    def __init__(self, reason: str = ""):
        super().__init__(shorten_reason(reason))


class BuildError(PlanError):
    """The compiler rejected the text. The message quotes the compiler."""


class BuildTimeout(BuildError):
    """The compiler did not finish in time."""

    status = "timeout"


class LaunchError(PlanError):
    """The launch failed, or the kernel crashed."""


class KernelCrash(LaunchError):
    """A signal ended the kernel's process, because it read or wrote where it must not."""


class DeviceLost(LaunchError):
    """The kernel crashed and destroyed the device's context. Nothing else can run in this process."""


class LaunchTimeout(PlanError):
    """The kernel did not finish in time."""

    status = "timeout"


class OutOfMemory(PlanError):
    """The operands, or what the kernel needs besides them, do not fit in memory."""

    status = "out of memory"


class NotOffered(PlanError):
    """The library offers no such algorithm for this problem."""

    status = "skipped"


class Unsupported(PlanError):
    """The kernel needs something that this device lacks. The message names it and the line."""

    status = "skipped"


class HostError(PlanError):
    """gemmbench itself failed while it worked on this plan, because host memory ran out or because of a bug.

    The message contains the type, text and location of the exception.
    """

    def __init__(self, fault: BaseException | str):
        super().__init__(fault if isinstance(fault, str) else _describe_exception(fault))


def _describe_exception(fault: BaseException) -> str:
    text = " ".join(str(fault).split())
    what = f"{type(fault).__name__}: {text}" if text else type(fault).__name__
    frames = traceback.extract_tb(fault.__traceback__)
    ours = [frame for frame in frames if _PACKAGE in Path(frame.filename).parents]
    where = f" ({Path(ours[-1].filename).relative_to(_PACKAGE)}:{ours[-1].lineno})" if ours else ""
    return f"gemmbench failed, not the kernel: {what}{where}"


def name_signal(number: int) -> str:
    """Return the name of a signal, such as `SIGSEGV`, or `signal 40` if it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def write_pip_line(extra: str) -> str:
    """Return the command that installs the packages of an extra. gemmbench itself is in no package index."""
    from importlib import metadata  # slow, and seldom needed

    try:
        required = metadata.requires("gemmbench") or []
    except metadata.PackageNotFoundError:  # it runs from its folder
        return f"in the folder of gemmbench: pip install '.[{extra}]'"
    names = [re.split("[^A-Za-z0-9_.-]", each)[0] for each in required if f"extra == '{extra}'" in each]
    return f"pip install {' '.join(names)}"


def nearest(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.5) -> str:
    """Suggest up to `most` similar names from `known` as `" (did you mean 'x'?)"`; `""` if none is similar."""
    from difflib import get_close_matches

    close = [f"'{each}'" for each in get_close_matches(name, list(known), n=most, cutoff=cutoff)]
    listed = " or ".join(filter(None, (", ".join(close[:-1]), *close[-1:])))
    return f" (did you mean {listed}?)" if close else ""


def nearest_or_all(name: str, known: Iterable[str], intro: str, place: str, most: int = 12) -> str:
    """Suggest similar names, and list up to `most` after `intro`, or say which `place` has all.

    The text is such as `" (did you mean 'x'?); known: x, y"` or `" (did you mean 'x'?); gemmbench list has all 60"`.
    """
    names = list(dict.fromkeys(known))
    if len(names) <= most:
        return f"{nearest(name, names)}; {intro} {', '.join(names)}"
    return f"{nearest(name, names, 3)}; {place} has all {len(names)}"
