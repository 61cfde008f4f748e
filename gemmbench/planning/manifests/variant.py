"""Variants: ways to compute a GEMM or a network, each declared by a kernel file or a library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gemmbench.planning.epilogues import EPILOGUE_STEPS, SOFTMAX
from gemmbench.planning.manifests.expressions import Expression

Part = Expression | str
"""A macro's value or a template argument: an expression of the manifest, or C++ text."""

ArgumentText = str | int | float | None | dict[str, str | int | float | None]
"""An argument as it is written in a manifest; the fields of a structure by name."""

OPERANDS = ("A", "B", "C", "bias", "residual", "scale", "workspace", "maps")
SCALARS = ("alpha", "beta")
NULL, STREAM = "null", "stream"


@dataclass(frozen=True)
class Flag:
    """An option of nvcc; with `when` only in the configurations for which it holds."""

    text: str
    when: Expression | None = None


@dataclass(frozen=True)
class Code:
    """The file that holds the code, and how it is compiled.

    `file` is its absolute path, "" for a library. With `foreign` it belongs to someone else: the
    compiler gets it untouched, with the macros `defines` and no others. `include` are the folders that
    hold its headers, or names of packages (see backends.header_packages). `flags` are for nvcc;
    `maxregcount` is the most registers of a thread, 0 for no limit.
    """

    file: str = ""
    foreign: bool = False
    defines: tuple[tuple[str, Part], ...] = ()
    include: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    maxregcount: int = 0


@dataclass(frozen=True)
class Argument:
    """One argument of a kernel, as `args` declares it.

    `role` is a name of OPERANDS or SCALARS, `null`, `stream`, or "" for a number. A number has a value,
    an expression or a constant. `ctype` is its type in C++ ("" for a scalar: the type of the sums).
    `by_pointer`: a scalar that the kernel reads from device memory.
    """

    role: str
    ctype: str = ""
    value: Expression | float = 0
    by_pointer: bool = False


@dataclass(frozen=True)
class Structure:
    """A structure that a kernel takes by value: the names of its fields, and what each holds."""

    fields: tuple[tuple[str, Argument], ...]


@dataclass(frozen=True)
class Call:
    """How the kernels of a variant are called.

    `args` are what their parameters get, empty for the standard ones. With `column_major` every name of the
    manifest describes column-major matrices: the kernel computes C^T = op(B)^T op(A)^T from the same
    bytes. With `reads_c` it reads C even though beta is 0. `host` is the host function that launches
    everything, "" if gemmbench does; `host_workspace` the one that returns the bytes of workspace.
    """

    args: tuple[Argument | Structure, ...] = ()
    column_major: bool = False
    reads_c: bool = False
    host: str = ""
    host_workspace: str = ""

    def list_arguments(self) -> list[tuple[int, str, Argument]]:
        """Every argument, those in structures too: the number of its parameter, and its field ("" for none)."""
        return [
            (number, name, argument)
            for number, each in enumerate(self.args)
            for name, argument in (each.fields if isinstance(each, Structure) else (("", each),))
        ]

    def takes(self, role: str) -> bool:
        """Whether the kernels get alpha, beta or an operand; those of the standard signature get all."""
        return not self.args or any(argument.role == role for _, _, argument in self.list_arguments())

    def takes_scalars(self, alpha: float, beta: float) -> bool:
        """Whether the kernels can compute with this alpha and beta: without them they are 1 and 0."""
        return (alpha == 1 or self.takes("alpha")) and (beta == 0 or self.takes("beta"))


_STANDARD_CALL = Call()
_NO_CODE = Code()


Values = tuple[int, ...]
Params = Mapping[str, Values]
"""Values chosen for parameters; the key ALL means every value of every parameter."""
ALL = "all"

COMPUTES = ("gemm", "mlp", "pass")
KINDS = ("one", "many")
"""What a launch computes: one product, or all those of a batch."""
STORAGES = ("row", "column")
EPILOGUES = (*EPILOGUE_STEPS, SOFTMAX)
"""What may follow a product. Each is a macro of the kernel, 1 if this plan uses it."""
_LAST = 1e9


@dataclass(frozen=True)
class Launch:
    """One kernel launch: `grid` and `block` have 1 to 3 expressions, `shared` is dynamic bytes.

    `template` are the template arguments of the kernel. Unless `mangled`, its name in the machine code is
    its name. With `pdl` it may begin before the launch before it has ended. `cluster` is the blocks, along x, of
    a cluster, where there are clusters. It does not take place where `when` is 0.
    """

    symbol: str
    grid: tuple[Expression, ...]
    block: tuple[Expression, ...]
    shared: Expression
    pdl: bool = False
    cluster: Expression | None = None
    when: Expression | None = None
    template: tuple[Part, ...] = ()
    mangled: bool = False
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class TensorMap:
    """How TMA sees one array: `operand` is A, B, C or workspace, `offset` bytes from its start.

    `shape` and `box` are in elements, innermost dimension first; an empty `shape` is that of the
    operand. `pitch` is the elements from one index to the next, from the second dimension on; empty
    if packed. `swizzle` is 0, 32, 64 or 128 bytes. The map stays zero where `when` is 0.
    """

    operand: str
    box: tuple[Expression, ...]
    offset: Expression
    shape: tuple[Expression, ...]
    pitch: tuple[Expression, ...]
    swizzle: Expression
    when: Expression | None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Pick:
    """A row of a variant that dispatches: `variant` computes the problems for which `when` holds.

    Without `when` the row takes all problems that are left. `params` are the values that differ from
    the defaults. `estimate` is the time it takes, from `params`, `costs` and the problem; None for a
    row without costs. The catalog fills in `code`.
    """

    variant: str
    params: tuple[tuple[str, int], ...]
    when: Expression | None
    costs: tuple[tuple[str, int], ...] = ()
    estimate: Expression | None = None
    line: int = field(default=0, compare=False)
    code: Variant | None = None


