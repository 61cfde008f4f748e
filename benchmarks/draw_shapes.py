"""Draw shapes of problems, and write a config that compares sgemm with the libraries at them.

    python benchmarks/draw_shapes.py 7               writes configs/shapes_drawn_7.yaml
    python benchmarks/record.py shapes_drawn_7       measures it, into results/DEVICE/DATE-shapes_drawn_7.jsonl.gz

A draw is named after its seed: the same number gives the same shapes. The page of shapes pools all draws that were
measured, so no draw is deleted or repeated. Draw only after the kernels and picks are fixed.
"""

import argparse
from pathlib import Path

from gemmbench.planning.drawn_shapes import draw_shapes
from gemmbench.planning.files import data_folder

COUNT = 60

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
