"""A short probe of the host: how fast it multiplies and copies now, next to what else runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from gemmbench.backends.host import average_competitors, count_cores

_SIZE = 384
_COPIED = 16 << 20
_TRIALS = 3


@dataclass(frozen=True)
class HostSpeed:
    """What the probe found: flops/s of a float64 product on one core, bytes/s of a copy, cores.

    `share` is the part of a core that a thread gets next to other processes.
    """

    product: float
    copy: float
    cores: int
    share: float


TYPICAL_HOST = HostSpeed(product=2e10, copy=5e9, cores=8, share=1.0)
"""For proportions between batches, where a probe of the host would take too long."""


def probe_host() -> HostSpeed:
    """Measure the host in about 0.3 s."""
    competitors, cores = average_competitors(), count_cores()
    matrix = np.ones((_SIZE, _SIZE))
    source, target = np.ones(_COPIED, np.uint8), np.zeros(_COPIED, np.uint8)
    with threadpool_limits(1, user_api="blas"):
        product = 2 * _SIZE**3 / _time_best(lambda: matrix @ matrix)
    copy = _COPIED / _time_best(lambda: np.copyto(target, source))
    return HostSpeed(product, copy, cores, cores / (cores + competitors))


def _time_best(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(_TRIALS):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best
