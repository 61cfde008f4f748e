"""One row of an experiment while it is being measured, and the resulting record."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from gemmbench.backends.base import OVERLAP_UNKNOWN, OVERLAPS, Artifact
from gemmbench.backends.code_hash import hash_code
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.arena import WROTE_C, WROTE_PADDING
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.bench.record import NetworkFacts, Record, Sustained, Telemetry
from gemmbench.bench.timing.blocks import Measurement
from gemmbench.bench.timing.stats import drop_unknown
from gemmbench.bench.verify.diagnosis import CRASH, OUTSIDE, Diagnosis
from gemmbench.bench.verify.manifest_doubts import find_missing_shared, find_null_arguments
from gemmbench.bench.verify.reference import Check
from gemmbench.errors import DeviceLost, GemmbenchError, HostError, KernelCrash, LaunchError, PlanError, shorten_reason
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.sweeps.policy import Policy

DAMAGED = "something wrote over A, B or the guard zones"


def _name_damage(damage: str) -> str:
    """Return the key of what a launch wrote outside its outputs."""
    if damage.startswith(WROTE_PADDING):
        return "padding written"
    return "C written" if damage.startswith(WROTE_C) else OUTSIDE


@dataclass(frozen=True)
class Replay:
    """Seconds of a launch on new data and of one on seen data. `faster` is True if the latter was clearly faster."""

    new: float
    seen: float
    faster: bool


@dataclass
class Trial:
    """Chain `number` of a batch, with its code and its current state.

    Once the chain is loaded, `scratch` holds its workspaces on the device. `choice` is the library's choice. `no_graph`
    is the reason why launches cannot be recorded as a graph. `overlap` tells whether products overlap although no
    manifest says so. `setup_seconds` is how long a function prepared B. `libraries` holds the versions of loaded
    libraries and of the packages of Python functions. `product_class` and `product_error` are
    findings of the check of single products. If `turns` is not 0, windows are CUDA graphs with that number of turns
    over the operand sets. `audited` is the checksum of the result on the first set, once an audit has found it right.
    `replays` has one entry for each block. `accuracy` is the fraction of test digits that a network recognizes. `alone`
    holds the seconds of single products, and `empty_seconds` those of an empty kernel.
    """

    chain: Chain
    number: int = 0
    artifacts: list[Artifact] = field(default_factory=list)
    loaded: list[Any] = field(default_factory=list)
    scratch: Scratch | None = None
    choice: str = ""
    no_graph: str = ""
    overlap: str = ""
    setup_seconds: float = 0.0
    libraries: Mapping[str, str] = field(default_factory=dict)
    status: str = "ok"
    reason: str = ""
    crashed: bool = False
    check: Check | None = None
    product_class: str = ""
    product_error: float | None = None
    turns: int = 0
    audited: int | None = None
    replays: list[Replay] = field(default_factory=list)
    measurement: Measurement = field(default_factory=Measurement)
    alone: list[float] = field(default_factory=list)
    empty_seconds: float = math.nan
    telemetry: Telemetry | None = None
    sustained: Sustained | None = None
    accuracy: float | None = None

    @property
    def name(self) -> str:
        """The name of the row."""
        return self.chain.name

    @property
    def workspace(self) -> int:
        """Bytes that launches may use in addition to the operands. All steps of a library share one workspace."""
        own = sum(step.workspace for step in self.chain.steps if not step.variant.is_library)
        return own + max((step.workspace for step in self.chain.steps if step.variant.is_library), default=0)

    @property
    def is_graph(self) -> bool:
        """Whether the row was timed as CUDA graphs."""
        return bool(self.measurement.samples) and bool(self.turns or self.chain.graph)

    @property
    def alive(self) -> bool:
        """True until something goes wrong."""
        return self.status == "ok"

    @property
    def fills(self) -> tuple[int, ...]:
        """The bytes to fill C with before launches that are checked, one for each launch, if beta is 0.

        NaN reveals what is not written. If the kernel reads C even though beta is 0, C is finite, and two launches with
        different C must both be right.
        """
        return (guards.FINITE, guards.NEGATIVE) if self.chain.reads_c else (guards.NAN,)

    def poison_scratch(self) -> None:
        """Fill the workspaces with NaN, as before a launch that is checked."""
        if self.scratch is not None:
            self.scratch.poison()

    def find_scratch_fault(self) -> str:
        """Describe forbidden writes to the workspaces or around them, or return ""."""
        return self.scratch.find_fault() if self.scratch is not None else ""

    def fail(self, fault: PlanError) -> None:
        """End the trial."""
        self.crashed = isinstance(fault, KernelCrash | DeviceLost) and "assert" not in str(fault)
        hint = find_missing_shared(self.chain.steps) if isinstance(fault, LaunchError) else ""
        if self.crashed or "null pointer" in str(fault):
            hint = find_null_arguments(self.chain.steps, "null pointer" in str(fault)) or hint
        words = re.sub(r" \(malloc [^)]*\)", "", str(fault)) if hint else str(fault)  # the argument explains it
        self.status, self.reason = fault.status, "; ".join(filter(None, (words, hint)))

    def fail_guard(self, damage: str, cause: Diagnosis | None = None) -> None:
        """End the trial because it wrote outside its outputs. `damage` says where and `cause` why, if known."""
        message = f"{damage.partition(';')[0]}: {cause.words}" if cause else damage
        self.judge(Check(False, "guard", message=message, diagnosis=cause or Diagnosis(_name_damage(damage))))

    @contextmanager
    def catch_faults(self) -> Iterator[None]:
        """Turn an error in the `with` block into this trial's status. DeviceLost is passed on."""
        try:
            yield
        except DeviceLost:
            raise
        except PlanError as fault:
            self.fail(fault)

    def fail_elsewhere(self) -> None:
        """End the trial if its kernel is wrong at another size, even though it is right here."""
        if self.alive and self.chain.fault_elsewhere:
            self.status, self.reason = "wrong", f"ok here, {self.chain.fault_elsewhere}"

    def judge(self, check: Check) -> None:
        """Record a check. A failed check ends the trial."""
        worst = max(check.error, self.check.error if self.check else 0.0)
        self.check = replace(check, error=worst)
        if check.product_class:
            self.product_class, self.product_error = check.product_class, check.product_error
        if not check.ok:
            self.status, self.reason = "wrong", f"{check.rule} check: {check.message}"


@contextmanager
def fail_together(trials: Sequence[Trial]) -> Iterator[None]:
    """Turn an error that does not belong to a single trial into the status of all trials that have not failed.

    An exception on the host, such as a MemoryError, then fails the batch but not the sweep. Raises DeviceLost and
    errors that end a sweep.
    """
    try:
        yield
    except PlanError as fault:
        if isinstance(fault, DeviceLost):
            raise
        _fail_all(trials, fault)
    except GemmbenchError:
        raise
    except Exception as fault:
        _fail_all(trials, HostError(fault))


def _fail_all(trials: Sequence[Trial], fault: PlanError) -> None:
    for trial in trials:
        if trial.alive:
            trial.fail(fault)


@dataclass(frozen=True)
class SetCount:
    """The number of operand sets of a batch on a device, and whether they keep every launch cold."""

    sets: int
    cold: bool


def make_record(trial: Trial, batch: ChainBatch, count: SetCount) -> Record:
    """Return the row of a finished trial."""
    digits = batch.parameters is not None and batch.parameters.digits is not None
    return Record(
        **describe_chain(trial.chain) | ({"picked": trial.choice} if trial.choice else {}),
        path=trial.chain.variant.path,
        only_here=trial.chain.only_here,
        workspace=trial.workspace,
        libraries=dict(trial.libraries),
        setup_seconds=trial.setup_seconds or None,
        phase=batch.phase,
        batch=batch.index,
        batch_key=batch.key,
        batch_rows=len(batch.chains),
        ranking=batch.rankings.get(trial.name),
        network=_describe_network(trial.chain, trial.accuracy),
        **describe_result(trial, batch.policy) | ({"data": "digits"} if digits else {}),
        **_describe_code(trial.chain, trial.artifacts),
        **_describe_measurement(trial, batch.policy, count),
    )


def make_skip_record(chain: Chain) -> Record:
    """Return the row of a chain that cannot run here."""
    return Record(
        **describe_chain(chain),
        path=chain.variant.path,
        network=_describe_network(chain, None),
        status="failed" if chain.variant.fault else "skipped",
        reason=shorten_reason(chain.reason),
    )


def describe_chain(chain: Chain) -> dict[str, Any]:
    """Return the fields of a Result that identify what was requested."""
    return {
        "variant": chain.name,
        "order": chain.order,
        "config": dict(chain.config.values),
        "picked": chain.config.picked,
        "backend": chain.device,
        "problem": chain.problem,
    }


def describe_result(trial: Trial, policy: Policy) -> dict[str, Any]:
    """Return the fields of a Result that describe the outcome."""
    # Checks that passed before a kernel crashed do not count.
    check, measurement = trial.check if trial.status in ("ok", "wrong") else None, trial.measurement
    timed = bool(measurement.windows)
    return {
        "status": trial.status,
        "reason": trial.reason,
        "checked": check is not None,
        "check_rule": check.rule if check else "",
        "error": check.error if check and math.isfinite(check.error) else None,
        "product_class": trial.product_class,
        "product_error": trial.product_error,
        "samples": list(measurement.samples.values()),
        "rounds": [each.number for each in measurement.windows],
        "blocks": [each.block for each in measurement.windows],
        "launches": measurement.launches if timed else 0,
        "stopped": measurement.stopped if timed else "",
        "data": policy.data,
        "seed": policy.seed,
        "gated": policy.gate and measurement.gated,
        "pdl": trial.chain.pdl or trial.overlap == OVERLAPS,
        "passed": [] if trial.chain.network else list(trial.chain.passed),
        "approx": trial.chain.declared.approx,
        "per_product": trial.chain.launched_per_product,
        "overlap_unknown": trial.overlap == OVERLAP_UNKNOWN,
    }


def _describe_network(chain: Chain, accuracy: float | None) -> NetworkFacts | None:
    network = chain.network
    if network is None:
        return None
    return NetworkFacts(
        title=str(network),
        flops=network.flops,
        bytes=network.bytes,
        launches=chain.launches,
        label=chain.label,
        published_ms=chain.published_ms,
        step=chain.step,
        corrects=chain.corrects,
        accuracy=accuracy,
    )


def _describe_code(chain: Chain, artifacts: Sequence[Artifact]) -> dict[str, Any]:
    """Return build facts and geometry. They describe a single kernel, so a chain of several has none."""
    build = artifacts[0].build if len(artifacts) == 1 else None
    geometry = chain.steps[0].geometry if len(chain.steps) == 1 else None
    return {
        "artifact": " ".join(artifact.key for artifact in artifacts),
        "code": " ".join(
            filter(None, dict.fromkeys(hash_code(each.variant, each.config.values) for each in chain.steps))
        ),
        "grid": list(geometry.grid) if geometry else [],
        "block": list(geometry.block) if geometry else [],
        "tile": list(chain.steps[0].tile or ()) if len(chain.steps) == 1 else [],
        "shared_dynamic": geometry.shared if geometry else 0,
        "shared_static": build.shared if build else -1,
        "registers": build.registers if build else -1,
        "spills": build.spills if build else -1,
        "compile_seconds": sum(artifact.build.seconds for artifact in artifacts),
    }


def _describe_measurement(trial: Trial, policy: Policy, count: SetCount) -> dict[str, Any]:
    diagnosis = trial.check.diagnosis if trial.check else None
    timed = bool(trial.measurement.samples)
    cache = "hot" if policy.cache == "hot" else "cold" if count.cold else "partly cold"
    return {
        "diagnosis": diagnosis.cause if diagnosis else CRASH * trial.crashed,
        "wrong_map": diagnosis.map if diagnosis else "",
        "clocks_hz": trial.measurement.clocks,
        "alone": drop_unknown(trial.alone),
        "empty_seconds": trial.empty_seconds if trial.alone and not math.isnan(trial.empty_seconds) else None,
        "cache": cache if timed else "",
        "sets": count.sets if timed else 0,
        "graph": trial.is_graph,
        "reads_c": trial.chain.reads_c,
        "telemetry": trial.telemetry,
        "sustained": trial.sustained,
        "no_graph": trial.no_graph if timed else "",
        "elapsed_ratio": trial.measurement.elapsed_ratio,
        "competitors": fmean(trial.measurement.competitors) if trial.measurement.competitors else None,
    }
