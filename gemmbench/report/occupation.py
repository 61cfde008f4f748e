"""How a launch fills the device: blocks, waves, theoretical occupancy; from a record, without a GPU."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gemmbench.analysis.occupancy import Occupancy, theoretical
from gemmbench.bench.record import Environment, Record
from gemmbench.errors import DeviceError


@dataclass(frozen=True)
class Occupation:
    """A wave is a full load of all multiprocessors; `last_wave` is the share of the last one that is filled."""

    blocks: int
    occupancy: Occupancy
    waves: float
    last_wave: float


def occupation(environment: Environment, record: Record) -> Occupation | None:
    """None for a library, a chain of launches, a CPU, a row that never ran, an architecture that is not known.

    Clusters, which must fit into a group of multiprocessors whole, can lower it further.
    """
    if not environment.on_gpu(record.backend) or not record.grid or record.registers < 0 or not environment.sms:
        return None
    shared = max(record.shared_static, 0) + record.shared_dynamic
    try:
        occupancy = theoretical(environment.sm, math.prod(record.block), record.registers, shared)
    except DeviceError:
        return None
    blocks, wave = math.prod(record.grid), occupancy.blocks_per_sm * environment.sms
    if not wave:
        return None
    return Occupation(blocks, occupancy, blocks / wave, (blocks % wave or wave) / wave)
