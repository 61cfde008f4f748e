"""What `--dry-run` prints: what would run, what would be skipped and why, and about how long it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gemmbench.bench.estimate import Estimate
from gemmbench.planning.plans.chain import Chain
from gemmbench.planning.plans.plan import Plan
from gemmbench.report.table import Report, Table
from gemmbench.report.text import count_noun, format_duration

_HIDE = ("block", "grid", "device")


def report_plans(chains: Sequence[Chain], estimate: Estimate, device: str) -> Report:
    """The rows of a sweep."""
    headings = ["problem", "kernel", "configuration", "device", "grid", "block"]
    cells = [_describe_plan(chain) for chain in chains if not chain.reason]
    table = Table("", headings, cells, left=headings, fold=["configuration"], hide=_HIDE)
    return Report([table], [*_list_skips(chains), *_summarize(chains, estimate, device)])


def report_network_plans(title: str, chains: Sequence[Chain], estimate: Estimate, device: str) -> Report:
    """The rows of a network and what each launches."""
    headings = ["kernel", "configuration", "device", "launches"]
    cells = [
        [chain.name, str(chain.config) or "-", chain.device, ", ".join(chain.launches)]
        for chain in chains
        if not chain.reason
    ]
    table = Table(title, headings, cells, left=headings, fold=["configuration", "launches"], hide=["device"])
    return Report([table], [*_list_skips(chains), *_summarize(chains, estimate, device)])


def _describe_plan(chain: Chain) -> list[str]:
    (plan,) = chain.steps
    return [str(plan.problem), chain.name, str(plan.config) or "-", plan.device, *_describe_geometry(plan)]


def _describe_geometry(plan: Plan) -> list[str]:
    grid, block = (plan.geometry.grid, plan.geometry.block) if plan.geometry else ((), ())
    return ["x".join(map(str, extent)) or "-" for extent in (grid, block)]


def _list_skips(chains: Sequence[Chain]) -> list[str]:
    skips = Counter((chain.name, chain.reason) for chain in chains if chain.reason)
    return [f"skipped {count}: {name}: {reason}" for (name, reason), count in skips.items()]


def _summarize(chains: Sequence[Chain], estimate: Estimate, device: str) -> list[str]:
    skipped = sum(bool(chain.reason) for chain in chains)
    also = f" and {skipped} would be skipped" if skipped else ""
    return [
        f"{count_noun(len(chains) - skipped, 'row')} would run{also}.",
        f"About {describe_estimate(estimate, device)}.",
    ]


def describe_estimate(estimate: Estimate, device: str) -> str:
    """`40 s on AMD EPYC, 3 s of it to compile 5 kernels`."""
    kernels = count_noun(estimate.kernels, "kernel")
    compiling = f", {format_duration(estimate.compiling)} of it to compile {kernels}" if estimate.kernels else ""
    return f"{format_duration(estimate.seconds)} on {device}{compiling}"
