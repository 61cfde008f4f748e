"""Reads the sections of a manifest: named expressions, launches, tensor maps, and the rows of `pick`."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from gemmbench.errors import nearest
from gemmbench.planning.manifests.expressions import FUNCTIONS, Expression, ExpressionError, parse
from gemmbench.planning.manifests.kernel_code import split_template
from gemmbench.planning.manifests.variant import Launch, Part, Pick, TensorMap
from gemmbench.planning.yaml_document import Document, Path

Text = str | int
"""An expression as a manifest writes it."""

_MOST = 100
_NAME = re.compile(r"[a-z][a-z0-9_]*$")


def read_lets(
    document: Document,
    written: Mapping[str, Text],
    names: Sequence[str],
    at: Path = ("let",),
    known: Mapping[str, Expression] | None = None,
) -> dict[str, Expression]:
    """Parse the named expressions at `at` in order. Each may read `names`, the expressions `known`, and those above it.

    Raises SpecError.
    """
    known, key = known or {}, _join_path(at)
    if len(written) > _MOST:
        raise document.error_at(at, f"{key}: {len(written)} names are too many; at most {_MOST}")
    lets: dict[str, Expression] = {}
    for name, text in written.items():
        path = (*at, name)
        check_name(document, path, name, (*names, *known))
        _refuse_later_names(document, path, text, [other for other in written if other not in lets])
        lets[name] = _parse_at(document, path, text, names, {**known, **lets})
    return lets


def check_name(document: Document, path: Path, name: str, taken: Collection[str]) -> None:
    """Raise SpecError for a name that is taken or not in lower case."""
    key = _join_path(path[:-1])
    if name in taken or name in FUNCTIONS or keyword.iskeyword(name):
        raise document.error_at(path, f"{key}: the name '{name}' is taken; choose another")
    if not _NAME.match(name):
        raise document.error_at(path, f"{key}: the name '{name}' must be lower-case letters, digits and _")


def _refuse_later_names(document: Document, path: Path, text: Text, later: Sequence[str]) -> None:
    """Raise SpecError for an expression that reads itself or one below it."""
    for word in re.findall(r"[A-Za-z_]\w*", str(text)):
        if word == path[-1]:
            raise document.error_at(path, f"{_join_path(path)}: refers to itself")
        if word in later:
            raise document.error_at(
                path, f"{_join_path(path)}: refers to '{word}', which is defined below; move '{word}' up"
            )


def _parse_at(
    document: Document, path: Path, text: Text, names: Sequence[str], lets: Mapping[str, Expression]
) -> Expression:
    """Parse the expression at `path`. Raises SpecError at its line."""
    try:
        return parse(text, names, document.line(path), lets)
    except ExpressionError as fault:
        raise document.error_at(path, f"{_join_path(path)}: {fault}") from None


def _join_path(path: Path) -> str:
    """Return the keys of a path as messages show them."""
    return ".".join(step for step in path if isinstance(step, str))


def list_names(expression: Expression) -> set[str]:
    """Return the names of all expressions that an expression reads, directly or through another."""
    found: set[str] = set()
    pending = [expression]
    while pending:
        new = [(name, let) for name, let in pending.pop().lets if name not in found]
        found.update(name for name, _ in new)
        pending += [let for _, let in new]
    return found


OPERANDS = ("A", "B", "C", "workspace")
SWIZZLES = (0, 32, 64, 128)
_MOST_DIMENSIONS = 5
_CPP = re.compile(r"[\w :<>,*&.()+\-/%]+$")


class LaunchFields(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of one launch as they are written.

    Attributes:
        symbol: The name of the kernel, with template arguments if it is a template.
        grid: Blocks in x, y and z, one expression per line.
        block: Threads per block in x, y and z.
        shared: Bytes of dynamic shared memory per block.
        pdl: `true` if the launch may begin before the previous launch has ended.
        cluster: The number of blocks along x in each thread block cluster.
        when: A condition. If it is 0, the launch is left out.
    """

    symbol: str
    grid: list[Text]
    block: list[Text]
    shared: Text = 0
    pdl: bool = False
    cluster: Text = 1
    when: Text | None = None


