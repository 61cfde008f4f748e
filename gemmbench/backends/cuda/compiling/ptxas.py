"""Reads what nvcc and `ptxas -v` print."""

from __future__ import annotations

import re

from gemmbench.backends.base import Build

_SECTION = re.compile(r"Compiling entry function '([^']+)'")
_SPILLS = re.compile(r"(\d+) bytes spill (?:stores|loads)")
_STACK = re.compile(r"(\d+) bytes stack frame")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_LOCATION = re.compile(r"^(\S[^(\n]*)\((\d+)\): ")
_NOISE = re.compile(r"^ptxas info|^\s*$|^Remark: |errors? detected in the compilation of")


def list_kernels(output: str) -> list[str]:
    """The compiled kernels, by their names in the machine code."""
    return _SECTION.findall(output)


def read_build_facts(output: str, symbol: str) -> Build | None:
    """The build facts of one kernel, or None if it was not compiled.

    Spilled bytes are stores plus loads, including called functions; the stack is the largest frame.
    """
    parts = _SECTION.split(output)  # text, name, text, name, text ...
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if symbol not in sections:
        return None
    section = sections[symbol]
    registers, shared = _REGISTERS.search(section), _SHARED.search(section)
    return Build(
        registers=int(registers[1]) if registers else -1,
        shared=int(shared[1]) if shared else 0,
        spills=sum(map(int, _SPILLS.findall(section))),
        stack=max(map(int, _STACK.findall(section)), default=-1),
    )


def extract_errors(output: str) -> list[str]:
    """The lines from the first error on, without noise; locations are written `file:line:`."""
    lines = [_LOCATION.sub(r"\1:\2: ", line) for line in output.splitlines() if not _NOISE.search(line)]
    first = next((number for number, line in enumerate(lines) if _is_error(line)), 0)
    return lines[first:]


def find_first_error(lines: list[str]) -> str:
    """The first line that is an error; "" if there is none."""
    return next(filter(_is_error, lines), "")


def _is_error(line: str) -> bool:
    return re.search(r"\b(error|fatal)\b", line) is not None
