"""A connection to a Dask cluster, at an address or on this host, and the tasks submitted to it."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from types import SimpleNamespace, TracebackType
from typing import Any

from gemmbench.bench.workers.worker_process import import_path
from gemmbench.errors import DeviceError, UsageError, write_pip_line

_LOCAL = re.compile(r"local(?::([1-9][0-9]{0,3}))?")
_SCHEDULER = re.compile(r"(?:tcp|tls|ws|wss|ucx)://\S+:([0-9]{1,5})")
_MOST_PORT = 65535


@dataclass(frozen=True)
class FleetAddress:
    """The address of a scheduler, or "" for this host with `count` workers (0: one for each card)."""

    scheduler: str = ""
    count: int = 0


def parse_fleet(text: str) -> FleetAddress:
    """Parse `local`, `local:4` or the address of a scheduler. Raises UsageError."""
    if local := _LOCAL.fullmatch(text):
        return FleetAddress(count=int(local[1] or 0))
    if (scheduler := _SCHEDULER.fullmatch(text)) and 1 <= int(scheduler[1]) <= _MOST_PORT:
        return FleetAddress(text)
    raise UsageError(
        f"cannot parse --fleet {text}; write local, local:4 or the address of a scheduler, tcp://HOST:8786"
    )


MOST_LOSSES = 2
"""The number of times that a task is retried elsewhere after losing its worker."""
_CHATTY = ("distributed", "distributed.client", "tornado.application")
"""Loggers that write tracebacks to the terminal. A DeviceError says the same in one sentence."""
_ENCRYPTED = ("tls", "wss")
_CONNECTING_SECONDS = 10
_CLOSING_SECONDS = 10.0
_WAITING_SECONDS = 60


class WorkersLost(DeviceError):
    """Raised if a task lost its worker so often that Dask gave up."""


def _load_dask() -> Any:
    """Return the parts of Dask that a fleet needs. Raises DeviceError if Dask is not installed."""
    try:
        distributed, dask = import_module("distributed"), import_module("dask")
    except ImportError as fault:
        raise DeviceError(f"--fleet needs Dask ({fault}): {write_pip_line('fleet')}") from None
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    names = ("Client", "KilledWorker", "LocalCluster", "Security", "get_worker")
    get_backend = import_module("distributed.comm.registry").get_backend
    found = {name: getattr(distributed, name) for name in names}
    return SimpleNamespace(config=dask.config, get_backend=get_backend, **found)


def _check_protocol(dask: Any, address: str) -> None:
    """Raise DeviceError if Dask lacks a package that the protocol needs, because its client would wait forever."""
    protocol = address.partition(":")[0]
    try:
        dask.get_backend(protocol).get_connector()
    except (TypeError, ValueError, ImportError):
        why = f"Dask needs another package for {protocol}, such as distributed-ucxx"
        raise DeviceError(f"--fleet {address}: {why}") from None
    if protocol in _ENCRYPTED and not dask.Security().get_connection_args("client").get("ssl_context"):
        keys = "distributed.comm.tls.ca-file and distributed.comm.tls.client"
        raise DeviceError(f"--fleet {address}: set the certificates for {protocol} in Dask's settings {keys}")


class Connection:
    """A client of the scheduler at `address`. The scheduler's workers have one `resource` for each device.

    Raises DeviceError if no scheduler answers.
    """

    def __init__(self, address: str, resource: str):
        self._dask, self.address, self.resource = _load_dask(), address, resource
        self._done: SimpleQueue[Any] = SimpleQueue()
        _check_protocol(self._dask, address)
        try:
            self._client = self._dask.Client(address, timeout=_CONNECTING_SECONDS, set_as_default=False)
        except (OSError, ValueError, ImportError) as fault:
            why = " ".join(str(fault).split())
            raise DeviceError(
                f"no Dask scheduler answers at {address}: {why}; start one with `dask scheduler`, or use --fleet local"
            ) from None

    def await_workers(self, count: int) -> None:
        """Wait until there are `count` workers. Raises DeviceError."""
        try:
            self._client.wait_for_workers(count, timeout=_WAITING_SECONDS)
        except TimeoutError:
            found = len(self.list_workers())
            raise DeviceError(f"{found} of {count} workers started within {_WAITING_SECONDS} s") from None

    def list_workers(self) -> dict[str, str]:
        """Return the hosts of all current workers with the resource, by address. Raises DeviceError."""
        self._check()
        known = self._client.scheduler_info(n_workers=-1)["workers"]
        return {address: each["host"] for address, each in known.items() if each["resources"].get(self.resource)}

    def count_others(self) -> int:
        """Count the workers without the resource."""
        return len(self._client.scheduler_info(n_workers=-1)["workers"]) - len(self.list_workers())

    def submit(self, function: Callable[..., Any], *arguments: object, workers: Sequence[str] | None = None) -> Any:
        """Submit a task for one of these workers or hosts. Returns a future."""
        return self._client.submit(function, *arguments, workers=workers, pure=False)

    def submit_measurement(
        self, function: Callable[..., Any], argument: object, workers: Collection[str] | None = None
    ) -> Any:
        """Submit a task that has exclusive use of a device. `next_done` returns its future once it has ended."""
        chosen = sorted(workers) if workers else None
        future = self._client.submit(function, argument, workers=chosen, pure=False, resources={self.resource: 1})
        future.add_done_callback(self._done.put)
        return future

    def next_done(self, seconds: float) -> Any | None:
        """Return the next measurement to end, or None if none ends within `seconds`. Raises DeviceError."""
        try:
            return self._done.get(timeout=seconds)
        except Empty:
            self._check()
            return None

    def take(self, future: Any, seconds: float | None = None) -> Any:
        """Wait for a task and return its result.

        Raises WorkersLost, DeviceError for a lost scheduler, TimeoutError, and the task's errors.
        """
        try:
            return future.result(seconds)
        except self._dask.KilledWorker:
            raise WorkersLost("workers were lost repeatedly while they ran a task") from None
        except Exception:
            self._check()
            raise

    def tell_workers(
        self, function: Callable[..., Any], *arguments: object, workers: Collection[str] | None = None
    ) -> list[Any]:
        """Run a short function immediately on these workers or on all. Returns the answers received."""
        if self._client.status != "running":
            return []
        chosen = None if workers is None else list(workers)
        return list(self._client.run(function, *arguments, workers=chosen, on_error="ignore").values())

    def close(self) -> None:
        """Release all tasks and close the connection."""
        self._client.close(timeout=_CLOSING_SECONDS)

    def _check(self) -> None:
        if self._client.status != "running":
            raise DeviceError(f"the connection to the scheduler at {self.address} was lost")

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.close()


_LOOPBACK = "127.0.0.1"
_HTTP = f"{_LOOPBACK}:0"
"""The address for Dask's HTTP servers. They cannot be turned off, but they get no pages to serve."""
_BOOT = (
    "import os, sys; _, cores, path, *sys.argv[1:] = sys.argv; sys.path[:0] = path.split(os.pathsep); "
    "os.sched_setaffinity(0, map(int, cores.split(','))) if cores else None; "
    "from distributed.cli.dask_worker import main; main(prog_name='dask-worker')"
)
_ENDING_SECONDS = 5.0


@contextmanager
def start_workers(environments: Sequence[dict[str, str]], resource: str) -> Iterator[str]:
    """Start a worker with each of these sets of environment variables. Yields the address of the scheduler.

    Each worker has one `resource` and threads for compiling. All listen only on 127.0.0.1 and refuse connections
    without this fleet's certificate. Dask's settings use it inside the `with` block. Raises DeviceError.
    """
    dask, shares = _load_dask(), _share_cores(len(environments))
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="gemmbench-fleet-", ignore_cleanup_errors=True))
        )
        certificate, key = _write_certificate(dask, folder)
        stack.enter_context(dask.config.set(_name_certificate(certificate, key)))
        failures, routes = "distributed.scheduler.allowed-failures", "distributed.scheduler.http.routes"
        stack.enter_context(dask.config.set({failures: MOST_LOSSES, routes: []}))
        cluster = stack.enter_context(
            dask.LocalCluster(
                n_workers=0, host=_LOOPBACK, protocol="tls://", dashboard_address=_HTTP, silence_logs=logging.CRITICAL
            )
        )
        address = str(cluster.scheduler_address)
        for number, (environment, cores) in enumerate(zip(environments, shares, strict=True)):
            worker = _start_worker(address, number, environment, cores, resource, certificate, key)
            stack.callback(_end, worker)
        yield address


def _write_certificate(dask: Any, folder: Path) -> tuple[Path, Path]:
    """Write a new self-signed certificate and its key to a folder that only this user can read.

    Raises DeviceError.
    """
    try:
        security = dask.Security.temporary()
    except ImportError:
        why = "the workers of a local fleet identify each other by a certificate, which needs the package cryptography"
        raise DeviceError(f"--fleet local: {why}: {write_pip_line('fleet')}") from None
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    for path, text in ((certificate, security.tls_client_cert), (key, security.tls_client_key)):
        path.touch(0o600)
        path.write_text(text, encoding="ascii")
    return certificate, key


def _name_certificate(certificate: Path, key: Path) -> dict[str, object]:
    """Return Dask settings that make clients and schedulers use this certificate and trust no other."""
    tls = "distributed.comm.tls"
    roles = {f"{tls}.{role}": {"cert": str(certificate), "key": str(key)} for role in ("client", "scheduler")}
    return {"distributed.comm.require-encryption": True, f"{tls}.ca-file": str(certificate), **roles}


def _share_cores(workers: int) -> list[list[int]]:
    """Divide this process's cores equally among several workers. Workers share cores if there are too few."""
    if not hasattr(os, "sched_getaffinity"):
        return [[] for _ in range(workers)]
    cores = sorted(os.sched_getaffinity(0))
    share = max(1, len(cores) // workers)
    return [[cores[(number * share + each) % len(cores)] for each in range(share)] for number in range(workers)]


def _start_worker(
    scheduler: str,
    number: int,
    environment: dict[str, str],
    cores: list[int],
    resource: str,
    certificate: Path,
    key: Path,
) -> subprocess.Popen[bytes]:
    """Start a worker. Its files are in the certificate's folder."""
    paths, folder = import_path(), certificate.parent
    arguments = [scheduler, "--name", f"worker-{number}", "--host", _LOOPBACK, "--resources", f"{resource}=1"]
    arguments += ["--nthreads", str(1 + max(1, len(cores))), "--memory-limit", "0"]
    arguments += ["--no-dashboard", "--dashboard-address", _HTTP]
    arguments += ["--tls-ca-file", str(certificate), "--tls-cert", str(certificate), "--tls-key", str(key)]
    arguments += ["--death-timeout", "60", "--local-directory", str(folder)]
    settings = {"DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]", "PYTHONPATH": os.pathsep.join(paths)}
    with (folder / f"worker-{number}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-c", _BOOT, ",".join(map(str, cores)), os.pathsep.join(paths), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **environment, **settings},
            start_new_session=True,
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a worker, its nanny and everything that they started."""
    process.terminate()
    try:
        process.wait(_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
