"""The output of `gemmbench inspect --accesses`: accesses by source line, totals, and the bound on a card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gemmbench.analysis.accesses import (
    READINGS,
    SECTOR,
    WARP,
    WRITTEN,
    Access,
    AccessCounts,
    TimeBound,
    list_ragged_lines,
)
from gemmbench.planning.plans.plan import Plan
from gemmbench.report.table import Report, Table
from gemmbench.report.text import count_noun, number, percent

_LEFT = ("access", "per request")
_HEADINGS = ("line", "access", "bytes", "requests", "per request", "bytes used")
_DIGITS = 3
_MOST_NAMED = 3
_CLEARLY = 1.05
_NOTABLE = 0.1
"""The share of L1's cycles, or of a line's wavefronts, from which an explanation is given."""
_UNKNOWN = (
    "The CPU cannot count hits in L1 and L2, registers and spills, latency, other instructions, or what inline "
    "PTX does. A GPU shows a few percent more conflicts of stores."
)
_UNDECIDED = (
    "accesses to shared memory are counted as the fewest that nvcc can generate: neighbours are joined up to "
    "16 bytes, and nothing is loaded twice between two barriers"
)


@dataclass(frozen=True)
class CountedKernel:
    """The accesses of a plan, and the bound on its time (None if the card is unknown).

    `undecided` says why no machine code decided how accesses to shared memory are read; "" if it did.
    """

    plan: Plan
    counts: AccessCounts
    bound: TimeBound | None
    undecided: str = ""

    @property
    def multiply_adds(self) -> int:
        """The number of multiply-adds in the product."""
        return self.plan.problem.flops // 2


def report_accesses(kernels: Sequence[CountedKernel]) -> Report:
    """Report each kernel as a table, its totals below it, and what cannot be known, such as whether it is right."""
    names = " ".join(dict.fromkeys(each.plan.variant.name for each in kernels))
    checked = f"Whether results are right, and what is accessed outside operands: gemmbench verify {names}"
    return Report([_tabulate_accesses(each) for each in kernels], [_UNKNOWN, checked])


def _tabulate_accesses(kernel: CountedKernel) -> Table:
    plan, counts = kernel.plan, kernel.counts
    has_several = len({each.file for each in counts.accesses}) > 1
    cells = [_format_access(each, has_several) for each in counts.accesses]
    name = " ".join(filter(None, (plan.variant.name, str(plan.config))))
    title = f"{name}, {plan.problem}: ran {counts.ran:,} of {count_noun(counts.blocks, 'block')} on this CPU"
    return Table(title, _HEADINGS, cells, _describe_totals(kernel), left=_LEFT)


def _format_access(access: Access, has_several: bool) -> list[str]:
    place = (f"{access.file}:{access.line}" if has_several else str(access.line)) if access.line else "-"
    return [
        place,
        name_access(access),
        format_mean(access.mean_bytes),
        format_count(access.cost.requests),
        _format_request(access),
        "-" if access.is_shared else percent(access.used / SECTOR / access.cost.sectors),
    ]


def name_access(access: Access) -> str:
    """Return text such as `load of A`."""
    return f"{'store to' if access.writes else 'load of'} {access.operand}"


def _format_request(access: Access) -> str:
    """Return text such as `4 sectors`, `16 sectors, 2 would do`, or `4 wavefronts, 3 of them conflicts`."""
    cost = access.cost
    if not access.is_shared:
        fewest = f", {access.fewest_sectors} would do" if access.is_scattered else ""
        return _count(cost.sectors / cost.requests, "sector") + fewest
    wavefronts = _count(cost.wavefronts / cost.requests, "wavefront")
    conflicts = f", {format_mean(cost.conflicts / cost.requests)} of them conflicts" if cost.conflicts else ""
    return wavefronts + conflicts


def _count(value: float, noun: str) -> str:
    shown = format_mean(value)
    return f"{shown} {noun}{'' if shown == '1' else 's'}"


def format_mean(value: float) -> str:
    """Format what a request costs as `4`, `2.67` or `0.0312`."""
    return number(value, _DIGITS) if value % 1 else f"{value:.0f}"


def format_count(count: float) -> str:
    """Format a count as `536.9M` or `8,192`."""
    for power, unit in ((1e9, "G"), (1e6, "M")):
        if count >= power:
            return f"{count / power:.1f}{unit}"
    return f"{count:,.0f}"


def _describe_totals(kernel: CountedKernel) -> list[str]:
    problem, counts = kernel.plan.problem, kernel.counts
    asked, requests = counts.global_bytes, counts.total(is_shared=True).requests
    notes = []
    if asked:
        notes.append(
            f"Global memory: L1 is asked for {_format_bytes(asked)}, {number(asked / problem.bytes, _DIGITS)} "
            f"times the operands; {number(problem.flops / asked, _DIGITS)} FLOP per byte."
        )
    notes.append(
        f"Shared memory: {number(WARP * requests / kernel.multiply_adds, _DIGITS)} accesses per multiply-add."
        if requests
        else "Shared memory: not used."
    )
    if kernel.bound:
        notes.append(_describe_bound(kernel, kernel.bound))
    notes += _explain_accesses(kernel)
    if reading := _describe_reading(kernel):
        notes.append(reading)
    if ragged := list_ragged_lines(counts.accesses):
        named = ", ".join(ragged[:_MOST_NAMED]) + (" and others" if len(ragged) > _MOST_NAMED else "")
        notes.append(
            f"Only approximate: {named}, where lanes of a warp repeat a loop different numbers of times "
            "between two barriers."
        )
    return notes


def _format_bytes(count: float) -> str:
    for power, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= power:
            return f"{number(count / power, _DIGITS)} {unit}"
    return f"{count} bytes"


def _describe_bound(kernel: CountedKernel, bound: TimeBound) -> str:
    least, l1 = (_format_time(each) for each in (bound.seconds, bound.l1))
    start = f"On {bound.card} it takes at least {least}: "
    if bound.math is None or bound.share_of_peak is None:
        return f"{start}L1 is busy that long."
    if bound.l1 <= bound.math:
        return f"{start}the multiply-adds take that long, and L1 is busy for {l1}."
    peak = f"{number(100 * bound.share_of_peak, 2)} % of the peak of {kernel.plan.problem.precision_name}"
    return f"{start}L1 is busy that long, and the multiply-adds take {_format_time(bound.math)}. At most {peak}."


def _format_time(seconds: float) -> str:
    for power, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= power:
            return f"{number(seconds / power, _DIGITS)} {unit}"
    return f"{number(seconds * 1e6, _DIGITS)} us"


def _explain_accesses(kernel: CountedKernel) -> list[str]:
    """Explain where most of L1's cycles go, and why lines with many of them need more than they might."""
    counts = kernel.counts
    whole = sum(each.cost.wavefronts for each in counts.accesses)
    ranked = sorted(counts.accesses, key=lambda each: -each.cost.wavefronts)
    shares = [(each, each.cost.wavefronts / whole) for each in ranked]
    notes = [f"L1 is busiest with {_name_place(ranked[0])}: {percent(shares[0][1])} of its cycles."]
    for access, share in shares:
        if share >= _NOTABLE and (reason := _explain_access(access)):
            code = _quote_line(kernel.plan, access)
            notes.append(f"{_name_place(access)}: {reason}{code and f' The line is: {code}'}")
    return notes


