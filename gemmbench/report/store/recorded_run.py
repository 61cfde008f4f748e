"""A run, the rows of one results file, and where those of a new one are written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from gemmbench.bench.record import End, Environment, Record, Request, TransferRecord

Line = Environment | Request | Record | TransferRecord | End
"""A line of a results file."""


@dataclass
class Run:
    """One results file: its header, its records in order, and a warning if its last line was cut off.

    `request` is what was asked for last, if the run was resumed and more was asked for. `finished` is when
    the run came to its end; "" if it did not.
    """

    environment: Environment
    records: list[Record] = field(default_factory=list)
    path: Path = field(default_factory=Path)
    warning: str = ""
    transfers: list[TransferRecord] = field(default_factory=list)
    request: Request | None = None
    finished: str = ""

    @property
    def full_records(self) -> list[Record]:
        """The records without short loads and checks, which only prepare what is measured in full."""
        return [record for record in self.records if not record.is_preliminary]

    @property
    def command(self) -> str:
        """The command that measures all rows."""
        return self.request.command if self.request else self.environment.command

    @property
    def planned(self) -> list[str]:
        """Hashes of all rows that were planned."""
        return self.request.planned if self.request else self.environment.planned

    @property
    def ended_early(self) -> bool:
        """The run did not come to its end."""
        return not self.finished


@dataclass(frozen=True)
class Destination:
    """Where rows are written: a new file in a folder, or the file to `resume`.

    `command` is what the file records as its command.
    """

    folder: Path = Path("results")
    resume: Path | None = None
    command: str = ""
