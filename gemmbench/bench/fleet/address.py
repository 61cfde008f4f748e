"""What `--fleet` names: cards of this host, or the scheduler of a cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gemmbench.errors import UsageError

_LOCAL = re.compile(r"local(?::([1-9][0-9]{0,3}))?")
_SCHEDULER = re.compile(r"(?:tcp|tls|ws|wss|ucx)://\S+:([0-9]{1,5})")
_MOST_PORT = 65535


@dataclass(frozen=True)
class FleetAddress:
    """A scheduler, or with "" this host: `count` workers there, 0 for all of its cards."""

    scheduler: str = ""
    count: int = 0


def parse_fleet(text: str) -> FleetAddress:
    """Read `local`, `local:4` or the address of a scheduler. Raises UsageError."""
    if local := _LOCAL.fullmatch(text):
        return FleetAddress(count=int(local[1] or 0))
    if (scheduler := _SCHEDULER.fullmatch(text)) and 1 <= int(scheduler[1]) <= _MOST_PORT:
        return FleetAddress(text)
    raise UsageError(
        f"cannot parse --fleet {text}; write local, local:4 or the address of a scheduler, tcp://HOST:8786"
    )
