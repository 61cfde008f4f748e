"""Finds results files by path, by the name given with `--save`, or by id, and lists the runs of a folder."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gemmbench.bench.record import Environment
from gemmbench.errors import StoreError, UsageError, nearest
from gemmbench.planning.files import (
    COMPRESSED_SUFFIX,
    exists,
    is_file,
    is_folder,
    is_results_name,
    list_folders,
    list_results,
    list_saved,
    results_stem,
    saved_path,
)
from gemmbench.planning.manifests.catalog import MARK, Catalog, is_path
from gemmbench.planning.manifests.revisions import find_commit, is_tracked
from gemmbench.planning.plans.plan import shorten_device
from gemmbench.planning.sweeps.run_request import Destination
from gemmbench.report.columns.column import Column, make_table
from gemmbench.report.comparison import RowFilter
from gemmbench.report.export import write_text
from gemmbench.report.store.reading import read_environment, read_results
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.table import Report
from gemmbench.report.text import count_noun
from gemmbench.session.open_run import name_command
from gemmbench.session.reporter import Reporter

_ALL = RowFilter()
_RENAMED = {"naive": "naive_rows"}
"""Kernels whose old name now belongs to another kernel. Rows of the new kernel have a hash of its code."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check_name(name: str) -> str:
    """Return the name if a run can be saved under it. Raises UsageError if it cannot be part of a file name."""
    if not _NAME.fullmatch(name) or is_results_name(name):
        raise UsageError(
            f"'{name}' cannot name a saved run; use up to 64 letters, digits, dots, dashes and underscores, "
            "such as main or v1.2"
        )
    return name


def save_run(run: Run, folder: Path, name: str) -> str:
    """Save a run under a name, replacing any run saved under it, and return a sentence about it.

    The results file of the replaced run remains. Raises UsageError and StoreError.
    """
    path = saved_path(folder, check_name(name))
    earlier = _find_saved(name, folder)
    replaced = _describe_saved(earlier) if earlier else ""
    write_text(path, run.path.read_text(encoding="utf-8"))
    with suppress(OSError):
        path.with_suffix(COMPRESSED_SUFFIX).unlink()
    return f"saved as {name}: {path}{replaced}"


def _find_saved(name: str, folder: Path) -> Path | None:
    """Return the path of a saved run, even if something other than a file is there."""
    saved = saved_path(folder, name)
    return next((path for path in (saved, saved.with_suffix(COMPRESSED_SUFFIX)) if exists(path)), None)


def _describe_saved(path: Path) -> str:
    try:
        return f", which replaces the run of {read_environment(path).started}"
    except StoreError:
        return ", which replaces a file that could not be read"


def find_newest_saved(folder: Path) -> Path:
    """Return the saved run that was measured last. Raises UsageError if there is none, StoreError for a broken file."""
    saved = list_saved(folder)
    if not saved:
        raise UsageError(
            f"nothing to check against: no saved run in {folder}; store one with gemmbench run --save main, or "
            "give a results file or a git revision with --against"
        )
    return max(saved, key=_by_age)


def _by_age(path: Path) -> tuple[str, float]:
    return read_environment(path).started, path.stat().st_mtime


def find_run(text: str, folder: Path) -> Path | None:
    """Return the results file that `text` names; None if there is none.

    A path takes precedence, then the name of a saved run in the folder, then the end of a file's or run's name, such as
    1f3a for 20260101-120000-quick-1f3a.jsonl.
    """
    path = Path(text)
    return path if is_file(path) or is_results_name(text) else _find_by_name(text, folder)


_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def find_reference(text: str, folder: Path, kernels: Sequence[Path]) -> Path | None:
    """Return the results file that `text` names for a check; None if it can only be a git revision.

    A file that comes with a checkout must not take the place of a revision, since the author of a pull request controls
    both. So a path must end in .jsonl or begin with a dot or a slash, and the hash of a commit is never a saved run.
    Raises UsageError if `text` is both a revision in a folder of `kernels` and a saved run that is tracked by git.
    """
    if is_results_name(text) or text.startswith(("/", "./", "../")):
        return Path(text)
    path = None if _COMMIT.fullmatch(text) else _find_by_name(text, folder)
    if path is not None and is_tracked(path) and any(find_commit(each, text) for each in kernels):
        raise UsageError(
            f"--against {text}: both a git revision and a saved run that is in git; write {path} for the run, "
            f"or refs/heads/{text} or a hash for the revision"
        )
    return path


