"""The output of `gemmbench inspect`: registers, shared memory, occupancy, and what fills the hottest loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.analysis.occupancy import Occupancy, theoretical_occupancy
from gemmbench.analysis.sass_facts import LoopFacts
from gemmbench.backends.base import Build
from gemmbench.planning.plans.plan import Plan
from gemmbench.report.table import Report, Table
from gemmbench.report.text import number

_LEFT, _FOLD = ("problem", "kernel", "limit"), ("configuration",)
_HIDE = (
    "stack bytes",
    "kernel",
    "warps per SM",
    "blocks per SM",
    "static shared",
    "dynamic shared",
    "blocks",
    "waves",
    "threads",
)

_HEADINGS = (
    *("problem", "configuration", "kernel", "threads", "registers", "spilled bytes", "stack bytes", "static shared"),
    *("dynamic shared", "blocks per SM", "warps per SM", "occupancy", "limit", "blocks", "waves"),
)

# Multiprocessors of a well-known GPU of each architecture, used if the machine has no such GPU
# (V100, T4, A100, RTX 3090, RTX 4090, H100 and H200 SXM, B200, RTX 5090; NVIDIA's data sheets).
USUAL_SMS = {70: 80, 75: 40, 80: 108, 86: 82, 89: 128, 90: 132, 100: 148, 120: 170}
# Their highest clocks in GHz: f32 peak of the data sheet over SMs, lanes and 2.
USUAL_CLOCK = {70: 1.53, 75: 1.59, 80: 1.41, 86: 1.70, 89: 2.52, 90: 1.98, 100: 1.98, 120: 2.41}
USUAL_CARDS = {
    70: "a V100",
    75: "a T4",
    80: "an A100",
    86: "an RTX 3090",
    89: "an RTX 4090",
    90: "an H100 or H200",
    100: "a B200",
    120: "an RTX 5090",
}


@dataclass(frozen=True)
class Inspection:
    """One launch of a plan on one architecture. A wave is a full load of all multiprocessors.

    A launcher has no `occupancy`, because only its host function knows the grid and the block.
    """

    plan: Plan
    build: Build
    occupancy: Occupancy | None
    sms: int

    @property
    def waves(self) -> float:
        """The blocks of the grid divided by the blocks that run at once; NaN if no block fits or there is no grid."""
        blocks = self.occupancy.blocks_per_sm * self.sms if self.occupancy else 0
        return self.plan.geometry.blocks / blocks if blocks and self.plan.geometry else float("nan")

    def cells(self) -> dict[str, str]:
        """The cells of the table by heading."""
        build, cells = self.build, dict.fromkeys(_HEADINGS, "-")
        cells |= {"problem": str(self.plan.problem), "configuration": str(self.plan.config) or "-"}
        cells["kernel"] = self.plan.symbols[-1] if self.plan.symbols else self.plan.variant.call.host
        facts = (build.registers, build.spills, build.stack, build.shared)
        names = ("registers", "spilled bytes", "stack bytes", "static shared")
        cells |= {name: str(fact) for name, fact in zip(names, facts, strict=True) if fact >= 0}
        return cells | self._describe_launch()

    def _describe_launch(self) -> dict[str, str]:
        geometry, occupancy = self.plan.geometry, self.occupancy
        if geometry is None or occupancy is None:
            return {}
        return {
            "threads": str(geometry.threads),
            "dynamic shared": str(geometry.shared),
            "blocks per SM": str(occupancy.blocks_per_sm),
            "warps per SM": f"{occupancy.warps_per_sm} of {occupancy.max_warps}",
            "occupancy": f"{100 * occupancy.fraction:.0f} %",
            "limit": occupancy.limiter,
            "blocks": str(geometry.blocks),
            "waves": number(self.waves),
        }


def report_inspections(inspections: Sequence[Inspection], target: str) -> Report:
    """Report one line for each inspected launch, and the `target` for which they were compiled."""
    cells = [inspection.cells() for inspection in inspections]
    headings = list(cells[0]) if cells else []
    hide = _HIDE if len(cells) > 1 else ()  # one launch that is too wide is drawn as a block
    table = Table("", headings, [list(row.values()) for row in cells], left=_LEFT, fold=_FOLD, hide=hide)
    return Report([table], [target])


def inspect_launch(plan: Plan, build: Build, sm: int, sms: int) -> Inspection:
    """Compute the occupancy from the compiler's facts. Raises DeviceError if the architecture is unknown."""
    if plan.geometry is None:
        return Inspection(plan, build, None, sms)
    shared = max(build.shared, 0) + plan.geometry.shared
    return Inspection(plan, build, theoretical_occupancy(sm, plan.geometry.threads, build.registers, shared), sms)


_SPEEDS = (
    "Bound: the share of FFMA on the shortest path through the loop, if each partition of an SM issues one "
    "instruction per cycle.",
    "Estimate: counts every instruction once, including those of inner loops, and register bank conflicts. "
    "Each of the two banks (register number modulo 2) is read once per cycle; operands kept by .reuse are not "
    "read again. A second read costs a cycle unless the next FFMA has a conflict in the other bank.",
    "Neither includes latency, bandwidth, barriers or instruction fetch.",
)
_LOADS = (
    "Wavefronts are those of a warp whose lanes read different words without bank conflicts; lanes that read "
    "the same words may need fewer.",
)


