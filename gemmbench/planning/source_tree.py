"""Identifies the sources that figures depend on by version, revision and git's hash of them, computed without git.

The hash belongs to a tree with only the folders FOLDERS. This command prints it for a revision:

    git ls-tree REVISION benchmarks configs cuda gemmbench | git mktree

The build of a wheel imports this module, so it must not import anything that needs to be installed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path

from gemmbench.errors import UsageError
from gemmbench.planning.files import data_folder

FOLDERS = ("benchmarks", "configs", "cuda", "gemmbench")
CHANGED = "+"
"""The suffix of a revision's name if its files have been changed."""
BUILT = "built.json"
"""The file in gemmbench/data in which a wheel keeps its version, revision, the hash, and the hash of benchmarks/.

The folder benchmarks/ is not part of a wheel.
"""
UNKNOWN_VERSION = "0+unknown"
"""The version where there is neither git nor $GEMMBENCH_REVISION, such as in an archive from GitHub."""
_UNTAGGED = "0.2.dev0"
"""The version of a revision that no tag precedes: the one after the last in CHANGELOG.md, in development."""

_PACKAGE = Path(__file__).resolve().parents[1]
_VARIABLE = "GEMMBENCH_REVISION"
_FILE, _PROGRAM, _LINK, _FOLDER = b"100644", b"100755", b"120000", b"40000"
_NEVER = "__pycache__/", "*.pyc", ".git", "/gemmbench/data/"
"""Rules to apply before those of a .gitignore. Only a wheel has the last folder."""
_PATIENCE = 5.0  # seconds
_GIT = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_OPTIONAL_LOCKS": "0"}


@dataclass(frozen=True)
class Sources:
    """The sources of this program: the name of the revision, with CHANGED if they differ from it, and their hash.

    The name or hash is "" if it cannot be found.
    """

    revision: str
    tree: str


def identify_sources() -> Sources:
    """Identify the sources as they are on disk now.

    If there is no git, $GEMMBENCH_REVISION names the revision. Raises UsageError if that revision is known to have
    other sources.
    """
    tree, built = hash_sources(), _read_built()
    given = os.environ.get(_VARIABLE, "")
    name = given or built.get("revision") or _ask_git(_PACKAGE.parent, "rev-parse", "--short=12", "HEAD")
    known = built["tree"] if built and name == built["revision"] else find_tree(_PACKAGE.parent, name)
    if known in ("", tree) or name.endswith(CHANGED):
        return Sources(name, tree)
    if given:
        raise UsageError(
            f"{_VARIABLE}: the files of {given} in {', '.join(FOLDERS)} differ from those that run here; give "
            f"the right revision, or write {given}{CHANGED} for changed files"
        )
    return Sources(name + CHANGED, tree)


@cache
def read_version() -> str:
    """Return the version of gemmbench: that of the wheel or, in a checkout, the one that follows from git's tags."""
    if built := _read_built():
        return built["version"]
    root = _PACKAGE.parent
    described = _ask_git(root, "describe", "--tags", "--match=v[0-9]*", "--always", "--abbrev=12")
    if not described:
        return name_version(os.environ.get(_VARIABLE, ""))
    is_changed = find_tree(root, "HEAD") != hash_sources()
    return name_version(described + CHANGED * is_changed)


def name_version(described: str) -> str:
    """Return the version (PEP 440) of a revision as `git describe` writes it, with CHANGED if its files were changed.

    `v0.2.0` is version 0.2.0, `v0.2.0-35-g1a2b3c4` is 0.2.0.post35+g1a2b3c4, and without a tag `1a2b3c4` is
    0.2.dev0+g1a2b3c4, which comes after 0.1. Changed files add `changed`. Everything else is UNKNOWN_VERSION.
    """
    name = described.removesuffix(CHANGED)
    found = re.fullmatch(r"(?:v(\d[\w.]*))?(?:(?:^|-(\d+)-g)([0-9a-f]{7,40}))?", name)
    if not name or not found:
        return UNKNOWN_VERSION
    tag, count, commit = found.groups()
    version = (tag or _UNTAGGED) + (f".post{count}" if count else "")
    details = [f"g{commit[:12]}" if commit else "", "changed" if name != described else ""]
    return "+".join(filter(None, [version, ".".join(filter(None, details))]))


def hash_sources() -> str:
    """Return the hash of the sources on disk; "" if a file cannot be read."""
    root = _PACKAGE.parent
    folders = [root / "benchmarks", data_folder("configs"), data_folder("cuda"), _PACKAGE]
    try:
        found = {folder.name: hash_folder(folder, root / ".gitignore") for folder in folders}
    except OSError:
        return ""
    if built := _read_built():
        found["benchmarks"] = built["benchmarks"]
    return combine_trees(found)


def combine_trees(trees: Mapping[str, str]) -> str:
    """Return the hash of a tree with only these folders, given their hashes by name ("": a folder without files)."""
    entries = [(_FOLDER, os.fsencode(name), bytes.fromhex(tree)) for name, tree in trees.items() if tree]
    return _hash_tree(entries).hex()


