"""Other launches of a kernel, with arguments in a different order or a different grid or block. One may be right."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gemmbench.backends.base import Step
from gemmbench.planning.manifests.expressions import Expression
from gemmbench.planning.manifests.variant import Argument, Call, Structure, Variant
from gemmbench.planning.plans.plan import Geometry, PassedArgument, Plan

_SIZES = ("M", "N", "K")
_SWAPPED = {"A": "B", "B": "A"}
_COLUMN_MAJOR = {**_SWAPPED, "M": "N", "N": "M"}
_BLOCKS = (
    (16, 16),
    (32, 32),
    (8, 8),
    (32, 8),
    (8, 32),
    (16, 8),
    (8, 16),
    (32, 16),
    (16, 32),
    (32, 4),
    (64, 4),
    (4, 64),
)
_LIKELY = 4
"""The number of other grids and blocks to try before other orders of arguments."""
_LENGTHS = (256, 128, 64, 512, 32, 1024)
_MOST_THREADS = 1024


@dataclass(frozen=True)
class OtherLaunch:
    """A launch that `change` makes from a step. `words` complete "right if"."""

    words: str
    change: Callable[[Step], Step]


def list_other_launches(plan: Plan, blocks: bool = True) -> Iterator[OtherLaunch]:
    """Yield launches that a manifest may have meant instead, likeliest first. Libraries and host functions have none.

    If `blocks` is False, other blocks are left out.
    """
    variant = plan.variant
    if not variant.is_kernel or len(plan.launches) != 1:
        return
    geometries = _list_geometries(plan, blocks)
    yield from itertools.islice(geometries, _LIKELY)
    yield from _list_orders(plan)
    yield from geometries


def write_renamed_arguments(variant: Variant, renamed: Mapping[str, str]) -> str:
    """Write a variant's arguments with other names, such as `args were [A, B, C, M, K, N] (mine.yaml:7)`.

    Returns "" if no argument changes. `renamed` maps names to their replacements, for row-major matrices.
    """
    if variant.call.column_major:
        renamed = {_COLUMN_MAJOR.get(one, one): _COLUMN_MAJOR.get(other, other) for one, other in renamed.items()}
    names = _name_arguments(variant.call)
    changed = [renamed.get(name, name) for name in names]
    return _write_arguments(variant, changed) if changed != names else ""


def _write_arguments(variant: Variant, names: Sequence[str]) -> str:
    values = [argument.value for _, _, argument in variant.call.list_arguments()]
    left = iter(names)
    written = [_write_argument(each, left) for each in variant.call.args]
    lines = [value.line for value in values if isinstance(value, Expression)]
    return f"args were [{', '.join(written)}]{_cite(variant, lines)}"


def _write_argument(written: Argument | Structure, names: Iterator[str]) -> str:
    """Write the value of a parameter, using the next of these names."""
    if isinstance(written, Argument):
        return next(names)
    return f"{{{', '.join(f'{field}: {next(names)}' for field, _ in written.fields)}}}"


def _cite(variant: Variant, lines: Sequence[int]) -> str:
    known = [line for line in lines if line]
    return f" ({variant.path}:{min(known)})" if known else ""


def _name_arguments(call: Call) -> list[str]:
    """Return the role or value of every argument, including those in structures."""
    return [argument.role or str(argument.value) for _, _, argument in call.list_arguments()]


def _list_orders(plan: Plan) -> Iterator[OtherLaunch]:
    """Yield launches with the sizes among the arguments in a different order, with and without A and B exchanged."""
    call = plan.variant.call
    if len({plan.problem.M, plan.problem.N, plan.problem.K}) < len(_SIZES):
        return
    names = _name_arguments(call)
    places = [at for at, name in enumerate(names) if name in _SIZES and plan.arguments[at].role == ""]
    exchanges = (False, True) if "A" in names and "B" in names else (False,)
    seen = {(False, tuple(range(len(names))))}
    for exchanged, order in itertools.product(exchanges, _list_permutations(names, places)):
        if (exchanged, order) in seen:
            continue
        seen.add((exchanged, order))
        written = [names[at] for at in order]
        if exchanged:
            written = [_SWAPPED.get(name, name) for name in written]
        arguments = tuple(
            plan.arguments[at] if name not in _SIZES else _take_value(plan.arguments[at], plan.arguments[source])
            for at, (name, source) in enumerate(zip(names, order, strict=True))
        )
        yield OtherLaunch(_write_arguments(plan.variant, written), _Reordered(arguments, exchanged))


def _list_permutations(names: Sequence[str], places: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield, for each argument, the one whose value it takes: sizes are renamed everywhere, or two are exchanged."""
    identity = list(range(len(names)))
    yield tuple(identity)
    present = [name for name in _SIZES if any(names[at] == name for at in places)]
    for chosen in itertools.permutations(present):
        renamed = dict(zip(present, chosen, strict=True))
        first = {name: next(at for at in places if names[at] == name) for name in present}
        yield tuple(first[renamed[names[at]]] if at in places else at for at in identity)
    for one, other in itertools.combinations(places, 2):
        order = list(identity)
        order[one], order[other] = other, one
        if names[one] != names[other]:
            yield tuple(order)


