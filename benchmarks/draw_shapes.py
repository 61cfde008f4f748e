"""Draw shapes of problems, and write a config that compares a kernel with the libraries at them.

    python benchmarks/draw_shapes.py 7                         writes configs/shapes_drawn_7.yaml: sgemm, layout nn
    python benchmarks/draw_shapes.py 7 --precision f32         writes configs/shapes_drawn_f32_7.yaml: all layouts
    python benchmarks/draw_shapes.py 7 --precision bf16        writes configs/shapes_drawn_bf16_7.yaml: tgemm
    python benchmarks/record.py shapes_drawn_7                 measures it

A draw is named after its seed: the same number gives the same shapes. With a precision, they have the four layouts in
turn, except in fp8, which the libraries have in nt only. The page of shapes pools all draws that were measured, so no
draw is deleted or repeated. Draw only after the kernels and picks are fixed.
"""

import argparse
from pathlib import Path

from gemmbench.planning.drawn_shapes import draw_shapes
from gemmbench.planning.files import data_folder

FP8 = ("e4m3", "e4m3_fast")
COUNTS = {"f16": 20, **dict.fromkeys(FP8, 30)}
"""The number of shapes of a draw, where it is not 60."""

CONFIG = """\
# yaml-language-server: $schema=config.schema.json
# Shapes that {kernel} was not tuned on, written by benchmarks/draw_shapes.py {words}.
summary: {count} shapes in {precision}, drawn with seed {seed}
shapes:
{shapes}
{form}on_cpu:
  sizes: [256]
  shapes: []
{plain}  variants: [sgemm_pipelined, openblas]
  baseline: openblas
"""
IN_NN = "variants: [sgemm, cublas, {cublaslt: all}]\nbaseline: cublas\nmeasure: {max_time: 0.4, until: 1%}\n"
IN_F32 = "precisions: [f32]\nlayouts: [nn, nt, tn, tt]\nlayouts_in_turn: true\n" + IN_NN
ON_TENSOR_CORES = """\
precisions: [{precision}]
layouts: [nn, nt, tn, tt]
layouts_in_turn: true
variants: [tgemm, cublas, {{cublaslt: all}}]
baseline: cublas
measure: {{max_time: 0.1, until: 1%, sustained: 0}}
"""
IN_FP8 = """\
precisions: [{precision}]
layouts: [nt]
variants: [tgemm, {{cublaslt: all}}]
baseline: cublaslt
measure: {{max_time: 0.1, until: 1%, sustained: 0}}
"""


def format_config(seed: int, precision: str = "") -> str:
    """The text of the config of a draw: in f32 and layout nn without a precision."""
    count, is_f32 = COUNTS.get(precision, 60), precision in ("", "f32")
    of_tensor_cores = (IN_FP8 if precision in FP8 else ON_TENSOR_CORES).format(precision=precision)
    form = {"": IN_NN, "f32": IN_F32}.get(precision, of_tensor_cores)
    return CONFIG.format(
        kernel="sgemm" if is_f32 else "tgemm",
        words=f"{seed} --precision {precision}" if precision else seed,
        count=count,
        precision=precision or "f32",
        seed=seed,
        shapes="\n".join(f"  - {list(shape)}" for shape in draw_shapes(count, seed)),
        form=form,
        plain="  precisions: [f32]\n  layouts: [nn]\n" if precision else "",
    )


def main() -> None:
    """Write the config."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int, metavar="N", help="number of the draw, the seed of its shapes")
    parser.add_argument("--precision", default="", choices=["f32", "bf16", "f16", "tf32", *FP8])
    parser.add_argument("--out", type=Path, default=data_folder("configs"), help="folder of the config")
    arguments = parser.parse_args()
    name = "_".join(filter(None, ("shapes_drawn", arguments.precision, str(arguments.seed))))
    path = arguments.out / f"{name}.yaml"
    path.write_text(format_config(arguments.seed, arguments.precision), encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
