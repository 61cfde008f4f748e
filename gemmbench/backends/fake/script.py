"""The script of the fake device: a mapping, in a test or a YAML file (`--device fake:script.yaml`).

times: {naive: [2.0e-3, 2.1e-3], cublas: 1.0e-4}  # seconds a launch, by launch window, in turn
                                             # or of one configuration: {tiled TILE=16: 1.0e-3}
sustained: {naive: 2.4e-3}                   # seconds a launch under a sustained load, if they differ
faults: {tiled: unwritten}                   # one of FAULTS
isolated: true                               # experiments in a process of their own, as on a GPU
clock: 1.5e9
transfers: {h2d: 2.0e+9, d2h: 1.0e+9}        # rates of a job's copies and launches: RATES in jobs
watch: {power: 300, temperature: [40, 41]}   # its sensors: KEYS in monitor
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gemmbench.backends.fake.jobs import RATES
from gemmbench.backends.fake.monitor import KEYS
from gemmbench.errors import UsageError, nearest
from gemmbench.planning.files import read_text_file

_WRONG_RESULTS = ("unwritten", "zero", "last_column", "overrun", "race")
FAULTS = (*_WRONG_RESULTS, "crash", "build", "die", "hang", "lose", "print", "no_graph", "compiles")


@dataclass(frozen=True)
class Script:
    """Seconds per launch and faults by variant, the clock of every window, rates of transfers.

    A time or a fault may also be that of one configuration, such as `tiled TILE=16`.
    `sustained` has seconds per launch under a steady load. `watch` has the values of the sensors;
    without it there is no monitor.
    """

    times: Mapping[str, float | Sequence[float]] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    clock: float = 1e9
    transfers: Mapping[str, float] = field(default_factory=dict)
    isolated: bool = False
    watch: Mapping[str, Any] = field(default_factory=dict)
    sustained: Mapping[str, float] = field(default_factory=dict)

    def check(self) -> None:
        """Raise ValueError for a bad time or rate, or an unknown fault."""
        for name, seconds in [*self.times.items(), *self.sustained.items()]:
            listed = seconds if isinstance(seconds, list) else [seconds]
            if not listed or not all(isinstance(each, (int, float)) and each > 0 for each in listed):
                raise ValueError(f"times.{name}: {seconds!r} should be seconds, such as 1.0e-3, or a list of them")
        for name, rate in self.transfers.items():
            if name not in RATES or not isinstance(rate, (int, float)) or not rate > 0:
                raise ValueError(f"transfers.{name}: {rate!r} should be one of {', '.join(RATES)}, such as 1.0e+9")
        for name in self.watch:
            if name not in KEYS:
                raise ValueError(f"watch.{name}: unknown; known: {', '.join(KEYS)}")
        for name, fault in self.faults.items():
            if fault not in FAULTS:
                raise ValueError(
                    f"faults.{name}: unknown '{fault}'{nearest(fault, FAULTS)}; known: {', '.join(FAULTS)}"
                )


def read_script(path: str) -> Script:
    """Read a script. Raises UsageError."""
    try:
        script = Script(**yaml.safe_load(read_text_file(Path(path))))
        script.check()
    except (TypeError, ValueError, AttributeError, yaml.YAMLError) as fault:
        raise UsageError(f"{path}: not a script for the fake device: {fault}") from None
    return script
