"""Nsight Compute and compute-sanitizer for real; skipped where one is missing or may not watch."""

from __future__ import annotations

import numpy as np
import pytest

from gemmbench.analysis import ncu, sanitizer
from gemmbench.errors import DeviceError

pytestmark = pytest.mark.filterwarnings("default")

HEAD = """/*---
summary: a kernel to be watched
order: 1
symbol: gemm
precisions: [f32]
layouts: [nn]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block: [16, 16]
---*/
extern "C" __global__ void gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C)
{
    __shared__ float tile[256];
    const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x, t = threadIdx.y * 16 + threadIdx.x;
    float sum = 0;
"""
TAIL = """
    if (i >= M || j >= N) return;
    for (int k = 0; k < K; k++) sum += A[i * K + k] * B[k * N + j];
    C[i * N + j] = beta == 0 ? alpha * sum : alpha * sum + beta * C[i * N + j];
}
"""
BODIES = {
    "fine": "tile[t] = 0; __syncthreads(); sum = tile[255 - t];",
    "racy": "tile[t] = 0; sum = tile[255 - t]; tile[t] = sum;",
    "too_far": "if (i == M - 1 && j == N - 1) sum = A[M * K] == 12345 ? 1e-30f : 0;",
}


@pytest.fixture
def watched(backend, tmp_path):
    """Run a kernel under a tool of compute-sanitizer."""
    for name, body in BODIES.items():
        (tmp_path / f"{name}.cu").write_text(HEAD + body + TAIL)

    def check(tool: str, name: str) -> sanitizer.ToolVerdict:
        words = ["verify", name, "--kernels", str(tmp_path), "--sizes", "33x65x17", "--device", "cuda", "--no-watch"]
        try:
            return sanitizer.run_sanitizer(tool, words, limit=240)
        except DeviceError as fault:
            pytest.skip(str(fault))

    return check


@pytest.mark.parametrize("tool", sanitizer.TOOLS)
def test_a_right_kernel_is_clean(watched, tool):
    found = watched(tool, "fine")
    assert (found.status, found.errors) == ("clean", 0), found.message


def test_one_element_too_far_is_seen_although_the_result_is_right(watched):
    found = watched("memcheck", "too_far")
    assert found.status == "errors" and found.errors >= 1
    assert "read of size 4" in found.message and "too_far.cu:" in found.message


def test_a_race_in_shared_memory_is_seen(watched):
    found = watched("racecheck", "racy")
    assert found.status == "errors" and "racy.cu:" in found.message


@pytest.mark.parametrize("name", ["tiled", "cublas"])
def test_one_launch_is_counted(backend, name):
    try:
        found = ncu.count_launches(["one-launch", name, "--sizes", "512", "--device", "cuda"])
    except DeviceError as fault:
        pytest.skip(str(fault))
    assert found and (name == "cublas" or [each.kernel for each in found] == ["gemm"])
    first = found[0]
    missing = ncu.QUANTITIES.keys() - first.values.keys()
    print(f"{first.kernel}: not counted here: {sorted(missing)}")
    assert {"duration", "clock", "registers", "issue", "dram", "l2"} <= first.values.keys()
    assert 1e-7 < first.values["duration"] < 1 and 1e8 < first.values["clock"] < 1e10
    assert all(0 <= first.values[unit] <= 100.5 for unit in ("issue", "dram", "l2"))
    assert first.stalls


def test_separate_allocations_are_one_memory(backend):
    memory = backend.allocate(100, 4, 256)
    assert memory.nbytes == 360 and len(set(memory.starts)) == 3
    for start, count in zip(memory.starts, (25, 1, 64), strict=True):
        given, found = np.arange(count, dtype=np.float32), np.empty(count, np.float32)
        memory.write(start, given)
        memory.read(start, found)
        assert (given == found).all()
        memory.fill(start, 4 * count, 0xFF)
        with pytest.raises(ValueError, match="are in none of 3 allocations"):
            memory.write(start + 4, given)
    memory.free()
