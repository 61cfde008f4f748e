"""Variants: ways to compute a GEMM or a network. Each is declared by a kernel file or a library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gemmbench.planning.epilogues import EPILOGUE_STEPS, SOFTMAX
from gemmbench.planning.manifests.expressions import Expression
from gemmbench.planning.precisions import PRECISIONS, Precision
from gemmbench.planning.problems import SCALED

Part = Expression | str
"""The value of a macro or a template argument: an expression of the manifest, or C++ text."""

ArgumentText = str | int | float | None | dict[str, str | int | float | None]
"""An argument as a manifest writes it. A structure has its fields by name."""

OPERANDS = ("A", "B", "C", "D", "bias", "residual", "scale", *SCALED, "offsets", "workspace", "maps")
SCALARS = ("alpha", "beta")
NULL, STREAM = "null", "stream"


def has_scales(precisions: Iterable[str]) -> bool:
    """Return whether one of these precisions has scales, so that kernels take them."""
    return any(PRECISIONS[name].scales for name in precisions if name in PRECISIONS)


@dataclass(frozen=True)
class Flag:
    """An option of nvcc. With `when`, it applies only in configurations where that condition holds."""

    text: str
    when: Expression | None = None


@dataclass(frozen=True)
class Code:
    """The file with the code, and how it is compiled.

    `file` is its absolute path; "" for a library. `foreign` code belongs to someone else: the compiler gets it
    unchanged, with the macros `defines` and no others. `include` lists the folders of its headers or names of packages
    (see backends.header_packages). `flags` are for nvcc. `maxregcount` is the most registers of a thread (0: no limit).
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

    `role` is a name in OPERANDS or SCALARS, `null`, `stream`, or "" for a number. The value of a number is an
    expression or a constant. `ctype` is its type in C++ (for a scalar, "" means the type of the sums). `by_pointer` is
    for a scalar that the kernel reads from device memory.
    """

    role: str
    ctype: str = ""
    value: Expression | float = 0
    by_pointer: bool = False


@dataclass(frozen=True)
class Structure:
    """A structure that a kernel takes by value: the names of its fields and their contents."""

    fields: tuple[tuple[str, Argument], ...]


@dataclass(frozen=True)
class Call:
    """How to call the kernels of a variant.

    `args` lists what is passed to their parameters; it is empty for the standard arguments. With `column_major`, every
    name in the manifest describes column-major matrices: the kernel computes C^T = op(B)^T op(A)^T from the same bytes.
    With `reads_c`, it reads C even if beta is 0. `host` is the host function that launches everything; "" if gemmbench
    does. `host_workspace` is the function that returns the bytes of the workspace. `line` is the line of
    `args` (0: unknown).
    """

    args: tuple[Argument | Structure, ...] = ()
    column_major: bool = False
    reads_c: bool = False
    host: str = ""
    host_workspace: str = ""
    line: int = field(default=0, repr=False, compare=False)

    def list_arguments(self) -> list[tuple[int, str, Argument]]:
        """Yield every argument, including those in structures: its parameter's number, and its field ("" for none)."""
        return [
            (number, name, argument)
            for number, each in enumerate(self.args)
            for name, argument in (each.fields if isinstance(each, Structure) else (("", each),))
        ]

    def takes(self, role: str) -> bool:
        """Return whether the kernels take alpha, beta or an operand. With the standard signature, they take all."""
        return not self.args or any(argument.role == role for _, _, argument in self.list_arguments())


DEFAULT_STREAM = "default"


@dataclass(frozen=True)
class PythonCall:
    """How to call the function of a Python module.

    `call` is the call as Python text; "" stands for `gemm(problem, A, B, C, stream, **params)`. `setup` is the call
    that prepares B, and `reads` are the operands, scalars and sizes that both read. If it `returns` the result, it does
    not write C. With `default_stream`, it launches on the default stream of CUDA. `views` are the dimensions of
    operands in the order in which the function sees them, such as (N, K). `library` is "torch", "cupy" or "": the
    package whose arrays `call` passes and the function returns. `packages_from` is the folder of its packages; "" for
    the usual places.
    """

    call: str = ""
    setup: str = ""
    reads: tuple[str, ...] = ()
    returns: bool = False
    default_stream: bool = False
    views: tuple[tuple[str, tuple[str, ...]], ...] = ()
    library: str = field(default="", compare=False)
    packages_from: str = field(default="", compare=False)

    def takes(self, role: str) -> bool:
        """Return whether the call passes alpha, beta or an operand; `gemm` gets all."""
        return not self.call or role in self.reads


_STANDARD_CALL = Call()
_GEMM_CALL = PythonCall()
_NO_CODE = Code()


Values = tuple[int, ...]
Params = Mapping[str, Values]
"""The values chosen for parameters. The key ALL stands for every value of every parameter."""
ALL = "all"

