"""What is looked at for which device."""

import pytest

from gemmbench.backends import registry
from gemmbench.backends.cuda.system import probe
from gemmbench.errors import UsageError
from gemmbench.session import doctor_runs


@pytest.fixture
def no_gpu(monkeypatch, tmp_path):
    monkeypatch.setattr(probe, "_list_installed", lambda: None)
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))


def seen(option, folder):
    return {finding.subject: finding.status for finding in doctor_runs.examine_machine(option, folder)}


def test_without_a_gpu_auto_warns_and_looks_at_the_cpu_and_an_option_for_a_gpu_is_a_fault(no_gpu, tmp_path):
    found = seen("auto", tmp_path)
    assert found["GPU"] == "warning"
    assert {"nvcc", "CPU", "C++ compiler", "BLAS", "host load", "cache", "results"} <= found.keys()
    assert {"GPU", "nvcc", "driver"}.isdisjoint(seen("cpu", tmp_path))
    assert seen("cuda", tmp_path)["GPU"] == seen("cuda:3", tmp_path)["GPU"] == "fault"


def test_the_folders_are_those_that_will_be_written(no_gpu, tmp_path):
    said = {finding.subject: finding.message for finding in doctor_runs.examine_machine("fake", tmp_path / "out")}
    assert said == {"cache": str(tmp_path / "cache"), "results": str(tmp_path / "out")}


def test_an_unknown_device_is_refused(tmp_path):
    with pytest.raises(UsageError, match="unknown device 'gpu'"):
        doctor_runs.examine_machine("gpu", tmp_path)


def test_a_cpu_has_no_peaks_to_measure():
    assert registry.measure_peaks(registry.describe_machine(registry.choose_device("cpu"))) is None
    assert registry.measure_peaks(registry.describe_machine(registry.choose_device("fake"))).copy > 0
