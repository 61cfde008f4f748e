"""Draw shapes of problems as they occur, and print a config that compares sgemm with the libraries at them.

    python benchmarks/draw_shapes.py --seed 7 > shapes.yaml
    gemmbench run -c shapes.yaml

The kinds are those of configs/shapes_60.yaml: sides drawn log-uniformly, at multiples of 8 and at any number; one
side of at most 16; one side of at most 64; K of at most 64; and layers of language models with few rows. The same
seed gives the same shapes.
"""

import argparse
import math
import random
from collections.abc import Callable

Shape = tuple[int, int, int]
# Sides of weights of language models, inputs and outputs, and rows of a batch of tokens.
WEIGHTS = (2048, 4096, 5120, 6144, 8192, 11008, 14336, 28672)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 2048)
MOST_OPERATIONS, MOST_ELEMENTS = 10**12, 2 * 10**8  # of a product, and of its three matrices

HEAD = """\
summary: {count} shapes in f32 drawn with seed {seed}
shapes:
{shapes}
variants: [sgemm, cublas, {{cublaslt: all}}]
baseline: cublas
measure: {{max_time: 0.4, until: 1%}}"""


def draw_side(source: random.Random, least: int, most: int) -> int:
    """Return a side, log-uniform, with even chances a multiple of 8 where there is room for one."""
    side = round(math.exp(source.uniform(math.log(least), math.log(most))))
    multiple = side // 8 * 8
    return multiple if multiple >= least and source.random() < 0.5 else side


def draw_any(source: random.Random) -> Shape:
    """Return three independent sides."""
    return draw_side(source, 32, 16384), draw_side(source, 32, 16384), draw_side(source, 32, 16384)


def draw_narrow(source: random.Random, most: int) -> Shape:
    """Return a shape with at most `most` rows or columns."""
    side, other, depth = draw_side(source, 1, most), draw_side(source, 256, 16384), draw_side(source, 64, 16384)
    return (side, other, depth) if source.random() < 0.5 else (other, side, depth)


def draw_flat(source: random.Random) -> Shape:
    """Return a shape with K of at most 64."""
    return draw_side(source, 64, 16384), draw_side(source, 64, 4096), draw_side(source, 1, 64)


def draw_layer(source: random.Random) -> Shape:
    """Return a layer of a language model."""
    return source.choice(ROWS), source.choice(WEIGHTS), source.choice(WEIGHTS[:-1])


KINDS: tuple[Callable[[random.Random], Shape], ...] = (
    draw_any,
    lambda source: draw_narrow(source, 16),
    lambda source: draw_narrow(source, 64),
    draw_flat,
    draw_layer,
)


def draw_shapes(count: int, seed: int) -> list[Shape]:
    """Return `count` different shapes, the same number of each kind, as far as that divides."""
    source = random.Random(seed)
    shapes: list[Shape] = []
    while len(shapes) < count:
        m, n, k = shape = KINDS[len(shapes) % len(KINDS)](source)
        fits = 2 * m * n * k <= MOST_OPERATIONS and m * n + n * k + m * k <= MOST_ELEMENTS
        if fits and shape not in shapes:
            shapes.append(shape)
    return shapes


def main() -> None:
    """Print the config."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="seed of the shapes")
    parser.add_argument("--count", type=int, default=60, help="number of shapes")
    arguments = parser.parse_args()
    shapes = "\n".join(f"  - {list(shape)}" for shape in draw_shapes(arguments.count, arguments.seed))
    print(HEAD.format(count=arguments.count, seed=arguments.seed, shapes=shapes))


if __name__ == "__main__":
    main()
