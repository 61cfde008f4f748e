"""Blocks differ in placement, binding and permutations, and each is audited."""

from collections import Counter
from dataclasses import replace

import pytest

from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.bench.experiments.audit import Audit
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.operands.placement import SLACK
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.planning.problems import Problem
from tests.bench.experiments.conftest import FIVE_BLOCKS


@pytest.fixture
def places(watch_calls):
    """Where A of the first set was at each binding to all sets, by the name of the row."""
    found = {}

    def note(self, name, steps, *rest, **options):
        if len(steps[0].sets) > 1:
            found.setdefault(name, []).append(steps[0].sets[0]["A"])

    watch_calls(FakeBackend, "bind", note)
    return found


def test_every_block_has_a_placement_and_bindings_of_its_own_and_is_audited(experiment, places, watch_calls):
    audited = Counter()
    watch_calls(Audit, "run", lambda self, trial, executable: audited.update([trial.name]))
    records = experiment("naive", "tiled", policy=FIVE_BLOCKS)
    assert [sorted(set(record.blocks)) for record in records] == [[0, 1, 2, 3, 4]] * 2
    assert audited == {"naive": 5, "tiled": 5}
    assert places["naive"] == places["tiled"]
    first = min(places["naive"])
    assert len(set(places["naive"])) == len(places["naive"]) == 5
    assert all((place - first) % 512 == 0 and place - first <= SLACK for place in places["naive"])


def test_the_workspaces_of_every_row_are_placed_anew_in_every_block(experiment, watch_calls):
    placed = []
    watch_calls(Scratch, "place", lambda self, rng: placed.append(self))
    experiment("naive", "tiled", policy=FIVE_BLOCKS)
    assert sorted(Counter(map(id, placed)).values()) == [5, 5]


def test_placements_and_permutations_follow_from_the_seed(experiment, places):
    def measure(shuffle):
        places.clear()
        experiment("naive", policy=FIVE_BLOCKS, changes={"shuffle": shuffle})
        return places["naive"]

    assert measure(1) == measure(1) != measure(2)


def test_a_kernel_that_goes_wrong_in_a_later_block_keeps_only_the_samples_of_those_before(experiment, watch_calls):
    blocks = Counter()

    def fail_in_the_third(self, trial, executable):
        blocks[trial.name] += 1
        if trial.name == "bad" and blocks["bad"] == 3:
            executable._executable.fault = "zero"
            for step in executable._executable.steps:
                step.fault = "zero"

    watch_calls(Audit, "run", fail_in_the_third)
    good, bad = experiment("naive", "bad", policy=FIVE_BLOCKS)
    assert (good.status, set(good.blocks)) == ("ok", {0, 1, 2, 3, 4})
    assert (bad.status, set(bad.blocks)) == ("wrong", {0, 1})


def test_a_block_begins_with_the_set_that_was_written_first():
    arena = Arena(FakeBackend(), GemmLayout(Problem(8, 8, 8)), 3)
    arena.rotation.take(2)
    arena.place(512)
    assert arena.rotation.position == 0


AUDITED_ONCE = replace(FIVE_BLOCKS, audit_once=True)


@pytest.mark.parametrize(
    ("place", "left"),
    [
        ((Audit, "begin"), []),  # after the last window, before any audit
        ((FakeBackend, "bind"), []),  # in the second block, long before
        ((Audit, "run"), ["naive"]),  # in the first of two audits
    ],
)
def test_no_row_has_times_if_an_interruption_comes_before_its_only_audit(experiment, watch_calls, place, left):
    stopped, calls, at = [], Counter(), 8 if place[1] == "bind" else 1

    def stop(*_, **__):
        calls[place] += 1
        if calls[place] == at:
            stopped.append(True)

    watch_calls(*place, stop)
    records = experiment("naive", "tiled", policy=AUDITED_ONCE, is_interrupted=lambda: bool(stopped))
    assert stopped and [record.variant for record in records] == left
    assert all(record.status == "ok" and record.stopped == "interrupted" and record.samples for record in records)


def test_a_wrong_row_is_wrong_if_an_interruption_comes_in_its_only_audit(experiment, watch_calls):
    stopped = []

    def spoil(self, trial, executable):
        stopped.append(True)
        executable._executable.fault = "zero"
        for step in executable._executable.steps:
            step.fault = "zero"

    watch_calls(Audit, "run", spoil)
    (record,) = experiment("naive", "tiled", policy=AUDITED_ONCE, is_interrupted=lambda: bool(stopped))
    assert (record.variant, record.status) == ("naive", "wrong")
