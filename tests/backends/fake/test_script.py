"""What the device on paper says of itself, and its model of a job, on numbers that a pencil follows."""

import math

import numpy as np
import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.fake.script import FakeMonitor, Script, read_script
from gemmbench.backends.jobs import CopyStep, LaunchStep
from gemmbench.errors import UsageError
from gemmbench.planning.problems import Problem

CODE = Artifact("code", "", Build())
RATES = {"h2d": 64.0, "d2h": 32.0, "pageable": 16.0, "flops": 128.0}  # of 64 bytes, 128 operations: 1, 2, 4, 1 s


@pytest.fixture
def run(make_plan):
    """The parts of a job of steps written as `0 in`, `1 launch`, `0 out`, `1 in after 0`."""
    backend, plan = FakeBackend(Script(transfers=RATES)), make_plan("naive", Problem(4, 4, 4))
    memory, host = backend.allocate(192), np.zeros(64, np.uint8)

    def step(text):
        stream, what, *rest = text.split()
        after = int(rest[1]) if rest else None
        if what == "launch":
            return LaunchStep(int(stream), plan, CODE, {"A": 0, "B": 64, "C": 128}, after)
        return CopyStep(int(stream), host, 0, what == "in", after)

    def go(*texts, pinned=True):
        return backend.job([step(text) for text in texts], memory, pinned).run()

    return go


def test_one_stream_takes_the_sum_and_knows_its_parts_whose_rate_hangs_on_the_kind_of_memory(run):
    parts = run("0 in", "0 in", "0 launch", "0 out")
    assert (parts.seconds, parts.h2d, parts.kernel, parts.d2h) == (5, 2, 1, 2)
    parts = run("0 in", "0 launch", "0 out", pinned=False)
    assert (parts.seconds, parts.h2d, parts.kernel, parts.d2h) == (9, 4, 1, 4)


def test_streams_overlap_and_then_parts_are_not_known(run):
    parts = run("0 in", "0 launch", "0 out", "1 in", "1 launch", "1 out")
    assert parts.seconds == 6  # in 0-1 and 1-2, out 2-4 and, the engine being busy, 4-6
    assert np.isnan([parts.h2d, parts.kernel, parts.d2h]).all()


def test_a_step_waits_for_another_stream_if_told(run):
    assert run("0 in", "0 launch", "1 out").seconds == 2
    assert run("0 in", "0 launch", "1 out after 1").seconds == 4


def test_data_go_in_through_the_kernel_and_out(make_plan):
    backend, problem = FakeBackend(), Problem(2, 2, 2, alpha=2.0)
    memory, host = backend.allocate(48), np.zeros(16, np.uint8)
    ones = np.ones(8, np.float32).view(np.uint8)
    steps = [
        CopyStep(0, ones[:16], 0, True),
        CopyStep(0, ones[16:], 16, True),
        LaunchStep(0, make_plan("naive", problem), CODE, {"A": 0, "B": 16, "C": 32}),
        CopyStep(0, host, 32, False),
    ]
    backend.job(steps, memory, True).run()
    assert (host.view(np.float32) == 4).all()


def test_looks_come_in_turn_and_the_last_stays_and_what_is_not_scripted_is_unknown():
    monitor = FakeMonitor({"power": [300, 310], "temperature": 40, "slowed": ["power cap"], "others": 2})
    looks = [monitor.read() for _ in range(3)]
    assert [look.power for look in looks] == [300, 310, 310]
    assert {look.temperature for look in looks} == {40} and looks[0].slowed == {"power cap"}
    assert monitor.count_other_processes() == 2
    monitor = FakeMonitor({"others": 0})
    monitor.spend("naive", 1.0)
    assert math.isnan(monitor.read().power) and math.isnan(monitor.energy())


def test_energy_grows_in_ticks_while_kernels_run():
    monitor = FakeMonitor({"watts": {"naive": 100, "tiled": 200}})
    seen = []
    for name in ("naive", "naive", "naive", "tiled", "tiled"):
        monitor.spend(name, 0.04)
        seen.append((monitor.now(), monitor.energy()))
    assert seen == [pytest.approx(each) for each in ((0.04, 0), (0.08, 0), (0.12, 12), (0.16, 12), (0.2, 28))]


def test_a_device_without_a_script_for_it_is_not_watched(tmp_path):
    assert FakeBackend().monitor is None
    assert FakeBackend(Script(watch={"power": 1})).monitor is not None
    path = tmp_path / "script.yaml"
    path.write_text("watch: {powr: 1}")
    with pytest.raises(UsageError, match=r"watch\.powr: unknown; known: power, temperature, slowed, others, watts"):
        read_script(str(path))


@pytest.mark.parametrize("text", ["a: " + "[" * 5000, "[" * 20_000, "a: &a [*a]", "a: 1\n" * 20_000, "a\0b", "- 1", ""])
def test_a_script_that_is_nested_deeply_or_none_is_refused(tmp_path, text):
    path = tmp_path / "script.yaml"
    path.write_text(text)
    with pytest.raises(UsageError):
        read_script(str(path))
