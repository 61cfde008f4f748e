"""The printf of a kernel on a GPU: one escaped line of its row, and nothing of another."""

import json
import os
import subprocess
import sys

import pytest

from gemmbench.backends.cuda.system import probe

KERNEL = """/*---
summary: one of its threads prints
order: 1
symbol: gemm
precisions: [f32]
layouts: [nn]
grid: ["cdiv(N, 16)", "cdiv(M, 16)"]
block: [16, 16]
---*/
#include <cstdio>
extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta,
                                float* C) {
    const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    for (int line = 0; i == 0 && j == 0 && line < 20; ++line) printf("::add-mask::\\x1b]0;x\\a it\\n");
    if (i >= M || j >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
    C[i * N + j] = beta == 0 ? alpha * sum : alpha * sum + beta * C[i * N + j];
}
"""


def test_the_printf_of_a_kernel_is_one_line_of_its_row(tmp_path):
    if why := probe.why_no_gpu():
        pytest.skip(why)
    (tmp_path / "prints.cu").write_text(KERNEL)
    command = [sys.executable, "-m", "gemmbench", "run", "naive", "prints", "tiled"]
    command += [
        "--kernels",
        ".",
        "--device",
        "cuda",
        "--sizes",
        "64",
        "--rounds",
        "2",
        "--max-time",
        "0.2",
        "--out",
        "o",
    ]
    environment = {**os.environ, "GEMMBENCH_CACHE_DIR": str(tmp_path / "cache"), "GITHUB_ACTIONS": "true"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "add-mask" not in done.stderr and "\x1b" not in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if "add-mask" in line]
    assert line.startswith("prints printed ") and r"the first: ::add-mask::\x1b]0;x\x07 it" in line
    (journal,) = (tmp_path / "o").glob("*.jsonl")
    rows = [row for row in map(json.loads, journal.read_text().splitlines()) if row["row"] == "record"]
    assert {row["variant"] for row in rows if row["printed"]} == {"prints"}
