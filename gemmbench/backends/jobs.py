"""Jobs: copies between host and device and the launches between them, on streams, timed as a whole.

    Transfers.host(nbytes, pinned) -> HostMemory
    Transfers.job(steps, memory, pinned) -> Job
    Job.run() -> JobTimes

A back end offers this in addition to `base.Backend` if its memory is not the host's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gemmbench.backends.base import Artifact, Backend, Memory, OperandSet
from gemmbench.planning.plans.plan import Plan


@dataclass(frozen=True, eq=False)
class CopyStep:
    """Bytes from host to device (`inward`) or back, queued on stream number `stream`.

    `host` is a view of a HostMemory's bytes: contiguous, or a rectangle whose rows are apart. On
    the device the bytes are packed, from byte `device` of the job's memory on. `after` is the index
    of an earlier step, on any stream, that must end first.
    """

    stream: int
    host: np.ndarray
    device: int
    inward: bool
    after: int | None = None


@dataclass(frozen=True, eq=False)
class LaunchStep:
    """One launch of a plan on operands in the job's memory, queued on stream number `stream`.

    alpha and beta are those of the plan's problem.
    """

    stream: int
    plan: Plan
    artifact: Artifact
    at: OperandSet
    after: int | None = None


JobStep = CopyStep | LaunchStep
"""Steps of one stream run in order. Steps of different streams overlap, except where `after` makes
one wait.
"""


@dataclass(frozen=True)
class JobTimes:
    """Seconds of one run, from before the first step to after the last, and the sum for each kind of step.

    The sums are NaN for a job on several streams, whose steps overlap. `gated` is False if host time
    may be between its steps.
    """

    seconds: float
    h2d: float = math.nan
    kernel: float = math.nan
    d2h: float = math.nan
    gated: bool = True


class HostMemory(Protocol):
    """Bytes on the host that a device copies from and to."""

    bytes: np.ndarray
    """uint8, one dimension."""

    def free(self) -> None:
        """Free the memory; no view of it may be used afterwards."""


class Job(Protocol):
    """Steps bound to host memory and device memory."""

    def run(self) -> JobTimes:
        """Run all steps, wait for the last and return the times.

        Raises LaunchError, LaunchTimeout.
        """


class Transfers(Protocol):
    """What a back end with its own memory can do in addition to `base.Backend`."""

    copy_engines: int
    """Copies that can run at once: with 1, copies to and from the device take turns."""

    def host(self, nbytes: int, pinned: bool) -> HostMemory:
        """Allocate on the host; `pinned` is page-locked. Raises OutOfMemory."""

    def job(self, steps: Sequence[JobStep], memory: Memory, pinned: bool) -> Job:
        """Bind steps; `pinned` if all their host memory is.

        Raises LaunchError, NotOffered, OutOfMemory.
        """


class TransferBackend(Backend, Transfers, Protocol):
    """A back end with transfers."""
