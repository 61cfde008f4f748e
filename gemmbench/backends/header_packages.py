"""Headers of installed packages, which a manifest includes by name.

The wheels are looked up without importing them, and then the toolkit.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from gemmbench.analysis.toolkit import find_nvcc
from gemmbench.errors import DeviceError
from gemmbench.planning.manifests.variant import Variant


@dataclass(frozen=True)
class _Package:
    """A module of a wheel, the folder of the headers inside it, and how the wheel is installed.

    A complete toolkit has the `header`, too; "" if it has none.
    """

    module: str
    folder: str
    install: str
    header: str = ""

    @property
    def distribution(self) -> str:
        """The name of the wheel."""
        return self.install.split()[-1]


_PACKAGES = {
    "cutlass": _Package("cutlass_library", "source/include", "pip install --no-deps nvidia-cutlass"),
    "cublas": _Package("nvidia", "cu13/include", "pip install nvidia-cublas", "cublas_v2.h"),
}


def find_header_folder(name: str) -> Path | None:
    """The folder with the headers of a package; None if it is not installed."""
    package = _PACKAGES[name]
    spec = find_spec(package.module)
    folders = [Path(root) / package.folder for root in (spec.submodule_search_locations or [])] if spec else []
    if package.header:
        folders += [folder for folder in _list_toolkit_folders() if (folder / package.header).is_file()]
    return next((folder for folder in folders if folder.is_dir()), None)


def _list_toolkit_folders() -> list[Path]:
    """The folder with the headers of the toolkit, if there is one."""
    try:
        return [Path(find_nvcc()).resolve().parent.parent / "include"]
    except DeviceError:
        return []


def list_include_folders(variant: Variant) -> list[Path]:
    """The folders of `include`, in order, those of packages included."""
    found = [find_header_folder(name) if name in _PACKAGES else Path(name) for name in variant.code.include]
    return [folder for folder in found if folder]


def list_package_folders(variant: Variant) -> list[Path]:
    """The folders of `include` that belong to packages, in order."""
    found = [find_header_folder(name) for name in variant.code.include if name in _PACKAGES]
    return [folder for folder in found if folder]


def find_package_version(name: str) -> str:
    """The version of a package with headers or of a Python package; "" if there is no wheel of it."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(_PACKAGES[name].distribution if name in _PACKAGES else name)
    return ""


def why_no_headers(variant: Variant) -> str:
    """Which package with headers is missing, and how to install it; "" if none is."""
    for name in variant.code.include:
        if name in _PACKAGES and find_header_folder(name) is None:
            return f"needs the headers of {name}, which are not installed: {_PACKAGES[name].install}"
    return ""
