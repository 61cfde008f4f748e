"""The interface of a back end: a compiler, a device with a few operations, and sensors."""

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
"""The two ways cuBLAS can compute f32 without tensor cores. Pedantic math restricts its choice of kernels."""


@dataclass(frozen=True)
class Conditions:
    """Settings of a GPU that stay the same during a run. None means unknown.

    `power_limit` is in watts. The clocks are the highest that the GPU allows, in Hz.
    """

    mig: bool | None = None
    ecc: bool | None = None
    persistence: bool | None = None
    power_limit: Amount | None = None
    max_sm_clock: Amount | None = None
    max_memory_clock: Amount | None = None


@dataclass(frozen=True)
class Reading:
    """One sensor reading, in watts, degrees Celsius and Hz. NaN means unknown.

    `slowed` lists what is limiting the clock at that moment, such as "power cap".
    """

    power: float = math.nan
    temperature: float = math.nan
    sm_clock: float = math.nan
    memory_clock: float = math.nan
    slowed: frozenset[str] = frozenset()


class Monitor(Protocol):
    """Reads the sensors of an open device. Safe to call from any thread. Raises no exceptions."""

    def read(self) -> Reading:
        """Take a reading, which may take a few milliseconds."""

    def now(self) -> float:
        """The current time in seconds, on the clock used to integrate power into energy."""

    def energy(self) -> float:
        """Joules drawn since a fixed point in time; NaN if unknown. The counter is updated every 20 to 100 ms."""

    def count_other_processes(self) -> int | None:
        """The number of other processes that use the device for computing; None if unknown."""


ALIGN = 512
"""The alignment of operands in bytes."""


@dataclass(frozen=True)
class Device:
    """One device, described without opening it.

    `clock_hz` is the highest clock. `flops_per_cycle` maps each precision to the number of floating-point operations
    that the whole device can do in one cycle, which lets a percentage of peak use the measured clock. It is empty if
    unknown. `bandwidth` is the memory bandwidth in bytes/s, or 0 if unknown. `software` maps the driver, the toolkit
    and the libraries to their versions. `conditions` holds the device's settings, or None if unknown. `uuid`
    distinguishes cards of the same model, and `vbios` is the firmware version; either is "" if unknown.
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
    """What the compiler reports about one kernel. Values that it does not report are -1.

    The fields hold registers per thread, bytes of static shared memory per block, spilled bytes (stores plus loads),
    bytes of stack per thread, and the compile time in seconds (0 if the kernel came from the cache). `symbols` holds
    the names that the plan's kernels have in the machine code. It is empty if they match the names in the plan. Plans
    that launch different kernels of the same text share its machine code.
    """

    registers: int = -1
    shared: int = -1
    spills: int = -1
    stack: int = -1
    seconds: float = 0.0
    cached: bool = False
    symbols: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbols", tuple(self.symbols))  # a list if it was read from a file


@dataclass(frozen=True)
class Artifact:
    """The machine code of one plan: its file ("" for a library) and its build facts.

    `key` is a hash of everything the code depends on: the text, the defines, the architecture and the compiler version.
    For a library, it covers the name and the version.
    """

    key: str
    path: str
    build: Build


OperandSet = Mapping[str, int]
"""The start of each operand of a launch, by name. Starts are byte offsets in a Memory, or addresses.

