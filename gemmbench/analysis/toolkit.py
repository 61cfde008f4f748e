"""NVIDIA's toolkit on this machine: where nvcc, cuobjdump and the other programs are, and which
release.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from gemmbench.errors import DeviceError


def find_nvcc() -> str:
    """Path of nvcc: $CUDACXX, PATH, /usr/local/cuda*, NVIDIA's wheels. Raises DeviceError."""
    if chosen := os.environ.get("CUDACXX"):
        if found := shutil.which(chosen):
            return found
        raise DeviceError(f"CUDACXX names '{chosen}', which is not an executable")
    if found := find_tool("nvcc"):
        return found
    raise DeviceError("no nvcc found: install the CUDA toolkit, or name its compiler in CUDACXX")


def find_cuobjdump() -> str:
    """Path of cuobjdump: PATH, the folder of nvcc, /usr/local/cuda*, NVIDIA's wheels.

    Raises DeviceError.
    """
    try:
        folder = str(Path(find_nvcc()).resolve().parent)
    except DeviceError:
        folder = ""
    if found := find_tool("cuobjdump", folder):
        return found
    raise DeviceError("no cuobjdump found: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm")


def find_tool(tool: str, folders: str = "") -> str | None:
    """Path of a tool of NVIDIA's: PATH, `folders`, /usr/local/cuda*, NVIDIA's wheels; or None."""
    local, wheels = Path("/usr/local"), find_spec("nvidia")
    toolkits = [local / "cuda", *sorted(local.glob("cuda-*"), key=_release_number, reverse=True)]
    searched = [os.environ.get("PATH", ""), folders, *(str(toolkit / "bin") for toolkit in toolkits)]
    for root in (wheels.submodule_search_locations or []) if wheels else []:
        searched += map(str, sorted(Path(root).glob("*/bin"), reverse=True))
    return shutil.which(tool, path=os.pathsep.join(filter(None, searched)))


def _release_number(toolkit: Path) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", toolkit.name)]


@lru_cache
def nvcc_version(nvcc: str) -> str:
    """The version of this nvcc, like `13.0.88`. Raises DeviceError if it does not run."""
    try:
        output = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as fault:
        raise DeviceError(f"{nvcc} does not run: {fault}") from fault
    release = re.search(r"\bV(\d+[.\d]*)", output)
    return release[1] if release else "unknown"
