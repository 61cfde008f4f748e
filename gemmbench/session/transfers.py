"""`--with-transfers`: the whole job with its copies, for every kernel that is right."""

from __future__ import annotations

from collections.abc import Sequence

from gemmbench.backends import registry
from gemmbench.backends.machine import Machine
from gemmbench.bench.experiments.transfers.batch import split_tasks
from gemmbench.bench.experiments.transfers.tasks import choose_plans, plan_tasks
from gemmbench.bench.record import TransferRecord
from gemmbench.bench.runner import Runner
from gemmbench.errors import DeviceError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems.panels import Cut
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.report.store import Journal, Run, complete_transfers
from gemmbench.session.session import Session


def check_transfers(machine: Machine) -> None:
    """Raise DeviceError if nothing is copied to and from the primary device."""
    if why := registry.why_no_transfers(machine):
        raise DeviceError(f"transfers need a GPU: {why}; leave out --with-transfers, or take --device cuda")


def measure_transfers(
    session: Session, plans: Sequence[Plan], policy: Policy, cut: Cut, run: Run, journal: Journal
) -> None:
    """Measure the whole job of the best configuration of every kernel that is right, into the journal."""

    def emit(record: TransferRecord) -> None:
        journal.write(record)
        run.transfers.append(record)

    machine = session.machine
    primary = machine.choice.primary
    chosen = choose_plans([plan for plan in plans if plan.device == primary], run.records)
    if not chosen:
        return
    jobs = plan_tasks(chosen, cut, machine.targets, registry.why_refused, session.compilers, session.progress)
    done: dict[str, list[TransferRecord]] = {key: [] for key in complete_transfers(run.transfers)}
    runner = Runner(session.worker, emit, session.progress, session.is_interrupted, done)
    runner.run(split_tasks(jobs, primary, policy, cut))