def _find_by_name(text: str, folder: Path) -> Path | None:
    if "/" in text:
        return None
    saved = _find_saved(text, folder)
    return saved if saved and is_file(saved) else _find_by_id(text, folder)


def _find_by_id(text: str, folder: Path) -> Path | None:
    """Return the only file whose name ends in `text`, or else the only one whose run's name does.

    Files of the folder come first, then those of the folders in it.
    """
    if not text.isalnum():
        return None
    for folders in ([folder], list(list_folders(folder))):
        named = [path for each in folders for path in list_results(each, f"-{text}")]
        found = named or [path for each in folders for path in list_results(each) if _read_id(path) == text]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _read_id(path: Path) -> str:
    """Return the end of the run's original name. Its file may have been renamed since."""
    try:
        return read_environment(path).run.rpartition("-")[2]
    except StoreError:
        return ""


def read_run(text: str, folder: Path) -> Run:
    """Read the results file that `text` names. Raises UsageError for an unknown name, and StoreError."""
    path = find_run(text, folder)
    if path is None:
        what = (
            f"{text} is a folder, not a results file"
            if is_folder(Path(text))
            else f"no results file and no saved run '{text}'"
        )
        raise UsageError(f"{what}{suggest_saved(text, folder)}")
    return read_results(path)


def refuse_same(reference: Run, runs: Sequence[Run]) -> None:
    """Raise UsageError if a run would be compared with itself."""
    for run in runs:
        if run.environment.run == reference.environment.run:
            again = f"gemmbench run --against {shlex.quote(str(reference.path))}"
            raise UsageError(
                f"{reference.path} and {run.path} are the same run; measure its kernels again and compare: {again}"
            )


def refuse_renamed(reference: Run) -> None:
    """Raise UsageError if the name of a measured kernel now belongs to a different kernel."""
    for record in reference.records:
        kernel = _RENAMED.get(record.variant)
        if kernel and record.artifact and not record.code and record.path == f"cuda/{record.variant}.cu":
            raise UsageError(
                f"{reference.path}: its {record.variant} is the kernel that is now called {kernel}, so a "
                "difference would come from the kernels; measure it again"
            )


def refuse_overlapping(reference: Run, run: Run | None = None) -> None:
    """Raise UsageError if products overlap in only one of the two runs, for rows that both runs have.

    Without a second run, products must not overlap at all.
    """
    before, now = (_find_overlapping(each) if each else frozenset() for each in (reference, run))
    common = {record.kernel_key for record in (run or reference).records} & {
        record.kernel_key for record in reference.records
    }
    differing = sorted({str(key[1]) for key in (before ^ now) & common})
    if not differing:
        return
    older, overlap = (reference, now) if run is None or _is_older(reference, run) else (run, before)
    words = [word for word in shlex.split(older.environment.command) if word not in ("--pdl", "--no-pdl")]
    again = shlex.join([*words, *(["--pdl"] if overlap else [])])
    raise UsageError(
        f"{older.path}: measured {'without' if overlap else 'with'} products that overlap, unlike the other run "
        f"({', '.join(differing[:3])}); measure it again: {again}"
    )


def _find_overlapping(run: Run) -> frozenset[tuple[object, ...]]:
    return frozenset(record.kernel_key for record in run.records if record.pdl)


def _is_older(one: Run, other: Run) -> bool:
    return one.environment.started <= other.environment.started


def suggest_saved(text: str, folder: Path) -> str:
    """List the saved runs, for the message about an unknown one."""
    names = [results_stem(path) for path in list_saved(folder)]
    listed = list_results(folder) or list_folders(folder)
    hint = f"gemmbench show {folder} lists the runs" if listed else f"{folder} has no runs"
    return f"{nearest(text, names)}; {f'saved runs in {folder}: ' + ', '.join(names) if names else hint}"


