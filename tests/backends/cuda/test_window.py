"""The order in which windows are queued, on a stream that only writes down what it is given."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from gemmbench.backends.base import Rotation, Window
from gemmbench.backends.cuda import window
from gemmbench.backends.cuda.window import Calls, WindowTimer
from gemmbench.errors import LaunchError


class Stream(list):
    """A stream and a clock in one."""

    def mark(self):
        self.append("mark")
        return np.zeros((1, 3), np.uint64)

    def synchronize(self):
        self.append("wait")


class QueuedEvent:
    """An event that has come after two looks; windows take 2 ms."""

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


@pytest.fixture
def stream(monkeypatch):
    driver = ModuleType("driver")
    driver.Event = QueuedEvent
    monkeypatch.setattr(window, "load_driver", lambda: driver)
    return Stream()


def test_the_next_window_is_queued_before_the_last_has_ended(stream):
    looks = []
    windows = window.run_back_to_back(
        lambda: stream.append("launches"), 7, stream, stream, lambda: looks.append(len(stream))
    )
    first = next(windows)
    boundary = ["event", "mark", "event"]
    assert stream == [*boundary, "launches", *boundary, "launches", *boundary]
    assert looks == [len(stream)] * 2
    assert (first.seconds, first.launches) == (pytest.approx(2e-3), 7)
    next(windows)
    assert stream.count("launches") == 3
    windows.close()
    assert stream[-1] == "wait"


def test_it_waits_for_the_device_when_queueing_fails(stream):
    def fail():
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        next(window.run_back_to_back(fail, 1, stream, stream, lambda: None))
    assert stream[-1] == "wait"


class CudaError(Exception):
    """As pycuda's."""


class Log(list):
    """A stream, a clock and a gate in one: what was queued, in order."""

    expired = False
    hertz = 1.5e9

    def stamp(self, which):
        self.append(f"stamp{which}")

    def read(self):
        return self.hertz

    def close(self):
        self.append("close")

    def open(self):
        self.append("open")

    def synchronize(self):
        self.append("wait")


class Event:
    """An event of the stream; every window takes 2 ms."""

    def record(self, stream):
        stream.append("event")

    def time_since(self, _):
        return 2.0


@pytest.fixture
def log(monkeypatch):
    fake = ModuleType("pycuda.driver")
    fake.init, fake.Error, fake.Event = lambda: None, RuntimeError, Event
    monkeypatch.setitem(sys.modules, "pycuda", ModuleType("pycuda"))
    monkeypatch.setitem(sys.modules, "pycuda.driver", fake)
    return Log()


def timer(log: Log, sets: int = 3, kernels: int = 1, gate: bool = True) -> WindowTimer:
    queue = tuple((lambda name=name: log.append(name)) for name in "ABCDE"[:sets])
    return WindowTimer(Calls(queue, "a launch", kernels), (CudaError,), log, log, log if gate else None)


def test_the_first_window_is_not_held_and_later_ones_are(log):
    run = timer(log)
    assert run.time(1) == Window(2e-3, 1, 1.5e9, gated=False)
    assert log == ["stamp0", "event", "A", "event", "stamp1", "wait"]
    log.clear()
    assert run.time(2) == Window(2e-3, 2, 1.5e9)
    assert log == ["close", "stamp0", "event", "B", "C", "event", "stamp1", "open", "wait"]


def test_code_that_has_been_launched_before_is_held_at_once(log):
    calls = Calls((lambda: log.append("A"),), "a launch")
    WindowTimer(calls, (CudaError,), log, log, log, loaded=True).time(1)
    assert log == ["close", "stamp0", "event", "A", "event", "stamp1", "open", "wait"]


def test_launches_rotate_through_the_sets_and_go_on_where_they_stopped(log):
    run = timer(log)
    for launches in (1, 4, 2):
        run.time(launches)
    assert "".join(entry for entry in log if len(entry) == 1) == "ABCABCA"


def test_more_than_the_queue_holds_is_timed_in_several_windows(log):
    run = timer(log, kernels=2)
    window = run.time(600)
    assert log.count("event") == 2 * 3
    assert log.count("close") == 2
    assert window == Window(pytest.approx(6e-3), 600, pytest.approx(1.5e9), gated=False)  # its first part


def test_an_unknown_clock_in_one_part_is_unknown_in_all(log):
    log.hertz = 0.0
    assert timer(log).time(1000).clock_hz == 0


@pytest.mark.parametrize(("expired", "waits", "gated"), [([True, False], 2, True), ([True, True], 2, False)])
def test_a_window_whose_gate_gave_up_is_void_and_repeated_then_marked(log, monkeypatch, expired, waits, gated):
    answers = iter(expired)
    run = timer(log)
    run.time(1)
    log.clear()
    monkeypatch.setattr(Log, "expired", property(lambda _: next(answers)))
    window = run.time(2)
    assert (window.launches, window.gated) == (2, gated)
    assert [entry for entry in log if entry in ("close", "wait")] == ["close", "wait"] * waits


def test_a_window_is_gated_only_if_all_its_parts_are(log, monkeypatch):
    answers = iter([False, True, True])
    run = timer(log, kernels=2)
    run.time(1)
    monkeypatch.setattr(Log, "expired", property(lambda _: next(answers)))
    assert not run.time(512).gated


def test_the_gate_is_opened_when_a_launch_fails(log):
    def fail():
        raise CudaError("cuLaunchKernel failed: too many resources requested for launch")

    run = WindowTimer(Calls((lambda: None, fail), "block 32x32x1"), (CudaError,), log, log, log)
    run.time(1)
    log.clear()
    with pytest.raises(LaunchError, match=r"LAUNCH_OUT_OF_RESOURCES.*block 32x32x1"):
        run.time(1)
    assert log[-1] == "open"


def test_without_a_gate_nothing_is_held(log):
    run = timer(log, gate=False)
    run.time(1)
    run.time(1)
    assert "close" not in log


def test_a_profiler_sees_one_launch_and_nothing_of_ours(log):
    driver = sys.modules["pycuda.driver"]
    driver.start_profiler = lambda: log.append("start")
    driver.stop_profiler = lambda: log.append("stop")
    run = timer(log)
    run.time(1)
    log.clear()
    run.profile()
    assert log == ["start", "B", "wait", "stop"]


def test_a_graph_of_turns_begins_at_the_first_set_and_windows_hold_whole_graphs(log):
    queue = tuple((lambda name=name: log.append(name)) for name in "ABC")
    rotation = Rotation(3, position=1)
    graphs = SimpleNamespace(
        launch=lambda: log.append("graph"), prepare=lambda launches: log.append(f"prepare {launches}")
    )
    calls = Calls(queue, "a launch", turns=2, graphs=graphs)
    run = WindowTimer(calls, (CudaError,), log, log, log, rotation)
    assert run.time(1).launches == 6
    # B and C are not timed.
    assert log == ["prepare 1", "B", "C", "stamp0", "event", "graph", "event", "stamp1", "wait"]
    log.clear()
    assert run.time(7).launches == 12
    assert log == ["prepare 2", "close", "stamp0", "event", "graph", "graph", "event", "stamp1", "open", "wait"]
    assert rotation.position == 0
