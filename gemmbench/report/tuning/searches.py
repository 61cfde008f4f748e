"""What each search found, and why its other candidates went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.bench.tuning.outcome import GOALS, SearchOutcome
from gemmbench.bench.tuning.tuning_task import Key
from gemmbench.report.table import Report, Table
from gemmbench.report.text import count_noun, number, with_interval

_MOST_FAULTS = 5
_MOST_TIES = 3


def report_searches(outcomes: Sequence[SearchOutcome], wide: bool = False) -> Report:
    """Sentences on every search; `wide` adds a table of the configurations that went."""
    tables = [_tabulate_dropped(each) for each in outcomes if each.dropped or each.failed] if wide else []
    return Report(tables, closing=[line for each in outcomes for line in _describe_search(each)])


def _describe_search(outcome: SearchOutcome) -> Iterator[str]:
    yield f"{outcome.task}: {_describe_winner(outcome)}"
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
            return f"interrupted; best so far {configuration}, from short rounds only."
        if outcome.is_outdone:
            return f"no finalist; fastest {configuration}, from short rounds only. Other kernels are faster."
        why = "no finalist is right"
        if any(record.ranked for record in outcome.finals):
            what = "energy was measured" if outcome.goal == "energy" else "steady load was possible"
            why = f"the finalists are right, but no {what}; take another --goal"
        return f"{why}; fastest {configuration}, from short rounds only. It is not kept."
    return "interrupted before a configuration was timed." if outcome.interrupted else "no configuration is right."


def _describe_value(record: Record, goal: str) -> str:
    if goal == "energy":
        return f"{number(GOALS[goal](record), 3)} J per launch"
    if goal == "sustained":
        return f"{number(1e3 * GOALS[goal](record), 3)} ms under a steady load"
    return f"{with_interval(stats.time_interval(record.by_round).scale(1e3))} ms"


def _describe_gain(outcome: SearchOutcome) -> str:
    """How much faster than the default configuration it is, from the short rounds that both had."""
    by_key = {each.key: each for each in outcome.standings}
    first = next(iter(outcome.task.chains.values()))
    default = tuple(sorted(first.variant.default().items()))
    best = tuple(sorted(outcome.winner.config.items())) if outcome.winner else ()
    if outcome.goal != "time" or default not in by_key or best not in by_key or default == best:
        return ", which is the default" if default == best and default else ""
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
    """The faults of candidates, each with the first configuration that has it."""
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
        f"{outcome.task}: why configurations went", ["configuration", "why"], rows, fold=["configuration", "why"]
    )


def _format_key(outcome: SearchOutcome, key: Key) -> str:
    return str(outcome.task.chains[key].config)
