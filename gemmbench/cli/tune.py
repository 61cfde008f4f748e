"""`gemmbench tune`: the fastest configuration of a kernel, and winners that are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import click

from gemmbench.bench.search.goals import GOALS
from gemmbench.cli.completed_names import VariantName
from gemmbench.cli.fleet_options import FleetOptions
from gemmbench.cli.option_fields import RESULTS, STOPPING, argument, command, option
from gemmbench.cli.options import JournalOptions, LimitOptions, MeasureOptions, OutputOptions, ProblemOptions
from gemmbench.cli.output import print_line, print_reports
from gemmbench.cli.recorded_command import complete_options
from gemmbench.cli.results import choose_exit_code, refuse_incomplete_file, save_csv, write_exports
from gemmbench.cli.terminal import TERMINAL
from gemmbench.errors import INTERRUPTED, OK
from gemmbench.planning.sweeps.overrides import SweepOverrides
from gemmbench.planning.tuning.budget import parse_budget
from gemmbench.planning.tuning.strategy import STRATEGIES
from gemmbench.report.comparison import Comparison, compare_rows
from gemmbench.report.table import Report, Table
from gemmbench.report.text import count_noun, number
from gemmbench.report.tuning import SearchSummary, report_search
from gemmbench.session.tuning.tune import Tuned, TuneRequest, tune_kernels
from gemmbench.session.tuning.winners import Winner, encode_winners, forget_winners, read_winners, winners_path


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """The options of `gemmbench tune`."""

    variants: tuple[str, ...] = argument(nargs=-1, metavar="VARIANTS...", type=VariantName())
    problem: ProblemOptions
    where: FleetOptions
    measure: MeasureOptions
    limit: LimitOptions
    strategy: str | None = option(
        "--strategy",
        metavar="NAME",
        heading=STOPPING,
        help=f"{', '.join(STRATEGIES)}.  [default: exhaustive; with --budget model]",
    )
    budget: str | None = option(
        "--budget",
        metavar="BUDGET",
        heading=STOPPING,
        help="Try so many configurations, or for so long: 200, 90s, 5m.  [default: all]",
    )
    goal: str = option(
        "--goal",
        type=click.Choice(list(GOALS)),
        default="time",
        show_default=True,
        heading=STOPPING,
        help="What is least for the best: time, energy per launch, or time under a steady load.",
    )
    journal: JournalOptions
    show: bool = option("--show", is_flag=True, heading=RESULTS, help="List the winners that are kept; tune nothing.")
    forget: bool = option("--forget", is_flag=True, heading=RESULTS, help="Delete the winners of VARIANTS, or all.")
    export: str | None = option(
        "--export", type=click.Path(), metavar="FILE", heading=RESULTS, help="Write the winners that are kept to FILE."
    )
    output: OutputOptions


@command(TuneOptions, complete=complete_options)
def tune(options: TuneOptions) -> int:
    """Search for the fastest configuration of each of VARIANTS.

    Every configuration is verified on a small problem and gets a short load; the better ones go on,
    for longer and longer, until eight are left, which are verified and measured in full. The winner
    is kept for this device, driver, compiler and code, and `gemmbench run --tuned` uses it.
    """
    if options.show or options.forget or options.export:
        return _manage_winners(options)
    budget = parse_budget(options.budget)
    strategy = options.strategy or ("model" if options.budget else "exhaustive")
    code = OK
    for machine in options.where.list_machines():
        request = TuneRequest(
            SweepOverrides(variants=options.variants, **vars(options.problem), **vars(options.measure)),
            strategy,
            budget,
            options.goal,
            options.where.kernels,
            options.limit.limits,
            options.journal.destination,
        )
        tuning = tune_kernels(request, machine, TERMINAL)
        comparison = compare_rows(tuning.result.run)
        print_reports([_report(tuned, comparison) for tuned in tuning.searches], options.output.style)
        names = [] if tuning.result.fault else save_csv(comparison)
        print_line(f"results: {' and '.join([str(comparison.run.path), *names])}", to_stderr=True)
        print_line(f"winners: {winners_path()}", to_stderr=True)
        write_exports(comparison, options.output)
        refuse_incomplete_file(tuning.result)
        finals = [record for tuned in tuning.searches for record in tuned.found.finals]
        code = max(code, choose_exit_code(finals, tuning.result.interrupted))
        if code == INTERRUPTED:
            break
    return code


def _report(tuned: Tuned, comparison: Comparison) -> Report:
    best = tuned.best_config
    return report_search(
        SearchSummary(
            title=f"{tuned.variant.name} at {tuned.problem}",
            finals=tuned.found.finals,
            ties=tuned.ties,
            tried=tuned.found.tried,
            allowed=tuned.allowed,
            failures=tuned.found.failures,
            best_short=str(best) if best else "",
        ),
        comparison,
    )


def _manage_winners(options: TuneOptions) -> int:
    """List, export or delete what is kept."""

    def is_chosen(winner: Winner) -> bool:
        return not options.variants or winner.conditions.variant in options.variants

    chosen = [winner for winner in read_winners() if is_chosen(winner)]
    if options.export:
        Path(options.export).write_bytes(encode_winners(chosen))
    if options.show:
        print_reports(
            [Report([_tabulate(chosen)] if chosen else [], [f"winners: {winners_path()}"])], options.output.style
        )
    if options.forget:
        print_line(f"{count_noun(forget_winners(is_chosen), 'winner')} deleted")
    return OK


def _tabulate(winners: list[Winner]) -> Table:
    headings = ["variant", "problem", "configuration", "time (ms)", "% of baseline", "goal", "device", "date"]
    cells = [
        [
            winner.conditions.variant,
            winner.conditions.problem,
            " ".join(f"{name}={value}" for name, value in winner.config.items())
            + ("" if winner.final else " (short load)"),
            number(winner.seconds * 1e3),
            number(winner.percent_of_baseline if winner.percent_of_baseline is not None else math.nan),
            winner.conditions.goal,
            winner.conditions.device,
            winner.date[:10],
        ]
        for winner in winners
    ]
    return Table("", headings, cells, left=("variant", "problem", "goal", "device", "date"), fold=("configuration",))
