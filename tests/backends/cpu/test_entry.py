"""The machine is described without opening anything."""

import pickle

import numpy as np

from gemmbench.backends.cpu.entry import describe_cpu
from gemmbench.backends.cpu.openblas import CpuSoftware


def test_what_planning_must_know():
    device = describe_cpu(CpuSoftware())
    target = device.target
    assert device.name and (target.kind, target.sm, target.smem) == ("cpu", 0, 232448)
    assert target.sms >= 1 and 1 << 18 <= target.l2 <= 1 << 34 and target.memory > 1 << 20


def test_software_crosses_to_another_process_and_may_lack_a_compiler(monkeypatch):
    software = dict(describe_cpu(CpuSoftware()).software)
    assert list(software) == ["compiler", "numpy", "BLAS"] and all(software.values())
    assert dict(pickle.loads(pickle.dumps(describe_cpu(CpuSoftware()))).software) == software
    monkeypatch.setenv("CXX", "no-such-compiler")
    without = describe_cpu(CpuSoftware()).software
    assert list(without) == ["numpy", "BLAS"] and without["numpy"] == np.__version__
