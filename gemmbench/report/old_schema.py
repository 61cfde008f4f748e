"""Rows of results files written with schema 1, brought to the schema of today."""

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
    """The row is of schema 1: a header that says so, or a record that does not have a problem of its own."""
    kind = row.get("row")
    return row.get("schema") == 1 if kind == "environment" else kind in ("record", "transfer") and "problem" not in row


def upgraded(row: dict[str, Any]) -> dict[str, Any]:
    """The row with the names and the nesting of schema 2. A header keeps its schema number. Raises KeyError."""
    row = _renamed(row, _RENAMED[row["row"]])
    if row.get("telemetry"):
        row["telemetry"] = _renamed(row["telemetry"], _RENAMED_TELEMETRY)
    if row["row"] != "environment":
        row["problem"] = {name: row.pop(name) for name in _PROBLEM} | {"precision_name": row.pop("precision")}
    return row


def _renamed(row: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in row.items()}
