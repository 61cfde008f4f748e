"""Parts that show the claims of benchmarks/trust.py and their results, each with its own date and revision."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gemmbench.bench.origin import split_origins
from gemmbench.errors import StoreError, nearest
from tools.citations import Citation, cite_text
from tools.page import ROOT, Page
from tools.parts.tables import find_files

_CLAIM = re.compile(r"^== (\w+): (.*)$", re.MULTILINE)
_RESULT = re.compile(r"^(\w+): (.*): (holds|DOES NOT HOLD) \(\d+ s\)$", re.MULTILINE)
_HOLDS, _NOT_MEASURED = "holds", "not measured yet"


@dataclass(frozen=True)
class _Found:
    """The result of one run of a claim: the words of the claim at that time, the result, and its source."""

    statement: str
    result: str
    holds: bool
    citation: Citation


def _write_claims(page: Page, pattern: str, *words: str) -> str:
    """All claims, or those that `only=` names, with their newest results, as a table, a `list` or a `count`.

    Raises StoreError if no file matches, or for an unknown claim.
    """
    declared, found = _read_declared(), _read_found(Page(page.path, {}), pattern)
    chosen = next((word.partition("=")[2].split(",") for word in words if word.startswith("only=")), list(declared))
    if unknown := [name for name in chosen if name not in declared]:
        raise StoreError(f"unknown claim '{unknown[0]}'{nearest(unknown[0], declared)}")
    for name in chosen:
        if name in found:
            page.cite(found[name].citation)
    if "count" in words:
        return _count(chosen, found)
    if "list" in words:
        return "\n".join(_format_item(declared[name], found.get(name)) for name in chosen)
    lines = [_format_line(name, declared[name], found.get(name)) for name in chosen]
    return "\n".join(["| name | claim | found | holds | measured |", "|---|---|---|---|---|", *lines])


def _count(names: Sequence[str], found: Mapping[str, _Found]) -> str:
    """`2 of 4 claims hold. **Failed**: a. Not measured yet: b.`."""
    failed = [f"`{name}`" for name in names if name in found and not found[name].holds]
    missing = [f"`{name}`" for name in names if name not in found]
    words = [f"{len(names) - len(failed) - len(missing)} of {len(names)} claims hold."]
    if failed:
        words.append(f"**Failed**: {', '.join(failed)}.")
    if missing:
        words.append(f"{_NOT_MEASURED.capitalize()}: {', '.join(missing)}.")
    return textwrap.fill(" ".join(words), 100)


def _read_declared() -> dict[str, str]:
    """The claims of the program, in order: the names, and the lines about them in its description."""
    module = ast.parse((ROOT / "benchmarks" / "trust.py").read_text(encoding="utf-8"))
    assigned = {ast.unparse(node.targets[0]): node.value for node in module.body if isinstance(node, ast.Assign)}
    text = ast.get_docstring(module, clean=False) or ""
    described = dict(re.findall(r"^ {4}(\w+)\s+(\S.*(?:\n {5,}.*)*)", text, re.MULTILINE))
    return {name: " ".join(described[name].split()) for name in ast.literal_eval(assigned["CLAIMS"])}


def _read_found(page: Page, pattern: str) -> dict[str, _Found]:
    """The newest result of each claim. Raises StoreError if no file matches."""
    found: dict[str, tuple[str, _Found]] = {}
    for path in sorted(find_files(pattern), key=lambda path: path.name):
        for origin, text in split_origins(path.read_text(encoding="utf-8")):
            statements = dict(_CLAIM.findall(text))
            for name, result, verdict in _RESULT.findall(text):
                citation = cite_text(page, path, origin, "")
                when = origin.date if origin else citation.date
                if name not in found or found[name][0] <= when:
                    found[name] = when, _Found(statements[name], result, verdict == _HOLDS, citation)
    return {name: each for name, (_, each) in found.items()}


def _format_line(name: str, declared: str, found: _Found | None) -> str:
    if found is None:
        return f"| `{name}` | {declared} | {_NOT_MEASURED} | - | - |"
    verdict = "yes" if found.holds else "**no**"
    return f"| `{name}` | {found.statement} | {found.result} | {verdict} | {_format_origin(found.citation)} |"


def _format_item(declared: str, found: _Found | None) -> str:
    statement = found.statement if found else declared
    text = f"{statement[0].upper()}{statement[1:]}. "
    if found is None:
        text += f"{_NOT_MEASURED.capitalize()}."
    else:
        verdict = "Found" if found.holds else "**Failed**"
        text += f"{verdict}: {found.result} ({_format_origin(found.citation)})."
    return textwrap.fill(text, 100, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)


def _format_origin(citation: Citation) -> str:
    """`H200, 2026-11-23, revision not recorded`; without a revision it is clear that nothing was checked."""
    return f"{citation.card}, {citation.when if citation.revision else citation.when.partition(';')[0]}"


KINDS: Mapping[str, Callable[..., str]] = {"claims": _write_claims}
