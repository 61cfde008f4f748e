"""Reads the sections of a manifest: named expressions, launches, tensor maps, and the rows of `pick`."""

from __future__ import annotations

import itertools
import keyword
import math
import re
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from gemmbench.errors import nearest
from gemmbench.planning.manifests.expressions import (
    CARD_NAMES,
    DEVICE_NAMES,
    FUNCTIONS,
    Expression,
    ExpressionError,
    parse,
)
from gemmbench.planning.manifests.kernel_code import split_template
from gemmbench.planning.manifests.variant import Launch, Part, Pick, TensorMap
from gemmbench.planning.yaml_document import Document, Path

Text = str | int
"""An expression as a manifest writes it."""

_MOST = 100
_MOST_CANDIDATES = 500
_NAME = re.compile(r"[a-z][a-z0-9_]*$")
_REGION = re.compile(r"[A-Za-z0-9_-]+$")
_WORD = re.compile(r"[A-Za-z_]\w*")

CONSTANT_NAMES = ("BYTES", "BYTES_C", "PROMOTED_EVERY", *DEVICE_NAMES, *CARD_NAMES)
"""What the default of a constant may read besides parameters: the precision and the card, but not the problem."""
_Model = tuple[tuple[tuple[str, Expression], ...], Expression]


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
    for word in _WORD.findall(str(text)):
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
        candidates: Instead of `variant`, several of them, such as `NAME: {BM: [64, 128]}`, or `NAME` for its
            defaults. Every combination of the values is a candidate. Of the candidates of this entry and of
            neighbouring ones whose conditions hold, the one with the lowest estimate is tried first.
        region: A name for the part of the problems that this entry serves, if the constants of its candidates
            are fitted there apart from other entries.
    """

    variant: str = ""
    when: Text | None = None
    params: dict[str, int] = {}
    candidates: list[str | dict[str, Any]] = []
    region: str = ""


class SectionReader:
    """Reads the sections of one manifest. Every error names its line.

    Expressions may read `names` and the named expressions `lets`.
    """

    def __init__(self, document: Document, names: Sequence[str], lets: Mapping[str, Expression] | None = None):
        self.document, self.names, self.lets = document, names, lets or {}
        self._read: set[str] = set()

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

    def read_picks(
        self,
        rows: Sequence[PickFields],
        estimates: Mapping[str, Mapping[str, Text]],
        costs: Mapping[str, Mapping[str, Text]],
        shared: Sequence[str],
    ) -> tuple[Pick, ...]:
        """Read the rows of `pick` in order.

        `estimates` has the named expressions of each variant, and `costs` its constants with their defaults. All
        candidates of those in `shared` have the same ones.
        """
        for index, row in enumerate(rows[:-1]):
            if row.when is None and not row.candidates:
                message = "pick: this row has no `when`, so the rows below it are never reached; move it to the end"
                raise self.document.error_at(("pick", index), message)
        models = {name: self._read_model(name, estimates[name], costs.get(name, {})) for name in estimates}
        for name in costs:
            if name not in estimates:
                message = f"costs.{name}: `estimates` has no expressions for {name} that could read them; remove it"
                raise self.document.error_at(("costs", name), message)
        for place, name in enumerate(shared):
            if name not in costs:
                message = f"shared_costs: `costs` has no constants of {name}{nearest(name, costs)}; remove it"
                raise self.document.error_at(("shared_costs", place), message)
        picks = [
            replace(pick, shares_costs=pick.estimate is not None and pick.variant in shared)
            for index, row in enumerate(rows)
            for pick in self._read_row(index, row, models)
        ]
        estimated = {pick.variant for pick in picks if pick.estimate}
        for name in estimates:
            if name not in estimated:
                message = f"estimates.{name}: no candidate in `pick` uses it; remove it"
                raise self.document.error_at(("estimates", name), message)
        return tuple(picks)

    def _read_row(self, index: int, row: PickFields, models: Mapping[str, _Model]) -> Iterator[Pick]:
        """Yield the choices of a row: its variant, or every candidate."""
        path: Path = ("pick", index)
        when = self.read_optional((*path, "when"), row.when)
        if bool(row.variant) == bool(row.candidates):
            raise self.document.error_at(path, "pick: write either `variant` or a list of `candidates`")
        if row.variant:
            if row.region:
                raise self.document.error_at((*path, "region"), "region: only `candidates` have constants; remove it")
            line = self.document.line((*path, "variant"))
            yield Pick(row.variant, tuple(row.params.items()), when, row=index, line=line)
            return
        if row.params:
            raise self.document.error_at((*path, "params"), "params: write them at each of the `candidates`")
        if row.region and not _REGION.match(row.region):
            raise self.document.error_at((*path, "region"), f"region: '{row.region}' must be letters, digits, _ and -")
        for place, written in enumerate(row.candidates):
            at = (*path, "candidates", place)
            for name, params in self._list_candidates(at, written):
                if name not in models:
                    message = f"candidates: `estimates` has no expressions for {name}; add them, or write it as a row"
                    raise self.document.error_at(at, f"{message} with `variant`")
                yield Pick(name, params, when, *models[name], row.region, index, self.document.line(at))

    def _list_candidates(
        self, at: Path, written: str | Mapping[str, Any]
    ) -> Iterator[tuple[str, tuple[tuple[str, int], ...]]]:
        """Yield the candidates that one entry of `candidates` lists: a variant, and the values of parameters."""
        if isinstance(written, str):
            written = {written: {}}
        for name, params in written.items():
            if not isinstance(params, dict):
                raise self.document.error_at(at, f"candidates: write the values as `{name}: {{BM: [64, 128]}}`")
            axes = []
            for param, values in params.items():
                listed = values if isinstance(values, list) else [values]
                if not listed or any(type(value) is not int for value in listed) or len(set(listed)) < len(listed):
                    message = f"candidates: {name}.{param}: {reprlib.repr(values)} should be different integers"
                    raise self.document.error_at(at, f"{message}, such as [64, 128]")
                axes.append([(param, value) for value in listed])
            if (count := math.prod(map(len, axes))) > _MOST_CANDIDATES:
                message = f"candidates: {count:,} combinations are too many; at most {_MOST_CANDIDATES}"
                raise self.document.error_at(at, message)
            yield from ((name, chosen) for chosen in itertools.product(*axes))

    def _read_model(self, name: str, written: Mapping[str, Text], costs: Mapping[str, Text]) -> _Model:
        """Return the constants of a variant's model with their defaults, and the expression of its time.

        Its parameters are not known here. The catalog checks them.
        """
        at: Path = ("estimates", name)
        if not written:
            raise self.document.error_at(at, f"estimates.{name}: empty; its last expression is the time")
        defaults: dict[str, Expression] = {}
        for cost, text in costs.items():
            path: Path = ("costs", name, cost)
            check_name(self.document, path, cost, (*self.names, *self.lets, *written))
            defaults[cost] = self._parse_with_parameters(path, text, CONSTANT_NAMES, {})
        names = (*self.names, *CARD_NAMES, *costs)
        lets: dict[str, Expression] = {}
        for key, text in written.items():
            path = (*at, key)
            check_name(self.document, path, key, (*names, *self.lets))
            _refuse_later_names(self.document, path, text, [other for other in written if other not in lets])
            lets[key] = self._parse_with_parameters(path, text, names, {**self.lets, **lets})
        last = list(written)[-1]
        read = list_names(lets[last]) | {last}
        for key in written:
            if key not in read:
                raise self.document.error_at((*at, key), f"{_join_path(at)}.{key}: not used anywhere; remove it")
        for cost in costs:
            if cost not in lets[last].names:
                message = f"costs.{name}.{cost}: `estimates` does not read it; remove it"
                raise self.document.error_at(("costs", name, cost), message)
        self._read |= read
        return tuple(defaults.items()), lets[last]

    def _parse_with_parameters(
        self, path: Path, text: Text, names: Sequence[str], lets: Mapping[str, Expression]
    ) -> Expression:
        """Parse an expression that may also read parameters, whose names are in upper case."""
        parameters = [word for word in _WORD.findall(str(text)) if word == word.upper() and word not in self.names]
        return _parse_at(self.document, path, text, (*names, *parameters), lets)