COMPUTES = ("gemm", "mlp", "pass")
ONE, MANY, GROUPS, PADDED, SEPARATE_C = "one", "many", "groups", "padded", "separate_c"
KINDS = (ONE, MANY, GROUPS, PADDED, SEPARATE_C)
"""What one launch computes: one product, all products of a batch, or all groups. It may take padded rows, and a D."""
STORAGES = ("row", "column")
EPILOGUES = (*EPILOGUE_STEPS, SOFTMAX)
"""What may follow a product. Each is a macro of the kernel, 1 if this plan uses it."""
_LAST = 1e9


@dataclass(frozen=True)
class Launch:
    """One kernel launch. `grid` and `block` have 1 to 3 expressions, and `shared` is dynamic bytes.

    `template` lists the template arguments of the kernel. Unless it is `mangled`, it has the same name in machine code.
    With `pdl`, it may begin before the previous launch has ended. `cluster` is the number of blocks along x in a
    cluster, on devices with clusters. If `when` is 0, the launch is left out.
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
    """How TMA sees one array. `operand` is A, B, C or workspace, and `offset` is in bytes from its start.

    `shape` and `box` are in elements, innermost dimension first. An empty `shape` means the operand's. `pitch` is
    the number of elements from one index to the next, from the second dimension on; it is empty if the array is packed.
    `swizzle` is 0, 32, 64 or 128 bytes. If `when` is 0, the map stays zero.
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
    """A choice of a variant that dispatches. `variant` computes the problems for which `when` holds.

    Without `when`, it takes all remaining problems. `params` are the values that differ from the defaults. A candidate
    has an `estimate` of its time, computed from its parameters, its constants and the problem. `costs` are the
    constants by name, as expressions for a card for which none were fitted; those that were are listed under `region`.
    With `shares_costs`, all candidates of the variant have the same constants, in all regions.
    `row` is the number of the row of `pick`, and `line` its line. The catalog fills in `code`.
    """

    variant: str
    params: tuple[tuple[str, int], ...]
    when: Expression | None
    costs: tuple[tuple[str, Expression], ...] = ()
    estimate: Expression | None = None
    region: str = ""
    row: int = field(default=0, compare=False)
    line: int = field(default=0, compare=False)
    shares_costs: bool = False
    code: Variant | None = None

    @cached_property
    def values(self) -> dict[str, int]:
        """The values of all parameters, in the order of the variant's manifest."""
        assert self.code is not None, "the catalog fills it in"
        return {**self.code.default(), **dict(self.params)}

    @cached_property
    def candidate(self) -> Candidate:
        """The variant and its configuration."""
        return self.variant, tuple(sorted(self.values.items()))

    @property
    def costs_key(self) -> tuple[str, Candidate]:
        """Under which its fitted constants are listed: its region and itself, or no region and no configuration."""
        return ("", (self.variant, ())) if self.shares_costs else (self.region, self.candidate)


Candidate = tuple[str, tuple[tuple[str, int], ...]]
"""A variant and its configuration, sorted."""


@dataclass(frozen=True)
class CostsFile:
    """The text of a file with fitted constants for the candidates of a `pick` on one card.

    `card` is its short name, such as `nvidia-h100`. `known` keeps what was read from the text, by precision.
    """

    card: str
    location: str
    text: str = field(repr=False)
    known: dict[str, Mapping[tuple[str, Candidate], Mapping[str, int] | None]] = field(
        default_factory=dict, repr=False, compare=False, hash=False
    )


@dataclass(frozen=True)
class Exactness:
    """How exact a launch is if a manifest declares less than usual: the class of its products, "" for that of the
    precision, and `approx`, by how much the factor that GELU or SiLU multiplies its argument by may be off.
    """

    product_class: str = ""
    approx: float = 0.0


