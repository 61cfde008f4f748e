"""The headers that a file includes: which folders and packages a manifest names under `include`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gemmbench.planning.paths import is_file

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_PACKAGES = {"cutlass": ("cutlass/", "cute/"), "cublas": ("cublas",)}
_FURTHEST = 3
"""How many folders up headers are looked for."""


def find_includes(text: str, path: Path, home: Path) -> list[str]:
    """The items of `include`: folders relative to `home`, and packages. Headers next to the file need none."""
    found = [quoted or angled for quoted, angled in _INCLUDE.findall(text)]
    packages = [name for name, heads in _PACKAGES.items() if any(header.startswith(heads) for header in found)]
    folders = dict.fromkeys(_find_folder(header, path.parent.resolve()) for header in found)
    return [*(os.path.relpath(folder, home.resolve()) for folder in folders if folder), *packages]


def _find_folder(header: str, beside: Path) -> Path | None:
    """The folder with a header, if not `beside`: one above, or a folder in one above; None if there is none."""
    if is_file(beside / header):
        return None
    above = [beside, *beside.parents][:_FURTHEST]
    folders = (folder for each in above for folder in (each, *sorted(each.glob("[!.]*"))))
    return next((folder for folder in folders if is_file(folder / header)), None)