class TensorMapFields(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of one tensor map as they are written.

    Attributes:
        operand: `A`, `B`, `C` or `workspace`.
        box: Elements that one copy moves, innermost dimension first, at most 256 each. A row of the
            box is a multiple of 16 bytes.
        offset: Bytes from the start of the operand, a multiple of 16.
        shape: Elements of the array, innermost dimension first, 1 to 5 dimensions. The default is the rows and
            columns of the operand as stored.
        pitch: Elements from one row to the next, or a list if there are more than two dimensions. The default
            is a packed array.
        swizzle: 0, 32, 64 or 128 bytes, at least a row of the box.
        when: A condition. If it is 0, the map stays zero and is not checked.
    """

    operand: str
    box: list[Text]
    offset: Text = 0
    shape: list[Text] = []
    pitch: Text | list[Text] = []
    swizzle: Text = 0
    when: Text | None = None


class FlagFields(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of an entry of `flags` that depends on parameters.

    Attributes:
        flag: The option.
        when: A condition on parameters. If it is 0, the option is left out.
    """

    flag: str
    when: Text


class PickFields(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of one row of `pick` as they are written.

    Attributes:
        variant: The name of a `.cu` file.
        when: A condition. The first entry whose condition holds and that can run here is used. The last entry
            may have no condition.
        params: The values of its parameters. The others keep their defaults.
        costs: Numbers, with names in lower case, from which `estimates` computes how long this entry takes. If
            neighbouring entries have costs, the fastest is tried first.
    """

    variant: str
    when: Text | None = None
    params: dict[str, int] = {}
    costs: dict[str, int] = {}


class SectionReader:
    """Reads the sections of one manifest. Every error names its line.

    Expressions may read `names` and the named expressions `lets`.
    """

    def __init__(self, document: Document, names: Sequence[str], lets: Mapping[str, Expression] | None = None):
        self.document, self.names, self.lets = document, names, lets or {}
        self._read: set[str] = set()
        self._estimates: dict[tuple[str, ...], Expression] = {}

    def read_expression(self, path: Path, text: Text) -> Expression:
        """Parse the expression at `path`."""
        expression = _parse_at(self.document, path, text, self.names, self.lets)
        self._read |= list_names(expression)
        return expression

    def read_part(self, path: Path, text: str) -> Part:
        """Read an expression if all its names are known here. Otherwise it is C++ text, such as a type."""
        try:
            parse(text, self.names, 0, self.lets)
        except ExpressionError:
            if not _CPP.match(text):
                key = ".".join(step for step in path if isinstance(step, str))
                raise self.document.error_at(path, f"{key}: '{text}' is neither an expression nor a type") from None
            return text.strip()
        return self.read_expression(path, text)

    def refuse_unused_lets(self) -> None:
        """Raise SpecError for the first named expression that is never read."""
        for name in self.lets:
            if name not in self._read:
                raise self.document.error_at(("let", name), f"let.{name}: not used anywhere; remove it")

    def read_expressions(self, path: Path, texts: Sequence[Text]) -> tuple[Expression, ...]:
        """Parse the list of expressions at `path`."""
        return tuple(self.read_expression((*path, index), text) for index, text in enumerate(texts))

    def read_optional(self, path: Path, text: Text | None) -> Expression | None:
        """Parse the expression at `path`, which may be missing."""
        return None if text is None else self.read_expression(path, text)

    def read_launch(self, path: Path, written: LaunchFields) -> Launch:
        """Read the launch whose keys are at `path`."""
        for key in ("grid", "block"):
            count = len(getattr(written, key))
            if not 1 <= count <= 3:
                message = f"{key}: {count} expressions; give 1 to 3, such as `- cdiv(N, BN)`"
                raise self.document.error_at((*path, key), message)
        symbol, template = split_template(written.symbol)
        return Launch(
            symbol=symbol,
            template=tuple(self.read_part((*path, "symbol"), part) for part in template),
            grid=self.read_expressions((*path, "grid"), written.grid),
            block=self.read_expressions((*path, "block"), written.block),
            shared=self.read_expression((*path, "shared"), written.shared),
            pdl=written.pdl,
            cluster=self.read_expression((*path, "cluster"), written.cluster),
            when=self.read_optional((*path, "when"), written.when),
            line=self.document.line((*path, "symbol")),
        )

    def read_tensor_map(self, index: int, written: TensorMapFields, has_workspace: bool) -> TensorMap:
        """Read tensor map number `index`. `has_workspace` says whether the manifest declares a workspace."""
        path: Path = ("tensor_maps", index)
        self._check_operand((*path, "operand"), written, has_workspace)
        pitch = written.pitch if isinstance(written.pitch, list) else [written.pitch]
        self._check_dimensions(path, written, len(pitch))
        if type(written.swizzle) is int and written.swizzle not in SWIZZLES:
            message = f"swizzle: {written.swizzle} bytes; known: {', '.join(map(str, SWIZZLES))}"
            raise self.document.error_at((*path, "swizzle"), message)
        return TensorMap(
            operand=written.operand,
            box=self.read_expressions((*path, "box"), written.box),
            offset=self.read_expression((*path, "offset"), written.offset),
            shape=self.read_expressions((*path, "shape"), written.shape),
            pitch=self.read_expressions((*path, "pitch"), pitch),
            swizzle=self.read_expression((*path, "swizzle"), written.swizzle),
            when=self.read_optional((*path, "when"), written.when),
            line=self.document.line(path),
        )

    def _check_operand(self, path: Path, written: TensorMapFields, has_workspace: bool) -> None:
        name = written.operand
        if name not in OPERANDS:
            message = f"operand: unknown '{name}'{nearest(name, OPERANDS)}; known: {', '.join(OPERANDS)}"
            raise self.document.error_at(path, message)
        if name == "workspace" and not has_workspace:
            raise self.document.error_at(path, "operand: there is no workspace to map; declare `workspace: <bytes>`")
        if name == "workspace" and not written.shape:
            raise self.document.error_at(path, "operand: a workspace has no default shape; give `shape`")

    def _check_dimensions(self, path: Path, written: TensorMapFields, pitches: int) -> None:
        rank = len(written.shape) if written.shape else 2
        if rank > _MOST_DIMENSIONS:
            message = f"shape: {rank} dimensions, but a tensor map has 1 to {_MOST_DIMENSIONS}"
            raise self.document.error_at((*path, "shape"), message)
        if len(written.box) != rank:
            message = f"box: {len(written.box)} sizes for {rank} dimensions; give one for each, innermost first"
            raise self.document.error_at((*path, "box"), message)
        if pitches not in (0, rank - 1):
            message = f"pitch: {pitches} for {rank} dimensions; give one for each but the innermost"
            raise self.document.error_at((*path, "pitch"), message)

    def read_picks(self, rows: Sequence[PickFields], estimates: Mapping[str, Mapping[str, Text]]) -> tuple[Pick, ...]:
        """Read the rows of `pick` in order. `estimates` has the named expressions of each variant."""
        for index, row in enumerate(rows[:-1]):
            if row.when is None and not row.costs:
                message = "pick: this row has no `when`, so the rows below it are never reached; move it to the end"
                raise self.document.error_at(("pick", index), message)
        estimated = {row.variant for row in rows if row.costs}
        for name, written in estimates.items():
            if name not in estimated or not written:
                message = f"estimates.{name}: it is empty, or no row of `pick` with `costs` uses it; remove it"
                raise self.document.error_at(("estimates", name), message)
        return tuple(self._read_pick(("pick", index), row, estimates) for index, row in enumerate(rows))

    def _read_pick(self, path: Path, row: PickFields, estimates: Mapping[str, Mapping[str, Text]]) -> Pick:
        when = self.read_optional((*path, "when"), row.when)
        estimate = self._read_estimate(path, row, estimates) if row.costs else None
        line = self.document.line((*path, "variant"))
        return Pick(row.variant, tuple(row.params.items()), when, tuple(row.costs.items()), estimate, line)

    def _read_estimate(self, path: Path, row: PickFields, estimates: Mapping[str, Mapping[str, Text]]) -> Expression:
        """Return the last of the named expressions for the variant of a row."""
        if row.variant not in estimates:
            message = f"costs: `estimates` has no expressions for {row.variant}; add them, or remove `costs`"
            raise self.document.error_at((*path, "costs"), message)
        written, at = estimates[row.variant], ("estimates", row.variant)
        for name in row.costs:
            check_name(self.document, (*path, "costs", name), name, (*self.names, *self.lets, *written))
        names = dict.fromkeys((*self.names, *row.params, *row.costs))
        known = (row.variant, *names)
        if known not in self._estimates:
            self._estimates[known] = self._parse_estimate(written, at, tuple(names))
        return self._estimates[known]

    def _parse_estimate(self, written: Mapping[str, Text], at: Path, names: Sequence[str]) -> Expression:
        """Return the last of the expressions at `at`, which may read `names`."""
        lets = read_lets(self.document, written, names, at, self.lets)
        estimate = lets[list(written)[-1]]
        read = list_names(estimate) | {list(written)[-1]}
        for name in written:
            if name not in read:
                message = f"{_join_path(at)}.{name}: not used anywhere; remove it"
                raise self.document.error_at((*at, name), message)
        self._read |= read
        return estimate
