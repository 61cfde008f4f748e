"""Values that many rows of a file have in common, kept in memory once."""

from __future__ import annotations

from msgspec.structs import fields, force_setattr

from gemmbench.bench.record import Record
from gemmbench.report.store.run import Line

_TEXTS = tuple(each.name for each in fields(Record) if each.type is str)
_LISTS = ("rounds", "blocks", "grid", "block", "tile")


def share_values(row: Line, known: dict[object, object]) -> None:
    """Replace texts, rounds and the problem of a record by equal values in `known`, and add new ones to it."""
    if not isinstance(row, Record):
        return
    for name in (*_TEXTS, "problem"):
        value = getattr(row, name)
        force_setattr(row, name, known.setdefault(value, value))
    for name in _LISTS:
        value = getattr(row, name)
        force_setattr(row, name, known.setdefault(tuple(value), value))
