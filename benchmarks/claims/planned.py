"""Plans and open devices for claims that measure within this process."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gemmbench.backends import registry
from gemmbench.bench.experiments.batch import Batch, Built
from gemmbench.bench.experiments.context import silent
from gemmbench.bench.runner import build_all
from gemmbench.bench.worker.local import LocalWorker
from gemmbench.cli.planning import plan_sweep
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.options import Options
from gemmbench.planning.sweeps.policy import Measuring
from gemmbench.planning.sweeps.sweep_config import named_sweep

MACHINE = registry.describe_machine(registry.choose_device("cuda"))


def planned(names: Sequence[str], options: Options, kernels: str | None = None) -> dict[Plan, Built]:
    """Plans of the named variants, compiled."""
    asked = plan_sweep(named_sweep(tuple(names), "quick", options, False), MACHINE, kernels, False)
    return build_all(asked.plans, registry.make_compilers(MACHINE, asked.devices), silent)


def batch(built: dict[Plan, Built], plans: Sequence[Plan], measuring: Measuring, *references: str) -> Batch:
    """Plans of one problem, measured together; `references` are what they are compared with."""
    codes = tuple(built[plan] for plan in plans)
    return Batch(1, plans[0].problem, tuple(plans), codes, measuring, references=references)


@contextmanager
def open_worker() -> Iterator[LocalWorker]:
    """A worker with the GPU, in this process."""
    opened = registry.open_backends(MACHINE, ["cuda"], gate=True)
    try:
        yield LocalWorker(opened)
    finally:
        for backend in opened.values():
            backend.close()
