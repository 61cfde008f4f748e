"""Rows of results files with schema 1, converted to the current schema."""

from __future__ import annotations

from typing import Any

_PROBLEM = ("M", "N", "K", "layout", "alpha", "beta")
_RENAMED = {
    "environment": {"kind": "backend", "measuring": "policy"},
    "record": {"device": "backend", "vitals": "telemetry"},
    "transfer": {"device": "backend"},
}
_RENAMED_TELEMETRY = {"looks": "readings", "slowed": "slowed_by", "others": "other_processes"}


def is_old(row: dict[str, Any]) -> bool:
    """The row has schema 1: a header that states it, or a record without the key `problem`."""
    kind = row.get("row")
    return row.get("schema") == 1 if kind == "environment" else kind in ("record", "transfer") and "problem" not in row


def upgrade_row(row: dict[str, Any]) -> dict[str, Any]:
    """Give a row the form of schema 2; a header keeps its schema number. Raises KeyError."""
    row = _rename(row, _RENAMED[row["row"]])
    if isinstance(row.get("telemetry"), dict):
        row["telemetry"] = _rename(row["telemetry"], _RENAMED_TELEMETRY)
    if row["row"] != "environment":
        row["problem"] = {name: row.pop(name) for name in _PROBLEM} | {"precision_name": row.pop("precision")}
    return row


def _rename(row: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in row.items()}
