"""Takes the results that Python functions return: PyTorch tensors and CuPy arrays with memory of their own.

A result stays where the function put it while launches are timed. Afterwards it is copied to C, where it is checked
like that of any kernel. Before a window, the memory that the package hands out next is filled with NaN. Elements that
the function does not write then cannot hold an old result.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol

from gemmbench.backends.cuda.device_arrays import DeviceArray
from gemmbench.errors import LaunchError

NAN_BYTE = 0xFF
_SPARE_BLOCKS = 2
"""Blocks to fill besides one for each result, since a function may take temporary memory of the same size first."""


@dataclass(frozen=True)
class _Facts:
    """What a returned array is: its shape, strides, element type, place such as `cuda:0`, and address.

    All strides are in elements.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    place: str
    address: int


class _Library(Protocol):
    """What a package of arrays must do. All work is queued on its current stream."""

    def is_array(self, value: object) -> bool:
        """Return whether a value is one of its arrays, and none of a subclass, which may compute when it is read."""

    def describe(self, array: Any) -> _Facts:
        """Return facts about an array."""

    def view(self, target: DeviceArray) -> Any:
        """Return memory of gemmbench as an array."""

    def copy(self, array: Any, target: Any) -> None:
        """Copy an array to another."""

    def allocate(self, nbytes: int) -> Any:
        """Return an array of bytes."""


@dataclass(frozen=True)
class _Torch:
    """PyTorch on GPU number `device`."""

    torch: Any
    device: int
    kinds = "a torch.Tensor"

    def is_array(self, value: object) -> bool:
        """See _Library."""
        return type(value) is self.torch.Tensor

    def describe(self, array: Any) -> _Facts:
        """See _Library."""
        dtype = str(array.dtype).rpartition(".")[2]
        return _Facts(tuple(array.shape), tuple(array.stride()), dtype, str(array.device), array.data_ptr())

    def view(self, target: DeviceArray) -> Any:
        """See _Library."""
        return self.torch.from_dlpack(target)

    def copy(self, array: Any, target: Any) -> None:
        """See _Library."""
        target.copy_(array)

    def allocate(self, nbytes: int) -> Any:
        """See _Library."""
        return self.torch.empty(nbytes, dtype=self.torch.uint8, device=f"cuda:{self.device}")


