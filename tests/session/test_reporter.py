"""Ctrl-C and the time limit of a sweep."""

import math
import signal
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from gemmbench.bench import estimate
from gemmbench.bench.estimate import Estimate
from gemmbench.bench.experiments.context import KNOWN, SWEEP
from gemmbench.errors import UsageError
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import TimeLimits
from gemmbench.session.reporter import Interruption, SessionProgress, announce_long_run, announce_run_on_cpu
from gemmbench.session.tuning_runs import SearchProgress


def test_ctrl_c_requests_an_end_and_a_second_one_ends_at_once():
    messages = []
    interruption = Interruption(math.inf, messages.append)
    with interruption.handle_ctrl_c():
        assert not interruption.is_requested()
        signal.raise_signal(signal.SIGINT)
        assert interruption.is_requested()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert messages == ["stopping after the current step; press Ctrl-C again to stop at once"]


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


@pytest.mark.parametrize(("seconds", "is_gpu", "said"), [(61, True, True), (59, True, False), (61, False, False)])
def test_a_run_on_a_gpu_that_takes_over_a_minute_says_so_first(machine, notes, seconds, is_gpu, said):
    primary = replace(machine.primary, target=replace(machine.primary.target, is_gpu=is_gpu))
    here = replace(machine, devices={**machine.devices, machine.choice.primary: primary})
    announce_long_run(here, notes, seconds)
    line = f"this takes about 1 min 1 s on {primary.name}; see also --dry-run"
    assert notes.messages == ([line] if said else [])


@pytest.mark.parametrize(
    ("seconds", "limits", "said"),
    [
        (59, TimeLimits(), ""),
        (61, TimeLimits(), "about 1 min 1 s on the CPU device"),
        (7200, TimeLimits(), "start it with --yes"),
        (7200, TimeLimits(long=True), "about 2 h"),
        (7200, TimeLimits(sweep=50.0), ""),
    ],
)
def test_a_long_run_on_the_cpu_is_announced_and_a_very_long_one_needs_a_yes(
    machine, notes, monkeypatch, seconds, limits, said
):
    monkeypatch.setattr(estimate, "estimate_run", lambda *_, **__: Estimate(seconds, 0.0, 0))
    primary = replace(machine.primary, target=replace(machine.primary.target, is_gpu=False))
    here = replace(machine, devices={**machine.devices, machine.choice.primary: primary})
    try:
        announce_run_on_cpu(here, [], Policy(), "", limits, notes)
    except UsageError as fault:
        assert "--yes" in said and said in str(fault)
    else:
        assert "--yes" not in said and [said in line for line in notes.messages] == [True] * bool(said)


def test_the_time_limit_counts_from_when_the_limits_were_made():
    limits = TimeLimits(sweep=60.0, started=time.monotonic() - 100)
    assert Interruption(limits.sweep, print, started=limits.started).is_requested()
    assert not Interruption(limits.sweep, print, started=TimeLimits().started).is_requested()
    assert limits == TimeLimits(sweep=60.0)


def test_what_is_known_so_far_stays_until_the_next_batch():
    progress = SessionProgress(clock=lambda: 0.0)
    assert str(progress) == "starting"
    progress.report(f"{SWEEP}64 nn f32", 0, 2, 12.0)
    progress.report(f"tiled 0.5 +- 0.01 ms, 1.2x cublas{KNOWN}round", 3, 12)
    assert str(progress) == "64 nn f32 0/2, round 3/12, so far tiled 0.5 +- 0.01 ms, 1.2x cublas"
    progress.report("audit tiled", 1, 2)
    assert str(progress) == "64 nn f32 0/2, audit tiled 1/2, so far tiled 0.5 +- 0.01 ms, 1.2x cublas"
    assert progress.describe_left() == ", about 12 s left"
    progress.report(f"{SWEEP}128 nn f32", 1, 2, 5.0)
    assert str(progress) == "128 nn f32 1/2"


def test_a_batch_that_takes_longer_leaves_the_time_of_those_that_follow():
    times = iter([0.0, 0.0, 3.0, 4.0, 60.0, 60.0, 60.0, 70.0])
    progress = SessionProgress(clock=lambda: next(times))
    progress.report(f"{SWEEP}64 nn f32", 0, 2, 12.0, 8.0)
    assert [progress.left for _ in range(3)] == [9.0, 8.0, 8.0]
    progress.report(f"{SWEEP}128 nn f32", 1, 2, 8.0)
    assert progress.left == 8.0 and progress.describe_left() == ""


def test_a_search_reports_its_finals_and_counts_their_time():
    reports = []
    task = SimpleNamespace(candidates=["a", "b"], owns=lambda record: True)
    progress = SearchProgress(lambda *report: reports.append(report), task, 2, lambda chains: 10.0 * len(chains))
    screening = SimpleNamespace(records=[], tried=0, began=0.0)
    progress.report(screening)  # what an earlier run has tried
    screening.tried = 2
    progress.report(screening)
    progress.begin_finals(["a"])
    assert [report[3:] for report in reports] == [(), (20.0,), (10.0,)]
    assert reports[-1][0].endswith(": finals") and reports[-1][1:3] == (0, 1)
