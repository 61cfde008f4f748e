"""One plan on its way through an experiment, and what of it is written down."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from gemmbench.backends.base import Artifact
from gemmbench.bench.record import Telemetry
from gemmbench.bench.timing.rounds import Measurement
from gemmbench.bench.verify.reference import Check
from gemmbench.errors import DeviceLost, PlanError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.policy import Policy


@dataclass
class Trial:
    """Plan `number` of a batch and what has become of it."""

    plan: Plan
    number: int = 0
    artifact: Artifact | None = None
    loaded: Any = None
    status: str = "ok"
    reason: str = ""
    check: Check | None = None
    measurement: Measurement = field(default_factory=Measurement)
    telemetry: Telemetry | None = None

    @property
    def name(self) -> str:
        """The name of its row."""
        return self.plan.variant.name

    @property
    def alive(self) -> bool:
        """Nothing has gone wrong yet."""
        return self.status == "ok"

    def fail(self, fault: PlanError) -> None:
        """End the trial."""
        self.status, self.reason = fault.status, str(fault)

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Turn what fails inside into the status of this trial. Raises DeviceLost: no other trial can go on."""
        try:
            yield
        except DeviceLost:
            raise
        except PlanError as fault:
            self.fail(fault)

    def judge(self, check: Check) -> None:
        """Take over a check; a failed one ends the trial."""
        worst = max(check.error, self.check.error if self.check else 0.0)
        self.check = replace(check, error=worst)
        if not check.ok:
            self.status, self.reason = "wrong", f"{check.rule} check: {check.message}"


@dataclass(frozen=True)
class Placed:
    """How the operands of a batch lie on a device: how many sets, and whether they keep every launch cold."""

    sets: int
    cold: bool


def outcome(trial: Trial, artifacts: Sequence[Artifact], policy: Policy, placed: Placed) -> dict[str, Any]:
    """The fields of a Record that say what was built, checked and measured."""
    return result(trial, policy) | _built(trial.plan, artifacts) | _seen(trial, policy, placed)


def result(trial: Trial, policy: Policy) -> dict[str, Any]:
    """The fields of a Result that say what came of it."""
    check, measurement = trial.check, trial.measurement
    timed = bool(measurement.samples)
    return {
        "status": trial.status,
        "reason": trial.reason,
        "checked": check is not None,
        "check_rule": check.rule if check else "",
        "error": check.error if check and math.isfinite(check.error) else None,
        "samples": list(measurement.samples.values()),
        "rounds": list(measurement.samples),
        "launches": measurement.launches if timed else 0,
        "stopped": measurement.stopped if timed else "",
        "data": policy.data,
        "seed": policy.seed,
        "gated": policy.gate,
    }


def _built(plan: Plan, artifacts: Sequence[Artifact]) -> dict[str, Any]:
    """Build facts are those of one kernel: of several there are none."""
    build = artifacts[0].build if len(artifacts) == 1 else None
    geometry = plan.geometry
    return {
        "artifact": " ".join(artifact.key for artifact in artifacts),
        "grid": list(geometry.grid) if geometry else [],
        "block": list(geometry.block) if geometry else [],
        "shared_dynamic": geometry.shared if geometry else 0,
        "shared_static": build.shared if build else -1,
        "registers": build.registers if build else -1,
        "spills": build.spills if build else -1,
        "compile_seconds": sum(artifact.build.seconds for artifact in artifacts),
    }


def _seen(trial: Trial, policy: Policy, placed: Placed) -> dict[str, Any]:
    diagnosis = trial.check.diagnosis if trial.check else None
    timed = bool(trial.measurement.samples)
    cache = "hot" if policy.cache == "hot" else "cold" if placed.cold else "partly cold"
    return {
        "diagnosis": diagnosis.cause if diagnosis else "",
        "wrong_map": diagnosis.map if diagnosis else "",
        "clocks_hz": trial.measurement.clocks,
        "cache": cache if timed else "",
        "sets": placed.sets if timed else 0,
        "telemetry": trial.telemetry,
    }