@dataclass(frozen=True)
class _Cupy:
    """CuPy on the current GPU."""

    cupy: Any
    kinds = "a cupy.ndarray"

    def is_array(self, value: object) -> bool:
        """See _Library."""
        return type(value) is self.cupy.ndarray

    def describe(self, array: Any) -> _Facts:
        """See _Library."""
        strides = tuple(step // array.itemsize for step in array.strides)
        return _Facts(tuple(array.shape), strides, array.dtype.name, f"cuda:{array.device.id}", array.data.ptr)

    def view(self, target: DeviceArray) -> Any:
        """See _Library."""
        return self.cupy.from_dlpack(target)

    def copy(self, array: Any, target: Any) -> None:
        """See _Library."""
        target[...] = array

    def allocate(self, nbytes: int) -> Any:
        """See _Library."""
        return self.cupy.empty(nbytes, "uint8")


@dataclass(frozen=True)
class InputRange:
    """The bytes of an operand that a result must not lie in."""

    name: str
    start: int
    end: int


@dataclass
class ReturnedArrays:
    """The last result of each launch of a function, by the number of the launch's operand set.

    `library` is "torch" or "cupy", and `targets` are the C of each set as the function would see it. `inputs` are the
    operands of all sets. `fill_nan` queues a write of NaN to a number of bytes at an address. The arrays of a recorded
    graph are kept apart, because replays write to them.
    """

    library: str
    device: int
    targets: Sequence[DeviceArray]
    inputs: Sequence[InputRange]
    fill_nan: Callable[[int, int], None]
    _held: dict[int, Any] = field(default_factory=dict)
    _recorded: dict[int, Any] = field(default_factory=dict)
    _views: dict[int, Any] = field(default_factory=dict)
    _pools: object = None

    def __post_init__(self) -> None:
        """Sort the operands, of which there are thousands for a small problem."""
        self._sorted = sorted(self.inputs, key=lambda each: each.start)
        self._starts = [each.start for each in self._sorted]

    @property
    def _arrays(self) -> _Torch | _Cupy:
        module = sys.modules[self.library]
        return _Torch(module, self.device) if self.library == "torch" else _Cupy(module)

    @property
    def nbytes(self) -> int:
        """The bytes of one result."""
        return prod(self.targets[0].shape) * _ITEM_BYTES[self.targets[0].dtype]

    def drop(self, number: int) -> None:
        """Release the last result of a set before its next launch, so that its memory can be used again."""
        self._held.pop(number, None)

    def hold(self, number: int, result: object) -> None:
        """Keep the result of a launch."""
        self._held[number] = result

    def prepare(self, calls: int) -> None:
        """Release all results, and fill the memory of the next ones, and of those of a graph, with NaN.

        At most `calls` results are then in use at the same time. Raises LaunchError as `copy_to_targets` does.
        """
        arrays = self._arrays
        # A function that returns an old result again, without computing it, then returns NaN.
        for number, result in (*self._held.items(), *self._recorded.items()):
            self.fill_nan(self.find_address(number, result), self.nbytes)
        self._held.clear()
        blocks = [arrays.allocate(self.nbytes) for _ in range(min(calls, len(self.targets)) + _SPARE_BLOCKS)]
        for block in blocks:
            self.fill_nan(arrays.describe(block).address, self.nbytes)

    def copy_to_targets(self, recorded: bool) -> None:
        """Copy the results of the last launches to C, in the order of the launches.

        With `recorded`, they are followed by those of the graph. Raises LaunchError for a result of another kind,
        shape, type or GPU, and for one in memory that is in use.
        """
        for results in (self._held, self._recorded) if recorded else (self._held,):
            self._check_distinct(results)
            for number, result in results.items():
                if number not in self._views:
                    self._views[number] = self._arrays.view(self.targets[number])
                self._arrays.copy(result, self._views[number])

    def find_last(self) -> int:
        """Return the address of the last result. Raises LaunchError as `copy_to_targets` does."""
        number, result = next(reversed(self._held.items()))
        return self.find_address(number, result)

    def find_address(self, number: int, result: object) -> int:
        """Return the address of a result after checking it. Raises LaunchError."""
        arrays, target = self._arrays, self.targets[number]
        if not arrays.is_array(result):
            kind = f"{type(result).__module__}.{type(result).__qualname__}".removeprefix("builtins.")
            raise LaunchError(f"returned {'nothing' if result is None else kind}; return {arrays.kinds}")
        facts = arrays.describe(result)
        shape, wanted = ("x".join(map(str, each)) for each in (facts.shape, target.shape))
        if facts.shape != target.shape:
            raise LaunchError(f"returned an array of {shape}; C is {wanted}")
        if facts.dtype != target.dtype:
            raise LaunchError(f"returned an array of {facts.dtype}; C is {target.dtype}")
        if facts.place != f"cuda:{self.device}":
            raise LaunchError(
                f"returned an array on {facts.place}; return it on the GPU of A and B, cuda:{self.device}"
            )
        steps = zip(facts.shape, facts.strides, strict=True)
        if 1 + sum((size - 1) * step for size, step in steps) < prod(facts.shape):
            raise LaunchError("returned an array whose elements share memory; return one with memory for each element")
        # The last operand that begins before the end of the result: those before it end before it begins.
        place = bisect_left(self._starts, facts.address + self.nbytes) - 1
        if place >= 0 and facts.address < self._sorted[place].end:
            name = self._sorted[place].name
            advice = "leave out `returns`" if name == "C" else "allocate the result"
            raise LaunchError(f"returned the memory of its argument {name}; {advice}")
        return facts.address

    def _check_distinct(self, results: dict[int, Any]) -> None:
        """Raise LaunchError if two results that are both in use lie in the same memory."""
        addresses = [self.find_address(number, result) for number, result in results.items()]
        if len(set(addresses)) < len(addresses):
            raise LaunchError(
                "returned the same memory for several launches, so that a later one overwrites an earlier result; "
                "allocate the result in each call, or write it to C and leave out `returns`"
            )

    def keep_for_graph(self, pools: object) -> None:
        """Keep what was returned while a graph was recorded: replays write to it. `pools` are its memory."""
        self._recorded, self._held, self._pools = self._held, {}, pools

    def release(self) -> None:
        """Release the results of launches that are no graph."""
        self._held.clear()


_ITEM_BYTES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int32": 4, "int8": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip
