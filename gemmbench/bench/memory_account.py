"""Whether the rows of a batch fit on a device together: operand sets, and the workspaces of all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gemmbench.backends.base import Device
from gemmbench.bench.batch_costs import Work
from gemmbench.bench.operands.cold_sets import LEAST_SETS, find_room
from gemmbench.bench.operands.scratch import count_scratch_bytes
from gemmbench.planning.plans.plan import Chain


def fit_together(devices: Mapping[str, Device], chains: Sequence[Chain]) -> bool:
    """Whether a GPU has room for the workspaces of these rows of one problem and two operand sets.

    On a CPU they always fit: its free memory differs from run to run, and batches must not.
    """
    for name in {chain.device for chain in chains}:
        target, there = devices[name].target, [chain for chain in chains if chain.device == name]
        if target.is_gpu and LEAST_SETS * Work.of(there[0]).set_bytes > find_room(target) - count_fixed_bytes(there):
            return False
    return True


def count_fixed_bytes(chains: Sequence[Chain]) -> int:
    """Bytes on a device besides operand sets: a workspace for each row, and one for each library."""
    libraries: dict[str, int] = {}
    for step in (step for chain in chains for step in chain.steps if step.variant.is_library):
        libraries[step.variant.name] = max(libraries.get(step.variant.name, 0), step.workspace)
    return sum(libraries.values()) + sum(count_scratch_bytes(chain.steps) for chain in chains)
