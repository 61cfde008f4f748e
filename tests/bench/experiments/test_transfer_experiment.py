"""The whole job in four modes: digits by hand on the fake device, every fault on the row it belongs to.

The problem of the digits is 256 x 128 x 64 in f32: B has 32,768 bytes, A twice, C four times as many, and
4,194,304 operations. At the rates below B is copied in 1 ms, A in 2, computed in 8, and C copied out in 4."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeBackend, FakeStep
from gemmbench.backends.fake.script import FakeJob, Script
from gemmbench.backends.jobs import LaunchStep
from gemmbench.bench.experiments import transfer_experiment as transfers
from gemmbench.bench.experiments.transfer_tasks import Piece, TransferTask, make_job_steps, split_tasks
from gemmbench.bench.runner import Runner
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import OutOfMemory
from gemmbench.planning.problems import LAYOUTS, Panel, PanelCut, Problem, cut_into_panels
from gemmbench.planning.sweeps.policy import Policy
from tests.bench.conftest import CODE

SIZE = Problem(256, 128, 64)
RATES = {"h2d": 32768e3, "d2h": 32768e3, "pageable": 16384e3, "flops": 4194304e3 / 8}
QUICK = Policy(rounds=4)
FOUR = PanelCut(4, 3)
MODES = ["pageable", "pinned", "panels", "overlapped"]


@pytest.fixture
def task(make_plan):
    """A kernel with its panels."""

    def make(name="naive", problem=SIZE, panels=4, why_not="", key="code", **changed):
        def piece(panel):
            return Piece(panel, make_plan(name, panel.make_problem(problem), **changed), replace(CODE, key=key))

        panels = () if why_not else tuple(map(piece, cut_into_panels(problem, panels)))
        return TransferTask(piece(Panel(0, problem.M)), panels, why_not)

    return make


@pytest.fixture
def measured(task):
    """The rows of tasks, by default of one."""

    def run(*tasks, backend=None, faults=None, policy=QUICK, how=FOUR, done=(), is_interrupted=lambda: False):
        device, rows = backend or FakeBackend(Script(transfers=RATES, faults=faults or {})), []
        worker = LocalWorker({"fake": device}, is_interrupted=is_interrupted)
        runner = Runner(worker, rows.extend, is_interrupted=is_interrupted, done={key: [] for key in done})
        runner.run(split_tasks(tasks or [task()], "fake", policy, how))
        return rows

    return run


def parts(row):
    return [values[0] * 1e3 for values in (row.h2d, row.kernel, row.d2h)]


def test_the_digits_of_the_four_modes(measured):
    rows = measured()
    assert [row.mode for row in rows] == MODES
    assert [row.samples for row in rows] == [pytest.approx([total] * 4) for total in (22e-3, 15e-3, 15e-3, 10.5e-3)]
    assert [parts(row) for row in rows[:3]] == [pytest.approx(three) for three in ([6, 8, 8], [3, 8, 4], [3, 8, 4])]
    assert (rows[3].h2d, rows[3].kernel, rows[3].d2h) == ([], [], [])
    shapes = [(row.panels, row.panel_rows, row.streams) for row in rows]
    assert shapes == [(1, 256, 1), (1, 256, 1), (4, 64, 1), (4, 64, 3)]
    assert {(row.h2d_bytes, row.b_bytes, row.d2h_bytes) for row in rows} == {(3 * 32768, 32768, 4 * 32768)}
    assert {(row.status, row.checked, row.check_rule) for row in rows} == {("ok", True, "rounding")}
    assert [row.rounds for row in rows] == [[0, 1, 2, 3]] * 4
    assert [row.gated for row in rows] == [False, True, True, True]


def test_a_window_of_short_jobs_holds_several_and_a_sample_is_their_mean(measured):
    rates = {name: 40 * rate for name, rate in RATES.items()}
    pinned = measured(backend=FakeBackend(Script(transfers=rates)))[1]
    assert pinned.launches == 5  # 0.375 ms each; the fastest mode, of 0.26 ms, needs so many to last 1 ms
    assert pinned.samples == pytest.approx([15e-3 / 40] * 4)
    assert parts(pinned) == pytest.approx([3 / 40, 8 / 40, 4 / 40])


@pytest.mark.parametrize("beta", [0.0, 0.5])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_right_with_a_lower_last_panel(measured, task, layout, beta):
    problem = Problem(160, 24, 17, layout, alpha=2.0, beta=beta)
    rows = measured(task(problem=problem))
    assert [(row.status, row.reason) for row in rows] == [("ok", "")] * 4
    assert rows[3].panels == 3
    assert rows[0].h2d_bytes == 4 * (160 * 17 + 17 * 24 + (160 * 24 if beta else 0))


def test_a_launch_that_does_not_wait_for_its_copy_is_wrong(measured, monkeypatch):
    def early(matrices, pieces, at, streams):
        found = make_job_steps(matrices, pieces, at, streams)
        if streams > 1:  # the second panel is computed before it is there
            found[4], found[5] = found[5], found[4]
        return found

    monkeypatch.setattr(transfers, "make_job_steps", early)
    *right, wrong = measured()
    assert {row.status for row in right} == {"ok"}
    assert wrong.status == "wrong" and wrong.samples == []
    assert wrong.reason.startswith("exact check: 8192 of 32768 elements wrong, first C[64][0] = nan")


def test_a_panel_that_is_not_copied_back_is_wrong(measured, monkeypatch):
    monkeypatch.setattr(transfers, "make_job_steps", lambda *all: make_job_steps(*all)[: -1 if all[3] > 1 else None])
    assert [row.status for row in measured()] == ["ok", "ok", "ok", "wrong"]


@pytest.mark.parametrize(("deterministic", "status"), [(True, "wrong"), (False, "ok")])
def test_what_changes_in_its_last_bits_is_wrong_unless_its_sums_may(measured, task, monkeypatch, deterministic, status):
    launch, count = FakeStep.launch, itertools.count(1)

    def drifts(self, at):
        launch(self, at)
        if self.problem.M == 64 and (number := next(count)) > 40:
            self._view(at["C"], "C")[0, 0] *= np.float32(1 + 2**-23) ** (number % 3)

    monkeypatch.setattr(FakeStep, "launch", drifts)
    rows = measured(task(deterministic=deterministic))
    assert [row.status for row in rows] == ["ok", "ok", "ok", status]
    reason = "repeat check: differs from the same launches in mode panels: a race"
    assert rows[3].reason == (reason if deterministic else "")


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("last_column", "wrong", "exact check: 256 of 32768 elements wrong"),
        ("overrun", "wrong", "guard check: wrote outside its output"),
        ("crash", "failed", "crashed, as scripted"),
    ],
)
def test_a_fault_is_blamed_on_its_kernel_and_the_others_are_kept(measured, task, fault, status, words):
    rows = measured(task("naive"), task("bad"), faults={"bad": fault})
    assert [(row.variant, row.status) for row in rows] == [("naive", "ok")] * 4 + [("bad", status)] * 4
    assert rows[4].reason.startswith(words)


def test_without_panels_the_plain_modes_are_measured(measured, task):
    rows = measured(task(why_not="a panel of 64 rows: require M % 128 == 0 (cuda/x.cu:9)"))
    assert [(row.status, len(row.samples)) for row in rows] == [("ok", 4), ("ok", 4), ("skipped", 0), ("skipped", 0)]
    assert rows[3].reason == "a panel of 64 rows: require M % 128 == 0 (cuda/x.cu:9)"


@pytest.fixture
def held(monkeypatch):
    """The memory that has not been given back; every piece is added as it is allocated."""
    kept = []

    def keep_what(allocate):
        def keep(self, *arguments):
            memory = allocate(self, *arguments)
            kept.append(memory)
            memory.free = lambda: kept.remove(memory)
            return memory

        return keep

    for name in ("host", "allocate"):
        monkeypatch.setattr(FakeBackend, name, keep_what(getattr(FakeBackend, name)))
    return kept


def test_memory_that_cannot_be_pinned_is_told_on_every_row_and_the_rest_is_given_back(measured, held, watch_calls):
    fault, seen = OutOfMemory("131,072 bytes of host memory cannot be page-locked"), []

    def refuse(self, nbytes, pinned):
        seen.extend(held)
        if pinned:
            raise fault

    watch_calls(FakeBackend, "host", refuse)
    assert [(row.status, row.reason) for row in measured()] == [("out of memory", str(fault))] * 4
    assert seen and held == []


def test_all_memory_is_given_back_after_a_problem(measured, task, held):
    measured(task(), task(problem=Problem(64, 64, 64)))
    assert held == []


def test_the_modes_of_a_kernel_are_measured_in_mirrored_rounds(measured, watch_calls):
    order = []
    watch_calls(transfers.ModeTrial, "time", lambda self, launches: order.append(self.mode))
    measured()
    rounds = [order[start : start + 4] for start in range(len(order) - 16, len(order), 4)]
    assert all(sorted(found) == sorted(MODES) for found in rounds)
    assert rounds[1] == rounds[0][::-1] and rounds[3] == rounds[2][::-1]


def test_an_interrupted_measurement_keeps_the_samples_it_has(measured, task, watch_calls):
    jobs = []
    watch_calls(FakeJob, "run", jobs.append)
    rows = measured(task(), task("other"), is_interrupted=lambda: len(jobs) > 38)
    assert rows and {row.variant for row in rows} == {"naive"}
    assert {row.stopped for row in rows if len(row.samples) < 4} == {"interrupted"}


def test_what_is_done_is_not_repeated_and_a_change_of_anything_is_another_key(measured, task):
    (key,) = {row.key for row in measured()}
    assert measured(done={key}) == []
    others = [
        measured(task(key="new code"))[0],
        measured(task(panels=2))[0],
        measured(how=PanelCut(4, 2))[0],
        measured(policy=Policy(rounds=2))[0],
        measured(task("tiled"))[0],
    ]
    assert len({key, *(row.key for row in others)}) == 6


def test_every_launch_of_a_pipeline_has_operands_of_its_own(measured, watch_calls):
    seen = []

    def note(self, queue, *rest):
        seen.append([(step.at["A"], step.at["C"]) for step in queue if isinstance(step, LaunchStep)])

    watch_calls(FakeBackend, "job", note)
    measured()
    assert all(len(set(at)) == len(at) for at in seen) and max(map(len, seen)) == 4
