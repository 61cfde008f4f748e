"""Problems: lists of 2-D products over named operands, grids of them for a sweep, and panels of a problem."""

from __future__ import annotations

import bisect
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal, overload

from msgspec import Meta

from gemmbench.errors import UsageError
from gemmbench.planning.epilogues import EPILOGUE_STEPS
from gemmbench.planning.precisions import FLOAT32, INT32, Precision, StorageType, find_precision
from gemmbench.planning.sizes import AnyShape, Count, Dimension, Groups, Many, Scalar, check_digits, make_shape

LAYOUTS = ("nn", "nt", "tn", "tt")

Role = Literal["factor", "initial", "result", "addend", "scale", "index"]
"""The purpose of an operand: a factor is multiplied, and the result is C, which beta multiplies and a launch writes. If
the result is D, beta multiplies the initial C. An epilogue adds an addend and multiplies by a scale, and so may the
scales of SCALED. An index holds the rows at which products begin."""
SCALED = {"scale_a": "A", "scale_b": "B"}
"""The operands that hold the scales of a precision, and the factor that each multiplies."""
OFFSETS = "offsets"
"""The name of the index of groups: the first row of each group, and last the number of rows."""


@dataclass(frozen=True)
class Operand:
    """An array of a problem. `shape` is the stored shape, outermost first.

    `padding` elements that do not belong to it follow each row.
    """

    name: str
    role: Role
    storage: StorageType
    shape: tuple[int, ...]
    padding: int = 0

    @property
    def rows(self) -> int:
        """The number of rows in all its products together."""
        return math.prod(self.shape[:-1])

    @property
    def row_bytes(self) -> int:
        """The bytes from one row to the next."""
        return self.storage.nbytes(self.shape[-1] + self.padding)

    @property
    def nbytes(self) -> int:
        """The bytes of the whole array, with its padding."""
        return self.rows * self.row_bytes

    @property
    def used_bytes(self) -> int:
        """The bytes of its elements."""
        return self.rows * self.storage.nbytes(self.shape[-1])


OPERANDS_WITH_ROWS = ("A", "B", "C", "D")
_PADDED = re.compile(r"([A-Z])\s*([+-])\s*(\d+)")


def parse_padding(written: str | Sequence[str]) -> tuple[str, ...]:
    """Read `A+8,B+8`, or a list of such texts: elements that follow each stored row. Raises UsageError."""
    parts = written.split(",") if isinstance(written, str) else written
    found: dict[str, int] = {}
    for part in (each.strip() for each in parts if each.strip()):
        if not (match := _PADDED.fullmatch(part.upper())):
            raise UsageError(f"ld: cannot read '{part}'; write how many elements follow each row, such as A+8")
        name, digits = match[1], match[3]
        if name not in OPERANDS_WITH_ROWS:
            known = ", ".join(OPERANDS_WITH_ROWS)
            raise UsageError(f"ld: unknown operand '{name}' in '{part}'; known: {known}")
        if name in found:
            raise UsageError(f"ld: {name} occurs twice; give it once")
        check_digits("ld", digits)
        if match[2] == "-":
            raise UsageError(f"ld: {part} is less than a row of {name}; rows would overlap, so write {name}+{digits}")
        if (more := int(digits)) > _MOST_PADDING:
            raise UsageError(f"ld: {more} elements are added to a row of {name}; at most {_MOST_PADDING}")
        found[name] = more
    return tuple(f"{name}+{found[name]}" for name in OPERANDS_WITH_ROWS if found.get(name))


_MOST_PADDING = 1 << 16


def check_rows_of_result(ld: tuple[str, ...], separate_c: bool) -> tuple[str, ...]:
    """Return `ld`. Raises UsageError for rows of a D that is not asked for."""
    if not separate_c and any(each.startswith("D") for each in ld):
        raise UsageError("ld: D is an operand only if the result lies apart from C; add --separate-c, or pad C")
    return ld


