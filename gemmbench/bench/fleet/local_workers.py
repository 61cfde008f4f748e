"""A scheduler in this process, and Dask workers on this host: one per card.

The workers are started with subprocess, as those of a cluster are. multiprocessing's spawn, which Dask uses
otherwise, would run a caller's script again. Each has a session of its own, so that Ctrl-C reaches only the
client, and an equal share of the cores, so that the host threads of one card do not disturb the other.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gemmbench.bench.fleet.connection import MOST_LOSSES, load_dask
from gemmbench.bench.worker.process import import_path

LOOPBACK = "127.0.0.1"
_BOOT = (
    "import os, sys; _, cores, path, *sys.argv[1:] = sys.argv; sys.path[:0] = path.split(os.pathsep); "
    "os.sched_setaffinity(0, map(int, cores.split(','))) if cores else None; "
    "from distributed.cli.dask_worker import main; main(prog_name='dask-worker')"
)
_CLOSING_SECONDS = 5.0


@contextmanager
def start_workers(environments: Sequence[dict[str, str]], resource: str) -> Iterator[str]:
    """Start a worker with each of these environment variables; yields the address of their scheduler.

    Each has one `resource`, and threads to compile with. All listen on 127.0.0.1 only. Raises DeviceError.
    """
    dask, shares = load_dask(), share_cores(len(environments))
    with (
        tempfile.TemporaryDirectory(prefix="gemmbench-fleet-", ignore_cleanup_errors=True) as folder,
        dask.config.set({"distributed.scheduler.allowed-failures": MOST_LOSSES}),
        dask.LocalCluster(n_workers=0, host=LOOPBACK, dashboard_address=f"{LOOPBACK}:0", silence_logs=50) as cluster,
    ):
        address, processes = str(cluster.scheduler_address), list[subprocess.Popen[bytes]]()
        try:
            for number, (environment, cores) in enumerate(zip(environments, shares, strict=True)):
                processes.append(_start_worker(address, number, environment, cores, resource, Path(folder)))
            yield address
        finally:
            for process in processes:
                _end(process)


def share_cores(workers: int) -> list[list[int]]:
    """Cores of this process for each of several workers, equally many; a core is shared if there are too few."""
    if not hasattr(os, "sched_getaffinity"):
        return [[] for _ in range(workers)]
    cores = sorted(os.sched_getaffinity(0))
    share = max(1, len(cores) // workers)
    return [[cores[(number * share + each) % len(cores)] for each in range(share)] for number in range(workers)]


def _start_worker(
    scheduler: str, number: int, environment: dict[str, str], cores: list[int], resource: str, folder: Path
) -> subprocess.Popen[bytes]:
    paths = import_path()
    arguments = [scheduler, "--name", f"worker-{number}", "--host", LOOPBACK, "--resources", f"{resource}=1"]
    arguments += ["--nthreads", str(1 + max(1, len(cores))), "--memory-limit", "0", "--no-dashboard"]
    arguments += ["--death-timeout", "60", "--local-directory", str(folder)]
    with (folder / f"worker-{number}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-c", _BOOT, ",".join(map(str, cores)), os.pathsep.join(paths), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a worker, its nanny and what they started."""
    process.terminate()
    try:
        process.wait(_CLOSING_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
