"""The parts of a manifest that have keys of their own: launches, tensor maps, the rows of `pick`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gemmbench.errors import nearest
from gemmbench.planning.manifests.expressions import Expression
from gemmbench.planning.manifests.named_expressions import Text, names_of_lets, parse_at
from gemmbench.planning.manifests.variant import Launch, Pick, TensorMap
from gemmbench.planning.yaml_document import Document, Path

OPERANDS = ("A", "B", "C", "workspace")
SWIZZLES = (0, 32, 64, 128)
_MOST_DIMENSIONS = 5


class LaunchFields(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of one launch, as they are written."""

    symbol: str
    grid: list[Text]
    block: list[Text]
    shared: Text = 0
    when: Text | None = None


class TensorMapFields(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of one tensor map."""

    operand: str
    box: list[Text]
    offset: Text = 0
    shape: list[Text] = []
    pitch: Text | list[Text] = []
    swizzle: Text = 0
    when: Text | None = None


class PickFields(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of one row of `pick`."""

    variant: str
    when: Text | None = None
    params: dict[str, int] = {}


class Fields:
    """Reads these parts of one document; every fault names its line.

    Expressions may read `names` and the named expressions `lets`.
    """

    def __init__(self, document: Document, names: Sequence[str], lets: Mapping[str, Expression] | None = None):
        self.document, self.names, self.lets = document, names, lets or {}
        self._read: set[str] = set()

    def expression(self, path: Path, text: Text) -> Expression:
        """Parse the expression at `path`."""
        found = parse_at(self.document, path, text, self.names, self.lets)
        self._read |= names_of_lets(found)
        return found

    def refuse_unused_lets(self) -> None:
        """Raise SpecError for the first named expression that nothing reads."""
        for name in self.lets:
            if name not in self._read:
                raise self.document.error_at(("let", name), f"let.{name}: nothing reads it; remove it")

    def expressions(self, path: Path, texts: Sequence[Text]) -> tuple[Expression, ...]:
        """Parse a list of them."""
        return tuple(self.expression((*path, index), text) for index, text in enumerate(texts))

    def condition(self, path: Path, text: Text | None) -> Expression | None:
        """Parse one that may be left out."""
        return None if text is None else self.expression(path, text)

    def launch(self, path: Path, given: LaunchFields) -> Launch:
        """A launch; its keys stand below `path`."""
        for key in ("grid", "block"):
            count = len(getattr(given, key))
            if not 1 <= count <= 3:
                message = f"{key}: {count} expressions; give 1 to 3, such as `- cdiv(N, BN)`"
                raise self.document.error_at((*path, key), message)
        return Launch(
            symbol=given.symbol,
            grid=self.expressions((*path, "grid"), given.grid),
            block=self.expressions((*path, "block"), given.block),
            shared=self.expression((*path, "shared"), given.shared),
            when=self.condition((*path, "when"), given.when),
        )

    def tensor_map(self, index: int, given: TensorMapFields, workspace: bool) -> TensorMap:
        """Number `index` of the tensor maps; `workspace` says that there is one to map."""
        path: Path = ("tensor_maps", index)
        self._check_operand((*path, "operand"), given, workspace)
        pitch = given.pitch if isinstance(given.pitch, list) else [given.pitch]
        self._check_dimensions(path, given, len(pitch))
        if type(given.swizzle) is int and given.swizzle not in SWIZZLES:
            message = f"swizzle: {given.swizzle} bytes; known: {', '.join(map(str, SWIZZLES))}"
            raise self.document.error_at((*path, "swizzle"), message)
        return TensorMap(
            operand=given.operand,
            box=self.expressions((*path, "box"), given.box),
            offset=self.expression((*path, "offset"), given.offset),
            shape=self.expressions((*path, "shape"), given.shape),
            pitch=self.expressions((*path, "pitch"), pitch),
            swizzle=self.expression((*path, "swizzle"), given.swizzle),
            when=self.condition((*path, "when"), given.when),
            line=self.document.line(path),
        )

    def _check_operand(self, path: Path, given: TensorMapFields, workspace: bool) -> None:
        name = given.operand
        if name not in OPERANDS:
            message = f"operand: unknown '{name}'{nearest(name, OPERANDS)}; known: {', '.join(OPERANDS)}"
            raise self.document.error_at(path, message)
        if name == "workspace" and not workspace:
            raise self.document.error_at(path, "operand: there is no workspace to map; declare `workspace: <bytes>`")
        if name == "workspace" and not given.shape:
            raise self.document.error_at(path, "operand: a workspace has no shape of its own; give `shape`")

    def _check_dimensions(self, path: Path, given: TensorMapFields, pitches: int) -> None:
        rank = len(given.shape) if given.shape else 2
        if rank > _MOST_DIMENSIONS:
            message = f"shape: {rank} dimensions, a tensor map has 1 to {_MOST_DIMENSIONS}"
            raise self.document.error_at((*path, "shape"), message)
        if len(given.box) != rank:
            message = f"box: {len(given.box)} sizes for {rank} dimensions; give one for each, innermost first"
            raise self.document.error_at((*path, "box"), message)
        if pitches not in (0, rank - 1):
            message = f"pitch: {pitches} for {rank} dimensions; give one for each but the innermost"
            raise self.document.error_at((*path, "pitch"), message)

    def picks(self, rows: Sequence[PickFields]) -> tuple[Pick, ...]:
        """The rows of `pick`, in order."""
        for index, row in enumerate(rows[:-1]):
            if row.when is None:
                message = "pick: this row has no `when`, so no row below it is reached; move it to the end"
                raise self.document.error_at(("pick", index), message)
        return tuple(self._pick(("pick", index), row) for index, row in enumerate(rows))

    def _pick(self, path: Path, row: PickFields) -> Pick:
        when = self.condition((*path, "when"), row.when)
        return Pick(row.variant, tuple(row.params.items()), when, self.document.line((*path, "variant")))
