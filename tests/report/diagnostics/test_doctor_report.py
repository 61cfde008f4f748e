"""How the doctor judges peaks and noise."""

from dataclasses import replace

import pytest

from gemmbench.backends.devices import Peaks, failed_check, passed_check
from gemmbench.backends.fake import entry as fake
from gemmbench.bench.experiments.noise import Noise
from gemmbench.bench.timing.stats import Interval
from gemmbench.report.diagnostics.doctor_report import judge_noise, judge_peaks, report_checks, summarize_noise

DEVICE = fake.describe_fake()  # 1 TB/s, 1 GHz, 1000 operations a cycle
GOOD = Peaks(copy=0.9e12, fma=0.97e12, clock_hz=1e9, launch=1.5e-6, ungated=4.7e-6)


def test_each_check_has_one_line_and_its_next_step():
    checks = [passed_check("driver", "580.1"), failed_check("nvcc", "no nvcc found", "install it", fatal=True)]
    assert report_checks("Machine", checks).format("simple").splitlines() == [
        "Machine",
        "",
        "check   status  finding",
        "------  ------  -------------",
        "driver  ok      580.1",
        "nvcc    fault   no nvcc found",
        "                -> install it",
    ]


def test_a_device_that_reaches_its_peaks_passes():
    assert {finding.subject: (finding.status, finding.message) for finding in judge_peaks(GOOD, DEVICE)} == {
        "copy": ("ok", "0.900 TB/s read and written, 90.0 % of 1.00"),
        "clock": ("ok", "1.000 GHz under load, at most 1.000"),
        "arithmetic": ("ok", "0.970 TFLOPS of FFMA in registers, 97.0 % of peak at that clock"),
        "launch": ("ok", "1.50 us for an empty kernel, 4.70 us without the gate"),
    }


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"copy": 0.7e12}, ["copy"]),
        ({"fma": 0.8e12}, ["arithmetic"]),
        ({"clock_hz": 0.8e9, "fma": 0.78e12}, ["clock"]),  # arithmetic is judged at the clock seen
        ({"launch": 6e-6}, ["launch"]),
    ],
)
def test_a_peak_far_below_its_limit_is_a_warning_with_a_next_step(change, what):
    found = judge_peaks(replace(GOOD, **change), DEVICE)
    assert [finding.subject for finding in found if finding.status == "warning"] == what
    assert all(bool(finding.next_step) == (finding.status == "warning") for finding in found)


def test_unknown_limits_are_not_judged():
    unknown = replace(DEVICE, bandwidth=0.0, flops_per_cycle={}, clock_hz=0.0)
    assert {finding.status for finding in judge_peaks(replace(GOOD, copy=1.0, fma=1.0), unknown)} == {"ok"}


@pytest.fixture
def noise(make_record):
    """The noise of a kernel whose speed next to itself has this interval."""
    record = make_record("cublas", [1e-3] * 64)
    return lambda *ratio: Noise(record, Interval(1e-3, 1e-3, 1e-3), Interval(*ratio), 0.001)


def test_a_kernel_against_itself_gets_one_line(noise):
    found = judge_noise(noise(1.0002, 0.9991, 1.0011))
    assert found.status == "ok" and found.message == (
        "cublas at 64 (1.00 ms, 0.524 GFLOPS) runs at 1.000x (0.999x to 1.001x) its own speed; in 64 rounds, "
        "a pair of rounds scatters by 0.100 %"
    )


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        ((1.03, 1.02, 1.04), "a kernel compared with itself should be `same`, not `faster`:"),
        ((1.0, 0.98, 1.02), "a kernel compared with itself should be `same`, not `inconclusive`:"),
        ((1.0, 0.993, 1.007), "small differences cannot be detected;"),
    ],
)
def test_a_noisy_machine_gets_a_warning(noise, ratio, said):
    found = judge_noise(noise(*ratio))
    assert found.status == "warning" and found.next_step.startswith(said)


def test_the_noisiest_kernel_sets_the_smallest_difference(noise):
    quiet, loud = noise(1.0, 0.999, 1.001), noise(1.0, 0.99, 1.01)
    assert summarize_noise([quiet, loud]) == summarize_noise([loud])
    assert summarize_noise([loud]) == (
        "Noise floor: +- 1.00 %. The smallest difference that compare can currently detect here, "
        "in 95 of 100 comparisons, is 2.84 %."
    )
