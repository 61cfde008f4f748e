"""Where files are: cuda/ and configs/ (in a checkout or in a wheel), and saved runs in a results folder."""

from __future__ import annotations

import os
import stat
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
    saved = results / _SAVED
    return sorted(saved.glob(f"*{RESULTS_SUFFIX}")) if is_folder(saved) else []


def display_path(path: Path) -> str:
    """Return how messages name a file: from `cuda/` or `configs/` on, else relative to the current folder.

    A link keeps its own name, which says where to find it.
    """
    path = follow_links(path.parent) / path.name
    for name in ("cuda", "configs"):
        home = data_folder(name).resolve()
        if path.is_relative_to(home):
            return printable(f"{name}/{path.relative_to(home)}")
    here = Path.cwd()
    return printable(str(path.relative_to(here) if path.is_relative_to(here) else path))


def follow_links(path: Path) -> Path:
    """Return the file that a path leads to; a loop of links ends at one of them, where Path.resolve may raise."""
    return Path(os.path.realpath(path))


def printable(name: str) -> str:
    r"""Return the name of a file with `\xff` for a byte that is not UTF-8, and `\n` for a newline."""
    text = os.fsencode(name).decode(errors="backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def is_file(path: Path) -> bool:
    """Whether it is a file; a name that no file can have is none, where Path.is_file may raise."""
    return stat.S_ISREG(_find_mode(path))


def is_folder(path: Path) -> bool:
    """Whether it is a folder, for any name, as is_file."""
    return stat.S_ISDIR(_find_mode(path))


def exists(path: Path) -> bool:
    """Whether there is anything at the path, for any name, as is_file."""
    return bool(_find_mode(path))


def _find_mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0
