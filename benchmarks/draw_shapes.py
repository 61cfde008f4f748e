"""Draw shapes of problems, and write a config that compares sgemm with the libraries at them.

    python benchmarks/draw_shapes.py 7               writes configs/shapes_drawn_7.yaml
    python benchmarks/record.py shapes_drawn_7       measures it, into results/DEVICE/DATE-shapes_drawn_7.jsonl.gz

A draw is named after its seed: the same number gives the same shapes. The page of shapes pools all draws that were
measured, so no draw is deleted or repeated. Draw only after the kernels and picks are fixed.

The kinds are those of configs/shapes_60.yaml: sides drawn log-uniformly, at multiples of 8 and at any number; one
side of at most 16; one side of at most 64; K of at most 64; and layers of language models with few rows.
"""

import argparse
import math
import random
from collections.abc import Callable
from pathlib import Path

from gemmbench.planning.files import data_folder

Shape = tuple[int, int, int]
# Sides of weights of language models, inputs and outputs, and rows of a batch of tokens.
WEIGHTS = (2048, 4096, 5120, 6144, 8192, 11008, 14336, 28672)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 2048)
COUNT = 60
MOST_OPERATIONS, MOST_ELEMENTS = 10**12, 2 * 10**8  # of a product, and of its three matrices

CONFIG = """\
# yaml-language-server: $schema=config.schema.json
# Shapes that sgemm was not tuned on, written by benchmarks/draw_shapes.py {seed}.
summary: {count} shapes in f32, drawn with seed {seed}
shapes:
{shapes}
variants: [sgemm, cublas, {{cublaslt: all}}]
baseline: cublas
measure: {{max_time: 0.4, until: 1%}}
on_cpu:
  sizes: [256]
  shapes: []
  variants: [sgemm_pipelined, openblas]
  baseline: openblas
"""


def draw_side(source: random.Random, least: int, most: int) -> int:
    """Return a side drawn log-uniformly; half of the sides are multiples of 8 where there is room for one."""
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
    """Return `count` different shapes, with the same number of each kind as far as the count divides."""
    source = random.Random(seed)
    shapes: list[Shape] = []
    while len(shapes) < count:
        m, n, k = shape = KINDS[len(shapes) % len(KINDS)](source)
        fits = 2 * m * n * k <= MOST_OPERATIONS and m * n + n * k + m * k <= MOST_ELEMENTS
        if fits and shape not in shapes:
            shapes.append(shape)
    return shapes


def format_config(seed: int) -> str:
    """The text of the config of a draw."""
    shapes = "\n".join(f"  - {list(shape)}" for shape in draw_shapes(COUNT, seed))
    return CONFIG.format(count=COUNT, seed=seed, shapes=shapes)


def main() -> None:
    """Write the config."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int, metavar="N", help="number of the draw, the seed of its shapes")
    parser.add_argument("--out", type=Path, default=data_folder("configs"), help="folder of the config")
    arguments = parser.parse_args()
    path = arguments.out / f"shapes_drawn_{arguments.seed}.yaml"
    path.write_text(format_config(arguments.seed), encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
