"""Ctrl-C and the time limit of a sweep."""

import math
import signal
import threading

import pytest

from gemmbench.session.reporter import Interruption


def test_ctrl_c_requests_an_end_and_a_second_one_ends_at_once():
    messages = []
    interruption = Interruption(math.inf, messages.append)
    with interruption.handle_ctrl_c():
        assert not interruption.is_requested()
        signal.raise_signal(signal.SIGINT)
        assert interruption.is_requested()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert messages == ["stopping after this window; press Ctrl-C again to stop at once"]


@pytest.mark.parametrize(("resumable", "hint"), [(True, "; --resume continues it"), (False, "")])
def test_the_time_limit_is_reported_once(resumable, hint):
    messages = []
    interruption = Interruption(-1.0, messages.append, resumable)
    assert interruption.is_requested() and interruption.is_requested()
    assert messages == [f"the sweep reached its time limit of -1 s{hint}"]


def test_outside_the_main_thread_signals_stay_as_they_are():
    entered = []

    def enter():
        with Interruption(math.inf, print).handle_ctrl_c():
            entered.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered == [before]
