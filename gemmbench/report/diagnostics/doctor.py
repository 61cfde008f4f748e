"""What `gemmbench doctor` says: one line a finding, what to do below it, and what the measurements mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gemmbench.backends.base import Device
from gemmbench.backends.health import HealthCheck, Peaks, failed_check, passed_check
from gemmbench.bench.experiments.noise import Noise
from gemmbench.report.text import number

_LEAST_COPY, _LEAST_FMA, _LEAST_CLOCK = 0.75, 0.9, 0.9
_MOST_LAUNCH = 5e-6
_COARSE = 0.02
_SHARED = "is something else running on it? nvidia-smi; then try again"


def lines(findings: Iterable[HealthCheck]) -> list[str]:
    """The findings as text; what to do stands below a warning or a fault."""
    said = []
    for finding in findings:
        said.append(f"{finding.subject:<14}{finding.status:<9}{finding.message}")
        if finding.next_step:
            said.append(f"{'':23}-> {finding.next_step}")
    return said


def judged(peaks: Peaks, device: Device) -> list[HealthCheck]:
    """What the peaks say of a device."""
    return [_copy(peaks, device), _clock(peaks, device), _fma(peaks, device), _launch(peaks)]


def _copy(peaks: Peaks, device: Device) -> HealthCheck:
    said = f"{number(peaks.copy / 1e12)} TB/s read and written"
    if not device.bandwidth:
        return passed_check("copy", said)
    share = peaks.copy / device.bandwidth
    said = f"{said}, {number(100 * share)} % of {number(device.bandwidth / 1e12)}"
    return passed_check("copy", said) if share >= _LEAST_COPY else failed_check("copy", said, _SHARED)


def _clock(peaks: Peaks, device: Device) -> HealthCheck:
    seen, most = peaks.clock_hz, device.clock_hz
    if not seen or not most:
        return passed_check("clock", "cannot be seen here")
    said = f"{seen / 1e9:.3f} GHz under load, at most {most / 1e9:.3f}"
    if seen < _LEAST_CLOCK * most:
        return failed_check("clock", said, "power limit, heat or a locked clock: nvidia-smi -q -d PERFORMANCE")
    return passed_check("clock", said)


def _fma(peaks: Peaks, device: Device) -> HealthCheck:
    said = f"{number(peaks.fma / 1e12)} TFLOPS of FFMA in registers"
    limit = device.flops_per_cycle.get("f32", 0.0) * (peaks.clock_hz or device.clock_hz)
    if not limit:
        return passed_check("arithmetic", said)
    said = f"{said}, {number(100 * peaks.fma / limit)} % of peak at that clock"
    return (
        passed_check("arithmetic", said)
        if peaks.fma >= _LEAST_FMA * limit
        else failed_check("arithmetic", said, _SHARED)
    )


def _launch(peaks: Peaks) -> HealthCheck:
    said = f"{number(1e6 * peaks.launch)} us for an empty kernel, {number(1e6 * peaks.ungated)} us without the gate"
    if peaks.launch > _MOST_LAUNCH:
        return failed_check("launch", said, "times of kernels that are not much longer mean little here")
    return passed_check("launch", said)


def of_noise(noise: Noise) -> HealthCheck:
    """What a plan against itself says of the machine."""
    record, ratio = noise.record, noise.ratio
    speed = f"{number(1e3 * noise.time.value)} ms, {number(record.flops / noise.time.value / 1e9)} GFLOPS"
    said = (
        f"{record.variant} at {record.problem.size} ({speed}) runs at {ratio.value:.4f} "
        f"[{ratio.low:.4f}, {ratio.high:.4f}] times its own speed; "
        f"{len(record.samples)} rounds, a pair scatters by {_percent(noise.scatter)}"
    )
    if noise.verdict != "same":
        return failed_check(
            "noise", said, f"`{noise.verdict}`, and it should be `same`: end what else runs, and try again"
        )
    if noise.least > _COARSE:
        return failed_check("noise", said, "small differences will not show: end what else runs, or take more --rounds")
    return passed_check("noise", said)


def summary(noises: Sequence[Noise]) -> str:
    """What the machine can show today; `noises` are one at least."""
    floor = max(noise.floor for noise in noises)
    least = max(noise.least for noise in noises)
    return (
        f"Noise floor: +- {_percent(floor)}. The least difference that compare can show here today: "
        f"{_percent(least)}, in 95 of 100 comparisons."
    )


def _percent(share: float) -> str:
    return f"{number(100 * share)} %"
