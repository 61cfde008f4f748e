"""A kernel as it was: `REVISION:NAME` is variant NAME of the git revision, such as `HEAD~3:tiled`.

All kernels of that revision are written to a folder of their own and read from there as always, so that
a file may since have moved to another sub-folder, or been deleted.
"""

from __future__ import annotations

import io
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from gemmbench.errors import SpecError, UsageError, nearest
from gemmbench.planning.manifests.catalog import MARK, SUFFIXES, Catalog
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.paths import display_path


def find_variant_at(name: str, folders: Sequence[Path]) -> Variant:
    """The variant that `REVISION:NAME` names, in those of the folders that lie in a git checkout.

    It is called `name`; its path ends in `@` and the commit. Raises UsageError where there is no checkout, no
    such revision or no such kernel in it, and SpecError for a manifest that this version cannot read.
    """
    revision, _, wanted = name.rpartition(MARK)
    if not revision or not wanted:
        raise UsageError(f"'{name}' names no kernel of a revision; write HEAD~3:tiled")
    with TemporaryDirectory() as home:
        tried = [_tree(folder, revision, Path(home, str(number))) for number, folder in enumerate(folders)]
        trees = [tree for tree in tried if isinstance(tree, _Tree)]
        reasons = [why for why in tried if isinstance(why, str)]
        if not trees:
            raise UsageError(f"{name}: {'; '.join(reasons)}")
        catalog = Catalog([tree.files for tree in trees])
        if wanted not in catalog.names:
            known = f"{nearest(wanted, catalog.names)}; it has: {', '.join(sorted(catalog.names)) or 'none'}"
            missing = f"no kernel '{wanted}' in revision {revision} ({trees[-1].commit}){known}"
            raise UsageError(f"{name}: {'; '.join([missing, *reasons])}")
        try:
            found = catalog.get(wanted)
        except SpecError as fault:
            message = f"{fault.fault} (this version cannot read the manifest of revision {revision})"
            raise SpecError(_place(fault.location, trees), fault.line, message) from None
    return replace(_placed(found, trees), name=name)


@dataclass(frozen=True)
class _Tree:
    """The kernels that `folder` had at a commit, written to `files`."""

    folder: Path
    commit: str
    files: Path


def _placed(variant: Variant, trees: Sequence[_Tree]) -> Variant:
    """The variant with its own path and those of what it picks from."""
    picks = [replace(pick, code=pick.code and _placed(pick.code, trees)) for pick in variant.picks]
    return replace(variant, path=_place(variant.path, trees), picks=tuple(picks))


def _place(path: str, trees: Sequence[_Tree]) -> str:
    """Where a file of one of the trees belongs: `cuda/tiled.cu@1abb95a`."""
    for tree in trees:
        files = f"{display_path(tree.files)}/"
        if path.startswith(files):
            return f"{display_path(tree.folder / path.removeprefix(files))}@{tree.commit}"
    return path


def _tree(folder: Path, revision: str, files: Path) -> _Tree | str:
    """Write what the folder held at a revision, or say why there is no such thing."""
    if complaint := _git(folder, "rev-parse", "--show-toplevel").stderr:
        return f"{folder} is in no git checkout that can be read ({complaint.decode().splitlines()[0]})"
    named = "--end-of-options", f"{revision}^{{commit}}"
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "--short", *named).stdout.decode().strip()
    if not commit:
        shallow = _git(folder, "rev-parse", "--is-shallow-repository").stdout == b"true\n"
        hint = "this clone is shallow: git fetch --unshallow" if shallow else "git log shows those there are"
        return f"git knows no revision '{revision}' in {folder}; {hint}"
    files.mkdir()
    packed = _git(folder, "archive", "--format=zip", commit, ".").stdout  # nothing where the folder was not there
    if packed:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(files, [each for each in archive.namelist() if each.endswith(SUFFIXES)])
    return _Tree(folder, commit, files)


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """What git said in a folder. Raises UsageError without git."""
    try:
        return subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    except OSError as fault:
        raise UsageError(f"git cannot be run, and a revision needs it: {fault.strerror}") from None
