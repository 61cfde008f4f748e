"""Configurations: the parameter values with which a variant is tried, and the awkward problems of `verify`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, overload

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.epilogues import EPILOGUE_STEPS
from gemmbench.planning.manifests.expressions import Expression, ExpressionError
from gemmbench.planning.manifests.variant import ALL, GROUPS, MANY, ONE, PADDED, SEPARATE_C, Params, Variant
from gemmbench.planning.plans.plan import Config
from gemmbench.planning.precisions import Precision, find_precision
from gemmbench.planning.problems import Problem, make_problem
from gemmbench.planning.sizes import AnyShape, Groups, One, Shape, check_configurations, make_shape


class Configurations(Sequence[Config]):
    """Every combination of parameter values. Each one is made only when it is requested."""

    def __init__(self, axes: Mapping[str, Sequence[int]]):
        self._axes = [[(name, value) for value in values] for name, values in axes.items()]

    def __len__(self) -> int:
        return math.prod(map(len, self._axes))

    def __iter__(self) -> Iterator[Config]:
        return map(Config, itertools.product(*self._axes))

    @overload
    def __getitem__(self, index: int) -> Config: ...
    @overload
    def __getitem__(self, index: slice) -> list[Config]: ...
    def __getitem__(self, index: int | slice) -> Config | list[Config]:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        rest, values = range(len(self))[index], []
        for axis in reversed(self._axes):
            rest, place = divmod(rest, len(axis))
            values.append(axis[place])
        return Config(tuple(reversed(values)))


def list_configurations(variant: Variant, params: Params) -> Configurations:
    """Return every combination of the chosen values. Other parameters keep their defaults.

    Raises UsageError if there are too many.
    """
    axes = {name: params.get(name, declared if ALL in params else declared[:1]) for name, declared in variant.params}
    check_configurations(variant.name, math.prod(map(len, axes.values())))
    return Configurations(axes)


def count_configurations(variant: Variant) -> int:
    """Count the configurations that the manifest allows for any problem and device."""
    allowed: list[dict[str, int]] = [{}]
    pending = list(variant.require)
    for name, values in [("", (0,)), *variant.params]:  # the first turn checks rules without parameters
        longer = [{**chosen, name: value} for chosen in allowed for value in values]
        # A rule is checked as soon as its parameters have values, which spares most combinations of the rest.
        rules = [rule for rule in pending if longer and longer[0].keys() >= set(rule.names)]
        pending = [rule for rule in pending if rule not in rules]
        allowed = [chosen for chosen in longer if all(_holds(rule, chosen) for rule in rules)]
    return len(allowed)


def _holds(rule: Expression, values: Mapping[str, int]) -> bool:
    try:
        return bool(rule.value(values))
    except ExpressionError:
        return False


def check_params(chosen: Sequence[tuple[Variant, Params]]) -> None:
    """Raise UsageError for a parameter that none of the chosen kernels has."""
    known = {name for variant, _ in chosen for name, _ in variant.params}
    for _, params in chosen:
        for name in params:
            if name != ALL and name not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise UsageError(
                    f"none of the chosen kernels has a parameter '{name}'{nearest(name, known)}; known: {listed}"
                )


# One element, primes, one off a tile on both sides, a long side in each direction, M != N != K.
SHAPES: tuple[Shape, ...] = (
    (1, 1, 1),
    (17, 17, 17),
    (127, 127, 127),
    (129, 129, 129),
    (31, 61, 97),
    (1000, 17, 129),
    (17, 1000, 127),
    (33, 65, 1000),
    (1, 257, 64),
    (257, 1, 64),
    (64, 128, 1),
)
LARGE: Shape = (1000, 1000, 1000)
AWKWARD: Shape = (31, 61, 97)
"""The shape that is tried before a kernel is timed. Its sides are different primes, so no tile fits."""
WATCHED: tuple[Shape, ...] = ((129, 67, 50), (68, 132, 52))
"""Shapes for watching accesses. One has M > N, the other M < N. Both have several tiles, none of which fits.

