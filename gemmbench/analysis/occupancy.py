"""Computes how many blocks a multiprocessor can hold, from the limits of each architecture; needs no GPU.

The limits are from the CUDA programming guide, "Technical Specifications per Compute Capability". The rules for
rounding are from the toolkit's occupancy calculator, cuda_occupancy.h.
"""

from __future__ import annotations

from dataclasses import dataclass

from gemmbench.errors import DeviceError

_WARP = 32
_MAX_THREADS = 1024  # of a block
_REGISTERS = 64 * 1024  # of a multiprocessor, and of a block
_REGISTER_GRAIN = 256  # registers are allocated to a warp in this unit
_MAX_REGISTERS = 255  # of a thread


@dataclass(frozen=True)
class ArchitectureLimits:
    """The resources of a multiprocessor of one architecture, and the most that one block may use.

    `shared` is the shared memory of a multiprocessor in bytes, and `block_shared` the most that a block may have.
    `reserved` is what the system reserves for each block, and `grain` is the unit of allocation.
    """

    warps: int
    blocks: int
    shared: int
    block_shared: int
    reserved: int
    grain: int
    block_registers: int = _REGISTERS
    partitions: int = 4


def _before_volta(shared: int, block_registers: int = _REGISTERS, partitions: int = 4) -> ArchitectureLimits:
    """Make the limits of 5.x and 6.x, where a block may have 48 KiB on any multiprocessor."""
    return ArchitectureLimits(64, 32, shared << 10, 48 << 10, 0, 256, block_registers, partitions)


def _of_volta(warps: int, blocks: int, shared: int) -> ArchitectureLimits:
    """Make the limits of 7.x, where a block may have all the shared memory."""
    return ArchitectureLimits(warps, blocks, shared << 10, shared << 10, 0, 256)


def _since_ampere(warps: int, blocks: int, shared: int) -> ArchitectureLimits:
    """Make the limits from 8.0 on, where the system takes 1 KiB of shared memory for each block."""
    return ArchitectureLimits(warps, blocks, shared << 10, (shared - 1) << 10, 1 << 10, 128)


_TABLE = {
    50: _before_volta(64),
    52: _before_volta(96),
    53: _before_volta(64, block_registers=32 * 1024),
    60: _before_volta(64, partitions=2),
    61: _before_volta(96),
    62: _before_volta(64, block_registers=32 * 1024),
    70: _of_volta(64, 32, 96),
    72: _of_volta(64, 32, 96),
    75: _of_volta(32, 16, 64),
    80: _since_ampere(64, 32, 164),
    86: _since_ampere(48, 16, 100),
    87: _since_ampere(48, 16, 164),
    89: _since_ampere(48, 24, 100),
    90: _since_ampere(64, 32, 228),
    100: _since_ampere(64, 32, 228),
    103: _since_ampere(64, 32, 228),
    110: _since_ampere(48, 24, 228),
    120: _since_ampere(48, 24, 100),
    121: _since_ampere(48, 24, 100),
}


def _architecture_limits(sm: int) -> ArchitectureLimits:
    """Look up the limits of a compute capability, given as an integer such as 90.

    Raises DeviceError if it is not in the table.
    """
    if sm not in _TABLE:
        raise DeviceError(f"the limits of sm_{sm} are not known; known: {', '.join(map(str, _TABLE))}")
    return _TABLE[sm]


def most_block_shared(sm: int) -> int:
    """Return how many bytes of shared memory a block may have.

    An unknown architecture has the limits of the closest older one.
    """
    known = [each for each in _TABLE if each <= sm] or [min(_TABLE)]
    return _TABLE[max(known)].block_shared


@dataclass(frozen=True)
class Occupancy:
    """How much of a kernel fits on one multiprocessor. If `blocks_per_sm` is 0, the kernel cannot run.

    `fraction` is warps_per_sm / max_warps. `limiter` is the first limit that is reached: "warps", "registers", "shared
    memory" or "blocks".
    """

    blocks_per_sm: int
    warps_per_sm: int
    max_warps: int
    fraction: float
    limiter: str


def theoretical_occupancy(sm: int, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """Compute the occupancy of a kernel from threads per block, registers per thread, and bytes of shared memory.

    `sm` is the compute capability as an integer such as 90. `shared_bytes` includes static and dynamic shared memory.
    If `registers` is unknown (-1), registers do not limit the result. Raises DeviceError if `sm` is not in the table.
    """
    limits = _architecture_limits(sm)
    warps = max(1, -(-threads // _WARP))
    allowed = {
        "warps": limits.warps // warps if threads <= _MAX_THREADS else 0,
        "registers": _blocks_by_registers(limits, warps, registers),
        "shared memory": _blocks_by_shared_memory(limits, shared_bytes),
        "blocks": limits.blocks,
    }
    limiter, blocks = min(allowed.items(), key=lambda item: item[1])
    return Occupancy(blocks, blocks * warps, limits.warps, blocks * warps / limits.warps, limiter)


def _blocks_by_registers(limits: ArchitectureLimits, warps: int, registers: int) -> int:
    of_warp = _round_up(max(1, registers) * _WARP, _REGISTER_GRAIN)
    # The hardware checks a block as if its warps filled all four partitions evenly.
    if registers > _MAX_REGISTERS or of_warp * _round_up(warps, 4) > limits.block_registers:
        return 0

    def blocks(partitions: int) -> int:
        return _REGISTERS // partitions // of_warp * partitions // warps

    # What does not fit four partitions is not let run on the two of 6.0 either.
    return blocks(limits.partitions) if blocks(4) else 0


def _blocks_by_shared_memory(limits: ArchitectureLimits, shared_bytes: int) -> int:
    if shared_bytes > limits.block_shared:
        return 0
    of_block = _round_up(shared_bytes + limits.reserved, limits.grain)
    return limits.shared // of_block if of_block else limits.blocks


def _round_up(value: int, grain: int) -> int:
    return -(-value // grain) * grain
