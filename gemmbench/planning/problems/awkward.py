"""The problems of `verify`: shapes where kernels break, and one change of every parameter."""

from __future__ import annotations

from collections.abc import Sequence

from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Config
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.problems.sizes import Shape

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
# For the sanitizer, which slows launches a hundred times: one shape that fits no tile, and one of whole tiles.
SANITIZED: tuple[Shape, ...] = ((33, 65, 17), (256, 256, 64))
ALPHA, BETA = 1.5, -0.5


def make_problems(
    variant: Variant, shapes: Sequence[Shape], layouts: Sequence[str], precisions: Sequence[str]
) -> list[Problem]:
    """Return every combination, with an alpha and a beta that the kernel cannot ignore unnoticed, if it takes them."""
    alpha = ALPHA if variant.call.takes("alpha") else 1.0
    beta = BETA if variant.call.takes("beta") else 0.0
    return [
        Problem(*shape, layout=layout, precision_name=kind, alpha=alpha, beta=beta)
        for kind in precisions
        for layout in layouts
        for shape in shapes
    ]


def change_each_parameter(variant: Variant) -> list[Config]:
    """Return the default configuration, then every other value of each parameter with the rest at default."""
    default = variant.default()
    configs = [Config(tuple(default.items()))]
    for name, values in variant.params:
        configs += [Config(tuple({**default, name: value}.items())) for value in values[1:]]
    return configs
