"""The runs of a folder, newest first."""

from __future__ import annotations

from pathlib import Path

from gemmbench.errors import StoreError
from gemmbench.planning.files import RESULTS_SUFFIX, list_saved
from gemmbench.report.store.reading import read_results
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.tables.run_list import ListedRun
from gemmbench.session.reporter import Reporter


def list_runs(folder: Path, reporter: Reporter) -> list[ListedRun]:
    """The results files of a folder and its saved runs, newest first; reports files that cannot be read.

    Raises StoreError if there are none.
    """
    names = {path: path.stem for path in list_saved(folder)}
    paths = [*sorted(folder.glob(f"*{RESULTS_SUFFIX}")), *names]
    listed: dict[str, ListedRun] = {}
    for path in paths:
        run = _read_run(path, reporter)
        if run is not None:
            known = listed.get(run.environment.run, ListedRun(run))
            listed[run.environment.run] = known.with_name(names.get(path, ""))
    if not listed:
        raise StoreError(f"no results files in {folder}; gemmbench run writes them")
    return sorted(listed.values(), key=lambda each: each.run.environment.started, reverse=True)


def _read_run(path: Path, reporter: Reporter) -> Run | None:
    try:
        return read_results(path)
    except StoreError as fault:
        reporter.message(f"left out: {fault}")
        return None
