"""The costs and benefits of many devices: scaling, tasks per second, lost workers.

    python benchmarks/fleet.py scaling [DEVICE]   one worker against two: time of the sweep, and rows whose percentage
                                                  of the baseline agrees
    python benchmarks/fleet.py tasks              8 workers that measure nothing: tasks per second, client time per task
    python benchmarks/fleet.py losses [SECONDS]   a worker is killed every 10 s: rows that are lost or doubled

`scaling` takes about two and a half minutes on two GPUs; DEVICE is cuda by default. `losses` takes five minutes.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from unittest import mock

from gemmbench.bench.experiments.batch import ChainBatch, make_gemm_batch
from gemmbench.bench.experiments.context import SWEEP, Progress
from gemmbench.bench.record import Record
from gemmbench.bench.runner import Pace
from gemmbench.bench.workers.fleet_worker import FleetCompiler, FleetMachine, FleetRunner, FleetWorker
from gemmbench.bench.workers.messages import Open
from gemmbench.errors import LaunchError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sizes import read_sizes
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import Destination, Selection, TimeLimits, make_request
from gemmbench.report.comparison import compare_rows
from gemmbench.report.differences.run_differences import compare_runs
from gemmbench.session.machine import open_machines
from gemmbench.session.reporter import SILENT, Reporter
from gemmbench.session.single_kernel import find_variant, plan_kernel
from gemmbench.session.sweep_runs import run_sweep

SIZES = ",".join(map(str, range(5120, 511, -160)))
SMALLEST = "512"
ROUNDS = 40
"""The number of rounds of every row: if intervals decided when to stop, one run could measure more than the other."""
VARIANTS = ("tiled", "blocktile_2d", "sgemm_vectorised", "sgemm_warptile")
WORKERS = 8
NOTHING = LaunchError("measured by nobody")


class SweepClock(Reporter):
    """Times the sweep itself, from the first batch on, without the start of the workers."""

    def __init__(self) -> None:
        self._begin, self.seconds = 0.0, 0.0

    @contextmanager
    def progress_bar(self) -> Iterator[Progress]:
        """As Reporter."""
        yield self._note
        self.seconds = time.monotonic() - self._begin

    def _note(self, what: str, *_: object) -> None:
        if what.startswith(SWEEP) and not self._begin:
            self._begin = time.monotonic()


@contextmanager
def note_batches() -> Iterator[list[float]]:
    """The seconds of every batch that a runner measures in the block."""
    noted, add = list[float](), Pace.add

    def add_and_note(pace: Pace, number: int, seconds: float) -> None:
        noted.append(seconds)
        add(pace, number, seconds)

    with mock.patch.object(Pace, "add", add_and_note):
        yield noted


def measure_scaling(device: str) -> None:
    """Run one sweep on one worker and on two, after a sweep of the smallest size that fills the cache."""
    runs = []
    for workers, sizes in (1, SMALLEST), (1, SIZES), (2, SIZES):
        clock = SweepClock()
        with (
            open_machines(device, f"local:{workers}", SILENT) as (machine,),
            tempfile.TemporaryDirectory() as folder,
            note_batches() as batches,
        ):
            names = (*VARIANTS, machine.default_baseline)
            destination = Destination(Path(folder))
            request = make_request(destination=destination, variants=names, sizes=sizes, rounds=ROUNDS)
            result = run_sweep(request, machine, clock)
            runs.append((clock.seconds, compare_rows(result.run), sum(batches)))
    _, (one, alone, spent_alone), (two, shared, spent_shared) = runs
    ratios = [row.speed_by_baseline for row in compare_runs(alone, shared).rows if row.speed_by_baseline.known]
    agree = sum(ratio.low <= 1 <= ratio.high for ratio in ratios)
    print(f"the sweep on one worker: {one:.1f} s, on two: {two:.1f} s, {one / two:.2f}x as fast")
    print(f"its batches took {spent_alone:.1f} s alone, and {spent_shared:.1f} s next to those of another worker")
    print(f"{agree} of {len(ratios)} rows agree within their joint interval")


def measure_tasks(count: int = 2000) -> None:
    """Run batches in which every row has already failed, so that only the way to the worker and back remains."""
    with open_machines("fake", f"local:{WORKERS}", SILENT) as (machine,):
        assert isinstance(machine, FleetMachine)
        batches = [_leave_nothing(batch) for batch in _make_batches(machine, count)]
        with _open_worker(machine) as worker:
            runner = FleetRunner[Record](worker, lambda records: None)
            runner.run(batches[:16])
            started, used = time.monotonic(), time.process_time()
            runner.run(batches)
            seconds, used = time.monotonic() - started, time.process_time() - used
    cores, client = len(os.sched_getaffinity(0)), used / count
    speed = f"{count / seconds:.0f} tasks per second, {1e3 * client:.2f} ms of client time"
    print(f"{WORKERS} workers on {cores} cores: {speed}")
    print(f"batches of 5 s saturate one client and scheduler at {5 / client:.0f} cards")


def measure_losses(seconds: float) -> None:
    """Kill one of four workers every 10 s, and count the rows that arrive."""
    killed: list[float] = []
    over = threading.Event()
    with open_machines("fake", "local:4", SILENT) as (machine,):
        assert isinstance(machine, FleetMachine)
        batches = _make_batches(machine, round(4 * seconds), rounds=400)

        def kill_workers() -> None:
            while not over.wait(10.0):
                pids = machine.connection.tell_workers(os.getpid)
                with suppress(ProcessLookupError, IndexError):
                    os.kill(pids[len(killed) % len(pids)], signal.SIGKILL)
                    killed.append(time.monotonic())

        killer = threading.Thread(target=kill_workers)
        killer.start()
        rows: list[Record] = []
        end = time.monotonic() + seconds
        with _open_worker(machine) as worker:
            FleetRunner[Record](worker, rows.extend, is_interrupted=lambda: time.monotonic() > end).run(batches)
        over.set()
        killer.join()
    counts = Counter(row.problem.M for row in rows)
    doubled = sum(count > 1 for count in counts.values())
    lost = max(counts) - min(counts) + 1 - len(counts)
    print(f"{len(killed)} workers killed in {seconds:.0f} s: {len(rows)} rows, {lost} lost, {doubled} doubled")


def _make_batches(machine: FleetMachine, count: int, rounds: int = 2) -> list[ChainBatch]:
    sizes = ",".join(map(str, range(8, 8 + count)))
    request = Selection(("naive",), read_sizes(sizes), ("f32",), ("nn",))
    plans = [plan for plan in plan_kernel(request, find_variant(request), machine) if isinstance(plan, Plan)]
    policy = Policy(rounds=rounds, until=0.0, cache="hot")
    artifact = FleetCompiler(machine, TimeLimits.compile).compile(plans[0])
    return [make_gemm_batch([plan], [artifact], policy) for plan in plans]


def _leave_nothing(batch: ChainBatch) -> ChainBatch:
    return replace(batch, faults=tuple((row, NOTHING) for row in range(len(batch.chains))))


def _open_worker(machine: FleetMachine) -> FleetWorker:
    return FleetWorker(machine, Open(machine, ("fake",), True, TimeLimits()), SILENT.message)


def main() -> None:
    """Run what the command line names."""
    match sys.argv[1:]:
        case ["scaling", *device]:
            measure_scaling(device[0] if device else "cuda")
        case ["tasks"]:
            measure_tasks()
        case ["losses", *seconds]:
            measure_losses(float(seconds[0]) if seconds else 300.0)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