FORM = "epilogue", "ld", "separate_c"
"""The fields of a problem that do not depend on its shape, layout, precision and scalars."""


def read_form(holder: object) -> dict[str, Any]:
    """Return these fields of a problem, or of another object that has them."""
    return {name: getattr(holder, name) for name in FORM}


@dataclass(frozen=True)
class Slice:
    """One of the products of a problem, M x N x K, and the stored row of each operand at which it begins."""

    M: int
    N: int
    K: int
    rows: Mapping[str, int]


@dataclass(frozen=True)
class Problem:
    """`count` products C = alpha op(A) op(B) + beta C, followed by the `epilogue`.

    op(A) is M x K, op(B) is K x N, and C is M x N.

    Operands are row-major, and the operands of each product follow those of the previous one. `layout` says first for A
    and then for B whether it is stored as it is used (`n`) or transposed (`t`). With `tn`, the array A is K x M. Rows
    are packed, except that `ld` says how many elements follow each row of some operands, such as ("A+8",). With
    `separate_c`, the result is written to D, and C is only read.

    With `groups`, which holds the rows of each, the rows of A and C belong to groups, one after another, and each group
    is multiplied with its own B. M is the number of all rows, and `count` is 1.
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
    ld: tuple[str, ...] = ()
    separate_c: bool = False
    groups: tuple[Count, ...] = ()

    @property
    def key(self) -> tuple[int | float | str, ...]:
        """The fields that identify a problem, without those that have their default."""
        count = () if self.count == 1 else (self.count,)
        scalars = self.alpha, self.beta
        more = (
            *count,
            *([self.groups] if self.groups else []),
            *self.epilogue,
            *self.ld,
            *(("separate_c",) if self.separate_c else ()),
        )
        return (self.M, self.N, self.K, self.layout, self.precision_name, *scalars, *more)

    @cached_property
    def precision(self) -> Precision:
        """The precision in which this problem is computed."""
        return find_precision(self.precision_name)

    @property
    def flops(self) -> int:
        """The number of floating-point operations: 2 M N K for each product, since a multiply-add counts as two."""
        return 2 * self.rows * self.N * self.K

    @property
    def shape(self) -> AnyShape:
        """The shape. The fields hold its numbers, because saved results do."""
        if self.groups:
            return Groups(self.groups, self.N, self.K)
        return make_shape(self.count, (self.M, self.N, self.K))

    @cached_property
    def slices(self) -> tuple[Slice, ...]:
        """The products in order."""
        if self.groups:
            return tuple(self._list_groups())
        rows = {each.name: 0 if each.role == "scale" else each.rows // self.count for each in self.operands}
        return tuple(
            Slice(self.M, self.N, self.K, {name: number * each for name, each in rows.items()})
            for number in range(self.count)
        )

    def _list_groups(self) -> Iterator[Slice]:
        """Yield the products of groups, whose rows follow each other."""
        shared = {each.name: 0 for each in self.operands if each.role in ("scale", "index")}
        own = {each.name: each.rows // len(self.groups) for each in self.operands if self._is_per_group(each)}
        first = 0
        for number, rows in enumerate(self.groups):
            begins = {name: number * each for name, each in own.items()}
            stacked = {each.name: first for each in self.operands}
            yield Slice(rows, self.N, self.K, {**stacked, **shared, **begins})
            first += rows

    def _is_per_group(self, operand: Operand) -> bool:
        """Whether groups have as many rows of an operand each: those of B, and one of a bias."""
        step = EPILOGUE_STEPS.get(operand.name)
        return operand.name == "B" or (step is not None and step.part == "row")

    def take(self, number: int) -> Problem:
        """Return one of the products as a problem."""
        return replace(self, M=self.slices[number].M, groups=()) if self.groups else self.one

    def list_moves(self, one: Slice) -> dict[str, int]:
        """Return the bytes from the start of each operand to the start of a product in it."""
        return {operand.name: one.rows[operand.name] * operand.row_bytes for operand in self.operands}

    @property
    def product_name(self) -> str:
        """What one of several products is called: `group` or `product`."""
        return "group" if self.groups else "product"

    def locate_row(self, operand: str, row: int) -> str:
        """Name a stored row of A, B, C or D: `row 3`, or `row 3 of group 5`, or of a batch, `row 3 of product 5`.

        A row after the end is counted as one of the last product that has rows.
        """
        if len(self.slices) == 1:
            return f"row {row:,}"
        filled = [number for number, one in enumerate(self.slices) if one.M or operand == "B"]
        at = bisect.bisect_right(filled, row, key=lambda number: self.slices[number].rows[operand]) - 1
        number = filled[at]
        return f"row {row - self.slices[number].rows[operand]:,} of {self.product_name} {number}"

    @property
    def offsets(self) -> list[int]:
        """The first row of each group, and last the number of all rows."""
        return list(itertools.accumulate(self.groups, initial=0))

    @property
    def rows(self) -> int:
        """The rows of C of all products together."""
        return self.count * self.M

    @property
    def trans_a(self) -> bool:
        """Whether A is stored as K x M."""
        return self.layout[0] == "t"

    @property
    def trans_b(self) -> bool:
        """Whether B is stored as N x K."""
        return self.layout[1] == "t"

    @cached_property
    def straight(self) -> Problem:
        """The same memory, with an A of one row and a B of one column as rows along K, whatever their layouts."""
        padded = self.padding
        a = "n" if self.M == 1 and "A" not in padded else self.layout[0]
        b = "t" if self.N == 1 and "B" not in padded else self.layout[1]
        return self if self.groups else replace(self, layout=a + b)

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
        """Return how the elements of A, B, C or D are stored. A workspace holds copies of A and B."""
        return self.precision.storage("C" if operand == "D" else operand)

    def stored_shape(self, operand: str) -> tuple[int, int]:
        """Return the number of rows and columns of the stored A, B, C or D of one product."""
        return {
            "A": (self.K, self.M) if self.trans_a else (self.M, self.K),
            "B": (self.N, self.K) if self.trans_b else (self.K, self.N),
        }.get(operand, (self.M, self.N))

    @cached_property
    def padding(self) -> dict[str, int]:
        """The elements that follow each row, by operand; only those with some."""
        return {name: int(more) for name, _, more in (each.partition("+") for each in self.ld)}

    def leading(self, operand: str) -> int:
        """Return the leading dimension of A, B, C or D: the elements from one stored row to the next."""
        return self.stored_shape(operand)[1] + self.padding.get(operand, 0)

    def list_leading(self, column_major: bool) -> dict[str, int]:
        """Return the leading dimensions of A, B, C and the result D, as a kernel with such matrices calls them."""
        contiguous = 0 if column_major else 1
        operands = {"A": "A", "B": "B", "C": "C", "D": self.result.name}
        shapes = {name: (self.stored_shape(each), each) for name, each in operands.items()}
        return {name: shape[contiguous] + self.padding.get(each, 0) for name, (shape, each) in shapes.items()}

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        """The operands A, B and C, and those of the epilogue.

        If there are several products, each but a scale has an additional leading dimension.
        """
        roles: list[tuple[str, Role]] = [("A", "factor"), ("B", "factor"), ("C", "result")]
        if self.separate_c:
            roles[2:] = [("C", "initial"), ("D", "result")]
        several = () if self.count == 1 else (self.count,)
        groups = (len(self.groups),) if self.groups else several
        found = [
            Operand(
                name,
                role,
                self.storage(name),
                (*(groups if name == "B" else several), *self.stored_shape(name)),
                self.padding.get(name, 0),
            )
            for name, role in roles
        ]
        for name in self.epilogue:
            part = EPILOGUE_STEPS[name].part if name in EPILOGUE_STEPS else None
            if part == "one":
                found.append(Operand(name, "scale", self.precision.epilogue_type, (1,)))
            elif part:
                shape = (*groups, self.N) if part == "row" else (*several, *self.stored_shape("C"))
                found.append(Operand(name, "addend", self.storage("C"), shape))
        found += self._list_scales()
        if self.groups:
            found.append(Operand(OFFSETS, "index", INT32, (len(self.groups) + 1,)))
        return tuple(found)

    def _list_scales(self) -> list[Operand]:
        """The scales of a precision, if it has some, as `Scales` says that they are stored."""
        if (scales := self.precision.scales) is None:
            return []
        steps = -(-self.K // (scales.depth or self.K))
        of_a, of_b = -(-self.M // (scales.rows or self.M)), -(-self.N // (scales.columns or self.N))
        scale_a = Operand("scale_a", "scale", FLOAT32, (steps, of_a))
        if scales.columns <= 1:
            return [scale_a, Operand("scale_b", "scale", FLOAT32, (steps, of_b))]
        return [scale_a, Operand("scale_b", "scale", FLOAT32, (of_b, steps), -steps % _SCALES_OF_16_BYTES)]

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
        """The first of the products as a problem; of groups, the first that has rows."""
        if self.groups:
            return self.take(next(number for number, rows in enumerate(self.groups) if rows))
        return replace(self, count=1) if self.count > 1 else self

    def stride(self, name: str) -> int:
        """Return how many elements an operand of a batch has from one product to the next; 0 if all share it."""
        operand = self.operand(name)
        return 0 if operand.role == "scale" else operand.rows // self.count * (operand.shape[-1] + operand.padding)

    def stride_bytes(self, name: str) -> int:
        """Bytes from one product of a batch to the next in an operand; 0 for one that all products share."""
        return self.operand(name).storage.nbytes(self.stride(name))

    def operand_bytes(self, operand: str) -> int:
        """Return the bytes of the stored A, B or C of all products."""
        return self.operand(operand).nbytes

    @property
    def column_major(self) -> Problem:
        """The same problem if its bytes hold column-major matrices: C^T = op(B)^T op(A)^T, so B comes first."""
        ld = tuple(each.translate(_EXCHANGED) for each in self.ld)
        return replace(self, M=self.N, N=self.M, layout=self.layout[::-1], ld=ld)

    @property
    def bytes(self) -> int:
        """The least bytes that a launch must move: the elements of all operands, and those of C again as beta says."""
        once = sum(operand.used_bytes for operand in self.operands if operand.role != "initial")
        return once + (self.operand("C").used_bytes if self.beta else 0)

    @property
    def size(self) -> str:
        """The size as text to show: `4096` for a cube, else `1024x768x1024` (M, N, K); `64*4096` for 64 products.

        Other than `shape.size`, it does not list the rows of many groups.
        """
        shape = self.shape
        return shape.label if isinstance(shape, Groups) else shape.size

    @property
    def title(self) -> str:
        """A title such as `M = 1024, N = 768, K = 512, nn, f32, alpha 2, beta 0` for the heading of a table."""
        scalars = f", alpha {self.alpha:g}, beta {self.beta:g}" if self.scaled else ""
        several = f"{self.count} products of " if self.count > 1 else ""
        groups = f" ({shape.listing})" if isinstance(shape := self.shape, Groups) else ""
        sizes = f"M = {self.M}{groups}, N = {self.N}, K = {self.K}"
        return f"{several}{sizes}, {self.layout}, {self.precision_name}{scalars}{self.form_words}"

    @property
    def form(self) -> dict[str, Any]:
        """The fields in FORM."""
        return read_form(self)

    @property
    def storage_words(self) -> list[str]:
        """What is unusual about its storage: `rows of A+8, B+8`, `result in D`."""
        return [f"rows of {', '.join(self.ld)}"] * bool(self.ld) + ["result in D"] * self.separate_c

    @property
    def form_words(self) -> str:
        """What follows the product, and what is unusual about its storage: `, then bias, relu, rows of A+8`, or ""."""
        steps = [f"then {', '.join(self.epilogue)}"] * bool(self.epilogue)
        return "".join(f", {each}" for each in (*steps, *self.storage_words))

    @property
    def scaled(self) -> bool:
        """Whether alpha is not 1 or beta is not 0."""
        return (self.alpha, self.beta) != (1, 0)

    def __repr__(self) -> str:
        # Saved keys of batches hash this text, so that of a problem of one product must not change.
        names = ["M", "N", "K", "layout", "precision_name", "alpha", "beta"]
        names += [] if self.count == 1 else ["count"]
        names += ["groups"] * bool(self.groups)
        names += [name for name, value in self.form.items() if value]
        return f"Problem({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def __str__(self) -> str:
        scalars = f" alpha={self.alpha:g} beta={self.beta:g}" if self.scaled else ""
        steps = "".join(f" {','.join(each)}" for each in (self.epilogue, self.ld) if each)
        return f"{self.size} {self.layout} {self.precision_name}{scalars}{steps}{' D' * self.separate_c}"


_SCALES_OF_16_BYTES = 4
_EXCHANGED = str.maketrans("AB", "BA")


def make_problem(
    shape: AnyShape,
    layout: str,
    precision_name: str,
    alpha: float = 1.0,
    beta: float = 0.0,
    **form: Any,
) -> Problem:
    """Make the problem with this shape and `form`.

    Raises UsageError for rows of a D that is not asked for, for groups whose rows of A are not contiguous, and for
    scales of several products.
    """
    count = shape.count if isinstance(shape, Many) else 1
    groups = shape.rows if isinstance(shape, Groups) else ()
    made = Problem(shape.M, shape.N, shape.K, layout, precision_name, alpha, beta, count, groups=groups, **form)
    check_rows_of_result(made.ld, made.separate_c)
    if groups and made.trans_a:
        raise UsageError(
            f"layout {layout} stores A by columns, but each group has whole rows of A; choose --layout nn or nt"
        )
    if made.precision.scales and (groups or count > 1):
        several = "groups" if groups else "a batch"
        raise UsageError(
            f"{precision_name} has scales of one product, but {shape.size} is {several}; give a size MxNxK"
        )
    return made


@dataclass(frozen=True)
class ProblemGrid(Sequence[Problem]):
    """Every combination of precision, layout and shape. The rest is the same for all. Shapes change fastest.

    With `in_turn`, the shapes have the layouts in turn instead: the first one the first layout, and so on. `form` holds
    the fields in FORM that differ from their defaults.
    """

    precisions: tuple[str, ...]
    layouts: tuple[str, ...]
    shapes: tuple[AnyShape, ...]
    alpha: float = 1.0
    beta: float = 0.0
    form: Mapping[str, Any] = field(default_factory=dict)
    in_turn: bool = False

    def __len__(self) -> int:
        return len(self.precisions) * (1 if self.in_turn else len(self.layouts)) * len(self.shapes)

    def __iter__(self) -> Iterator[Problem]:
        return map(self.__getitem__, range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Problem, ...]: ...
    def __getitem__(self, index: int | slice) -> Problem | tuple[Problem, ...]:
        if isinstance(index, slice):
            return tuple(self[number] for number in range(len(self))[index])
        rest, shape = divmod(range(len(self))[index], len(self.shapes))
        precision, layout = (rest, shape % len(self.layouts)) if self.in_turn else divmod(rest, len(self.layouts))
        return self._make(self.precisions[precision], self.layouts[layout], self.shapes[shape])

    def _make(self, precision: str, layout: str, shape: AnyShape) -> Problem:
        return make_problem(shape, layout, precision, self.alpha, self.beta, **self.form)


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