@dataclass(frozen=True)
class PeakRate:
    """The f32 rate of a device in FLOP/s, and the number of f32 lanes in one multiprocessor."""

    flops: float
    lanes: int


@dataclass(frozen=True)
class HottestLoop:
    """The hottest loop of one kernel.

    `facts` is None if no loop has arithmetic. `peak` is None if the device is unknown.
    """

    label: str
    facts: LoopFacts | None
    peak: PeakRate | None

    @property
    def speeds(self) -> dict[str, float]:
        """The bound and the estimate as shares of the peak; empty if the loop has no FFMA."""
        if self.facts is None or self.peak is None or not self.facts.loop.ffma:
            return {}
        return {"bound": self.facts.bound(self.peak.lanes), "estimate": self.facts.estimate(self.peak.lanes)}

    def cells(self) -> dict[str, str]:
        """The cells of its column by the name of the row; empty without a loop."""
        facts = self.facts
        if facts is None:
            return {}
        mix = {kind: _share(count, facts.instructions) for kind, count in facts.mix.items()}
        widths = ", ".join(f"{count} {name}" for name, count in facts.load_widths.items())
        return {
            "loop at": f"0x{facts.loop.body[0].address:x}",
            "code bytes": str(facts.loop.code_bytes),
            "instructions": str(facts.instructions),
            **mix,
            "in inner loops": str(facts.loop.inside),
            "shortest path": str(facts.loop.path),
            "math with .reuse": _share(facts.reuse, len(facts.reads)),
            "register bank conflicts": _share(facts.conflicts, len(facts.reads)),
            "load to use, least": _format_count(facts.load_distance),
            "load to use, median": _format_count(facts.median_distance),
            "shared load widths": widths or "-",
            "wavefronts": str(facts.wavefronts),
            **self._speed_cells(),
        }

    def sentence(self) -> str:
        """A sentence on what limits the speed of the loop."""
        facts = self.facts
        if facts is None:
            return f"{self.label}: no loop has arithmetic"
        main = "tensor cores" if facts.mix["tensor cores"] else "FFMA"
        others = sorted((count, kind) for kind, count in facts.mix.items() if kind != main and count)[::-1]
        most = ", ".join(f"{_share(count, facts.instructions)} {kind}" for count, kind in others[:3])
        share = _share(facts.mix[main], facts.instructions)
        verb = "are FFMA" if main == "FFMA" else "run on tensor cores"
        text = f"of {facts.instructions} instructions {share} {verb}"
        text += f", then {most}" if most else ""
        return f"{self.label}: {self._format_bound()}{text}{self._format_shared_loads()}"

    def _format_shared_loads(self) -> str:
        """Shared memory serves the warps of four partitions through one port, at one wavefront per cycle."""
        assert self.facts is not None
        cycles = 4 * self.facts.wavefronts
        if cycles <= self.facts.instructions:
            return ""
        return f"; its shared loads take {cycles} cycles of a multiprocessor, unless lanes read the same words"

    def _speed_cells(self) -> dict[str, str]:
        flops = self.peak.flops if self.peak else 0.0
        rates = {f"{name} (TFLOPS)": _tflops(share * flops) for name, share in self.speeds.items()}
        return rates | {f"{name} (% of peak)": _percent(share) for name, share in self.speeds.items()}

    def _format_bound(self) -> str:
        if self.peak is None or not self.speeds:
            return ""
        bound, estimate = (_tflops(share * self.peak.flops) for share in self.speeds.values())
        return f"bound {bound}, estimate {estimate} of {_tflops(self.peak.flops)} TFLOPS: "


def report_loops(loops: Sequence[HottestLoop]) -> Report:
    """Report one column for each kernel and a sentence on each. There is no table if no kernel has a loop."""
    columns = [loop.cells() for loop in loops]
    sentences = [loop.sentence() for loop in loops]
    if not any(columns):
        return Report([], sentences)
    notes = [*_SPEEDS] if any(loop.speeds for loop in loops) else []
    notes += _LOADS if any(loop.facts and loop.facts.wavefronts for loop in loops) else ()
    return Report([_tabulate_loops(loops, columns, sentences)], notes)


def _tabulate_loops(loops: Sequence[HottestLoop], columns: Sequence[dict[str, str]], sentences: Sequence[str]) -> Table:
    """Make the table. Rows that are empty for all kernels are left out, except spills."""
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [[name, *(column.get(name, "-") for column in columns)] for name in names]
    headings = ["hottest loop", *(loop.label for loop in loops)]
    shown = [row for row in rows if row[0] == "spills" or any(cell not in ("0", "-") for cell in row[1:])]
    return Table("", headings, shown, sentences, left=headings[:1])


def _share(count: int, whole: int) -> str:
    return f"{count} ({_percent(count / whole)} %)" if count else "0"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _tflops(flops: float) -> str:
    return number(flops / 1e12)


def _format_count(value: int | None) -> str:
    return "-" if value is None else str(value)
