"""The table of `gemmbench mlp`: what its rows say that those of a GEMM do not."""

from __future__ import annotations

from collections.abc import Sequence

from gemmbench.bench.record import Environment, NetworkFacts, Record
from gemmbench.bench.timing.stats import Interval
from gemmbench.report.comparison import Row
from gemmbench.report.tables import Column, configuration, if_right, number, status, with_interval


def columns(environment: Environment, rows: Sequence[Row]) -> list[Column]:
    """Time in microseconds, times as fast as the baseline, launches; a post's figures and accuracy if there are any."""
    baseline = environment.baseline or "baseline"
    facts = [_facts(row) for row in rows]
    optional: list[tuple[bool, int, Column]] = [
        (any(each.label for each in facts), 0, ("version", lambda row: _facts(row).label or "-")),
        (any(each.published_ms for each in facts), 4, ("published (ms)", lambda row: number(_facts(row).published_ms))),
        (any(each.accuracy is not None for each in facts), 9, ("accuracy", _accuracy)),
    ]
    found: list[Column] = [
        ("kernel", lambda row: row.record.variant),
        ("configuration", configuration),
        ("time (us)", lambda row: if_right(row, number(row.time.value * 1e6))),
        (f"x {baseline}", lambda row: if_right(row, with_interval(_times(row.percent)))),
        ("GFLOPS", lambda row: if_right(row, number(row.gflops))),
        ("launches", lambda row: str(len(_facts(row).launches) or "-")),
        ("error", lambda row: number(row.record.error) if row.record.checked else "-"),
        ("status", lambda row: status(environment, row)),
    ]
    for wanted, place, column in optional:
        if wanted:
            found.insert(place, column)
    return found


def _facts(row: Row) -> NetworkFacts:
    assert row.record.network is not None
    return row.record.network


def _times(percent: Interval) -> Interval:
    return Interval(percent.value / 100, percent.low / 100, percent.high / 100)


def _accuracy(row: Row) -> str:
    accuracy = _facts(row).accuracy
    return "-" if accuracy is None else f"{100 * accuracy:.1f} %"


def footer(environment: Environment, records: Sequence[Record]) -> list[str]:
    """How a time, a speed and an error are meant."""
    lines = [
        "Time: median over interleaved rounds, one forward pass with all its launches.",
        "GFLOPS = 2 x batch x sum of inputs x outputs / time.",
        f"x {environment.baseline}: how many times as fast, from the same rounds.",
        "Error in sixteenths of what rounding may do, layer by layer; 16 are allowed.",
    ]
    if any(record.network and record.network.accuracy is not None for record in records):
        lines.append("Accuracy: share of the stored test digits, none of them trained on.")
    return lines
