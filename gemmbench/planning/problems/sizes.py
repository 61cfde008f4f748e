"""Sizes as they are written: `1024`, `1024x768x1024` (M, N, K), `512:4096:512`."""

from __future__ import annotations

import re

from gemmbench.errors import UsageError

Shape = tuple[int, int, int]
LARGEST = 2**31 - 1
MOST = 10_000
_FORMS = "write 1024, 1024x768x1024 (M x N x K) or 512:4096:512 (from, to, step)"


def parse_sizes(text: str | int) -> list[Shape]:
    """Read sizes separated by commas; a lone number is a cube. Raises UsageError."""
    return [shape for item in str(text).split(",") for shape in _parse_item(item.strip())]


def _parse_item(item: str) -> list[Shape]:
    if re.fullmatch(r"-?\d+", item):
        size = _checked(item, item)
        return [(size, size, size)]
    if re.fullmatch(r"-?\d+(x-?\d+){2}", item):
        m, n, k = (_checked(part, item) for part in item.split("x"))
        return [(m, n, k)]
    if re.fullmatch(r"-?\d+:-?\d+:-?\d+", item):
        first, last, step = (_checked(part, item) for part in item.split(":"))
        if first > last:
            raise UsageError(f"size '{item}': it starts above its end; {_FORMS}")
        sizes = range(first, last + 1, step)
        if len(sizes) > MOST:
            raise UsageError(f"size '{item}': {len(sizes)} sizes, at most {MOST} at once; take a larger step")
        return [(size, size, size) for size in sizes]
    raise UsageError(f"size '{item}' is not one; {_FORMS}")


def _checked(part: str, item: str) -> int:
    if len(part) > 20:
        raise UsageError(
            f"size '{item[:20]}...': {len(part)} digits are above {LARGEST}, the largest a kernel's int can hold"
        )
    value = int(part)
    if value < 1:
        raise UsageError(f"size '{item}': {value} is not positive; a matrix needs at least one row and column")
    if value > LARGEST:
        raise UsageError(f"size '{item}': {value} is above {LARGEST}, the largest a kernel's int can hold")
    return value
