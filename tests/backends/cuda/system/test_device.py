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
        ("NVIDIA L40S", 89, 142, 2.52e9, 91.6e12, 183e12),
        ("NVIDIA L40", 89, 142, 2.49e9, 90.5e12, 90.5e12),
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


@pytest.mark.parametrize(
    ("name", "sm", "sms", "hertz", "f16", "f64"),
    [
        ("Tesla V100-SXM2-16GB", 70, 80, 1.53e9, 125e12, 7.8e12),
        ("Tesla T4", 75, 40, 1.59e9, 65e12, 0.254e12),
        ("NVIDIA GeForce RTX 2080 Ti", 75, 68, 1.545e9, 53.8e12, 0.42e12),
        ("NVIDIA A40", 86, 84, 1.74e9, 149.7e12, 0.585e12),
        ("NVIDIA GeForce RTX 3090", 86, 82, 1.695e9, 71e12, 0.556e12),
        ("NVIDIA H100 80GB HBM3", 90, 132, 1.83e9, 989e12, 61.8e12),
        ("NVIDIA B200", 100, 148, 1.85e9, 2250e12, 35e12),
        ("NVIDIA GeForce RTX 5090", 120, 170, 2.407e9, 209.5e12, 1.637e12),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 120, 188, 2.617e9, 503.8e12, 1.97e12),
    ],
)
def test_peaks_of_half_and_double_precision_are_those_of_the_data_sheets(name, sm, sms, hertz, f16, f64):
    rates = device.flops_per_cycle(name, sm, sms)
    assert rates["f16"] * hertz == pytest.approx(f16, rel=0.02)
    assert rates["f64"] * hertz == pytest.approx(f64, rel=0.02)
    assert ("bf16" in rates) == (sm >= 80)


def test_every_public_architecture_has_a_floor_in_every_precision_it_offers():
    offered = {"f32", "f16", "f64"}, {"f32", "f16", "f64", "bf16", "tf32"}
    for sm in (70, 72, 75, 80, 86, 87, 89, 90, 100, 103, 120, 121):
        assert set(device.flops_per_cycle("a professional GPU", sm, 1)) >= offered[sm >= 80], sm


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
