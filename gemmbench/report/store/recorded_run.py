"""A run: the rows of one results file."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from gemmbench.bench.record import End, Environment, Record, Request, TransferRecord
from gemmbench.planning.files import is_compressed
from gemmbench.report.text import count_noun

Line = Environment | Request | Record | TransferRecord | End
"""A line of a results file."""
TORN = "the last line is cut off and was left out"


@dataclass
class Run:
    """One results file: its header, and its records in order.

    `is_torn` means that its last line was cut off and is left out. `request` is the latest request if the run was
    resumed to measure more. `finished` is when the run ended; "" if it did not.
    """

    environment: Environment
    records: list[Record] = field(default_factory=list)
    path: Path = field(default_factory=Path)
    is_torn: bool = False
    transfers: list[TransferRecord] = field(default_factory=list)
    request: Request | None = None
    finished: str = ""

    @property
    def full_records(self) -> list[Record]:
        """The records except short loads and checks, which only prepare what is measured in full."""
        return [record for record in self.records if not record.is_preliminary]

    @property
    def command(self) -> str:
        """The command that measures all rows."""
        return self.request.command if self.request else self.environment.command

    @property
    def planned(self) -> list[str]:
        """The hashes of all planned rows."""
        return self.request.planned if self.request else self.environment.planned

    @property
    def ended_early(self) -> bool:
        """Whether the run ended before it was complete."""
        return not self.finished

    @property
    def warning(self) -> str:
        """One line on what a file lacks and how to continue its run; "" if it is complete."""
        words = [*self.command.split()[:2], "--resume-from", shlex.quote(str(self.path))]
        text = "; ".join(filter(None, (self.lack, f"continue with: {' '.join(words)}" if self.is_resumable else "")))
        return f"{self.path}: {text}" if text else ""

    @property
    def lack(self) -> str:
        """What the file lacks; "" if it is complete."""
        ended = f"the run is not finished: {self._count_rows()}" if self.ended_early else ""
        return "; ".join(filter(None, (ended, TORN if self.is_torn else "")))

    @property
    def is_resumable(self) -> bool:
        """Whether a command can continue the run."""
        return self.ended_early and bool(self.planned) and not is_compressed(self.path)

    def _count_rows(self) -> str:
        """Return text such as `it has 2 of 4 planned rows`. All transfers count as one row. Searches plan no rows."""
        count = len({record.kernel_key for record in self.records}) + bool(self.transfers)
        if not count:
            return "it has not measured any rows"
        searches = any(record.is_preliminary for record in self.records)
        if searches or not self.planned:
            return f"it has {count_noun(count, 'row')}"
        return f"it has {count} of {count_noun(len(set(self.planned)), 'planned row')}"