Vectors of four fit the second shape.
"""
HUGE: Shape = (1 << 16, 1 << 16, 32)
"""A shape on which the index of an element of C overflows an int."""
_STEPS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_LARGER, _LEAST_TILES = 8, (2, 3, 1)
"""How many times as long the sides are that are tried last, and the least number of steps along M, N and K."""
# For the sanitizer, which slows launches a hundred times: one shape that fits no tile, and one of whole tiles.
SANITIZED: tuple[Shape, ...] = ((33, 65, 17), (256, 256, 64))
ALPHA, BETA = 1.5, -0.5
_WHOLE = 3.0, -2.0
"""The same of integers."""


_FIXED = re.compile(r"([MNK]) == (\d+)")
"""A rule, or a part of one, that fixes a side to one value."""


def adapt_shape(shape: Shape, is_allowed: Callable[[Shape], bool], rules: Sequence[Expression] = ()) -> Shape | None:
    """Return the shape if it is allowed, or else one near it or 8 times as long; None if none is allowed.

    Sides are rounded up to the smallest multiples that are allowed, and stay different if they were. A side that must
    be a multiple becomes several times the step, so that there are several tiles. A square is tried last. If `rules`
    fix a side to one value, it has that value.
    """
    parts = (part for rule in rules if " or " not in rule.text for part in rule.text.split(" and "))
    written = (found for part in parts if (found := _FIXED.fullmatch(part.strip(" ()"))))
    fixed = {"MNK".index(found[1]): int(found[2]) for found in written}

    def fix(shape: Shape) -> Shape:
        M, N, K = (fixed.get(place, side) for place, side in enumerate(shape))
        return M, N, K

    def is_fixed_allowed(shape: Shape) -> bool:
        return is_allowed(fix(shape))

    if is_fixed_allowed(shape):
        return fix(shape)
    for factor in (1, _LARGER):
        M, N, K = (factor * side for side in shape)
        if steps := _find_steps((M, N, K), is_fixed_allowed):
            several = fix(_round_sides((M, N, K), steps, _LEAST_TILES))
            return several if is_allowed(several) else fix(_round_sides((M, N, K), steps))
    squares = (step * -(-factor * max(shape) // step) for factor in (1, _LARGER) for step in _STEPS)
    return next(((side, side, side) for side in squares if is_allowed((side, side, side))), None)


def _find_steps(shape: Shape, is_allowed: Callable[[Shape], bool]) -> Shape | None:
    """Find what the sides must be multiples of."""
    subsets = sorted(itertools.product((True, False), repeat=3), reverse=True)
    uniform = (tuple(step if each else 1 for each in chosen) for step in _STEPS for chosen in subsets)
    found = next((steps for steps in uniform if is_allowed(_round_sides(shape, steps))), None)
    if found is None:
        return None
    for place in range(3):
        smaller = ((*found[:place], step, *found[place + 1 :]) for step in _STEPS if step < found[place])
        found = next((steps for steps in smaller if is_allowed(_round_sides(shape, steps))), found)
    M, N, K = found
    return M, N, K


def _round_sides(shape: Shape, steps: Sequence[int], least: Sequence[int] = (1, 1, 1)) -> Shape:
    """Round the sides up to multiples, with at least this number of steps. Different sides stay different."""
    differ = len(set(shape)) == len(shape)
    rounded: list[int] = []
    for side, step, count in zip(shape, steps, least, strict=True):
        longer = step * max(-(-side // step), count if min(side, step) > 1 else 1)
        while differ and longer in rounded:
            longer += step
        rounded.append(longer)
    M, N, K = rounded
    return M, N, K


def make_problems(
    variant: Variant,
    shapes: Sequence[AnyShape],
    layouts: Sequence[str],
    precisions: Sequence[str],
    form: Mapping[str, Any] = MappingProxyType({}),
) -> list[Problem]:
    """Return every combination. `form` holds fields of all problems, as Selection.form does.

    Groups are left out in layouts whose rows of A are not contiguous, unless there is no other. If the kernel takes
    alpha and beta, their values are such that ignoring them shows.
    """
    by_rows = any(layout.startswith("n") for layout in layouts)
    return [
        make_problem(shape, layout, kind, *_choose_scalars(variant, kind), **form)
        for kind in precisions
        for layout in layouts
        for shape in shapes
        if not (isinstance(shape, Groups) and by_rows and layout.startswith("t"))
    ]


def _choose_scalars(variant: Variant, kind: str) -> tuple[float, float]:
    precision = find_precision(kind)
    if precision.is_exact:
        return _WHOLE if variant.takes_scalars(precision, *_WHOLE) else (1.0, float(variant.takes("beta")))
    return ALPHA if variant.takes("alpha") else 1.0, BETA if variant.takes("beta") else 0.0


_SEVERAL = 3
"""The number of products in a batch that is verified without being asked for."""
_PADDINGS = ({"A": 8, "B": 4, "C": 3, "D": 5}, {"A": 16, "B": 32, "C": 48, "D": 64})
"""The elements that follow each row, and those to try if a kernel's rules refuse them."""


