"""Cells and sentences as lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from gemmbench.report.layout.fit import GAP, fold_cell

BOUND = "\xa0"
"""A space at which no line is broken."""
_INDENT = "  "
_NARROWEST = 20


def wrap_text(text: str, width: int | None) -> list[str]:
    """The lines of a sentence at a width. Text that begins with a space is a drawing and stays."""
    if width is None or text.startswith(" ") or not text.strip():
        return text.splitlines() or [""]
    return [line for part in text.splitlines() for line in _wrap(part, width)]


def _wrap(text: str, width: int) -> list[str]:
    """A number stays with what belongs to it: `0.5 %`, `+- 0.5`."""
    bound = text.replace(" %", f"{BOUND}%").replace("+- ", f"+-{BOUND}")
    lines = textwrap.wrap(
        bound, max(width, _NARROWEST), subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(BOUND, " ") for line in lines]


def draw_row(cells: Sequence[str], widths: Sequence[int], left: Sequence[bool]) -> list[str]:
    """One row of a table as one or several lines."""
    folded = [fold_cell(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(map(len, folded), default=1)
    columns = [
        [line.ljust(width) if is_left else line.rjust(width) for line in [*lines, *[""] * (height - len(lines))]]
        for lines, width, is_left in zip(folded, widths, left, strict=True)
    ]
    return [(" " * GAP).join(parts).rstrip() for parts in zip(*columns, strict=True)]
