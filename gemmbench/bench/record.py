"""The format of a results file: a header, then one record for each row. Times are in seconds per launch."""

from __future__ import annotations

import math
from typing import Annotated

import msgspec

from gemmbench.backends.base import Conditions
from gemmbench.backends.devices import Peaks
from gemmbench.bench.timing.stats import Round
from gemmbench.planning.plans.plan import Target, format_configuration
from gemmbench.planning.precisions import is_weaker
from gemmbench.planning.problems import Problem
from gemmbench.planning.sizes import Amount, Count, Dimension, Integer, KnownCount, Rate, Scalar, Seconds


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """A steady load: one kernel alone on the device, launched without a pause.

    Attributes:
        seconds: Seconds that count, measured after the device had settled.
        launches: Number of launches in these seconds.
        clock_hz: The mean clock of the multiprocessors; None if unknown.
        joules: Joules between two ticks of the energy counter. None if there is no counter.
        joules_seconds: Seconds between these ticks.
        temperature: The temperature at the end, in degrees Celsius.
        slowed_by: What limited the clock, such as `power cap`.
        settled: Whether time, clock, power and temperature were steady when counting began.
    """

    seconds: Seconds
    launches: Dimension
    clock_hz: Amount | None = None
    joules: Amount | None = None
    joules_seconds: Amount = 0.0
    temperature: Scalar | None = None
    slowed_by: list[str] = []
    settled: bool = True

    @property
    def time(self) -> float:
        """Seconds per launch."""
        return self.seconds / self.launches


