"""What `gemmbench doctor --fleet` prints: a row for each worker."""

from __future__ import annotations

from collections.abc import Sequence

from gemmbench.bench.workers.fleet_machine import WorkerFacts, WorkerHealth
from gemmbench.report.table import Report, Table
from gemmbench.report.text import number

_HEADINGS = ["host", "card", "driver", "noise floor (%)", "load", "status", "finding"]


def report_fleet(workers: Sequence[WorkerHealth]) -> Report:
    """One line per worker, and below them the software of which they have different versions."""
    cells = [_list_cells(worker) for worker in workers]
    statuses = ["fault" if worker.fault else "ok" for worker in workers]
    differences = list_differences([worker.facts for worker in workers])
    footer = [f"The workers differ in {'; '.join(differences)}."] if differences else []
    return Report([Table("Fleet", _HEADINGS, cells, footer, _HEADINGS, statuses, fold=_HEADINGS[-1:])])


def _list_cells(worker: WorkerHealth) -> list[str]:
    machine = worker.facts.machine
    name = f"{machine.primary.name} {machine.primary.uuid}".strip() if machine else "-"
    driver = worker.facts.versions.get("driver", "-")
    floor = "-" if worker.floor is None else f"+- {number(100 * worker.floor, 3)}"
    load = "-" if worker.load is None else number(worker.load, 2)
    return [worker.facts.host, name, driver, floor, load, "fault" if worker.fault else "ok", worker.fault]


def list_differences(facts: Sequence[WorkerFacts]) -> list[str]:
    """Software of which the workers have different versions, such as `driver 570.1 and 580.2`."""
    names = dict.fromkeys(name for each in facts if each.machine for name in each.versions)
    found = {name: {each.versions.get(name, "none") for each in facts if each.machine} for name in names}
    return [f"{name}: {' and '.join(sorted(versions))}" for name, versions in found.items() if len(versions) > 1]
