"""Kernels of earlier revisions: `REVISION:NAME` is variant NAME at a git revision, such as `HEAD~3:tiled`.

All kernels of the revision are written to a temporary folder and read from there, so a file may have moved to another
sub-folder since, or may have been deleted. Nothing is run that the repository's configuration names.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Timer

from gemmbench.errors import SpecError, UsageError, nearest
from gemmbench.planning.files import LONGEST, data_folder, display_path, is_file
from gemmbench.planning.manifests.catalog import MARK, SUFFIXES, Catalog, find_named_here, is_path
from gemmbench.planning.manifests.kernel_code import list_quoted_includes
from gemmbench.planning.manifests.variant import Variant

_PATIENCE = 60.0  # seconds
_MOST_PRINTED, _MOST_CONTENT, _MOST_SAID = 32 << 20, 30 << 20, 1 << 16  # bytes
_MOST_FILES = 10_000
_MISSING = -1  # the size of a file that the clone lacks
_ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",  # a commit has the files that its hash says
}


@dataclass(frozen=True)
class _Blob:
    path: str
    name: bytes
    size: int


def explain_unreadable(folder: Path) -> str:
    """Explain why a folder is not in a git checkout that can be read; "" if it is."""
    done = _git(folder, "rev-parse", "--show-toplevel")
    return f"{folder.absolute()} is not in a readable git checkout ({_first_message(done)})" if done.returncode else ""


def find_commit(folder: Path, revision: str) -> str:
    """Return the full hash of a revision's commit; "" if there is none.

    The first digits of a hash may also be the name of a tag, which git then prefers.
    """
    named = "--end-of-options", f"{revision}^{{commit}}"
    return _git(folder, "rev-parse", "--verify", "--quiet", *named).stdout.decode().strip()


def _shorten(folder: Path, commit: str) -> str:
    """Return the name of a commit for messages."""
    return _git(folder, "rev-parse", "--short", commit).stdout.decode().strip()


def is_tracked(path: Path) -> bool:
    """Return whether git tracks a file, so that it is part of a checkout."""
    return not _git(path.parent, "ls-files", "--error-unmatch", "--", path.name).returncode


def _is_shallow(folder: Path) -> bool:
    """Return whether old commits are missing in the clone."""
    return _git(folder, "rev-parse", "--is-shallow-repository").stdout == b"true\n"


def read_files(folder: Path, commit: str, suffixes: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Return the path and content of each file of a commit in the folder, if its name ends in one of `suffixes`.

    Links and files too long for a kernel are left out. Raises UsageError, also if there are too many files.
    """
    listed = _git(folder, "ls-tree", "-r", "-z", "-l", commit, check=True).stdout
    kernels = [blob for blob in map(_parse_entry, listed.split(b"\0")) if blob and blob.path.endswith(suffixes)]
    if any(blob.size == _MISSING for blob in kernels):
        raise UsageError(
            f"{folder}: this clone lacks files of {commit}; fetch them with git fetch --refetch --no-filter"
        )
    blobs = [blob for blob in kernels if blob.size <= LONGEST]
    size = sum(blob.size for blob in blobs)
    if len(blobs) > _MOST_FILES or size > _MOST_CONTENT:
        most = f"at most {_MOST_FILES:,} of {_MOST_CONTENT >> 20} MB"
        found = f"{len(blobs):,} kernels and headers of {size >> 20:,} MB"
        raise UsageError(f"{folder}: {commit} has {found} there, but gemmbench reads {most}; use a smaller folder")
    names = b"".join(blob.name + b"\n" for blob in blobs)
    contents = _git(folder, "cat-file", "--batch", check=True, typed=names).stdout
    return _split_contents(contents, blobs)


def _parse_entry(entry: bytes) -> _Blob | None:
    """Parse `100644 blob NAME SIZE<tab>PATH`; None for anything but a file in the folder."""
    about, _, path = entry.partition(b"\t")
    mode, kind, name, size = about.split() if about else (b"",) * 4
    inside = PurePosixPath(os.fsdecode(path))
    if not mode.startswith(b"100") or kind != b"blob" or inside.is_absolute() or ".." in inside.parts:
        return None
    return _Blob(str(inside), name, int(size) if size.isdigit() else _MISSING)


