"""Shapes of problems drawn at random, of the kinds on which a choice of kernels loses most.

The kinds are those of configs/shapes_60.yaml: sides drawn log-uniformly, at multiples of 8 and at any number; one
side of at most 16; one side of at most 64; K of at most 64; and layers of language models with few rows. A seed always
gives the same shapes.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping

from gemmbench.planning.sizes import Shape

# Sides of weights of language models, inputs and outputs, and rows of a batch of tokens.
WEIGHTS = (2048, 4096, 5120, 6144, 8192, 11008, 14336, 28672)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 2048)
_MOST_TRIES = 10_000
MOST_OPERATIONS, MOST_ELEMENTS = 10**12, 2 * 10**8  # of a product, and of its three matrices


def _draw_side(source: random.Random, least: int, most: int) -> int:
    """Return a side drawn log-uniformly; half of the sides are multiples of 8 where there is room for one."""
    side = round(math.exp(source.uniform(math.log(least), math.log(most))))
    multiple = side // 8 * 8
    return multiple if multiple >= least and source.random() < 0.5 else side


def _draw_any(source: random.Random) -> Shape:
    """Return three independent sides."""
    return _draw_side(source, 32, 16384), _draw_side(source, 32, 16384), _draw_side(source, 32, 16384)


def _draw_narrow(source: random.Random, most: int) -> Shape:
    """Return a shape with at most `most` rows or columns."""
    side, other, depth = _draw_side(source, 1, most), _draw_side(source, 256, 16384), _draw_side(source, 64, 16384)
    return (side, other, depth) if source.random() < 0.5 else (other, side, depth)


def _draw_flat(source: random.Random) -> Shape:
    """Return a shape with K of at most 64."""
    return _draw_side(source, 64, 16384), _draw_side(source, 64, 4096), _draw_side(source, 1, 64)


def _draw_layer(source: random.Random) -> Shape:
    """Return a layer of a language model."""
    return source.choice(ROWS), source.choice(WEIGHTS), source.choice(WEIGHTS[:-1])


KINDS: Mapping[str, Callable[[random.Random], Shape]] = {
    "any": _draw_any,
    "at most 16 rows or columns": lambda source: _draw_narrow(source, 16),
    "at most 64 rows or columns": lambda source: _draw_narrow(source, 64),
    "K at most 64": _draw_flat,
    "layer": _draw_layer,
}


def generate_shapes(seed: int) -> Iterator[tuple[str, Shape]]:
    """Yield different shapes with their kinds, each kind in turn, without end. A kind that is used up is left out."""
    source, known = random.Random(seed), set[Shape]()
    for kind in itertools.cycle(KINDS):
        for _ in range(_MOST_TRIES):
            m, n, k = shape = KINDS[kind](source)
            fits = 2 * m * n * k <= MOST_OPERATIONS and m * n + n * k + m * k <= MOST_ELEMENTS
            if fits and shape not in known:
                known.add(shape)
                yield kind, shape
                break


def draw_shapes(count: int, seed: int) -> list[Shape]:
    """Return `count` different shapes, with the same number of each kind as far as the count divides."""
    return [shape for _, shape in itertools.islice(generate_shapes(seed), count)]
