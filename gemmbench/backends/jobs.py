"""Jobs: launches and copies between host and device, queued on streams and timed as a whole."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gemmbench.backends.base import Artifact, Backend, Memory, OperandSet, Range, ScaledArray
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.precisions import FLOAT32, StorageType

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


@dataclass(frozen=True, eq=False)
class CopyStep:
    """A copy from host to device (`inward`) or back, queued on stream number `stream`.

    `host` is a view of the bytes of a HostMemory. It is contiguous or a rectangle with gaps between its rows. On the
    device the bytes are packed, starting at byte `device` of the job's memory. `after` is the index of an earlier step,
    on any stream, that must end first.
    """

    stream: int
    host: np.ndarray
    device: int
    inward: bool
    after: int | None = None


@dataclass(frozen=True, eq=False)
class LaunchStep:
    """One launch of a plan on operands in the job's memory, queued on stream number `stream`.

    alpha and beta come from the plan's problem.
    """

    stream: int
    plan: Plan
    artifact: Artifact
    at: OperandSet
    after: int | None = None


JobStep = CopyStep | LaunchStep
"""Steps on the same stream run in order. Steps on different streams overlap unless `after` makes one wait."""


@dataclass(frozen=True)
class JobTimes:
    """The times of one run in seconds, from before the first step to after the last and for each kind of step.

    For a job on several streams the totals are NaN, because its steps overlap. `gated` is False if there may be host
    time between steps.
    """

    seconds: float
    h2d: float = math.nan
    kernel: float = math.nan
    d2h: float = math.nan
    gated: bool = True


class HostMemory(Protocol):
    """Host memory that a device copies from and to."""

    bytes: np.ndarray
    """One-dimensional uint8 array."""

    def free(self) -> None:
        """Free the memory. No view of it may be used afterwards."""


class Job(Protocol):
    """Steps bound to host memory and device memory."""

    def run(self) -> JobTimes:
        """Run all steps, wait for the last one, and return the times.

        Raises LaunchError, LaunchTimeout.
        """


class Transfers(Protocol):
    """What a back end with its own memory offers in addition to `base.Backend`."""

    copy_engines: int
    """The number of copies that can run at once. If it is 1, copies to and from the device take turns."""

    def host(self, nbytes: int, pinned: bool) -> HostMemory:
        """Allocate host memory, page-locked if `pinned`. Raises OutOfMemory."""

    def job(self, steps: Sequence[JobStep], memory: Memory, pinned: bool) -> Job:
        """Bind steps. `pinned` tells whether all their host memory is page-locked.

        Raises LaunchError, NotOffered, OutOfMemory.
        """


class TransferBackend(Backend, Transfers, Protocol):
    """A back end that can time transfers."""


class HostBytes:
    """The methods of a Memory that only need its `bytes`."""

    bytes: np.ndarray

    def write(self, offset: int, array: np.ndarray) -> None:
        """Copy a contiguous array in."""
        self.bytes[offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)

    def read(self, offset: int, out: np.ndarray) -> None:
        """Fill the contiguous array `out`."""
        out.reshape(-1).view(np.uint8)[:] = self.bytes[offset : offset + out.nbytes]

    def copy(self, source: int, target: int, nbytes: int) -> None:
        """Copy within the memory."""
        self.bytes[target : target + nbytes] = self.bytes[source : source + nbytes]

    def fill(self, offset: int, nbytes: int, byte: int) -> None:
        """Set every byte of a range."""
        self.bytes[offset : offset + nbytes] = byte

    def fill_each(self, offsets: Sequence[int], nbytes: int, byte: int) -> None:
        """Set every byte of several ranges."""
        for offset in offsets:
            self.fill(offset, nbytes, byte)

    def equal(self, one: int, other: int, nbytes: int) -> bool:
        """Return whether two ranges hold the same bytes."""
        return np.array_equal(self.bytes[one : one + nbytes], self.bytes[other : other + nbytes])

    def scale(self, arrays: Sequence[ScaledArray], kind: StorageType, count: int) -> None:
        """Write factor * source to every target."""
        element = kind.numpy_type()
        for array in arrays:
            source, target = (self.array(at, (count,), element) for at in (array.source, array.target))
            factor = array.factor if kind.is_integer else element.type(array.factor)
            np.multiply(source, factor, out=target, casting="unsafe")

    def negate(self, offsets: np.ndarray, kind: StorageType) -> None:
        """Change the sign of the element at each offset."""
        element = kind.numpy_type()
        elements = self.array(0, (len(self.bytes) // element.itemsize,), element)
        indices = offsets // element.itemsize
        elements[indices] = -elements[indices]

    def count_unlike(self, arrays: Sequence[ScaledArray], kind: StorageType, count: int) -> list[int]:
        """For each pair, count the elements of the target that differ from factor * source."""
        return [self._count_unlike(array, kind, count) for array in arrays]

    def _count_unlike(self, array: ScaledArray, kind: StorageType, count: int) -> int:
        wide = np.float64 if kind.significand > FLOAT32.significand else np.float32
        source, target = (
            self.array(at, (count,), kind.numpy_type()).astype(wide) for at in (array.source, array.target)
        )
        scaled = source * wide(array.factor)
        unlike = scaled != target  # true for NaN
        if not unlike.any():
            return 0
        near = np.abs(scaled[unlike] - target[unlike]) <= kind.subnormal_step  # false for NaN
        sizes = [np.abs(each[unlike]) for each in (source, scaled, target)]
        return int(unlike.sum() - (near & (np.minimum.reduce(sizes) < kind.smallest_normal)).sum())

    def checksums(self, ranges: Sequence[Range]) -> list[int]:
        """Return a CRC of each range."""
        return [zlib.crc32(self.bytes[each.start : each.end].data) for each in ranges]

    def array(self, offset: int, shape: tuple[int, ...], kind: DTypeLike) -> np.ndarray:
        """Return the bytes at `offset` as an array, without a copy."""
        array: np.ndarray = np.ndarray(shape, kind, self.bytes, offset)
        return array
