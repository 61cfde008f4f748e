"""Listings of machine code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gemmbench.analysis.sass_loops import Instruction, parse_kernels


@pytest.fixture
def listing() -> Callable[[str], tuple[Instruction, ...]]:
    """The instructions of the one kernel in `listings/<name>.txt`."""

    def read(name: str) -> tuple[Instruction, ...]:
        text = (Path(__file__).parent / "listings" / f"{name}.txt").read_text(encoding="utf-8")
        (code,) = parse_kernels(text).values()
        return code

    return read


@pytest.fixture
def assemble() -> Callable[..., tuple[Instruction, ...]]:
    """The instructions of a kernel of these lines, 16 bytes each."""

    def read(*lines: str) -> tuple[Instruction, ...]:
        numbered = [f"/*{16 * number:04x}*/ {line} ;" for number, line in enumerate(lines)]
        return parse_kernels("\n".join(["Function : k", *numbered]))["k"]

    return read