def find_newest_run(folder: Path, command: str = "") -> Path:
    """Return the results file in a folder whose run started last, counting only runs of `command` if it is given.

    Raises StoreError if there is none.
    """
    dated: list[tuple[str, float, Path]] = []
    for path in list_results(folder):
        try:
            environment = read_environment(path)
            if not command or name_command(environment.command) == command:
                dated.append((environment.started, path.stat().st_mtime, path))
        except StoreError:
            continue
    if not dated:
        which, writes = f" of gemmbench {command}" if command else "", f"gemmbench {command or 'run'} writes them"
        elsewhere = "".join(f"; {line}" for line in _describe_folders(folder))
        raise StoreError(f"no results files{which} in {folder}; {writes}, or name a file or a folder{elsewhere}")
    return max(dated)[2]


def _describe_folders(folder: Path) -> list[str]:
    """Return a line on each folder of results inside this one, with the command that lists its runs."""
    return [
        f"{path} has {count_noun(count, 'run')}: gemmbench show {path}" for path, count in list_folders(folder).items()
    ]


def refuse_other_device(reference: Environment, device: str, force: bool) -> None:
    """Raise UsageError if the reference run is from another device, unless `force` is set."""
    if reference.device != device and not force:
        raise UsageError(
            f"the reference run {reference.run} was measured on {reference.device}, this one on {device}; a "
            "difference would come from the devices; use --force to compare anyway"
        )


def find_two_runs(names: Sequence[str], folder: Path, catalog: Catalog) -> tuple[Path, Path] | None:
    """Return the two results files that the arguments of compare name; None if they name variants.

    If a variant has one of these names, the variant is meant. Raises UsageError if runs and variants are mixed.
    """
    runs = {name: path for name in names if not _is_variant(name, catalog) and (path := find_run(name, folder))}
    if not runs:
        return None
    variants = [name for name in names if name not in runs]
    if variants:
        raise UsageError(
            f"{next(iter(runs))} is a saved run but {variants[0]} is not; compare takes kernels, or two saved runs"
        )
    if len(names) != 2:
        raise UsageError("compare takes two saved runs at a time: gemmbench compare before.jsonl after.jsonl")
    return runs[names[0]], runs[names[1]]


def _is_variant(name: str, catalog: Catalog) -> bool:
    return name in catalog.names or MARK in name or is_path(name)


_LONGEST_COMMAND = 80


@dataclass(frozen=True)
class ListedRun:
    """A run in a folder, and the names under which it was saved."""

    run: Run
    names: tuple[str, ...] = ()

    def with_name(self, name: str) -> ListedRun:
        """Return the same run with one more name, or without change if `name` is empty."""
        return replace(self, names=(*self.names, name)) if name else self

    @property
    def id(self) -> str:
        """The end of the run's name, which `gemmbench show` accepts."""
        return self.run.environment.run.rpartition("-")[2]

    @property
    def when(self) -> str:
        """The start of the run in UTC, to the minute."""
        return self.run.environment.started[:16].replace("T", " ")

    @property
    def command(self) -> str:
        """The command as it was typed, without the program's name and the folder of results."""
        return re.sub(r" --out[ =]\S+", "", self.run.environment.command.removeprefix("gemmbench "))

    @property
    def sizes(self) -> list[str]:
        """The sizes of the rows, in the order of the file; for networks, their batches."""
        records = self.run.full_records
        sizes = (f"batch {each.problem.M}" if each.network else each.problem.size for each in records)
        return list(dict.fromkeys([*sizes, *(each.problem.size for each in self.run.transfers)]))

    @property
    def statuses(self) -> list[str]:
        """The statuses of the rows that ran, each once.

        A row that was measured again, such as the baseline of several batches, counts as failed if it ever failed.
        """
        found: dict[object, str] = {}
        rows: list[tuple[object, str]] = [((each.kernel_key, each.pdl), each.status) for each in self.run.full_records]
        for key, status in [*rows, *(((each.kernel_key, each.mode), each.status) for each in self.run.transfers)]:
            if status != "skipped" and found.get(key, "ok") == "ok":
                found[key] = status
        return list(found.values())

    @property
    def failed(self) -> int:
        """The number of rows that ran and are not correct."""
        return sum(status != "ok" for status in self.statuses)


