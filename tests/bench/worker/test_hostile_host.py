"""Host functions that attack their own process, in one batch with a healthy one that they must not cost."""

import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from gemmbench.backends.cpu.backend import CpuBackend
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.bench.build import compile_plans
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "tests" / "hostile" / "host"
EXPECTED = yaml.safe_load((FOLDER / "expected.yaml").read_text())
HEALTHY = "cpu_naive"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def rows(cache):
    """The rows of one batch, by name."""
    catalog, backend = Catalog([FOLDER, ROOT / "cuda"]), CpuBackend(timeout=2)
    chosen = [(catalog.get(name), list_configurations(catalog.get(name), {})) for name in (*EXPECTED, HEALTHY)]
    plans = make_plans([Problem(24, 24, 24)], chosen, "cpu", {"cpu": backend.device.target}, lambda *_: "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMMBENCH_CACHE_DIR", str(cache))
        built = compile_plans(plans, {"cpu": CpuCompiler()}, lambda *_: None)
        batch = make_gemm_batch(plans, [built[plan] for plan in plans], Policy(rounds=2, max_time=0.05))
        records = LocalWorker({"cpu": backend}).experiment(batch)
    backend.close()
    return {record.variant: record for record in records}


def test_every_kernel_has_an_expectation_and_every_expectation_a_kernel():
    assert {path.stem for path in FOLDER.glob("*.cpp")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_each_kernel_ends_in_its_row_with_its_words(rows, name):
    record, wanted = rows[name], EXPECTED[name]
    assert record.status == wanted["status"], record.reason
    assert wanted["words"] in record.reason


def test_no_healthy_row_is_lost(rows):
    assert rows[HEALTHY].status == "ok" and rows[HEALTHY].samples


def test_nothing_of_a_kernel_is_left_running(rows, cache):
    deadline = time.monotonic() + 5
    while running(cache) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert rows and not running(cache)


def running(folder):
    """The processes whose code is in the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or belongs to another user
            if (process / "exe").readlink().parent == folder:
                found.append(process)
    return found
