"""What is said of driver, toolkit, packages, permissions and load, on machines that are only described."""

import os
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from gemmbench.backends.cuda import gate
from gemmbench.backends.cuda.system import checks, device, probe
from gemmbench.errors import DeviceError


class NVMLError(Exception):
    """As NVML's."""


def make_nvml(busy=0, processes=(), spoken=13000):
    """As much of NVML as is asked; a load of None is what it does not know."""

    def read_load(handle):
        if busy is None:
            raise NVMLError
        return SimpleNamespace(gpu=busy)

    return SimpleNamespace(
        NVMLError=NVMLError,
        nvmlSystemGetCudaDriverVersion=lambda: spoken,
        nvmlSystemGetDriverVersion=lambda: b"580.1",
        nvmlDeviceGetHandleByPciBusId=lambda bus: bus,
        nvmlDeviceGetUtilizationRates=read_load,
        nvmlDeviceGetComputeRunningProcesses=lambda handle: [SimpleNamespace(pid=pid) for pid in processes],
    )


class Cuda:
    """As much of pycuda.driver as is asked."""

    class Device:
        def __init__(self, index):
            pass

        count = staticmethod(lambda: 1)
        pci_bus_id = staticmethod(lambda: "0000:01:00.0")

    get_version = staticmethod(lambda: (13, 0, 0))


def examine():
    return {finding.subject: finding for finding in checks.examine_gpu(0, required=True)}


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with one H200, as it should be; what differs is given by keyword."""

    def make(sms=("sm_80", "sm_90"), version="13.0.88", missing=(), admin="0", root=False, **nvml):
        nvcc = tmp_path / "nvcc"
        says = f'case "$1" in --version) echo "release, V{version}";; *) echo "{" ".join(sms)}";; esac'
        nvcc.write_text(f"#!/bin/sh\n{says}\n")
        nvcc.chmod(0o755)
        monkeypatch.setenv("CUDACXX", "nowhere" if "nvcc" in missing else str(nvcc))
        monkeypatch.setattr(probe, "_list_installed", lambda: [probe._Gpu("NVIDIA H200", "GPU-1", 90, 140 << 30)])
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.setattr(checks, "find_spec", lambda name: None if name in missing else name)
        monkeypatch.setattr(probe, "find_spec", lambda name: None if name in missing else name)
        monkeypatch.setattr(checks.metadata, "version", lambda name: "2026.1")
        monkeypatch.setattr(checks, "load_driver", lambda: Cuda)
        monkeypatch.setattr(device, "library_versions", lambda: {} if "cublas" in missing else {"cublas": "13.1"})
        parameters = tmp_path / "params"
        parameters.write_text(f"EnableMSI: 1\nRmProfilingAdminOnly: {admin}\n")
        monkeypatch.setattr(checks, "_PARAMETERS", parameters)
        monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
        monkeypatch.setattr(checks, "why_gate_is_off", lambda: "")
        found = None if "nvml" in missing else make_nvml(**nvml)

        @contextmanager
        def opened():
            yield found

        monkeypatch.setattr(probe, "nvml_session", opened)
        return examine()

    return make


def test_a_machine_as_it_should_be_is_fine_in_every_line(machine, tmp_path):
    found = machine()
    assert {what: finding.status for what, finding in found.items() if what != "cuobjdump"} == dict.fromkeys(
        ("driver", "GPU", "nvcc", "pycuda", "cuBLAS", "counters", "gate", "GPU load"), "ok"
    )
    assert found["driver"].message == "580.1, CUDA 13.0"
    assert found["GPU"].message == "NVIDIA H200, compute capability 9.0, 140 GiB"
    assert found["nvcc"].message == f"13.0.88 at {tmp_path}/nvcc, compiles for sm_90"
    assert found["GPU load"].message == "idle"


@pytest.mark.parametrize(
    ("what", "status", "said", "changes"),
    [
        ("nvcc", "fault", "CUDACXX is 'nowhere', which is not an executable", {"missing": ["nvcc"]}),
        ("nvcc", "fault", "does not compile for sm_90", {"sms": ["sm_100"]}),
        ("nvcc", "fault", "is newer than the driver", {"spoken": 12080}),
        ("pycuda", "fault", "is not installed", {"missing": ["pycuda"]}),
        ("cuBLAS", "warning", "nvmath-python is not installed", {"missing": ["nvmath"]}),
        ("cuBLAS", "warning", "the library does not load", {"missing": ["cublas"]}),
        ("counters", "warning", "only root may use the profiler", {"admin": "1"}),
        ("counters", "ok", "this user may use the profiler", {"admin": "1", "root": True}),
        ("GPU load", "warning", "unknown without NVML", {"missing": ["nvml"]}),
        ("GPU load", "warning", "37 % busy", {"busy": 37}),
        ("GPU load", "warning", "0 % busy, processes 17, 18", {"processes": (17, os.getpid(), 18)}),
        ("GPU load", "ok", "idle", {"busy": 4, "processes": (os.getpid(),)}),
        ("GPU load", "ok", "this GPU does not report it", {"busy": None}),
    ],
)
def test_each_fault_has_its_line(machine, what, status, said, changes):
    finding = machine(**changes)[what]
    assert finding.status == status and said in finding.message
    assert bool(finding.next_step) == (status != "ok")


def test_a_driver_that_does_not_start_is_a_fault(machine, monkeypatch):
    machine()

    def broken():
        raise DeviceError("CUDA does not start: no device")

    monkeypatch.setattr(checks, "load_driver", broken)
    found = examine()
    assert (found["pycuda"].status, found["pycuda"].message) == ("fault", "CUDA does not start: no device")
    assert found["GPU load"].status == "ok"


def test_a_gate_that_is_off_says_why(machine, monkeypatch):
    machine()
    monkeypatch.setattr(checks, "why_gate_is_off", lambda: gate.why_gate_is_off({"CUDA_LAUNCH_BLOCKING": "1"}))
    found = examine()["gate"]
    assert (found.status, found.message.split(":")[0]) == ("warning", "off because of CUDA_LAUNCH_BLOCKING")


def test_a_number_beyond_the_last_gpu_is_told(machine):
    machine()
    (gpu, _) = checks.examine_gpu(3, required=True)
    assert (gpu.status, gpu.message) == ("fault", "none: there is no GPU 3")