def _shorten(command: str) -> str:
    return textwrap.shorten(command, _LONGEST_COMMAND, placeholder=" ...")


_MOST_SIZES = 9


def _list_sizes(sizes: Sequence[str]) -> str:
    return ", ".join(sizes) if len(sizes) <= _MOST_SIZES else f"{sizes[0]} ... {sizes[-1]} ({len(sizes)} sizes)"


COLUMNS: tuple[Column[ListedRun], ...] = (
    Column(heading="id", cell=lambda each: each.id, left=True),
    Column(heading="started (UTC)", cell=lambda each: each.when, left=True),
    Column(heading="command", cell=lambda each: _shorten(each.command), fold=True),
    Column(heading="sizes", cell=lambda each: _list_sizes(each.sizes), fold=True),
    Column(heading="device", cell=lambda each: shorten_device(each.run.environment.device), fold=True),
    Column(heading="rows", cell=lambda each: str(len(each.statuses))),
    Column(heading="failed", cell=lambda each: str(each.failed or "-")),
    Column(heading="saved as", cell=lambda each: ", ".join(each.names) or "-", left=True),
)


def report_runs(folder: str, runs: Sequence[ListedRun], sizes: Sequence[str] = (), left_out: int = 0) -> Report:
    """Return a table of the runs in a folder, with notes on how to show one, and one at the first of `sizes`.

    A device that all runs have in common is in the title. `left_out` other runs have no selected rows. The last lines
    name the folders of results in this one.
    """
    closing = _describe_folders(Path(folder))
    if not runs:
        return Report([], closing=closing)
    statuses = ["failed" if run.failed else "ok" for run in runs]
    devices = {shorten_device(run.run.environment.device) for run in runs}
    optional = {"device": len(devices) > 1, "failed": "failed" in statuses, "saved as": any(run.names for run in runs)}
    columns = [column for column in COLUMNS if optional.get(column.heading, True)]
    title = folder if optional["device"] else f"{folder}: {devices.pop()}"
    place = "" if folder.rstrip("/") == str(Destination.folder) else f" --out {shlex.quote(folder)}"
    example = next((run for run in runs if len(run.sizes) > 1 and run.command.startswith("run ")), runs[0])
    command = f"gemmbench show {example.id}{place}"
    size = f"One size, and which kernel is fastest: {command} --sizes {shlex.quote([*sizes, *example.sizes][0])}"
    notes = [f"One run: {command}", *([size] if len(example.sizes) > 1 else [])]
    if left_out:
        notes.append(f"Left out: {count_noun(left_out, 'run')} without such rows: gemmbench show {shlex.quote(folder)}")
    return Report([make_table(columns, runs, title, notes=notes, statuses=statuses)], closing=closing)


def list_runs(folder: Path, reporter: Reporter, selection: RowFilter = _ALL) -> tuple[list[ListedRun], int]:
    """List the runs in a folder that have selected rows, saved runs included, newest first, and count the others.

    Reports files that cannot be read. Raises StoreError if there are no runs, here or in folders inside, and UsageError
    if none has such rows.
    """
    names = {path: results_stem(path) for path in list_saved(folder)}
    paths = [*list_results(folder), *names]
    listed: dict[str, ListedRun] = {}
    for path in paths:
        run = _read_run(path, reporter)
        if run is not None:
            known = listed.get(run.environment.run, ListedRun(run))
            listed[run.environment.run] = known.with_name(names.get(path, ""))
    if not listed and list_folders(folder):
        return [], 0
    if not listed:
        raise StoreError(f"no results files in {folder}; gemmbench run writes them")
    chosen = [each for each in listed.values() if any(map(selection.includes, each.run.records))]
    if not chosen:
        raise UsageError(
            f"none of the {count_noun(len(listed), 'run')} in {folder} has such rows; gemmbench show {folder}"
        )
    newest_first = sorted(chosen, key=lambda each: each.run.environment.started, reverse=True)
    return newest_first, len(listed) - len(chosen)


def _read_run(path: Path, reporter: Reporter) -> Run | None:
    try:
        return read_results(path)
    except StoreError as fault:
        reporter.message(f"left out: {fault}")
        return None
