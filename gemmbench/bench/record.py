"""The rows of a results file: a header, then one record per row. Times are seconds per launch."""

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
    """One kernel by itself on the device, launched without a pause.

    Attributes:
        seconds: Seconds that count, after the device had settled.
        launches: Launches in these seconds.
        clock_hz: The mean clock of the multiprocessors; None if unknown.
        joules: Joules between two ticks of the energy counter; None without a counter.
        joules_seconds: Seconds between these ticks.
        temperature: The temperature at the end, in degrees Celsius.
        slowed_by: What held the clock down, such as `power cap`.
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
    """A kernel under a steady load, in blocks of kernel, baseline, baseline, kernel.

    Attributes:
        own: The loads of this kernel, in order. Those of the baseline are from the blocks of all rows.
        baseline: The loads of the baseline next to them, one for each; empty for the baseline itself.
    """

    own: Annotated[list[Load], msgspec.Meta(min_length=1)]
    baseline: list[Load] = []

    @property
    def time(self) -> float:
        """Seconds per launch, the mean of the blocks."""
        return math.fsum(load.time for load in self.own) / len(self.own)

    @property
    def seconds(self) -> float:
        """Seconds that count."""
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
        """What held the clock down in any block."""
        return sorted({name for load in self.own for name in load.slowed_by})

    @property
    def settled(self) -> bool:
        """Whether the device had settled before every block counted."""
        return all(load.settled for load in self.own)

    @property
    def speed_ratio(self) -> float:
        """The speed relative to the baseline, from neighbouring blocks; NaN without a baseline."""
        logs = [math.log(base.time / own.time) for own, base in zip(self.own, self.baseline, strict=False)]
        return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


SCHEMA = 3
STATUSES = ("ok", "wrong", "skipped", "failed", "timeout", "out of memory")
"""Every status that a row can have."""
MODES = ("pageable", "pinned", "panels", "overlapped")
"""The modes in which a whole job is measured, in the order of their rows."""
RANKING, CHECK = "ranking", "check"
"""The phases of short loads, which only choose what is measured in full, and of rows that are only verified."""
Tile = Annotated[list[Dimension], msgspec.Meta(max_length=2)]


ON_CPU = "on the CPU device, which says nothing about a GPU"
"""What belongs to every statement about speed of a run without a GPU."""


class Environment(msgspec.Struct, frozen=True, kw_only=True, tag="environment", tag_field="row"):
    """The first line of a results file: what ran, on what, when.

    Attributes:
        schema: The version of the format.
        run: The id of the run: date, time, sweep and four random digits. The file is named after
            it.
        started: When the run started, as in ISO 8601.
        sweep: The name of the sweep: that of its config file, `compare` or `tune`.
        post: The config file of the post that the sweep repeats.
        command: The command line.
        gemmbench: The version of gemmbench.
        revision: The git commit of gemmbench, with a `+` if files that `tree` covers were changed.
        tree: The hash of `benchmarks/`, `configs/`, `cuda/` and `gemmbench/` as they were, which
            `git ls-tree REVISION benchmarks configs cuda gemmbench | git mktree` prints for a
            revision; empty in older files.
        python: The version of Python.
        device: The device that kernels ran on, such as `NVIDIA H200`.
        backend: Its back end: `cuda`, `cpu` or `fake`.
        baseline: The variant that counts as 100 %.
        sm: Compute capability of the GPU: 90 means 9.0.
        sms: Multiprocessors of the GPU, or cores of the CPU.
        l2: Bytes of cache that cold operands must exceed: the L2 cache of a GPU, the last cache of
            a CPU.
        memory: Bytes of memory of the device.
        smem: Bytes of shared memory that a block may have; 0 in older files.
        clock_hz: The highest clock of the device.
        bandwidth: Bytes per second of the memory of the device, in theory.
        peaks: What the device reached at best when it was measured (`--peaks`).
        flops_per_cycle: Floating-point operations of the whole device in one cycle, by precision.
        software: Versions of driver, toolkit, compiler and libraries.
        policy: How rows were measured: cache, data, rounds, `until`, time limits, gate, PDL.
        host: The CPU, if rows ran on it besides a GPU.
        cores: Cores of that CPU.
        conditions: How the GPU is set up: power limit in W, ECC, MIG, persistence mode, and its
            highest clocks.
        gpu: Whether the device is a GPU.
        uuid: The UUID of the GPU, which tells it from another card of the same model; empty where
            the driver does not report it.
        vbios: The version of its firmware (VBIOS).
        shuffle: The seed of the placements and permutations, derived from `run`.
        planned: A hash of each row that was planned, so that --resume knows what is missing.
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
        """What planning needs to know of the device, which runs what ran on it."""
        known = self.sm, self.sms, self.smem, self.l2, self.memory
        return Target(self.backend, *known, is_gpu=self.gpu, runs_every_variant=True)

    @property
    def caveat(self) -> str:
        """What belongs to every statement about speed of this run: ON_CPU without a GPU, else ""."""
        return "" if self.gpu else ON_CPU

    @property
    def scope(self) -> str:
        """The same as the end of a sentence or a name: `, on the CPU device, ...`, or ""."""
        return f", {self.caveat}" if self.caveat else ""

    def on_gpu(self, backend: str) -> bool:
        """Rows of `backend` ran on the GPU of this run, not on the host."""
        return self.gpu and backend == self.backend

    def device_name(self, backend: str) -> str:
        """The device of this back end; the CPU, for its rows in a run on a GPU."""
        return self.device if backend == self.backend else self.host or "cpu"


