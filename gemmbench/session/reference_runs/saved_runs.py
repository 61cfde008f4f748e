"""Runs stored under a name: copies of results files in the folder `saved` of the results folder.

A copy holds everything, so `results/saved/main.jsonl` can be committed or kept as an artifact.
"""

from __future__ import annotations

import re
from pathlib import Path

from gemmbench.errors import StoreError, UsageError
from gemmbench.planning.files import RESULTS_SUFFIX, exists, list_saved, saved_path
from gemmbench.report.export import write_text
from gemmbench.report.store.reading import read_environment
from gemmbench.report.store.recorded_run import Run

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check_name(name: str) -> str:
    """Return a name for a run. Raises UsageError for one that could not be a file's."""
    if not _NAME.fullmatch(name) or name.endswith(RESULTS_SUFFIX):
        raise UsageError(
            f"'{name}' cannot name a saved run; use up to 64 letters, digits, dots, dashes and underscores, "
            "such as main or v1.2"
        )
    return name


def save_run(run: Run, folder: Path, name: str) -> str:
    """Store a run under a name and return what was done; a run of this name is replaced.

    The results file of the replaced run stays where it was. Raises UsageError and StoreError.
    """
    path = saved_path(folder, check_name(name))
    replaced = _describe_saved(path)
    write_text(path, run.path.read_text(encoding="utf-8"))
    return f"saved as {name}: {path}{replaced}"


def _describe_saved(path: Path) -> str:
    if not exists(path):
        return ""
    try:
        return f", which replaces the run of {read_environment(path).started}"
    except StoreError:
        return ", which replaces a file that could not be read"


def find_newest_saved(folder: Path) -> Path:
    """The saved run that was measured last. Raises UsageError if there is none, StoreError for a broken file."""
    saved = list_saved(folder)
    if not saved:
        raise UsageError(
            f"nothing to check against: no saved run in {folder}; store one with gemmbench run --save main, or name "
            "a results file or a git revision with --against"
        )
    return max(saved, key=_by_age)


def _by_age(path: Path) -> tuple[str, float]:
    return read_environment(path).started, path.stat().st_mtime
