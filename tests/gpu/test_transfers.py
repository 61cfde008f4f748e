"""Jobs and their measurement on a real GPU: right in every mode, and times that add up; how fast is only printed."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from gemmbench.backends import registry
from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.backends.cuda.system import probe
from gemmbench.backends.cuda.transfer_jobs import HostBuffer
from gemmbench.backends.jobs import CopyStep, LaunchStep
from gemmbench.bench.experiments.transfer_tasks import TransferTask, plan_tasks, split_tasks
from gemmbench.bench.record import MODES, Environment, TransferRecord
from gemmbench.bench.runner import Runner
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import OutOfMemory
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import LAYOUTS, PanelCut, Problem
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.report.comparison import compare_rows
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.tables.kernel_tables import report_transfers

pytestmark = pytest.mark.filterwarnings("default")  # pycuda and nvmath may warn as they are imported

QUICK = Policy(rounds=10, max_time=0.5)


def plan_of(backend: Any, name: str, problem: Problem) -> Plan:
    if name.startswith("cublas") and (why := probe.why_no_library()):
        pytest.skip(why)
    variant = Catalog([data_folder("cuda")], registry.list_library_variants()).get(name)
    chosen = [(variant, list_configurations(variant, {})[:1])]
    (plan,) = make_plans([problem], chosen, "cuda", {"cuda": backend.device.target}, registry.why_refused)
    assert isinstance(plan, Plan), plan.reason
    return plan


def task_of(backend: Any, name: str, problem: Problem, how: PanelCut) -> TransferTask:
    targets = {"cuda": backend.device.target}
    (found,) = plan_tasks(
        [plan_of(backend, name, problem)], how, targets, registry.why_refused, {"cuda": NvccCompiler()}
    )
    return found


def measured(backend: Any, name: str, problem: Problem, how: PanelCut) -> list[TransferRecord]:
    runner: Runner[TransferRecord] = Runner(LocalWorker({"cuda": backend}), lambda _: None)
    rows = runner.run(split_tasks([task_of(backend, name, problem, how)], "cuda", QUICK, how))
    assert [row.mode for row in rows] == list(MODES)
    environment = Environment(run="", started="", sweep="", command="", gemmbench="", device="", backend="cuda")
    print(report_transfers(compare_rows(Run(environment, transfers=rows))).format("simple"))
    return rows


@pytest.mark.parametrize("beta", [0.0, -0.5])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["naive", "blocktile_2d", "cublas"])
def test_every_mode_is_right_in_every_layout(backend, name, layout, beta):
    rows = measured(backend, name, Problem(323, 132, 68, layout, alpha=2.0, beta=beta), PanelCut(8, 3))
    ran = [row for row in rows if row.status != "skipped"]
    assert len(ran) >= 2 and [(row.mode, row.status, row.reason) for row in ran] == [
        (row.mode, "ok", "") for row in ran
    ]


@pytest.mark.parametrize("name", ["naive", "cublas", "cublaslt"])
def test_the_parts_add_up_to_the_total(backend, name):
    for row in measured(backend, name, Problem(512, 512, 512), PanelCut(4, 3))[:3]:
        assert row.status == "ok", row.reason
        for total, *parts in zip(row.samples, row.h2d, row.kernel, row.d2h, strict=True):
            assert min(parts) > 0
            assert sum(parts) == pytest.approx(total, rel=0.1, abs=20e-6)


@pytest.mark.parametrize(
    "how",
    [PanelCut(1, 1), PanelCut(2, 2), PanelCut(16, 1), PanelCut(16, 5), PanelCut(16, 16), PanelCut(64, 4)],
    ids=str,
)
def test_any_number_of_panels_and_streams_is_right(backend, how):
    rows = measured(backend, "cublas", Problem(1088, 96, 64), how)
    assert [(row.status, row.reason) for row in rows] == [("ok", "")] * 4


def test_a_launch_before_its_copy_is_seen(backend):
    """The check can fail: NaN in device memory reaches C if nothing waits."""
    problem = Problem(64, 64, 64)
    plan = plan_of(backend, "naive", problem)
    code = NvccCompiler().compile(plan)
    size = problem.operand_bytes("A")
    memory, host = backend.allocate(3 * size), HostBuffer(size, pinned=True)
    memory.fill(0, 3 * size, 0xFF)
    at = {"A": 0, "B": size, "C": 2 * size}
    ones = HostBuffer(size, pinned=True)
    ones.bytes.view(np.float32)[:] = 1
    copies = [CopyStep(0, ones.bytes, at["A"], True), CopyStep(0, ones.bytes, at["B"], True)]
    out = CopyStep(0, host.bytes, at["C"], False)
    backend.job([LaunchStep(0, plan, code, at), *copies, out], memory, True).run()
    assert np.isnan(host.bytes.view(np.float32)).all()
    backend.job([*copies, LaunchStep(0, plan, code, at), out], memory, True).run()
    assert (host.bytes.view(np.float32) == 64).all()
    memory.free()
    host.free()
    ones.free()


def test_a_stream_waits_for_another(backend):
    """A long copy on stream 0, and its way back on stream 1 after it: the bytes that come back are the new ones."""
    size = 64 << 20
    memory, host, back = backend.allocate(size), HostBuffer(size, pinned=True), HostBuffer(size, pinned=True)
    job = backend.job([CopyStep(0, host.bytes, 0, True), CopyStep(1, back.bytes, 0, False, after=0)], memory, True)
    for value in range(1, 9):
        host.bytes.fill(value)
        job.run()
        assert (back.bytes == value).all()
    memory.free()
    host.free()
    back.free()


@pytest.mark.parametrize("pinned", [False, True])
def test_columns_arrive_packed(backend, pinned):
    host, back = HostBuffer(1000 * 640, pinned), np.zeros(1000 * 128, np.uint8)
    table = host.bytes.reshape(1000, 640)
    table[:] = np.random.default_rng(0).integers(0, 256, table.shape, np.uint8)
    memory = backend.allocate(back.nbytes)
    job = backend.job([CopyStep(0, table[:, 256:384], 0, True)], memory, pinned)
    for _ in range(2):
        job.run()
    memory.read(0, back)
    np.testing.assert_array_equal(back.reshape(1000, 128), table[:, 256:384])
    memory.free()
    host.free()


def test_memory_beyond_reason_cannot_be_pinned(backend):
    with pytest.raises(OutOfMemory, match="bytes of host memory: choose a smaller size"):
        backend.host(1 << 50, pinned=True)


def test_libraries_have_a_handle_for_each_stream(backend):
    plan = plan_of(backend, "cublas", Problem(64, 64, 64))
    artifact = Artifact("library", "", Build())
    backend.job([CopyStep(2, np.zeros(4, np.uint8), 0, True)], memory := backend.allocate(64), False)
    found = [backend.load(artifact, plan, stream) for stream in range(3)]
    assert len({id(library) for library in found}) == 3
    memory.free()


def test_the_command_ends_well(backend, tmp_path):
    command = [sys.executable, "-m", "gemmbench", "run", "naive", "tiled", "--sizes", "320x256x192", "--with-transfers"]
    options = ["--rounds", "4", "--panels", "5", "--out", str(tmp_path)]
    wide = {**os.environ, "COLUMNS": "250"}
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, env=wide)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*.transfers.csv")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) % 4 == 0 and {row["status"] for row in rows} == {"ok"}
    assert "overlapped, 5 panels, 3 streams" in done.stdout