If a plan computes a network, A holds its inputs, B its parameters, and C its outputs.
"""


def find_start(at: OperandSet, name: str) -> int:
    """Return where an operand begins, or 0 if there is none. The result D is C unless it lies apart."""
    return at.get(name, at["C"] if name == "D" else 0)


@dataclass(frozen=True)
class Place:
    """A position in a memory, `offset` bytes from its start."""

    memory: Memory
    offset: int


@dataclass(frozen=True)
class Step:
    """One launch of a chain: a loaded plan and the addresses of its operands at every stop of a rotation.

    alpha and beta come from the plan's problem. `workspace` is the start of the plan's workspace, in a memory from the
    same back end, or None if the plan needs no workspace.
    """

    loaded: Any
    plan: Plan
    sets: tuple[OperandSet, ...]
    workspace: Place | None = None


@dataclass
class Rotation:
    """Tracks which of `stops` operand sets the next launch uses. `position` is an index into Step.sets.

    All executables of an arena share one rotation. If each had a separate one, an executable would find operands that
    another has just left in the cache.
    """

    stops: int
    position: int = 0

    def take(self, launches: int) -> list[int]:
        """Return the stops of the next launches, in order, and advance the rotation past them."""
        taken = self.list_next(launches)
        self.position = (self.position + launches) % self.stops
        return taken

    def list_next(self, launches: int) -> list[int]:
        """Return the stops of the next launches, in order."""
        return [(self.position + number) % self.stops for number in range(launches)]

    def list_last(self, launches: int) -> list[int]:
        """Return the stops of the last launches, in order."""
        return [(self.position - number) % self.stops for number in range(launches, 0, -1)]

    def go_back(self, launches: int) -> None:
        """Rewind by this number of launches, so that they come next."""
        self.position = (self.position - launches) % self.stops


@dataclass(frozen=True)
class Window:
    """One timed window: the seconds that all its launches took, and the measured clock (0 if unknown).

    `competitors` is the number of threads of other processes that wanted a CPU core when the window began; None on a
    GPU. `gated` is False if the window may include host time. `elapsed` is how long gemmbench waited for a window that
    the kernel's process timed, or 0 if the window was timed in another way. `absent` is the largest number of threads
    of a block that had already returned when others left a barrier, if known.
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
    """Two arrays of equal length, at offsets in a Memory: the target is, or will be, factor * source.

    `factor` is a power of two, which makes the product exact. It may be negative.
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
    """Memory on a device, made of one or more allocations. All offsets and counts are in bytes.

    `starts` holds the offset of each allocation. Bytes between two allocations may not exist.
    """

    nbytes: int
    starts: tuple[int, ...]

    def write(self, offset: int, array: np.ndarray) -> None:
        """Copy a contiguous array to the device."""

    def read(self, offset: int, out: np.ndarray) -> None:
        """Fill the contiguous array `out` from the device."""

    def copy(self, source: int, target: int, nbytes: int) -> None:
        """Copy within the device."""

    def fill(self, offset: int, nbytes: int, byte: int) -> None:
        """Set every byte of a range to `byte`."""

    def fill_each(self, offsets: Sequence[int], nbytes: int, byte: int) -> None:
        """Set every byte of several ranges of `nbytes` to `byte`."""

    def equal(self, one: int, other: int, nbytes: int) -> bool:
        """Return whether two ranges hold the same bytes. Both must begin at multiples of 16."""

    def scale(self, arrays: Sequence[ScaledArray], kind: StorageType, count: int) -> None:
        """Write factor * source to every target. Each array has `count` elements."""

    def negate(self, offsets: np.ndarray, kind: StorageType) -> None:
        """Change the sign of the element at each offset. All offsets must differ."""

    def count_unlike(self, arrays: Sequence[ScaledArray], kind: StorageType, count: int) -> list[int]:
        """For each pair, count how many of the `count` elements of the target differ from factor * source.

        0 and -0 count as equal, but NaN is not equal to anything. If the source, the product or the target is smaller
        than the smallest normal number, they may differ by one subnormal step, because results in that range are
        rounded to such steps.
        """

    def checksums(self, ranges: Sequence[Range]) -> list[int]:
        """Return a checksum of each range. It depends on every byte and on the order of the bytes."""

    def free(self) -> None:
        """Free the memory."""


OVERLAPS = "overlaps"
"""A product begins before the previous one has ended."""
OVERLAP_UNKNOWN = "unknown"
"""The launches cannot be recorded, so they cannot be examined."""


class Executable(Protocol):
    """Plans bound to their operands, launched one after another as a unit."""

    def time(self, launches: int) -> Window:
        """Run `launches` launches back to back, each at the next stop of the rotation, and time them together.

        Raises LaunchError or LaunchTimeout.
        """


class CountingExecutable(Executable, Protocol):
    """An executable that can run an exact number of launches."""

    def time_exactly(self, launches: int) -> Window:
        """Like `time`, but launch by launch, even where `time` would round up to whole graphs."""


class BoundExecutable(CountingExecutable, Protocol):
    """An executable as returned by a back end's `bind`."""

    @property
    def choice(self) -> str:
        """The library's choice, such as `pedantic math`; "" if there was no choice."""

    @property
    def no_graph(self) -> str:
        """Why the launches cannot be recorded as a CUDA graph; "" if they can, or if recording was not tried."""

    @property
    def setup_seconds(self) -> float:
        """The seconds that preparing B took, which is not timed with launches; 0 if nothing is prepared."""

    @property
    def overlap(self) -> str:
        """For code that launches its own kernels: OVERLAPS, OVERLAP_UNKNOWN, or "" if its products do not overlap."""


class SteadyExecutable(Executable, Protocol):
    """An executable that can keep its device busy without a pause, as on a GPU."""

    def sustain(self, launches: int, watch: Callable[[], None]) -> Generator[Window, None, None]:
        """Yield an endless series of windows of at most `launches` launches. While one window runs, the next is queued.

        `watch` is called repeatedly. Closing the iterator waits for queued launches. Call `time` once before this.
        Raises the same errors as `time`.
        """


class LoneExecutable(Executable, Protocol):
    """An executable that can time a single product, as on a GPU."""

    def time_alone(self) -> float:
        """Return the seconds that one product takes in plain launches, with no other work around it and an empty L2.

        Without a gate the result is NaN, because it would include host time. Raises the same errors as `time`.
        """


class ProfilableExecutable(Executable, Protocol):
    """An executable that can show one launch to a profiler."""

    def profile(self) -> None:
        """Run one launch inside the range that a profiler records. Raises LaunchError."""


