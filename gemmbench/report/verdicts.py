"""Verdicts: which of two variants is faster, by how much, and whether the difference is real."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.bench.timing import stats
from gemmbench.report.comparison import Row, groups
from gemmbench.report.store import Run

SLOWER, INCONCLUSIVE = "slower", "inconclusive"


@dataclass(frozen=True)
class Verdict:
    """What is to be said of `other` beside `one`: faster, slower, same or inconclusive, and a sentence."""

    word: str
    sentence: str


def verdicts(run: Run, names: Sequence[str]) -> list[Verdict]:
    """A verdict for each pair of variants, the later beside the earlier, and each problem."""
    found = []
    for group in groups(run):
        best = {name: _best(group.rows, name) for name in names}
        for one, other in itertools.combinations(names, 2):
            verdict = _verdict(one, best[one], other, best[other])
            found.append(Verdict(verdict.word, f"{group.title}: {verdict.sentence}"))
    return found


def _best(rows: Sequence[Row], name: str) -> Row | None:
    mine = [row for row in rows if row.record.variant == name and row.ranked]
    final = [row for row in mine if row.record.phase == "final"]
    return min(final or mine, key=lambda row: row.time.value, default=None)


def _verdict(one: str, a: Row | None, other: str, b: Row | None) -> Verdict:
    if a is None or b is None:
        missing = " and ".join(name for name, row in ((one, a), (other, b)) if row is None)
        return Verdict(INCONCLUSIVE, f"{one} and {other} cannot be compared: no valid time for {missing}.")
    ratio = stats.speed_ratio(b.record.by_round, a.record.by_round)
    if a.record.batch != b.record.batch or a.record.backend != b.record.backend:
        share = f"{1 / ratio.value:.4g} of the time of {one} (not measured in the same rounds)"
        return Verdict(INCONCLUSIVE, f"{other} takes {share}.")
    speed = f"{other} runs at {ratio.value:.4g} times the speed of {one}"
    if not ratio.known:
        return Verdict(INCONCLUSIVE, f"{speed} (too few rounds for a verdict).")
    interval = f"95 % interval {ratio.low:.4g} to {ratio.high:.4g}"
    words = {"faster": "faster than", SLOWER: "slower than", "same": "the same as"}
    word = stats.verdict(ratio)
    ending = f"{other} is {words[word]} {one}" if word in words else word
    return Verdict(word, f"{speed} ({interval}): {ending}.")
