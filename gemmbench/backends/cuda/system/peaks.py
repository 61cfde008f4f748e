"""Measures the peak rates of a GPU for copies, multiply-adds in registers, and launches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gemmbench.backends.base import Window
from gemmbench.backends.cuda.backend import CudaBackend
from gemmbench.backends.cuda.device_memory import DeviceMemory
from gemmbench.backends.cuda.driver import Shape, load_cubin, load_driver, pack_launch
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.backends.cuda.window import Calls
from gemmbench.backends.devices import Peaks

_SOURCE = Path(__file__).with_name("peaks.cu")
_THREADS, _ROWS, _COLUMNS, _UNROLL = 256, 8, 16, 8  # 161 registers, so 8 warps per multiprocessor: 2 per scheduler
_ROUNDS = 1000  # about 1 ms
_MOST_COPIED = 1 << 30
_WARM_SECONDS, _WINDOWS = 0.3, 9
_COPIES, _FMA_LAUNCHES, _EMPTY_LAUNCHES = 8, 10, 256
_ONE: Shape = (1, 1, 1)


def measure_peaks(backend: CudaBackend) -> Peaks:
    """Measure the peaks in about two seconds. Raises DeviceError, OutOfMemory, LaunchError."""
    arch = str(backend.device.target.sm)
    module = load_cubin(compile_peaks(arch), arch)
    fma = _time_fma(backend, module)
    empty = pack_launch(module.get_function("empty"), _ONE, _ONE, backend.stream, "")
    return Peaks(
        copy=_copy_rate(backend),
        fma=fma.launches * _flops_per_launch(backend.device.target.sms) / fma.seconds,
        clock_hz=fma.clock_hz,
        launch=_seconds_per_launch(_median_window(backend, empty, _EMPTY_LAUNCHES)),
        ungated=_seconds_per_launch(_median_window(backend, empty, _EMPTY_LAUNCHES, gated=False)),
    )


def compile_peaks(arch: str) -> str:
    """Compile the kernels and return the path. Raises BuildError, DeviceError."""
    values = {"THREADS": _THREADS, "ROWS": _ROWS, "COLUMNS": _COLUMNS, "UNROLL": _UNROLL}
    defines = [f"#define {name} {value}" for name, value in values.items()]
    place = f"gemmbench/backends/cuda/system/{_SOURCE.name}"
    text = "\n".join([*defines, f'#line 1 "{place}"', _SOURCE.read_text(encoding="utf-8")])
    return NvccCompiler().cubin(text, arch, ("outer_products",), place).path


def _flops_per_launch(sms: int) -> int:
    """Return the floating-point operations of one launch with one block on each multiprocessor."""
    return 2 * _ROWS * _COLUMNS * _UNROLL * _ROUNDS * _THREADS * sms


def _time_fma(backend: CudaBackend, module: Any) -> Window:
    blocks = backend.device.target.sms
    out = DeviceMemory(4 * _THREADS * blocks)
    function, shape = module.get_function("outer_products"), ((blocks, 1, 1), (_THREADS, 1, 1))
    launch = pack_launch(function, *shape, backend.stream, "Piff", out.address, _ROUNDS, 1e-3, 1e-3)
    window = _median_window(backend, launch, _FMA_LAUNCHES)
    out.free()
    return window


def _copy_rate(backend: CudaBackend) -> float:
    """Measure the driver's copies within device memory in bytes/s, counting reads and writes."""
    cuda = load_driver()
    size = min(_MOST_COPIED, backend.device.target.memory // 8)
    memory = DeviceMemory(2 * size)
    memory.fill(0, 2 * size, 0x3F)
    copy = partial(cuda.memcpy_dtod_async, memory.address + size, memory.address, size, backend.stream)
    window = _median_window(backend, copy, _COPIES)
    memory.free()
    return 2 * size / _seconds_per_launch(window)


def _median_window(backend: CudaBackend, queue: Callable[[], object], launches: int, gated: bool = True) -> Window:
    """Return the median time of a window on a warm device."""
    timer, spent = backend.timer(Calls((queue,), "a kernel of gemmbench doctor"), gated), 0.0
    while spent < _WARM_SECONDS:
        spent += max(timer.time(launches).seconds, _WARM_SECONDS / 100)
    windows = sorted((timer.time(launches) for _ in range(_WINDOWS)), key=_seconds_per_launch)
    return windows[_WINDOWS // 2]


def _seconds_per_launch(window: Window) -> float:
    return window.seconds / window.launches
