"""A sweep from its plans to its results file: what run, compare and posts do."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gemmbench.backends import registry
from gemmbench.backends.machine import Machine
from gemmbench.cli import options
from gemmbench.cli.output import finish
from gemmbench.cli.planning import Asked, plan_sweep

if TYPE_CHECKING:
    from gemmbench.planning.problems.panels import Cut
    from gemmbench.planning.sweeps.limits import Limits
    from gemmbench.planning.sweeps.sweep import Sweep
    from gemmbench.report.store import Run


def conduct(sweep: Sweep, machine: Machine, settings: dict[str, Any]) -> tuple[int, Run | None]:
    """Plan, run and report a sweep, or show its plans; returns the exit code, and the results if it ran."""
    from gemmbench.cli.transfers import wanted

    transfers = wanted(settings, machine)
    asked = plan_sweep(sweep, machine, settings["kernels"], settings["baseline"] is not None)
    if settings["dry_run"]:
        from gemmbench.cli.dry_run import show_plans

        return show_plans(asked, settings["style"]), None
    results, interrupted = measure(asked, settings["out"], settings["resume"], options.limits(settings), transfers)
    return finish(results, interrupted, settings), results


def measure(
    asked: Asked, out: str, resume: str | None, limits: Limits, transfers: Cut | None = None
) -> tuple[Run, bool]:
    """Run the plans into a journal, and their transfers; returns the results, and whether it was interrupted."""
    from gemmbench.bench.environment import describe
    from gemmbench.bench.runner import Runner
    from gemmbench.cli.interruption import Interruption
    from gemmbench.cli.laboratory import open_laboratory, software
    from gemmbench.cli.progress import progress_bar
    from gemmbench.cli.resume import kept_in, results_file
    from gemmbench.cli.transfers import measure_transfers
    from gemmbench.report import store

    stop, measuring = Interruption(limits.sweep), asked.sweep.measuring
    with (
        stop.watched(),
        progress_bar() as progress,
        open_laboratory(asked.machine, asked.devices, measuring.gate, limits, progress, stop.asked) as laboratory,
    ):
        environment = describe(asked.machine, asked.sweep, command_line(), software(asked.machine, laboratory))
        run = results_file(environment, Path(out), resume)
        done = store.complete_batches(run.records)
        with store.Journal(run.path, run.environment) as journal:
            compilers, emit = (
                registry.make_compilers(asked.machine, asked.devices, limits.compile),
                kept_in(run, journal),
            )
            runner = Runner(compilers, laboratory, measuring, asked.sweep.baseline, emit, progress, stop.asked, done)
            runner.earlier, runner.rivals = tuple(run.records), asked.sweep.rivals
            runner.run(asked.expanded)
            if transfers is not None and not stop.asked():
                measure_transfers(asked, run, journal, laboratory, compilers, transfers, progress, stop.asked)
    return run, stop.asked()


def command_line() -> str:
    """What was typed, quoted so that a shell reads it as it was."""
    return shlex.join(["gemmbench", *sys.argv[1:]])
