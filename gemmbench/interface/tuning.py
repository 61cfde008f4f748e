"""The function tune of the Python interface, and what it returns."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gemmbench.bench.tuning.outcome import SearchOutcome
from gemmbench.errors import UsageError
from gemmbench.interface.arguments import Names, list_names
from gemmbench.interface.functions import find_resumed
from gemmbench.interface.options import SweepOptions, shell_command, sweep_overrides, takes, time_limits
from gemmbench.interface.progress import NotebookReporter
from gemmbench.interface.results import RunResults
from gemmbench.planning.search_space import choose_strategy, parse_budget
from gemmbench.report.store.recorded_run import Destination
from gemmbench.report.table import format_reports
from gemmbench.report.tables.kernel_tables import report_results
from gemmbench.report.tables.search_tables import Winner, report_searches
from gemmbench.session.fleet_machines import open_machine
from gemmbench.session.single_kernel import to_words
from gemmbench.session.tuning_runs import TuneRequest, tune_kernels

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, repr=False)
class TuneResults(RunResults):
    """The rows of the finals, what each search found, and the winners that were kept."""

    outcomes: Sequence[SearchOutcome] = ()
    winners: Sequence[Winner] = ()

    @property
    def ok(self) -> bool:
        """Whether every search has a winner."""
        return bool(self.outcomes) and all(outcome.winner for outcome in self.outcomes)

    @property
    def best(self) -> dict[tuple[str, str], dict[str, int]]:
        """The best configuration by variant and problem, such as ("tiled", "64 nn f32")."""
        return {(each.variant, str(each.problem)): dict(each.config) for each in self.winners}

    def table(self, style: str = "simple", wide: bool = False) -> str:
        """The tables as text, in any format of tabulate. `wide` also says why configurations went."""
        reports = report_results(self.comparison, wide) if self.records else []
        return format_reports([*reports, report_searches(self.outcomes, wide)], style)


@takes(SweepOptions)
def tune(
    variants: Names,
    *,
    strategy: str | None = None,
    budget: str | int | None = None,
    goal: str = "time",
    earlier: str | Path | None = None,
    config: str | Path = "quick",
    device: str = "auto",
    fleet: str | None = None,
    kernels: str | Path | None = None,
    out: str | Path | None = "results",
    resume: bool | str | Path = False,
    progress: bool | None = None,
    **options: Unpack[SweepOptions],
) -> TuneResults:
    """Search for the fastest configuration of each variant at each problem, as `gemmbench tune` does, and keep it.

    Args:
        variants: names of kernels and libraries, or paths of files.
        strategy: "exhaustive", "random" or "model"; None is "exhaustive", or "random" with a budget.
        budget: a time for all searches, such as "5m", or a number of configurations for each search.
        goal: what the finals minimize: "time", "sustained" or "energy".
        earlier: a results file whose fastest configurations are tried first.
        config, device, fleet, kernels, out, resume, progress: as in `run`.

    The errors are those of `run`. Without `params`, all values are searched.

    >>> import gemmbench
    >>> found = gemmbench.tune("tiled", sizes=64, device="fake", out=None)
    >>> found.best
    {('tiled', '64 nn f32'): {'TILE': 16}}
    """
    if options.get("with_transfers"):
        raise UsageError("tune takes no with_transfers: measure the winner with run(tuned=True, with_transfers=True)")
    names, reporter = list_names(variants), NotebookReporter(progress)
    given = {"strategy": strategy, "goal": goal, "budget": budget, "earlier": earlier, "config": config}
    given |= {"device": device, "fleet": fleet, "kernels": kernels or None}
    limit = parse_budget(None if budget is None else str(budget))
    words = to_words((f"--{name}", value) for name, value in given.items())
    with ExitStack() as stack:
        folder = Path(out) if out else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        resumed = find_resumed("tune", resume, folder, reporter)
        request = TuneRequest(
            sweep_overrides(names, options),
            str(config),
            str(kernels) if kernels else None,
            time_limits(options),
            Destination(folder, resumed, shell_command("tune", names, words, options)),
            choose_strategy(strategy, limit),
            limit,
            goal,
            Path(earlier) if earlier else None,
        )
        machine = stack.enter_context(open_machine(device, fleet, reporter))
        found = tune_kernels(request, machine, reporter)
    run = found.run
    for fault in filter(None, (run.fault, found.fault)):
        reporter.message(str(fault))
    return TuneResults(run.run, run.interrupted, run.run.path if out else None, found.outcomes, found.winners)
