"""The output of `gemmbench doctor`: its checks, the meaning of the measurements, and the workers of a fleet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gemmbench.backends.base import Device
from gemmbench.backends.devices import HealthCheck, Peaks, failed_check, passed_check
from gemmbench.bench.experiments.noise import Noise
from gemmbench.bench.timing.stats import Interval
from gemmbench.bench.workers.fleet_tasks import WorkerFacts, WorkerHealth
from gemmbench.report.table import Report, Table
from gemmbench.report.text import interval_ends, number, number_within

_LEAST_COPY, _LEAST_FMA, _LEAST_CLOCK = 0.75, 0.9, 0.9
_MOST_LAUNCH = 5e-6
_COARSE = 0.02
_SHARED = "check with nvidia-smi whether something else is running on it, then try again"


def report_checks(title: str, checks: Iterable[HealthCheck], footer: Sequence[str] = ()) -> Report:
    """Report one line for each check, with the next step below a warning or a fault."""
    rows = [row for check in checks for row in _list_rows(check)]
    headings = ["check", "status", "finding"]
    cells, statuses = [row[:3] for row in rows], [row[3] for row in rows]
    return Report([Table(title, headings, cells, footer, headings, statuses, fold=headings[2:])])


def _list_rows(check: HealthCheck) -> list[list[str]]:
    """List the cells of the finding and of the next step, each with the status of its row."""
    found = [check.subject, check.status, check.message, check.status]
    return [found, ["", "", f"-> {check.next_step}", ""]] if check.next_step else [found]


def judge_peaks(peaks: Peaks, device: Device) -> list[HealthCheck]:
    """Compare the measured peaks with those in the device's data sheet."""
    return [
        _judge_copy(peaks, device),
        _judge_clock(peaks, device),
        _judge_arithmetic(peaks, device),
        _judge_launch(peaks),
    ]


def _judge_copy(peaks: Peaks, device: Device) -> HealthCheck:
    measured = f"{number(peaks.copy / 1e12, 3)} TB/s read and written"
    if not device.bandwidth:
        return passed_check("copy", measured)
    share = peaks.copy / device.bandwidth
    measured = f"{measured}, {number(100 * share, 3)} % of {number(device.bandwidth / 1e12, 3)}"
    return passed_check("copy", measured) if share >= _LEAST_COPY else failed_check("copy", measured, _SHARED)


def _judge_clock(peaks: Peaks, device: Device) -> HealthCheck:
    clock, most = peaks.clock_hz, device.clock_hz
    if not clock or not most:
        return passed_check("clock", "cannot be measured here")
    measured = f"{clock / 1e9:.3f} GHz under load, at most {most / 1e9:.3f}"
    if clock < _LEAST_CLOCK * most:
        return failed_check("clock", measured, "power limit, heat or a locked clock: nvidia-smi -q -d PERFORMANCE")
    return passed_check("clock", measured)


def _judge_arithmetic(peaks: Peaks, device: Device) -> HealthCheck:
    measured = f"{number(peaks.fma / 1e12, 3)} TFLOPS of FFMA in registers"
    limit = device.flops_per_cycle.get("f32", 0.0) * (peaks.clock_hz or device.clock_hz)
    if not limit:
        return passed_check("arithmetic", measured)
    measured = f"{measured}, {number(100 * peaks.fma / limit, 3)} % of peak at that clock"
    return (
        passed_check("arithmetic", measured)
        if peaks.fma >= _LEAST_FMA * limit
        else failed_check("arithmetic", measured, _SHARED)
    )


def _judge_launch(peaks: Peaks) -> HealthCheck:
    measured = (
        f"{number(1e6 * peaks.launch, 3)} us for an empty kernel, {number(1e6 * peaks.ungated, 3)} us without the gate"
    )
    if peaks.launch > _MOST_LAUNCH:
        return failed_check("launch", measured, "here, the times of kernels that take only a little longer mean little")
    return passed_check("launch", measured)


def judge_noise(noise: Noise) -> HealthCheck:
    """Judge the machine by a plan that was compared with itself."""
    record, ratio = noise.record, noise.ratio
    speed = f"{number(1e3 * noise.time.value, 3)} ms, {number(record.flops / noise.time.value / 1e9, 3)} GFLOPS"
    measured = (
        f"{record.variant} at {record.problem.size} ({speed}) runs at {_format_ratio(ratio)} its own speed; in "
        f"{len(record.samples)} rounds, a pair of rounds scatters by {_percent(noise.scatter)}"
    )
    if noise.verdict != "same":
        fault = f"a kernel compared with itself should be `same`, not `{noise.verdict}`"
        return failed_check("noise", measured, f"{fault}: end other programs and try again")
    if noise.least > _COARSE:
        return failed_check(
            "noise", measured, "small differences cannot be detected; end other programs, or use more --rounds"
        )
    return passed_check("noise", measured)


def _format_ratio(ratio: Interval) -> str:
    """Format a speed ratio as `1.002x (0.998x to 1.005x)`."""
    value = f"{number_within(ratio.value, ratio)}x"
    return f"{value} ({'x to '.join(interval_ends(ratio))}x)" if ratio.known else value


def summarize_noise(noises: Sequence[Noise]) -> str:
    """Say how small a difference the machine can show now. `noises` must not be empty."""
    floor = max(noise.floor for noise in noises)
    least = max(noise.least for noise in noises)
    return (
        f"Noise floor: +- {_percent(floor)}. The smallest difference that compare can currently detect here, "
        f"in 95 of 100 comparisons, is {_percent(least)}."
    )


def _percent(share: float) -> str:
    return f"{number(100 * share, 3)} %"


_HEADINGS = ["host", "card", "driver", "noise floor (%)", "load", "status", "finding"]


def report_fleet(workers: Sequence[WorkerHealth]) -> Report:
    """Report one line for each worker, and below them the software whose versions differ."""
    cells = [_list_cells(worker) for worker in workers]
    statuses = ["fault" if worker.fault else "ok" for worker in workers]
    differences = list_differences([worker.facts for worker in workers])
    footer = [f"The workers differ in {'; '.join(differences)}."] if differences else []
    return Report([Table("Fleet", _HEADINGS, cells, footer, _HEADINGS, statuses, fold=_HEADINGS[-1:])])


def _list_cells(worker: WorkerHealth) -> list[str]:
    machine = worker.facts.machine
    name = f"{machine.primary.name} {machine.primary.uuid}".strip() if machine else "-"
    driver = worker.facts.versions.get("driver", "-")
    floor = "-" if worker.floor is None else f"+- {number(100 * worker.floor, 3)}"
    load = "-" if worker.load is None else number(worker.load, 2)
    return [worker.facts.host, name, driver, floor, load, "fault" if worker.fault else "ok", worker.fault]


def list_differences(facts: Sequence[WorkerFacts]) -> list[str]:
    """List the software whose versions differ between workers, such as `driver 570.1 and 580.2`."""
    names = dict.fromkeys(name for each in facts if each.machine for name in each.versions)
    found = {name: {each.versions.get(name, "none") for each in facts if each.machine} for name in names}
    return [f"{name}: {' and '.join(sorted(versions))}" for name, versions in found.items() if len(versions) > 1]
