"""A run: the rows of one results file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from gemmbench.bench.record import Environment, Record, TransferRecord

Line = Environment | Record | TransferRecord
"""A line of a results file."""


@dataclass
class Run:
    """One results file: its header, its records in order, and a warning if its end was missing."""

    environment: Environment
    records: list[Record] = field(default_factory=list)
    path: Path = field(default_factory=Path)
    warning: str = ""
    transfers: list[TransferRecord] = field(default_factory=list)
