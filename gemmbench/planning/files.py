"""Finds kernels, configs and saved runs, names files in messages, and reads text safely.

Files that others wrote may be anything. Devices, FIFOs and huge files are refused. Control characters are made visible,
since a terminal obeys them and XML cannot contain them.
"""

from __future__ import annotations

import os
import re
import stat
from functools import cache
from pathlib import Path

from gemmbench.errors import SpecError

RESULTS_SUFFIX = ".jsonl"
COMPRESSED_SUFFIX = f"{RESULTS_SUFFIX}.gz"
_SAVED = "saved"
_PACKAGE = Path(__file__).resolve().parents[1]


STDOUT = "-"
"""The path that means stdout."""


def data_folder(name: str) -> Path:
    """Return the folder `cuda` or `configs`, from the package data if it is there, or else from the repository."""
    packaged = _PACKAGE / "data" / name
    return packaged if packaged.is_dir() else _PACKAGE.parent / name


def is_results_name(name: str) -> bool:
    """Return whether a file with this name contains results, compressed or not."""
    return name.endswith((RESULTS_SUFFIX, COMPRESSED_SUFFIX))


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed, judging by its name."""
    return path.suffix == ".gz"


def results_stem(path: Path) -> str:
    """Return the name of a results file without its suffix."""
    return (path.with_suffix("") if is_compressed(path) else path).stem


def list_results(folder: Path, ending: str = "") -> list[Path]:
    """List the results files of a folder by name. If both `x.jsonl` and `x.jsonl.gz` exist, only the first is listed.

    With an `ending`, only files whose names end with it (before the suffix) are listed.
    """
    if not is_folder(folder):
        return []
    paths = [path for suffix in (COMPRESSED_SUFFIX, RESULTS_SUFFIX) for path in folder.glob(f"*{ending}{suffix}")]
    found = {results_stem(path): path for path in paths}
    return [found[name] for name in sorted(found)]


def list_folders(folder: Path) -> dict[Path, int]:
    """Count the results files of each folder inside a results folder, except saved runs. Empty ones are left out."""
    inner = sorted(path for path in folder.glob("*/") if path.name != _SAVED) if is_folder(folder) else []
    return {path: count for path in inner if is_folder(path) and (count := len(list_results(path)))}


def saved_path(results: Path, name: str) -> Path:
    """Return the path under which a run is saved in a results folder, whether or not it exists."""
    return results / _SAVED / f"{name}{RESULTS_SUFFIX}"


def list_saved(results: Path) -> list[Path]:
    """List the files of all saved runs in a results folder, by name."""
    return list_results(results / _SAVED)


def display_path(path: Path) -> str:
    """Return the name of a file for messages: beginning with `cuda/` or `configs/`, or relative to the current folder.

    The last part of the path is not resolved if it is a link, since its name says where to find it.
    """
    path = follow_links(path.parent) / path.name
    for name in ("cuda", "configs"):
        if path.is_relative_to(home := _find_real_folder(name)):
            return printable(f"{name}/{path.relative_to(home)}")
    here = Path.cwd()
    return printable(str(path.relative_to(here) if path.is_relative_to(here) else path))


@cache
def _find_real_folder(name: str) -> Path:
    return data_folder(name).resolve()


def follow_links(path: Path) -> Path:
    """Follow links to the file that a path leads to. Unlike Path.resolve, this never raises for a loop of links.

    A name that no file can have is returned unchanged.
    """
    if len(str(path)) > _LONGEST_PATH:
        return path
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return path


_LONGEST_PATH = 4096
"""Characters in the longest path that a system can open."""


def printable(name: str) -> str:
    r"""Return a file name with `\xff` for a byte that is not UTF-8 and `\n` for a newline."""
    text = os.fsencode(name).decode(errors="backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def is_file(path: Path) -> bool:
    """Return whether this is a file. Unlike Path.is_file, it returns False for an impossible name."""
    return stat.S_ISREG(_find_mode(path))


def is_folder(path: Path) -> bool:
    """Return whether this is a folder. Any name is allowed, as in is_file."""
    return stat.S_ISDIR(_find_mode(path))


def exists(path: Path) -> bool:
    """Return whether the path exists. Any name is allowed, as in is_file."""
    return bool(_find_mode(path))


def _find_mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


LONGEST = 1 << 20
"""The most characters that a text file may have."""
_LONGEST_CHARACTER = 4
"""The most bytes of one character in UTF-8."""

_OTHERS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


def read_text_file(path: Path) -> str:
    """Read a text file, which may be a link's target. Raises SpecError and never waits."""
    text, fault = _read_file(path)
    if fault:
        raise SpecError(display_path(path), None, fault)
    return text


def read_code_file(path: Path) -> str:
    """Read a file of code in any encoding. Each byte that is not UTF-8 becomes a letter. Raises SpecError."""
    text, fault = _read_file(path)
    if fault and "\0" in text:  # UTF-16, or no text at all
        raise SpecError(display_path(path), None, fault)
    return text


def _read_file(path: Path) -> tuple[str, str]:
    """Return the text of a file without a byte order mark, and the reason why it is not UTF-8; "" if it is."""
    location = display_path(path)
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
        if kind != stat.S_IFREG:
            raise SpecError(location, None, f"is {_OTHERS.get(kind, 'something else')}, not a file; remove it")
        # Some files of /proc wait for news unless they are opened like this.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            content = file.read(_LONGEST_CHARACTER * LONGEST + 1)
    except OSError as fault:
        raise SpecError(location, None, f"cannot be read: {fault.strerror}") from None
    why = ""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        text, why = content.decode("latin-1"), f"is not UTF-8 text (byte {fault.start}); convert or remove it"
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > LONGEST:
        raise SpecError(location, None, f"has more than {LONGEST:,} characters; shorten or remove it")
    return text, why


_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Control characters except tabs and line ends, and characters that change the direction of text."""
_BREAKS = re.compile(r"[\t\n]")


def escape_controls(text: str) -> str:
    r"""Replace control characters by escapes such as `\x1b`. Tabs and line ends stay."""
    return text if text.isprintable() else _CONTROLS.sub(_name_character, text)


def escape_cell(text: str) -> str:
    r"""Replace control characters by escapes, including line ends, so that the text fits on one line."""
    return text if text.isprintable() else _BREAKS.sub(_name_character, escape_controls(text))


def _name_character(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


_COMMAND = re.compile(r"(?:^|(?<=[\n\r]))[^\w\n\r!-~]*:[^\w\s!-~]*(?=:)|#[^\w\s!-~]*#[^\w\s!-~]*(?=\[)")
"""The start of a workflow command: two colons at the start of a line, ignoring blanks, or `##[` anywhere.

The runner compares text as .NET does, which also ignores zero-width characters.
"""


def runs_in_github_actions() -> bool:
    """Return whether GitHub Actions reads the output, and so executes text that looks like a command."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def defuse_workflow_commands(text: str) -> str:
    """Insert a blank into text that GitHub Actions would execute: `: :error::` for `::error::`, `## [` for `##[`."""
    return _COMMAND.sub(r"\g<0> ", text) if ":" in text or "#" in text else text
