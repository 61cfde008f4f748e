"""Makes the row of a trial: the record of what was requested, built, checked and measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from gemmbench.backends.base import Artifact
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.experiments.trial import SetCount, Trial
from gemmbench.bench.record import NetworkFacts, Record
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.sweeps.policy import Policy


def make_record(trial: Trial, batch: ChainBatch, count: SetCount) -> Record:
    """The row of a trial that is finished."""
    digits = batch.parameters is not None and batch.parameters.digits is not None
    return Record(
        **describe_chain(trial.chain) | ({"picked": trial.choice} if trial.choice else {}),
        path=trial.chain.variant.path,
        workspace=trial.workspace,
        libraries=dict(trial.libraries),
        phase=batch.phase,
        batch=batch.index,
        batch_key=batch.key,
        batch_rows=len(batch.chains),
        network=_describe_network(trial.chain, trial.accuracy),
        **describe_result(trial, batch.policy) | ({"data": "digits"} if digits else {}),
        **_describe_code(trial.chain, trial.artifacts),
        **_describe_measurement(trial, batch.policy, count),
    )


def make_skip_record(chain: Chain) -> Record:
    """The row of a chain that cannot run here."""
    return Record(
        **describe_chain(chain),
        path=chain.variant.path,
        network=_describe_network(chain, None),
        status="failed" if chain.variant.fault else "skipped",
        reason=chain.reason,
    )


def describe_chain(chain: Chain) -> dict[str, Any]:
    """The fields of a Result that identify what was requested."""
    return {
        "variant": chain.name,
        "order": chain.order,
        "config": dict(chain.config.values),
        "picked": chain.config.picked,
        "backend": chain.device,
        "problem": chain.problem,
    }


def describe_result(trial: Trial, policy: Policy) -> dict[str, Any]:
    """The fields of a Result for what came of it."""
    check, measurement = trial.check, trial.measurement
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
        "pdl": trial.chain.pdl,
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
        accuracy=accuracy,
    )


def _describe_code(chain: Chain, artifacts: Sequence[Artifact]) -> dict[str, Any]:
    """Build facts and geometry are those of one kernel: a chain of several has none."""
    build = artifacts[0].build if len(artifacts) == 1 else None
    geometry = chain.steps[0].geometry if len(chain.steps) == 1 else None
    return {
        "artifact": " ".join(artifact.key for artifact in artifacts),
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
        "diagnosis": diagnosis.cause if diagnosis else "",
        "wrong_map": diagnosis.map if diagnosis else "",
        "clocks_hz": trial.measurement.clocks,
        "cache": cache if timed else "",
        "sets": count.sets if timed else 0,
        "graph": trial.is_graph,
        "reads_c": trial.chain.reads_c,
        "telemetry": trial.telemetry,
        "sustained": trial.sustained,
        "no_graph": trial.no_graph if timed else "",
        "competitors": fmean(trial.measurement.competitors) if trial.measurement.competitors else None,
    }
