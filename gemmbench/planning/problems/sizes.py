"""Sizes as they are written: `1024`, `1024x768x512` (M x N x K), `512:4096:512` (from, to, step)."""

from __future__ import annotations

import re

from gemmbench.errors import UsageError

Shape = tuple[int, int, int]
LARGEST = 2**31 - 1
MOST = 10_000
_FORMS = "write 1024, 1024x768x512 or 512:4096:512"


def parse_sizes(text: str | int) -> list[Shape]:
    """Parse sizes separated by commas; a single number is a cube. Raises UsageError."""
    return [shape for item in str(text).split(",") for shape in _parse_item(item.strip())]


def _parse_item(item: str) -> list[Shape]:
    if re.fullmatch(r"-?\d+", item):
        size = _check_part(item, item)
        return [(size, size, size)]
    if re.fullmatch(r"-?\d+(x-?\d+){2}", item):
        m, n, k = (_check_part(part, item) for part in item.split("x"))
        return [(m, n, k)]
    if re.fullmatch(r"-?\d+:-?\d+:-?\d+", item):
        first, last, step = (_check_part(part, item) for part in item.split(":"))
        if first > last:
            raise UsageError(f"size '{item}': the start is above the end; {_FORMS}")
        sizes = range(first, last + 1, step)
        if len(sizes) > MOST:
            raise UsageError(f"size '{item}': {len(sizes)} sizes are too many, at most {MOST}; use a larger step")
        return [(size, size, size) for size in sizes]
    raise UsageError(f"'{item}' is not a size; {_FORMS}")


def _check_part(part: str, item: str) -> int:
    if len(part) > 20:
        raise UsageError(f"size '{item[:20]}...': {len(part)} digits are too many; the largest size is {LARGEST}")
    value = int(part)
    if value < 1:
        raise UsageError(f"size '{item}': {value} is not positive; a matrix needs at least one row and column")
    if value > LARGEST:
        limit = f"the largest size is {LARGEST}, which fits a kernel's int"
        raise UsageError(f"size '{item}': {value} is too large; {limit}")
    return value
