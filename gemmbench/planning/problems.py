"""Problems: lists of 2-D products over named operands, grids of them for a sweep, and panels of a problem."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal, overload

from msgspec import Meta

from gemmbench.planning.epilogues import EPILOGUE_STEPS
from gemmbench.planning.precisions import Precision, StorageType, find_precision
from gemmbench.planning.sizes import AnyShape, Dimension, Scalar, add_count, size_text

LAYOUTS = ("nn", "nt", "tn", "tt")

Role = Literal["factor", "result", "addend", "scale"]
"""The purpose of an operand: a factor is multiplied, and the result is C, which beta multiplies and a launch writes. An
epilogue adds an addend and multiplies by a scale."""


@dataclass(frozen=True)
class Operand:
    """An array of a problem. `shape` is the stored shape, outermost first. Rows are contiguous."""

    name: str
    role: Role
    storage: StorageType
    shape: tuple[int, ...]

    @property
    def rows(self) -> int:
        """The number of rows in all its products together."""
        return math.prod(self.shape[:-1])

    @property
    def row_bytes(self) -> int:
        """The bytes from one row to the next."""
        return self.storage.nbytes(self.shape[-1])

    @property
    def nbytes(self) -> int:
        """The bytes of the whole array."""
        return self.rows * self.row_bytes


@dataclass(frozen=True)
class Problem:
    """`count` products C = alpha op(A) op(B) + beta C, followed by the `epilogue`.

    op(A) is M x K, op(B) is K x N, and C is M x N.

    Operands are packed and row-major, and the operands of each product follow those of the previous one. `layout` says
    first for A and then for B whether it is stored as it is used (`n`) or transposed (`t`). With `tn`, the array A is K
    x M.
    """

    M: Dimension
    N: Dimension
    K: Dimension
    layout: Annotated[str, Meta(pattern="^[nt][nt]$")] = "nn"
    precision_name: str = "f32"
    alpha: Scalar = 1.0
    beta: Scalar = 0.0
    count: Dimension = 1
    epilogue: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[int | float | str, ...]:
        """The fields that identify a problem; a count of 1 and an empty epilogue are not among them."""
        count = () if self.count == 1 else (self.count,)
        return (self.M, self.N, self.K, self.layout, self.precision_name, self.alpha, self.beta, *count, *self.epilogue)

    @cached_property
    def precision(self) -> Precision:
        """The precision in which this problem is computed."""
        return find_precision(self.precision_name)

    @property
    def flops(self) -> int:
        """The number of floating-point operations: 2 M N K for each product, since a multiply-add counts as two."""
        return 2 * self.count * self.M * self.N * self.K

    @property
    def dimensions(self) -> AnyShape:
        """M, N and K, preceded by the number of products if there are several."""
        return add_count(self.count, (self.M, self.N, self.K))

    @property
    def trans_a(self) -> bool:
        """Whether A is stored as K x M."""
        return self.layout[0] == "t"

    @property
    def trans_b(self) -> bool:
        """Whether B is stored as N x K."""
        return self.layout[1] == "t"

    @cached_property
    def types(self) -> dict[str, str]:
        """The C++ types of the elements of A, B and C and of the sums, by the macros that name them."""
        precision = self.precision
        types = {"TA": precision.a.ctype, "TB": precision.b.ctype, "TC": precision.c.ctype}
        return types | {"TACC": precision.accumulator.type.ctype}

    @property
    def sum_unit(self) -> float:
        """The unit roundoff of the sum for an element of C."""
        return self.precision.accumulator.unit(self.K)

    def storage(self, operand: str) -> StorageType:
        """Return how the elements of A, B or C are stored. A workspace holds copies of A and B."""
        return self.precision.storage(operand)

    def shape(self, operand: str) -> tuple[int, int]:
        """Return the number of rows and columns of the stored A, B or C of one product."""
        return {
            "A": (self.K, self.M) if self.trans_a else (self.M, self.K),
            "B": (self.N, self.K) if self.trans_b else (self.K, self.N),
            "C": (self.M, self.N),
        }[operand]

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        """The operands A, B and C, and those of the epilogue.

        If there are several products, each but a scale has an additional leading dimension.
        """
        roles: tuple[tuple[str, Role], ...] = (("A", "factor"), ("B", "factor"), ("C", "result"))
        several = () if self.count == 1 else (self.count,)
        found = [Operand(name, role, self.storage(name), (*several, *self.shape(name))) for name, role in roles]
        for name in self.epilogue:
            part = EPILOGUE_STEPS[name].part if name in EPILOGUE_STEPS else None
            if part == "one":
                found.append(Operand(name, "scale", self.precision.epilogue_type, (1,)))
            elif part:
                shape = (self.N,) if part == "row" else self.shape("C")
                found.append(Operand(name, "addend", self.storage("C"), (*several, *shape)))
        return tuple(found)

    @property
    def has_activation(self) -> bool:
        """A step of the epilogue is not linear."""
        return any(name not in EPILOGUE_STEPS or EPILOGUE_STEPS[name].is_activation for name in self.epilogue)

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """The operands that a launch only reads."""
        return tuple(operand for operand in self.operands if operand.role != "result")

    @property
    def result(self) -> Operand:
        """The operand that a launch writes."""
        return next(operand for operand in self.operands if operand.role == "result")

    def operand(self, name: str) -> Operand:
        """Return the operand with this name."""
        return next(operand for operand in self.operands if operand.name == name)

    @property
    def one(self) -> Problem:
        """The first of the products as a problem."""
        return replace(self, count=1) if self.count > 1 else self

    def stride(self, name: str) -> int:
        """Return how many elements an operand has from one product to the next, or 0 if all products share it."""
        operand = self.operand(name)
        if operand.role == "scale":
            return 0
        return math.prod(operand.shape if self.count == 1 else operand.shape[1:])

    def stride_bytes(self, name: str) -> int:
        """Bytes from one product to the next in an operand; 0 for one that all products share."""
        return self.operand(name).storage.nbytes(self.stride(name))

    def operand_bytes(self, operand: str) -> int:
        """Return the bytes of the stored A, B or C of all products."""
        return self.operand(operand).nbytes

    @property
    def column_major(self) -> Problem:
        """The same problem if its bytes hold column-major matrices: C^T = op(B)^T op(A)^T, so B comes first."""
        return replace(self, M=self.N, N=self.M, layout=self.layout[::-1])

    @property
    def bytes(self) -> int:
        """The bytes of A, B and C together, which are the least a launch must move (C twice if beta is not 0)."""
        once = sum(operand.nbytes for operand in self.operands)
        return once + (self.operand_bytes("C") if self.beta else 0)

    @property
    def size(self) -> str:
        """The size as text: `4096` for a cube, else `1024x768x1024` (M, N, K); `64*4096` for 64 products."""
        return size_text(self.dimensions)

    @property
    def title(self) -> str:
        """A title such as `M = 1024, N = 768, K = 512, nn, f32, alpha 2, beta 0` for the heading of a table."""
        scalars = f", alpha {self.alpha:g}, beta {self.beta:g}" if self.scaled else ""
        several = f"{self.count} products of " if self.count > 1 else ""
        steps = f", then {', '.join(self.epilogue)}" if self.epilogue else ""
        sizes = f"M = {self.M}, N = {self.N}, K = {self.K}"
        return f"{several}{sizes}, {self.layout}, {self.precision_name}{scalars}{steps}"

    @property
    def scaled(self) -> bool:
        """Whether alpha is not 1 or beta is not 0."""
        return (self.alpha, self.beta) != (1, 0)

    def __repr__(self) -> str:
        # Saved keys of batches hash this text, so that of a problem of one product must not change.
        names = ["M", "N", "K", "layout", "precision_name", "alpha", "beta"]
        names += [] if self.count == 1 else ["count"]
        names += ["epilogue"] if self.epilogue else []
        return f"Problem({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def __str__(self) -> str:
        scalars = f" alpha={self.alpha:g} beta={self.beta:g}" if self.scaled else ""
        steps = f" {','.join(self.epilogue)}" if self.epilogue else ""
        return f"{self.size} {self.layout} {self.precision_name}{scalars}{steps}"


def make_problem(
    shape: AnyShape,
    layout: str,
    precision_name: str,
    alpha: float = 1.0,
    beta: float = 0.0,
    epilogue: tuple[str, ...] = (),
) -> Problem:
    """Make the problem with this shape."""
    *several, M, N, K = shape
    return Problem(M, N, K, layout, precision_name, alpha, beta, several[0] if several else 1, epilogue)


@dataclass(frozen=True)
class ProblemGrid(Sequence[Problem]):
    """Every combination of precision, layout and shape, with one alpha, beta and epilogue. Shapes change fastest."""

    precisions: tuple[str, ...]
    layouts: tuple[str, ...]
    shapes: tuple[AnyShape, ...]
    alpha: float = 1.0
    beta: float = 0.0
    epilogue: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.precisions) * len(self.layouts) * len(self.shapes)

    def __iter__(self) -> Iterator[Problem]:
        return itertools.starmap(self._make, itertools.product(self.precisions, self.layouts, self.shapes))

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Problem, ...]: ...
    def __getitem__(self, index: int | slice) -> Problem | tuple[Problem, ...]:
        if isinstance(index, slice):
            return tuple(self[number] for number in range(len(self))[index])
        rest, shape = divmod(range(len(self))[index], len(self.shapes))
        precision, layout = divmod(rest, len(self.layouts))
        return self._make(self.precisions[precision], self.layouts[layout], self.shapes[shape])

    def _make(self, precision: str, layout: str, shape: AnyShape) -> Problem:
        return make_problem(shape, layout, precision, self.alpha, self.beta, self.epilogue)


ROWS = 64
"""Every panel except the last has a multiple of this many rows, so that tiles fit and panels are aligned."""


@dataclass(frozen=True)
class PanelCut:
    """How to cut a job: into at most `panels` panels, which `streams` streams process in turn."""

    panels: int = 8
    streams: int = 3


@dataclass(frozen=True)
class Panel:
    """Rows `first` to `first + rows` of op(A) and of C."""

    first: int
    rows: int

    def make_problem(self, problem: Problem) -> Problem:
        """Return the panel as a problem with the same layout and scalars but fewer rows."""
        return replace(problem, M=self.rows)


def cut_into_panels(problem: Problem, panels: int) -> tuple[Panel, ...]:
    """Cut a problem into `panels` panels, or as many as ROWS allows. All but the last have the same height."""
    height = -(-problem.M // panels)
    height = -(-height // ROWS) * ROWS
    return tuple(Panel(first, min(height, problem.M - first)) for first in range(0, problem.M, height))
