"""What data sheets say, and what is said where CUDA is missing."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from gemmbench.backends.cuda.system import device, probe
from gemmbench.errors import DeviceError


@pytest.mark.parametrize(
    ("name", "sm", "sms", "hertz", "f32", "tf32"),
    [
        ("NVIDIA H200", 90, 132, 1.98e9, 66.9e12, 535e12),
        ("NVIDIA A100-SXM4-80GB", 80, 108, 1.41e9, 19.5e12, 156e12),
        ("NVIDIA GeForce RTX 4090", 89, 128, 2.52e9, 82.6e12, 82.6e12),
        ("NVIDIA L40S", 89, 142, 2.52e9, 91.6e12, None),
        ("Tesla T4", 75, 40, 1.59e9, 8.1e12, None),
        ("NVIDIA GeForce GTX 1080", 61, 20, 1.733e9, 8.9e12, None),
        ("a GPU of tomorrow", 200, 100, 1e9, None, None),
    ],
)
def test_peaks_are_those_of_the_data_sheets(name, sm, sms, hertz, f32, tf32):
    rates = device.flops_per_cycle(name, sm, sms)
    for precision, peak in (("f32", f32), ("tf32", tf32)):
        if peak is None:
            assert precision not in rates
        else:
            assert rates[precision] * hertz == pytest.approx(peak, rel=0.01)


def test_without_pycuda_the_reason_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    monkeypatch.setattr(probe, "why_no_gpu", lambda: "no NVIDIA driver")
    with pytest.raises(DeviceError, match="the CUDA back end cannot be used: no NVIDIA driver"):
        device.describe_gpu()


def test_without_nvmath_there_is_no_library_version(monkeypatch):
    for name in ("cublas", "cublasLt"):
        monkeypatch.setitem(sys.modules, f"nvmath.bindings.{name}", None)
    assert device.library_versions() == {}


def test_library_versions_are_those_of_the_libraries_that_were_loaded(monkeypatch):
    for name, version in (("cublas", (13, 1, 0)), ("cublasLt", (13, 1, 2))):
        bindings = ModuleType(name)
        bindings.get_property = version.__getitem__
        monkeypatch.setitem(sys.modules, f"nvmath.bindings.{name}", bindings)
    versions = device.library_versions()
    assert versions["cublas"].startswith("13.1.0 (") and versions["cublaslt"] == "13.1.2"
