"""`gemmbench doctor`: what is checked, what is measured, and the exit code."""

import re

import pytest

from gemmbench.backends import registry
from gemmbench.backends.cuda.system import probe
from gemmbench.session import doctor_runs
from gemmbench.session.machine import open_catalog


@pytest.fixture
def small(monkeypatch):
    """A CPU that is asked for little."""
    monkeypatch.setattr(registry.find_entry("cpu"), "noise_plans", ((("openblas",), 16), (("naive",), 16)))
    monkeypatch.setattr(doctor_runs, "SECONDS", 60.0)  # 64 rounds of 1 ms end long before, unless the machine is busy
    monkeypatch.setattr(probe, "_list_installed", lambda: None)


def first_words(text):
    """The first word of each finding, and of other lines."""
    rows = [line.split()[0] for line in text.splitlines() if line and not line.startswith((" ", "-"))]
    return [word for word in rows if word not in ("Machine", "Peaks", "check")]


def test_a_device_is_checked_and_measured_and_nothing_is_left_behind(gemmbench, script, tmp_path):
    said = gemmbench("doctor", "--device", script(times={"cublas": 1e-3, "tiled": 2e-3}))
    assert said.code == 0, said.err
    assert first_words(said.out) == "cache results copy clock arithmetic launch Noise noise noise Noise".split()
    assert "cublas at 16 (1.00 ms" in said.out and "tiled at 32 (2.00 ms" in said.out
    assert (
        "The smallest difference that compare can currently detect here, in 95 of 100 comparisons, is 1.00 %"
        in said.out
    )
    assert not (tmp_path / "results").exists()


def test_quick_measures_nothing(gemmbench, windows):
    said = gemmbench("doctor", "--device", "fake", "--quick")
    assert said.code == 0 and first_words(said.out) == ["cache", "results"]
    assert windows[0] == []


def test_a_fault_ends_in_3_before_anything_is_measured(gemmbench, tmp_path, windows):
    (tmp_path / "file").write_text("")
    said = gemmbench("doctor", "--device", "fake", "--out", "file/results")
    assert said.code == 3 and "results  fault " in said.out
    assert windows[0] == []


def test_a_gpu_that_was_asked_for_and_is_not_there_is_a_fault(gemmbench, small):
    said = gemmbench("doctor", "--device", "cuda")
    assert said.code == 3 and re.search("^GPU +fault +none: no NVIDIA driver$", said.out, re.MULTILINE)


def test_without_a_gpu_the_cpu_is_measured(gemmbench, small):
    said = gemmbench("doctor")
    assert said.code == 0, said.err
    assert re.search("^GPU +warning +none: no NVIDIA driver$", said.out, re.MULTILINE)
    assert "openblas at 16" in said.out and "naive at 16" in said.out
    assert "copy" not in first_words(said.out)


def test_a_noisy_device_is_warned_of(gemmbench, script):
    times = {"cublas": [1e-3, 1.3e-3, 0.9e-3, 1.1e-3, 1.6e-3]}
    said = gemmbench("doctor", "--device", script(times=times))
    assert said.code == 0 and "noise  warning  cublas at 16" in said.out


def test_a_kernel_that_fails_is_told_and_the_other_is_measured(gemmbench, script):
    said = gemmbench("doctor", "--device", script(faults={"cublas": "crash"}))
    assert said.code == 0
    assert "A against A: cublas at 16: failed: crashed, as scripted" in said.err
    assert "tiled at 32" in said.out


def test_the_wanted_variants_are_there():
    names = {name for entry in registry.list_entries() for names, _ in entry.noise_plans for name in names}
    assert names <= set(open_catalog(None).names)


def test_an_interruption_ends_it(gemmbench, windows):
    def interrupt():
        raise KeyboardInterrupt

    windows[1][40] = interrupt
    assert gemmbench("doctor", "--device", "fake").code == 130
