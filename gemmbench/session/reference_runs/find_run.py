"""A results file from what a user calls it: its path, the name it was saved under, or its id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gemmbench.bench.record import Environment
from gemmbench.errors import StoreError, UsageError, nearest
from gemmbench.planning.files import RESULTS_SUFFIX, is_file, is_folder, list_saved, saved_path
from gemmbench.planning.manifests.catalog import MARK, Catalog, is_path
from gemmbench.report.store.reading import read_environment, read_results
from gemmbench.report.store.recorded_run import Run
from gemmbench.session.resuming.find_unfinished import name_command


def find_run(text: str, folder: Path) -> Path | None:
    """The results file that `text` names; None if it names none.

    A path comes first, then the name of a saved run of the results folder, then the end of a file's
    name or of its run's name, such as 1f3a for 20260101-120000-quick-1f3a.jsonl.
    """
    path = Path(text)
    if is_file(path) or text.endswith(RESULTS_SUFFIX):
        return path
    if "/" in text:
        return None
    saved = saved_path(folder, text)
    return saved if is_file(saved) else _find_by_id(text, folder)


def _find_by_id(text: str, folder: Path) -> Path | None:
    """The only file of the folder whose name ends in `text`, or else whose run does."""
    if not text.isalnum() or not is_folder(folder):
        return None
    named = list(folder.glob(f"*-{text}{RESULTS_SUFFIX}"))
    found = named or [path for path in folder.glob(f"*{RESULTS_SUFFIX}") if _read_id(path) == text]
    return found[0] if len(found) == 1 else None


def _read_id(path: Path) -> str:
    """The end of the name that a run got; its file may have another name since."""
    try:
        return read_environment(path).run.rpartition("-")[2]
    except StoreError:
        return ""


def read_run(text: str, folder: Path) -> Run:
    """Read the results file that `text` names. Raises UsageError for an unknown name, StoreError."""
    path = find_run(text, folder)
    if path is None:
        raise UsageError(f"no results file and no saved run '{text}'{suggest_saved(text, folder)}")
    return read_results(path)


def suggest_saved(text: str, folder: Path) -> str:
    """Which saved runs there are, for a message about an unknown one."""
    names = [path.stem for path in list_saved(folder)]
    hint = f"saved runs in {folder}: {', '.join(names)}" if names else f"{folder} has no saved runs; use run --save"
    return f"{nearest(text, names)}; {hint}"


def find_newest_run(folder: Path, command: str = "") -> Path:
    """The results file of a folder that was begun last, by a command such as `tune` if one is named.

    Raises StoreError if there is none.
    """
    dated: list[tuple[str, float, Path]] = []
    for path in folder.glob(f"*{RESULTS_SUFFIX}"):
        try:
            environment = read_environment(path)
            if not command or name_command(environment.command) == command:
                dated.append((environment.started, path.stat().st_mtime, path))
        except StoreError:
            continue
    if not dated:
        which, writes = f" of gemmbench {command}" if command else "", f"gemmbench {command or 'run'} writes them"
        raise StoreError(f"no results files{which} in {folder}; {writes}, or name a file or a folder")
    return max(dated)[2]


def refuse_other_device(reference: Environment, device: str, force: bool) -> None:
    """Raise UsageError if a run is on another device than the reference run, unless it is forced."""
    if reference.device != device and not force:
        raise UsageError(
            f"the reference run {reference.run} was measured on {reference.device}, this one on {device}: "
            "a difference would be that of the devices; use --force to compare anyway"
        )


def find_two_runs(names: Sequence[str], folder: Path, catalog: Catalog) -> tuple[Path, Path] | None:
    """The two results files that the arguments of compare name; None if they name variants.

    The name of a variant always means the variant. Raises UsageError for a mixture.
    """
    runs = {name: path for name in names if not _is_variant(name, catalog) and (path := find_run(name, folder))}
    if not runs:
        return None
    variants = [name for name in names if name not in runs]
    if variants:
        raise UsageError(
            f"{next(iter(runs))} is a saved run and {variants[0]} is not; compare takes variants, or two saved runs"
        )
    if len(names) != 2:
        raise UsageError("compare takes two saved runs at a time: gemmbench compare before.jsonl after.jsonl")
    return runs[names[0]], runs[names[1]]


def _is_variant(name: str, catalog: Catalog) -> bool:
    return name in catalog.names or MARK in name or is_path(name)
