"""On a GPU: a survey times real kernels and libraries, survives a kernel that crashes, and its constants are picked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gemmbench.backends import registry
from gemmbench.backends.cuda.backend import CudaBackend
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.bench.tuning.survey import PlanTime, SurveyBatch
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from tests.gpu.foreign_runs import gemmbench

pytestmark = pytest.mark.filterwarnings("default")  # pycuda may warn as it is imported
NAMES = ("naive", "tiled", "blocktile_2d", "cublas", "cublaslt")
PROBLEMS = [Problem(64, 64, 64), Problem(256, 300, 200, "tn"), Problem(2048, 2048, 2048), Problem(1, 4096, 64)]
KERNEL = """/*---
summary: a block computes ROWS rows of C, and crashes if ROWS is 3
precisions: [f32]
layouts: [nn]
symbol: gemm
params:
  ROWS: [1, 2, 3, 4]
grid:
  - cdiv(N, 64)
  - cdiv(M, ROWS)
block: [64]
---*/
extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta,
                                float* C) {
    if (ROWS == 3) A = nullptr;
    int column = blockIdx.x * 64 + threadIdx.x;
    for (int row = blockIdx.y * ROWS; row < min(M, (int(blockIdx.y) + 1) * ROWS) && column < N; row++) {
        float sum = 0;
        for (int k = 0; k < K; k++) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
        size_t at = size_t(row) * N + column;
        C[at] = alpha * sum + (beta ? beta * C[at] : 0);
    }
}
"""
PICK = """/*---
summary: picks rows
precisions: [f32]
layouts: [nn]
estimates:
  rows:
    time: 1000 * start + each * M * N // 1000 * K // ROWS
costs:
  rows: {start: 2000, each: 100}
pick:
  - candidates:
      - rows: {ROWS: [1, 2, 3, 4]}
---*/
"""


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_every_kernel_and_library_has_a_time(backend: CudaBackend, problem: Problem) -> None:
    catalog, target = Catalog([data_folder("cuda")], registry.list_library_variants()), backend.device.target
    chosen = [(catalog.get(name), list_configurations(catalog.get(name), {})) for name in NAMES]
    planned = make_plans([problem], chosen, "cuda", {"cuda": target}, lambda *_: "")
    plans = tuple(plan for plan in planned if isinstance(plan, Plan))
    compiler = NvccCompiler()
    batch = SurveyBatch(policy=Policy(), plans=plans, built=tuple(compiler.compile(plan) for plan in plans))
    found: list[PlanTime] = LocalWorker({"cuda": backend}).experiment(batch)
    assert [each.variant for each in found] == [plan.variant.name for plan in plans]
    assert {"cublas", "cublaslt", "tiled"} <= {each.variant for each in found}
    assert all(each.seconds > 0 and not each.reason for each in found), found


def test_a_survey_goes_on_after_a_crash_and_writes_constants_that_are_picked(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/rows.cu").write_text(KERNEL)
    (tmp_path / "kernels/best.cu").write_text(PICK)
    where = ("--kernels", "kernels")
    words = ("--survey", "--max-time", "60", "--out", "times.survey", "--write-pick")
    done = gemmbench(tmp_path, "tune", "best", *where, *words, cache=cache)
    assert done.returncode == 1, done.stderr  # one candidate is wrong
    assert "Wrong, not timed: rows: ROWS=3: failed at " in done.stdout
    lines = [json.loads(line) for line in (tmp_path / "times.survey").read_text().splitlines()]
    shapes = [line for line in lines if "shape" in line]
    assert shapes and all(len(line["times"]) >= 3 + 1 for line in shapes), done.stderr
    (written,) = (tmp_path / "kernels/best.costs").iterdir()
    assert "ROWS=4:" in written.read_text()
    again = gemmbench(tmp_path, "run", "best", *where, "--sizes", "256", "--rounds", "4", cache=cache)
    assert "ROWS=3: wrong" in written.read_text()
    assert again.returncode == 0 and "rows: ROWS=" in again.stdout, again.stderr
