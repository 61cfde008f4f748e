"""Time loading a cubin through pycuda's SourceModule, against pycuda's plain module_from_file.

Run with `python benchmarks/loading.py [ROUNDS]` on a machine with an NVIDIA GPU. The two alternate, and each load
includes looking up the kernels. docs/method/loading.md describes how kernels are loaded.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from gemmbench.backends.cuda.backend import CudaBackend
from gemmbench.backends.cuda.driver import load_cubin, load_driver
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Target
from gemmbench.planning.problems import Problem

KERNELS = (("sgemm_tma", "f32"), ("blocktile_2d", "bf16"))


def plan_kernel(name: str, precision: str, target: Target) -> Plan:
    """The default configuration of a kernel at 4096. Raises RuntimeError if it cannot run."""
    variant = Catalog([data_folder("cuda")]).get(name)
    chosen = [(variant, list_configurations(variant, {}))]
    problem = Problem(4096, 4096, 4096, precision_name=precision)
    (plan,) = make_plans([problem], chosen, target.kind, {target.kind: target}, lambda *_: "")
    if not isinstance(plan, Plan):
        raise RuntimeError(f"{name} cannot run here: {plan.reason}")
    return plan


def time_load(load: Callable[[], Any], symbols: tuple[str, ...]) -> float:
    """Seconds to load a module and to look up its kernels."""
    start = time.perf_counter()
    module = load()
    for symbol in symbols:
        module.get_function(symbol)
    return time.perf_counter() - start


def main() -> None:
    """Print a line per kernel and way to load it."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    backend, cuda = CudaBackend(), load_driver()
    for name, precision in KERNELS:
        plan = plan_kernel(name, precision, backend.device.target)
        path = NvccCompiler().compile(plan).path
        ways: dict[str, Callable[[], Any]] = {
            "module_from_file": partial(cuda.module_from_file, path),
            "SourceModule": partial(load_cubin, path, plan.arch),
        }
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds + 1):
            for way, load in ways.items():
                seconds[way].append(time_load(load, plan.symbols))
        for way, each in seconds.items():
            median = 1e6 * statistics.median(each[1:])  # the first load warms up
            print(f"{name} {precision} {way}: median {median:.0f} us of {rounds} loads")
    backend.close()


if __name__ == "__main__":
    main()
