"""The saved runs that a command reads: those that its FILES name, or the newest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gemmbench.cli.terminal import TERMINAL
from gemmbench.report.comparison import Comparison, compare_rows
from gemmbench.session.saved_runs import find_newest_run, read_run


def read_comparisons(files: Sequence[str], folder: Path, command: str = "") -> list[Comparison]:
    """The runs that `files` name, or the newest of the folder, with their warnings on stderr.

    Only runs of `command`, such as `tune`, count as the newest; "" is any.

    Raises UsageError and StoreError.
    """
    runs = [read_run(file, folder) for file in files or [str(find_newest_run(folder, command))]]
    for run in runs:
        if run.warning:
            TERMINAL.message(run.warning)
    return [compare_rows(run) for run in runs]