def _take_value(argument: PassedArgument, source: PassedArgument) -> PassedArgument:
    return replace(argument, value=source.value)


@dataclass(frozen=True)
class _Reordered:
    """Changes the arguments of a step, and may exchange its A and B."""

    arguments: tuple[PassedArgument, ...]
    exchanged: bool

    def __call__(self, step: Step) -> Step:
        sets = tuple({**each, "A": each["B"], "B": each["A"]} for each in step.sets) if self.exchanged else step.sets
        return replace(step, plan=replace(step.plan, arguments=self.arguments), sets=sets)


@dataclass(frozen=True)
class _Reshaped:
    """Changes the grid and block of a step."""

    geometry: Geometry

    def __call__(self, step: Step) -> Step:
        launches = ((step.plan.launches[0][0], self.geometry),)
        return replace(step, plan=replace(step.plan, geometry=self.geometry, launches=launches))


def _list_geometries(plan: Plan, blocks: bool) -> Iterator[OtherLaunch]:
    """Yield launches with the lines of the grid or block exchanged, and with other blocks."""
    geometry, launch = plan.launches[0][1], plan.variant.launch
    assert launch is not None, "it has one launch"
    (x, y, z), (width, height, depth) = geometry.grid, geometry.block
    grid, block = (_cite(plan.variant, [each.line for each in lines]) for lines in (launch.grid, launch.block))
    turned, turned_block = replace(geometry, grid=(y, x, z)), (height, width, depth)
    if x != y and len(launch.grid) > 1:
        yield OtherLaunch(f"the lines of grid changed places{grid}", _Reshaped(turned))
    for chosen in _list_blocks(geometry) if blocks else ():
        words = f"block were [{', '.join(map(str, chosen if len(launch.block) > 1 else chosen[:1]))}]{block}"
        yield OtherLaunch(words, _Reshaped(replace(geometry, block=(*chosen, depth))))
    if x != y and width != height and len(launch.grid) > 1:
        yield OtherLaunch(
            f"the lines of grid and of block changed places{grid}", _Reshaped(replace(turned, block=turned_block))
        )


def _list_blocks(geometry: Geometry) -> Iterator[tuple[int, int]]:
    """Yield other sizes of a block. They have two dimensions if the block has two."""
    width, height, depth = geometry.block
    if height == 1:
        yield from ((length, 1) for length in _LENGTHS if length != width and length * depth <= _MOST_THREADS)
        return
    chosen = dict.fromkeys([(height, width), *_BLOCKS])
    chosen.pop((width, height), None)
    yield from (each for each in chosen if each[0] * each[1] * depth <= _MOST_THREADS)
