"""Finds what the C++ text of a kernel defines."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A pattern that begins with plain letters, without \b, is found many times faster.
_GLOBAL = re.compile(r"__global__\b")
_EXTERN = re.compile(r'extern\s+"C"\s')
_STANDARD = re.compile(r"\b(\w+)\s*\(\s*(?:const\s+)?int\b")
_KERNEL = re.compile(r"\b(\w+)\s*\((?!\s*\d)")
_NAMED = re.compile(r"\b(\w+)\s*\(")
_HEAD_END = re.compile(r"[;{}]")
_BOUNDS = re.compile(r"__(?:launch_bounds|cluster_dims|maxnreg)__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
_QUOTED_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"|<[^>\n]*\.cuh?>)', re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def list_standard_kernels(text: str, host: bool) -> list[str]:
    """Return the kernels whose first argument is an int or, with `host`, the `extern "C"` functions."""
    return _find_names(text, [_EXTERN] if host else [_GLOBAL], _STANDARD)


def list_kernels(text: str) -> list[str]:
    """Return the names of all `__global__` functions, mangled or not."""
    return list(dict.fromkeys(_find_names(_BOUNDS.sub(" ", text), [_GLOBAL], _KERNEL)))


def is_unmangled(text: str, name: str) -> bool:
    """Return whether a kernel is declared `extern "C"`, so that its name is the same in machine code."""
    return name in _find_names(_BOUNDS.sub(" ", text), [_EXTERN, _GLOBAL], _NAMED)


def _find_names(text: str, words: Sequence[re.Pattern[str]], pattern: re.Pattern[str]) -> list[str]:
    """Return the names that `pattern` finds in function heads after `words` in this order.

    This takes time linear in the text. A single pattern would read the rest of a head again for every word.
    """
    names, place, end = [], 0, 0
    while first := words[0].search(text, place):
        place = first.end()
        if place > end:
            stop = _HEAD_END.search(text, place)
            end = stop.start() if stop else len(text)
        found: re.Match[str] | None = first
        for step in (*words[1:], pattern):
            found = found and step.search(text, found.end(), end)
        if found:
            names.append(found[1])
        place = found.end() if found else end
    return names


def list_quoted_includes(text: str) -> list[str]:
    """Return the file names in `#include "name"`."""
    return _QUOTED_INCLUDE.findall(text)


def has_includes(text: str) -> bool:
    """Return whether a text may include a file next to it."""
    return _LOCAL_INCLUDE.search(text) is not None


def may_define(text: str, name: str) -> bool:
    """Return whether a macro may make a kernel of this name: the name is in its code or is pasted together."""
    code = _COMMENT.sub(" ", text)
    return "#define" in code and ("##" in code or re.search(rf"\b{re.escape(name)}\b", code) is not None)


def split_template(symbol: str) -> tuple[str, Sequence[str]]:
    """Split `name<BM, pair<int, 2>>` into the name and its template arguments."""
    name, opened, rest = symbol.strip().partition("<")
    if not opened:
        return name, ()
    parts, depth = [""], 0
    for letter in rest.rstrip()[:-1]:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return name.strip(), tuple(part.strip() for part in parts)
