"""The result of a steady load: cuBLAS compared with `sgemm` in f32, and with the best algorithm of cuBLASLt in bf16."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claims import Claim, format_table, run_sweep

Rows = dict[str, dict[str, Any]]
"""The rows of one sweep by kernel."""

SIZE = "8192"
SWEEPS = (
    ("f32", ("sgemm", "cublas"), "f32", "uniform"),
    ("bf16", ("cublas", "cublaslt"), "bf16", "uniform"),
    ("bf16 again", ("cublas", "cublaslt"), "bf16", "uniform"),
    ("bf16, zeros", ("cublas", "cublaslt"), "bf16", "zeros"),
)
LEAST_SHARE = 0.99
"""The least share of its burst time that a launch takes under load."""
MOST_POWER = 1.05
"""Of the power limit."""
MAX_DIFFERENCE = 1.0
"""Percent of cuBLAS, between two runs of one sweep."""
HEAD = (
    "sweep",
    "kernel",
    "burst TFLOPS",
    "% of cublas",
    "clock (%)",
    "sustained TFLOPS",
    "% of cublas",
    "W",
    "GHz",
    "J",
)


def check(folder: Path) -> Claim:
    """Run the sweeps at 8192."""
    measured = {title: _measure(folder, names, precision, data) for title, names, precision, data in SWEEPS}
    lines = [_describe(title, row) for title, rows in measured.items() for row in rows.values()]
    faults = [fault for title, names, *_ in SWEEPS for fault in _find_faults(title, names, measured[title])]
    faults += _compare(measured["bf16"], measured["bf16 again"])
    held = sorted({row["sustained_slowed_by"] for rows in measured.values() for row in rows.values()} - {""})
    return Claim(
        "sgemm and cublas in f32, cublas and cublaslt in bf16, at 8192 under a steady load of 4 s: a launch takes at "
        f"least {100 * LEAST_SHARE:g} % of its burst time, the GPU draws at most {100 * MOST_POWER:g} % of its power "
        f"limit, and percent of cuBLAS in bf16 differs by at most {MAX_DIFFERENCE:g} between two runs",
        format_table(lines, HEAD) + f"\n\nClock held down by: {'; '.join(held) or 'nothing'}.",
        "; ".join(faults) or _summarize(measured),
        not faults,
    )


def _measure(folder: Path, names: tuple[str, ...], precision: str, data: str) -> Rows:
    """The rows with a steady load: for a swept kernel, its best configuration, measured again."""
    problem = ("--sizes", SIZE, "--precision", precision, "--data", data)
    rows = run_sweep(folder, *names, *problem, "--baseline", "cublas", "--sustained=4")
    return {row["variant"]: row for row in rows if row["sustained_time_s"]}


def _find_faults(title: str, names: tuple[str, ...], rows: Rows) -> Iterator[str]:
    for name in names:
        row = rows.get(name)
        if row is None:
            yield f"{title}: {name} has no steady load"
        elif row["sustained_time_s"] < LEAST_SHARE * row["time_s"]:
            yield f"{title}: {name} is faster under load"
        elif not row["sustained_w"] or not 0 < row["sustained_w"] <= MOST_POWER * float(row["power_limit_w"]):
            yield f"{title}: {name} draws {row['sustained_w']} W"


def _compare(first: Rows, second: Rows) -> Iterator[str]:
    for name in first.keys() & second.keys():
        ends = [rows[name]["sustained_percent_of_baseline"] for rows in (first, second)]
        if abs(ends[0] - ends[1]) > MAX_DIFFERENCE:
            yield f"{name} reaches {ends[0]:.2f} % of cuBLAS, then {ends[1]:.2f} %"


def _summarize(measured: dict[str, Rows]) -> str:
    """The row nearest to each limit."""
    rows = [row for each in measured.values() for row in each.values()]
    time = min(row["sustained_time_s"] / row["time_s"] for row in rows)
    power = max(row["sustained_w"] / float(row["power_limit_w"]) for row in rows)
    ends = [measured[title]["cublaslt"]["sustained_percent_of_baseline"] for title in ("bf16", "bf16 again")]
    return (
        f"at least {100 * time:.1f} % of the burst time, at most {100 * power:.1f} % of the power limit, percent of "
        f"cuBLAS {abs(ends[0] - ends[1]):.2f} apart"
    )


def _describe(title: str, row: dict[str, Any]) -> list[str]:
    clock = row["sustained_clock_hz"]
    numbers = [
        row["gflops"] / 1e3,
        row["percent_of_baseline"],
        row["clock_difference_percent"],
        row["sustained_gflops"] / 1e3,
        row["sustained_percent_of_baseline"],
        row["sustained_w"],
        clock and clock / 1e9,
        row["energy_j"],
    ]
    return [title, row["variant"], *("-" if value is None else f"{value:.4g}" for value in numbers)]
