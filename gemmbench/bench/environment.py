"""The header of a run: what ran, on which device and when."""

from __future__ import annotations

import platform
import secrets
import zlib
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from gemmbench.backends.devices import Machine, Peaks
from gemmbench.bench.experiments.batch import METHOD
from gemmbench.bench.record import Environment
from gemmbench.planning.source_tree import identify_sources, read_version
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.sweep import Sweep


def describe_run(machine: Machine, sweep: Sweep, command: str, peaks: Peaks | None = None) -> Environment:
    """Return the header of a run that starts now. `command` is the command as typed. Software versions are left out.

    Raises UsageError if $GEMMBENCH_REVISION names other sources.
    """
    device, target, sources = machine.primary, machine.primary.target, identify_sources()
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
        gemmbench=read_version(),
        revision=sources.revision,
        tree=sources.tree,
        python=platform.python_version(),
        device=device.name,
        backend=target.kind,
        baseline=sweep.baseline,
        sm=target.sm,
        sms=target.sms,
        l2=target.l2,
        memory=target.memory,
        smem=target.smem,
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
    """Return the settings that the user chose. Others are left out."""
    return {name: value for name, value in asdict(policy).items() if value is not None}
