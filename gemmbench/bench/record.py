"""The rows of a results file: a header, then one record per row. Times are seconds per launch."""

from __future__ import annotations

import msgspec

from gemmbench.backends.monitor import Conditions
from gemmbench.planning.plans.plan import format_configuration
from gemmbench.planning.problems.problem import Problem

SCHEMA = 2
MODES = ("pageable", "pinned", "panels", "overlapped")
"""The modes in which a whole job is measured, in the order of their rows."""


class Environment(msgspec.Struct, frozen=True, kw_only=True, tag="environment", tag_field="row"):
    """The first line of a results file: what ran, on what, when.

    `backend` names the back end of `device`. `sm` is its compute capability, such as 90, and `sms`
    its number of multiprocessors or cores. `policy` holds how the rows were measured. `host` and
    `cores` describe the CPU, if rows ran on it besides a GPU.
    """

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
    backend: str
    baseline: str = ""
    sm: int = 0
    sms: int = 0
    l2: int = 0
    memory: int = 0
    clock_hz: float = 0.0
    bandwidth: float = 0.0
    flops_per_cycle: dict[str, float] = {}
    software: dict[str, str] = {}
    policy: dict[str, str | int | float | bool] = {}
    host: str = ""
    cores: int = 0
    conditions: Conditions | None = None
    gpu: bool | None = None

    @property
    def is_gpu(self) -> bool:
        """Kernels ran on a GPU. Files without `gpu` have a compute capability instead."""
        return self.sm > 0 if self.gpu is None else self.gpu

    def on_gpu(self, backend: str) -> bool:
        """Rows of `backend` ran on the GPU of this run, not on the host."""
        return backend == self.backend and self.is_gpu

    def device_name(self, backend: str) -> str:
        """The device of this back end; the CPU, for its rows in a run on a GPU."""
        return self.device if backend == self.backend else self.host or "cpu"


class NetworkFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a row of `gemmbench mlp` has in addition to a GEMM's.

    `launches` lists what one forward pass launches, in order; `bytes` is the least it must move.
    `label` is the row's name in a post and `published_ms` the time published there; with `step` the
    row is one step further than the row above. `accuracy` is the share of test digits that the network
    recognizes.
    """

    title: str
    flops: int
    bytes: int
    launches: list[str] = []
    label: str = ""
    published_ms: float | None = None
    step: bool = False
    accuracy: float | None = None


class Telemetry(msgspec.Struct, frozen=True, kw_only=True):
    """Device telemetry while a row was measured; None where unavailable.

    `readings` counts the NVML readings used (bench.timing.telemetry). `temperature` is the highest,
    in degrees Celsius, `power` the median in watts; the clocks are the highest, in Hz. `slowed_by`
    names what held the clock down, `other_processes` counts other processes on the GPU. `energy` is
    in joules per launch under steady load (bench.timing.energy), `energy_power` the watts and
    `energy_seconds` the duration of that load.
    """

    readings: int = 0
    temperature: float | None = None
    power: float | None = None
    sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None
    slowed_by: list[str] = []
    other_processes: int | None = None
    energy: float | None = None
    energy_power: float | None = None
    energy_seconds: float = 0.0


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What all rows have: the problem, what computed it, whether it is right, and the samples.

    `picked` is the variant that a dispatching variant chose. `backend` is the back end that ran the
    row. `status` is ok, wrong, skipped, failed, timeout or out of memory; `reason` explains it.
    `samples` are in the order of `rounds`. `gated` is False if host time may be in the samples.
    """

    variant: str
    order: float
    config: dict[str, int]
    picked: str = ""
    backend: str
    problem: Problem
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
        """The parameters, such as `BM=128 BN=128`, behind the name of the variant that a dispatching one picked."""
        return format_configuration(self.config, self.picked)

    @property
    def kernel_key(self) -> tuple[object, ...]:
        """Problem, variant and configuration: rows that share it measured the same kernel."""
        return (self.problem, self.variant, *sorted(self.config.items()))


class Record(Result, msgspec.Struct, frozen=True, kw_only=True, tag="record", tag_field="row"):
    """The row of one plan or skip.

    `phase` is "sweep", or "final" for the best configuration of a sweep, measured again on fresh
    rounds. `batch_rows` is the number of rows in the batch. If the result is wrong, `diagnosis` is
    the key of the likely cause (`reason` has it in words) and `wrong_map` a map of C by tiles. `tile`
    are the rows and columns of C that share one reading of A and B; empty if unknown. `competitors`
    is how many threads of other processes wanted a core of the CPU when a window began, on average;
    None for a row on a GPU, and in older files.
    """

    phase: str = "sweep"
    batch: int = 0
    batch_key: str = ""
    batch_rows: int = 0
    artifact: str = ""
    grid: list[int] = []
    block: list[int] = []
    tile: list[int] = []
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
    telemetry: Telemetry | None = None
    competitors: float | None = None
    path: str = ""

    @property
    def flops(self) -> int:
        """Floating-point operations of one launch."""
        return self.network.flops if self.network else self.problem.flops

    @property
    def least_bytes(self) -> int:
        """Bytes that a launch must move at the least: A and B in, C out, and C in if beta is not 0."""
        return self.network.bytes if self.network else self.problem.bytes

    @property
    def bytes_read(self) -> int | None:
        """Bytes of A and B that the kernel loads from global memory; None if its tile is unknown.

        Each row of A is read once for every column of tiles, each column of B once for every row of
        tiles: K (M cdiv(N, columns) + N cdiv(M, rows)) elements. That is 2 M N K for a tile of one
        element, and K (M + N) for one as large as C.
        """
        if not self.tile:
            return None
        (rows, columns), problem = self.tile, self.problem
        tiles_down, tiles_across = -(-problem.M // rows), -(-problem.N // columns)
        return problem.operand_bytes("A") * tiles_across + problem.operand_bytes("B") * tiles_down

    @property
    def identity(self) -> tuple[object, ...]:
        """Rows that share it are the same row, measured twice."""
        return (*self.kernel_key, self.phase)


class TransferRecord(Result, msgspec.Struct, frozen=True, kw_only=True, tag="transfer", tag_field="row"):
    """One kernel's whole job in one mode: operands in, kernel, C out. Times are seconds per job.

    `mode` is "pageable" or "pinned" (host memory; copies and kernel one after the other), "panels"
    (pinned, in `panels` panels on one stream) or "overlapped" (on `streams` streams). `samples` are
    whole jobs by round; h2d, kernel and d2h are the parts, where one stream runs them in turn.
    `key` hashes everything that the numbers depend on, except the machine.
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
