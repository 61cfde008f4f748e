"""Why one kernel has two times: sgemm_tma (BN=128 STAGES=3 STREAM_K=1) at 256, on a GPU with compute capability 9.0.

Run `python benchmarks/two_modes.py` (15 s). It launches windows of 50 launches of a copy of the kernel that records on
which multiprocessor each block runs, after windows of other kernels. For every assignment of the working blocks to
multiprocessors it prints a line: how many windows had it, their time, and how many multiprocessors and pairs of
neighbours (TPCs) the working blocks share.
"""

import string
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from arena_bench import ArenaBench
from claims.setup import build_plans
from tables import show_table

from gemmbench.backends.base import Executable
from gemmbench.backends.cuda.driver import load_cubin
from gemmbench.bench.build import Built
from gemmbench.planning.files import data_folder
from gemmbench.planning.plans.plan import Plan

NAME, SIZE, SETS, LAUNCHES, REPEATS = "notes_sms", 256, 320, 50, 6
PARAMS = ("BN=128", "STAGES=3", "STREAM_K=1")
WORKING = 32  # 4 tiles of 8 stages of K, one stage per block
BEFORE = ("sgemm_splitk", "cublas", "naive", "sgemm_cp_async", "blocktile_2d", "sgemm_schedule")
START = "extern __shared__"
NOTE = 'if (threadIdx.x == 0) asm("mov.u32 %0, %%smid;" : "=r"(sm_of_block[blockIdx.x]));\n    '


def write_copy(folder: Path) -> None:
    """Write a copy of the kernel that records the multiprocessor of each block."""
    text = (data_folder("cuda") / "sgemm" / "sgemm_tma.cu").read_text()
    body = text.index(START, text.index("    gemm(int M"))
    text = text[:body] + NOTE + text[body:]
    (folder / f"{NAME}.cu").write_text(
        text.replace("struct Work {", "__device__ unsigned sm_of_block[4096];\n\nstruct Work {", 1)
    )


def bind_and_note(bench: ArenaBench, plan: Plan) -> tuple[Executable, list[Any]]:
    """An executable, and the modules that it was loaded from."""
    modules: list[Any] = []

    def load(*arguments: Any) -> Any:
        modules.append(load_cubin(*arguments))
        return modules[-1]

    with patch("gemmbench.backends.cuda.launch.load_cubin", load):
        return bench.bind(plan), modules


def build_all(folder: Path) -> dict[Plan, Built]:
    """The copy of the kernel, other kernels, and other configurations of the original."""
    noted = {"sizes": str(SIZE), "params": PARAMS}
    others = ("BN=128", "STAGES=4,2", "STREAM_K=0,1")
    return {
        **build_plans((NAME,), **noted, kernels=folder),
        **build_plans(BEFORE, sizes=str(SIZE)),
        **build_plans(("sgemm_tma",), sizes=str(SIZE), params=others),
    }


def read_processors(module: Any) -> tuple[int, ...]:
    """The multiprocessor of each block of the last launch."""
    import pycuda.driver as cuda

    address, nbytes = module.get_global("sm_of_block")
    found = np.empty(nbytes // 4, np.uint32)
    cuda.memcpy_dtoh(found, address)
    return tuple(int(sm) for sm in found)


def count_shared(where: tuple[int, ...]) -> tuple[str, str]:
    """How many working blocks share a multiprocessor, and a TPC, with another one."""
    return str(len(where) - len(set(where))), str(len(where) - len({sm // 2 for sm in where}))


def main() -> int:
    """Measure, and print the table."""
    with tempfile.TemporaryDirectory() as name:
        write_copy(Path(name))
        bench = ArenaBench(build_all(Path(name)), SETS)
        target = next(plan for plan in bench.built if plan.variant.name == NAME)
        executable, modules = bind_and_note(bench, target)
        seen: dict[tuple[int, ...], list[float]] = defaultdict(list)
        after: dict[tuple[int, ...], set[str]] = defaultdict(set)
        for plan in (plan for plan in bench.built if plan != target):
            other = bench.bind(plan)
            for _ in range(REPEATS):
                other.time(20)
                seconds = executable.time(LAUNCHES).seconds / LAUNCHES
                where = read_processors(modules[0])[:WORKING]
                seen[where].append(1e6 * seconds)
                after[where].add(f"{plan.variant.name} {plan.config}".strip())
    found = sorted(seen.items(), key=lambda pair: float(np.median(pair[1])))
    rows = [
        [
            letter,
            f"{np.median(t):.2f}",
            f"{min(t):.2f} to {max(t):.2f}",
            str(len(t)),
            *count_shared(where),
        ]
        for letter, (where, t) in zip(string.ascii_uppercase, found, strict=False)
    ]
    show_table(["assignment", "median us", "range", "windows", "shared SMs", "shared TPCs"], rows, None)
    for letter, (where, _) in zip(string.ascii_uppercase, found, strict=False):
        print(f"\n{letter}: {' '.join(map(str, sorted(where)))}\n   after {', '.join(sorted(after[where]))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
