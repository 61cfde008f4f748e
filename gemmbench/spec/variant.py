"""A variant: one way to compute a GEMM, or a network, as a file in cuda/ or a library declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gemmbench.spec.expr import Expression

Values = tuple[int, ...]
Params = Mapping[str, Values]
"""Values chosen for parameters; the key ALL stands for every value of every parameter."""
ALL = "all"

COMPUTES = ("gemm", "mlp")
EPILOGUES = ("bias", "relu", "softmax")
"""What may follow a product, in this order; each is a macro of the kernel: 1 if this plan asks for it."""


@dataclass(frozen=True)
class Launch:
    """One kernel launch: `grid` and `block` have 1 to 3 expressions, `shared` is dynamic bytes."""

    symbol: str
    grid: tuple[Expression, ...]
    block: tuple[Expression, ...]
    shared: Expression


@dataclass(frozen=True)
class Variant:
    """One way to compute a GEMM, or with `computes` "mlp" a whole network (spec.network).

    `kind` is "cuda" for a `.cu` file (it runs on a GPU, and on the CPU device in
    coroutines), "host" for a `.cpp` file, "library" for cuBLAS and the like.
    `devices` are the back ends that can run it. `params` pairs a name with its
    values, the first being the default. `arch` is empty unless the code is for the
    named architectures alone ("90a"). `epilogue` is what it can do to C after the product,
    in this order. `text` and `path` are empty for a library.
    """

    name: str
    summary: str
    order: float
    kind: str
    devices: tuple[str, ...]
    precisions: tuple[str, ...]
    layouts: tuple[str, ...]
    min_sm: int = 0
    arch: tuple[str, ...] = ()
    params: tuple[tuple[str, Values], ...] = ()
    require: tuple[Expression, ...] = ()
    launch: Launch | None = None
    computes: str = "gemm"
    epilogue: tuple[str, ...] = ()
    source: str = ""
    path: str = ""
    text: str = field(default="", repr=False)

    def default(self) -> dict[str, int]:
        """The default configuration: the first value of every parameter."""
        return {name: values[0] for name, values in self.params}
