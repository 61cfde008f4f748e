"""The sweep that measures the rows of a results file again."""

import msgspec
import pytest

from gemmbench.planning.sweeps.policy import Policy
from gemmbench.report.store.recorded_run import Run
from gemmbench.session.machine import find_machine, open_catalog
from gemmbench.session.regression_check import plan_repeat, read_policy
from gemmbench.session.reporter import SILENT


@pytest.fixture
def plan():
    machine, catalog = find_machine("fake", SILENT), open_catalog(None)
    return lambda run, variants=(): plan_repeat(run, variants, catalog, machine)


def test_every_row_that_ran_is_planned_with_the_baseline(environment, make_record, plan):
    records = [
        make_record("tiled", config={"TILE": 32}),
        make_record("tiled", config={"TILE": 8}, status="wrong"),
        make_record("tiled", config={"TILE": 32}, phase="final"),
        make_record("naive", config={"BY": 16, "BX": 16}, size=32, layout="tn", alpha=2.0),
        make_record("naive_rows", status="skipped"),
    ]
    planned = plan(Run(environment, records))
    rows = [(item.variant.name, str(item.config), str(item.problem)) for item in planned.plans]
    assert rows == [
        ("tiled", "TILE=32", "64 nn f32"),
        ("tiled", "TILE=8", "64 nn f32"),
        ("naive", "BX=16 BY=16", "32 tn f32 alpha=2 beta=0"),
        ("cublas", "", "64 nn f32"),
        ("cublas", "", "32 tn f32 alpha=2 beta=0"),
    ]
    assert planned.skips == [] and planned.sweep.baseline == "cublas" and planned.sweep.name == "check"


def test_a_dispatching_variant_picks_again(environment, make_record, plan):
    run = Run(environment, [make_record("sgemm", config={"BM": 1}, picked="sgemm_tma", size=1024)])
    names = {item.variant.name: item for item in plan(run).expanded}
    assert "sgemm" in names and names["sgemm"].config.values != (("BM", 1),)


def test_the_policy_is_that_of_the_run_without_steady_loads(environment):
    recorded = {"method": 3, "cache": "hot", "seed": 4, "rounds": 12, "until": 0.0, "sustained": 2.0, "unknown": 1}
    found = read_policy(msgspec.structs.replace(environment, policy=recorded))
    assert found == Policy(cache="hot", seed=4, rounds=12, until=0.0, sustained=0.0)
    assert read_policy(environment) == Policy(sustained=0.0)
