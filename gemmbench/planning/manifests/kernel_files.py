"""Which files can be variants: those of a folder of kernels, and those that a path names."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.manifests.readers import READERS, has_manifest
from gemmbench.planning.paths import follow_links, is_file, is_folder, printable
from gemmbench.planning.text_file import read_text_file

SUFFIXES = tuple(READERS)
"""The suffixes of files that can be variants."""

_FILE_KEY = re.compile(r"^file:[ \t]*[\"']?([^\"'#\n]+?)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)
_MANIFEST_KEY = re.compile(r"^(?:file|summary|symbol|host):", re.MULTILINE)


def list_kernel_files(folder: Path) -> list[Path]:
    """The files of a folder and its sub-folders that declare variants. Raises UsageError without the folder.

    A file of code that a manifest describes is none, unless it has a manifest too; nor is YAML without a
    key of a manifest.
    """
    if not is_folder(folder):
        raise UsageError(f"no folder of kernels at {folder}; give --kernels a folder with .cu files")
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES]
    manifests = {path: text for path in found if path.suffix == ".yaml" and (text := _read_text(path)) is not None}
    described = {
        follow_links(path.parent / name) for path, text in manifests.items() for name in _FILE_KEY.findall(text)
    }
    return [path for path in found if _is_variant(path, manifests.get(path), described)]


def _is_variant(path: Path, manifest: str | None, described: set[Path]) -> bool:
    if manifest is not None:
        return _MANIFEST_KEY.search(manifest) is not None
    text = _read_text(path) if follow_links(path) in described else None
    return text is None or has_manifest(text)


def _read_text(path: Path) -> str | None:
    """The text of a file; None where it cannot be read, which its reader reports."""
    try:
        return read_text_file(path)
    except SpecError:
        return None


def is_path(name: str) -> bool:
    """Whether a name is the path of a file: it has the suffix of one, and a folder or a file there."""
    return Path(name).suffix in SUFFIXES and (os.sep in name or is_file(Path(name)))


def find_file(name: str) -> Path:
    """The file that a path names. Raises UsageError."""
    path = Path(name).expanduser()
    if not is_file(path):
        raise UsageError(f"no file at {printable(name)}; correct the path")
    return path
