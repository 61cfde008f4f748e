"""The tables of `tune`: what each search found, the rows of a `pick`, and the winners that are kept."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing import stats
from gemmbench.bench.tuning.outcome import GOALS, ChosenRow, DispatchTable, HeldOut, SearchOutcome
from gemmbench.bench.tuning.tuning_task import Key
from gemmbench.planning.manifests.variant import Candidate
from gemmbench.planning.plans.plan import format_configuration
from gemmbench.planning.problems import Problem
from gemmbench.planning.sizes import Amount, Count, Integer
from gemmbench.report.table import Report, Table
from gemmbench.report.text import count_noun, format_share, number, with_interval

_MOST_FAULTS = 5
_MOST_TIES = 3


def report_searches(outcomes: Sequence[SearchOutcome], environment: Environment, wide: bool = False) -> Report:
    """Report sentences on every search of a run. `wide` adds a table of the dropped configurations."""
    tables = [_tabulate_dropped(each) for each in outcomes if each.dropped or each.failed] if wide else []
    return Report(tables, closing=[line for each in outcomes for line in _describe_search(each, environment.scope)])


def _describe_search(outcome: SearchOutcome, scope: str) -> Iterator[str]:
    yield f"{outcome.task}{scope}: {_describe_winner(outcome)}"
    if ties := outcome.ties:
        shown = "; ".join(each.configuration for each in ties[:_MOST_TIES])
        more = f"; and {len(ties) - _MOST_TIES} more" if len(ties) > _MOST_TIES else ""
        yield f"  It ties with {count_noun(len(ties), 'other')}: {shown}{more}."
    yield f"  {_describe_effort(outcome)}"
    yield from (f"  Not right: {line}" for line in _list_faults(outcome))


def _describe_winner(outcome: SearchOutcome) -> str:
    best = outcome.winner
    if best is not None:
        return f"best {best.configuration}, {_describe_value(best, outcome.goal)}{_describe_gain(outcome)}."
    if outcome.standings:
        configuration = _format_key(outcome, outcome.standings[0].key)
        if outcome.interrupted:
            return f"interrupted; the best so far is {configuration}, from short rounds only. It is not stored."
        if outcome.is_outdone:
            return f"no finalist; the fastest is {configuration}, from short rounds only. Other kernels are faster."
        why = "no finalist is correct"
        if any(record.ranked for record in outcome.finals):
            what = "energy was measured" if outcome.goal == "energy" else "steady load was possible"
            why = f"the finalists are correct, but no {what}; choose another --goal"
        return f"{why}; the fastest is {configuration}, from short rounds only. It is not stored."
    return "interrupted before any configuration was timed." if outcome.interrupted else "no configuration is correct."


def _describe_value(record: Record, goal: str) -> str:
    if goal == "energy":
        return f"{number(GOALS[goal](record), 3)} J per launch"
    if goal == "sustained":
        return f"{number(1e3 * GOALS[goal](record), 3)} ms under a steady load"
    return f"{with_interval(stats.time_interval(record.by_round).scale(1e3))} ms"


def _describe_gain(outcome: SearchOutcome) -> str:
    """Describe how much faster than the default the winner is, based on the short rounds of both; "" if they tie."""
    by_key = {each.key: each for each in outcome.standings}
    first = next(iter(outcome.task.chains.values()))
    default = tuple(sorted(first.variant.default().items()))
    best = tuple(sorted(outcome.winner.config.items())) if outcome.winner else ()
    if outcome.goal != "time" or default not in by_key or best not in by_key or default == best:
        return ", which is the default" if default == best and default else ""
    if any(tuple(sorted(each.config.items())) == default for each in outcome.ties):
        return ""
    gain = by_key[default].slowdown(by_key[best])
    return f", {gain:.2f}x faster than the default" if gain > 1 else ""


def _describe_effort(outcome: SearchOutcome) -> str:
    space, skipped = len(outcome.task.candidates), outcome.task.skipped
    elsewhere = f" ({skipped} more cannot run here)" if skipped else ""
    parts = [f"Tried {outcome.tried} of {count_noun(space, 'configuration')}{elsewhere}"]
    slower = sum("x the time" in reason for reason in outcome.dropped.values())
    counts = {
        "not right": len(outcome.failed),
        "clearly slower": slower,
        "left out by rank": len(outcome.dropped) - slower,
        "measured in full": len(outcome.finals),
    }
    found = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{': '.join([*parts, found] if found else parts)}."


def _list_faults(outcome: SearchOutcome) -> Iterator[str]:
    """List the faults of candidates, each with the first configuration that has it."""
    failed = outcome.failed
    counts = Counter(failed.values())
    for reason, count in counts.most_common(_MOST_FAULTS):
        key = next(key for key, each in failed.items() if each == reason)
        more = f" (and {count - 1} more)" if count > 1 else ""
        yield f"{_format_key(outcome, key)}{more}: {reason}"
    if len(counts) > _MOST_FAULTS:
        yield f"{len(counts) - _MOST_FAULTS} other reasons; --wide lists them"


def _tabulate_dropped(outcome: SearchOutcome) -> Table:
    rows = [
        (_format_key(outcome, each.key), outcome.dropped[each.key])
        for each in outcome.standings
        if each.key in outcome.dropped
    ]
    rows += [(_format_key(outcome, key), reason) for key, reason in outcome.failed.items()]
    return Table(
        f"{outcome.task}: why configurations were dropped",
        ["configuration", "why"],
        rows,
        fold=["configuration", "why"],
    )


def _format_key(outcome: SearchOutcome, key: Key) -> str:
    return str(outcome.task.chains[key].config)


def report_dispatch(table: DispatchTable, environment: Environment) -> Report:
    """Report the rows, the held-out problems, and the largest loss there."""
    notes = [f"Losses: {environment.caveat}."] if environment.caveat else []
    tables = [_tabulate_rows(table), *([_tabulate_held_out(table)] if table.held_out else [])]
    return Report(tables, notes, closing=_describe_losses(table))


def _tabulate_rows(table: DispatchTable) -> Table:
    headings = ["row", "when", "problems", "best", "loss", "why it stays"]
    cells = [
        [
            str(row.number + 1),
            row.when or "-",
            str(len(row.problems)),
            _format(row.candidate),
            _loss(row),
            row.reason or "-",
        ]
        for row in table.rows
        if row.problems
    ]
    others = len(table.rows) - len(cells)
    stay, them = ("stays as it is", "it") if others == 1 else ("stay as they are", "them")
    notes = [f"{count_noun(others, 'row')} {stay}: no problem of this search falls to {them}"] if others else []
    left = ["when", "best", "why it stays"]
    return Table(f"{table.variant.name}: rows of its pick", headings, cells, notes, left=left, fold=left)


def _tabulate_held_out(table: DispatchTable) -> Table:
    cells = [[str(each.problem), _format(each.picked), _format(each.best), _held_loss(each)] for each in table.held_out]
    left = ["problem", "picked", "best"]
    headings = ["problem", "picked", "best", "loss"]
    return Table("Problems held out from the choice", headings, cells, left=left, fold=left)


def _describe_losses(table: DispatchTable) -> list[str]:
    known = [each.loss.value - 1 for each in table.held_out if not math.isnan(each.loss.value)]
    if not known:
        return [
            "No problem was held out. Give at least two problems per row to see how well its choice works on others."
        ]
    missing = len(table.held_out) - len(known)
    mean, most = format_share(sum(known) / len(known)), format_share(max(known))
    held = count_noun(len(known), "problem")
    lines = [f"At {held} held out, the picked row takes {mean} longer than the best on average, and {most} at most."]
    return lines + ([f"At {count_noun(missing, 'problem')} held out it does not run."] if missing else [])


def _format(candidate: Candidate | None) -> str:
    return "-" if candidate is None else format_configuration(dict(candidate[1]), candidate[0])


def _loss(row: ChosenRow) -> str:
    return "-" if math.isnan(row.loss) else format_share(row.loss)


def _held_loss(each: HeldOut) -> str:
    if math.isnan(each.loss.value):
        return "does not run"
    width = f" +- {format_share(each.loss.half_width)}" if each.loss.known and each.loss.half_width else ""
    return f"{format_share(each.loss.value - 1)}{width}"


SCHEMA = 1


class Winner(msgspec.Struct, frozen=True, kw_only=True):
    """The best known configuration of one variant at one problem.

    Attributes:
        device: The name of the device.
        sms: The number of its multiprocessors, or of the cores that a CPU may use.
        driver: The version of its driver. Empty for a CPU.
        compiler: The version of the compiler.
        variant: The name of the variant.
        code: A hash of its text with its local headers, or of the versions of a library.
        problem: M, N, K, layout, precision, alpha and beta.
        goal: What was minimized: `time`, `sustained` or `energy`.
        config: The values of the parameters.
        value: Seconds per launch, or joules with the goal `energy`.
        low: The lower end of the 95 % interval. Only with the goal `time`.
        high: The upper end of the interval.
        percent_of_baseline: The speed as a percentage of the baseline, if that was measured too.
        baseline: The variant that the percentage refers to.
        ties: Other configurations that are not clearly worse.
        tried: The number of configurations that were tried.
        space: The number of configurations that there are.
        run: The name of the run that found it.
        caveat: A caveat on its speed, such as `on the CPU device, which says nothing about a GPU`. Empty on a GPU.
    """

    device: str
    sms: Count
    driver: str
    compiler: str
    variant: str
    code: str
    problem: Problem
    goal: str
    config: dict[str, Integer]
    value: Amount
    low: Amount | None = None
    high: Amount | None = None
    percent_of_baseline: Amount | None = None
    baseline: str = ""
    ties: list[dict[str, Integer]] = []
    tried: Count = 0
    space: Count = 0
    run: str = ""
    caveat: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """The key under which a winner is kept. A new winner with the same key replaces it."""
        return (self.device, self.sms, self.driver, self.compiler, self.variant, self.code, self.problem, self.goal)

    def is_better(self, other: Winner) -> bool:
        """Return whether it is better than another winner with its key.

        If both have a percentage of the same baseline, that decides, since the clock may differ from run to run.
        """
        mine, yours = self.percent_of_baseline, other.percent_of_baseline
        if mine is not None and yours is not None and self.baseline == other.baseline:
            return mine > yours
        return self.value < other.value


class WinnersFile(msgspec.Struct, kw_only=True):
    """The content of the file of winners.

    Attributes:
        schema: The version of the format.
        winners: The winners, oldest first.
    """

    schema: int = SCHEMA
    winners: list[Winner] = []


def describe_kept(added: Sequence[Winner], stayed: Sequence[Winner], path: Path) -> Iterator[str]:
    """Describe what became of the winners of a search: those that are now in the file, and earlier ones that stayed."""
    if added:
        what, them = count_noun(len(added), "winner"), "it" if len(added) == 1 else "them"
        yield f"stored {what} in {path}; run --tuned uses {them}"
    for each in stayed:
        kept = f"{each.variant} at {each.problem}: the winner of an earlier search stays"
        yield f"{kept}: {format_configuration(each.config)}; tune {each.variant} --forget removes it"


def report_winners(winners: Sequence[Winner]) -> Report:
    """Report one line for each winner."""
    headings = [
        "variant",
        "problem",
        "best",
        "time (ms)",
        "joules",
        "% of baseline",
        "goal",
        "device",
        "driver",
        "tried",
    ]
    rows = [
        [
            each.variant,
            str(each.problem),
            format_configuration(each.config),
            "-" if each.goal == "energy" else number(1e3 * each.value),
            number(each.value) if each.goal == "energy" else "-",
            _format_percent(each),
            each.goal,
            each.device,
            each.driver or "-",
            f"{each.tried} of {each.space}",
        ]
        for each in winners
    ]
    left = ["variant", "problem", "best", "% of baseline", "goal", "device", "driver"]
    hide = ["joules", "driver", "tried", "goal", "% of baseline"]
    caveats = dict.fromkeys(f"{each.device}: {each.caveat}." for each in winners if each.caveat)
    return Report([Table("", headings, rows, list(caveats), left=left, fold=["best"], hide=hide)])


def _format_percent(winner: Winner) -> str:
    """Format the percentage and its baseline; `-` if there is none, and on the CPU device, where it means nothing."""
    if winner.percent_of_baseline is None or winner.caveat:
        return "-"
    return f"{number(winner.percent_of_baseline, 3)} ({winner.baseline})"
