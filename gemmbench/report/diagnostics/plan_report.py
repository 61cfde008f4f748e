"""The output of `--dry-run`: what would run, what would be skipped and why, and about how long it would take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from gemmbench.bench.estimate import Estimate
from gemmbench.planning.plans.plan import Chain, Plan
from gemmbench.report.table import Report, Table
from gemmbench.report.text import count_noun, format_duration

MOST_LISTED = 1000
"""The number of rows to list. The others are only counted."""
_HIDE = ("block", "grid", "device")


class PlannedRows:
    """The rows of a dry run: those to list, and counts of all of them. Rows in `measured` are left out."""

    def __init__(self, measured: Collection[tuple[object, ...]] = ()) -> None:
        self.measured, self.left_out = measured, 0
        self.listed: list[Chain] = []
        self.able = 0
        self.skips: Counter[tuple[str, str]] = Counter()

    def count(self, chains: Iterable[Chain]) -> Iterator[Chain]:
        """Pass the rows on and count them."""
        for chain in chains:
            if chain.kernel_key in self.measured:
                self.left_out += 1
                continue
            if chain.reason:
                self.skips[chain.name, chain.reason] += 1
            else:
                self.able += 1
                self.listed += [chain] if self.able <= MOST_LISTED else []
            yield chain


def report_plans(rows: PlannedRows, estimate: Estimate, device: str) -> Report:
    """Report the rows of a sweep."""
    headings = ["problem", "kernel", "configuration", "device", "grid", "block"]
    cells = [_describe_plan(chain) for chain in rows.listed]
    table = Table("", headings, cells, left=headings, fold=["configuration"], hide=_HIDE)
    return Report([table], _summarize(rows, estimate, device))


def report_network_plans(title: str, rows: PlannedRows, estimate: Estimate, device: str) -> Report:
    """Report the rows of a network and what each of them launches."""
    headings = ["kernel", "configuration", "device", "launches"]
    cells = [[chain.name, str(chain.config) or "-", chain.device, ", ".join(chain.launches)] for chain in rows.listed]
    table = Table(title, headings, cells, left=headings, fold=["configuration", "launches"], hide=["device"])
    return Report([table], _summarize(rows, estimate, device))


def _describe_plan(chain: Chain) -> list[str]:
    plan = chain.steps[0]
    name = f"{chain.name} + pass" if chain.passed else chain.name
    return [str(chain.problem), name, str(plan.config) or "-", plan.device, *_describe_geometry(plan)]


def _describe_geometry(plan: Plan) -> list[str]:
    one = plan.geometry if plan.group is None else None  # those of other groups differ
    grid, block = (one.grid, one.block) if one else ((), ())
    return ["x".join(map(str, extent)) or "-" for extent in (grid, block)]


def _summarize(rows: PlannedRows, estimate: Estimate, device: str) -> list[str]:
    skips = [f"skipped {count}: {name}: {reason}" for (name, reason), count in rows.skips.items()]
    skipped = sum(rows.skips.values())
    also = f" and {skipped} would be skipped" if skipped else ""
    unlisted = f"; the first {len(rows.listed):,} are listed" if rows.able > len(rows.listed) else ""
    kept = [f"{count_noun(rows.left_out, 'row')} in the results file will not run again."] if rows.left_out else []
    return [
        *skips,
        *kept,
        f"{count_noun(rows.able, 'row')} would run{also}{unlisted}.",
        f"About {describe_estimate(estimate, device)}.",
    ]


def describe_estimate(estimate: Estimate, device: str) -> str:
    """Describe an estimate, as in `40 s on AMD EPYC, 3 s of it to compile 5 kernels`."""
    kernels = count_noun(estimate.kernels, "kernel")
    compiling = f", {format_duration(estimate.compiling)} of it to compile {kernels}" if estimate.kernels else ""
    return f"{format_duration(estimate.seconds)} on {device}{compiling}"
