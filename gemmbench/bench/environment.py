"""The header of a run: what ran, on what, when."""

from __future__ import annotations

import os
import platform
import secrets
import subprocess
import zlib
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gemmbench.backends.devices import Machine, Peaks
from gemmbench.bench.experiments.batch import METHOD
from gemmbench.bench.record import Environment
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.sweep import Sweep
from gemmbench.version import __version__


def describe_run(machine: Machine, sweep: Sweep, command: str, peaks: Peaks | None = None) -> Environment:
    """The header of a run that starts now: `command` as typed, measured peaks; without versions of software."""
    device, target = machine.primary, machine.primary.target
    now = datetime.now(timezone.utc)
    host = machine.host
    run = f"{now:%Y%m%d-%H%M%S}-{sweep.name}-{secrets.token_hex(2)}"
    return Environment(
        run=run,
        shuffle=zlib.crc32(run.encode()),
        started=now.isoformat(timespec="seconds"),
        sweep=sweep.name,
        post=sweep.post.config if sweep.post else "",
        command=command,
        gemmbench=__version__,
        revision=_find_revision(),
        python=platform.python_version(),
        device=device.name,
        backend=target.kind,
        baseline=sweep.baseline,
        sm=target.sm,
        sms=target.sms,
        l2=target.l2,
        memory=target.memory,
        clock_hz=device.clock_hz,
        bandwidth=device.bandwidth,
        peaks=peaks,
        flops_per_cycle=dict(device.flops_per_cycle),
        policy={"method": METHOD, **_list_policy(sweep.policy)},
        host=host.name if host else "",
        cores=host.target.sms if host else 0,
        conditions=device.conditions,
        gpu=target.is_gpu,
        uuid=device.uuid,
        vbios=device.vbios,
    )


def _list_policy(policy: Policy) -> dict[str, Any]:
    """What was asked for, without what was left open."""
    return {name: value for name, value in asdict(policy).items() if value is not None}


def _find_revision() -> str:
    """$GEMMBENCH_REVISION, or the git revision of the sources; `+`: changed since, "": unknown."""
    if named := os.environ.get("GEMMBENCH_REVISION"):
        return named
    here = Path(__file__).resolve().parents[2]
    if not (here / ".git").exists():  # installed, maybe inside somebody else's repository
        return ""
    command = ["git", "-C", str(here), "describe", "--always", "--dirty=+", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
