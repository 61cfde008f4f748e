"""Kernels that remember results, on a fake device whose launches take longer if they compute."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from gemmbench.backends.base import Window
from gemmbench.backends.fake.backend import FakeBackend, FakeExecutable, FakeStep
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.audit import Audit
from gemmbench.bench.experiments.seen_data import SeenData
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.record import RANKING
from gemmbench.bench.timing.rounds import LONG_WINDOW
from gemmbench.errors import LaunchError
from tests.bench.experiments.conftest import FIVE_BLOCKS, FIVE_SETS, open_device

COMPUTED, SKIPPED = 1e-3, 0.1e-3
FASTER = (
    "audit check: faster on data that it has seen: a launch takes 1000.0 us on new data, "
    "but 100.0 us on the same data again"
)


def view(step, at, name):
    return step._view(at[name], name)


def read(step, at, name):
    return view(step, at, name).copy()


@pytest.fixture
def remember(surround, monkeypatch):
    """A kernel that asks `knows` whether it may skip a launch, and what came of it and of its neighbours.

    Its launches take 100 us if it skips them, and the others 1000 us.
    """
    whole = FakeExecutable.time_exactly

    def time_exactly(self, launches):
        skipped = [0, 0]
        self.steps[0].skipped = skipped
        window = whole(self, launches)
        share = skipped[1] / max(1, sum(skipped))
        return replace(window, seconds=launches * ((1 - share) * COMPUTED + share * SKIPPED))

    monkeypatch.setattr(FakeExecutable, "time_exactly", time_exactly)

    def run(knows, learn=lambda step, at: None, **options):
        def launch(step, at):
            skips = bool(knows(step, at))
            getattr(step, "skipped", [0, 0])[skips] += 1
            if not skips:
                FakeStep.launch(step, at)
                learn(step, at)

        before, bad, after = surround(launch, policy=replace(FIVE_BLOCKS, **options))
        for healthy in (before, after):
            assert (healthy.status, healthy.reason, len(healthy.samples)) == ("ok", "", 10)
        return bad

    return run


def compute(step, at):
    """The right result of a launch, while C stays as it is."""
    before = read(step, at, "C")
    FakeStep.launch(step, at)
    right = read(step, at, "C")
    view(step, at, "C")[:] = before
    return right


@pytest.mark.parametrize("cache", ["cold", "hot"])
@pytest.mark.parametrize("data", ["uniform", "ints"])
def test_a_kernel_that_leaves_a_c_that_is_right_already_is_faster_on_seen_data(remember, cache, data):
    record = remember(lambda step, at: np.allclose(view(step, at, "C"), compute(step, at)), cache=cache, data=data)
    assert (record.status, record.diagnosis, record.reason) == ("wrong", "faster on seen data", FASTER)
    assert record.samples == pytest.approx([COMPUTED] * 10)  # and its time holds the work


def test_a_busy_host_hides_no_kernel_that_remembers_and_accuses_no_other(remember, monkeypatch):
    quiet, disturbed = FakeExecutable.time_exactly, itertools.cycle([20, 1, 20, 20, 1])

    def time_exactly(self, launches):
        window = quiet(self, launches)
        return replace(window, seconds=window.seconds * next(disturbed))

    monkeypatch.setattr(FakeExecutable, "time_exactly", time_exactly)
    record = remember(lambda step, at: np.allclose(view(step, at, "C"), compute(step, at)))
    assert (record.status, record.diagnosis, record.reason) == ("wrong", "faster on seen data", FASTER)


def test_ones_are_no_excuse(remember):
    record = remember(lambda step, at: np.allclose(view(step, at, "C"), compute(step, at)), data="ones")
    assert (record.status, record.diagnosis, record.data) == ("wrong", "faster on seen data", "ones")


def test_a_kernel_that_copies_the_result_of_equal_operands_is_faster_on_seen_data(remember):
    kept = {}

    def make_key(step, at):
        return read(step, at, "A").tobytes(), read(step, at, "B").tobytes()

    def knows(step, at):
        result = kept.get(make_key(step, at))
        if result is not None:
            view(step, at, "C")[:] = result
        return result is not None

    def learn(step, at):
        kept[make_key(step, at)] = read(step, at, "C")

    record = remember(knows, learn)
    assert (record.status, record.diagnosis, record.reason) == ("wrong", "faster on seen data", FASTER)


def test_a_kernel_that_packs_a_b_that_it_has_not_seen_is_faster_on_seen_data(remember):
    packed = {}

    def knows(step, at):
        b = read(step, at, "B")
        known = np.array_equal(packed.get(at["B"]), b)
        packed[at["B"]] = b
        if known:
            FakeStep.launch(step, at)
        return known

    assert remember(knows).diagnosis == "faster on seen data"


@pytest.mark.parametrize("names", ["A", "ABC"])
def test_a_kernel_that_looks_at_a_few_numbers_is_wrong_when_it_is_timed(remember, names):
    seen = {}

    def sample(step, at):
        return tuple(view(step, at, name)[::50, ::9].tobytes() for name in names)

    def knows(step, at):
        return seen.get((id(step), at["A"])) == sample(step, at) and np.isfinite(view(step, at, "C")).all()

    def learn(step, at):
        seen[id(step), at["A"]] = sample(step, at)

    record = remember(knows, learn)
    assert (record.status, record.check_rule) == ("wrong", "audit")
    assert record.diagnosis in ("wrong when timed", "faster on seen data"), record.reason


def test_a_kernel_that_only_gets_slower_when_a_was_changed_is_no_cheat_unless_it_matters(remember):
    """It is 1.1 times as fast on seen data: below what a disturbance may do."""
    seen = {}
    calls = itertools.count()

    def knows(step, at):
        a = read(step, at, "A").tobytes()
        known, seen[at["A"]] = seen.get(at["A"]) == a, a
        FakeStep.launch(step, at)
        return known and next(calls) % 10 == 0

    record = remember(knows)
    assert (record.status, record.reason) == ("ok", "")


def test_a_kernel_that_skips_every_other_timed_launch_keeps_the_result_of_another_one(surround, monkeypatch):
    """It is right in every audit and in every replay, because it knows when it is looked at."""
    monkeypatch.setattr(SeenData, "replay", lambda *_: None)
    audited, launches = [], itertools.count()
    run = Audit.run

    def noted(self, trial, executable):
        audited.append(trial.name)
        try:
            return run(self, trial, executable)
        finally:
            audited.clear()

    monkeypatch.setattr(Audit, "run", noted)

    def skips(step, at):
        if audited or np.isnan(view(step, at, "C")).any() or next(launches) < 8:
            FakeStep.launch(step, at)

    _, bad, _ = surround(skips)
    assert (bad.status, bad.diagnosis) == ("wrong", "wrong when timed")
    assert bad.reason.startswith("audit check: wrong when timed: ")


@pytest.mark.parametrize("sets", [2, 3, 5, 16])
@pytest.mark.parametrize("seconds", [10e-6, 1e-3, [10e-6, 10e-6, 1e-3]], ids=["graphs", "launches", "mixed"])
def test_no_launch_that_is_timed_or_audited_finds_its_own_result(experiment, monkeypatch, sets, seconds):
    monkeypatch.setattr(SeenData, "replay", lambda *_: None)
    backend, found, launch = open_device(), [], FakeStep.launch
    times = seconds if isinstance(seconds, list) else [seconds] * 3
    names = ("naive", "tiled", "cublas")
    backend.script = Script(times=dict(zip(names, times, strict=True)))
    target = replace(backend.device.target, l2=FIVE_SETS.bytes * (sets - 1) // 4 + 1)
    backend.device = replace(backend.device, target=target)

    def launch_and_compare(step, at):
        before = read(step, at, "C")
        launch(step, at)
        if not np.isnan(before).any():
            found.append(int((before == view(step, at, "C")).all(axis=1).sum()))

    def make_every_launch(self, launches):
        for stop in self.rotation.take(launches):
            self.launch(stop)
        return Window(self._seconds * launches, launches)

    monkeypatch.setattr(FakeStep, "launch", launch_and_compare)
    monkeypatch.setattr(FakeExecutable, "time_exactly", make_every_launch)
    records = experiment(*names, problem=FIVE_SETS, policy=FIVE_BLOCKS, backend=backend)
    assert {(record.status, record.sets) for record in records} == {("ok", sets)}
    assert len(found) > 50 and max(found) == 0  # not even a row


def test_on_the_only_set_a_launch_finds_no_result(experiment, monkeypatch):
    monkeypatch.setattr(SeenData, "replay", lambda *_: None)
    monkeypatch.setattr(FakeBackend, "free_memory", lambda self: FIVE_SETS.bytes * 2)
    monkeypatch.setattr("gemmbench.bench.experiments.experiment._SHARE_OF_FREE", 1.0)
    monkeypatch.setattr("gemmbench.bench.experiments.workload.count_cold_sets", lambda *_: (1, False))
    found, launch = [], FakeStep.launch

    def launch_and_compare(step, at):
        before = read(step, at, "C")
        launch(step, at)
        found.append(np.array_equal(before, view(step, at, "C")))

    monkeypatch.setattr(FakeStep, "launch", launch_and_compare)
    policy = replace(FIVE_BLOCKS, window=1e-9)
    (record,) = experiment("naive", problem=FIVE_SETS, policy=policy, backend=open_device(times={"naive": 1.0}))
    assert (record.status, record.sets) == ("ok", 1)
    assert len(found) > 10 and not any(found)


def test_operands_change_before_every_timed_window_and_are_as_they_were_in_the_audit(experiment, watch_calls):
    windows, audits, audited = [], [], []

    def note(self, launches):
        if len(self.sets) > 1 and not audited:
            windows.append(read(self.steps[0], self.sets[self.rotation.list_next(1)[0]][0], "A"))

    def begin(self, write=False):
        audits.append((write, self.arena.find_damage()))
        audited.append(self)

    watch_calls(FakeExecutable, "time", note)
    watch_calls(Audit, "begin", begin)
    watch_calls(Arena, "place", lambda self, shift: audited.clear())
    experiment("naive", problem=FIVE_SETS, policy=replace(FIVE_BLOCKS, rounds=6), backend=open_device())
    assert len({each.tobytes() for each in windows}) == len(windows) > 6
    assert len({np.abs(each).tobytes() for each in windows}) <= 2  # as set 0, or doubled: only signs change
    assert audits == [(False, "")] * 3


def test_the_operands_of_a_short_load_stay_as_they_are(experiment, watch_calls):
    altered = []
    watch_calls(Arena, "alter", lambda self, alteration: altered.append(alteration))
    (record,) = experiment("naive", problem=FIVE_SETS, policy=FIVE_BLOCKS, changes={"phase": RANKING})
    assert (record.status, set(altered)) == ("ok", {None})


@pytest.mark.parametrize(("seconds", "replays", "pairs"), [(0.1e-3, 5, 4), (1e-3, 1, 4), (2 * LONG_WINDOW, 1, 1)])
def test_launches_that_are_windows_are_replayed_once(experiment, watch_calls, seconds, replays, pairs):
    exactly, begun = [], []
    watch_calls(FakeExecutable, "time_exactly", lambda self, launches: exactly.append(launches))
    watch_calls(FakeExecutable, "time", lambda self, launches: exactly.pop() if exactly and not exactly[-1] else None)
    watch_calls(SeenData, "replay", lambda *_: begun.append(len(exactly)))
    watch_calls(SeenData, "_restore", lambda *_: begun.append(len(exactly)))
    backend = open_device(times={"naive": seconds})
    (record,) = experiment("naive", problem=FIVE_SETS, policy=FIVE_BLOCKS, backend=backend)
    assert record.status == "ok"
    assert [after - before for before, after in zip(begun[::2], begun[1::2], strict=True)] == [2 * pairs] * replays


def test_a_kernel_that_crashes_in_its_replay_is_not_audited_and_leaves_nothing_to_the_next_row(surround, monkeypatch):
    replayed, replay = [], SeenData.replay

    def note(self, trial, *rest):
        replayed.append(trial.name)
        try:
            return replay(self, trial, *rest)
        finally:
            replayed.clear()

    def crash(step, at):
        FakeStep.launch(step, at)
        if replayed:
            raise LaunchError("an illegal address")

    audited, run = [], Audit.run
    monkeypatch.setattr(SeenData, "replay", note)
    monkeypatch.setattr(Audit, "run", lambda self, trial, *rest: audited.append(trial.name) or run(self, trial, *rest))
    before, bad, after = surround(crash)
    assert (bad.status, bad.reason, bad.samples) == ("failed", "an illegal address", [])
    assert (before.status, after.status, set(audited)) == ("ok", "ok", {"naive", "cublas"})
