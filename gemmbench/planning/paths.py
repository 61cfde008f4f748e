"""Where files are: cuda/ and configs/ (in a checkout or in a wheel), and saved runs in a results folder."""

from __future__ import annotations

from pathlib import Path

RESULTS_SUFFIX = ".jsonl"
_SAVED = "saved"
_PACKAGE = Path(__file__).resolve().parents[1]


def data_folder(name: str) -> Path:
    """Return the folder `cuda` or `configs`: package data if there, else the repository's."""
    packaged = _PACKAGE / "data" / name
    return packaged if packaged.is_dir() else _PACKAGE.parent / name


def saved_path(results: Path, name: str) -> Path:
    """Return the file of a saved run in a results folder, whether or not it exists."""
    return results / _SAVED / f"{name}{RESULTS_SUFFIX}"


def list_saved(results: Path) -> list[Path]:
    """Return the files of all saved runs of a results folder, by name."""
    return sorted((results / _SAVED).glob(f"*{RESULTS_SUFFIX}"))


def display_path(path: Path) -> str:
    """Return how messages name a file: from `cuda/` or `configs/` on, else relative to the current folder."""
    path = path.resolve()
    for name in ("cuda", "configs"):
        home = data_folder(name).resolve()
        if path.is_relative_to(home):
            return f"{name}/{path.relative_to(home)}"
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
