"""The gate: a kernel that holds the stream until everything is queued behind it.

A pycuda launch takes 4.7 us of host time. Without the gate every shorter kernel would appear to
take 4.7 us; with it an empty kernel takes 1.5 us (H200).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gemmbench.backends.cuda.launching.packed_launch import pack_launch
from gemmbench.backends.cuda.system.driver import load_driver

QUEUE = 512
"""The most kernels queued behind a gate: a full launch queue blocks the host, which then never
opens it.
"""

LIMIT = 1.0
"""Seconds after which a gate opens by itself: much longer than queuing, shorter than a display's
watchdog.
"""

# Variables set by tools that intercept calls to the driver. Such tools may run kernels one at a time,
# so a kernel that waits for the host would never end.
_TOOLS = {
    "NV_COMPUTE_PROFILER_PERFWORKS_DIR": "Nsight Compute",
    "NV_NSIGHT_INJECTION_PORT_BASE": "Nsight Compute",
    "NV_SANITIZER_INJECTION_PORT_BASE": "compute-sanitizer",
    "NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN": "compute-sanitizer",
    "NSYS_PROFILING_SESSION_ID": "Nsight Systems",
    "CUDA_INJECTION64_PATH": "a tool in CUDA_INJECTION64_PATH",
}
_PRELOADED = ("libsanitizer", "TreeLauncher", "InterceptorInjection", "libcuda-injection")


def why_gate_is_off(environment: Mapping[str, str] = os.environ) -> str:
    """Why windows cannot use a gate, or "" if they can."""
    if environment.get("GEMMBENCH_GATE") == "0":
        return "GEMMBENCH_GATE=0"
    if environment.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"):
        return "CUDA_LAUNCH_BLOCKING"
    for variable, tool in _TOOLS.items():
        if environment.get(variable):
            return tool
    preloaded = environment.get("LD_PRELOAD", "")
    return next((f"{name} in LD_PRELOAD" for name in _PRELOADED if name in preloaded), "")


class Gate:
    """Holds a stream from close() to open(), but at most `limit` seconds.

    `kernel` is the `gate` function of helpers.cu. A word in mapped host memory holds the number
    up to which gates are open. A gate that opens by itself writes its number to the next word.
    """

    def __init__(self, kernel: Any, stream: Any, limit: float = LIMIT):
        cuda = load_driver()
        self._words = cuda.pagelocked_zeros(2, "uint32", mem_flags=cuda.host_alloc_flags.DEVICEMAP)
        self._address = int(self._words.base.get_device_pointer())
        self._kernel, self._stream, self._limit = kernel, stream, int(limit * 1e9)
        self._ticket = 0

    def close(self) -> None:
        """Queue the kernel that waits; everything queued after it waits too."""
        self._ticket += 1
        one = (1, 1, 1)
        words = self._address, self._address + self._words.itemsize
        pack_launch(self._kernel, one, one, self._stream, "PPIQ", *words, self._ticket, self._limit)()

    def open(self) -> None:
        """Release the stream; harmless if it was never held."""
        self._words[0] = self._ticket

    @property
    def expired(self) -> bool:
        """Whether the last gate opened by itself; known once the stream is synchronised."""
        return int(self._words[1]) == self._ticket > 0
