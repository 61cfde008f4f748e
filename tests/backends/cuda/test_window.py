"""The order in which windows are queued, on a stream that only writes down what it is given."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from gemmbench.backends.base import Rotation, Window
from gemmbench.backends.cuda.gate import QUEUE
from gemmbench.backends.cuda.window import Calls, WindowTimer, run_back_to_back
from gemmbench.errors import LaunchError


class Event:
    """An event that has come after two looks; every window takes 2 ms."""

    def __init__(self):
        self.looks = 0

    def record(self, stream):
        stream.append("event")

    def query(self):
        self.looks += 1
        return self.looks > 2

    def synchronize(self):
        pass

    def time_since(self, _):
        return 2.0


@pytest.fixture(autouse=True)
def driver(stub_pycuda):
    return stub_pycuda(Event=Event)


@pytest.fixture
def make_timer(log, driver):
    """A timer of launches on as many sets, or of these launches."""

    def make(sets=3, kernels=1, gate=True, launches=None, rotation=None, loaded=False, **graphs):
        queue = launches or [lambda name=name: log.append(name) for name in "ABCDE"[:sets]]
        calls = Calls(tuple(queue), "block 32x32x1", kernels, **graphs)
        flush = lambda: log.append("flush")  # noqa: E731
        return WindowTimer(calls, (driver.Error,), log, log, log if gate else None, rotation, loaded, flush)

    return make


def test_a_launch_of_more_kernels_than_the_queue_holds_is_timed_without_a_gate(make_timer):
    """As a batch of very many products that is launched product by product."""
    window = make_timer(kernels=QUEUE + 1, loaded=True).time(2)
    assert (window.launches, window.gated) == (2, False)
    assert make_timer(kernels=QUEUE, loaded=True).time(2).gated
    assert math.isnan(make_timer(kernels=QUEUE + 1, loaded=True).time_alone())


def test_the_next_window_is_queued_before_the_last_has_ended(log):
    looks = []
    windows = run_back_to_back(lambda: log.append("launches"), 7, log, log, lambda: looks.append(len(log)))
    first = next(windows)
    boundary = ["event", "mark", "event"]
    assert log == [*boundary, "launches", *boundary, "launches", *boundary]
    assert looks == [len(log)] * 2
    assert (first.seconds, first.launches) == (pytest.approx(2e-3), 7)
    next(windows)
    assert log.count("launches") == 3
    windows.close()
    assert log[-1] == "wait"


def test_it_waits_for_the_device_when_queueing_fails(log):
    with pytest.raises(ZeroDivisionError):
        next(run_back_to_back(lambda: 1 / 0, 1, log, log, lambda: None))
    assert log[-1] == "wait"


def test_the_first_window_is_not_held_and_later_ones_are(log, make_timer):
    run = make_timer()
    assert run.time(1) == Window(2e-3, 1, 1.5e9, gated=False)
    assert log == ["stamp0", "event", "A", "event", "stamp1", "wait"]
    log.clear()
    assert run.time(2) == Window(2e-3, 2, 1.5e9)
    assert log == ["close", "stamp0", "event", "B", "C", "event", "stamp1", "open", "wait"]


def test_one_product_alone_follows_a_flush_and_is_never_a_graph(log, make_timer):
    graphs = SimpleNamespace(prepare=lambda launches: None, launch=lambda: log.append("graph"))
    run = make_timer(loaded=True, turns=1, graphs=graphs)
    assert [run.time_alone(), run.time_alone()] == [2e-3] * 2
    alone = ["flush", "close", "event", "{}", "event", "open", "wait"]
    assert log == [entry.format(name) for name in "AB" for entry in alone]


def test_without_a_gate_or_before_its_first_launch_no_product_is_timed_alone(log, make_timer, monkeypatch):
    assert math.isnan(make_timer(gate=False, loaded=True).time_alone()) and math.isnan(make_timer().time_alone())
    assert log == []
    monkeypatch.setattr(type(log), "expired", True)
    assert math.isnan(make_timer(loaded=True).time_alone())


def test_launches_rotate_through_the_sets_and_go_on_where_they_stopped(log, make_timer):
    run = make_timer()
    for launches in (1, 4, 2):
        run.time(launches)
    assert "".join(entry for entry in log if len(entry) == 1) == "ABCABCA"


def test_more_than_the_queue_holds_is_timed_in_several_windows(log, make_timer):
    window = make_timer(kernels=2).time(600)
    assert log.count("event") == 2 * 3
    assert log.count("close") == 2
    assert window == Window(pytest.approx(6e-3), 600, pytest.approx(1.5e9), gated=False)  # its first part


def test_an_unknown_clock_in_one_part_is_unknown_in_all(log, make_timer):
    log.hertz = 0.0
    assert make_timer().time(1000).clock_hz == 0


@pytest.mark.parametrize(("expired", "waits", "gated"), [([True, False], 2, True), ([True, True], 2, False)])
def test_a_window_whose_gate_gave_up_is_void_and_repeated_then_marked(
    log, make_timer, monkeypatch, expired, waits, gated
):
    answers = iter(expired)
    monkeypatch.setattr(type(log), "expired", property(lambda _: next(answers)))
    window = make_timer(loaded=True).time(2)
    assert (window.launches, window.gated) == (2, gated)
    assert [entry for entry in log if entry in ("close", "wait")] == ["close", "wait"] * waits


def test_a_window_is_gated_only_if_all_its_parts_are(log, make_timer, monkeypatch):
    answers = iter([False, True, True])
    monkeypatch.setattr(type(log), "expired", property(lambda _: next(answers)))
    assert not make_timer(kernels=2, loaded=True).time(512).gated


def test_the_gate_is_opened_when_a_launch_fails(log, make_timer, driver):
    def fail():
        raise driver.Error("cuLaunchKernel failed: too many resources requested for launch")

    with pytest.raises(LaunchError, match=r"LAUNCH_OUT_OF_RESOURCES.*block 32x32x1"):
        make_timer(launches=[fail], loaded=True).time(1)
    assert log[-1] == "open"


def test_without_a_gate_nothing_is_held(log, make_timer):
    make_timer(gate=False, loaded=True).time(1)
    assert "close" not in log


def test_a_profiler_sees_one_launch_and_nothing_of_ours(log, make_timer, driver):
    driver.start_profiler = lambda: log.append("start")
    driver.stop_profiler = lambda: log.append("stop")
    make_timer().profile()
    assert log == ["start", "A", "wait", "stop"]


def test_a_graph_of_turns_begins_at_the_first_stop_and_windows_hold_whole_graphs(log, make_timer):
    rotation = Rotation(3, position=1)
    graphs = SimpleNamespace(
        launch=lambda: log.append("graph"), prepare=lambda launches: log.append(f"prepare {launches}")
    )
    run = make_timer(rotation=rotation, turns=2, graphs=graphs)
    assert run.time(1).launches == 6
    # B and C are not timed.
    assert log == ["prepare 1", "B", "C", "stamp0", "event", "graph", "event", "stamp1", "wait"]
    log.clear()
    assert run.time(7).launches == 12
    assert log == ["prepare 2", "close", "stamp0", "event", "graph", "graph", "event", "stamp1", "open", "wait"]
    assert rotation.position == 0


def test_exactly_so_many_launches_are_timed_one_by_one_behind_the_gate_also_with_a_graph(log, make_timer):
    rotation = Rotation(3, position=2)
    run = make_timer(rotation=rotation, turns=2, graphs=SimpleNamespace(launch=None, prepare=None), loaded=True)
    assert run.time_exactly(2) == Window(2e-3, 2, 1.5e9)
    assert log == ["close", "stamp0", "event", "C", "A", "event", "stamp1", "open", "wait"]
    assert rotation.position == 1
