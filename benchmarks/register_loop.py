"""The limit set by the shape of a thread tile: outer products in registers, with no memory access at all.

Run `python benchmarks/register_loop.py` on a machine with an NVIDIA GPU (about ten seconds). The table is printed and
also written to register_loop.csv in the folder given by --out (default: results). With --dry-run nothing is measured,
so no GPU is needed; the table has only the registers and the bank conflicts in the machine code.
"""

import argparse
import subprocess
from pathlib import Path

from probe import Probe, compile_probe
from tables import show_table

from gemmbench.analysis.sass_facts import LoopFacts
from gemmbench.analysis.sass_loops import find_hottest_loop, parse_kernels
from gemmbench.analysis.toolkit import find_cuobjdump
from gemmbench.backends.cuda.backend import CudaBackend
from gemmbench.backends.cuda.device_memory import DeviceMemory

SOURCE = Path(__file__).with_suffix(".cu")
SYMBOL = "multiply"
TILES = ((8, 8), (8, 16), (16, 8), (12, 12))
THREADS, UNROLL, ROUNDS, LAUNCHES = 256, 8, 1000, 10
ONES = 1e-3, 1e-3


def list_macros() -> list[dict[str, int]]:
    """Every tile, row by row and back and forth."""
    fixed = {"THREADS": THREADS, "UNROLL": UNROLL}
    return [{**fixed, "ROWS": r, "COLUMNS": c, "SNAKE": snake} for r, c in TILES for snake in (0, 1)]


def describe_code(macros: dict[str, int], arch: str) -> list[str]:
    """Tile, order, and the share of FFMA that read one bank twice."""
    path = compile_probe(SOURCE, SYMBOL, arch, macros)
    command = [find_cuobjdump(), "--dump-sass", path]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    loop = find_hottest_loop(parse_kernels(code)[SYMBOL])
    assert loop is not None
    facts = LoopFacts(loop)
    order = "back and forth" if macros["SNAKE"] else "row by row"
    return [f"{macros['ROWS']} x {macros['COLUMNS']}", order, f"{100 * facts.conflicts / facts.mix['FFMA']:.1f}"]


def measure(backend: CudaBackend, macros: dict[str, int]) -> list[str]:
    """TFLOPS, and the percentage of the peak at the measured clock."""
    target = backend.device.target
    out = DeviceMemory(4 * THREADS * target.sms)
    probe = Probe(backend, SOURCE, SYMBOL, macros)
    grid, block = (target.sms, 1, 1), (THREADS, 1, 1)
    window = probe.time(grid, block, "Piff", out.address, ROUNDS, *ONES, launches=LAUNCHES)
    out.free()
    operations = 2 * macros["ROWS"] * macros["COLUMNS"] * UNROLL * ROUNDS * THREADS * target.sms
    rate = operations * window.launches / window.seconds
    peak = backend.device.flops_per_cycle["f32"] * window.clock_hz
    return [f"{rate / 1e12:.1f}", f"{100 * rate / peak:.1f}"]


def main() -> None:
    """Print a line per tile and order."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for register_loop.csv")
    parser.add_argument("--dry-run", action="store_true", help="only compile, for sm_90")
    arguments = parser.parse_args()
    if arguments.dry_run:
        rows = [[*describe_code(macros, "90"), "-", "-"] for macros in list_macros()]
    else:
        backend = CudaBackend()
        arch = str(backend.device.target.sm)
        rows = [[*describe_code(macros, arch), *measure(backend, macros)] for macros in list_macros()]
        backend.close()
    head = ["thread tile", "order", "bank conflicts (%)", "TFLOPS", "% of peak"]
    show_table(
        head, rows, None if arguments.dry_run else arguments.out / "register_loop.csv", [f"benchmarks/{SOURCE.name}"]
    )


if __name__ == "__main__":
    main()
