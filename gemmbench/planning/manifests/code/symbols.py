"""The kernels that a text defines, and symbols with template arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

_HOST = re.compile(r'extern\s+"C"\s+[^;{]{0,1000}?\b(\w+)\s*\(\s*int\b')
_STANDARD = re.compile(r"\b__global__\b[^;{]{0,1000}?\b(\w+)\s*\(\s*(?:const\s+)?int\b")
_KERNEL = re.compile(r"\b__global__\b[^;{}]{0,1000}?\b(\w+)\s*\((?!\s*\d)")
_UNMANGLED = re.compile(r'extern\s+"C"\s+(?:__global__\b|[^;{}]{0,200}?\b__global__\b)[^;{}]{0,1000}?\b(\w+)\s*\(')
_BOUNDS = re.compile(r"\b__(?:launch_bounds|cluster_dims|maxnreg)__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
_LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def list_standard_kernels(text: str, host: bool) -> list[str]:
    """The kernels whose first argument is an int; with `host` the `extern "C"` functions."""
    return (_HOST if host else _STANDARD).findall(text)


def list_kernels(text: str) -> list[str]:
    """The names of all `__global__` functions, mangled or not."""
    return list(dict.fromkeys(_KERNEL.findall(_BOUNDS.sub(" ", text))))


def is_unmangled(text: str, name: str) -> bool:
    """Whether a kernel is declared `extern "C"`, so that its name is the same in the machine code."""
    return name in _UNMANGLED.findall(_BOUNDS.sub(" ", text))


def list_quoted_includes(text: str) -> list[str]:
    """The names in `#include "name"`."""
    return _LOCAL_INCLUDE.findall(text)


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
