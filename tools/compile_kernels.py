"""Compile the kernels in cuda/ for architectures, and check the limits that their manifests set on machine code.

    python -m tools.compile_kernels [--every] 80 90a 120a

Each kernel is compiled in its default configuration, for a product of 4096 in its first precision and layout; with
`--every`, in all of them. For sm_90 a kernel with limits is compiled in each layout, because the limits must hold in
all of them. Kernels that an architecture cannot run are left out, with the reason. Needs nvcc, but no GPU. Exits with 1
if a kernel does not compile or breaks a limit.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import click
from tabulate import tabulate

from gemmbench.backends import registry
from gemmbench.errors import BAD_ROW, OK, GemmbenchError
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.sweeps.run_request import Selection
from gemmbench.session.single_kernel import Architecture, choose_architecture, inspect_kernel, read_hottest_loops

LIMITED_SM = 90
"""The compute capability that limits are written for."""
_COMPILED, _LEFT_OUT, _FAILED = "compiled", "left out", "failed"


@dataclass(frozen=True)
class Task:
    """One kernel to compile."""

    architecture: Architecture
    variant: Variant
    precision: str
    layout: str

    @property
    def title(self) -> list[str]:
        """The cells that describe what is compiled."""
        return [f"sm_{self.architecture.name}", self.variant.name, self.precision, self.layout]


@dataclass(frozen=True)
class Outcome:
    """The result of a task; `notes` are faults, or why it was left out."""

    task: Task
    word: str
    notes: Sequence[str] = ()
    registers: int = 0
    spills: int = 0


def list_tasks(architecture: Architecture, every: bool, names: Sequence[str] = ()) -> list[Task]:
    """The kernels of cuda/, or those of `names`, that have their own code for a GPU."""
    catalog = Catalog([data_folder("cuda")])
    variants = [catalog.get(name) for name in names or catalog.names]
    return [
        Task(architecture, variant, precision, layout)
        for variant in variants
        if (variant.is_kernel or variant.is_launcher) and "cuda" in variant.devices and not variant.picks
        for precision, layout in _choose_problems(architecture, variant, every)
    ]


def _choose_problems(architecture: Architecture, variant: Variant, every: bool) -> list[tuple[str, str]]:
    if every:
        return list(itertools.product(variant.precisions, variant.layouts))
    if variant.sass and architecture.sm == LIMITED_SM:
        return [(variant.precisions[0], layout) for layout in variant.layouts]
    return [(variant.precisions[0], variant.layouts[0])]


def compile_task(task: Task) -> Outcome:
    """Compile a kernel, and read its machine code if it has limits."""
    request = Selection((task.variant.path,), precisions=(task.precision,), layouts=(task.layout,))
    if missing := registry.why_refused(task.variant, "cuda"):
        return Outcome(task, _LEFT_OUT, [missing])
    try:
        inspected = inspect_kernel(request, task.architecture)
        if inspected.skips:
            return Outcome(task, _LEFT_OUT, [skip.reason for skip in inspected.skips])
        limited = task.variant.sass and task.architecture.sm == LIMITED_SM
        faults = read_hottest_loops(inspected, None).broken_limits if limited else []
    except GemmbenchError as fault:
        return Outcome(task, _FAILED, [str(fault)])
    builds = [inspection.build for inspection in inspected.inspections]
    registers, spills = max(build.registers for build in builds), max(build.spills for build in builds)
    return Outcome(task, _FAILED if faults else _COMPILED, faults, registers, spills)


def report(outcomes: Sequence[Outcome]) -> None:
    """Print the kernels that were not compiled and those that spill, then the counts."""
    for outcome in outcomes:
        if outcome.word == _FAILED:
            click.echo("\n".join([f"{' '.join(outcome.task.title)}: failed", *outcome.notes, ""]))
    rows = [
        [*outcome.task.title, outcome.word, outcome.registers or "-", outcome.spills, "; ".join(outcome.notes)]
        for outcome in outcomes
        if outcome.word == _LEFT_OUT or outcome.spills > 0
    ]
    head = ["architecture", "kernel", "precision", "layout", "result", "registers", "spilled bytes", "reason"]
    if rows:
        click.echo(tabulate(rows, head, tablefmt="simple") + "\n")
    words = [outcome.word for outcome in outcomes]
    click.echo(", ".join(f"{words.count(word)} {word}" for word in (_COMPILED, _LEFT_OUT, _FAILED)))


@click.command(help=__doc__.partition("\n")[0])
@click.option("--every", is_flag=True, help="Compile every precision and layout, not only the first.")
@click.argument("architectures", nargs=-1, required=True)
def main(architectures: Sequence[str], every: bool) -> None:
    """Compile on all cores and report the results."""
    try:
        chosen = [choose_architecture(name, None) for name in architectures]
        tasks = [task for architecture in chosen for task in list_tasks(architecture, every)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            outcomes = list(pool.map(compile_task, tasks))
    except GemmbenchError as fault:
        click.echo(str(fault), err=True)
        sys.exit(fault.exit_code)
    report(outcomes)
    sys.exit(BAD_ROW if any(outcome.word == _FAILED for outcome in outcomes) else OK)


if __name__ == "__main__":
    main()
