"""The memory hierarchy, measured: bytes per second and cycles per load of each level.

Run `python benchmarks/hierarchy.py` on a machine with an NVIDIA GPU (about fifteen seconds). The table is printed and
also written to hierarchy.csv in the folder given by --out (default: results). With --dry-run nothing is measured, so no
GPU is needed; the kernels are only compiled, for sm_90.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from probe import Probe, compile_probe
from tables import show_table

from gemmbench.backends.base import Window
from gemmbench.backends.cuda.backend import CudaBackend
from gemmbench.backends.cuda.device_memory import DeviceMemory

SOURCE = Path(__file__).with_suffix(".cu")
SYMBOLS = ("read", "read_shared", "chase", "chase_shared")
THREADS, LOADS = 1024, 4
CHUNK = THREADS * LOADS * 16
LINE = 128
STEPS = 20_000
"""Loads of a chain in one launch."""


@dataclass(frozen=True)
class Level:
    """A level of memory: how many bytes to read and to chase in so that they are in this level, and whether L1 may
    serve them.
    """

    name: str
    read: int
    chased: int
    cached: int


LEVELS = (
    Level("L1", CHUNK, 16 << 10, 1),
    Level("L2", 16 << 20, 8 << 20, 0),
    Level("DRAM", 4 << 30, 512 << 20, 0),
)


class Ruler:
    """Measures one device."""

    def __init__(self) -> None:
        self._backend = CudaBackend()
        self._sms = self._backend.device.target.sms
        self._out = DeviceMemory(64)
        self._out.fill(0, 64, 0)

    def close(self) -> None:
        """Give the device back."""
        self._backend.close()

    def measure(self) -> Iterator[list[str]]:
        """One line per level, beginning with the nearest."""
        yield self._describe("shared memory", *self._read_shared(), self._chase_shared())
        for level in LEVELS:
            yield self._describe(level.name, *self._read(level), self._chase(level))

    def _describe(self, name: str, moved: int, reading: Window, chase: Window) -> list[str]:
        rate = moved * reading.launches / reading.seconds
        load = chase.seconds / chase.launches / STEPS
        per_cycle = rate / reading.clock_hz / self._sms
        return [name, f"{rate / 1e12:.2f}", f"{per_cycle:.1f}", f"{load * 1e9:.0f}", f"{load * chase.clock_hz:.0f}"]

    def _probe(self, symbol: str, cached: int) -> Probe:
        return Probe(self._backend, SOURCE, symbol, {"THREADS": THREADS, "L1": cached})

    def _read_shared(self) -> tuple[int, Window]:
        steps, grid = 2000, 2 * self._sms
        window = self._probe("read_shared", 1).time((grid, 1, 1), (THREADS, 1, 1), "iP", steps, self._out.address)
        return grid * steps * CHUNK, window

    def _chase_shared(self) -> Window:
        return self._probe("chase_shared", 1).time((1, 1, 1), (1, 1, 1), "Pi", self._out.address, STEPS)

    def _read(self, level: Level) -> tuple[int, Window]:
        grid, memory = 2 * self._sms, DeviceMemory(level.read)
        memory.fill(0, level.read, 0)
        start = max(level.read // CHUNK // grid, 1) * CHUNK
        steps = 500
        arguments = memory.address, level.read, start, steps, self._out.address
        window = self._probe("read", level.cached).time((grid, 1, 1), (THREADS, 1, 1), "PqqiP", *arguments)
        memory.free()
        return grid * steps * CHUNK, window

    def _chase(self, level: Level) -> Window:
        memory = DeviceMemory(level.chased)
        memory.write(0, make_chain(memory.address, level.chased))
        self._out.write(0, np.array([memory.address], np.uint64))
        window = self._probe("chase", level.cached).time((1, 1, 1), (1, 1, 1), "Pi", self._out.address, STEPS)
        memory.free()
        self._out.fill(0, 64, 0)
        return window


def make_chain(address: int, size: int) -> np.ndarray:
    """Addresses of `size` bytes at `address`: the first word of each line holds the address of a random other line.

    All lines form one circle.
    """
    order = np.random.default_rng(0).permutation(size // LINE)
    order = np.roll(order, -int(np.flatnonzero(order == 0)[0]))  # begins with the first line
    chain = np.zeros((size // LINE, LINE // 8), np.uint64)
    chain[order, 0] = np.uint64(address) + np.roll(order, -1).astype(np.uint64) * np.uint64(LINE)
    return chain


def main() -> None:
    """Print a line per level."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for hierarchy.csv")
    parser.add_argument("--dry-run", action="store_true", help="only compile")
    arguments = parser.parse_args()
    if arguments.dry_run:
        for cached in (0, 1):
            for symbol in SYMBOLS:
                print(compile_probe(SOURCE, symbol, "90", {"THREADS": THREADS, "L1": cached}))
        return
    ruler = Ruler()
    rows = list(ruler.measure())
    ruler.close()
    head = ["level", "TB/s", "bytes per cycle and SM", "latency (ns)", "latency (cycles)"]
    show_table(head, rows, arguments.out / "hierarchy.csv", [f"benchmarks/{SOURCE.name}"])


if __name__ == "__main__":
    main()
