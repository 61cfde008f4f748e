"""The files of a git revision, read without running anything that the repository's configuration names.

`git archive` runs `tar.*.command`, and a checkout runs filters, hooks and fsmonitor. The commands used here
print objects as they are stored. A clone that lacks some of them would fetch them, with programs that its
configuration names, so that is switched off too.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gemmbench.errors import UsageError
from gemmbench.planning.text_file import LONGEST

_PATIENCE = 60.0  # seconds
_MISSING = -1  # the size of a file that the clone lacks
_ENVIRONMENT = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_OPTIONAL_LOCKS": "0"}


@dataclass(frozen=True)
class _Blob:
    path: str
    name: bytes
    size: int


def explain_unreadable(folder: Path) -> str:
    """Return why a folder is not in a git checkout that can be read; "" if it is."""
    done = _git(folder, "rev-parse", "--show-toplevel")
    return f"{folder} is not in a readable git checkout ({_first_message(done)})" if done.returncode else ""


def find_commit(folder: Path, revision: str) -> str:
    """Return the short name of the commit of a revision; "" for none."""
    named = "--end-of-options", f"{revision}^{{commit}}"
    return _git(folder, "rev-parse", "--verify", "--quiet", "--short", *named).stdout.decode().strip()


def is_shallow(folder: Path) -> bool:
    """Whether the clone lacks old commits."""
    return _git(folder, "rev-parse", "--is-shallow-repository").stdout == b"true\n"


def read_files(folder: Path, commit: str, suffixes: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """The path in the folder and the content of each file of a commit that ends in one of `suffixes`.

    Links and files that are too long for a kernel are left out. Raises UsageError.
    """
    listed = _git(folder, "ls-tree", "-r", "-z", "-l", commit, check=True).stdout
    kernels = [blob for blob in map(_parse_entry, listed.split(b"\0")) if blob and blob.path.endswith(suffixes)]
    if any(blob.size == _MISSING for blob in kernels):
        raise UsageError(f"{folder}: this clone lacks files of {commit}; git fetch --refetch --no-filter gets them")
    blobs = [blob for blob in kernels if blob.size <= LONGEST]
    names = b"".join(blob.name + b"\n" for blob in blobs)
    contents = _git(folder, "cat-file", "--batch", check=True, typed=names).stdout
    return _split_contents(contents, blobs)


def _parse_entry(entry: bytes) -> _Blob | None:
    """Parse `100644 blob NAME SIZE<tab>PATH`; None for what is not a file in the folder."""
    about, _, path = entry.partition(b"\t")
    mode, kind, name, size = about.split() if about else (b"",) * 4
    inside = PurePosixPath(os.fsdecode(path))
    if not mode.startswith(b"100") or kind != b"blob" or inside.is_absolute() or ".." in inside.parts:
        return None
    return _Blob(str(inside), name, int(size) if size.isdigit() else _MISSING)


def _split_contents(contents: bytes, blobs: Sequence[_Blob]) -> Iterator[tuple[str, bytes]]:
    """Split what `cat-file --batch` printed: a line `NAME blob SIZE`, the content and a newline for each."""
    begin = 0
    for blob in blobs:
        begin = contents.index(b"\n", begin) + 1
        yield blob.path, contents[begin : begin + blob.size]
        begin += blob.size + 1


def _git(folder: Path, *arguments: str, check: bool = False, typed: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder. Raises UsageError if there is no git, or if it fails and `check` is True."""
    command, environment = ["git", "-C", str(folder), *arguments], {**os.environ, **_ENVIRONMENT}
    try:
        done = subprocess.run(command, input=typed, capture_output=True, timeout=_PATIENCE, env=environment)
    except OSError as fault:
        raise UsageError(f"cannot run git, which reads a revision: {fault.strerror}") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git did not answer within {_PATIENCE:g} s in {folder}") from None
    if check and done.returncode:
        raise UsageError(f"git cannot read the files of {arguments[-1]} in {folder} ({_first_message(done)})")
    return done


def _first_message(done: subprocess.CompletedProcess[bytes]) -> str:
    """The first line that git wrote to standard error."""
    return (done.stderr.decode(errors="replace").splitlines() or ["it says nothing"])[0]
