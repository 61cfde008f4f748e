"""What is written down: one header for a run, one record for a row. Times are seconds a launch."""

from __future__ import annotations

import msgspec

from gemmbench.backends.monitor import Conditions
from gemmbench.planning.plans.plan import configuration

SCHEMA = 1
MODES = ("pageable", "pinned", "panels", "overlapped")
"""The ways a whole job is measured, in the order of their rows."""


class Environment(msgspec.Struct, frozen=True, kw_only=True, tag="environment", tag_field="row"):
    """The first line of a results file: what ran, on what, when."""

    schema: int = SCHEMA
    run: str
    started: str
    sweep: str
    post: str = ""
    command: str
    gemmbench: str
    revision: str = ""
    python: str = ""
    device: str
    kind: str
    baseline: str = ""
    sm: int = 0
    sms: int = 0
    l2: int = 0
    memory: int = 0
    clock_hz: float = 0.0
    bandwidth: float = 0.0
    flops_per_cycle: dict[str, float] = {}
    software: dict[str, str] = {}
    measuring: dict[str, str | int | float | bool] = {}
    host: str = ""
    cores: int = 0
    conditions: Conditions | None = None


class NetworkFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a row of `gemmbench mlp` has beside others.

    `launches` is what one forward pass launches, in order; `bytes` the least it must move;
    `label` and `published_ms` what a post calls it and published; `accuracy` the share of
    test digits that it reads right.
    """

    title: str
    flops: int
    bytes: int
    launches: list[str] = []
    label: str = ""
    published_ms: float | None = None
    accuracy: float | None = None


class Vitals(msgspec.Struct, frozen=True, kw_only=True):
    """What the device said of itself while a row was measured; None where it did not say.

    `looks` is how many times it was asked; bench.watch says which count. Temperature is the
    highest, in degrees Celsius, `power` the median in watts, clocks the highest in Hz. `slowed`
    names what held the clock down, `others` counts processes of others. `energy` is joules a
    launch under steady load (bench.energy), `energy_power` watts then, `energy_seconds` how long.
    """

    looks: int = 0
    temperature: float | None = None
    power: float | None = None
    sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None
    slowed: list[str] = []
    others: int | None = None
    energy: float | None = None
    energy_power: float | None = None
    energy_seconds: float = 0.0


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What every row says: what was asked for, whether it is right, and its samples by round.

    status: ok, wrong, skipped, failed, timeout, out of memory; `reason` says why it is not ok.
    """

    variant: str
    order: float
    config: dict[str, int]
    picked: str = ""
    device: str
    M: int
    N: int
    K: int
    layout: str
    precision: str
    alpha: float
    beta: float
    status: str
    reason: str = ""
    checked: bool = False
    check_rule: str = ""
    error: float | None = None
    samples: list[float] = []
    rounds: list[int] = []
    launches: int = 0
    stopped: str = ""
    data: str = ""
    seed: int = 0
    gated: bool = True

    @property
    def by_round(self) -> dict[int, float]:
        """Samples by round."""
        return dict(zip(self.rounds, self.samples, strict=True))

    @property
    def configuration(self) -> str:
        """`BM=128 BN=128`, or `sgemm: BM=128 BN=128` where a variant that dispatches picked one."""
        return configuration(self.config, self.picked)

    @property
    def problem_key(self) -> tuple[int, int, int, str, str, float, float]:
        """What makes two rows answers to the same problem."""
        return self.M, self.N, self.K, self.layout, self.precision, self.alpha, self.beta


class Record(Result, msgspec.Struct, frozen=True, kw_only=True, tag="record", tag_field="row"):
    """One plan or skip.

    phase: "sweep", or "final" for the best configuration of a sweep, measured again on fresh rounds.
    Of a wrong row, `diagnosis` is the key of the likely cause (`reason` has it in words),
    `wrong_map` a map of C by tiles.
    """

    phase: str = "sweep"
    batch: int = 0
    batch_key: str = ""
    batch_rows: int = 0
    artifact: str = ""
    grid: list[int] = []
    block: list[int] = []
    shared_dynamic: int = 0
    shared_static: int = -1
    registers: int = -1
    spills: int = -1
    compile_seconds: float = 0.0
    clocks_hz: list[float] = []
    cache: str = ""
    sets: int = 0
    network: NetworkFacts | None = None
    diagnosis: str = ""
    wrong_map: str = ""
    vitals: Vitals | None = None
    path: str = ""

    @property
    def flops(self) -> int:
        """Floating-point operations of one launch."""
        return self.network.flops if self.network else 2 * self.M * self.N * self.K

    @property
    def size(self) -> str:
        """`4096` or `1024x768x1024`."""
        cube = self.M == self.N == self.K
        return str(self.M) if cube else f"{self.M}x{self.N}x{self.K}"

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two rows the same row."""
        return (*self.problem_key, self.variant, *sorted(self.config.items()), self.phase)


class TransferRecord(Result, msgspec.Struct, frozen=True, kw_only=True, tag="transfer", tag_field="row"):
    """One kernel's whole job in one mode: operands in, kernel, C out. Times are seconds a job.

    mode: "pageable" or "pinned" host memory, one step after the other; "panels", the same in
    `panels` panels on one stream, pinned; "overlapped", on `streams` streams. `samples` are
    whole jobs by round; the parts h2d, kernel and d2h are given where one stream runs them in
    turn. `key` hashes what the numbers depend on but the machine.
    """

    mode: str
    key: str = ""
    panels: int = 1
    panel_rows: int = 0
    streams: int = 1
    copy_engines: int = 2
    h2d_bytes: int = 0
    b_bytes: int = 0
    d2h_bytes: int = 0
    h2d: list[float] = []
    kernel: list[float] = []
    d2h: list[float] = []

    @property
    def kernel_key(self) -> tuple[object, ...]:
        """What the rows of one kernel's modes share."""
        return (*self.problem_key, self.variant, *sorted(self.config.items()))
