"""What `gemmbench inspect` prints: registers, shared memory, occupancy, blocks, waves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.analysis.occupancy import Occupancy, theoretical_occupancy
from gemmbench.backends.base import Build
from gemmbench.planning.plans.plan import Plan
from gemmbench.report.table import Report, Table
from gemmbench.report.text import number

_LEFT, _FOLD = ("size", "kernel", "limit"), ("configuration",)
_HIDE = (
    "stack bytes",
    "kernel",
    "threads",
    "warps per SM",
    "blocks per SM",
    "static shared",
    "dynamic shared",
    "blocks",
    "waves",
)

_HEADINGS = (
    *("size", "configuration", "kernel", "threads", "registers", "spilled bytes", "stack bytes", "static shared"),
    *("dynamic shared", "blocks per SM", "warps per SM", "occupancy", "limit", "blocks", "waves"),
)

# Multiprocessors of a well-known GPU of each architecture, used if the machine has no such GPU
# (V100, T4, A100, RTX 3090, RTX 4090, H100 and H200 SXM, B200, RTX 5090; NVIDIA's data sheets).
USUAL_SMS = {70: 80, 75: 40, 80: 108, 86: 82, 89: 128, 90: 132, 100: 148, 120: 170}
# Their highest clocks in GHz: f32 peak of the data sheet over SMs, lanes and 2.
USUAL_CLOCK = {70: 1.53, 75: 1.59, 80: 1.41, 86: 1.70, 89: 2.52, 90: 1.98, 100: 1.98, 120: 2.41}


@dataclass(frozen=True)
class Inspection:
    """One launch of a plan on one architecture. A wave is a full load of all multiprocessors.

    There is no `occupancy` for a launcher: only its host function knows grid and block.
    """

    plan: Plan
    build: Build
    occupancy: Occupancy | None
    sms: int

    @property
    def waves(self) -> float:
        """Blocks of the grid, in full loads of the device; NaN if no block fits, or if there is no grid."""
        blocks = self.occupancy.blocks_per_sm * self.sms if self.occupancy else 0
        return self.plan.geometry.blocks / blocks if blocks and self.plan.geometry else float("nan")

    def cells(self) -> dict[str, str]:
        """The cells of the table, by heading."""
        build, cells = self.build, dict.fromkeys(_HEADINGS, "-")
        cells |= {"size": self.plan.problem.size, "configuration": str(self.plan.config) or "-"}
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
    """One line per inspected launch, and the `target` that they were compiled for."""
    cells = [inspection.cells() for inspection in inspections]
    headings = list(cells[0]) if cells else []
    hide = _HIDE if len(cells) > 1 else ()  # one launch that is too wide is drawn as a block
    table = Table("", headings, [list(row.values()) for row in cells], left=_LEFT, fold=_FOLD, hide=hide)
    return Report([table], [target])


def inspect_launch(plan: Plan, build: Build, sm: int, sms: int) -> Inspection:
    """Derive the occupancy from the compiler's facts. Raises DeviceError (unknown architecture)."""
    if plan.geometry is None:
        return Inspection(plan, build, None, sms)
    shared = max(build.shared, 0) + plan.geometry.shared
    return Inspection(plan, build, theoretical_occupancy(sm, plan.geometry.threads, build.registers, shared), sms)
