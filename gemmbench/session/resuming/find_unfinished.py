"""The newest unfinished run of a command in a folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from gemmbench.bench.record import SCHEMA
from gemmbench.errors import StoreError
from gemmbench.planning.files import RESULTS_SUFFIX
from gemmbench.report.store.reading import is_being_written, is_finished, read_environment, read_results
from gemmbench.report.store.recorded_run import Run
from gemmbench.session.reporter import Reporter


def find_unfinished(folder: Path, command: str, reporter: Reporter) -> Run:
    """The newest run of `gemmbench COMMAND` that did not come to its end and that nobody is writing.

    Files that cannot be read are reported and left out. Raises StoreError if there is none.
    """
    for path in _list_newest_first(folder, command, reporter):
        try:
            if not (is_finished(path) or is_being_written(path)):
                return read_results(path)
        except StoreError as fault:
            reporter.message(f"left out: {fault}")
    raise StoreError(
        f"nothing to resume: no unfinished run of gemmbench {command} in {folder}; "
        "name a file with --resume-from, or start a new run without --resume"
    )


def _list_newest_first(folder: Path, command: str, reporter: Reporter) -> Iterator[Path]:
    dated: list[tuple[str, float, Path]] = []
    for path in folder.glob(f"*{RESULTS_SUFFIX}"):
        try:
            environment = read_environment(path)
        except StoreError as fault:
            reporter.message(f"left out: {fault}")
            continue
        if environment.schema == SCHEMA and name_command(environment.command) == command:
            dated.append((environment.started, path.stat().st_mtime, path))
    return (path for *_, path in sorted(dated, reverse=True))


def name_command(text: str) -> str:
    """`run` for `gemmbench run naive`; "" if the text is no such command."""
    words = split_command(text)
    return words[1] if words[:1] == ["gemmbench"] and len(words) > 1 else ""


def split_command(text: str) -> list[str]:
    """The words of a recorded command; none if its quotes are not balanced."""
    try:
        return shlex.split(text)
    except ValueError:
        return []
