"""One block of `heading: value` per row, for tables that are wider than the screen."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gemmbench.report.layout.plain import wrap_text

_INDENT = "  "
_GAP = 3
_UNKNOWN = ("", "-")


def draw_blocks(
    headings: Sequence[str], cells: Sequence[Sequence[str]], titles: Collection[str], width: int
) -> list[list[str]]:
    """The lines of a block for each row, without values that are unknown.

    The first line holds the first column and those named in `titles`. The others hold as many
    values as fit next to each other.
    """
    names = [index for index, heading in enumerate(headings) if index == 0 or heading in titles]
    rest = [index for index in range(len(headings)) if index not in names]
    pairs = [[f"{headings[i]}: {row[i]}" for i in rest if row[i] not in _UNKNOWN] for row in cells]
    longest = max((len(pair) for row in pairs for pair in row), default=0)
    count = max(1, (width - len(_INDENT) + _GAP) // (longest + _GAP))
    return [
        [
            *wrap_text("  ".join(row[index] for index in names if row[index] not in _UNKNOWN), width),
            *_flow(values, count, longest + _GAP, width),
        ]
        for row, values in zip(cells, pairs, strict=True)
    ]


def _flow(values: Sequence[str], count: int, step: int, width: int) -> list[str]:
    """Values in `count` columns of `step` characters, read line by line."""
    lines = [values[start : start + count] for start in range(0, len(values), count)]
    drawn = ["".join(value.ljust(step) for value in line).rstrip() for line in lines]
    return [_INDENT + part for line in drawn for part in wrap_text(line, width - len(_INDENT))]
