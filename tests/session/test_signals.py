"""Signals that end a command come after the finalizers of objects, in which Python would discard them."""

import signal
import time
import weakref

import pytest

from gemmbench.session import signals
from gemmbench.session.reporter import Interruption
from gemmbench.session.signals import Terminated, raise_on_termination


class Thing:
    """Whatever has a finalizer."""


def wait():
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        time.sleep(0.01)


def drop_thing(number, times=1):
    """Let go of an object whose finalizer gets a signal; returns what it has done to the end."""
    done, thing = [], Thing()
    weakref.finalize(thing, lambda: done.append([signal.raise_signal(number) for _ in range(times)]))
    del thing
    assert done == [[None] * times]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_in_a_finalizer_comes_when_it_has_ended(number):
    with pytest.raises((KeyboardInterrupt, Terminated)) as caught, raise_on_termination():
        drop_thing(number)
        wait()
    assert getattr(caught.value, "number", signal.SIGINT) == number
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_second_ctrl_c_in_a_finalizer_comes_when_it_has_ended():
    interruption = Interruption(100.0, lambda text: None)
    with pytest.raises(KeyboardInterrupt), interruption.handle_ctrl_c():
        drop_thing(signal.SIGINT)  # the first one
        deadline = time.monotonic() + 10
        while not interruption.is_requested() and time.monotonic() < deadline:
            time.sleep(0.01)
        drop_thing(signal.SIGINT, times=3)
        wait()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_finalizer_that_does_not_end_is_interrupted(monkeypatch):
    monkeypatch.setattr(signals, "_PATIENCE", 0.05)
    thing, started = Thing(), time.monotonic()
    with raise_on_termination():
        weakref.finalize(thing, lambda: (signal.raise_signal(signal.SIGTERM), wait()))
        del thing
    assert time.monotonic() - started < 5


def test_only_the_first_sighup_counts():
    with pytest.raises(Terminated), raise_on_termination():
        try:
            signal.raise_signal(signal.SIGHUP)
        finally:
            signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
