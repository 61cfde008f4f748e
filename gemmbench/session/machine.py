"""The devices of a run, and the catalog of variants."""

from __future__ import annotations

from pathlib import Path

from gemmbench.backends import registry
from gemmbench.backends.devices import Machine
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Variant
from gemmbench.session.reporter import Reporter


def find_machine(device: str, reporter: Reporter) -> Machine:
    """Find the devices that `--device` names, and report why `auto` takes the CPU."""
    choice = registry.choose_device(device)
    if choice.note:
        reporter.message(choice.note)
    return registry.describe_machine(choice)


def find_gpu(device: str, purpose: str) -> Machine:
    """Find the GPU that `purpose` needs. Raises DeviceError if `device` names none."""
    return registry.describe_machine(registry.choose_profiled(device, purpose))


def list_kernel_folders(kernels: str | None) -> list[Path]:
    """The folders of kernels: the project's, and `kernels`."""
    return [data_folder("cuda"), *([Path(kernels)] if kernels else [])]


def open_catalog(kernels: str | None) -> Catalog:
    """Open the catalog of the project's kernels, the folder `kernels`, and the libraries.

    It also finds kernels of a git revision, such as HEAD~3:tiled. Raises UsageError.
    """
    folders = list_kernel_folders(kernels)

    def read_revision(name: str) -> Variant:
        from gemmbench.planning.manifests.revisions import find_variant_at  # few commands name one

        return find_variant_at(name, folders)

    return Catalog(folders, registry.list_library_variants(), read_revision)
