"""What a back end is: a compiler, a device with a few verbs, and sensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gemmbench.analysis.accesses import AccessCounts
from gemmbench.planning.plans.plan import Plan, Target
from gemmbench.planning.precisions import StorageType
from gemmbench.planning.sizes import Amount

if TYPE_CHECKING:
    import numpy as np

MATHS = ("default math", "pedantic math")
"""The two ways in which cuBLAS computes f32 without tensor cores; pedantic restricts its choice of kernels."""


@dataclass(frozen=True)
class Conditions:
    """How a GPU is set up, which does not change during a run; None if unknown.

    `power_limit` is in watts, the clocks are the highest the GPU may have, in Hz.
    """

    mig: bool | None = None
    ecc: bool | None = None
    persistence: bool | None = None
    power_limit: Amount | None = None
    max_sm_clock: Amount | None = None
    max_memory_clock: Amount | None = None


@dataclass(frozen=True)
class Reading:
    """One reading: watts, degrees Celsius, Hz; NaN where unknown.

    `slowed` names what limits the clock at that moment, such as "power cap".
    """

    power: float = math.nan
    temperature: float = math.nan
    sm_clock: float = math.nan
    memory_clock: float = math.nan
    slowed: frozenset[str] = frozenset()


class Monitor(Protocol):
    """Reads the sensors of an open device, from any thread; raises nothing."""

    def read(self) -> Reading:
        """Take a reading; it may take milliseconds."""

    def now(self) -> float:
        """Seconds on the clock over which power is integrated to energy."""

    def energy(self) -> float:
        """Joules drawn since a fixed moment; NaN if unknown. The counter ticks: it grows every 20 to 100 ms."""

    def count_other_processes(self) -> int | None:
        """How many other processes compute on the device; None if unknown."""


ALIGN = 512
"""Bytes to which operands are aligned."""


@dataclass(frozen=True)
class Device:
    """One device, described without opening it.

    `clock_hz` is its highest clock; `flops_per_cycle` maps a precision to the
    floating-point operations the whole device can do in one cycle, so that a
    percentage of peak can use the measured clock; empty if unknown.
    `bandwidth` is bytes/s of device memory, 0 if unknown. `software` maps driver,
    toolkit and libraries to their versions; `conditions` is how it is set up, None if unknown.
    `uuid` tells one card from another of the same model, `vbios` is the version of its firmware;
    "" if unknown.
    """

    name: str
    index: int
    target: Target
    clock_hz: float = 0.0
    flops_per_cycle: Mapping[str, float] = field(default_factory=dict)
    bandwidth: float = 0.0
    software: Mapping[str, str] = field(default_factory=dict)
    conditions: Conditions | None = None
    uuid: str = ""
    vbios: str = ""


@dataclass(frozen=True)
class Build:
    """What the compiler reports about one kernel; -1 for what it does not report.

    Registers per thread, static shared bytes per block, spilled bytes (stores plus loads), bytes
    of stack per thread, and the seconds it took (0 if the kernel came from the cache). `symbols` are the
    names in the machine code of the kernels that the plan launches, empty if they are those of the plan:
    plans that launch other kernels of one text share its machine code.
    """

    registers: int = -1
    shared: int = -1
    spills: int = -1
    stack: int = -1
    seconds: float = 0.0
    cached: bool = False
    symbols: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbols", tuple(self.symbols))  # a list where it comes from a file


@dataclass(frozen=True)
class Artifact:
    """Machine code of one plan: its file ("" for a library) and its build facts.

    `key` is the hash of everything the code depends on: text, defines, architecture,
    compiler version; for a library its name and version.
    """

    key: str
    path: str
    build: Build


OperandSet = Mapping[str, int]
"""Where each operand of a launch begins, by its name: byte offsets in a Memory, or addresses.