@dataclass(frozen=True)
class Variant:
    """One way to compute a GEMM or, with `computes` "mlp", a whole network (planning.networks.Network). A
    "pass" applies the steps of an epilogue to a finished C.

    `kinds` are the values of KINDS that it accepts. Other batches and groups are launched product by product.
    `kind` is "kernel" for CUDA code (which runs on a GPU, and on the CPU device in coroutines), "host" for a `.cpp`
    file, "launcher" for a host function that launches CUDA code itself, "python" for a Python function that launches
    and needs the packages `packages` (`python` says how it is called), and "library" for libraries such as cuBLAS.
    `devices` are the back ends that can run it.

    `params` pairs each name with its values, the default first. `arch` is empty unless the code runs only on certain
    architectures ("90a"). `launch` is the last kernel that it launches, and `before` are the others. `epilogue` is what
    it can apply after the product, in order. `workspace` is the device memory in bytes besides the operands. Its first
    `zeroed` bytes are zero at binding, and with `state` it carries state from one launch to the next. Unless it is
    `deterministic`, equal launches may give different bits.

    `tile` is the rows and columns of C that share one reading of A and B (empty if not declared). `tensor_maps` are the
    arrays that TMA moves; with `maps_by_value`, the kernel gets their maps in its last parameter. `sass` is what must
    be true of the machine code of its hottest loop, and `accesses` is what must be true of the costs of its loads and
    stores. `product_class` is declared if it is weaker than that of a precision.

    A variant with `picks` contains no code: the first of them whose `when` holds names the variant to use. `costs` are
    the files with fitted constants for its candidates. If a variant has more configurations than `shortlist` (0: no
    limit), only those that rank first under a short load are measured in full.

    `text` and `path` are empty for a library. A file that cannot be read becomes a variant with only a name and its
    `fault`. A file without a manifest that needs another device to find one becomes a variant with only a name and the
    reason `unsupported`. `drafted` means that the manifest is not in any file. `wrongly_launched` means that the kernel
    is right, but not when launched as in the file.
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
    maps_by_value: bool = False
    picks: tuple[Pick, ...] = ()
    costs: tuple[CostsFile, ...] = ()
    sass: tuple[Expression, ...] = ()
    accesses: tuple[Expression, ...] = ()
    computes: str = "gemm"
    epilogue: tuple[str, ...] = ()
    shortlist: int = 0
    product_class: str = ""
    approx: float = 0.0
    packages: tuple[str, ...] = ()
    source: str = ""
    path: str = ""
    text: str = field(default="", repr=False)
    code: Code = _NO_CODE
    call: Call = _STANDARD_CALL
    python: PythonCall = _GEMM_CALL
    fault: str = ""
    unsupported: str = ""
    drafted: bool = False
    wrongly_launched: bool = False

    def cite_line(self, line: int) -> str:
        """Return the place of a line in its manifest. A drafted manifest is not in any file."""
        return "drafted manifest" if self.drafted else f"{self.path}:{line}"

    @classmethod
    def unreadable(cls, name: str, fault: str) -> Variant:
        """Make a variant for a file that cannot be read. Its rows come last."""
        return cls(name, "", _LAST, "unreadable", (), (), (), fault=fault)

    @classmethod
    def untried(cls, name: str, reason: str) -> Variant:
        """Make a variant for a file whose manifest is unknown, since the device that would find it cannot run it."""
        return cls(name, "", _LAST, "untried", (), ("f32",), ("nn",), unsupported=reason)

    @property
    def launches(self) -> tuple[Launch, ...]:
        """All its launches in order; none for a library."""
        return (*self.before, self.launch) if self.launch else ()

    @property
    def trailing(self) -> tuple[str, ...]:
        """The arguments that its kernels take after the usual ones, in order."""
        fused = [name for name in self.epilogue if name in EPILOGUE_STEPS and EPILOGUE_STEPS[name].part]
        declared = {
            **dict.fromkeys(SCALED, has_scales(self.precisions)),
            "D": SEPARATE_C in self.kinds,
            "offsets": GROUPS in self.kinds,
            "workspace": self.workspace,
            "maps": self.tensor_maps and not self.maps_by_value,
        }
        return (*fused, *(name for name, value in declared.items() if value))

    @property
    def is_kernel(self) -> bool:
        """Whether it has CUDA kernels that gemmbench launches."""
        return self.kind == "kernel"

    @property
    def is_host_function(self) -> bool:
        """Whether it is a `.cpp` file."""
        return self.kind == "host"

    @property
    def is_launcher(self) -> bool:
        """Whether its host function launches its kernels."""
        return self.kind == "launcher"

    def takes_scalars(self, precision: Precision, alpha: float, beta: float) -> bool:
        """Return whether it can use this alpha and beta. Code that takes none of them can use only 1 and 0.

        Libraries multiply sums of integers only by 0 and 1.
        """
        few = self.is_library and precision.is_exact
        fitting = (alpha == 1 or self.takes("alpha")) and (beta == 0 or self.takes("beta"))
        return fitting and (not few or {alpha, beta} <= {0, 1})

    def takes(self, role: str) -> bool:
        """Return whether its code takes alpha, beta or an operand."""
        return self.python.takes(role) if self.is_python else self.call.takes(role)

    def list_fused(self, precision: Precision) -> tuple[str, ...]:
        """Return the steps of an epilogue that it applies itself. Libraries apply none to integers."""
        return () if self.is_library and precision.is_exact else self.epilogue

    @property
    def is_library(self) -> bool:
        """Whether it is part of a library and has no text."""
        return self.kind == "library"

    @property
    def is_python(self) -> bool:
        """Whether it is a Python function that launches and needs the packages `packages`."""
        return self.kind == "python"

    def default(self) -> dict[str, int]:
        """Return the default configuration, which has the first value of each parameter."""
        return {name: values[0] for name, values in self.params}
