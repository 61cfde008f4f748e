"""Hostile kernels, and host functions that attack their own process: each ends in its own row with its words."""

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from gemmbench.backends.cpu.backend import CpuBackend
from gemmbench.backends.cpu.support import why_unsupported
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.bench.build import compile_plans
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.experiments.trial import make_skip_record
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Skip, make_chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

FOLDER = Path(__file__).parents[2] / "hostile"
CUDA = Path(__file__).parents[3] / "cuda"
VALUES = Path(__file__).parents[2] / "hostile_values"
UNRANKED = "unranked"  # as tables and exports say of a row that is ok, but of a weaker class
EXPECTED_OF_VALUES = yaml.safe_load((VALUES / "expected.yaml").read_text())
EXPECTED = yaml.safe_load((FOLDER / "expected.yaml").read_text())
PROBLEM = Problem(35, 129, 133, alpha=1.5, beta=-0.5)
ON_CPU = {name: {**wanted, **wanted.get("cpu", {})} for name, wanted in EXPECTED.items() if "beta" not in wanted}
TIMED = {name: {**wanted, **wanted.get("cpu", {})} for name, wanted in EXPECTED.items() if "beta" in wanted}
SMALL_CACHE = 1 << 20
LARGE_ENOUGH = Policy(rounds=10, until=0.0, max_time=4.0, window=5e-3)