def pack_allocations(sizes: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Return the aligned start of each part of one allocation, and the total number of bytes."""
    ends = list(accumulate(-(-size // ALIGN) * ALIGN for size in sizes))
    return (0, *ends[:-1]), ends[-1]


@dataclass(frozen=True)
class WatchedFault:
    """A faulty access or barrier in a kernel: its kind, its line (such as `tiled.cu:69`, or ""), and a sentence.

    A lower `rank` means that faults of this kind are more likely to cause others.
    """

    kind: str
    place: str
    sentence: str
    rank: int


@dataclass(frozen=True)
class Watched:
    """The faults found by watching every access of a launch, the likeliest cause first.

    `explanations` are not faults, but they may explain a wrong result. `ended` is False if the launch had to be
    stopped.
    """

    faults: tuple[WatchedFault, ...]
    explanations: tuple[str, ...] = ()
    ended: bool = True


class Watcher(Protocol):
    """Runs kernels on the host and watches every access."""

    def watch(self, plan: Plan) -> Watched:
        """Run a plan of the CPU device.

        Raises DeviceError and PlanErrors, such as Unsupported if it cannot be watched.
        """

    def count(self, plan: Plan) -> AccessCounts:
        """Count what the accesses of such a plan would cost on a GPU. Raises the same errors as `watch`."""


class Compiler(Protocol):
    """Turns plans into machine code. Safe to call from several threads."""

    def compile(self, plan: Plan) -> Artifact:
        """Compile the plan, or find its code in the cache.

        Raises BuildError, or DeviceError if there is no compiler.
        """

    def is_compiled(self, plan: Plan) -> bool:
        """Return whether the plan is already compiled. Raises DeviceError if there is no compiler."""


class InspectingCompiler(Compiler, Protocol):
    """A compiler that can show its output."""

    @property
    def path(self) -> str:
        """The path of the compiler. Raises DeviceError."""

    def text(self, plan: Plan) -> str:
        """Return the text that is compiled, as a single file that plain nvcc accepts. Raises BuildError."""

    def ptx(self, plan: Plan) -> str:
        """Return the intermediate code of a plan. Raises the same errors as `compile`."""

    def sass(self, plan: Plan) -> str:
        """Return the disassembled machine code of a plan.

        Raises the same errors as `compile`, or DeviceError if there is no disassembler.
        """

    def sass_by_line(self, plan: Plan) -> str:
        """Return the machine code of a plan as nvdisasm writes it, with source lines above the instructions.

        Raises the same errors as `sass`.
        """


class Backend(Protocol):
    """An open device."""

    device: Device
    modes: tuple[str, ...]
    """Ways of running a launch that expose a missing barrier. `modes[0]` is used for timing."""
    max_launches: int
    """The largest number of launches in one window."""
    guards: bool
    """Whether operands have guard zones.

    If not, each operand is an allocation of its exact size, so that a tool can watch it.
    """

    @property
    def empty(self) -> LoneExecutable | None:
        """Launches a kernel that does nothing. None if single products cannot be timed here."""

    @property
    def monitor(self) -> Monitor | None:
        """Reads power, temperature and clocks under load.

        None if there are no sensors or if reading them would disturb the measurement.
        """

    def allocate(self, *nbytes: int) -> Memory:
        """Make allocations of these sizes and return them as one memory. Raises OutOfMemory."""

    def free_memory(self) -> int:
        """Return the bytes that can be allocated now, unless other processes take them first."""

    def loaded_libraries(self) -> dict[str, str]:
        """Return the versions of the libraries that are loaded now, by name, such as `{"cublas": "13.1.0"}`."""

    def load(self, artifact: Artifact, plan: Plan) -> Any:
        """Load machine code. Raises LaunchError."""

    def count_workspace(self, loaded: Any, plan: Plan) -> int:
        """Return the workspace size of a loaded plan in bytes.

        The plan's host function may provide it. Raises LaunchError.
        """

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
        """Fix the arguments of one or more launches that run in order and are timed together.

        `name` is the name of the row. With `graph`, the launches are recorded once and replayed as one graph. With
        `turns`, a graph makes that number of passes over all stops. A window then consists of whole graphs, so `time`
        rounds the number of launches up. Launches take their operands from `rotation`; without it, they begin at the
        first stop. Raises LaunchError, NotOffered.
        """

    def close(self) -> None:
        """Free everything that the back end holds."""


@runtime_checkable
class PrintingBackend(Protocol):
    """A back end that reads its kernels' output itself.

    For other back ends, the runner takes the output from the worker.
    """

    def take_printed(self) -> dict[str, str]:
        """Return a description of what each row, by name, has printed since the last call."""


@runtime_checkable
class CompilingBackend(Protocol):
    """A back end that can compile in parallel what several rows would compile when they are bound."""

    def compile_together(self, rows: Sequence[Sequence[Step]], memory: Memory) -> None:
        """Compile the code of rows, which are configurations of one variant. Faults are left to the binding.

        Raises DeviceLost.
        """
