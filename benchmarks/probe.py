"""Small kernels that measure a device, not a variant: compiled here, timed by gemmbench's own windows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gemmbench.backends.base import Window
from gemmbench.backends.cuda.backend import CudaBackend
from gemmbench.backends.cuda.driver import Shape, load_cubin, pack_launch
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.backends.cuda.window import Calls

WARM_SECONDS, WINDOWS = 0.3, 9


def compile_probe(path: Path, symbol: str, arch: str, macros: Mapping[str, int]) -> str:
    """Compile a file of kernels with macros and return the path of the cubin."""
    defines = [f"#define {name} {value}" for name, value in macros.items()]
    text = "\n".join([*defines, f'#line 1 "{path.name}"', path.read_text()])
    return NvccCompiler().cubin(text, arch, (symbol,), path.name).path


class Probe:
    """A kernel loaded on a device."""

    def __init__(self, backend: CudaBackend, path: Path, symbol: str, macros: Mapping[str, int]):
        self._backend, self._name = backend, path.name
        arch = str(backend.device.target.sm)
        self._kernel: Any = load_cubin(compile_probe(path, symbol, arch, macros), arch).get_function(symbol)

    def time(self, grid: Shape, block: Shape, layout: str, *arguments: float, launches: int = 4) -> Window:
        """Time launches on a warm device: the median of WINDOWS windows. `layout` is that of pack_launch."""
        launch = pack_launch(self._kernel, grid, block, self._backend.stream, layout, *arguments)
        timer, spent = self._backend.timer(Calls((launch,), self._name)), 0.0
        while spent < WARM_SECONDS:
            spent += max(timer.time(launches).seconds, WARM_SECONDS / 100)
        return sorted((timer.time(launches) for _ in range(WINDOWS)), key=lambda window: window.seconds)[WINDOWS // 2]
