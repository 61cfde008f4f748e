"""What the device on paper says of itself."""

import math

import pytest

from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.fake.script import FakeMonitor, Script, read_script
from gemmbench.errors import UsageError


def test_looks_come_in_turn_and_the_last_stays():
    monitor = FakeMonitor({"power": [300, 310], "temperature": 40, "slowed": ["power cap"], "others": 2})
    looks = [monitor.read() for _ in range(3)]
    assert [look.power for look in looks] == [300, 310, 310]
    assert {look.temperature for look in looks} == {40} and looks[0].slowed == {"power cap"}
    assert monitor.count_other_processes() == 2


def test_energy_grows_in_ticks_while_kernels_run():
    monitor = FakeMonitor({"watts": {"naive": 100, "tiled": 200}})
    seen = []
    for name in ("naive", "naive", "naive", "tiled", "tiled"):
        monitor.spend(name, 0.04)
        seen.append((monitor.now(), monitor.energy()))
    assert seen == [pytest.approx(each) for each in ((0.04, 0), (0.08, 0), (0.12, 12), (0.16, 12), (0.2, 28))]


def test_what_is_not_scripted_is_unknown():
    monitor = FakeMonitor({"others": 0})
    monitor.spend("naive", 1.0)
    assert math.isnan(monitor.read().power) and math.isnan(monitor.energy())


def test_a_device_without_a_script_for_it_is_not_watched(tmp_path):
    assert FakeBackend().monitor is None
    assert FakeBackend(Script(watch={"power": 1})).monitor is not None
    path = tmp_path / "script.yaml"
    path.write_text("watch: {powr: 1}")
    with pytest.raises(UsageError, match=r"watch\.powr: unknown; known: power, temperature, slowed, others, watts"):
        read_script(str(path))