def _name_place(access: Access) -> str:
    """`tiled.cu:69, load of A`."""
    return (f"{access.file}:{access.line}, " if access.line else "") + name_access(access)


def _explain_access(access: Access) -> str:
    """Explain why a request costs more than it might; "" if it does not."""
    cost, verb = access.cost, "write" if access.writes else "read"
    if access.is_scattered:
        used, sectors = format_mean(access.used / cost.requests), format_mean(cost.sectors / cost.requests)
        return (
            f"the threads of a warp {verb} {used} bytes in {sectors} sectors of 32 bytes, because neighbouring "
            f"threads {verb} words that are not adjacent. If they were adjacent, {access.fewest_sectors} would "
            f"be enough. Let neighbouring threads (threadIdx.x) {verb} adjacent elements."
        )
    if access.is_shared and cost.conflicts >= _NOTABLE * cost.wavefronts:
        return (
            f"{percent(cost.conflicts / cost.wavefronts)} of its passes over the banks are conflicts, because threads "
            f"of a warp {verb} different words of one bank. Rows that are a word longer often spread them."
        )
    return ""


def _quote_line(plan: Plan, access: Access) -> str:
    """Quote the line of an access if it is in the kernel's own file."""
    lines = plan.variant.text.splitlines()
    if access.file != Path(plan.variant.path).name or not 0 < access.line <= len(lines):
        return ""
    return lines[access.line - 1].strip()


