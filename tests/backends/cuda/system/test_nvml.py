"""Watching a GPU, with a made-up NVML."""

from __future__ import annotations

import math
import os
import sys
from types import ModuleType, SimpleNamespace

import pytest

from gemmbench.backends.base import Conditions
from gemmbench.backends.cuda.system import nvml

BUS = "0000:01:00.0"


class NVMLError(Exception):
    """As NVML's."""


def refuse(*_):
    raise NVMLError("Insufficient Permissions")


@pytest.fixture
def pynvml(monkeypatch):
    """An H200 under load, as NVML's functions answer."""
    fake = ModuleType("pynvml")
    fake.NVMLError, fake.NVML_SUCCESS = NVMLError, 0
    fake.NVML_CLOCK_SM, fake.NVML_CLOCK_MEM, fake.NVML_TEMPERATURE_GPU = 1, 2, 0
    fake.NVML_FI_DEV_POWER_INSTANT = 186
    fake.open = []
    fake.nvmlInit, fake.nvmlShutdown = lambda: fake.open.append(1), fake.open.pop
    answers = {
        "HandleByPciBusId": lambda bus: bus if bus == BUS else refuse(),
        "MigMode": lambda gpu: [0, 1],
        "EccMode": lambda gpu: [1, 1],
        "PersistenceMode": lambda gpu: 1,
        "EnforcedPowerLimit": lambda gpu: 700_000,
        "MaxClockInfo": lambda gpu, which: {1: 1980, 2: 3201}[which],
        "ClockInfo": lambda gpu, which: {1: 1755, 2: 3201}[which],
        "TemperatureV": lambda gpu, sensor: 61,
        "CurrentClocksEventReasons": lambda gpu: 0x1 | 0x4 | 0x40,
        "FieldValues": lambda gpu, ids: [SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=654_321))],
        "PowerUsage": lambda gpu: 500_000,
        "TotalEnergyConsumption": lambda gpu: 12_345,
        "ComputeRunningProcesses": lambda gpu: [SimpleNamespace(pid=os.getpid())],
    }
    for name, answer in answers.items():
        setattr(fake, f"nvmlDeviceGet{name}", answer)
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def test_how_a_gpu_is_set_up(pynvml):
    expected = Conditions(
        mig=False, ecc=True, persistence=True, power_limit=700.0, max_sm_clock=1.98e9, max_memory_clock=3.201e9
    )
    assert nvml.read_conditions(pynvml, BUS) == expected


def test_what_a_gpu_does_not_say_is_none(pynvml):
    for name in ("MigMode", "EccMode", "PersistenceMode", "EnforcedPowerLimit", "MaxClockInfo"):
        setattr(pynvml, f"nvmlDeviceGet{name}", refuse)
    assert nvml.read_conditions(pynvml, BUS) == Conditions()
    assert nvml.read_conditions(pynvml, "elsewhere") is None


def test_a_look_is_in_watts_degrees_hertz_and_joules_and_an_idle_gpu_is_not_slowed(pynvml):
    reading = nvml.open_monitor(BUS).read()
    assert (reading.power, reading.temperature) == (pytest.approx(654.321), 61)
    assert (reading.sm_clock, reading.memory_clock) == (1.755e9, 3.201e9)
    assert reading.slowed == {"power cap", "thermal slowdown by hardware"}
    assert nvml.open_monitor(BUS).energy() == pytest.approx(12.345)


def test_older_drivers_and_packages_answer_to_older_names(pynvml):
    pynvml.nvmlDeviceGetTemperatureV = pynvml.nvmlDeviceGetCurrentClocksEventReasons = refuse
    pynvml.nvmlDeviceGetTemperature = lambda gpu, sensor: 44
    pynvml.nvmlDeviceGetCurrentClocksThrottleReasons = lambda gpu: 0x80
    reading = nvml.open_monitor(BUS).read()
    assert (reading.temperature, reading.slowed) == (44, {"power brake"})
    del pynvml.nvmlDeviceGetTemperatureV, pynvml.nvmlDeviceGetCurrentClocksEventReasons
    assert nvml.open_monitor(BUS).read() == reading


def test_without_the_power_of_the_moment_that_of_the_last_second_is_taken(pynvml):
    pynvml.nvmlDeviceGetFieldValues = lambda gpu, ids: [SimpleNamespace(nvmlReturn=3)]
    assert nvml.open_monitor(BUS).read().power == 500


def test_a_look_that_is_not_permitted_knows_nothing_and_raises_nothing(pynvml):
    monitor = nvml.open_monitor(BUS)
    for name in [name for name in vars(pynvml) if name.startswith("nvmlDeviceGet")]:
        setattr(pynvml, name, refuse)
    reading = monitor.read()
    assert all(map(math.isnan, (reading.power, reading.temperature, reading.sm_clock, reading.memory_clock)))
    assert not reading.slowed and math.isnan(monitor.energy()) and monitor.count_other_processes() is None


@pytest.mark.parametrize(
    ("pids", "others"),
    [
        (lambda me: [me], 0),
        (lambda me: [me, me + 1, me + 2], 2),
        (lambda me: [me + 1], 0),  # this process, under the number it has outside its container
        (lambda me: [me + 1, me + 2], 1),
        (lambda me: [], None),  # it has a context, so somebody should be there
    ],
)
def test_processes_of_others_are_counted(pynvml, pids, others):
    listed = [SimpleNamespace(pid=pid) for pid in pids(os.getpid())]
    pynvml.nvmlDeviceGetComputeRunningProcesses = lambda gpu: listed
    assert nvml.open_monitor(BUS).count_other_processes() == others
    assert nvml.is_shared(BUS) == bool(others)
    assert not nvml.is_shared("elsewhere")


def test_nvml_is_let_go_but_for_what_keeps_it_started(pynvml):
    monitor = nvml.open_monitor(BUS)
    assert len(pynvml.open) == 2
    monitor.close()
    assert nvml.open_monitor("elsewhere") is None
    assert len(pynvml.open) == 1


def test_without_nvml_there_is_no_monitor(pynvml, monkeypatch):
    pynvml.nvmlInit = refuse
    assert nvml.open_monitor(BUS) is None
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert nvml.open_monitor(BUS) is None