def find_tree(root: Path, revision: str) -> str:
    """Return the hash of a revision's sources in the repository at `root`; "" if git does not find the revision."""
    named = "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    commit = revision and _ask_git(root, "rev-parse", *named)
    listed = commit and _ask_git(root, "ls-tree", commit, *FOLDERS)
    entries = [line.partition("\t") for line in listed.splitlines()]
    return combine_trees({name: about.split()[2] for about, _, name in entries}) if entries else ""


def is_complete(root: Path) -> bool:
    """Return whether `root` is a repository with all its commits. A shallow clone is not."""
    return _ask_git(root, "rev-parse", "--is-shallow-repository") == "false"


def describe_build() -> dict[str, str]:
    """Return the content of BUILT for a wheel built from these sources."""
    root, sources = _PACKAGE.parent, identify_sources()
    benchmarks = hash_folder(root / "benchmarks", root / ".gitignore")
    return {
        "version": read_version(),
        "revision": sources.revision,
        "tree": sources.tree,
        "benchmarks": benchmarks,
    }


def _read_built() -> dict[str, str]:
    """Read the content of BUILT in a wheel; empty in a checkout."""
    path = _PACKAGE / "data" / BUILT
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def _ask_git(root: Path, *words: str) -> str:
    """Return git's output; "" if git fails or `root` is not the root of a repository, even if it is inside one."""
    if not (root / ".git").exists():
        return ""
    command, environment = ["git", "-C", str(root), *words], {**os.environ, **_GIT}
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=True, env=environment)
    except (OSError, subprocess.SubprocessError):
        return ""
    return os.fsdecode(done.stdout).strip()


def hash_folder(folder: Path, rules: Path) -> str:
    """Compute git's hash of a folder of the repository, without ignored files; "" if no files are left.

    `rules` is the .gitignore of the repository. Raises OSError.
    """
    lines = rules.read_text(encoding="utf-8").splitlines() if rules.is_file() else []
    written = (line.strip() for line in lines if not line.startswith("#"))
    return _hash_folder(folder, folder.name, (*_NEVER, *filter(None, written))).hex()


def _hash_folder(folder: Path, place: str, rules: Sequence[str]) -> bytes:
    """Return the hash of a folder that is at `place` in the repository; b"" if it has no files."""
    entries = []
    for entry in os.scandir(folder) if folder.is_dir() else ():
        path, about = f"{place}/{entry.name}", entry.stat(follow_symlinks=False)
        is_folder = stat.S_ISDIR(about.st_mode)
        if _is_ignored(path, is_folder, rules):
            continue
        mode, digest = _FOLDER, b""
        if is_folder:
            digest = _hash_folder(Path(entry.path), path, rules)
        elif stat.S_ISLNK(about.st_mode):
            mode, digest = _LINK, _hash_object(b"blob", os.fsencode(Path(entry.path).readlink()))
        elif stat.S_ISREG(about.st_mode):
            mode = _PROGRAM if about.st_mode & stat.S_IXUSR else _FILE
            digest = _hash_file(entry.path, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        if digest:
            entries.append((mode, os.fsencode(entry.name), digest))
    return _hash_tree(entries) if entries else b""


def _is_ignored(path: str, is_folder: bool, rules: Sequence[str]) -> bool:
    """Return whether a path is ignored by the last rule that matches it. Its folder must not be ignored."""
    found = next((rule for rule in reversed(rules) if _matches(rule.lstrip("!"), path, is_folder)), "!")
    return not found.startswith("!")


def _matches(rule: str, path: str, is_folder: bool) -> bool:
    """Return whether a rule of a .gitignore matches a path from the root of the repository. `**` is not supported."""
    if rule.endswith("/") and not is_folder:
        return False
    rule = rule.rstrip("/")
    if "/" not in rule:  # in any folder
        return fnmatchcase(path.rpartition("/")[2], rule)
    wanted, parts = rule.lstrip("/").split("/"), path.split("/")
    return len(wanted) == len(parts) and all(map(fnmatchcase, parts, wanted))


@lru_cache(maxsize=4096)
def _hash_file(path: str, *_: int) -> bytes:
    """Return the hash of a file. The arguments after the path change when the content does."""
    return _hash_object(b"blob", Path(path).read_bytes())


def _hash_tree(entries: Sequence[tuple[bytes, bytes, bytes]]) -> bytes:
    """Return the hash of a tree with these entries. git sorts a folder as if its name ended in a slash."""
    ordered = sorted(entries, key=lambda entry: entry[1] + b"/" * (entry[0] == _FOLDER))
    return _hash_object(b"tree", b"".join(b"%s %s\0%s" % entry for entry in ordered))


def _hash_object(kind: bytes, content: bytes) -> bytes:
    return hashlib.sha1(b"%s %d\0" % (kind, len(content)) + content, usedforsecurity=False).digest()
