"""Versions of what the CPU back end uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from gemmbench.backends.cpu.compiler import CpuCompiler
from gemmbench.backends.cpu.openblas import blas_version
from gemmbench.errors import DeviceError


class CpuSoftware(Mapping[str, str]):
    """Versions of the compiler, of NumPy and of its BLAS.

    The compiler is started when they are first read.
    """

    @cached_property
    def _versions(self) -> dict[str, str]:
        libraries = {"numpy": np.__version__, "BLAS": blas_version()}
        try:
            return {"compiler": CpuCompiler().version, **libraries}
        except DeviceError:
            return libraries

    def __getitem__(self, name: str) -> str:
        return self._versions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._versions)

    def __len__(self) -> int:
        return len(self._versions)
