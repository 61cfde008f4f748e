"""A batch on the fake device: graphs of turns, rotation, overlap, workspaces, telemetry, one launch to watch."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from gemmbench.backends.base import Artifact, Build, Rotation
from gemmbench.backends.fake.backend import FakeBackend, FakeExecutable
from gemmbench.backends.fake.script import Script
from gemmbench.backends.jobs import LaunchStep
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.experiments.experiment import launch_once
from gemmbench.bench.experiments.transfer_tasks import Piece, TransferTask, split_tasks
from gemmbench.bench.operands.fill import make_operands
from gemmbench.bench.record import RANKING
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import LaunchError, NotOffered
from gemmbench.planning.plans.plan import level_workspaces
from gemmbench.planning.problems import Panel, PanelCut, Problem, cut_into_panels
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


BYTES = 12_345


class Asked(FakeBackend):
    """The code of `asks` knows the bytes of its workspace, that of `fails` does not."""

    def __init__(self):
        super().__init__()
        self.bound = {}

    def count_workspace(self, loaded, plan):
        if plan.variant.name == "fails":
            raise LaunchError("bytes threw: no tile fits")
        return BYTES if plan.variant.name == "asks" else plan.workspace

    def bind(self, name, steps, *rest, **options):
        (step,) = steps
        self.bound[name] = step
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
    backend.count_workspace = lambda loaded, plan: BYTES

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

    monkeypatch.setattr("gemmbench.bench.experiments.experiment.level_workspaces", level)
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
        self.memory.result = step._view(at.C, "C").copy()


@pytest.fixture
def run(make_plan, monkeypatch):
    monkeypatch.setattr("gemmbench.backends.fake.backend.FakeExecutable", Watched)

    def launch(problem, **faults):
        backend, kept = FakeBackend(), []
        if faults:
            backend.script = type(backend.script)(faults=faults)
        allocate = backend.allocate

        def noted(*sizes):
            memory = allocate(*sizes)
            memory.ran = []
            kept.append(memory)
            return memory

        backend.allocate = noted
        try:
            launch_once(backend, make_plan("naive", problem), Artifact("key", "", Build()), seed=3)
        finally:
            (memory,) = kept
            assert memory.bytes.size == 0, "it is given back"
        return memory

    return launch


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_one_launch_to_warm_up_and_one_to_watch_on_uniform_data(run, beta):
    problem = Problem(16, 24, 8, beta=beta)
    memory = run(problem)
    assert memory.ran == [1, "watched"]
    data = make_operands(problem, "uniform", 3)
    product = data.A.astype(np.float64) @ data.B
    once = product + beta * data.C
    np.testing.assert_allclose(memory.result, product + beta * once if beta else product, rtol=1e-4, atol=1e-4)


def test_memory_is_given_back_after_a_crash(run):
    with pytest.raises(LaunchError):
        run(Problem(16, 24, 8), naive="crash")


@pytest.fixture
def plan(make_plan):
    """A plan whose only launch overlaps."""

    def make(problem=PROBLEM):
        usual = make_plan("naive", problem)
        geometry = replace(usual.geometry, pdl=True)
        return replace(usual, geometry=geometry, launches=(("gemm", geometry),))

    return make


@pytest.fixture
def backend():
    """The fake device; `overlaps` notes of each plan that it gets whether its launches overlap."""

    class Noting(FakeBackend):
        def __init__(self):
            super().__init__()
            self.overlaps = set()

        def load(self, artifact, plan):
            self.overlaps.add(plan.pdl)
            return super().load(artifact, plan)

        def bind(self, name, steps, *arguments, **options):
            self.overlaps.update(step.plan.pdl for step in steps)
            return super().bind(name, steps, *arguments, **options)

        def job(self, steps, *arguments):
            self.overlaps.update(step.plan.pdl for step in steps if isinstance(step, LaunchStep))
            return super().job(steps, *arguments)

    return Noting()


@pytest.mark.parametrize("pdl", [True, False])
def test_the_policy_decides_and_the_row_says_which(plan, backend, pdl):
    batch = make_gemm_batch([plan()], [CODE], Policy(rounds=2, pdl=pdl))
    (record,) = LocalWorker({"fake": backend}).experiment(batch)
    assert (record.status, record.pdl, backend.overlaps) == ("ok", pdl, {pdl})


def test_a_kernel_without_the_key_never_overlaps(make_plan, backend):
    (record,) = LocalWorker({"fake": backend}).experiment(make_gemm_batch([make_plan()], [CODE], Policy(rounds=2)))
    assert (record.pdl, backend.overlaps) == (False, {False})


def test_a_profiler_sees_a_launch_without_overlap(plan, backend, monkeypatch):
    monkeypatch.setattr("gemmbench.backends.fake.backend.FakeExecutable.profile", lambda self: None, raising=False)
    launch_once(backend, plan(), CODE, seed=3)
    assert backend.overlaps == {False}


@pytest.mark.parametrize("pdl", [True, False])
def test_whole_jobs_follow_the_policy(plan, backend, pdl):
    panels = [Piece(panel, plan(panel.make_problem(PROBLEM)), CODE) for panel in cut_into_panels(PROBLEM, 2)]
    task = TransferTask(Piece(Panel(0, PROBLEM.M), plan(), CODE), tuple(panels))
    (batch,) = split_tasks([task], "fake", Policy(rounds=2, pdl=pdl), PanelCut(2, 2))
    records = LocalWorker({"fake": backend}).experiment(batch)
    assert [record.status for record in records] == ["ok"] * 4
    assert ({record.pdl for record in records}, backend.overlaps) == ({pdl}, {pdl})


@pytest.fixture
def launched(monkeypatch):
    """The operand sets of all launches that rotate, in order."""
    sets, launch = [], FakeExecutable.launch

    def logged(self, index):
        if len(self.sets) > 1:
            sets.append(index)
        launch(self, index)

    monkeypatch.setattr(FakeExecutable, "launch", logged)
    return sets


def test_a_rotation_goes_on_where_the_launch_before_stopped():
    rotation = Rotation(3)
    assert [rotation.take(2), rotation.take(1), rotation.take(5)] == [[0, 1], [2], [0, 1, 2, 0, 1]]
    assert rotation.position == 2


def test_no_launch_meets_a_set_that_a_neighbour_has_just_used(experiment, launched):
    records = experiment("tiled", "naive", "coalesced", policy=Policy(rounds=4, max_time=100.0))
    sets = records[0].sets
    assert sets > 4
    assert len(launched) > 3 * 4
    # Every block begins with set 0, the one that was written first.
    assert all(after in (0, (before + 1) % sets) for before, after in pairwise(launched))
    assert launched.count(0) < len(launched) / 4


SAYS = {"power": 300, "temperature": 41, "slowed": ["power cap"], "others": 1}


@pytest.fixture
def watched():
    return FakeBackend(Script(watch=SAYS, times={"naive": 2e-3, "tiled": 1e-3}))


def test_every_record_of_a_batch_says_what_was_seen(experiment, watched):
    for record in experiment("naive", "tiled", backend=watched, policy=Policy(rounds=60, until=0.0)):
        telemetry = record.telemetry
        assert (telemetry.temperature, telemetry.other_processes) == (41, 1)
        assert telemetry.readings >= 1 and telemetry.energy is None


def test_a_device_that_says_nothing_leaves_nothing(experiment):
    (record,) = experiment("naive")
    assert record.telemetry is None and record.samples


def test_a_row_that_fails_has_nothing_that_was_seen(experiment):
    backend = FakeBackend(Script(watch=SAYS, faults={"bad": "crash"}))
    good, bad = experiment("naive", "bad", backend=backend)
    assert good.telemetry is not None and bad.telemetry is None


def test_verifying_alone_looks_at_nothing(experiment, watched):
    (record,) = experiment("naive", backend=watched, measured=False)
    assert record.telemetry is None
