"""The text of a kernel before and after the preprocessor, which settles its macros, conditions and headers.

It gets what nvcc predefines, after the headers of the toolkit and of the system. A header that does not exist is
left out, because what a kernel needs of the toolkit the prelude has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gemmbench.backends.sources import SourceText
from gemmbench.planning.cpp.items import Source

_INCLUDE = re.compile(r"[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|\"[^\"\n]+\")")
_LINE = re.compile(r'#line (\d+) (".*")')
_BEGIN, _WORD, _MISSING = "#pragma gemmbench begin", "#pragma gemmbench word", "#pragma gemmbench missing"
_ARCHITECTURE = 750
"""The lowest that the toolkit compiles for: without asynchronous copies, and with threads of their own."""

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
"""By nvcc and by the headers of CUDA; and what heads of kernels take from the headers of PyTorch."""


@dataclass(frozen=True)
class Preprocessed:
    """A text without macros, what its `words` stand for, and the headers that were left out."""

    source: Source
    words: tuple[str, ...]
    missing: tuple[str, ...]


def write_input(text: SourceText, words: Sequence[str] = (), min_sm: int = 0) -> str:
    """What the preprocessor reads for a text with its local headers in it.

    `words` are texts, such as the names of kernels, in which the macros of the text count.
    """
    parts = ['#include "prelude.h"', *_hoist_includes(text), *text.defines]
    parts.append(_PREDEFINED.format(architecture=max(_ARCHITECTURE, 10 * min_sm)))
    parts += [_BEGIN, *_guard_includes("\n".join([*text.includes, text.code]))]
    return "\n".join([*parts, *(f"{_WORD}\n{word}" for word in words), _WORD, ""])


def hoist_includes(text: SourceText) -> str:
    """The headers that a text includes, so that none of them is first read inside a namespace."""
    return "\n".join(_hoist_includes(text))


def _hoist_includes(text: SourceText) -> Iterable[str]:
    lines = [*text.includes, *text.code.split("\n")]
    for name in dict.fromkeys(found[1] for line in lines if "include" in line and (found := _INCLUDE.match(line))):
        yield from [f"#if __has_include({_respell(name)})", f"#include {name}", "#endif"]


def _respell(name: str) -> str:
    """The same header: g++ 12 says nothing about a missing one that `__has_include` looked for by its own name."""
    return f"{name[0]}./{name[1:]}"


def _guard_includes(code: str) -> Iterable[str]:
    """The lines of code, in which each include of what does not exist only notes that."""
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
    """What the preprocessor made of `write_input`."""
    code, *words = output.partition(_BEGIN)[2].split(_WORD)
    expanded = (re.sub(r"^[ \t]*#.*$", "", word, flags=re.MULTILINE) for word in words[:-1])
    missing = dict.fromkeys(re.findall(rf"^{_MISSING} (.+)$", code, re.MULTILINE))
    return Preprocessed(Source(code), tuple(" ".join(word.split()) for word in expanded), tuple(missing))


def name_missing(found: Preprocessed) -> str:
    """`; left out, because not found: "tile.cuh"` and the next step, or ""."""
    advice = "name the folder of one that the kernel needs in `include`"
    return f"; left out, because not found: {', '.join(found.missing)}: {advice}" if found.missing else ""
