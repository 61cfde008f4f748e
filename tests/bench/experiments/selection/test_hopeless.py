"""A configuration that timed out or did not compile is not tried on further shapes."""

from dataclasses import replace

import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.measured_sweep import HopelessRows
from gemmbench.errors import BuildError, BuildTimeout
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

FIRST, FURTHER = Problem(8, 8, 8), Problem(16, 16, 16)
CODE = Artifact("code", "", Build())


@pytest.fixture
def batch(make_plan):
    """A batch at one problem of plans by name and TILE, with their code."""

    def make(problem, *kernels, built=None, phase="sweep"):
        plans = [make_plan(name, problem, {"TILE": tile}) for name, tile in kernels]
        codes = [(built or {}).get(kernel, CODE) for kernel in kernels]
        return replace(make_gemm_batch(plans, codes, Policy()), phase=phase)

    return make


@pytest.fixture
def failed(make_record):
    """The record of a kernel that timed out at the first problem."""

    def make(name="bad", tile=16, status="timeout", reason="did not end within 5 s\nmore", **changed):
        return make_record(name, config={"TILE": tile}, size=8, status=status, reason=reason, **changed)

    return make


def names(batch):
    return [f"{chain.name} {chain.config}" for chain in batch.chains]


def test_a_hang_costs_one_time_limit_and_its_further_rows_name_the_first(batch, failed):
    left, skips = HopelessRows().leave_out(batch(FURTHER, ("naive", 16), ("bad", 16)), [failed()])
    assert names(left) == ["naive TILE=16"]
    (skip,) = skips
    assert (skip.variant, skip.config, skip.status, skip.problem) == ("bad", {"TILE": 16}, "skipped", FURTHER)
    assert skip.reason == "not tried, because it timed out at 8 nn f32: did not end within 5 s"


def test_code_that_did_not_compile_is_not_reported_as_failed_again(batch, failed):
    fault, other = BuildError("bad.cu:7: error"), BuildError("bad.cu:9: another error")
    refused = failed(status="failed", reason="bad.cu:7: error")
    hopeless = batch(FURTHER, ("bad", 16), built={("bad", 16): fault})
    left, (skip,) = HopelessRows().leave_out(hopeless, [refused])
    assert left is None and "because it did not compile at 8 nn f32: bad.cu:7: error" in skip.reason
    assert HopelessRows().leave_out(batch(FURTHER, ("bad", 16), built={("bad", 16): other}), [refused])[1] == []


def test_other_configurations_variants_and_devices_are_tried(batch, failed):
    whole = batch(FURTHER, ("bad", 32), ("worse", 16))
    assert HopelessRows().leave_out(whole, [failed()]) == (whole, [])
    whole = batch(FURTHER, ("bad", 16))
    assert HopelessRows().leave_out(whole, [failed(backend="cpu")]) == (whole, [])


@pytest.mark.parametrize(("status", "reason"), [("failed", "crashed"), ("wrong", "zeros"), ("out of memory", "full")])
def test_a_kernel_that_failed_otherwise_is_tried_on(batch, failed, status, reason):
    whole = batch(FURTHER, ("bad", 16))
    assert HopelessRows().leave_out(whole, [failed(status=status, reason=reason)]) == (whole, [])


def test_the_best_of_a_sweep_is_measured_again_and_a_failed_row_gets_no_second_one(batch, failed):
    final = batch(FURTHER, ("bad", 16), phase="final")
    assert HopelessRows().leave_out(final, [failed()]) == (final, [])
    assert HopelessRows().leave_out(batch(FIRST, ("bad", 16), ("naive", 16)), [failed()])[1] == []


def test_failures_are_remembered_while_records_are_added(batch, failed, make_record):
    rows, records = HopelessRows(), [failed()]
    assert rows.leave_out(batch(FURTHER, ("bad", 16)), records)[0] is None
    records += [make_record("naive"), failed(tile=32)]
    assert rows.leave_out(batch(FURTHER, ("bad", 16), ("bad", 32)), records)[0] is None


def test_a_configuration_that_compiles_for_too_long_is_hopeless_too(batch, failed):
    fault = BuildTimeout("did not compile within 15 s")
    record = failed(reason="did not compile within 15 s")
    left, (skip,) = HopelessRows().leave_out(batch(FURTHER, ("bad", 16), built={("bad", 16): fault}), [record])
    assert left is None and "timed out at 8 nn f32: did not compile within 15 s" in skip.reason
