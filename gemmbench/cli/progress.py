"""Progress on stderr, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gemmbench.bench.experiments.context import Progress


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Yield a callback (what, done, of); it draws two bars, or nothing if stderr is no terminal."""
    from gemmbench.bench.experiments.context import SWEEP, silent

    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        sweep, step = bars.add_task("sweep", total=None), bars.add_task("", total=None)

        def report(what: str, done: int, of: int) -> None:
            task = sweep if what.startswith(SWEEP) else step
            bars.update(task, description=what.removeprefix(SWEEP), completed=done, total=of)

        yield report
