"""Short kernels run as graphs of turns over the operand sets; short loads that rank are not checked."""

from dataclasses import replace

import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.record import RANKING
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import LaunchError, NotOffered
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

pytestmark = pytest.mark.usefixtures("few_sets")

PROBLEM, CODE = Problem(32, 24, 16), Artifact("code", "", Build())


@pytest.fixture
def measure(make_plan):
    """Measure one plan; returns its record, and the turns that each binding was asked for."""

    def run(seconds, problem=PROBLEM, phase="sweep", fault="", refusal=None, **policy):
        asked = []
        script = Script(times={"naive": [seconds]}, faults={"naive": fault} if fault else {})
        backend = FakeBackend(script)
        bind = backend.bind

        def note(*arguments, **options):
            asked.append(options.get("turns", 0))
            if asked[-1] and refusal:
                raise refusal
            return bind(*arguments, **options)

        backend.bind = note
        batch = make_gemm_batch([make_plan("naive", problem)], [CODE], Policy(rounds=10, until=0.0, **policy))
        (record,) = LocalWorker({"fake": backend}).experiment(replace(batch, phase=phase))
        return record, asked

    return run


def test_a_short_kernel_runs_as_a_graph_of_whole_turns(measure):
    record, asked = measure(10e-6)
    assert record.status == "ok"
    assert record.graph
    assert record.launches % record.sets == 0
    assert set(asked) == {0, record.launches // record.sets}
    assert record.launches * 10e-6 >= Policy().window


def test_every_block_binds_the_graph(measure):
    record, asked = measure(10e-6)
    assert sum(turns > 0 for turns in asked) == len(set(record.blocks)) == 5


@pytest.mark.parametrize(("seconds", "problem"), [(31e-6, PROBLEM), (10e-6, replace(PROBLEM, beta=0.5))])
def test_a_long_kernel_and_one_that_reads_c_run_launch_by_launch(measure, seconds, problem):
    record, asked = measure(seconds, problem)
    assert not record.graph
    assert set(asked) == {0}


@pytest.mark.parametrize("refusal", [NotOffered("no graphs"), LaunchError("not permitted while recording")])
def test_a_kernel_that_cannot_be_recorded_runs_launch_by_launch(measure, refusal):
    record, asked = measure(10e-6, refusal=refusal)
    assert (record.status, record.graph, len(record.samples)) == ("ok", False, 10)
    assert sum(turns > 0 for turns in asked) == 1


def test_a_hot_kernel_repeats_its_only_set(measure):
    record, _ = measure(10e-6, cache="hot")
    assert record.graph
    assert record.sets == 1 < record.launches


def test_a_short_load_is_neither_verified_nor_audited(measure):
    assert measure(10e-6, fault="zero")[0].status == "wrong"
    ranked, _ = measure(10e-6, phase=RANKING, fault="zero")
    assert (ranked.status, ranked.checked, len(ranked.samples)) == ("ok", False, 10)


def test_a_row_that_cannot_be_recorded_is_not_ranked_next_to_graphs(make_plan):
    script = Script(times={"naive": [10e-6], "tiled": [9e-6]}, faults={"naive": "no_graph"})
    plans = [make_plan(name, PROBLEM) for name in ("naive", "tiled")]
    batch = make_gemm_batch(plans, [CODE] * 2, Policy(rounds=10, until=0.0))
    apart, other = LocalWorker({"fake": FakeBackend(script)}).experiment(batch)
    assert (apart.status, apart.no_graph, apart.beside_graphs) == ("ok", "cannot be recorded, as scripted", True)
    assert (apart.graph, apart.ranked, other.graph, other.ranked) == (False, False, True, True)


def test_a_row_that_cannot_be_recorded_is_ranked_where_no_row_is_a_graph(measure):
    record, _ = measure(31e-6, fault="no_graph")
    assert (record.no_graph, record.beside_graphs, record.ranked) == ("cannot be recorded, as scripted", False, True)
