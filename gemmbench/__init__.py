"""gemmbench: verify, time and compare CUDA GEMM kernels, one `.cu` file each.

This is the Python interface:

    run        verify and time kernels, and compare them with a baseline
    compare    decide which of several variants is faster
    tune       search for the fastest configuration of a kernel
    verify     verify kernels on shapes where they often break
    load       read a results file

    >>> import gemmbench
    >>> result = gemmbench.run(["naive", "tiled"], sizes=64, device="fake", out=None)
    >>> [(record.variant, record.status) for record in result.records]
    [('naive', 'ok'), ('tiled', 'ok'), ('cublas', 'ok')]

The functions return RunResults, CompareResults, TuneResults and VerifyResults. Every error that they
raise on purpose is a GemmbenchError. They are imported when they are first used, so `import gemmbench`
is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gemmbench.bench.record import Environment, Record, TransferRecord
    from gemmbench.errors import DeviceError, GemmbenchError, SpecError, StoreError, UsageError
    from gemmbench.interface.functions import TuneResults, compare, load, run, tune, verify
    from gemmbench.interface.run_results import CompareResults, Plot, RunResults, TimedRecord, VerifyResults
    from gemmbench.report.comparison import Comparison
    from gemmbench.report.verdicts import Verdict

    __version__: str

_MODULES = {
    "gemmbench.interface.functions": ("TuneResults", "compare", "load", "run", "tune", "verify"),
    "gemmbench.interface.run_results": ("CompareResults", "Plot", "RunResults", "TimedRecord", "VerifyResults"),
    "gemmbench.bench.record": ("Environment", "Record", "TransferRecord"),
    "gemmbench.report.comparison": ("Comparison",),
    "gemmbench.report.verdicts": ("Verdict",),
    "gemmbench.errors": ("DeviceError", "GemmbenchError", "SpecError", "StoreError", "UsageError"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "CompareResults",
    "Comparison",
    "DeviceError",
    "Environment",
    "GemmbenchError",
    "Plot",
    "Record",
    "RunResults",
    "SpecError",
    "StoreError",
    "TimedRecord",
    "TransferRecord",
    "TuneResults",
    "UsageError",
    "Verdict",
    "VerifyResults",
    "__version__",
    "compare",
    "load",
    "run",
    "tune",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import a name of the interface, or find the version, when it is first used."""
    if name == "__version__":
        return import_module("gemmbench.planning.source_tree").read_version()
    if name not in _HOMES:
        raise AttributeError(f"module 'gemmbench' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
