"""Plans: a problem, a variant and a configuration, ready to compile. A chain of plans is measured as one row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from gemmbench.planning.epilogues import is_smooth, write_steps
from gemmbench.planning.manifests.variant import GROUPS, MANY, Exactness, Variant
from gemmbench.planning.networks import Network
from gemmbench.planning.problems import Problem


@dataclass(frozen=True)
class Target:
    """What planning needs to know about a device.

    `kind` is the name of its back end. `sm` is its compute capability as an integer (90 for 9.0; 0 if it has none).
    `sms` is the number of multiprocessors or cores. `smem` is the most shared memory of a block, `l2` is the last-level
    cache, and `memory` is the usable memory, all in bytes. `has_graphs` says whether several launches can be recorded
    and replayed as one. `runs_every_variant` says whether it even runs variants that do not name its back end. `name`,
    `clock_hz` (the highest) and `bandwidth` (of its memory in bytes/s) are "" or 0 if unknown.
    """

    kind: str
    sm: int
    sms: int
    smem: int
    l2: int
    memory: int
    is_gpu: bool = True
    has_graphs: bool = True
    runs_every_variant: bool = False
    name: str = ""
    clock_hz: float = 0.0
    bandwidth: float = 0.0

    @property
    def card(self) -> str:
        """The short name of the device in names of files: `nvidia-h100` for an NVIDIA H100 80GB HBM3; "" if unknown."""
        return re.sub(r"[^a-z0-9]+", "-", shorten_device(self.name).lower()).strip("-")


def shorten_device(name: str) -> str:
    """Remove the memory from the name of a GPU: NVIDIA H100 for an NVIDIA H100 80GB HBM3."""
    return re.sub(r" \d+GB| HBM\w+", "", name)


@dataclass(frozen=True)
class Geometry:
    """The numbers of one launch: blocks, threads per block, and dynamic shared bytes.

    With `pdl` (programmatic dependent launch), it may begin before the previous launch has ended. `cluster` blocks that
    are neighbours along x form a thread block cluster.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    pdl: bool = False
    cluster: int = 1

    @property
    def blocks(self) -> int:
        """The number of blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """The number of threads in a block."""
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(frozen=True)
class TiledTensor:
    """The numbers of one tensor map: the arguments of `cuTensorMapEncodeTiled` except the address.

    `operand` is A, B, C or workspace. `offset` and `strides` are in bytes, and `shape` and `box` in elements, innermost
    first. The innermost dimension has no stride.
    """

    operand: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int


@dataclass(frozen=True)
class PassedArgument:
    """One argument of a kernel: an operand of the problem, a scalar, or a number of the C++ type `ctype`.

    `role` is a name in OPERANDS or SCALARS, `null`, `stream`, or "" for a number. The problem sets the values of alpha
    and beta. With `by_pointer`, the kernel reads the scalar from device memory. `parameter` is the number of the
    kernel's parameter. If that is a structure, the argument is its `field`.
    """

    role: str
    ctype: str = ""
    value: float = 0
    by_pointer: bool = False
    parameter: int = -1
    field: str = ""


@dataclass(frozen=True)
class Config:
    """One value for each parameter in order. Prints `BM=128 BN=128`.

    `picked` is the variant that a variant with `pick` chose. It then prints `picked: BM=128 BN=128`.
    """

    values: tuple[tuple[str, int], ...] = ()
    picked: str = field(default="", repr=False)

    def __str__(self) -> str:
        return format_configuration(dict(self.values), self.picked)


def format_configuration(values: Mapping[str, int], picked: str = "") -> str:
    """Format a configuration as `BM=128 BN=128`, or as `sgemm: BM=128 BN=128` if a variant was picked."""
    assignments = " ".join(f"{name}={value}" for name, value in values.items())
    return ": ".join(filter(None, (picked, assignments)))


@dataclass(frozen=True)
class Plan:
    """A problem, a variant and a configuration, ready to compile and launch.

    `device` is the back end that runs it. `arch` is the architecture to compile for ("90", "90a"); it is empty on a
    CPU. `launches` holds the symbol and the numbers of each launch in order, and `geometry` is that of the last; None
    for a library and a host function. `passes` are launched after it, in order: they apply the steps of the epilogue
    that it does not fuse. For groups that a variant does not take, nothing of this plan is launched but its `parts`,
    one plan for each `group` with rows. `network` is set if the variant computes one. `workspace` is in bytes, of which
    the first `zeroed` are zero at binding. A tensor map is None if it is not used.

    `tile` is the rows and columns of C that share one reading of A and B, if the manifest declares them. `macros` are
    those that a manifest defines for foreign code, and `arguments` are those of every kernel; they are empty for the
    standard arguments. If the variant dispatches, `variant` has its name and order, and the code of the variant that
    was picked. With `straight`, its launches take operands as `problem.straight` describes them.
    """

    problem: Problem
    variant: Variant
    config: Config
    device: str
    arch: str
    geometry: Geometry | None
    passes: tuple[Plan, ...] = ()
    parts: tuple[Plan, ...] = ()
    group: int | None = None
    network: Network | None = None
    launches: tuple[tuple[str, Geometry], ...] = ()
    workspace: int = 0
    zeroed: int = 0
    tensor_maps: tuple[TiledTensor | None, ...] = ()
    tile: tuple[int, int] | None = None
    macros: tuple[tuple[str, str], ...] = ()
    arguments: tuple[PassedArgument, ...] = ()
    straight: bool = False

    def __post_init__(self) -> None:
        if self.geometry and not self.launches:
            symbol = self.variant.launch.symbol if self.variant.launch else "gemm"
            object.__setattr__(self, "launches", ((symbol, self.geometry),))

    @property
    def fused(self) -> tuple[str, ...]:
        """The steps of the epilogue that its own launch applies."""
        steps = self.problem.epilogue
        return steps[: len(steps) - sum(len(each.fused) for each in self.passes)]

    @cached_property
    def launched(self) -> Problem:
        """The result of one launch: the problem, or one of its products if the kernels do not take all of them."""
        problem = self.problem.straight if self.straight else self.problem
        return problem if (GROUPS if problem.groups else MANY) in self.variant.kinds else problem.one

    @property
    def products(self) -> int:
        """The number of launches for its problem: one, or one for each product."""
        return self.problem.count // self.launched.count

    @property
    def is_pass(self) -> bool:
        """It changes a finished C, and reads neither A nor B."""
        return self.variant.computes == "pass"

    def takes_scalars(self, alpha: float, beta: float) -> bool:
        """Whether it can compute with this alpha and beta; a pass needs neither."""
        return self.is_pass or self.variant.takes_scalars(self.problem.precision, alpha, beta)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The kernels that it launches in order, or the name of a host function; empty for a library."""
        host = self.variant.launch.symbol if self.variant.launch else ""
        return tuple(symbol for symbol, _ in self.launches) or tuple(filter(None, (host,)))

    def split_launches(self) -> tuple[Plan, ...]:
        """Return one plan for each launch, with only that launch."""
        return tuple(replace(self, geometry=one[1], launches=(one,)) for one in self.launches)

    @property
    def pdl(self) -> bool:
        """Whether its first launch may begin before the work launched earlier has ended."""
        return any(geometry.pdl for _, geometry in self.launches[:1])

    def without_pdl(self) -> Plan:
        """Return the same plan, except that its first launch waits for earlier work. Later launches are unchanged."""
        if not self.pdl:
            return self
        (symbol, first), *later = self.launches
        launches = ((symbol, replace(first, pdl=False)), *later)
        return replace(self, geometry=launches[-1][1], launches=launches)

    @cached_property
    def defines(self) -> tuple[tuple[str, str], ...]:
        """The macros of this plan in the order of their definition."""
        if self.variant.code.foreign:
            return self.macros
        problem = self.launched.column_major if self.variant.call.column_major else self.launched
        types = list(problem.types.items())
        layout = [("TRANS_A", str(int(problem.trans_a))), ("TRANS_B", str(int(problem.trans_b)))]
        sums = problem.precision.accumulator
        promotion = [("PROMOTED_EVERY", str(sums.promoted_every))] if sums.loses_bits else []
        if scales := problem.precision.scales:
            macros = scales.list_macros(self.variant.call.column_major)
            promotion += [(name, str(value)) for name, value in macros.items()]
        if self.is_pass:
            layout.append(("EPILOGUE", write_steps(self.fused)))
        fused = [(name.upper(), str(int(name in self.fused))) for name in self.variant.epilogue]
        network = list(self.network.macros) if self.network else []
        many = [("MANY", "1")] if problem.count > 1 else [("GROUPS", "1")] if problem.groups else []
        if problem.ld:
            leading = problem.list_leading(self.variant.call.column_major)
            many += [(f"LD{name}", str(size)) for name, size in leading.items()]
        return tuple(
            [(name, str(value)) for name, value in self.config.values]
            + types + layout + promotion + fused + network + many
        )  # fmt: skip

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """The manifest's options of nvcc that apply in this configuration."""
        values = dict(self.config.values)
        return tuple(flag.text for flag in self.variant.code.flags if flag.when is None or flag.when.value(values))