class Sustained(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel measured under a steady load, in blocks of kernel, baseline, baseline, kernel.

    Attributes:
        own: The loads of this kernel, in order. For the baseline, they come from the blocks of all rows.
        baseline: The adjacent load of the baseline for each of them; empty for the baseline itself.
    """

    own: Annotated[list[Load], msgspec.Meta(min_length=1)]
    baseline: list[Load] = []

    @property
    def time(self) -> float:
        """The mean seconds per launch over the blocks."""
        return math.fsum(load.time for load in self.own) / len(self.own)

    @property
    def seconds(self) -> float:
        """The number of seconds that count."""
        return math.fsum(load.seconds for load in self.own)

    @property
    def clock_hz(self) -> float:
        """The mean clock; NaN if unknown."""
        known = [load.clock_hz for load in self.own if load.clock_hz]
        return math.fsum(known) / len(known) if known else math.nan

    @property
    def watts(self) -> float:
        """The mean power; NaN if unknown."""
        known = [load for load in self.own if load.joules is not None]
        seconds = math.fsum(load.joules_seconds for load in known)
        return math.fsum(load.joules or 0.0 for load in known) / seconds if seconds else math.nan

    @property
    def joules(self) -> float:
        """Joules per launch; NaN if unknown."""
        return self.watts * self.time

    @property
    def temperature(self) -> float | None:
        """The highest temperature."""
        return max((load.temperature for load in self.own if load.temperature is not None), default=None)

    @property
    def slowed_by(self) -> list[str]:
        """What limited the clock in any of the blocks."""
        return sorted({name for load in self.own for name in load.slowed_by})

    @property
    def settled(self) -> bool:
        """Whether the device had settled before counting began in every block."""
        return all(load.settled for load in self.own)

    @property
    def speed_ratio(self) -> float:
        """The speed relative to the baseline, computed from adjacent loads; NaN if there is no baseline."""
        logs = [math.log(base.time / own.time) for own, base in zip(self.own, self.baseline, strict=False)]
        return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


SCHEMA = 3
STATUSES = ("ok", "wrong", "skipped", "failed", "timeout", "out of memory")
"""All statuses that a row can have."""
MODES = ("pageable", "pinned", "panels", "overlapped")
"""The modes in which a whole job can be measured, in the order of their rows."""
RANKING, CHECK = "ranking", "check"
"""The phase of short loads, which only select what to measure in full, and the phase of rows that are only verified."""
Tile = Annotated[list[Dimension], msgspec.Meta(max_length=2)]


ON_CPU = "on the CPU device, which says nothing about a GPU"
"""The caveat to add to any statement about the speed of a run without a GPU."""


class Environment(msgspec.Struct, frozen=True, kw_only=True, tag="environment", tag_field="row"):
    """The first line of a results file. It tells what ran, on which device and when.

    Attributes:
        schema: The version of the format.
        run: The id of the run: date, time, sweep and four random digits. The file is named after
            it.
        started: When the run started, in ISO 8601 format.
        sweep: The name of the sweep: the name of its config file, `compare` or `tune`.
        post: The config file of the post that the sweep reproduces.
        command: The command line.
        gemmbench: The version of gemmbench, as `gemmbench --version` prints it.
        revision: The git commit of gemmbench, followed by `+` if files covered by `tree` had been changed.
        tree: The hash of `benchmarks/`, `configs/`, `cuda/` and `gemmbench/` at the time of the run. For a revision,
            `git ls-tree REVISION benchmarks configs cuda gemmbench | git mktree` prints it. Empty in older files.
        python: The version of Python.
        device: The device that the kernels ran on, such as `NVIDIA H200`.
        backend: Its back end: `cuda`, `cpu` or `fake`.
        baseline: The variant that counts as 100 %.
        sm: Compute capability of the GPU. 90 means 9.0.
        sms: Number of multiprocessors of the GPU, or of cores of the CPU.
        l2: Bytes of cache that cold operands must exceed: the L2 cache of a GPU or the last-level cache of a CPU.
        memory: Bytes of device memory.
        smem: Maximum bytes of shared memory per block; 0 in older files.
        clock_hz: The highest clock of the device.
        bandwidth: Theoretical bandwidth of the device memory, in bytes per second.
        peaks: The peak rates measured on the device (`--peaks`).
        flops_per_cycle: Floating-point operations per cycle of the whole device, by precision.
        software: Versions of the driver, toolkit, compiler and libraries.
        policy: How rows were measured: cache, data, rounds, `until`, time limits, gate and PDL.
        host: The CPU, if rows ran on it in addition to a GPU.
        cores: Number of cores of that CPU.
        conditions: Settings of the GPU: power limit in W, ECC, MIG, persistence mode and highest clocks.
        gpu: Whether the device is a GPU.
        uuid: The UUID of the GPU, which distinguishes cards of the same model. Empty if the driver does not report it.
        vbios: The version of the GPU's firmware (VBIOS).
        shuffle: The seed of the placements and permutations, derived from `run`.
        planned: A hash of each planned row, which tells --resume what is missing.
    """

    schema: Dimension = SCHEMA
    run: str
    started: str
    sweep: str
    post: str = ""
    command: str
    gemmbench: str
    revision: str = ""
    tree: str = ""
    python: str = ""
    device: str
    backend: str
    baseline: str = ""
    sm: Count = 0
    sms: Count = 0
    l2: Count = 0
    memory: Count = 0
    smem: Count = 0
    clock_hz: Amount = 0.0
    bandwidth: Amount = 0.0
    peaks: Peaks | None = None
    flops_per_cycle: dict[str, Rate] = {}
    software: dict[str, str] = {}
    policy: dict[str, str | Integer | float | bool] = {}
    host: str = ""
    cores: Count = 0
    conditions: Conditions | None = None
    gpu: bool = True
    uuid: str = ""
    vbios: str = ""
    shuffle: Count = 0
    planned: list[str] = []

    @property
    def target(self) -> Target:
        """What planning needs to know about the device. It counts as able to run every variant."""
        return Target(
            self.backend,
            self.sm,
            self.sms,
            self.smem,
            self.l2,
            self.memory,
            is_gpu=self.gpu,
            runs_every_variant=True,
            name=self.device if self.gpu else "",
            clock_hz=self.clock_hz,
            bandwidth=self.bandwidth,
        )

    @property
    def caveat(self) -> str:
        """The caveat to add to statements about the speed of this run: ON_CPU without a GPU, otherwise ""."""
        return "" if self.gpu else ON_CPU

    @property
    def scope(self) -> str:
        """The caveat in a form that can end a sentence or a name: `, on the CPU device, ...`, or ""."""
        return f", {self.caveat}" if self.caveat else ""

    def on_gpu(self, backend: str) -> bool:
        """Return whether rows of `backend` ran on the GPU of this run, not on the host."""
        return self.gpu and backend == self.backend

    def device_name(self, backend: str) -> str:
        """Return the name of this back end's device, or of the CPU for the CPU's rows in a run on a GPU."""
        return self.device if backend == self.backend else self.host or "cpu"


class Request(msgspec.Struct, frozen=True, kw_only=True, tag="request", tag_field="row"):
    """An additional line for a resumed run, written if it included more than before.

    Attributes:
        command: The command line, combined with that of the earlier run.
        planned: A hash of each planned row.
    """

    command: str
    planned: list[str]


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end", tag_field="row"):
    """The last line of a completed run. A run without it can be resumed.

    Attributes:
        finished: When the run ended, in ISO 8601 format.
    """

    finished: str


class NetworkFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Additional values in a row of `gemmbench mlp`.

    Attributes:
        title: Layer sizes, activations and batch size.
        flops: Floating-point operations of one forward pass.
        bytes: The minimum number of bytes that a forward pass must move.
        launches: The launches of one forward pass, in order.
        label: The row's name in a post.
        published_ms: The time published in the post, in milliseconds.
        step: Whether the row is one step beyond the nearest row above that is not a correction.
        corrects: Whether the row is a corrected version of the kernel in the row above.
        accuracy: Fraction of test digits that the network recognizes.
    """

    title: str
    flops: Dimension
    bytes: Dimension
    launches: list[str] = []
    label: str = ""
    published_ms: Amount | None = None
    step: bool = False
    corrects: bool = False
    accuracy: Amount | None = None


class Telemetry(msgspec.Struct, frozen=True, kw_only=True):
    """Device telemetry recorded while a row was measured. Unavailable values are None.

    Attributes:
        readings: Number of NVML readings behind the following values.
        temperature: The highest temperature, in degrees Celsius.
        power: The median power, in watts.
        sm_clock_hz: The highest clock of the multiprocessors.
        memory_clock_hz: The highest clock of the memory.
        slowed_by: What limited the clock in this row's windows, such as `power cap`.
        other_processes: Number of other processes that had the GPU open.
    """

    readings: Count = 0
    temperature: Scalar | None = None
    power: Amount | None = None
    sm_clock_hz: Amount | None = None
    memory_clock_hz: Amount | None = None
    slowed_by: list[str] = []
    other_processes: Count | None = None


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """The result of short loads of many configurations, used to choose the few to measure in full.

    Attributes:
        candidates: Number of configurations that might be tried. A library offers only some of them for a problem.
        tried: Number of configurations that had a short load.
        best: The two shortest times among them, in seconds per launch.
        shortlist: The configurations that were measured in full, fastest first.
    """

    candidates: Count = 0
    tried: Count
    best: Annotated[list[Seconds], msgspec.Meta(max_length=2)] = []
    shortlist: list[dict[str, Integer]] = []


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Values that all rows have: the problem, what computed it, whether the result is right, and the samples.

    Attributes:
        variant: The name of the kernel or library.
        order: The kernel's rung. Tables list rows in this order.
        config: The values of its parameters.
        picked: The variant that a dispatching variant chose, or the math mode in which cuBLAS was faster.
        backend: The back end that ran the row.
        problem: M, N, K, layout, precision, alpha and beta.
        status: `ok`, `wrong`, `skipped`, `failed`, `timeout` or `out of memory`.
        reason: Why the status is not ok.
        checked: Whether the result was verified.
        check_rule: The check that failed, or else the last one: `exact`, `class`, `rounding`, `guard` or `audit`; `sum`
            for networks, `repeat` for transfers.
        error: The largest rounding error, in units of u (|alpha| |A| |B| + |beta| |C0|).
        product_class: The exactness of single products: `f32`, `bf16x6`, `3xtf32`, `bf16x3`, `tf32` and so on. Empty
            for networks.
        product_error: The largest error of a single product, in units of the last place of C.
        samples: Seconds per launch, or per job for transfers. There is one sample per round.
        rounds: The number of the round of each sample.
        blocks: The block of each sample. Placement, binding and permutations differ between blocks.
        launches: Number of launches in one window.
        stopped: Why the measurement ended: `until`, `beaten` (clearly slower than the winner of a search), `rounds`,
            `max-time`, `interrupted` or `failed`.
        data: The kind of data in A and B.
        seed: The seed of A and B.
        gated: False if the samples may include host time.
        pdl: Whether a product could begin before the previous one had ended (programmatic dependent launch).
        overlap_unknown: Whether this is unknown, which happens for code that launches its own kernels.
        passed: The steps of an epilogue that a separate pass applied, in the same time.
        approx: By how much the factor of GELU or SiLU may be off, as the manifest declares; 0 for rounding only.
        per_product: Whether a batch was launched product by product because the kernel does not support batches.
        printed: What the kernel printed while its batch ran: the number of lines and the first line, escaped and
            shortened. All rows of a kernel in a batch share it.
    """

    variant: str
    order: Scalar
    config: dict[str, Integer]
    picked: str = ""
    backend: str
    problem: Problem
    status: str
    reason: str = ""
    checked: bool = False
    check_rule: str = ""
    error: Amount | None = None
    product_class: str = ""
    product_error: Amount | None = None
    samples: list[Seconds] = []
    rounds: list[Count] = []
    blocks: list[Count] = []
    launches: Count = 0
    stopped: str = ""
    data: str = ""
    seed: Integer = 0
    gated: bool = True
    pdl: bool = False
    overlap_unknown: bool = False
    per_product: bool = False
    passed: list[str] = []
    approx: Amount = 0.0
    printed: str = ""

    @property
    def ranked(self) -> bool:
        """Whether the speed may be compared: the result is right and exact enough, and was timed in the usual way."""
        return self.status == "ok" and not self.is_of_weaker_class and not self.pdl

    @property
    def is_of_weaker_class(self) -> bool:
        """Whether the products are less exact than the precision requires."""
        return bool(self.product_class) and is_weaker(self.product_class, self.problem.precision.product_class)

    @property
    def by_round(self) -> dict[Round, float]:
        """Samples by round. The key is a named tuple of the block and the number of the round."""
        return dict(zip(map(Round, self.blocks, self.rounds), self.samples, strict=True))

    @property
    def row_name(self) -> str:
        """The name of the variant, with ` + pass` if a separate pass follows it."""
        return f"{self.variant} + pass" if self.passed else self.variant

    @property
    def configuration(self) -> str:
        """The parameters, such as `BM=128 BN=128`.

        For a dispatching variant, the name of the picked variant precedes them.

        A final `+pdl` marks products that may overlap.
        """
        return " ".join(filter(None, (format_configuration(self.config, self.picked), self.pdl * "+pdl")))

    @property
    def kernel_key(self) -> tuple[object, ...]:
        """The problem, variant and configuration. Rows with the same key measured the same kernel."""
        return (self.problem, self.variant, *sorted(self.config.items()))


class Record(Result, msgspec.Struct, frozen=True, kw_only=True, tag="record", tag_field="row"):
    """The row of a plan or a skip.

    Attributes:
        phase: `sweep`, or `final` for the best configuration of a sweep, measured again in fresh rounds. `ranking` is
            an unverified short load of `tune`, which only selects what to measure; older files of other commands may
            have it too. `check` is a configuration that was verified but not timed before tuning.
        batch: The number of the batch.
        batch_key: A hash of what the batch measures.
        batch_rows: Number of rows in the batch.
        artifact: A hash of the compiled kernel, which is also the name of its file in the cache.
        code: A hash of the kernel's text, of how its manifest compiles and launches it, and of the values of its
            parameters. It covers headers, but not comments and white space. A dispatching variant has the hash of the
            picked kernel, and a network has one hash for each kernel. Empty for a library, whose version is in
            `libraries`. In files without `tree`, the hash was made differently.
        grid: Blocks in x, y and z.
        block: Threads per block in x, y and z.
        shared_dynamic: Bytes of dynamic shared memory per block.
        shared_static: Bytes of static shared memory per block; -1: unknown.
        registers: Registers per thread; -1: unknown.
        spills: Spilled bytes, stores plus loads; -1: unknown.
        compile_seconds: Time taken by the compilation.
        clocks_hz: The clock of the multiprocessors in each round.
        alone: Seconds that a single cold product took, launched between two events.
        empty_seconds: The median time of an empty kernel, timed in the same way; None if it was not timed.
        cache: `cold`, `partly cold` or `hot`.
        sets: Operand sets in rotation.
        graph: Whether launches were recorded as CUDA graphs.
        no_graph: Why launches cannot be recorded as a graph, in which case no row of the batch uses graphs. Empty if
            they can, or if recording was not tried.
        libraries: Versions of the libraries that were loaded when the row was measured, such as `cublas`, and of
            the packages that a Python function declares.
        setup_seconds: The seconds that the `setup` of a Python function took, which are not part of its time.
        reads_c: Whether the manifest says that the kernel reads C even if beta is 0. If so, C held finite numbers
            instead of NaN before each launch whose result was checked.
        network: Additional values in a row of `gemmbench mlp`.
        only_here: Why the kernel was verified only at this size before it was timed, and not at an awkward size.
        diagnosis: A key for the likely cause of a wrong result, which `reason` gives in words. `crash` if the kernel
            crashed.
        wrong_map: A map of the wrong tiles of C.
        telemetry: NVML readings taken while the row was measured.
        sustained: The kernel's measurements under a steady load (`--sustained`).
        competitors: The average number of threads of other processes that wanted a CPU core when a window began. None
            for rows on a GPU and in older files.
        elapsed_ratio: How long gemmbench waited for a window, divided by the time that the kernel's process reported.
            In most windows, the ratio was at least this high. None on a GPU, for short windows and in older files.
        tile: The number of rows and columns of C that share each value read from A and B. Empty if unknown.
        path: The kernel's file. For a kernel from a git revision, `@` and the commit follow.
        workspace: Bytes of device memory that a launch may use in addition to its operands; 0 in older files.
        card: In a fleet, the card and the host that ran the row; otherwise empty.
        ranking: The short loads used to choose the configuration from many, such as the algorithms of cuBLASLt.
        invariance: Batch invariance (`verify --invariance`): `invariant`, or what the bits of a row of C depend
            on; empty if it was not asked for.
    """

    phase: str = "sweep"
    batch: Count = 0
    batch_key: str = ""
    batch_rows: Count = 0
    artifact: str = ""
    code: str = ""
    grid: list[Dimension] = []
    block: list[Dimension] = []
    tile: Tile = []
    shared_dynamic: Count = 0
    shared_static: KnownCount = -1
    registers: KnownCount = -1
    spills: KnownCount = -1
    compile_seconds: Amount = 0.0
    clocks_hz: list[Rate] = []
    alone: list[Seconds] = []
    empty_seconds: Amount | None = None
    cache: str = ""
    sets: Count = 0
    graph: bool = False
    no_graph: str = ""
    libraries: dict[str, str] = {}
    setup_seconds: Seconds | None = None
    reads_c: bool = False
    network: NetworkFacts | None = None
    only_here: str = ""
    diagnosis: str = ""
    wrong_map: str = ""
    telemetry: Telemetry | None = None
    sustained: Sustained | None = None
    competitors: Amount | None = None
    elapsed_ratio: Amount | None = None
    path: str = ""
    workspace: Count = 0
    card: str = ""
    ranking: Ranking | None = None
    invariance: str = ""

    @property
    def flops(self) -> int:
        """Floating-point operations of one launch."""
        return self.network.flops if self.network else self.problem.flops

    @property
    def is_short_load(self) -> bool:
        """Whether the row only helped choose what to measure in full. Its result was not verified."""
        return self.phase == RANKING

    @property
    def is_preliminary(self) -> bool:
        """Whether the row only prepared full measurements: a short load, or a check without timing."""
        return self.phase in (RANKING, CHECK)

    @property
    def packages(self) -> dict[str, str]:
        """The versions of the packages that a Python function declares."""
        return {name: version for name, version in self.libraries.items() if not name.startswith("cublas")}

    @property
    def least_bytes(self) -> int:
        """The minimum number of bytes that a launch must move: A and B in, C out, and C in if beta is not 0."""
        return self.network.bytes if self.network else self.problem.bytes

    @property
    def bytes_read(self) -> int | None:
        """The bytes of A and B that the kernel loads from global memory; None if its tile is unknown.

        Each row of A is read once for every column of tiles, and each column of B once for every row of tiles.
        Together, that makes K (M cdiv(N, columns) + N cdiv(M, rows)) elements. That is 2 M N K for a tile of one
        element and K (M + N) for a tile as large as C.
        """
        if not self.tile:
            return None
        (rows, columns), problem = self.tile, self.problem
        heights, tiles_across = problem.groups or (problem.M,), -(-problem.N // columns)
        tiles_down = sum(-(-height // rows) for height in heights)
        return problem.operand_bytes("A") * tiles_across + problem.operand_bytes("B") // len(heights) * tiles_down

    @property
    def identity(self) -> tuple[object, ...]:
        """A key that identifies the row. Rows with the same key are the same row, measured twice."""
        return (*self.kernel_key, self.phase)


class TransferRecord(Result, msgspec.Struct, frozen=True, kw_only=True, tag="transfer", tag_field="row"):
    """One kernel's whole job in one mode: operands in, kernel, C out. Times are in seconds per job.

    Attributes:
        mode: `pageable` or `pinned` (the kind of host memory; copies and kernel run one after the other), `panels`
            (pinned, on one stream) or `overlapped` (pinned, on several streams).
        key: A hash of everything that affects the numbers, except the machine.
        panels: Number of panels of C.
        panel_rows: Rows per panel; the last may have fewer.
        streams: Number of streams that the panels use in turn.
        copy_engines: Number of copies that the device can run at the same time.
        h2d_bytes: Bytes copied in.
        b_bytes: Bytes of B, which is copied first.
        d2h_bytes: Bytes copied out.
        h2d: Seconds spent copying in, by round, if one stream runs the parts in turn.
        kernel: Seconds spent in the kernel, likewise.
        d2h: Seconds spent copying out, likewise.
    """

    mode: str
    key: str = ""
    panels: Count = 1
    panel_rows: Count = 0
    streams: Count = 1
    copy_engines: Count = 2
    h2d_bytes: Count = 0
    b_bytes: Count = 0
    d2h_bytes: Count = 0
    h2d: list[Seconds] = []
    kernel: list[Seconds] = []
    d2h: list[Seconds] = []
