"""The runner: batches of any kind in order, and nothing twice that is done."""

from dataclasses import dataclass, replace

import pytest

from gemmbench.bench.experiments.batch import Batch
from gemmbench.bench.runner import Pace, PacedSteps, Runner
from gemmbench.planning.sweeps.policy import Policy


@dataclass(frozen=True, kw_only=True)
class Letters(Batch):
    """A batch whose parts are letters, each measured as its capital."""

    letters: str

    @property
    def title(self):
        return self.letters

    @property
    def keys(self):
        return tuple(self.letters)

    @property
    def variants(self):
        return ()

    def name_row(self, row):
        return self.letters[row]

    def without(self, done):
        left = "".join(letter for letter in self.letters if letter not in done)
        return replace(self, letters=left) if left else None


class FakeWorker:
    """Measures letters, and keeps what it was handed."""

    def __init__(self):
        self.devices, self.seen = {}, []

    def experiment(self, batch):
        self.seen.append(batch.letters)
        return [letter.upper() for letter in batch.letters]


def run(*texts, pace=None, **options):
    worker, emitted = FakeWorker(), []
    batches = [Letters(policy=Policy(), letters=text) for text in texts]
    return Runner(worker, emitted.extend, **options).run(batches, pace), worker.seen, emitted


def test_batches_run_in_order_every_record_is_emitted_and_what_is_done_comes_from_the_earlier_run():
    assert run("ab", "c") == (["A", "B", "C"], ["ab", "c"], ["A", "B", "C"])
    done = {"a": ["earlier A"], "c": ["earlier C"]}
    assert run("ab", "c", done=done) == (["earlier A", "B", "earlier C"], ["b"], ["B"])


def test_no_batch_begins_after_an_interruption():
    answers = iter([False, True])
    assert run("a", "b", "c", is_interrupted=lambda: next(answers)) == (["A"], ["a"], ["A"])


def test_progress_names_each_batch_and_says_how_much_time_is_left_where_that_is_known():
    told, pace = [], Pace([1.0, 2.0])
    run("a", "b", progress=lambda *what: told.append(what))
    assert told == [("sweep: a", 0, 2), ("sweep: b", 1, 2)]
    run("a", "b", progress=lambda *what: told.append(what), pace=pace)
    assert told[2] == ("sweep: a", 0, 2, 3.0, 2.0) and len(told[3]) == 5


def test_a_fault_of_a_row_stays_with_the_batch():
    fault = RuntimeError("x")
    batch = Letters(policy=Policy(), letters="ab").blame(1, fault)
    assert (batch.find_fault(0), batch.find_fault(1)) == (None, fault)


@pytest.mark.parametrize("factors", [(1, 1, 1), (0.2, 3, 1), (5, 0.5, 1), (2, 2, 2), (0.5, 0.5, 0.5)])
def test_the_time_left_does_not_jump_while_batches_grow(factors):
    """Whatever the small batches take, relative to their estimates, and whether the estimates are off for all."""
    pace = Pace([0.5, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0], later=30.0)
    told = pace.estimate_left(0)
    for number, cost in enumerate(pace.costs):
        took = cost * factors[min(number, 2)]
        expected = max(told - took, pace.estimate_left(number + 1))  # see SessionProgress
        pace.add(number, took)
        told = pace.estimate_left(number + 1)
        assert told == pytest.approx(expected, rel=1 / 3)


def test_batches_that_are_measured_scale_the_time_left_by_their_share_of_all_costs():
    pace = Pace([1.0, 2.0, 5.0], later=2.0)
    assert pace.estimate_left(0) == 10.0  # as estimated
    pace.add(0, 10.0)
    assert pace.estimate_left(1) == pytest.approx(7 * 11.5 / 2.5 + 2 * 2.0)  # what follows is other work
    pace.add(1, 5.0)
    assert pace.estimate_left(2) == pytest.approx(5 * 16.5 / 4.5 + 2 * 2.0)
    assert pace.follow([5.0], 2.0).estimate_left(0) == pace.estimate_left(2)
    resumed = Pace([1.0, 2.0])
    resumed.add(0, 1e-5)  # a batch of an earlier run
    assert resumed.estimate_left(1) == sum(resumed.costs[1:])


def test_steps_that_end_in_any_order_leave_the_time_of_the_others_and_of_what_follows(monkeypatch):
    told, now = [], [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    steps = PacedSteps(lambda *report: told.append(report), "watch", Pace([8.0, 1.0, 1.0], later=10.0))
    for number, seconds in ((1, 1.0), (0, 8.0), (2, 1.0)):
        now[0] += seconds
        steps.end(number)
    assert told == [
        ("sweep: watch", 1, 3, 19.0, 10.0),
        ("sweep: watch", 2, 3, 11.0, 10.0),
        ("sweep: watch", 3, 3, 10.0, 10.0),
    ]
