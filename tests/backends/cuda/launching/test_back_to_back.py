"""The order in which windows without a pause are queued, on a stream that only writes down what it is given."""

from types import ModuleType

import numpy as np
import pytest

from gemmbench.backends.cuda import window


class Stream(list):
    """A stream and a clock in one."""

    def mark(self):
        self.append("mark")
        return np.zeros((1, 3), np.uint64)

    def synchronize(self):
        self.append("wait")


class Event:
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
    driver.Event = Event
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
