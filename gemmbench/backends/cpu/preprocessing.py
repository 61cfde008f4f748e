"""Writes the input of the preprocessor, which resolves macros, conditions and headers, and reads its output.

The macros that nvcc predefines are added after the headers of the toolkit and the system. Missing headers are left out,
because the prelude provides what a kernel needs from the toolkit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gemmbench.backends.sources import SourceText
from gemmbench.planning.cpp.items import Source
from gemmbench.planning.drafts.scanning import hide_comments

_INCLUDE = re.compile(r"[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|\"[^\"\n]+\")")
_LINE = re.compile(r'#line (\d+) (".*")')
_BEGIN, _WORD, _MISSING = "#pragma gemmbench begin", "#pragma gemmbench word", "#pragma gemmbench missing"
_ARCHITECTURE = 750
"""The lowest architecture that the toolkit supports. It has independent threads but no asynchronous copies."""

_PREDEFINED = """
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define __CUDA_ARCH__ {architecture}
#define __CUDA_ARCH_LIST__ {architecture}
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
"""
"""Macros that nvcc and the CUDA headers predefine, and macros from PyTorch's headers that kernels often use."""


@dataclass(frozen=True)
class Preprocessed:
    """A text with its macros expanded, the expanded `words`, and the headers that were left out."""

    source: Source
    words: tuple[str, ...]
    missing: tuple[str, ...]


def write_input(text: SourceText, words: Sequence[str] = (), min_sm: int = 0) -> str:
    """Return the preprocessor's input for a text that already contains its local headers.

    The text's macros are also expanded in `words`, such as names of kernels.
    """
    parts = ['#include "prelude.h"', *_hoist_includes(text), *text.defines]
    parts.append(_PREDEFINED.format(architecture=max(_ARCHITECTURE, 10 * min_sm)))
    parts += [_BEGIN, *_guard_includes("\n".join([*text.includes, text.code]))]
    return "\n".join([*parts, *(f"{_WORD}\n{word}" for word in words), _WORD, ""])


def hoist_includes(text: SourceText) -> str:
    """Return `#include` lines for all headers of a text, so that none of them is first read inside a namespace."""
    return "\n".join(_hoist_includes(text))


def _hoist_includes(text: SourceText) -> Iterable[str]:
    lines = [*text.includes, *text.code.split("\n")]
    for name in dict.fromkeys(found[1] for line in lines if "include" in line and (found := _INCLUDE.match(line))):
        yield from [f"#if __has_include({_respell(name)})", f"#include {name}", "#endif"]


def _respell(name: str) -> str:
    """Respell a header's name, because g++ 12 does not report a missing header after a `__has_include` for it."""
    return f"{name[0]}./{name[1:]}"


def _guard_includes(code: str) -> Iterable[str]:
    """Yield the lines of code. Includes are guarded, so that a missing header is only recorded."""
    number, place = 0, '""'
    for line in code.split("\n"):
        if marked := _LINE.match(line):
            number, place = int(marked[1]) - 1, marked[2]
        else:
            number += 1
        found = _INCLUDE.match(line) if "include" in line else None
        if found:
            yield from [f"#if __has_include({_respell(found[1])})", line, "#else", f"{_MISSING} {found[1]}", "#endif"]
            yield f"#line {number + 1} {place}"
        else:
            yield line


def read_output(output: str) -> Preprocessed:
    """Parse the preprocessor's output for a text from `write_input`."""
    code, *words = output.partition(_BEGIN)[2].split(_WORD)
    expanded = (re.sub(r"^[ \t]*#.*$", "", word, flags=re.MULTILINE) for word in words[:-1])
    missing = dict.fromkeys(re.findall(rf"^{_MISSING} (.+)$", code, re.MULTILINE))
    return Preprocessed(Source(code), tuple(" ".join(word.split()) for word in expanded), tuple(missing))


def name_missing(found: Preprocessed) -> str:
    """Return a text such as `; left out, because not found: "tile.cuh"` with the next step, or ""."""
    advice = "give the folder of any header that the kernel needs in `include`"
    return f"; left out, because not found: {', '.join(found.missing)}: {advice}" if found.missing else ""


@dataclass(frozen=True)
class Condition:
    """A preprocessor line that leaves code out, and the macros that bring it back; {} if none do."""

    text: str
    line: int
    macros: Mapping[str, str]


_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[ \t]*(.*)")
_DEFINED = re.compile(r"!?[ \t]*defined[ \t]*\(?[ \t]*(\w+)[ \t]*\)?")
_COMPARED = re.compile(r"\(?[ \t]*([A-Za-z_]\w*)[ \t]*(?:==[ \t]*(\d+))?[ \t]*\)?")


def find_conditions(text: str, kernel: str = "") -> list[Condition]:
    """Return the conditions that may leave out the definition of a kernel ("" for the first one)."""
    code = hide_comments(text)
    wanted = rf"__global__[^;{{}}]*\b{re.escape(kernel)}\s*\(" if kernel else r"\b__global__\b"
    place = re.search(wanted, code)
    if place is None:
        return []
    found = list[Condition | None]()
    for number, line in enumerate(code[: place.start()].split("\n"), start=1):
        if (directive := _DIRECTIVE.match(line)) is None:
            continue
        if directive[1] in ("endif", "else", "elif") and found:
            found.pop()
        if directive[1] != "endif":
            found.append(_read_condition(directive[1], directive[2].strip(), number, code))
    return [each for each in found if each]


def _read_condition(kind: str, text: str, line: int, code: str) -> Condition | None:
    """Return the condition of a line, or None if it is met. Header guards and tests for defined macros count as met."""
    written = f"#{kind} {text}".strip()
    tested = re.fullmatch(r"\w+", text) if kind in ("ifdef", "ifndef") else _DEFINED.fullmatch(text)
    compared = _COMPARED.fullmatch(text) if kind == "if" and tested is None else None
    if kind == "ifndef" or text in ("1", "true") or (tested and text.startswith("!")):
        return None
    name = (tested[0] if kind == "ifdef" else tested[1]) if tested else compared[1] if compared else ""
    known = rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(name)}\b"
    if name and re.search(known, _PREDEFINED + code, re.MULTILINE):
        return None if tested else Condition(written, line, {})
    value = (compared[2] if compared else "") or "1"
    return Condition(written, line, {name: value} if name and kind in ("if", "ifdef") else {})


def name_conditions(text: str, file: str, kernel: str = "") -> str:
    """Describe the conditions that leave a kernel out, and the macros that bring it back; "" without conditions."""
    found = find_conditions(text, kernel)
    places = ", ".join(f"`{each.text}` ({file}:{each.line})" for each in found)
    macros = ", ".join(f"{name}: {value}" for each in found for name, value in each.macros.items())
    advice = f": say `define: {{{macros}}}`" if macros else ""
    return f"; {kernel or 'its code'} is left out by {places}{advice}" if found else ""