If a plan computes a network, A are its inputs, B its parameters, and C its outputs.
"""


@dataclass(frozen=True)
class Place:
    """A place in a memory, `offset` bytes from its start."""

    memory: Memory
    offset: int


@dataclass(frozen=True)
class Step:
    """One launch of a chain: a loaded plan and the addresses of its operands at every stop of a rotation.

    alpha and beta are those of the plan's problem. `workspace` is where its workspace begins, in a
    memory from the same back end; None if the plan has none.
    """

    loaded: Any
    plan: Plan
    sets: tuple[OperandSet, ...]
    workspace: Place | None = None


@dataclass
class Rotation:
    """Which of `stops` operands the next launch uses: those of number `position`, counted as in Step.sets.

    All executables of an arena share one rotation. If each had its own, an executable would meet
    operands that its neighbours have just left in the cache.
    """

    stops: int
    position: int = 0

    def take(self, launches: int) -> list[int]:
        """The stops of the next launches, in order; the rotation moves past them."""
        taken = self.list_next(launches)
        self.position = (self.position + launches) % self.stops
        return taken

    def list_next(self, launches: int) -> list[int]:
        """The stops of the next launches, in order."""
        return [(self.position + number) % self.stops for number in range(launches)]

    def list_last(self, launches: int) -> list[int]:
        """The stops of the last launches, in order."""
        return [(self.position - number) % self.stops for number in range(launches, 0, -1)]

    def go_back(self, launches: int) -> None:
        """Let the last launches be the next ones again."""
        self.position = (self.position - launches) % self.stops


@dataclass(frozen=True)
class Window:
    """One timed window: seconds for all its launches, and the clock seen (0 if unknown).

    `competitors` is how many threads of other processes wanted a core of the CPU when it began;
    None on a GPU. `gated` is False if host time may be in it. `elapsed` is how long gemmbench waited for
    a window that a kernel's own process has timed; 0 if the window was timed otherwise. `absent` is the most
    threads of a block that had returned when others left a barrier, where that is known.
    """

    seconds: float
    launches: int
    clock_hz: float = 0.0
    competitors: float | None = None
    gated: bool = True
    elapsed: float = 0.0
    absent: int = 0


@dataclass(frozen=True)
class ScaledArray:
    """Two arrays of equal length, at offsets of a Memory: target is, or shall be, factor * source.

    `factor` is a power of two, so that the product is exact; it may be negative.
    """

    source: int
    target: int
    factor: float


@dataclass(frozen=True)
class Range:
    """The bytes of a Memory from `start` up to `end`."""

    start: int
    end: int


class Memory(Protocol):
    """Bytes on a device, one allocation or several; every offset and count is in bytes.

    `starts` is the offset of each allocation; bytes between two allocations may not exist.
    """

    nbytes: int
    starts: tuple[int, ...]

    def write(self, offset: int, array: np.ndarray) -> None:
        """Copy a contiguous array to the device."""

    def read(self, offset: int, out: np.ndarray) -> None:
        """Fill the contiguous array `out` from the device."""

    def copy(self, source: int, target: int, nbytes: int) -> None:
        """Copy inside the device."""

    def fill(self, offset: int, nbytes: int, byte: int) -> None:
        """Set every byte of a range to `byte`."""

    def fill_each(self, offsets: Sequence[int], nbytes: int, byte: int) -> None:
        """Set every byte of several ranges of `nbytes` to `byte`."""

    def equal(self, one: int, other: int, nbytes: int) -> bool:
        """Whether two ranges, which begin at multiples of 16, hold the same bytes."""

    def scale(self, arrays: Sequence[ScaledArray], kind: StorageType, count: int) -> None:
        """Write factor * source to every target; each array has `count` elements."""

    def negate(self, offsets: np.ndarray, kind: StorageType) -> None:
        """Change the sign of the element at each offset; no two offsets are equal."""

    def count_unlike(self, arrays: Sequence[ScaledArray], kind: StorageType, count: int) -> list[int]:
        """For each pair, how many of `count` elements of target are not factor * source.

        0 equals -0, and NaN equals nothing. Where source, its multiple or target is below the smallest
        normal number, they may differ by one subnormal step: results are rounded to these there.
        """

    def checksums(self, ranges: Sequence[Range]) -> list[int]:
        """A checksum of each range, which changes with any byte and with the order of the bytes."""

    def free(self) -> None:
        """Free the memory."""


OVERLAPS = "overlaps"
"""A product begins before the product before it has ended."""
OVERLAP_UNKNOWN = "unknown"
"""Its launches cannot be recorded, so they cannot be examined."""


class Executable(Protocol):
    """Plans bound to their operands, launched in turn as one."""

    def time(self, launches: int) -> Window:
        """Run `launches` launches back to back, each at the next stop of its rotation, and time them together.

        Raises LaunchError or LaunchTimeout.
        """


class CountingExecutable(Executable, Protocol):
    """An executable that can run an exact number of launches."""

    def time_exactly(self, launches: int) -> Window:
        """As time, but launch by launch also where `time` rounds up to whole graphs."""


class BoundExecutable(CountingExecutable, Protocol):
    """An executable as a back end binds it."""

    @property
    def choice(self) -> str:
        """What a library chose for it, such as `pedantic math`; "" if there was nothing to choose."""

    @property
    def no_graph(self) -> str:
        """Why its launches cannot be recorded as a CUDA graph; "" if they can, or if it was not tried."""

    @property
    def overlap(self) -> str:
        """For code that launches itself: OVERLAPS, OVERLAP_UNKNOWN, or "" if its products do not overlap."""


class SteadyExecutable(Executable, Protocol):
    """An executable that can keep its device at work without a pause, as those of a GPU can."""

    def sustain(self, launches: int, watch: Callable[[], None]) -> Generator[Window, None, None]:
        """An endless series of windows of at most `launches` launches; while one runs, the next is queued.

        `watch` is called repeatedly. Closing the iterator waits for queued launches. The
        first launches must have been timed before. Raises as time does.
        """


class LoneExecutable(Executable, Protocol):
    """An executable that can time one product by itself, as those of a GPU can."""

    def time_alone(self) -> float:
        """Seconds of one product in plain launches, with no other work around it and nothing in the L2 cache.

        NaN without a gate, since host time would be in it. Raises as time does.
        """


class ProfilableExecutable(Executable, Protocol):
    """An executable that can show one launch to a profiler."""

    def profile(self) -> None:
        """Run one launch inside the range that a profiler records. Raises LaunchError."""


def pack_allocations(sizes: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """The aligned start of each of several allocations that are parts of one, and the bytes of all."""
    ends = list(accumulate(-(-size // ALIGN) * ALIGN for size in sizes))
    return (0, *ends[:-1]), ends[-1]


@dataclass(frozen=True)
class WatchedFault:
    """A fault of a kernel's accesses or barriers: its kind, its line (`tiled.cu:69`, "" without one), and a sentence.

    The likelier its kind is the cause of others, the lower is its `rank`.
    """

    kind: str
    place: str
    sentence: str
    rank: int


@dataclass(frozen=True)
class Watched:
    """What watching every access of a launch found: faults, the likeliest cause first.

    `explanations` are not faults, but may explain a wrong result. `ended` is False if the launch had to be stopped.
    """

    faults: tuple[WatchedFault, ...]
    explanations: tuple[str, ...] = ()
    ended: bool = True


class Watcher(Protocol):
    """Runs kernels on the host and watches every access."""

    def watch(self, plan: Plan) -> Watched:
        """Run a plan of the CPU device. Raises Unsupported if it cannot be watched, other PlanErrors, DeviceError."""

    def count(self, plan: Plan) -> AccessCounts:
        """Count what the accesses of a plan of the CPU device cost on a GPU. Raises as `watch`."""


class Compiler(Protocol):
    """Turns plans into machine code; safe to call from several threads."""

    def compile(self, plan: Plan) -> Artifact:
        """Compile the plan or find it in the cache.

        Raises BuildError, or DeviceError without a compiler.
        """

    def is_compiled(self, plan: Plan) -> bool:
        """Whether there is nothing left to compile. Raises DeviceError without a compiler."""


class InspectingCompiler(Compiler, Protocol):
    """A compiler that shows what it makes."""

    @property
    def path(self) -> str:
        """Where the compiler is. Raises DeviceError."""

    def text(self, plan: Plan) -> str:
        """The text that is compiled, as one file that plain nvcc accepts. Raises BuildError."""

    def ptx(self, plan: Plan) -> str:
        """The intermediate code of a plan. Raises as compile does."""

    def sass(self, plan: Plan) -> str:
        """The machine code of a plan, disassembled.

        Raises as compile does, or DeviceError without a disassembler.
        """

    def sass_by_line(self, plan: Plan) -> str:
        """The machine code of a plan with the lines of its source above the instructions, as nvdisasm writes it.

        Raises as `sass`.
        """


class Backend(Protocol):
    """An open device."""

    device: Device
    modes: tuple[str, ...]
    """Ways to run a launch that expose a missing barrier; `modes[0]` is used for timing."""
    max_launches: int
    """The most launches one window may hold."""
    guards: bool
    """Whether operands have guard zones. If not, each is an allocation of its exact size, for a
    tool to watch.
    """

    @property
    def empty(self) -> LoneExecutable | None:
        """Launches a kernel that does nothing; None if single products cannot be timed here."""

    @property
    def monitor(self) -> Monitor | None:
        """Reads power, temperature and clocks under load.

        None if there are no sensors, or if reading them would disturb the measurement.
        """

    def allocate(self, *nbytes: int) -> Memory:
        """Allocate `nbytes` each, and return the allocations as one memory. Raises OutOfMemory."""

    def free_memory(self) -> int:
        """Bytes that can be allocated now, if other processes leave them."""

    def loaded_libraries(self) -> dict[str, str]:
        """The versions of the libraries that are loaded now, by name, such as `{"cublas": "13.1.0"}`."""

    def load(self, artifact: Artifact, plan: Plan) -> Any:
        """Load machine code. Raises LaunchError."""

    def count_workspace(self, loaded: Any, plan: Plan) -> int:
        """The bytes of workspace of a loaded plan; its own host function may know them. Raises LaunchError."""

    def bind(
        self,
        name: str,
        steps: Sequence[Step],
        memory: Memory,
        graph: bool = False,
        mode: str = "",
        rotation: Rotation | None = None,
        turns: int = 0,
    ) -> BoundExecutable:
        """Fix the arguments of one or several launches that run in order and are timed as one.

        `name` is that of the row. With `graph` the launches are recorded once and replayed as one
        graph. With `turns` a graph makes that number of passes over all stops; a window consists
        of whole graphs, so `time` rounds its launches up. Launches take their operands from `rotation`;
        without it they begin at the first stop. Raises LaunchError, NotOffered.
        """

    def close(self) -> None:
        """Free everything the back end holds."""


@runtime_checkable
class PrintingBackend(Protocol):
    """A back end that reads the output of its kernels itself. For others, the runner takes it from the worker."""

    def take_printed(self) -> dict[str, str]:
        """What was printed since the last call, in words, by the name of the row."""