@dataclass(frozen=True)
class Variant:
    """One way to compute a GEMM, or with `computes` "mlp" a whole network (planning.networks.network);
    a "pass" applies the steps of an epilogue to a finished C.

    `kinds` are those of KINDS that it takes: a batch is launched product by product where it does not take
    many. `kind` is "kernel" for CUDA code (it runs on a GPU, and on the CPU device in coroutines), "host"
    for a `.cpp` file, "launcher" for a host function that launches CUDA code itself, "python" for a Python
    function that launches and needs the packages `packages`, "library" for libraries such as cuBLAS. `devices`
    are the back ends that can run it.
    `params` pairs a name with its values, the default first. `arch` is empty unless the code is
    for certain architectures only ("90a"). `launch` is the last kernel that it launches, `before` are
    the others. `epilogue` is what it can apply after the product, in order. `workspace` is bytes of device
    memory besides the operands; its first `zeroed` bytes are zero at binding, and with `state` it
    carries state from one launch to the next. Unless `deterministic`, equal launches may give other
    bits. `tile` is the rows and columns of C that share one reading of A and B (empty if not declared),
    `tensor_maps` are the arrays that TMA moves. `sass` is what must be true of the machine code of its
    hottest loop, `accesses` of what its loads and stores cost. `product_class` is declared if it is
    weaker than that of a precision. A variant with `picks` contains no code: the first row whose
    `when` holds names the variant to use. If it has more configurations than `shortlist` (0: no
    limit), only the ones that a short load ranks first are measured in full. `text` and `path`
    are empty for a library. A file that cannot be read is a variant with nothing but a name and its
    `fault`, and one without a manifest that needs another device to find it has nothing but a name and
    the reason `unsupported`. `drafted` is one whose manifest is in no file, and `wrongly_launched` one that
    is right, but not as the file itself launches it.
    """

    name: str
    summary: str
    order: float
    kind: str
    devices: tuple[str, ...]
    precisions: tuple[str, ...]
    layouts: tuple[str, ...]
    kinds: tuple[str, ...] = ("one",)
    min_sm: int = 0
    arch: tuple[str, ...] = ()
    params: tuple[tuple[str, Values], ...] = ()
    require: tuple[Expression, ...] = ()
    launch: Launch | None = None
    before: tuple[Launch, ...] = ()
    workspace: Expression | None = None
    zeroed: Expression | None = None
    state: bool = False
    deterministic: bool = True
    tile: tuple[Expression, ...] = ()
    tensor_maps: tuple[TensorMap, ...] = ()
    picks: tuple[Pick, ...] = ()
    sass: tuple[Expression, ...] = ()
    accesses: tuple[Expression, ...] = ()
    computes: str = "gemm"
    epilogue: tuple[str, ...] = ()
    shortlist: int = 0
    product_class: str = ""
    packages: tuple[str, ...] = ()
    source: str = ""
    path: str = ""
    text: str = field(default="", repr=False)
    code: Code = _NO_CODE
    call: Call = _STANDARD_CALL
    fault: str = ""
    unsupported: str = ""
    drafted: bool = False
    wrongly_launched: bool = False

    def cite_line(self, line: int) -> str:
        """A line of its manifest; a drafted one is in no file."""
        return "drafted" if self.drafted else f"{self.path}:{line}"

    @classmethod
    def unreadable(cls, name: str, fault: str) -> Variant:
        """The variant of a file that cannot be read; its rows come last."""
        return cls(name, "", _LAST, "unreadable", (), (), (), fault=fault)

    @classmethod
    def untried(cls, name: str, reason: str) -> Variant:
        """The variant of a file whose manifest is unknown, since the device that would find it cannot run it."""
        return cls(name, "", _LAST, "untried", (), ("f32",), ("nn",), unsupported=reason)

    @property
    def launches(self) -> tuple[Launch, ...]:
        """All its launches, in order; none for a library."""
        return (*self.before, self.launch) if self.launch else ()

    @property
    def trailing(self) -> tuple[str, ...]:
        """The arguments that its kernels take after the usual ones, in order."""
        fused = [name for name in self.epilogue if name in EPILOGUE_STEPS and EPILOGUE_STEPS[name].part]
        declared = {"workspace": self.workspace, "maps": self.tensor_maps}
        return (*fused, *(name for name, value in declared.items() if value))

    @property
    def is_kernel(self) -> bool:
        """It has CUDA kernels that gemmbench launches."""
        return self.kind == "kernel"

    @property
    def is_host_function(self) -> bool:
        """It is a `.cpp` file."""
        return self.kind == "host"

    @property
    def is_launcher(self) -> bool:
        """Its host function launches its kernels."""
        return self.kind == "launcher"

    @property
    def is_library(self) -> bool:
        """It is part of a library and has no text."""
        return self.kind == "library"

    @property
    def is_python(self) -> bool:
        """It is a Python function that launches, and needs the packages `packages`."""
        return self.kind == "python"

    def default(self) -> dict[str, int]:
        """The default configuration: each parameter with its first value."""
        return {name: values[0] for name, values in self.params}
