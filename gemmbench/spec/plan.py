"""Plans: a problem, a variant and a configuration, ready to compile and launch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gemmbench.spec.network import Network
from gemmbench.spec.problem import Problem
from gemmbench.spec.variant import Variant


@dataclass(frozen=True)
class Target:
    """What planning must know of a device.

    `kind` is its back end ("cuda", "cpu", "fake"), `sm` its compute capability as an
    integer (90 for 9.0; 0 on a CPU), `sms` its multiprocessors or cores, `smem` the
    most shared memory a block may have, `l2` its last-level cache and `memory` its
    usable memory, in bytes.
    """

    kind: str
    sm: int
    sms: int
    smem: int
    l2: int
    memory: int


@dataclass(frozen=True)
class Geometry:
    """The numbers of one launch: blocks, threads of a block, dynamic shared bytes."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int

    @property
    def blocks(self) -> int:
        """Blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """Threads in a block."""
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(frozen=True)
class Config:
    """An ordered choice of one value for each parameter; prints `BM=128 BN=128`."""

    values: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.values)


@dataclass(frozen=True)
class Plan:
    """What one row measures; `geometry` is None for a library and a host function.

    `device` is the back end that runs it: "cuda", "cpu" or "fake". `arch` is what the
    compiler is told ("90", "90a"), empty where there is no such thing. `epilogue` is what it
    does to C after the product; `network` is set where the variant computes one.
    """

    problem: Problem
    variant: Variant
    config: Config
    device: str
    arch: str
    geometry: Geometry | None
    epilogue: tuple[str, ...] = ()
    network: Network | None = None

    @cached_property
    def defines(self) -> tuple[tuple[str, str], ...]:
        """The macros of this plan, in the order they are written."""
        precision, problem = self.problem.precision, self.problem
        types = [("TA", precision.ctype), ("TB", precision.ctype), ("TC", precision.ctype)]
        types += [("TACC", precision.scalar)]
        layout = [("TRANS_A", str(int(problem.trans_a))), ("TRANS_B", str(int(problem.trans_b)))]
        fused = [(name.upper(), str(int(name in self.epilogue))) for name in self.variant.epilogue]
        network = list(self.network.macros) if self.network else []
        return tuple([(name, str(value)) for name, value in self.config.values] + types + layout + fused + network)


@dataclass(frozen=True)
class Skip:
    """A plan that cannot run here, and the sentence that says why."""

    problem: Problem
    variant: Variant
    config: Config
    device: str
    reason: str
