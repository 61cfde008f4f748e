"""Compiles plans and measures them within this process, for the claims that do so."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gemmbench.backends import registry
from gemmbench.bench.build import Built, compile_plans
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.experiments.context import ignore_progress
from gemmbench.bench.record import Record
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import make_request
from gemmbench.session.machine import describe_local
from gemmbench.session.sweep_runs import plan_request

MACHINE = describe_local(registry.choose_device("cuda"))


def build_plans(names: Sequence[str], **options: Any) -> dict[Plan, Built]:
    """Plan and compile the named variants with these options."""
    planned = plan_request(make_request(variants=names, **options), MACHINE, compare=True)
    return compile_plans(planned.plans, registry.make_compilers(MACHINE, planned.devices), ignore_progress)


def measure_plans(
    worker: LocalWorker,
    built: dict[Plan, Built],
    plans: Sequence[Plan],
    policy: Policy,
    *anchors: str,
    shuffle: int = 0,
) -> list[Record]:
    """Measure plans of one problem together and compare them with the variants named in `anchors`.

    `shuffle` is the seed of placements and permutations.
    """
    batch = make_gemm_batch(plans, [built[plan] for plan in plans], policy, anchors)
    return worker.experiment(replace(batch, shuffle=shuffle))


@contextmanager
def open_worker() -> Iterator[LocalWorker]:
    """Open a worker with the GPU, in this process."""
    opened = registry.open_backends(MACHINE, ["cuda"], gate=True)
    try:
        yield LocalWorker(opened)
    finally:
        for backend in opened.values():
            backend.close()
