"""Writes a new kernel, or a draft of the manifest for existing code. Never overwrites a file."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gemmbench.backends import registry
from gemmbench.errors import DeviceError, SpecError, UsageError
from gemmbench.planning.drafts.draft import Draft, NotFound, draft_manifest
from gemmbench.planning.drafts.python_draft import draft_python
from gemmbench.planning.files import display_path, exists, is_file, is_folder, printable, read_code_file, read_text_file
from gemmbench.planning.manifests.catalog import NAME_LETTERS, SUFFIXES, has_manifest, is_kernel_name, read_variant
from gemmbench.session.drafted_variants import find_manifest_text

_TILED = Path(__file__).with_name("new_kernel.cu")


@dataclass(frozen=True)
class NewVariant:
    """A variant that was written and its path.

    `fault` says why its manifest cannot be read yet; "" if it can. `effort` says how the manifest was found. `sizes`
    are sizes that it can compute; "" if it can compute the usual ones. `needs_gpu` means that the CPU device cannot run
    it, because it is Python or a launcher.
    """

    path: Path
    draft: Draft | None = None
    fault: str = ""
    effort: str = ""
    sizes: str = ""
    needs_gpu: bool = False


def write_kernel(name: str) -> NewVariant:
    """Write a correct tiled kernel to NAME.cu. Raises UsageError."""
    path = _place(name, Path(), ".cu")
    _write_new(path, read_text_file(_TILED))
    return NewVariant(path)


def write_manifest(name: str, code: Path, symbol: str | None = None, tried: bool = False) -> NewVariant:
    """Draft a manifest for a file and write it to NAME.yaml, next to the file unless NAME includes a folder.

    `symbol` is the function to launch. With `tried`, the manifest is found by running the kernel. Raises UsageError.
    """
    if not is_file(code):
        file, _, function = str(code).rpartition(":")
        fix = "correct the path after --from"
        if file and is_file(Path(file)):
            fix = f"write --from {printable(file)} --symbol {printable(function) or 'FUNCTION'}"
        raise UsageError(f"no file at {printable(str(code))}; {fix}")
    if symbol is None and has_manifest(code, read_code_file(code)):
        raise UsageError(f"{display_path(code)} has a manifest; edit that one, or name another function with --symbol")
    if code.suffix == ".py" and tried:
        raise UsageError(f"{display_path(code)} is Python, which the CPU device cannot run; leave out --try")
    path = _place(name, code.parent, ".yaml")
    if tried:
        found = find_manifest_text(code, path.parent, symbol)
        _write_new(path, found.text)
        return NewVariant(
            path, fault=_find_fault(path), effort=f" for {found.kernel}: {found.summary}", sizes=found.sizes
        )
    is_python = code.suffix == ".py"
    draft = (
        draft_python(read_text_file(code), code, path.parent, symbol)
        if is_python
        else _draft(code, path.parent, symbol)
    )
    _write_new(path, draft.text)
    needs_gpu = re.search(r"^(?:call|host): ", draft.text, re.MULTILINE) is not None
    return NewVariant(path, draft, _find_fault(path), sizes=draft.sizes, needs_gpu=needs_gpu)


def _draft(code: Path, home: Path, symbol: str | None) -> Draft:
    """Draft a manifest from the text, or from the preprocessor's output if only that shows the kernels.

    Raises UsageError.
    """
    text = read_code_file(code)
    try:
        expanded, kernels = registry.expand_kernels(text, code, home)
    except (NotFound, DeviceError):  # the text alone says what it can
        return draft_manifest(text, code, home, symbol)
    with suppress(UsageError):
        draft = draft_manifest(text, code, home, symbol)
        if not kernels or draft.symbol in kernels or f" {draft.symbol}(" in expanded:
            return draft
    return draft_manifest(expanded if kernels else text, code, home, symbol)


def _place(name: str, home: Path, suffix: str) -> Path:
    """Return the path of the file to write, which is in `home` unless the name includes a folder.

    Raises UsageError if no variant can have this name, or if the folder does not exist.
    """
    path = Path(name)
    stem = path.stem if path.suffix in SUFFIXES else path.name
    if not is_kernel_name(stem) or stem.startswith(".") or name.endswith("/"):
        raise UsageError(f"'{printable(name)}' is not a name for a kernel, which may have {NAME_LETTERS}; write mine")
    folder = path.parent if path.parent != Path() else home
    if not is_folder(folder):
        raise UsageError(f"no folder at {display_path(folder)}; create it first")
    return folder / (stem + suffix)


def _write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet. Raises UsageError."""
    if exists(path) or path.is_symlink():
        raise UsageError(f"{display_path(path)} already exists; choose another name, or remove it")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as fault:
        raise UsageError(f"{display_path(path)} cannot be written: {fault.strerror}") from None


def _find_fault(path: Path) -> str:
    try:
        read_variant(path)
    except SpecError as fault:
        return str(fault)
    return ""
