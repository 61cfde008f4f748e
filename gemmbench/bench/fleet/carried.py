"""What goes along with a plan to another host: the files that its code consists of, and versions of packages.

A worker that has the same files at the same places uses them there: this host, or a shared folder. Otherwise it
puts them below its own cache, under a hash of their contents. Headers of the toolkit are those of the worker.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from gemmbench.backends.code_cache import content_key, explain_unwritable, make_cache_folder
from gemmbench.backends.sources import explain_missing, find_local_header, find_package_version, why_no_headers
from gemmbench.errors import BuildError
from gemmbench.planning.files import is_file
from gemmbench.planning.manifests.variant import Variant

_FOLDER = "carried"


@dataclass(frozen=True)
class Carried:
    """The contents of files by their absolute paths on the client, and versions of packages by name."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)


def collect_files(variants: Iterable[Variant]) -> Carried:
    """What the code of these variants consists of: each file, its local headers, and theirs."""
    files: dict[str, bytes] = {}
    packages: dict[str, str] = {}
    for variant in dict.fromkeys(variants):
        if variant.code.file:
            _collect(Path(variant.code.file), _list_folders(variant), files)
        named = [*variant.packages, *(name for name in variant.code.include if not Path(name).is_absolute())]
        packages.update({name: version for name in named if (version := find_package_version(name))})
    return Carried(files, packages)


def _list_folders(variant: Variant) -> list[Path]:
    return [Path(name) for name in variant.code.include if Path(name).is_absolute()]


def _collect(file: Path, folders: list[Path], files: dict[str, bytes]) -> None:
    """Add a file, the files that it includes, and so on. One from a git revision may not exist."""
    path = os.path.abspath(file)  # noqa: PTH100 - keeps links, which `#include` follows as they are
    if path in files or not is_file(file):
        return
    files[path] = file.read_bytes()
    for line in files[path].decode(errors="replace").splitlines():
        if header := find_local_header(line, file.parent, folders):
            _collect(header, folders, files)


def place_files(carried: Carried) -> str:
    """Make the files readable on this host; returns the folder that precedes their paths, "" for none.

    Raises DeviceError if they cannot be written.
    """
    if all(_holds(Path(path), content) for path, content in carried.files.items()):
        return ""
    parts = [part for path, content in sorted(carried.files.items()) for part in (path, content.decode("latin-1"))]
    root = make_cache_folder() / _FOLDER / content_key(parts)
    try:
        for path, content in carried.files.items():
            _write(root / path.lstrip("/"), content)
    except OSError as fault:
        raise explain_unwritable(root, fault) from None
    return str(root)


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False


def _write(path: Path, content: bytes) -> None:
    """Write a file unless it is there already; it appears by renaming, since workers share the folder."""
    if _holds(path, content):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(path)


def relocate(variant: Variant, root: str) -> Variant:
    """The variant whose files are below `root`."""
    if not root or not variant.code.file:
        return variant
    include = tuple(root + name if Path(name).is_absolute() else name for name in variant.code.include)
    return replace(variant, code=replace(variant.code, file=root + variant.code.file, include=include))


def check_packages(variant: Variant, carried: Carried) -> None:
    """Raise BuildError if this host lacks a package of a variant, or has another version of it."""
    if missing := explain_missing(variant.packages) or why_no_headers(variant):
        raise BuildError(missing)
    for name, wanted in _versions_of(variant, carried):
        if (found := find_package_version(name)) != wanted:
            raise BuildError(
                f"{name} is {found or 'of unknown version'} here and {wanted} on the client: install {wanted}"
            )


def _versions_of(variant: Variant, carried: Carried) -> Iterator[tuple[str, str]]:
    names = {*variant.packages, *variant.code.include}
    return ((name, version) for name, version in carried.packages.items() if name in names)
