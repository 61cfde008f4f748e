"""The winners that are kept: the models of their file, and a table of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from gemmbench.planning.plans.plan import format_configuration
from gemmbench.planning.problems import Problem
from gemmbench.planning.sizes import Amount, Count, Integer
from gemmbench.report.table import Report, Table
from gemmbench.report.text import count_noun, number

SCHEMA = 1


class Winner(msgspec.Struct, frozen=True, kw_only=True):
    """The best known configuration of one variant at one problem.

    Attributes:
        device: The name of the device.
        sms: Its multiprocessors, or the cores that a CPU may use.
        driver: The version of its driver; empty for a CPU.
        compiler: The version of the compiler.
        variant: The name of the variant.
        code: A hash of its text with its local headers; of a library, of its versions.
        problem: M, N, K, layout, precision, alpha and beta.
        goal: `time`, `sustained` or `energy`: what was minimized.
        config: The values of the parameters.
        value: Seconds per launch, or joules with the goal `energy`.
        low: The lower end of the 95 % interval; only with the goal `time`.
        high: Its upper end.
        percent_of_baseline: How good it is in percent of the baseline; only if that was measured too.
        baseline: The variant that the percentage refers to.
        final: Whether it was measured in full; false if the search was interrupted before.
        ties: Other configurations that are not clearly worse.
        tried: How many configurations were tried.
        space: How many there are.
        run: The name of the run that found it.
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
    final: bool = True
    ties: list[dict[str, Integer]] = []
    tried: Count = 0
    space: Count = 0
    run: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """What a winner is kept for: a new one with this key replaces it."""
        return (self.device, self.sms, self.driver, self.compiler, self.variant, self.code, self.problem, self.goal)

    def is_better(self, other: Winner) -> bool:
        """Whether it is better than another one with its key, by the percentage of the same baseline if both have one.

        The percentage says more than the value, since the clock may differ from run to run.
        """
        mine, yours = self.percent_of_baseline, other.percent_of_baseline
        if mine is not None and yours is not None and self.baseline == other.baseline:
            return mine > yours
        return self.value < other.value


class WinnersFile(msgspec.Struct, kw_only=True):
    """The file.

    Attributes:
        schema: The version of the format.
        winners: The winners, oldest first.
    """

    schema: int = SCHEMA
    winners: list[Winner] = []


def describe_kept(added: Sequence[Winner], stayed: Sequence[Winner], path: Path) -> Iterator[str]:
    """What became of the winners of a search: those that are in the file now, and those that stay in it."""
    if added:
        what, them = count_noun(len(added), "winner"), "it" if len(added) == 1 else "them"
        yield f"{what} kept in {path}; run --tuned uses {them}"
    for each in stayed:
        kept = f"{each.variant} at {each.problem}: the winner of an earlier search stays"
        yield f"{kept}: {format_configuration(each.config)}; tune {each.variant} --forget removes it"


def report_winners(winners: Sequence[Winner]) -> Report:
    """A line for each winner."""
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
            format_configuration(each.config) + ("" if each.final else " (interrupted)"),
            "-" if each.goal == "energy" else number(1e3 * each.value),
            number(each.value) if each.goal == "energy" else "-",
            "-" if each.percent_of_baseline is None else f"{number(each.percent_of_baseline, 3)} ({each.baseline})",
            each.goal,
            each.device,
            each.driver or "-",
            f"{each.tried} of {each.space}",
        ]
        for each in winners
    ]
    left = ["variant", "problem", "best", "% of baseline", "goal", "device", "driver"]
    return Report(
        [
            Table(
                "",
                headings,
                rows,
                left=left,
                fold=["best"],
                hide=["joules", "driver", "tried", "goal", "% of baseline"],
            )
        ]
    )
