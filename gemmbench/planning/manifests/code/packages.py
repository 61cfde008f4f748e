"""Packages that Python functions need: which of them are missing, and how to install them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

_DISTRIBUTIONS = {"cupy": "cupy-cuda13x", "cutlass": "nvidia-cutlass-dsl"}
"""Packages that pip knows under another name."""


def explain_missing(packages: Sequence[str]) -> str:
    """Why a module that needs these packages cannot run here, or ""; imports none of them."""
    missing = [name for name in packages if not _is_installed(name)]
    return f"{missing[0]} is not installed: {find_pip_line(missing[0])}" if missing else ""


@cache
def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def find_pip_line(package: str) -> str:
    """The command that installs a package that is imported under this name."""
    return f"pip install {_DISTRIBUTIONS.get(package, package)}"
