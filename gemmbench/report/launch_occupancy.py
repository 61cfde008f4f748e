"""How a launch fills the device: blocks, waves and theoretical occupancy, without a GPU."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gemmbench.analysis.occupancy import Occupancy, theoretical_occupancy
from gemmbench.bench.record import Environment, Record
from gemmbench.errors import DeviceError


@dataclass(frozen=True)
class LaunchOccupancy:
    """A wave is one full load of all multiprocessors; `last_wave` is the filled share of the last."""

    blocks: int
    occupancy: Occupancy
    waves: float
    last_wave: float


def launch_occupancy(environment: Environment, record: Record) -> LaunchOccupancy | None:
    """The occupancy of a record's launch.

    None for a library, several launches, a CPU, a row that never ran or an unknown architecture.

    Clusters can lower it further, because all blocks of a cluster must fit into one group of
    multiprocessors.
    """
    if not environment.on_gpu(record.backend) or not record.grid or record.registers < 0 or not environment.sms:
        return None
    shared = max(record.shared_static, 0) + record.shared_dynamic
    try:
        occupancy = theoretical_occupancy(environment.sm, math.prod(record.block), record.registers, shared)
    except DeviceError:
        return None
    blocks, wave = math.prod(record.grid), occupancy.blocks_per_sm * environment.sms
    if not wave:
        return None
    return LaunchOccupancy(blocks, occupancy, blocks / wave, (blocks % wave or wave) / wave)
