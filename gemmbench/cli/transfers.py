"""`--with-transfers` of run and compare: the whole job, copies included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gemmbench.backends import registry
from gemmbench.backends.machine import Machine
from gemmbench.errors import UsageError

if TYPE_CHECKING:
    from gemmbench.backends.base import Compiler
    from gemmbench.bench.experiments.context import Progress
    from gemmbench.bench.record import TransferRecord
    from gemmbench.bench.runner import Laboratory
    from gemmbench.cli.planning import Asked
    from gemmbench.planning.problems.panels import Cut
    from gemmbench.report.store import Journal, Run


def wanted(settings: dict[str, Any], machine: Machine) -> Cut | None:
    """How transfers are cut, None if they are not asked for. Raises UsageError on a device that has none."""
    from gemmbench.planning.problems.panels import Cut

    if not settings["with_transfers"]:
        return None
    if why := registry.why_no_transfers(machine):
        raise UsageError(f"transfers need a GPU: {why}; leave out --with-transfers, or take --device cuda")
    return Cut(settings["panels"], settings["streams"])


def measure_transfers(
    asked: Asked,
    run: Run,
    journal: Journal,
    laboratory: Laboratory,
    compilers: Mapping[str, Compiler],
    cut: Cut,
    progress: Progress,
    interrupted: Callable[[], bool],
) -> None:
    """Measure the whole job of every kernel that came out right, into the journal."""
    from gemmbench.bench.experiments.transfers.tasks import best, tasks
    from gemmbench.bench.transfer_runner import TransferRunner
    from gemmbench.report.store import complete_transfers

    def emit(record: TransferRecord) -> None:
        journal.write(record)
        run.transfers.append(record)

    primary, machine = asked.machine.choice.primary, asked.machine
    plans = best([plan for plan in asked.plans if plan.device == primary], run.records)
    if not plans:
        return
    chosen = tasks(plans, cut, machine.targets, registry.why_refused, compilers, progress)
    done = complete_transfers(run.transfers)
    TransferRunner(laboratory, primary, asked.sweep.measuring, cut, emit, progress, interrupted, done).run(chosen)


def write_transfers(run: Run, csv: Path) -> list[str]:
    """Write the rows of transfers, if there are any, as NAME.transfers.csv; returns names. Raises StoreError."""
    from gemmbench.report import store
    from gemmbench.report.transfer_columns import flat

    if not run.transfers:
        return []
    path = csv.with_suffix(".transfers.csv")
    store.write_text(path, store.to_csv(flat(run)))
    return [path.name]
