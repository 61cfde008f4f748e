"""Where the time of a search goes: the phases of `gemmbench tune blocktile_2d --sizes 4096` with an empty cache.

    python benchmarks/tune_phases.py                       one search, and a line for each phase
    python benchmarks/tune_phases.py --set MODULE:NAME=8   the same with another value of a constant, to compare

Phases are what the process of the command waits for: the device, checks, short rounds, finals, compilers. With
--lines each of them has a line. Other options go to `tune` instead of `--sizes 4096`.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from claims import format_table
from claims.tune import BASELINE, VARIANT

HEAD = ("phase", "times", "seconds", "share")


class Phases:
    """What happened when: phases by name, with their seconds since the start."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.spans: list[tuple[str, float, float]] = []

    @contextmanager
    def note(self, name: str) -> Iterator[None]:
        """Time the block."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.spans.append((name, begun - self.started, time.monotonic() - self.started))

    def watch(self, module: str, path: str, name: str) -> None:
        """Time every call of a function or a method."""
        owner: Any = import_module(module)
        *classes, attribute = path.split(".")
        for each in classes:
            owner = getattr(owner, each)
        function: Callable[..., Any] = getattr(owner, attribute)

        def timed(*arguments: Any, **options: Any) -> Any:
            with self.note(name):
                return function(*arguments, **options)

        setattr(owner, attribute, timed)

    def list_rows(self) -> list[tuple[str, str, str, str]]:
        """The table: how often each phase came, and how long it took."""
        whole = time.monotonic() - self.started
        times = Counter(name for name, _, _ in self.spans)
        seconds = {each: sum(ended - begun for name, begun, ended in self.spans if name == each) for each in times}
        rows = [(name, str(times[name]), f"{spent:.2f}", f"{spent / whole:.0%}") for name, spent in seconds.items()]
        rest = whole - sum(seconds.values())
        return [*rows, ("everything else", "", f"{rest:.2f}", f"{rest / whole:.0%}"), ("all", "", f"{whole:.2f}", "")]


def change_constant(text: str) -> None:
    """Give a constant, written as MODULE:NAME=NUMBER, another value."""
    place, _, value = text.partition("=")
    module, _, name = place.partition(":")
    getattr(import_module(module), name)  # it must exist
    setattr(import_module(module), name, int(value))


def main() -> int:
    """Search once, and print the table. Returns the exit code of tune."""
    phases = Phases()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", default=[], metavar="MODULE:NAME=NUMBER", help="a constant")
    parser.add_argument("--lines", action="store_true", help="print every phase when it came")
    arguments, others = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"GEMMBENCH_CACHE_DIR": f"{home}/cache", "GEMMBENCH_DATA_DIR": f"{home}/data"}
        with phases.note("imports"):
            main_group = import_module("gemmbench.cli").main
            import_module("gemmbench.cli.tune")
        for each in arguments.set:
            change_constant(each)
        phases.watch("gemmbench.backends.registry", "describe_machine", "describing the device")
        phases.watch("gemmbench.bench.worker.remote", "RemoteWorker._await_ready", "waiting for the device to open")
        for method, name in (("check", "checks"), ("time", "short rounds"), ("measure", "finals")):
            phases.watch("gemmbench.bench.tuning.batches", f"CandidateBatches.{method}", name)
        phases.watch("gemmbench.bench.tuning.screening", "wait_for_any", "waiting for compilers")
        sizes = ["--sizes", "4096", "--baseline", BASELINE]
        sys.argv = ["gemmbench", "tune", VARIANT, *(others or sizes), "--out", f"{home}/results"]
        try:
            main_group()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    if arguments.lines:
        lines = [(name, f"{begun:.2f}", f"{ended - begun:.2f}") for name, begun, ended in phases.spans]
        print(format_table(lines, ("phase", "begins", "seconds")))
    print(format_table(phases.list_rows(), HEAD))
    return code


if __name__ == "__main__":
    sys.exit(main())
