"""Finding GPUs, with a made-up NVML and a made-up /proc."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from gemmbench.backends.cuda.system import probe
from gemmbench.errors import write_pip_line

GPUS = [
    ("NVIDIA H200", "GPU-aaaa1111", (9, 0), 141 << 30),
    (b"Tesla T4", b"GPU-aabb2222", (7, 5), 16 << 30),
    ("NVIDIA GeForce RTX 4090", "GPU-cccc3333", (8, 9), 24 << 30),
]


class NVMLError(Exception):
    """As NVML's."""


def refuse(*_):
    raise NVMLError


@pytest.fixture
def nvml(monkeypatch):
    """A machine with three GPUs; bytes are what older packages return."""
    fake = ModuleType("pynvml")
    fake.NVMLError = NVMLError
    fake.nvmlInit = fake.nvmlShutdown = lambda: None
    fake.nvmlDeviceGetCount = lambda: len(GPUS)
    fake.nvmlDeviceGetHandleByIndex = lambda index: GPUS[index]
    fake.nvmlDeviceGetName = lambda gpu: gpu[0]
    fake.nvmlDeviceGetUUID = lambda gpu: gpu[1]
    fake.nvmlDeviceGetCudaComputeCapability = lambda gpu: gpu[2]
    fake.nvmlDeviceGetMemoryInfo = lambda gpu: SimpleNamespace(total=gpu[3])
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return fake


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without NVML, without nvidia-smi, with an empty /proc/driver/nvidia."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(probe, "_PROC", tmp_path / "gpus")
    monkeypatch.setattr(probe.shutil, "which", lambda _: None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path / "gpus"


def test_a_gpu_is_summed_up(nvml):
    assert probe.find_gpu(0) == probe.GpuSummary("NVIDIA H200", 0, 90, 141 << 30)
    assert probe.find_gpu(1) == probe.GpuSummary("Tesla T4", 1, 75, 16 << 30)
    assert probe.find_gpu(3) is None
    assert probe.find_gpu(-1) is None


def test_what_nvml_does_not_say_is_zero(nvml):
    nvml.nvmlDeviceGetMemoryInfo = nvml.nvmlDeviceGetCudaComputeCapability = refuse
    assert probe.find_gpu(0) == probe.GpuSummary("NVIDIA H200", 0, 0, 0)


@pytest.mark.parametrize(
    ("wish", "names"),
    [
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("2", ["NVIDIA GeForce RTX 4090"]),
        ("2,0", ["NVIDIA GeForce RTX 4090", "NVIDIA H200"]),
        (" 1 , 0 ", ["Tesla T4", "NVIDIA H200"]),
        ("1,7,0", ["Tesla T4"]),
        ("0,-1,1", ["NVIDIA H200"]),
        ("GPU-aabb2222", ["Tesla T4"]),
        ("GPU-cc", ["NVIDIA GeForce RTX 4090"]),
        ("GPU-aa", []),
        ("GPU-ffff", []),
        ("MIG-1234", ["MIG instance"]),
    ],
)
def test_cuda_visible_devices(nvml, monkeypatch, wish, names):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", wish)
    assert [gpu.name for gpu in probe.list_visible()] == names
    assert [gpu.index for gpu in probe.list_visible()] == list(range(len(names)))


def test_without_nvml_the_driver_files_tell_names(bare, monkeypatch):
    for bus, name in (("0000:01:00.0", "NVIDIA A100"), ("0000:41:00.0", "NVIDIA L4")):
        (bare / bus).mkdir(parents=True)
        text = f"Model: \t\t {name}\nIRQ:   \t\t 105\nGPU UUID: \t GPU-{name[-2:]}\n"
        (bare / bus / "information").write_text(text)
    assert [gpu.name for gpu in probe.list_visible()] == ["NVIDIA A100", "NVIDIA L4"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-L4")
    assert probe.find_gpu() == probe.GpuSummary("NVIDIA L4", 0)


def test_without_both_nvidia_smi_is_enough(bare, monkeypatch):
    monkeypatch.setattr(probe.shutil, "which", lambda _: "/usr/bin/nvidia-smi")
    assert probe.find_gpu() == probe.GpuSummary("NVIDIA GPU", 0)


def test_without_nvml_or_where_it_does_not_start_there_is_no_driver(nvml, bare, monkeypatch):
    assert probe.why_no_gpu() == "no NVIDIA driver"
    assert probe.list_visible() == []
    nvml.nvmlInit = refuse
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert probe.why_no_gpu() == "no NVIDIA driver"


def test_what_is_missing_besides_the_driver_is_named(nvml, monkeypatch):
    nvml.nvmlDeviceGetCount = lambda: 0
    assert probe.why_no_gpu() == "no GPU visible"
    nvml.nvmlDeviceGetCount = lambda: 1
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert probe.why_no_gpu() == "no GPU visible: CUDA_VISIBLE_DEVICES hides all GPUs"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr(probe, "find_spec", lambda _: None)
    assert probe.why_no_gpu() == f"pycuda is not installed: {write_pip_line('cuda')}"
    assert probe.why_no_library() == f"nvmath-python is not installed: {write_pip_line('cuda')}"
    monkeypatch.setattr(probe, "find_spec", lambda _: "there")
    assert probe.why_no_gpu() == probe.why_no_library() == ""


def test_a_card_is_identified_by_nvml(nvml):
    nvml.nvmlDeviceGetHandleByPciBusId = lambda bus: GPUS[1]
    nvml.nvmlDeviceGetVbiosVersion = lambda gpu: "90.04.96"
    assert probe.read_identity(nvml, "0000:01:00.0") == ("GPU-aabb2222", "90.04.96")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Model: \t NVIDIA H200\nGPU UUID: \t GPU-1111\nVideo BIOS: \t 96.00\n", ("GPU-1111", "96.00")),
        ("GPU UUID: \t GPU-????????-????\nVideo BIOS: \t ??.??.??.??.??\n", ("", "")),
        ("", ("", "")),
    ],
)
def test_without_nvml_a_card_is_identified_by_the_file_of_the_driver(bare, text, expected):
    folder = bare / "0000:ab:00.0"
    folder.mkdir(parents=True)
    (folder / "information").write_text(text)
    assert probe.read_identity(None, "0000:AB:00.0") == expected
    assert probe.read_identity(None, "0000:02:00.0") == ("", "")