def choose_shape(variant: Variant, shape: Shape) -> AnyShape:
    """Return the shape of a problem of `verify`: one product, unless the variant takes only batches or groups."""
    if ONE in variant.kinds:
        return One(*shape)
    return make_shape(_SEVERAL, shape) if MANY in variant.kinds else split_into_groups(shape)


_LONG = 451
"""The rows of groups of which the first and the last have several tiles."""
_FEW_GROUPS, MANY_GROUPS = 6, 130
"""How many groups are verified without being asked for. The second exceeds what a warp or a block of 128 threads can
look up at once, a group in each thread.
"""


def split_into_groups(shape: Shape, count: int = _FEW_GROUPS, ends: bool = False) -> AnyShape:
    """Return groups with the rows of a shape: two with most rows, one with one row, and empty ones around them.

    With `ends`, the two are the first and the last. If there are more than six, most of the others are empty, and the
    rest have one row each.
    """
    M, N, K = shape
    more = count - _FEW_GROUPS
    step = max(1, -(-2 * more // M))
    short = tuple(int(number % step == step - 1) for number in range(more))
    left = M - sum(short)
    some = (left - 1) * 2 // 5
    rest = left - 1 - some
    return Groups((some, 0, *short, 1, 0, 0, rest) if ends else (*short, 0, some, 1, 0, rest, 0), N, K)


def list_kinds(variant: Variant, precision_name: str) -> list[str]:
    """List the kinds of problems that a variant takes in a precision: scales belong to one product."""
    scaled = find_precision(precision_name).scales is not None
    return [kind for kind in variant.kinds if not (scaled and kind in (MANY, GROUPS))]


def list_declared_forms(variant: Variant, precision_name: str) -> list[list[Problem]]:
    """List the forms that a variant declares besides plain products: each one alone, and last all of them together.

    Each form is a list of problems of the awkward shape, of which the first that its rules allow should be verified.
    Several activations are tried one after the other. Steps that make fractions of integers are left out, and so are
    batches and groups of a precision with scales.
    """
    kinds = list_kinds(variant, precision_name)
    several, grouped, padded, apart = (kind in kinds for kind in (MANY, GROUPS, PADDED, SEPARATE_C))
    chains, usual = _list_chains(variant, find_precision(precision_name)), choose_shape(variant, AWKWARD)
    batch, groups = make_shape(_SEVERAL, AWKWARD), split_into_groups(AWKWARD)
    many_groups = split_into_groups(AWKWARD, MANY_GROUPS)
    long_groups = split_into_groups((_LONG, *AWKWARD[1:]), ends=True)

    def make(
        shape: AnyShape, epilogue: tuple[str, ...] = (), padded: bool = False, apart: bool = False
    ) -> list[Problem]:
        names = "ABCD" if apart else "ABC"
        rows = [tuple(f"{name}+{each[name]}" for name in names) for each in _PADDINGS] if padded else [()]
        return [make_problem(shape, "nn", precision_name, epilogue=epilogue, ld=ld, separate_c=apart) for ld in rows]

    shapes = [batch] * several + [groups, many_groups, long_groups] * grouped
    forms = [make(shape) for shape in shapes if shape != usual]
    forms += [make(usual, padded=True)] if padded else []
    forms += [make(usual, apart=True)] if apart else []
    forms += [make(usual, chain) for chain in chains]
    chain = chains[0] if chains else ()
    for shape in [batch] * several + [groups] * grouped or [usual]:
        together = make(shape, chain, padded, apart)
        forms += [together] if len(forms) > 1 and together not in forms else []
    return forms


def _list_chains(variant: Variant, precision: Precision) -> list[tuple[str, ...]]:
    """List epilogues of the steps that a variant can fuse: all of them with one activation each, and then in parts.

    An activation may be asked for alone, and the others without one.
    """
    known = [name for name in variant.list_fused(precision) if name in EPILOGUE_STEPS]
    fused = [name for name in known if EPILOGUE_STEPS[name].keeps_integers or not precision.is_exact]
    activations = [name for name in fused if EPILOGUE_STEPS[name].is_activation]
    chains = [tuple(name for name in fused if name == chosen or name not in activations)
              for chosen in activations or [""]]  # fmt: skip
    parts = [(chosen,) for chosen in activations] + [tuple(name for name in fused if name not in activations)]
    return [chain for chain in dict.fromkeys(chains + parts) if chain]


def change_each_parameter(variant: Variant) -> list[Config]:
    """Return the default configuration, and then each other value of each parameter with all others at default."""
    default = variant.default()
    configs = [Config(tuple(default.items()))]
    for name, values in variant.params:
        configs += [Config(tuple({**default, name: value}.items())) for value in values[1:]]
    return configs