def _split_contents(contents: bytes, blobs: Sequence[_Blob]) -> Iterator[tuple[str, bytes]]:
    """Split the output of `cat-file --batch`: for each file a line `NAME blob SIZE`, the content and a newline."""
    begin = 0
    for blob in blobs:
        begin = contents.index(b"\n", begin) + 1
        yield blob.path, contents[begin : begin + blob.size]
        begin += blob.size + 1


def _git(folder: Path, *arguments: str, check: bool = False, typed: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder. Raises UsageError if git is missing, or if it fails and `check` is True."""
    done = _run_git(folder, ["git", "-C", str(folder), *arguments], typed)
    if check and done.returncode:
        raise UsageError(f"git cannot read the files of {arguments[-1]} in {folder} ({_first_message(done)})")
    return done


def _run_git(folder: Path, command: Sequence[str], typed: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run git, and read at most _MOST_PRINTED bytes of its output. Raises UsageError."""
    environment = {**os.environ, **_ENVIRONMENT}
    with TemporaryFile() as asked, TemporaryFile() as complaints:
        asked.write(typed)
        asked.seek(0)
        try:
            process = subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE, stderr=complaints, env=environment)
        except OSError as fault:
            raise UsageError(f"cannot run git, which is needed to read a revision: {fault.strerror}") from None
        end = Timer(_PATIENCE, process.kill)
        end.start()
        with process:
            assert process.stdout is not None
            try:
                printed = process.stdout.read(_MOST_PRINTED + 1)
                is_late = not end.is_alive()
            finally:
                end.cancel()
                process.stdout.close()  # git ends if it goes on printing
        complaints.seek(0)
        said = complaints.read(_MOST_SAID)
    if len(printed) > _MOST_PRINTED:
        raise UsageError(f"{folder}: git prints more than {_MOST_PRINTED >> 20} MB; use a smaller folder")
    if is_late:
        raise UsageError(f"git did not answer within {_PATIENCE:g} s in {folder}")
    return subprocess.CompletedProcess(command, process.returncode, printed, said)


def _first_message(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the first line that git wrote to standard error."""
    return (done.stderr.decode(errors="replace").splitlines() or ["it printed nothing"])[0]


_HEADERS = (".cuh", ".h", ".hpp", ".hh", ".inl", ".inc")
_KEPT: list[TemporaryDirectory[str]] = []
"""The folders of revisions whose headers are still needed. They are deleted when the program ends."""


def find_variant_at(name: str, folders: Sequence[Path]) -> Variant:
    """Return the variant that `REVISION:NAME` names in those folders that are in a git checkout.

    NAME may be a path, whose folder is searched instead. The variant is called `name`, and its path ends in `@` and the
    commit. Raises UsageError if there is no checkout, no such revision or no such kernel in it, and SpecError for a
    manifest that this version cannot read.
    """
    revision, _, wanted = name.rpartition(MARK)
    if not revision or not wanted:
        raise UsageError(f"'{name}' is not REVISION:NAME; write HEAD~3:tiled")
    if is_path(wanted):
        folders = [Path(wanted).parent]
    home = TemporaryDirectory()
    try:
        variant = _read_from(name, revision, wanted, folders, Path(home.name))
    except BaseException:
        home.cleanup()
        raise
    if _may_read_headers(variant):
        _KEPT.append(home)  # the compiler will read headers from it
    else:
        home.cleanup()
    return replace(variant, name=name)


def _may_read_headers(variant: Variant) -> bool:
    own = variant.code.foreign or bool(variant.code.include) or bool(list_quoted_includes(variant.text))
    return own or any(_may_read_headers(pick.code) for pick in variant.picks if pick.code)


def _read_from(name: str, revision: str, wanted: str, folders: Sequence[Path], home: Path) -> Variant:
    """Return the kernel `wanted` of a revision. Its files are written to `home`. `name` is the name in messages."""
    trees, reasons = _extract_all(folders, revision, home)
    if not trees:
        raise UsageError(f"{name}: {reasons[-1]}")
    catalog = Catalog([] if is_path(wanted) else [tree.files for tree in trees])
    if is_path(wanted):
        file = trees[0].files / Path(wanted).name
        if not is_file(file):
            raise UsageError(f"{name}: no file {wanted} in revision {revision} ({trees[0].commit})")
        wanted = str(file)
    elif wanted not in catalog.names:
        names = sorted(catalog.names)
        such = f", such as {', '.join(names[:3])}" if names else ""
        known = nearest(wanted, names, 3) or f"; it has {len(names)}{such}"
        missing = f"no kernel '{wanted}' in revision {revision} ({trees[-1].commit}) of {trees[-1].folder}"
        raise UsageError(f"{name}: {'; '.join([_explain_file_here(revision, wanted) or missing + known, *reasons])}")
    try:
        return _restore_paths(catalog.get(wanted), trees)
    except SpecError as fault:
        message = f"{fault.fault} (this version cannot read the manifest of revision {revision})"
        raise SpecError(_restore_path(fault.location, trees), fault.line, message) from None


def _explain_file_here(revision: str, name: str) -> str:
    """Explain how to name the revision of a file in this folder, or why it has none; "" if there is no such file."""
    file = find_named_here(name)
    if file and (reason := explain_unreadable(Path())):
        return f"{file} has no revisions: {reason}; commit it first, or compare it with a copy"
    return f"to use the file in this folder, write {revision}:{file}" if file else ""


@dataclass(frozen=True)
class RevisionKernels:
    """The names of the kernels that a git revision has, and the short name of its commit."""

    names: Collection[str]
    commit: str


def list_kernels_at(revision: str, folders: Sequence[Path]) -> RevisionKernels:
    """Return the kernels of a git revision in those folders that are in a git checkout.

    Raises UsageError if the last folder, that of the user, is in no checkout, or in one without the revision. (A
    revision of this name in the checkout of another folder would be unrelated to it.)
    """
    with TemporaryDirectory() as home:
        trees, reasons = _extract_all(folders, revision, Path(home))
        if not trees or trees[-1].folder != folders[-1]:
            raise UsageError(reasons[-1])
        return RevisionKernels(Catalog([tree.files for tree in trees]).names, trees[-1].commit)


@dataclass(frozen=True)
class _Tree:
    """The kernels that `folder` had at a commit, given by its short name, written to the folder `files`."""

    folder: Path
    commit: str
    files: Path


def _restore_paths(variant: Variant, trees: Sequence[_Tree]) -> Variant:
    """Return the variant with paths in the checkout, including the variants that it picks from."""
    picks = [replace(pick, code=pick.code and _restore_paths(pick.code, trees)) for pick in variant.picks]
    costs = [replace(each, location=_restore_path(each.location, trees)) for each in variant.costs]
    return replace(variant, path=_restore_path(variant.path, trees), picks=tuple(picks), costs=tuple(costs))


def _restore_path(path: str, trees: Sequence[_Tree]) -> str:
    """Return the path in the checkout of a file in one of the trees: `cuda/tiled.cu@1abb95a`."""
    for tree in trees:
        files = f"{display_path(tree.files)}/"
        if path.startswith(files):
            return f"{display_path(tree.folder / path.removeprefix(files))}@{tree.commit}"
    return path


def _extract_all(folders: Sequence[Path], revision: str, home: Path) -> tuple[list[_Tree], list[str]]:
    """Write the kernels of a revision below `home`. Also returns the reasons for folders where that was impossible.

    The last folder is that of the user, so if all fail, its reason is the one to give.
    """
    attempts = [_extract(folder, revision, home / str(number)) for number, folder in enumerate(folders)]
    trees = [tree for tree in attempts if isinstance(tree, _Tree)]
    return trees, [reason for reason in attempts if isinstance(reason, str)]


def _extract(folder: Path, revision: str, files: Path) -> _Tree | str:
    """Write the kernels that the folder had at a revision to `files`, or return the reason why that is impossible."""
    if reason := explain_unreadable(folder):
        if folder == data_folder("cuda"):  # of an installed gemmbench
            return f"{reason}; name the folder of your own kernels with --kernels"
        return f"{reason}; commit its files first"
    commit = find_commit(folder, revision)
    if not commit:
        hint = "this clone is shallow, so run git fetch --unshallow" if _is_shallow(folder) else "git log lists them"
        return f"no revision '{revision}' in the git checkout of {folder}; {hint}"
    files.mkdir()
    for path, content in read_files(folder, commit, (*SUFFIXES, *_HEADERS)):
        _write_file(files / path, content)
    return _Tree(folder, _shorten(folder, commit), files)


def _write_file(path: Path, content: bytes) -> None:
    """Write a file of a revision. Raises UsageError if that is impossible, such as for a very long name."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as fault:
        raise UsageError(f"cannot write a kernel of the revision to {path}: {fault.strerror}") from None
