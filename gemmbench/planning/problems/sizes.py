"""Sizes as they are written: `1024`, `1024x768x512` (M x N x K), `512:4096:512` (from, to, step)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gemmbench.errors import UsageError
from gemmbench.planning.bounds import check_plans

Shape = tuple[int, int, int]
LARGEST = 2**31 - 1
MOST = 10_000
_FORMS = "write 1024, 1024x768x512 or 512:4096:512"


def parse_sizes(text: str | int) -> list[Shape]:
    """Parse sizes separated by commas; a single number is a cube. Raises UsageError."""
    items = _parse_items(text)
    check_plans(sum(map(len, items)))
    return [shape for item in items for shape in _list_shapes(item)]


def count_sizes(text: str | int) -> int:
    """Count sizes without making a list of them. Raises UsageError."""
    return sum(map(len, _parse_items(text)))


def check_shape(written: Sequence[int]) -> None:
    """Raise UsageError for what is not M, N and K."""
    if len(written) != 3:
        raise UsageError(f"shapes: {written} should be [M, N, K]")
    for part in written:
        _check_part(str(part), "x".join(map(str, written)))


def check_size(written: int) -> None:
    """Raise UsageError for what is not a size."""
    _check_part(str(written), str(written))


def _parse_items(text: str | int) -> list[list[Shape] | range]:
    """What each item means: one shape, or a range of cubes."""
    return [_parse_item(item.strip()) for item in str(text).split(",")]


def _list_shapes(item: list[Shape] | range) -> list[Shape]:
    return [(size, size, size) for size in item] if isinstance(item, range) else item


def _parse_item(item: str) -> list[Shape] | range:
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
        return sizes
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