class Request(msgspec.Struct, frozen=True, kw_only=True, tag="request", tag_field="row"):
    """A line that follows if a run was resumed and more was asked for than before.

    Attributes:
        command: The command line, with what was asked for before.
        planned: A hash of each row that was planned.
    """

    command: str
    planned: list[str]


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end", tag_field="row"):
    """The last line of a run that came to its end; a run without it can be resumed.

    Attributes:
        finished: When the run ended, as in ISO 8601.
    """

    finished: str


class NetworkFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a row of `gemmbench mlp` has in addition to a GEMM's.

    Attributes:
        title: Layer sizes, activations and batch.
        flops: Floating-point operations of one forward pass.
        bytes: The fewest bytes that a forward pass must move.
        launches: What one forward pass launches, in order.
        label: The name of the row in a post.
        published_ms: The time published there, in milliseconds.
        step: Whether the row is one step further than the row above that corrects nothing.
        corrects: Whether it is the corrected kernel of the row above.
        accuracy: Share of test digits that the network recognizes.
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
    """Device telemetry while a row was measured; None where unavailable.

    Attributes:
        readings: Number of NVML readings that the following values come from.
        temperature: The highest temperature, in degrees Celsius.
        power: The median power, in watts.
        sm_clock_hz: The highest clock of the multiprocessors.
        memory_clock_hz: The highest clock of the memory.
        slowed_by: What held the clock down in the row's own windows, such as `power cap`.
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
    """Short loads of many configurations, used to choose the few that are measured in full.

    Attributes:
        candidates: Configurations that might be tried; a library offers some of them for a problem.
        tried: Configurations that had a short load.
        best: The two shortest times among them, in seconds per launch.
        shortlist: The configurations that were measured in full, the fastest first.
    """

    candidates: Count = 0
    tried: Count
    best: Annotated[list[Seconds], msgspec.Meta(max_length=2)] = []
    shortlist: list[dict[str, Integer]] = []


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What all rows have: the problem, what computed it, whether it is right, and the samples.

    Attributes:
        variant: The name of the kernel or library.
        order: Its rung; tables list rows in this order.
        config: The values of its parameters.
        picked: The variant that a dispatching variant chose, or the math that cuBLAS was faster with.
        backend: The back end that ran the row.
        problem: M, N, K, layout, precision, alpha and beta.
        status: `ok`, `wrong`, `skipped`, `failed`, `timeout` or `out of memory`.
        reason: Why the status is not ok.
        checked: Whether the result was verified.
        check_rule: The last check, or the one that failed: `exact`, `class`, `rounding`, `guard` or
            `audit`; `sum` for networks, `repeat` for transfers.
        error: The largest rounding error, in units of u (|alpha| |A| |B| + |beta| |C0|).
        product_class: How exactly single products were computed: `f32`, `bf16x6`, `3xtf32`, `bf16x3`,
            `tf32` and so on. Empty for networks.
        product_error: The largest error of a single product, in units of the last place of C.
        samples: Seconds per launch (of a transfer: per job), one per round.
        rounds: The round of each sample.
        blocks: The block of each sample: placement, binding and permutations differ between blocks.
        launches: Launches in one window.
        stopped: Why measuring ended: `until`, `beaten` (clearly slower than the winner of a
            search), `rounds`, `max-time`, `interrupted` or `failed`.
        data: Contents of A and B.
        seed: Their seed.
        gated: False if host time may be in the samples.
        pdl: Whether a product could begin before the product before it had ended (programmatic dependent
            launch).
        overlap_unknown: Whether that could not be found out, of code that launches itself.
        passed: The steps of an epilogue that a separate pass applied, in the same time.
        per_product: Whether a batch was launched product by product, since the kernel takes no batch.
        printed: What the kernel printed while its batch ran: the number of lines, and the first one, escaped and
            cut. Rows of one kernel in a batch share it.
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
    printed: str = ""

    @property
    def ranked(self) -> bool:
        """The result is right, of the class of its precision, and timed as others are: its speed may be compared."""
        return self.status == "ok" and not self.is_of_weaker_class and not self.pdl

    @property
    def is_of_weaker_class(self) -> bool:
        """Its products are less exact than its precision asks for."""
        return bool(self.product_class) and is_weaker(self.product_class, self.problem.precision.product_class)

    @property
    def by_round(self) -> dict[Round, float]:
        """Samples by round, a named tuple of the block and the number of the round."""
        return dict(zip(map(Round, self.blocks, self.rounds), self.samples, strict=True))

    @property
    def row_name(self) -> str:
        """The name of the variant, with ` + pass` if a separate pass follows it."""
        return f"{self.variant} + pass" if self.passed else self.variant

    @property
    def configuration(self) -> str:
        """The parameters, such as `BM=128 BN=128`, behind the name of the variant that a dispatching one picked.

        `+pdl` at the end marks products that may overlap.
        """
        return " ".join(filter(None, (format_configuration(self.config, self.picked), self.pdl * "+pdl")))

    @property
    def kernel_key(self) -> tuple[object, ...]:
        """Problem, variant and configuration: rows that share it measured the same kernel."""
        return (self.problem, self.variant, *sorted(self.config.items()))


class Record(Result, msgspec.Struct, frozen=True, kw_only=True, tag="record", tag_field="row"):
    """The row of one plan or skip.

    Attributes:
        phase: `sweep`, or `final` for the best configuration of a sweep, measured again on fresh
            rounds; `ranking` for a short load of `tune`, unverified, that only chooses what to measure (in
            older files of other commands too); `check` for a configuration that was verified and not timed
            before it was tuned.
        batch: The number of the batch.
        batch_key: A hash of what the batch measures.
        batch_rows: Rows in the batch.
        artifact: A hash of the compiled kernel, the name of its file in the cache.
        code: A hash of the kernel's text, headers included, comments and white space left out, of how its
            manifest compiles and launches it, and of the values of its parameters. For a dispatching
            variant it is that of the picked kernel; a network has one for each kernel. Empty for a library, whose
            version is in `libraries`; in files without `tree` it was made in another way.
        grid: Blocks in x, y and z.
        block: Threads per block in x, y and z.
        shared_dynamic: Bytes of dynamic shared memory per block.
        shared_static: Bytes of static shared memory per block; -1: unknown.
        registers: Registers per thread; -1: unknown.
        spills: Spilled bytes, stores plus loads; -1: unknown.
        compile_seconds: How long the compilation took.
        clocks_hz: The clock of the multiprocessors in each round.
        alone: Seconds of one cold product by itself, launched between two events.
        empty_seconds: The same for an empty kernel, median; None if it was not timed.
        cache: `cold`, `partly cold` or `hot`.
        sets: Operand sets in rotation.
        graph: Whether launches were recorded as CUDA graphs.
        no_graph: Why they cannot be recorded as a graph, in which case no row of the batch is; empty if they can,
            or if it was not tried.
        libraries: Versions of the libraries that were loaded when the row was measured, such as `cublas`.
        reads_c: Whether a kernel reads C although beta is 0, as its manifest says; then C began finite, not
            as NaN, wherever its results were checked.
        network: What a row of `gemmbench mlp` has in addition.
        only_here: Why the kernel was verified at this size only before it was timed, and not at an awkward one.
        diagnosis: The likely cause of a wrong result, as a key; `reason` has it in words. `crash` if the kernel
            crashed.
        wrong_map: A map of a wrong C, by tiles.
        telemetry: What NVML reported while the row was measured.
        sustained: What the kernel did under a steady load (`--sustained`).
        competitors: Threads of other processes that wanted a core of the CPU when a window began,
            on average; None for a row on a GPU, and in older files.
        elapsed_ratio: How many times as long gemmbench waited for a window as the kernel's process said
            it took, at least in most windows; None on a GPU, for short windows, and in older files.
        tile: Rows and columns of C that share one reading of A and B; empty if unknown.
        path: The file of the kernel; after `@` the commit, for a kernel of a git revision.
        workspace: Bytes of device memory that a launch may use in addition to the operands; 0 in
            older files.
        card: The card and the host that ran the row, in a fleet; otherwise empty.
        ranking: The short loads that chose its configuration from many, such as the algorithms of cuBLASLt.
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

    @property
    def flops(self) -> int:
        """Floating-point operations of one launch."""
        return self.network.flops if self.network else self.problem.flops

    @property
    def is_short_load(self) -> bool:
        """It only chose what is measured in full; its result was not verified."""
        return self.phase == RANKING

    @property
    def is_preliminary(self) -> bool:
        """It only prepared what is measured in full: a short load, or a check that timed nothing."""
        return self.phase in (RANKING, CHECK)

    @property
    def least_bytes(self) -> int:
        """The fewest bytes that a launch must move: A and B in, C out, and C in if beta is not 0."""
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

    Attributes:
        mode: `pageable` or `pinned` (host memory; copies and kernel one after the other), `panels`
            (pinned, on one stream) or `overlapped` (on several streams).
        key: A hash of everything that the numbers depend on, except the machine.
        panels: Panels of C.
        panel_rows: Rows per panel; the last may have fewer.
        streams: Streams that the panels use in turn.
        copy_engines: Copies that the device can run at the same time.
        h2d_bytes: Bytes copied in.
        b_bytes: Bytes of B, which is copied first.
        d2h_bytes: Bytes copied out.
        h2d: Seconds of copying in, by round, where one stream runs the parts in turn.
        kernel: The same for the kernel.
        d2h: The same for copying out.
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
