"""A batch on the fake device: graphs of turns, rotation, overlap, workspaces, telemetry, one launch to watch."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeBackend, FakeExecutable
from gemmbench.backends.fake.script import Script
from gemmbench.backends.jobs import LaunchStep
from gemmbench.bench.experiments import experiment as module
from gemmbench.bench.experiments.experiment import launch_once
from gemmbench.bench.experiments.transfer_tasks import Piece, TransferTask, split_tasks
from gemmbench.bench.operands.operand_values import make_operands
from gemmbench.bench.record import RANKING
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import LaunchError, NotOffered
from gemmbench.planning.plans.plan import level_workspaces
from gemmbench.planning.problems import Panel, PanelCut, Problem, cut_into_panels
from gemmbench.planning.sweeps.policy import Policy
from tests.bench.conftest import CODE

PROBLEM = Problem(32, 24, 16)
REFUSAL = "cannot be recorded, as scripted"


@pytest.fixture
def measure(experiment, watch_calls):
    """Measure one plan; returns its record, and the turns that each binding was asked for."""

    def run(seconds, problem=PROBLEM, phase="sweep", fault="", refusal=None, **policy):
        asked = []

        def note(*arguments, turns=0, **options):
            asked.append(turns)
            if turns and refusal:
                raise refusal

        watch_calls(FakeBackend, "bind", note)
        backend = FakeBackend(Script(times={"naive": [seconds]}, faults={"naive": fault} if fault else {}))
        policy = Policy(rounds=10, until=0.0, **policy)
        (record,) = experiment("naive", problem=problem, policy=policy, backend=backend, changes={"phase": phase})
        return record, asked

    return run


def test_a_short_kernel_runs_as_a_graph_of_whole_turns_bound_in_every_block(measure):
    record, asked = measure(10e-6)
    assert (record.status, record.graph) == ("ok", True)
    assert record.launches % (2 * record.sets) == 0
    assert set(asked) == {0, record.launches // (2 * record.sets)}
    assert record.launches * 10e-6 >= Policy().window
    assert sum(turns > 0 for turns in asked) == len(set(record.blocks)) == 5


@pytest.mark.parametrize(("seconds", "problem"), [(31e-6, PROBLEM), (10e-6, replace(PROBLEM, beta=0.5))])
def test_a_long_kernel_and_one_that_reads_c_run_launch_by_launch(measure, seconds, problem):
    record, asked = measure(seconds, problem)
    assert not record.graph and set(asked) == {0}


@pytest.mark.parametrize("refusal", [NotOffered("no graphs"), LaunchError("not permitted while recording")])
def test_a_kernel_that_cannot_be_recorded_runs_launch_by_launch(measure, refusal):
    record, asked = measure(10e-6, refusal=refusal)
    assert (record.status, record.graph, len(record.samples)) == ("ok", False, 10)
    assert sum(turns > 0 for turns in asked) == 1


class CompilingFake(FakeBackend):
    """Notes what is compiled together, and what is bound afterwards."""

    def __init__(self):
        super().__init__()
        self.done = []

    def compile_together(self, rows, memory):
        self.done.append([(steps[0].plan.variant.name, steps[0].plan.config.values) for steps in rows])
        assert memory is not None and all(len(steps[0].sets) == 1 for steps in rows)

    def bind(self, name, *arguments, **options):
        self.done.append(name)
        return super().bind(name, *arguments, **options)


def test_configurations_of_a_python_function_compile_together_before_they_are_bound(experiment, make_plan):
    backend = CompilingFake()
    python = {"kind": "python", "text": "import torch"}
    tiles = [make_plan("tiles", PROBLEM, {"T": value}, **python) for value in (1, 2)]
    plans = [tiles[0], make_plan("naive", PROBLEM), make_plan("single", PROBLEM, **python), tiles[1]]
    records = experiment(plans=plans, problem=PROBLEM, backend=backend)
    assert [record.status for record in records] == ["ok"] * 4
    assert backend.done[0] == [("tiles", (("T", 1),)), ("tiles", (("T", 2),))]
    assert {"tiles", "naive", "single"} == {*backend.done[1:]}


def test_a_hot_kernel_repeats_two_sets_with_one_b(measure, watch_calls):
    stops = []
    watch_calls(FakeBackend, "bind", lambda self, name, steps, *_, **__: stops.append(steps[0].sets))
    record, _ = measure(10e-6, cache="hot")
    assert (record.graph, record.cache, record.sets) == (True, "hot", 2)
    assert record.launches > 4
    assert [len({at[name] for at in stops[-1]}) for name in "ABC"] == [2, 1, 2]


def test_a_short_load_is_neither_verified_nor_audited(measure):
    assert measure(10e-6, fault="zero")[0].status == "wrong"
    ranked, _ = measure(10e-6, phase=RANKING, fault="zero")
    assert (ranked.status, ranked.checked, len(ranked.samples)) == ("ok", False, 10)


@pytest.mark.parametrize("fault", ["", "no_graph"])
def test_all_rows_are_graphs_if_the_fastest_is_short_and_all_can_be(experiment, fault):
    times = {"naive": [300e-6], "tiled": [9e-6]}
    backend = FakeBackend(Script(times=times, faults={"naive": fault} if fault else {}))
    rows = experiment("naive", "tiled", policy=Policy(rounds=10, until=0.0), backend=backend)
    assert [(row.status, row.ranked, row.graph) for row in rows] == [("ok", True, not fault)] * 2
    spoiled = f"{REFUSAL}; therefore no row measured together with it is launched as a graph"
    assert [row.no_graph for row in rows] == ([spoiled, ""] if fault else ["", ""])


def test_no_row_is_a_graph_if_that_would_take_too_long(experiment):
    backend = FakeBackend(Script(times={"naive": [0.3], "tiled": [9e-6]}))
    slow, fast = experiment("naive", "tiled", policy=Policy(rounds=2, until=0.0), backend=backend)
    assert not slow.graph and not fast.graph
    assert slow.no_graph.startswith("a CUDA graph of two launches on each operand set would take")


ALONE = {"naive": 12e-6}


def test_short_products_are_timed_alone_in_every_block(experiment):
    script = Script(times={"naive": [10e-6], "tiled": [250e-6]}, alone=ALONE)
    short, long = experiment("naive", "tiled", policy=Policy(rounds=20, until=0.0), backend=FakeBackend(script))
    assert (set(short.alone), len(short.alone) >= 30, short.empty_seconds) == ({12e-6}, True, 1e-6)
    assert (long.alone, long.empty_seconds) == ([], None)


@pytest.mark.parametrize(("cache", "changes"), [("hot", {}), ("cold", {"phase": RANKING}), ("cold", {"contest": True})])
def test_hot_rows_short_loads_and_contests_are_not_timed_alone(experiment, cache, changes):
    script = Script(times={"naive": [10e-6]}, alone=ALONE)
    policy = Policy(rounds=10, until=0.0, cache=cache)
    (record,) = experiment("naive", policy=policy, backend=FakeBackend(script), changes=changes)
    assert (record.status, record.alone) == ("ok", [])


def test_a_long_kernel_that_cannot_be_recorded_says_so(measure):
    record, _ = measure(31e-6, fault="no_graph")
    assert (record.no_graph, record.ranked) == (REFUSAL, True)


BYTES = 12_345


class Asked(FakeBackend):
    """The code of `asks` and of `bad` knows the bytes of its workspace, that of `fails` does not."""

    def __init__(self):
        super().__init__()
        self.bound = {}

    def count_workspace(self, loaded, plan):
        if plan.variant.name == "fails":
            raise LaunchError("bytes threw: no tile fits")
        return BYTES if plan.variant.name in ("asks", "bad") else plan.workspace

    def bind(self, name, steps, *rest, **options):
        (self.bound[name],) = steps
        return super().bind(name, steps, *rest, **options)


def test_loaded_code_is_asked_for_the_bytes_of_its_workspace(experiment):
    backend = Asked()
    asks, fails, naive = experiment("asks", "fails", "naive", backend=backend)
    assert (asks.status, asks.workspace) == ("ok", BYTES)
    assert (fails.status, fails.reason) == ("failed", "bytes threw: no tile fits")
    assert (naive.status, naive.workspace) == ("ok", 0)
    assert backend.bound["asks"].plan.workspace == BYTES and backend.bound["naive"].workspace is None


def test_the_workspace_of_a_row_is_guarded(experiment, launch):
    backend = Asked()

    def write_beyond(step, at):
        place = backend.bound["bad"].workspace
        place.memory.fill(place.offset, BYTES + 1, 0)

    launch(write_beyond)
    (bad,) = experiment("bad", backend=backend)
    assert bad.status == "wrong" and "wrote outside its workspace: 1 bytes after" in bad.reason


def test_a_library_may_use_as_much_as_a_kernel_that_is_asked(experiment, monkeypatch):
    leveled = []

    def level(chains):
        leveled.extend(chain.steps[0].workspace for chain in chains)
        return level_workspaces(chains)

    monkeypatch.setattr(module, "level_workspaces", level)
    experiment("asks", "naive", backend=Asked())
    assert leveled == [BYTES, 0]


class Watched(FakeExecutable):
    """Notes what is run, and what C is after the launch that is watched."""

    def time(self, launches):
        self.memory.ran.append(launches)
        return super().time(launches)

    def profile(self):
        self.memory.ran.append("watched")
        (step,), (at,) = self.steps, self.sets[0]
        step.launch(at)
        self.memory.result = step._view(at["C"], "C").copy()


@pytest.fixture
def run_once(make_plan, monkeypatch):
    """The memory of one watched launch, which was given back."""
    monkeypatch.setattr("gemmbench.backends.fake.backend.FakeExecutable", Watched)

    def run(problem, **faults):
        backend, kept = FakeBackend(Script(faults=faults)), []
        allocate = backend.allocate

        def noted(*sizes):
            kept.append(allocate(*sizes))
            kept[-1].ran = []
            return kept[-1]

        backend.allocate = noted
        try:
            launch_once(backend, make_plan("naive", problem), CODE, seed=3)
        finally:
            (memory,) = kept
            assert memory.bytes.size == 0
        return memory

    return run


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_one_launch_to_warm_up_and_one_to_watch_on_uniform_data(run_once, beta):
    problem = Problem(16, 24, 8, beta=beta)
    memory = run_once(problem)
    assert memory.ran == [1, "watched"]
    data = make_operands(problem, "uniform", 3)
    product = data["A"].astype(np.float64) @ data["B"]
    once = product + beta * data["C"]
    np.testing.assert_allclose(memory.result, product + beta * once if beta else product, rtol=1e-4, atol=1e-4)


def test_memory_is_given_back_after_a_crash(run_once):
    with pytest.raises(LaunchError):
        run_once(Problem(16, 24, 8), naive="crash")


@pytest.fixture
def overlapping(make_plan):
    """A plan whose only launch overlaps."""

    def make(problem=PROBLEM):
        usual = make_plan("naive", problem)
        geometry = replace(usual.geometry, pdl=True)
        return replace(usual, geometry=geometry, launches=(("gemm", geometry),))

    return make


@pytest.fixture
def overlaps(watch_calls):
    """Whether launches overlap, of each plan that the fake device gets."""
    found = set()
    watch_calls(FakeBackend, "load", lambda self, artifact, plan: found.add(plan.pdl))
    watch_calls(FakeBackend, "bind", lambda self, name, steps, *_, **__: found.update(step.plan.pdl for step in steps))
    watch_calls(
        FakeBackend,
        "job",
        lambda self, steps, *_: found.update(step.plan.pdl for step in steps if isinstance(step, LaunchStep)),
    )
    return found


@pytest.mark.parametrize(("key", "pdl"), [(True, True), (True, False), (False, True)])
def test_launches_overlap_if_the_kernel_has_the_key_and_the_policy_lets_them(
    experiment, make_plan, overlapping, overlaps, key, pdl
):
    plan = overlapping() if key else make_plan()
    (record,) = experiment(plans=[plan], policy=Policy(rounds=2, pdl=pdl))
    assert (record.status, record.pdl, overlaps) == ("ok", key and pdl, {key and pdl})


def test_a_profiler_sees_a_launch_without_overlap(overlapping, overlaps, monkeypatch):
    monkeypatch.setattr(FakeExecutable, "profile", lambda self: None, raising=False)
    launch_once(FakeBackend(), overlapping(), CODE, seed=3)
    assert overlaps == {False}


@pytest.mark.parametrize("pdl", [True, False])
def test_whole_jobs_follow_the_policy(overlapping, overlaps, pdl):
    panels = [Piece(panel, overlapping(panel.make_problem(PROBLEM)), CODE) for panel in cut_into_panels(PROBLEM, 2)]
    task = TransferTask(Piece(Panel(0, PROBLEM.M), overlapping(), CODE), tuple(panels))
    (batch,) = split_tasks([task], "fake", Policy(rounds=2, pdl=pdl), PanelCut(2, 2))
    records = LocalWorker({"fake": FakeBackend()}).experiment(batch)
    assert [record.status for record in records] == ["ok"] * 4
    assert ({record.pdl for record in records}, overlaps) == ({pdl}, {pdl})


def test_a_rotation_goes_on_so_that_no_launch_meets_a_set_that_a_neighbour_has_just_used(experiment, watch_calls):
    launched = []
    watch_calls(FakeExecutable, "launch", lambda self, index: launched.extend([index] * (len(self.sets) > 1)))
    policy = Policy(rounds=4, max_time=100.0)
    records = experiment("tiled", "naive", "naive_rows", policy=policy, changes={"phase": RANKING})
    stops = 2 * records[0].sets
    assert stops > 8
    assert len(launched) > 3 * 4
    # Every block begins with stop 0, at which the set is read that was written first.
    assert all(after in (0, (before + 1) % stops) for before, after in pairwise(launched))
    assert launched.count(0) < len(launched) / 4


SENSORS = {"power": 300, "temperature": 41, "slowed": ["power cap"], "others": 1}


def test_every_record_of_a_batch_has_the_telemetry_of_its_windows(experiment):
    backend = FakeBackend(Script(watch=SENSORS, times={"naive": 2e-3, "tiled": 1e-3}))
    for record in experiment("naive", "tiled", backend=backend, policy=Policy(rounds=60, until=0.0)):
        telemetry = record.telemetry
        assert (telemetry.temperature, telemetry.other_processes) == (41, 1)
        assert telemetry.readings >= 1


def test_a_row_that_fails_is_only_verified_or_ran_without_sensors_has_no_telemetry(experiment):
    backend = FakeBackend(Script(watch=SENSORS, faults={"bad": "crash"}))
    good, bad = experiment("naive", "bad", backend=backend)
    (verified,), (unseen,) = experiment("naive", backend=backend, measured=False), experiment("naive")
    assert good.telemetry is not None and unseen.samples
    assert [record.telemetry for record in (bad, verified, unseen)] == [None] * 3
