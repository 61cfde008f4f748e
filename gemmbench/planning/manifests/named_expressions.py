"""Expressions with a name, which later expressions may read: the keys `let` and `estimates` of a manifest."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Mapping, Sequence

from gemmbench.planning.manifests.expressions import FUNCTIONS, Expression, ExpressionError, parse
from gemmbench.planning.yaml_document import Document, Path

Text = str | int
"""An expression as it is written in a manifest."""

_MOST = 100
_NAME = re.compile(r"[a-z][a-z0-9_]*$")


def read_lets(
    document: Document,
    written: Mapping[str, Text],
    names: Sequence[str],
    at: Path = ("let",),
    known: Mapping[str, Expression] | None = None,
) -> dict[str, Expression]:
    """Parse the named expressions at `at` in order; each may read `names`, the expressions `known` and those above it.

    Raises SpecError.
    """
    known, key = known or {}, join_path(at)
    if len(written) > _MOST:
        raise document.error_at(at, f"{key}: {len(written)} names are too many; at most {_MOST}")
    lets: dict[str, Expression] = {}
    for name, text in written.items():
        path = (*at, name)
        check_name(document, path, name, (*names, *known))
        _refuse_later_names(document, path, text, [other for other in written if other not in lets])
        lets[name] = parse_at(document, path, text, names, {**known, **lets})
    return lets


def check_name(document: Document, path: Path, name: str, taken: Collection[str]) -> None:
    """Raise SpecError for a name that is taken, or not in lower case."""
    key = join_path(path[:-1])
    if name in taken or name in FUNCTIONS or keyword.iskeyword(name):
        raise document.error_at(path, f"{key}: the name '{name}' is taken; choose another")
    if not _NAME.match(name):
        raise document.error_at(path, f"{key}: the name '{name}' must be lower-case letters, digits and _")


def _refuse_later_names(document: Document, path: Path, text: Text, later: Sequence[str]) -> None:
    """Raise SpecError for an expression that reads itself or one below it."""
    for word in re.findall(r"[A-Za-z_]\w*", str(text)):
        if word == path[-1]:
            raise document.error_at(path, f"{join_path(path)}: it reads itself")
        if word in later:
            raise document.error_at(
                path, f"{join_path(path)}: reads '{word}', which is defined below; move '{word}' up"
            )


def parse_at(
    document: Document, path: Path, text: Text, names: Sequence[str], lets: Mapping[str, Expression]
) -> Expression:
    """Parse the expression at `path`. Raises SpecError at its line."""
    try:
        return parse(text, names, document.line(path), lets)
    except ExpressionError as fault:
        raise document.error_at(path, f"{join_path(path)}: {fault}") from None


def join_path(path: Path) -> str:
    """The keys of a path, as messages show them."""
    return ".".join(step for step in path if isinstance(step, str))


def list_names(expression: Expression) -> set[str]:
    """The names of all expressions that one reads, directly or through another."""
    found: set[str] = set()
    pending = [expression]
    while pending:
        new = [(name, let) for name, let in pending.pop().lets if name not in found]
        found.update(name for name, _ in new)
        pending += [let for _, let in new]
    return found