@dataclass(frozen=True)
class Skip:
    """A configuration that cannot run here, and the reason."""

    problem: Problem
    variant: Variant
    config: Config
    device: str
    reason: str


GRAPH = "+graph"
"""The suffix of a row whose launches are replayed as one graph."""


@dataclass(frozen=True)
class Chain:
    """Plans that run one after the other on one device and are measured as one row. A GEMM has one step.

    The steps of a network are the GEMMs of its layers and passes over their outputs, or one kernel that computes all of
    it. A chain that cannot run has a `reason` and no steps. `order` sorts the rows of a table. With `graph`, its
    launches are recorded once and replayed as one graph.

    `label` is the row's name in a post, and `published_ms` the time published there. With `step`, the row is one step
    after the nearest row above that is not a correction. With `corrects`, it is the corrected kernel of the row above.
    `fault_elsewhere` says why it is wrong at another size, and `only_here` why it was not verified at another size.
    Both are "" if it is right there, or if that is unknown.
    """

    variant: Variant
    config: Config
    device: str
    problem: Problem
    order: float
    steps: tuple[Plan, ...] = ()
    reason: str = ""
    graph: bool = False
    network: Network | None = None
    label: str = ""
    published_ms: float | None = None
    step: bool = False
    corrects: bool = False
    fault_elsewhere: str = ""
    only_here: str = ""

    @property
    def name(self) -> str:
        """The name of the row, such as `tiled` or `cublas+graph`."""
        return self.variant.name + GRAPH * self.graph

    @property
    def problem_or_network(self) -> Problem | Network:
        """The problem or network that it computes."""
        return self.network or self.problem

    @property
    def launches(self) -> list[str]:
        """The names of what is launched, in order: `tiled+bias+relu`, `softmax`."""
        return ["+".join((step.variant.name, *step.fused)) for step in self.steps]

    @property
    def declared(self) -> Exactness:
        """What its manifests declare: the class of products of the last step, and how exact activations are."""
        approx = [step.variant.approx for step in self.steps if any(map(is_smooth, step.fused))]
        return Exactness(self.steps[-1].variant.product_class if self.steps else "", max(approx, default=0.0))

    @property
    def deterministic(self) -> bool:
        """Whether equal launches give equal bits."""
        return all(step.variant.deterministic for step in self.steps)

    @property
    def launched_per_product(self) -> bool:
        """Whether a step is launched once for each product of a batch, or for each group."""
        return any(step.products > 1 or step.group is not None for step in self.steps)

    @property
    def passed(self) -> tuple[str, ...]:
        """The steps of an epilogue that passes apply."""
        return tuple(dict.fromkeys(name for step in self.steps if step.is_pass for name in step.fused))

    @property
    def compiles_when_bound(self) -> bool:
        """Whether it has no machine code before its first calls, which compile it."""
        return any(step.variant.is_python for step in self.steps)

    def takes_scalars(self, alpha: float, beta: float) -> bool:
        """Return whether the chain of a GEMM can use this alpha and beta."""
        return all(step.takes_scalars(alpha, beta) for step in self.steps)

    @property
    def reads_c(self) -> bool:
        """Whether a kernel reads C even if beta is 0, so that C must not hold NaN."""
        return any(step.variant.call.reads_c for step in self.steps)

    @property
    def pdl(self) -> bool:
        """Whether its first launch may begin before the previous product, or pass of a network, has ended."""
        return any(step.pdl for step in self.steps[:1])

    def without_pdl(self) -> Chain:
        """Return the same chain, except that its first launch waits for earlier work. Later launches are unchanged."""
        return replace(self, steps=(self.steps[0].without_pdl(), *self.steps[1:])) if self.pdl else self

    @property
    def kernel_key(self) -> tuple[object, ...]:
        """The problem, row and configuration, in the form that a Record uses."""
        return (self.problem, self.name, *sorted(self.config.values))

    def with_scalars(self, alpha: float, beta: float) -> Chain:
        """Return the chain of a GEMM with another alpha and beta."""

        def change(problem: Problem) -> Problem:
            return replace(problem, alpha=alpha, beta=beta)

        steps = tuple(replace(step, problem=change(step.problem)) for step in self.steps)
        return replace(self, problem=change(self.problem), steps=steps)


def make_chain(planned: Plan | Skip) -> Chain:
    """Make the chain of a GEMM."""
    launched = (planned.parts or (planned,)) if isinstance(planned, Plan) else ()
    steps = tuple(step for each in launched for step in (each, *each.passes))
    reason = planned.reason if isinstance(planned, Skip) else ""
    variant = planned.variant
    return Chain(variant, planned.config, planned.device, planned.problem, variant.order, steps, reason)


def list_plans(chains: Iterable[Chain]) -> list[Plan]:
    """Return the plans of all chains for the compilers, without duplicates."""
    return list(dict.fromkeys(step for chain in chains for step in chain.steps))


def level_workspaces(chains: Sequence[Chain]) -> list[Chain]:
    """Allow every library step to use as much workspace as the largest step of all."""
    largest = max((step.workspace for chain in chains for step in chain.steps), default=0)
    return [replace(chain, steps=tuple(_level(step, largest) for step in chain.steps)) for chain in chains]


def _level(step: Plan, largest: int) -> Plan:
    takes = step.variant.is_library and step.variant.workspace is not None
    return replace(step, workspace=largest) if takes else step
