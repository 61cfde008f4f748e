"""The table of `inspect --sass-mix`: what fills the hottest loop of a kernel, and the speed that it allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.analysis.sass.facts import LoopFacts
from gemmbench.report.table import format_cells
from gemmbench.report.text import number

MODEL = """\
Bound: the share of FFMA in the shortest way round the loop, one instruction a cycle in each partition of an SM.
Estimate: every instruction once, those of loops inside too, and register bank conflicts. Two banks (number modulo 2)
are each read once a cycle, operands kept by .reuse are not; a second read costs a cycle unless the next FFMA has a
conflict in the other bank. Latency, bandwidth, barriers and instruction fetch are in neither. Wavefronts: those of a
warp if every lane reads its own words and no bank conflicts; lanes that read the same words may need fewer."""


@dataclass(frozen=True)
class Peak:
    """f32 rate of a device in FLOP/s, and f32 lanes of one of its multiprocessors."""

    flops: float
    lanes: int


@dataclass(frozen=True)
class Reading:
    """The hottest loop of one kernel; `facts` None means that no loop has math, `peak` None an unknown device."""

    label: str
    facts: LoopFacts | None
    peak: Peak | None

    @property
    def speeds(self) -> dict[str, float]:
        """The bound and the estimate as shares of the peak; empty where the loop is not of FFMA."""
        if self.facts is None or self.peak is None or not self.facts.loop.ffma:
            return {}
        return {"bound": self.facts.bound(self.peak.lanes), "estimate": self.facts.estimate(self.peak.lanes)}

    def cells(self) -> dict[str, str]:
        """Rows of the table; empty without a loop."""
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
            "in loops inside": str(facts.loop.inside),
            "shortest way round": str(facts.loop.path),
            "math with .reuse": _share(facts.reuse, len(facts.reads)),
            "bank conflicts": _share(facts.conflicts, len(facts.reads)),
            "load to use, least": _known(facts.load_distance),
            "load to use, median": _known(facts.median_distance),
            "shared load widths": widths or "-",
            "wavefronts": str(facts.wavefronts),
            **self._speeds(),
        }

    def sentence(self) -> str:
        """Why the loop stops where it stops."""
        facts = self.facts
        if facts is None:
            return f"{self.label}: no loop has math"
        others = sorted((count, kind) for kind, count in facts.mix.items() if kind != "FFMA" and count)[::-1]
        said = ", ".join(f"{_share(count, facts.instructions)} {kind}" for count, kind in others[:3])
        text = f"of {facts.instructions} instructions {_share(facts.mix['FFMA'], facts.instructions)} are FFMA"
        text += f", then {said}" if said else ""
        return f"{self.label}: {self._head()}{text}{self._shared()}"

    def _shared(self) -> str:
        """The port of shared memory serves the warps of four partitions, one wavefront a cycle."""
        assert self.facts is not None
        cycles = 4 * self.facts.wavefronts
        if cycles <= self.facts.instructions:
            return ""
        return f"; its shared loads take {cycles} cycles of a multiprocessor unless lanes read the same words"

    def _speeds(self) -> dict[str, str]:
        flops = self.peak.flops if self.peak else 0.0
        rates = {f"{name} (TFLOPS)": _tflops(share * flops) for name, share in self.speeds.items()}
        return rates | {f"{name} (% of peak)": _percent(share) for name, share in self.speeds.items()}

    def _head(self) -> str:
        if self.peak is None or not self.speeds:
            return ""
        bound, estimate = (_tflops(share * self.peak.flops) for share in self.speeds.values())
        return f"bound {bound}, estimate {estimate} of {_tflops(self.peak.flops)} TFLOPS: "


def table(readings: Sequence[Reading], style: str) -> str:
    """One column a kernel; what none of them has is left out, but for spills. "" if none has a loop."""
    columns = [reading.cells() for reading in readings]
    if not any(columns):
        return ""
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [[name, *(column.get(name, "-") for column in columns)] for name in names]
    head = ["hottest loop", *(reading.label for reading in readings)]
    shown = [row for row in rows if row[0] == "spills" or any(cell not in ("0", "-") for cell in row[1:])]
    return format_cells(shown, head, style)


def _share(count: int, whole: int) -> str:
    return f"{count} ({_percent(count / whole)} %)" if count else "0"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _tflops(flops: float) -> str:
    return number(flops / 1e12)


def _known(value: int | None) -> str:
    return "-" if value is None else str(value)
