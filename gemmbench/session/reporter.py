"""How a session reports to its user: messages and progress."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from gemmbench.bench.experiments.context import Progress, ignore_progress


class Reporter:
    """Receives what a session reports. This one discards it; subclasses show it."""

    def message(self, text: str) -> None:
        """Show one message, such as why a run ends early."""

    def progress_bar(self) -> AbstractContextManager[Progress]:
        """Show progress inside the block; yields a callback (what, done, of how many)."""
        return nullcontext(ignore_progress)


SILENT = Reporter()
