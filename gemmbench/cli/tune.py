"""`gemmbench tune`: searches for the fastest configuration of a kernel and keeps it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import click

from gemmbench.backends.devices import Machine
from gemmbench.cli.options import (
    LIMITS,
    MEASURE,
    SCALARS,
    SHAPE,
    OutputOptions,
    VariantName,
    argument,
    command,
    config_option,
    group,
    option,
)
from gemmbench.cli.output import TERMINAL, print_line, print_reports
from gemmbench.cli.run_options import FleetOptions, JournalOptions, Share
from gemmbench.cli.run_outputs import announce_results, complete_options, finish_run, refuse_incomplete_file
from gemmbench.errors import BAD_ROW, INTERRUPTED, OK, UsageError
from gemmbench.planning.search_space import choose_strategy, parse_budget
from gemmbench.planning.sweeps.run_request import MEASURING, OUTPUT, RESULTS, STOPPING, RunRequest
from gemmbench.report.comparison import compare_rows
from gemmbench.report.tables.search_tables import (
    Winner,
    describe_kept,
    report_dispatch,
    report_searches,
    report_winners,
)
from gemmbench.report.tables.survey_tables import report_survey
from gemmbench.report.text import count_noun
from gemmbench.session.machine import open_catalog
from gemmbench.session.open_run import RunResult
from gemmbench.session.surveys import SurveyOptions, refit_surveys, survey_candidates
from gemmbench.session.tuning_runs import SearchOptions, TuneResult, tune_kernels
from gemmbench.session.winners import change_winners, export_winners, read_winners, winners_path


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """The options of `gemmbench tune`."""

    variants: tuple[str, ...] = argument(nargs=-1, type=VariantName())
    config: str = config_option("quick", "Config that gives sizes and policy.")
    strategy: str | None = option(
        "--strategy",
        metavar="NAME",
        heading=MEASURING,
        help="exhaustive, random, or model (needs Optuna).  [default: exhaustive; with --budget random]",
    )
    goal: str = option(
        "--goal",
        type=click.Choice(["time", "sustained", "energy"]),
        default="time",
        show_default=True,
        heading=MEASURING,
        help="What the winner minimizes: time; or, under a steady load, time or energy per launch.",
    )
    budget: str | None = option(
        "--budget",
        metavar="BUDGET",
        heading=STOPPING,
        help="A time for all searches, such as 90s or 5m, or a number of configurations for each search, such as 200.",
    )
    earlier: str | None = option(
        "--earlier",
        type=click.Path(),
        metavar="FILE",
        heading=MEASURING,
        help="Start with the configurations that were fastest in this results file.",
    )
    write_pick: bool = option(
        "--write-pick",
        is_flag=True,
        heading=RESULTS,
        help="Write the best choices into the `pick` of a kernel that picks from others; with --survey, write the file "
        "with the constants of the card.",
    )
    hold_out: float = option(
        "--hold-out",
        type=Share(0.9),
        metavar="SHARE",
        default="20%",
        show_default=True,
        heading=MEASURING,
        help="The share of the problems that test the rows or constants of a `pick` and are not used to choose them.",
    )
    survey: bool = option(
        "--survey",
        is_flag=True,
        heading=MEASURING,
        help="Time the candidates of a kernel's `pick` at drawn shapes, for --max-time seconds in all (300), and fit "
        "its constants.",
    )
    sources: tuple[str, ...] = option(
        "--from",
        type=click.Path(),
        metavar="FILE",
        multiple=True,
        heading=MEASURING,
        help="With --survey, fit to this survey file and measure nothing; repeat it to merge several.",
    )
    show: bool = option("--show", is_flag=True, heading=OUTPUT, help="Show the stored winners; tune nothing.")
    forget: bool = option("--forget", is_flag=True, heading=RESULTS, help="Forget stored winners; tune nothing.")
    export: str | None = option(
        "--export",
        type=click.Path(),
        metavar="FILE",
        heading=OUTPUT,
        help="Write the stored winners to this JSON file; tune nothing.",
    )
    problem: None = group(*SHAPE, *SCALARS)
    where: FleetOptions
    measure: None = group(*MEASURE)
    limits: None = group(*LIMITS)
    journal: JournalOptions
    output: OutputOptions


@command(
    TuneOptions,
    complete=complete_options,
    common=("sizes", "precisions", "params", "device", "budget", "strategy", "goal", "show", "resume", "export_csv"),
)
def tune(request: RunRequest, options: TuneOptions) -> int:
    """Search for the fastest configuration of each KERNEL.

    \b
    gemmbench tune blocktile_2d --sizes 2048  every configuration
    gemmbench tune blocktile_2d --budget 5m   the best found in five minutes
    gemmbench run blocktile_2d --tuned        use what was found

    Searches the values given by --param, or else those that the config lists for the kernel, or else
    all values in its manifest. Every configuration is verified on an awkward problem and then timed in
    a few windows of interleaved rounds. Those that are clearly slower than the best are dropped, and
    the others get more rounds. The last eight are verified on every awkward problem and measured as
    `run` measures. Configurations that the data cannot tell apart are called ties.

    The winner is stored for this device, driver, compiler, code and problem, and run --tuned uses it.

    If a KERNEL picks others by the shape, those are tuned, at all sizes. For each row of its `pick`,
    tune shows which of them is best, and --write-pick writes that into the manifest. Conditions and
    comments stay. With --survey, the candidates of its `pick` and the libraries are timed at drawn
    shapes. --out FILE keeps the times; an existing file is continued.

    --show, --forget and --export apply to the winners of KERNELS, or to all winners.
    """
    chosen = [name for name in ("show", "forget", "export") if getattr(options, name)]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} cannot be combined; give only one of them")
    if chosen:
        return _manage_winners(request, options)
    if options.survey or options.sources:
        return _survey(request, options)
    code = OK
    for machine in options.where.list_machines():
        code = max(code, _tune(request, options, machine))
        if code == INTERRUPTED:
            break
    return code


_SURVEY_SECONDS = 300.0


def _survey(request: RunRequest, options: TuneOptions) -> int:
    """Survey the candidates of a pick, or fit to survey files. Returns 1 if a candidate is wrong."""
    given = [word for word in request.list_given() if word not in _SURVEYED]
    given += [f"--{name}" for name in ("strategy", "budget", "earlier", "fleet") if getattr(options, name, None)]
    if options.where.fleet is not None or options.journal.resume or options.journal.resume_from or given:
        words = [*given, *(["--fleet"] if options.where.fleet is not None else [])]
        word = words[0] if words else "--resume"
        why = "it draws shapes, uses one device and continues the file of --out"
        raise UsageError(f"{word} cannot be combined with --survey: {why}; leave it out")
    out = Path(options.journal.out)
    seconds = request.measuring.max_time or _SURVEY_SECONDS
    how = SurveyOptions(seconds, out, options.hold_out, options.write_pick)
    if options.sources:
        result = refit_surveys(request, [Path(each) for each in options.sources], how)
    else:
        (machine,) = options.where.list_machines()
        result = survey_candidates(request, machine, how, TERMINAL)
    print_reports([report_survey(result)], options.output.style)
    for what, path in (("survey", result.kept), ("constants", result.written)):
        if path:
            print_line(f"{what}: {path}", to_stderr=True)
    if result.interrupted:
        return INTERRUPTED
    return BAD_ROW if result.wrong else OK


_SURVEYED = ("--layout", "--precision", "--seed", "--max-time", "--no-gate", "--kernels")


def _tune(request: RunRequest, options: TuneOptions, machine: Machine) -> int:
    budget = parse_budget(options.budget)
    how = SearchOptions(
        choose_strategy(options.strategy, budget),
        budget,
        options.goal,
        Path(options.earlier) if options.earlier else None,
        options.write_pick,
        options.hold_out,
    )
    result = tune_kernels(request, machine, TERMINAL, how)
    try:
        _finish_finals(result.run, options.output)
    finally:
        _print_searches(result, options.output)
    if result.fault:
        raise result.fault
    return _choose_exit_code(result)


def _finish_finals(result: RunResult, options: OutputOptions) -> None:
    """Print the tables of the finals and write the exports. Raises StoreError."""
    if result.run.full_records:
        finish_run(result, compare_rows(result.run), options, sustained=False, closing=False)
        print_line()
        return
    announce_results(result, [])
    refuse_incomplete_file(result)


def _print_searches(result: TuneResult, options: OutputOptions) -> None:
    environment = result.run.run.environment
    print_reports([report_searches(result.outcomes, environment, options.wide)], options.style)
    if result.dispatch:
        print_line()
        print_reports([report_dispatch(result.dispatch, environment)], options.style)
        if result.dispatch.path:
            print_line(f"wrote the pick of {result.dispatch.variant.name} to {result.dispatch.path}", to_stderr=True)
    if result.kept:
        for line in describe_kept(result.kept.added, result.kept.stayed, result.kept.path):
            print_line(line, to_stderr=True)


def _choose_exit_code(result: TuneResult) -> int:
    """Return 0 if every search has a winner or faster kernels next to it, 1 if not, and 130 if interrupted."""
    if result.run.interrupted:
        return INTERRUPTED
    return OK if all(each.winner or each.is_outdone for each in result.outcomes) else BAD_ROW


def _manage_winners(request: RunRequest, options: TuneOptions) -> int:
    """Show, forget or export the winners of the named variants or of all. Raises UsageError for an unknown kernel."""
    chosen = [winner for winner in read_winners() if _is_named(winner, options.variants)]
    for name in sorted(set(options.variants) - {winner.variant for winner in chosen}):
        open_catalog(request.selection.kernels).check_name(name)
    if options.export:
        export_winners(chosen, Path(options.export))
        print_line(f"{count_noun(len(chosen), 'winner')} in {options.export}", to_stderr=True)
        return OK
    if options.forget:
        change_winners(lambda winners: [each for each in winners if not _is_named(each, options.variants)])
        print_line(f"{count_noun(len(chosen), 'winner')} forgotten", to_stderr=True)
        return OK
    if chosen:
        print_reports([report_winners(chosen)], options.output.style)
    else:
        whose = f" of {', '.join(options.variants)}" if options.variants else ""
        print_line(f"no winners{whose} in {winners_path()}; gemmbench tune finds them", to_stderr=True)
    return OK


def _is_named(winner: Winner, variants: Collection[str]) -> bool:
    return not variants or winner.variant in variants
