"""Variants of files without a manifest: it is found by trying on the CPU, or drafted where nothing is in doubt."""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path

from gemmbench.backends import registry
from gemmbench.errors import DeviceError, SpecError, UsageError
from gemmbench.planning.drafts.draft import FoundManifest, NotFound, draft_manifest
from gemmbench.planning.files import display_path, read_code_file
from gemmbench.planning.manifests.catalog import read_drafted
from gemmbench.planning.manifests.variant import Variant
from gemmbench.session.reporter import SILENT, Reporter

_MOST_OTHERS = 5


def draft_variant(path: Path, symbol: str, reporter: Reporter = SILENT) -> Variant:
    """The variant of a file without a manifest; `symbol` is its kernel, "" for the first that multiplies matrices.

    What was found is reported in two lines. Raises SpecError, UsageError for an unknown kernel.
    """
    text = read_code_file(path)
    place = display_path(path)
    name = str(path) if path.is_absolute() or str(path).startswith("./") else f"./{path}"
    keep = f"gemmbench new NAME --from {shlex.quote(name)}"
    try:
        found = _find(text, path, symbol)
    except (NotFound, DeviceError) as fault:
        if isinstance(fault, DeviceError) or fault.unsupported:
            drafted = draft_manifest(text, path, path.parent, symbol or None)
            if drafted.is_sure:
                reporter.message(f"{place} has no manifest: {drafted.symbol}, as it is declared and launched ({fault})")
                reporter.message(f"  keep it: {keep} --symbol {shlex.quote(drafted.symbol)}")
                return read_drafted(path, drafted.text, text)
        if isinstance(fault, NotFound) and fault.likeliest:
            reporter.message(f"{place} has no manifest: {fault}; it is taken as its text says")
            reporter.message(f"  to correct that, write one: {keep}")
            return read_drafted(path, fault.likeliest, text)
        if isinstance(fault, NotFound) and fault.unsupported:
            reporter.message(f"{place} has no manifest, and the CPU device, which finds one by trying, cannot run it")
            reporter.message(f"  to run it on a GPU, write one: {keep}{symbol and f' --symbol {shlex.quote(symbol)}'}")
            return Variant.untried(name, fault.unsupported)
        message = f"no manifest, and none was found by trying: {fault}; write one: {keep}"
        raise SpecError(place, None, message) from None
    effort = _describe_effort(found)
    reporter.message(f"{place} has no manifest; tried what {found.kernel} takes ({effort}): {found.summary}")
    listed = ", ".join(f"{name}:{each}" for each in found.others[:_MOST_OTHERS])
    others = f"; other kernels: {listed}" if listed and not symbol else ""
    reporter.message(f"  keep it: {keep} --symbol {shlex.quote(found.kernel)} --try{others}")
    return read_drafted(path, found.text, text)


def _describe_effort(found: FoundManifest) -> str:
    return f"{found.tries:,} {'try' if found.tries == 1 else 'tries'}, {found.seconds:.1f} s"


@cache
def _find(text: str, path: Path, symbol: str) -> FoundManifest:
    """The manifest, looked for once in a command. Raises NotFound, DeviceError, UsageError."""
    return registry.find_manifest(text, path, path.parent, symbol or None)


def find_manifest_text(code: Path, home: Path, symbol: str | None) -> FoundManifest:
    """The manifest of a file for the folder `home`. Raises UsageError if none is found, and DeviceError."""
    try:
        return registry.find_manifest(read_code_file(code), code, home, symbol)
    except NotFound as fault:
        raise UsageError(f"{display_path(code)}: no manifest was found by trying: {fault}; leave out --try") from None
