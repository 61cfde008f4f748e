"""What data sheets say, and what is said where CUDA is missing."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from gemmbench.backends.cuda.system import device, probe
from gemmbench.errors import DeviceError


@pytest.mark.parametrize(
    ("name", "sm", "sms", "hertz", "peaks", "tolerance"),
    [
        ("NVIDIA H200", 90, 132, 1.98e9, {"f32": 66.9e12, "tf32": 535e12}, 0.01),
        ("NVIDIA A100-SXM4-80GB", 80, 108, 1.41e9, {"f32": 19.5e12, "tf32": 156e12}, 0.01),
        ("NVIDIA GeForce RTX 4090", 89, 128, 2.52e9, {"f32": 82.6e12, "tf32": 82.6e12}, 0.01),
        ("NVIDIA L40S", 89, 142, 2.52e9, {"f32": 91.6e12, "tf32": 183e12}, 0.01),
        ("NVIDIA L40", 89, 142, 2.49e9, {"f32": 90.5e12, "tf32": 90.5e12}, 0.01),
        ("Tesla T4", 75, 40, 1.59e9, {"f32": 8.1e12, "tf32": None}, 0.01),
        ("NVIDIA GeForce GTX 1080", 61, 20, 1.733e9, {"f32": 8.9e12, "tf32": None}, 0.01),
        ("a GPU of tomorrow", 200, 100, 1e9, {"f32": None, "tf32": None}, 0.01),
        ("Tesla V100-SXM2-16GB", 70, 80, 1.53e9, {"f16": 125e12, "f64": 7.8e12, "bf16": None}, 0.02),
        ("Tesla T4", 75, 40, 1.59e9, {"f16": 65e12, "f64": 0.254e12, "bf16": None}, 0.02),
        ("NVIDIA GeForce RTX 2080 Ti", 75, 68, 1.545e9, {"f16": 53.8e12, "f64": 0.42e12, "bf16": None}, 0.02),
        ("NVIDIA A40", 86, 84, 1.74e9, {"f16": 149.7e12, "f64": 0.585e12}, 0.02),
        ("NVIDIA GeForce RTX 3090", 86, 82, 1.695e9, {"f16": 71e12, "f64": 0.556e12}, 0.02),
        ("NVIDIA H100 80GB HBM3", 90, 132, 1.83e9, {"f16": 989e12, "f64": 61.8e12}, 0.02),
        ("NVIDIA B200", 100, 148, 1.85e9, {"f16": 2250e12, "f64": 35e12}, 0.02),
        ("NVIDIA GeForce RTX 5090", 120, 170, 2.407e9, {"f16": 209.5e12, "f64": 1.637e12}, 0.02),
        (
            "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
            120,
            188,
            2.617e9,
            {"f16": 503.8e12, "f64": 1.97e12},
            0.02,
        ),
    ],
)
def test_peaks_are_those_of_the_data_sheets(name, sm, sms, hertz, peaks, tolerance):
    rates = device.flops_per_cycle(name, sm, sms)
    for precision, peak in peaks.items():
        if peak is None:
            assert precision not in rates
        else:
            assert rates[precision] * hertz == pytest.approx(peak, rel=tolerance)


def test_every_public_architecture_has_a_floor_in_every_precision_it_offers():
    offered = {"f32", "f16", "f64"}, {"f32", "f16", "f64", "bf16", "tf32"}
    for sm in (70, 72, 75, 80, 86, 87, 89, 90, 100, 103, 120, 121):
        assert set(device.flops_per_cycle("a professional GPU", sm, 1)) >= offered[sm >= 80], sm


def test_without_pycuda_the_reason_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    monkeypatch.setattr(probe, "why_no_gpu", lambda: "no NVIDIA driver")
    with pytest.raises(DeviceError, match="the CUDA back end cannot be used: no NVIDIA driver"):
        device.describe_gpu()


def test_library_versions_are_those_of_the_libraries_that_were_loaded_if_there_are_any(monkeypatch):
    for name, version in (("cublas", (13, 1, 0)), ("cublasLt", (13, 1, 2))):
        bindings = SimpleNamespace(get_property=version.__getitem__)
        monkeypatch.setitem(sys.modules, f"nvmath.bindings.{name}", bindings)
    versions = device.library_versions()
    assert versions["cublas"].startswith("13.1.0 (") and versions["cublaslt"] == "13.1.2"
    for name in ("cublas", "cublasLt"):
        monkeypatch.setitem(sys.modules, f"nvmath.bindings.{name}", None)
    assert device.library_versions() == {}
