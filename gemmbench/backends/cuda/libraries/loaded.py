"""Which cuBLAS is loaded in this process: ours is opened first, and a Python package may bring another."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_LIBRARY = re.compile(r"(/\S*/lib(cublas|cublasLt)\.so[.\d]*)$", re.MULTILINE)
_PARTS = range(3)  # libraryPropertyType: major, minor, patch


def list_loaded_versions(maps: Path = _MAPS) -> dict[str, str]:
    """The version of each library, such as `{"cublas": "13.1.0"}`; several are separated by commas."""
    try:
        found = dict(_LIBRARY.findall(maps.read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return {}
    versions: dict[str, list[str]] = {}
    for path, name in sorted(found.items()):
        versions.setdefault(name.lower(), []).append(_read_version(path, name))
    return {name: ", ".join(dict.fromkeys(filter(None, each))) for name, each in versions.items()}


@cache
def _read_version(path: str, name: str) -> str:
    """Ask a library that is loaded already; "" if it does not say."""
    try:
        get_property = getattr(ctypes.CDLL(path), f"{name}GetProperty")
    except (OSError, AttributeError):
        return ""
    number, parts = ctypes.c_int(), []
    for part in _PARTS:
        if get_property(part, ctypes.byref(number)):
            return ""
        parts.append(str(number.value))
    return ".".join(parts)
