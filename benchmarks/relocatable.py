"""Why code for a linker can be faster: the machine code that ptxas generates for the same tiles, compiled in four ways.

Run `python benchmarks/relocatable.py`; it needs nvcc and cuobjdump, but no GPU. The table is printed and also written
to relocatable.csv in the folder given by --out (default: results). The kernel is `blocktile_2d` for sm_90.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

from tables import show_table

from gemmbench.analysis.sass_facts import LoopFacts
from gemmbench.analysis.sass_loops import find_hottest_loop, parse_kernels
from gemmbench.analysis.toolkit import find_cuobjdump, find_nvcc
from gemmbench.backends.sources import compiler_text
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Config, Plan, Target
from gemmbench.planning.problems import Problem

HEAD = ("compiled", "registers", "from a shared load to its use, median (instructions)")
TILES = {"BM": 128, "BN": 128, "BK": 32, "TM": 8, "TN": 8}
BOUNDS = "__launch_bounds__(THREADS)"
WAYS = {
    "nvcc -cubin": ((), BOUNDS),
    "nvcc -cubin -rdc=true": (("-rdc=true",), BOUNDS),
    "nvcc -cubin -maxrregcount=128": (("-maxrregcount=128",), BOUNDS),
    "nvcc -cubin, __launch_bounds__(THREADS, 1)": ((), BOUNDS.replace(")", ", 1)")),
}


def write_source() -> str:
    """The text of the kernel with its macros."""
    variant = Catalog([data_folder("cuda")]).get("blocktile_2d")
    target = Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36)
    chosen = [(variant, [Config(tuple(TILES.items()))])]
    (plan,) = make_plans([Problem(4096, 4096, 4096)], chosen, "cuda", {"cuda": target}, lambda *_: "")
    assert isinstance(plan, Plan)
    return compiler_text(plan)


def describe(way: str, source: str, folder: Path) -> list[str]:
    """One line of the table."""
    options, bounds = WAYS[way]
    path, code = folder / "kernel.cu", folder / "kernel.cubin"
    path.write_text(source.replace(BOUNDS, bounds), encoding="utf-8")
    command = [find_nvcc(), "-arch=sm_90", "-cubin", *options, "-Xptxas", "-v", "-o", str(code), str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    sass = subprocess.run([find_cuobjdump(), "--dump-sass", str(code)], capture_output=True, text=True, check=True)
    (instructions,) = parse_kernels(sass.stdout).values()
    loop = find_hottest_loop(instructions)
    assert loop is not None
    (registers,) = re.findall(r"Used (\d+) registers", said)
    return [way, registers, str(LoopFacts(loop).median_distance)]


def main() -> None:
    """Print a line per way to compile."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for relocatable.csv")
    out, source = parser.parse_args().out, write_source()
    with tempfile.TemporaryDirectory() as folder:
        rows = [describe(way, source, Path(folder)) for way in WAYS]
    show_table(HEAD, rows, out / "relocatable.csv", ["blocktile_2d"])


if __name__ == "__main__":
    main()
