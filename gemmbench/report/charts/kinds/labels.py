"""Names that tell the series of several runs, devices and problems apart, and no longer than needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gemmbench.report.row import Row


def _cache(row: Row) -> str:
    """What the run asked for; small operands may have been in the cache all the same."""
    return str(row.environment.policy.get("cache", ""))


_ATTRIBUTES: tuple[Callable[[Row], str], ...] = (
    lambda row: row.record.problem.precision_name,
    lambda row: row.record.problem.layout,
    lambda row: f"alpha {row.record.problem.alpha:g} beta {row.record.problem.beta:g}",
    _cache,
    lambda row: row.environment.device_name(row.record.backend),
    lambda row: row.environment.started[:10],
    lambda row: row.environment.started[11:19],
    lambda row: row.environment.run,
)
"""What may differ between series of the same variant, in the order in which names mention it."""


def group_series(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by series, in the order of the ladder: the same variant, run and kind of problem."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.record.order, row.record.variant)):
        groups.setdefault((row.record.variant, *(attribute(row) for attribute in _ATTRIBUTES)), []).append(row)
    used = _needed_attributes(list(groups))
    return {", ".join(filter(None, [key[0], *(key[index] for index in used)])): rows for key, rows in groups.items()}


def _needed_attributes(keys: Sequence[tuple[str, ...]]) -> list[int]:
    """The first attributes that tell apart the keys of the same variant."""
    used: list[int] = []
    for index in range(1, len(_ATTRIBUTES) + 1):
        if len({(key[0], *(key[each] for each in used)) for key in keys}) == len(keys):
            break
        if len({(key[0], *(key[each] for each in [*used, index])) for key in keys}) > len(
            {(key[0], *(key[each] for each in used)) for key in keys}
        ):
            used.append(index)
    return used


def describe_rows(rows: Sequence[Row]) -> str:
    """`NVIDIA H200, f32, cold cache, 2026-11-22`: what all rows have in common."""
    texts = (
        {row.environment.device for row in rows},
        {row.record.problem.precision_name for row in rows},
        {"" if row.record.problem.layout == "nn" else row.record.problem.layout for row in rows},
        {f"{_cache(row)} cache" if _cache(row) else "" for row in rows},
        {row.environment.started[:10] for row in rows},
    )
    return ", ".join(value for values in texts if len(values) == 1 for value in values if value)


def name_baseline(rows: Sequence[Row]) -> str:
    """The variant that percentages refer to; `the baseline` if runs differ."""
    names = {row.environment.baseline for row in rows}
    return names.pop() if len(names) == 1 else "the baseline"
