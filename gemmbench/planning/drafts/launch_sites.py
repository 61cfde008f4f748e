"""Launches with <<< >>> in the file that defines a kernel: they tell its grid, block and template arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gemmbench.planning.drafts.constants import read_constants
from gemmbench.planning.drafts.scanning import find_end, hide_comments, split_list

_LAUNCH = re.compile(r"\b(\w+)\s*(<[^;<>]*>)?\s*<<<")


@dataclass(frozen=True)
class LaunchSite:
    """A launch as it is written: expressions of C++. `constants` are the expressions with a name before it."""

    template: tuple[str, ...]
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str
    arguments: tuple[str, ...]
    constants: dict[str, str]


def find_launch(text: str, kernel: str) -> LaunchSite | None:
    """The first launch of a kernel in a file, or None."""
    code = hide_comments(text)
    for found in _LAUNCH.finditer(code):
        end = code.find(">>>", found.end())
        if found[1] != kernel or end < 0:
            continue
        grid, block, shared, *_ = [*split_list(code[found.end() : end]), "", "", "0"]
        opening = code.find("(", end)
        before = code[: found.start()]
        extent = _read_extent(block, before)
        sizes = {f"{block}.{axis}": size for axis, size in zip("xyz", extent, strict=False)}
        return LaunchSite(
            template=tuple(split_list((found[2] or "<>")[1:-1])),
            grid=_read_extent(grid, before),
            block=extent,
            shared=shared or "0",
            arguments=tuple(split_list(code[opening + 1 : find_end(code, opening) - 1])) if opening >= 0 else (),
            constants={**read_constants(before), **sizes},
        )
    return None


def _read_extent(text: str, before: str) -> tuple[str, ...]:
    """The sizes of a grid or block: those of the `dim3` that a name stands for, or the expression itself."""
    if text.startswith("dim3"):
        return _read_sizes(text)
    statements = re.findall(r"\bdim3\b([^;]*);", before)
    declared = [item for statement in statements for item in split_list(statement)]
    found = [item for item in declared if re.match(rf"(?:const\s+)?{re.escape(text)}\s*[({{=]", item)]
    return _read_sizes(found[-1]) if found else (text,)


def _read_sizes(declarator: str) -> tuple[str, ...]:
    """What is between the brackets of `grid(1, 2)` or `dim3{1, 2}`."""
    if opening := re.search(r"[({]", declarator):
        return tuple(split_list(declarator[opening.end() : find_end(declarator, opening.start()) - 1]))
    return ()
