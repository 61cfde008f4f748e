"""What nvcc makes of every rung of the FP32 ladder: registers, and the instructions of the main loop.

Run `python benchmarks/ladder_code.py`; it needs nvcc and cuobjdump, but no GPU. The table goes to the
screen and to ladder_code.csv in the folder given by --out (default: results). The kernels are compiled
for sm_90 in their default configurations.
"""

import argparse
from pathlib import Path

from tables import show_table

from gemmbench.analysis.sass_facts import LoopFacts
from gemmbench.analysis.toolkit import find_nvcc, nvcc_version
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.sweeps.overrides import Selection
from gemmbench.session.single_kernel import choose_architecture, inspect_kernel, read_hottest_loops

HEAD = (
    "kernel",
    "configuration",
    "registers",
    "loop",
    "FFMA (%)",
    "shared loads per FFMA",
    "bank conflicts (%)",
    "bound (TFLOPS)",
)


def list_rungs() -> list[str]:
    """The kernels of the ladder in order, without `sgemm`, which only chooses one of them."""
    folders = [data_folder("cuda"), data_folder("cuda") / "sgemm"]
    found = [Catalog([data_folder("cuda")]).get(path.stem) for folder in folders for path in folder.glob("*.cu")]
    return [variant.name for variant in sorted(found, key=lambda variant: variant.order) if not variant.picks]


def describe(name: str) -> list[str]:
    """One line of the table: of the launch whose loop has the most arithmetic."""
    inspected = inspect_kernel(Selection((name,)), choose_architecture("90", None))
    loops = read_hottest_loops(inspected, None).readings
    launches = [each for each in zip(inspected.inspections, loops, strict=True) if each[1].facts]
    launch, loop = max(launches, key=lambda each: each[1].facts.loop.math if each[1].facts else 0)
    assert loop.facts is not None and loop.peak is not None
    bound = loop.speeds["bound"] * loop.peak.flops / 1e12
    return [name, str(launch.plan.config), str(launch.build.registers), *count(loop.facts), f"{bound:.1f}"]


def count(facts: LoopFacts) -> list[str]:
    """Instructions, share of FFMA, shared loads per FFMA, and the share of FFMA that read a bank twice."""
    ffma, total = facts.mix["FFMA"], facts.instructions
    shares = f"{100 * ffma / total:.1f}", f"{facts.mix['shared loads'] / ffma:.2f}"
    return [str(total), *shares, f"{100 * facts.conflicts / ffma:.1f}"]


def main() -> None:
    """Print a line per rung."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for ladder_code.csv")
    path, rungs = parser.parse_args().out / "ladder_code.csv", list_rungs()
    compiler = f"compiled for sm_90 by nvcc {nvcc_version(find_nvcc())}"
    show_table(HEAD, [describe(name) for name in rungs], path, rungs, compiler)


if __name__ == "__main__":
    main()
