"""Parses sizes such as `1024`, `1024x768x512` (M x N x K), `512:4096:512` and `64*512`, and sets their limits."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Annotated

from msgspec import Meta

from gemmbench.errors import UsageError

_MOST = 10**18

Count = Annotated[int, Meta(ge=0, le=_MOST)]
"""A number of things or of bytes."""
KnownCount = Annotated[int, Meta(ge=-1, le=_MOST)]
"""A number of things or of bytes; -1 if it is unknown."""
Dimension = Annotated[int, Meta(ge=1, le=_MOST)]
"""A dimension or a number of products, at least 1."""
Integer = Annotated[int, Meta(ge=-_MOST, le=_MOST)]
"""Any integer, such as the value of a parameter."""
Amount = Annotated[float, Meta(ge=0, le=1e18)]
"""A quantity that may be 0 or unknown, such as Hz, watts or bytes per second."""
Rate = Annotated[float, Meta(ge=1e-9, le=1e18)]
"""A quantity by which others are divided."""
Seconds = Annotated[float, Meta(ge=1e-15, le=1e9)]
"""A measured time."""
Scalar = Annotated[float, Meta(ge=-1e300, le=1e300)]
"""Any number, such as alpha or the order of a row."""


_MOST_PLANS = 100_000
"""The most plans of one command. Planning this many takes about 5 s and 0.3 GB."""
MOST_CONFIGURATIONS = 50_000
"""The most configurations of one variant."""
MOST_DIGITS = 18
"""The most digits of a number. An integer with so many digits fits into 64 bits."""
_MOST_BITS = 14_000


def check_plans(count: int) -> None:
    """Raise UsageError if a command has too many plans."""
    if count > _MOST_PLANS:
        advice = "choose fewer sizes or fewer values of parameters"
        raise UsageError(f"{format_count(count)} plans are too many; at most {_MOST_PLANS:,} are allowed; {advice}")


def check_configurations(name: str, count: int) -> None:
    """Raise UsageError if a variant has too many configurations."""
    if count > MOST_CONFIGURATIONS:
        limit = f"at most {MOST_CONFIGURATIONS:,} are allowed; choose fewer values of its parameters"
        raise UsageError(f"{name}: {format_count(count)} configurations are too many; {limit}")


def format_count(count: int) -> str:
    """Format a count such as `64,000,000`, or `over 10^40` if it has very many digits."""
    digits = len(str(count))
    return f"{count:,}" if digits <= MOST_DIGITS else f"over 10^{digits - 1}"


def check_digits(what: str, number: str | int) -> None:
    """Raise UsageError for a number that is too long to be intended, such as `TILE` with 5,000 digits."""
    if isinstance(number, str) and len(number) <= MOST_DIGITS:
        return  # nearly all of them
    count = count_digits(number)
    if count > MOST_DIGITS:
        raise UsageError(f"{what}: a number of {count:,} digits is too long; it may have at most {MOST_DIGITS}")


def count_digits(number: str | int) -> int:
    """Count the digits of a number without leading zeros and without the digits of an exponent."""
    if isinstance(number, int):
        bits = number.bit_length()
        # str() refuses very long integers, of which the digits are counted by their bits.
        return len(str(abs(number))) if bits < _MOST_BITS else bits * 1233 // 4096
    return len(re.sub(r"[eE][-+]?\d+$|\D", "", number).lstrip("0"))


Shape = tuple[int, int, int]
"""M, N and K of one product."""


@dataclass(frozen=True)
class One:
    """One product of M x N x K."""

    M: int
    N: int
    K: int

    @property
    def size(self) -> str:
        """The shape as text: `4096` for a cube, else `1024x768x1024`."""
        return str(self.M) if self.M == self.N == self.K else f"{self.M}x{self.N}x{self.K}"


@dataclass(frozen=True)
class Many:
    """A batch of at least two products of M x N x K."""

    count: int
    M: int
    N: int
    K: int

    @property
    def size(self) -> str:
        """The shape as text, such as `64*4096` for 64 products."""
        return f"{self.count}*{One(self.M, self.N, self.K).size}"


@dataclass(frozen=True)
class Groups:
    """At least two products that share K and N, each with its own number of rows, which may be 0."""

    rows: tuple[int, ...]
    N: int
    K: int

    @property
    def M(self) -> int:
        """The rows of all groups together."""
        return sum(self.rows)

    @property
    def size(self) -> str:
        """The shape as text, such as `512+0+33x4096x7168`."""
        return f"{'+'.join(map(str, self.rows))}x{self.N}x{self.K}"

    @property
    def listing(self) -> str:
        """The rows of each of a few groups, such as `512 + 0 + 33`, or else `32 groups of 39-3198`."""
        if len(self.rows) <= _MOST_LISTED:
            return " + ".join(map(str, self.rows))
        least, most = min(self.rows), max(self.rows)
        return f"{len(self.rows)} groups of {least}" + (f"-{most}" if most > least else "")

    @property
    def label(self) -> str:
        """The shape as text to show: `size`, or `32 groups of 39-3198x4096x4096` for many groups."""
        return self.size if len(self.rows) <= _MOST_LISTED else f"{self.listing}x{self.N}x{self.K}"


AnyShape = One | Many | Groups
_MOST_LISTED = 4
"""The most groups whose rows are listed where a shape is shown."""
LARGEST = 2**31 - 1
MOST = 10_000
_MOST_GROUPS = 1024
_MOST_SHOWN = 60
"""The most characters of a size that a message repeats."""
_FORMS = "write 1024, 1024x768x512, 512:4096:512, 64*512 or 512+0+33x768x512"


def make_shape(count: int, shape: Shape) -> AnyShape:
    """Return the shape of a batch, or that of one product if the count is 1."""
    return Many(count, *shape) if count > 1 else One(*shape)


def make_groups(rows: Sequence[int], N: int, K: int, written: str = "") -> AnyShape:
    """Return the shape of groups with these rows, or that of one product if there is one group. Raises UsageError."""
    place = f"size '{written}'" if written else "groups"
    for each in rows:
        if each < 0:
            raise UsageError(f"{place}: a group of {each} rows; write 0 or more")
    if not sum(rows):
        raise UsageError(f"{place}: all groups are empty; give at least one of them a row")
    if len(rows) > _MOST_GROUPS:
        raise UsageError(f"{place}: {len(rows):,} groups are too many; at most {_MOST_GROUPS:,} are allowed")
    if sum(rows) > LARGEST:
        raise UsageError(f"{place}: {format_count(sum(rows))} rows in all groups are too many; at most {LARGEST}")
    return Groups(tuple(rows), N, K) if len(rows) > 1 else One(rows[0], N, K)


_MOST_SKEW = 4.0


def draw_groups(count: int, mean: int, skew: float, seed: int) -> tuple[int, ...]:
    """Draw the rows of `count` groups, `count` times `mean` in all. Raises UsageError.

    The shares are log-normal: the standard deviation of their logarithms is `skew`, so that 0 makes equal groups. Each
    is rounded down, and the groups that lose most by that get the remaining rows.
    """
    if not 1 <= count <= _MOST_GROUPS:
        raise UsageError(f"groups: count is {count}; give 1 to {_MOST_GROUPS:,}")
    if not 1 <= mean <= LARGEST // count:
        raise UsageError(f"groups: mean is {mean}; give 1 to {LARGEST // count} rows for {count} groups")
    if not 0 <= skew <= _MOST_SKEW:
        raise UsageError(f"groups: skew is {skew:g}; give 0 (equal groups) to {_MOST_SKEW:g}")
    rng = random.Random(seed)
    weights = [math.exp(skew * rng.gauss(0, 1)) for _ in range(count)]
    shares = [count * mean * weight / sum(weights) for weight in weights]
    rows = [int(share) for share in shares]
    by_loss = sorted(range(count), key=lambda number: (rows[number] - shares[number], number))
    for number in by_loss[: count * mean - sum(rows)]:
        rows[number] += 1
    return tuple(rows)


def parse_sizes(text: str | int) -> list[AnyShape]:
    """Parse sizes separated by commas. A single number means a cube. Raises UsageError."""
    items = _parse_items(text)
    check_plans(sum(map(len, items)))
    return [shape for item in items for shape in item]


_LABEL = re.compile(r"\d+ groups of \d+(-\d+)?(x\d+){2}")


def parse_shown_sizes(text: str) -> list[AnyShape | str]:
    """Parse sizes as parse_sizes does, and keep those of many groups as tables show them. Raises UsageError."""
    items = [item.strip() for item in text.split(",")]
    labels: list[AnyShape | str] = [item for item in items if _LABEL.fullmatch(item)]
    others = ",".join(item for item in items if item not in labels)
    return labels + (parse_sizes(others) if others or not labels else [])


@dataclass(frozen=True)
class Sizes:
    """The shapes to measure and the text in which they were written."""

    text: str
    shapes: tuple[AnyShape, ...]


def read_sizes(written: str | int | Sequence[int | str | Shape] | Sizes) -> Sizes:
    """Read sizes in the forms that --sizes and the Python interface accept. Raises UsageError."""
    if isinstance(written, Sizes):
        return written
    text = _format_sizes(written)
    return Sizes(text, tuple(parse_sizes(text)))


def _format_sizes(sizes: str | int | Sequence[int | str | Shape]) -> str:
    if isinstance(sizes, str | int | Integral):
        return str(sizes)
    if isinstance(sizes, tuple) and len(sizes) == 3 and all(isinstance(size, Integral) for size in sizes):
        one, three = f"[{sizes}]", list(sizes)
        raise UsageError(f"sizes={sizes} is ambiguous; write {one} for one problem M, N, K or {three} for three cubes")
    listed = ",".join(_format_size(size) for size in sizes)
    if not listed:
        raise UsageError("sizes is empty; leave it out for the sizes of the config")
    return listed


def _format_size(size: object) -> str:
    if isinstance(size, Integral | str):
        return str(size)
    if isinstance(size, tuple | list) and len(size) == 3:
        return "x".join(map(str, size))
    raise UsageError(f"{size!r} is not a size; write 1024, (1024, 768, 512) for M, N, K, or text such as '64*512'")


def count_sizes(text: str | int) -> int:
    """Count sizes without listing them. Raises UsageError."""
    return sum(map(len, _parse_items(text)))


def check_shape(written: Sequence[int]) -> None:
    """Raise UsageError unless the list is a valid M, N and K."""
    if len(written) != 3:
        raise UsageError(f"shapes: {written} should be [M, N, K]")
    for part in written:
        _check_part(str(part), "x".join(map(str, written)))


def check_size(written: int) -> None:
    """Raise UsageError unless the number is a valid size."""
    _check_part(str(written), str(written))


@dataclass(frozen=True)
class _Item:
    """One item of a list of sizes: groups, or one shape or a range of cubes, each of them `count` times."""

    count: int
    shapes: tuple[Shape, ...] | range
    groups: AnyShape | None = None

    def __len__(self) -> int:
        return 1 if self.groups else len(self.shapes)

    def __iter__(self) -> Iterator[AnyShape]:
        if self.groups:
            yield self.groups
        for each in self.shapes:
            yield make_shape(self.count, (each, each, each) if isinstance(each, int) else each)


def _parse_items(text: str | int) -> list[_Item]:
    return [_parse_item(item.strip()) for item in str(text).split(",")]


def _parse_item(item: str) -> _Item:
    if re.fullmatch(r"-?\d+(\+-?\d+)+(x-?\d+){2}", item):
        rows, n, k = item.split("x")
        for each in rows.split("+"):
            check_digits(f"size '{item[:20]}...'", each)
        shown = _shorten(item)
        groups = make_groups(
            [int(each) for each in rows.split("+")], _check_part(n, shown), _check_part(k, shown), shown
        )
        return _Item(1, (), groups)
    if several := re.fullmatch(r"\d+\*(\d+(\+\d+)+(x\d+){2})", item):
        raise UsageError(f"size '{_shorten(item)}': groups cannot form a batch; write {_shorten(several[1])}")
    if "+" in item:
        raise UsageError(
            f"size '{_shorten(item)}': cannot read these groups; write rows+rows+...xNxK, such as 512+0+33x768x512"
        )
    before, mark, size = item.rpartition("*")
    if mark and not re.fullmatch(r"-?\d+", before):
        fault = f"size '{_shorten(item)}': '{_shorten(before)}' is not a number of products"
        raise UsageError(f"{fault}; write 64*512 for 64 of them")
    return _Item(check_count(before, item) if mark else 1, _parse_shapes(size, item))


def _shorten(item: str) -> str:
    """Return a size as messages show it: its start, if it is long."""
    return item if len(item) <= _MOST_SHOWN else f"{item[:_MOST_SHOWN]}..."


def check_count(count: int | str, written: str = "") -> int:
    """Return the number of products in a batch. Raises UsageError if there are none or too many."""
    if re.fullmatch("-.*|0+", str(count)):
        place = f"size '{written}'" if written else f"count {count}"
        raise UsageError(f"{place}: a batch of {count} products; write at least 1")
    return _check_part(str(count), written or str(count))


def _parse_shapes(size: str, item: str) -> tuple[Shape, ...] | range:
    if re.fullmatch(r"-?\d+", size):
        side = _check_part(size, item)
        return ((side, side, side),)
    if re.fullmatch(r"-?\d+(x-?\d+){2}", size):
        m, n, k = (_check_part(part, item) for part in size.split("x"))
        return ((m, n, k),)
    if re.fullmatch(r"-?\d+:-?\d+:-?\d+", size):
        first, last, step = (_check_part(part, item) for part in size.split(":"))
        if first > last:
            raise UsageError(f"size '{item}': the start is above the end; {_FORMS}")
        sizes = range(first, last + 1, step)
        if len(sizes) > MOST:
            raise UsageError(
                f"size '{item}': {len(sizes)} sizes are too many; at most {MOST} are allowed; use a larger step"
            )
        return sizes
    if re.fullmatch(r"-?\d+:-?\d+", size):
        raise UsageError(f"size '{item}' lacks a step; write START:STOP:STEP, such as {size}:512")
    place = "" if size == item else f"size '{item}': "
    raise UsageError(f"{place}'{_shorten(size)}' is not a size; {_FORMS}")


def _check_part(part: str, item: str) -> int:
    if len(part) > 20:
        raise UsageError(f"size '{item[:20]}...': {len(part)} digits are too many; the largest size is {LARGEST}")
    value = int(part)
    if value < 1:
        raise UsageError(f"size '{item}': {value} is not positive; a matrix needs at least one row and column")
    if value > LARGEST:
        limit = f"the largest size is {LARGEST}, which fits in a kernel's int"
        raise UsageError(f"size '{item}': {value} is too large; {limit}")
    return value
