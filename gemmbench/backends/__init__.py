"""Where plans run: which device there is, its compiler, and the device opened.

The modules of a back end are imported when it is asked for, so that a machine
without a GPU needs nothing of CUDA.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gemmbench.backends.base import Backend, Compiler, Device
from gemmbench.errors import DeviceError, UsageError, nearest
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.sweeps.limits import Limits

_FORMS = "auto, cpu, cuda or cuda:N"


@dataclass(frozen=True)
class Choice:
    """Which back end runs the kernels: "cuda", "cpu" or "fake"; its index or script; and why."""

    primary: str
    index: int = 0
    script: str = ""
    note: str = ""


@dataclass(frozen=True)
class Machine:
    """The devices of a run: the primary one, and the host beside it."""

    choice: Choice
    devices: Mapping[str, Device]

    @property
    def primary(self) -> Device:
        """The device that kernels run on."""
        return self.devices[self.choice.primary]

    @property
    def targets(self) -> dict[str, Target]:
        """What planning must know, by back end."""
        return {name: device.target for name, device in self.devices.items()}

    @property
    def default_baseline(self) -> str:
        """The library that the rows are compared with."""
        return "openblas" if self.choice.primary == "cpu" else "cublas"


def choose(option: str) -> Choice:
    """Read `--device`; opens nothing. Raises UsageError, or DeviceError where the device is not usable."""
    kind, _, rest = option.partition(":")
    if kind == "fake":
        return Choice("fake", script=rest)
    if option == "cpu":
        return Choice("cpu")
    if option == "auto":
        why = _why_no_cuda(0)
        return Choice("cpu", note=f"no GPU is used: {why}; running on the CPU") if why else Choice("cuda")
    if not re.fullmatch(r"cuda(:[0-9]{1,4})?", option):
        raise UsageError(f"unknown device '{option}'{nearest(kind, ('auto', 'cpu', 'cuda'))}; known: {_FORMS}")
    index = int(rest or 0)
    if why := _why_no_cuda(index):
        raise DeviceError(f"device {option} cannot be used: {why}; or take --device cpu")
    return Choice("cuda", index)


def _why_no_cuda(index: int) -> str:
    from gemmbench.backends.cuda.system import probe

    if why := probe.why_not():
        return why
    return "" if probe.probe(index) else f"there is no GPU number {index}"


def glance(choice: Choice) -> dict[str, Target]:
    """Targets without opening a device or importing its library: enough to tell what is ready."""
    if choice.primary == "fake":
        return {"fake": _fake_device().target}
    from gemmbench.backends.cpu import device as host

    targets = {"cpu": host.describe().target}
    if choice.primary == "cuda":
        from gemmbench.backends.cuda.system import probe

        seen = probe.probe(choice.index)
        if seen is not None:
            targets["cuda"] = Target("cuda", seen.sm, 0, 0, 0, seen.memory)
    return targets


def describe(choice: Choice) -> Machine:
    """Describe the devices of a run; opens none. Raises DeviceError."""
    if choice.primary == "fake":
        return Machine(choice, {"fake": _fake_device()})
    from gemmbench.backends.cpu import device as host

    devices = {"cpu": host.describe()}
    if choice.primary == "cuda":
        from gemmbench.backends.cuda.system import device

        devices["cuda"] = device.describe(choice.index)
    return Machine(choice, devices)


def no_transfers(machine: Machine) -> str:
    """Why there is nothing to copy to and from the primary device, or "" if there is."""
    if machine.choice.primary != "cpu":
        return ""
    return "on the CPU device the matrices lie where they are used, and nothing is copied"


def _fake_device() -> Device:
    from gemmbench.backends.fake import backend as fake

    return fake.describe()


def compilers(machine: Machine, names: Iterable[str], limit: float = Limits.compile) -> dict[str, Compiler]:
    """The compilers of the named back ends; `limit` is seconds for one kernel."""
    return {name: _compiler(machine, name, limit) for name in names}


def _compiler(machine: Machine, name: str, limit: float) -> Compiler:
    if name == "fake":
        from gemmbench.backends.fake.backend import FakeCompiler

        return FakeCompiler(_script(machine.choice))
    if name == "cuda":
        from gemmbench.backends.cuda.compiling.nvcc import NvccCompiler

        return NvccCompiler(limit)
    from gemmbench.backends.cpu.compiler import CpuCompiler

    return CpuCompiler(limit)


def isolated(machine: Machine) -> bool:
    """Whether experiments need a process of their own, since a kernel can take a device's context down.

    The CPU's kernels have processes of their own. Under a tool that watches this process, work stays in it.
    """
    from gemmbench.backends.cuda.launching.gate import off_reason

    if machine.choice.primary == "fake":
        return _script(machine.choice).isolated
    return machine.choice.primary == "cuda" and not off_reason()


def open_backends(
    machine: Machine, names: Iterable[str], gate: bool, launch_limit: float = Limits.launch
) -> dict[str, Backend]:
    """Open the named back ends; `launch_limit` is seconds for a launch, where the device can end one.

    Raises DeviceError.
    """
    return {name: _open(machine, name, gate, launch_limit) for name in names}


def _open(machine: Machine, name: str, gate: bool, launch_limit: float) -> Backend:
    if name == "fake":
        from gemmbench.backends.fake.backend import FakeBackend

        return FakeBackend(_script(machine.choice))
    if name == "cuda":
        from gemmbench.backends.cuda.backend import CudaBackend

        return CudaBackend(machine.choice.index, gate=gate)
    from gemmbench.backends.cpu.backend import CpuBackend

    return CpuBackend(launch_limit)


def _script(choice: Choice):  # type: ignore[no-untyped-def]
    from gemmbench.backends.fake.backend import Script

    return Script.read(Path(choice.script)) if choice.script else Script()


def libraries() -> list[Variant]:
    """The variants that come from libraries."""
    from gemmbench.backends.cpu.library import OPENBLAS
    from gemmbench.backends.cuda.libraries.variants import CUBLAS, CUBLASLT

    return [CUBLAS, CUBLASLT, OPENBLAS]


def helpers() -> dict[str, Variant]:
    """Passes over a GEMM's result, for what it cannot do itself: `activation` and `softmax`."""
    from gemmbench.planning.manifests.manifest import read_variant

    folder = Path(__file__).parent / "passes"
    return {path.stem: read_variant(path) for path in sorted(folder.glob("*.cu"))}


def refusal(variant: Variant, device: str) -> str:
    """Why a back end cannot run a variant, whatever the problem; "" if it can."""
    if device == "cpu" and variant.kind == "cuda":
        from gemmbench.backends.cpu.support import unsupported

        return unsupported(variant)
    if device == "cuda" and variant.kind == "library":
        from gemmbench.backends.cuda.system.probe import why_no_library

        return why_no_library()
    return ""
