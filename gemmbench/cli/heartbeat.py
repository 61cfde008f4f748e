"""A line every 10 s where no bar can be drawn: in a pipe, a log or a CI job."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gemmbench.bench.experiments.context import Progress
from gemmbench.report.text import format_duration
from gemmbench.session.reporter import SessionProgress

PERIOD = 10.0
"""Seconds between two lines."""


@contextmanager
def print_heartbeat(write: Callable[[str], None]) -> Iterator[Progress]:
    """Write what is being done from time to time, until the block ends."""
    progress, ended = SessionProgress(), threading.Event()

    def beat() -> None:
        while not ended.wait(PERIOD):
            write(f"{format_duration(progress.elapsed)}: {progress}{progress.describe_left()}")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield progress.report
    finally:
        ended.set()
        thread.join()