@pytest.fixture(scope="session")
def opened(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        backend = CpuBackend(timeout=2)
        target = replace(backend.device.target, l2=SMALL_CACHE)  # tens of operand sets instead of hundreds
        backend.device = replace(backend.device, target=target)
        yield {"compiles_for_minutes": CpuCompiler(limit=1)}, CpuCompiler(), backend
        backend.close()


@pytest.fixture
def verify(opened):
    """The record of a kernel of the folder, verified on the CPU."""
    impatient, patient, backend = opened

    def verified(name, problem=PROBLEM):
        variant = Catalog([FOLDER, VALUES], []).get(name)
        chosen = [(variant, list_configurations(variant, {}))]
        targets = {"cpu": backend.device.target}
        (plan,) = make_plans([problem], chosen, "cpu", targets, lambda variant, _: why_unsupported(variant))
        if isinstance(plan, Skip):
            return make_skip_record(make_chain(plan))
        built = compile_plans([plan], {"cpu": impatient.get(name, patient)}, lambda *_: None)
        batch = make_gemm_batch((plan,), (built[plan],), Policy())
        (record,) = LocalWorker({"cpu": backend}, measured=False).experiment(batch)
        return record

    return verified


@pytest.fixture
def measure(opened):
    """The records of a kernel of the folder, timed and audited on the CPU, and of a healthy one next to it."""
    _, compiler, backend = opened

    def measured(name):
        variants = [Catalog([FOLDER, CUDA], []).get(each) for each in (name, "naive")]
        chosen = [(variant, list_configurations(variant, {})[:1]) for variant in variants]
        problem, targets = replace(PROBLEM, alpha=1.0, beta=0.0), {"cpu": backend.device.target}
        plans = make_plans([problem], chosen, "cpu", targets, lambda variant, _: why_unsupported(variant))
        built = compile_plans(plans, {"cpu": compiler}, lambda *_: None)
        batch = make_gemm_batch(plans, [built[plan] for plan in plans], LARGE_ENOUGH)
        return LocalWorker({"cpu": backend}).experiment(batch)

    return measured


def test_every_kernel_has_an_expectation_and_every_expectation_a_kernel():
    assert {path.stem for path in FOLDER.glob("*.cu")} == set(EXPECTED)
    assert all(wanted["words"] or wanted["status"] in ("ok", UNRANKED) for wanted in EXPECTED.values())


@pytest.mark.parametrize("name", ON_CPU)
def test_each_kernel_ends_in_its_row_with_its_words(verify, name):
    record, wanted = verify(name), ON_CPU[name]
    status = UNRANKED if record.status == "ok" and not record.ranked else record.status
    assert (status, record.diagnosis) == (wanted["status"], wanted.get("diagnosis", "")), record.reason
    assert wanted["words"] in record.reason


@pytest.mark.parametrize("name", TIMED)
def test_the_audit_finds_what_is_wrong_only_when_it_is_timed_and_loses_no_other_row(measure, name):
    (record, healthy), wanted = measure(name), TIMED[name]
    assert (record.status, record.diagnosis) == (wanted["status"], wanted.get("diagnosis", "")), record.reason
    assert wanted["words"] in record.reason
    assert (healthy.status, healthy.reason) == ("ok", "") and healthy.samples


def test_many_causes_are_distinguished():
    assert len({wanted["diagnosis"] for wanted in ON_CPU.values() if wanted.get("diagnosis")}) >= 16


@pytest.mark.parametrize("name", ["right_at_128_wrong_at_129", "edge_columns", "ignores_beta"])
def test_a_kernel_is_right_where_its_fault_does_not_show(verify, name):
    assert verify(name, Problem(35, 128, 133)).status == "ok"


def test_alpha_is_never_1_while_integers_are_checked(verify):
    assert verify("ignores_alpha", Problem(35, 128, 133, alpha=1.0)).diagnosis == "alpha ignored"


@pytest.mark.parametrize(("name", "status"), [("tf32x3_inside", "ok"), ("bf16x3_inside", "wrong")])
def test_under_3xtf32_products_of_parts_are_ranked_by_their_class(verify, name, status):
    record = verify(name, replace(PROBLEM, precision_name="3xtf32"))
    assert (record.status, record.ranked) == (status, status == "ok"), record.reason


def test_every_kernel_with_a_fault_in_special_values_has_an_expectation():
    assert {path.stem for path in VALUES.glob("*.cu")} == set(EXPECTED_OF_VALUES)


@pytest.mark.parametrize("name", EXPECTED_OF_VALUES)
def test_verify_finds_what_a_kernel_does_to_special_values(verify, name):
    record, wanted = verify(name), EXPECTED_OF_VALUES[name]
    assert (record.status, record.check_rule) == ("wrong", wanted["rule"]), record.reason
    assert wanted["words"] in record.reason
    assert verify(name, Problem(8, 9, 10)).status == "ok"  # too small for special values


ROOT = Path(__file__).parents[3]
HOST_FOLDER = ROOT / "tests" / "hostile" / "host"
HOST_EXPECTED = yaml.safe_load((HOST_FOLDER / "expected.yaml").read_text())
HEALTHY = "cpu_naive"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def rows(cache):
    """The rows of one batch, by name."""
    catalog, backend = Catalog([HOST_FOLDER, ROOT / "cuda"]), CpuBackend(timeout=2)
    chosen = [(catalog.get(name), list_configurations(catalog.get(name), {})) for name in (*HOST_EXPECTED, HEALTHY)]
    plans = make_plans([Problem(24, 24, 24)], chosen, "cpu", {"cpu": backend.device.target}, lambda *_: "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMMBENCH_CACHE_DIR", str(cache))
        built = compile_plans(plans, {"cpu": CpuCompiler()}, lambda *_: None)
        batch = make_gemm_batch(plans, [built[plan] for plan in plans], Policy(rounds=2, max_time=0.05))
        records = LocalWorker({"cpu": backend}).experiment(batch)
    backend.close()
    return {record.variant: record for record in records}


def test_every_hostile_host_has_an_expectation_and_every_expectation_a_host():
    assert {path.stem for path in HOST_FOLDER.glob("*.cpp")} == set(HOST_EXPECTED)


@pytest.mark.parametrize("name", HOST_EXPECTED)
def test_each_hostile_host_ends_in_its_row_with_its_words(rows, name):
    record, wanted = rows[name], HOST_EXPECTED[name]
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