def _describe_reading(kernel: CountedKernel) -> str:
    """Describe how accesses to shared memory were joined; "" if there is nothing to join."""
    counts = kernel.counts
    if all(each.least == each.costs[WRITTEN] for each in counts.accesses):
        return ""
    if kernel.undecided or not counts.is_decided:
        why = kernel.undecided or "nvcc's code has no accesses for some lines"
        ratio = number(counts.most_wavefronts / counts.least_wavefronts, _DIGITS)
        return f"{why[0].upper()}{why[1:]}. So {_UNDECIDED}. As written, they keep L1 busy {ratio} times as long."
    joined = sorted({each.line for each in counts.accesses if each.is_joined})
    lines = f", here in {'line' if len(joined) == 1 else 'lines'} {', '.join(map(str, joined))}" if joined else ""
    return f"nvcc's machine code shows which accesses to shared memory are joined{lines}."


def compare_accesses(earlier: CountedKernel, later: CountedKernel) -> str:
    """Compare in a sentence what two kernels for the same problem ask of L1, and the bounds on their times."""
    names = earlier.plan.variant.name, later.plan.variant.name
    fewer, more = (later, earlier) if later.counts.global_bytes <= earlier.counts.global_bytes else (earlier, later)
    ratio = more.counts.global_bytes / max(fewer.counts.global_bytes, 1)
    asked = (
        f"{fewer.plan.variant.name} asks L1 for {number(ratio, 2)}x fewer sectors than {more.plan.variant.name}"
        if ratio >= _CLEARLY
        else f"{names[1]} asks L1 for as many sectors as {names[0]}"
    )
    text = f"On a GPU, at {later.plan.problem.size}: {asked} (hits and misses)"
    if earlier.bound and later.bound:
        times = [_format_time(each.bound.seconds) for each in (later, earlier) if each.bound]
        text += f"; on {later.bound.card} {names[1]} takes at least {times[0]}, {names[0]} at least {times[1]}"
    reasons = [
        f" {_name_place(each)}: {reason}"
        for each in more.counts.accesses
        if each.is_scattered and each.cost.sectors >= _NOTABLE * more.counts.total(is_shared=False).sectors
        if (reason := _explain_access(each))
    ]
    return f"{text}.{reasons[0] if ratio >= _CLEARLY and reasons else ''}"


def export_accesses(kernels: Sequence[CountedKernel]) -> dict[str, Any]:
    """Return all counts for a JSON file."""
    return {"kernels": [_export_kernel(each) for each in kernels]}


def _export_kernel(kernel: CountedKernel) -> dict[str, Any]:
    plan, problem, counts, bound = kernel.plan, kernel.plan.problem, kernel.counts, kernel.bound
    return {
        "variant": plan.variant.name,
        "configuration": dict(plan.config.values),
        "M": problem.M,
        "N": problem.N,
        "K": problem.K,
        "layout": problem.layout,
        "precision": problem.precision_name,
        "blocks": counts.blocks,
        "executed_blocks": counts.ran,
        "global_bytes": counts.global_bytes,
        "operand_bytes": problem.bytes,
        "flops": problem.flops,
        "shared_requests": counts.total(is_shared=True).requests,
        "bound": asdict(bound) | {"seconds": bound.seconds, "share_of_peak": bound.share_of_peak} if bound else None,
        "undecided": kernel.undecided,
        "accesses": [_export_access(each) for each in counts.accesses],
    }


def _export_access(access: Access) -> dict[str, Any]:
    return {
        "file": access.file,
        "line": access.line,
        "operand": access.operand,
        "memory": "shared" if access.is_shared else "global",
        "direction": "store" if access.writes else "load",
        "bytes": access.nbytes,
        "used_bytes": access.used,
        "ragged": access.ragged,
        "reading": access.reading,
        **asdict(access.cost),
        "readings": {name: asdict(access.costs[name]) for name in READINGS} if access.is_shared else {},
    }
