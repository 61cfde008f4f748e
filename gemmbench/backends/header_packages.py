"""Headers of installed packages, which a manifest includes by name.

The wheels are looked up without importing them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from gemmbench.planning.manifests.variant import Variant


@dataclass(frozen=True)
class _Package:
    """A module of a wheel, the folder of the headers inside it, and how the wheel is installed."""

    module: str
    folder: str
    install: str


_PACKAGES = {
    "cutlass": _Package("cutlass_library", "source/include", "pip install --no-deps nvidia-cutlass"),
    "cublas": _Package("nvidia", "cu13/include", "pip install nvidia-cublas"),
}


def find_header_folder(name: str) -> Path | None:
    """The folder with the headers of a package; None if it is not installed."""
    package = _PACKAGES[name]
    spec = find_spec(package.module)
    for root in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(root) / package.folder
        if folder.is_dir():
            return folder
    return None


def list_include_folders(variant: Variant) -> list[Path]:
    """The folders of `include`, in order, those of packages included."""
    found = [find_header_folder(name) if name in _PACKAGES else Path(name) for name in variant.code.include]
    return [folder for folder in found if folder]


def list_package_folders(variant: Variant) -> list[Path]:
    """The folders of `include` that belong to packages, in order."""
    found = [find_header_folder(name) for name in variant.code.include if name in _PACKAGES]
    return [folder for folder in found if folder]


def why_no_headers(variant: Variant) -> str:
    """Which package with headers is missing, and how to install it; "" if none is."""
    for name in variant.code.include:
        if name in _PACKAGES and find_header_folder(name) is None:
            return f"needs the headers of {name}, which are not installed: {_PACKAGES[name].install}"
    return ""
