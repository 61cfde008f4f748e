"""Where cuda/ and configs/ are: next to the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def data_folder(name: str) -> Path:
    """Return the folder `cuda` or `configs`: package data if there, else the repository's."""
    packaged = _PACKAGE / "data" / name
    return packaged if packaged.is_dir() else _PACKAGE.parent / name


def display_path(path: Path) -> str:
    """Return how messages name a file: from `cuda/` or `configs/` on, else relative to the current folder."""
    path = path.resolve()
    for name in ("cuda", "configs"):
        home = data_folder(name).resolve()
        if path.is_relative_to(home):
            return f"{name}/{path.relative_to(home)}"
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
