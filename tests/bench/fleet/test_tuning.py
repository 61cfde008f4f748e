"""tune on a fleet: its batches go to the workers, and candidates compare by the baseline of their batch."""

import pytest

from gemmbench.planning.plans import configurations
from gemmbench.planning.sweeps.overrides import SweepOverrides
from gemmbench.report.store.recorded_run import Destination
from gemmbench.session import tuning_runs
from gemmbench.session.fleet_machines import open_machines
from gemmbench.session.tuning_runs import TuneRequest, tune_kernels

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def tune(messages, monkeypatch, tmp_path):
    """Tune `tiled`, which has three configurations."""
    monkeypatch.setattr(tuning_runs, "_FIRST_SHAPE", (7, 5, 3))
    monkeypatch.setattr(configurations, "SHAPES", ((7, 5, 3),))
    monkeypatch.chdir(tmp_path)

    def run(device, fleet, sizes):
        overrides = SweepOverrides(variants=("tiled",), sizes=sizes, cache="hot", rounds=6)
        with open_machines(device, fleet, messages) as (machine,):
            return tune_kernels(TuneRequest(overrides, destination=Destination(tmp_path / "out")), machine, messages)

    return run


def check(result, *sizes):
    assert [(each.variant, each.problem.M, each.tried, each.final) for each in result.winners] == [
        ("tiled", size, 3, True) for size in sizes
    ]
    assert all(record.status == "ok" for record in result.run.run.records)
    for outcome in result.outcomes:
        assert outcome.anchors and len({record.card for record in outcome.finals}) == 1


def test_a_search_runs_on_the_workers_of_a_cluster_and_keeps_its_winners(tune, cluster):
    check(tune("fake", cluster, "24,32"), 24, 32)


def test_a_search_runs_on_workers_that_share_the_cores_of_the_cpu(tune):
    check(tune("cpu", "local:2", "24"), 24)
