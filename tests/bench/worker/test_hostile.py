"""The hostile kernels of tests/hostile, run by the CPU: each ends in its own row, with its own words."""

from pathlib import Path

import pytest
import yaml

from gemmbench.backends.cpu.backend import CpuBackend
from gemmbench.backends.cpu.compiler import CpuCompiler
from gemmbench.backends.cpu.support import why_unsupported
from gemmbench.bench.build import compile_plans
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.experiments.trial_record import make_skip_record
from gemmbench.bench.worker.local import LocalWorker
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.chain import make_chain
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Skip
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.policy import Policy

FOLDER = Path(__file__).parents[2] / "hostile"
EXPECTED = yaml.safe_load((FOLDER / "expected.yaml").read_text())
PROBLEM = Problem(35, 129, 133, alpha=1.5, beta=-0.5)
ON_CPU = {name: {**wanted, **wanted.get("cpu", {})} for name, wanted in EXPECTED.items()}


@pytest.fixture(scope="session")
def opened(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        backend = CpuBackend(timeout=2)
        yield {"compiles_for_minutes": CpuCompiler(limit=1)}, CpuCompiler(), backend
        backend.close()


@pytest.fixture
def verify(opened):
    """The record of a kernel of the folder, verified on the CPU."""
    impatient, patient, backend = opened

    def verified(name, problem=PROBLEM):
        variant = Catalog([FOLDER], []).get(name)
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


def test_every_kernel_has_an_expectation_and_every_expectation_a_kernel():
    assert {path.stem for path in FOLDER.glob("*.cu")} == set(EXPECTED)
    assert all(wanted["words"] or wanted["status"] == "ok" for wanted in EXPECTED.values())


@pytest.mark.parametrize("name", ON_CPU)
def test_each_kernel_ends_in_its_row_with_its_words(verify, name):
    record, wanted = verify(name), ON_CPU[name]
    assert (record.status, record.diagnosis) == (wanted["status"], wanted.get("diagnosis", "")), record.reason
    assert wanted["words"] in record.reason


def test_many_causes_are_distinguished():
    assert len({wanted["diagnosis"] for wanted in ON_CPU.values() if wanted.get("diagnosis")}) >= 16


@pytest.mark.parametrize("name", ["right_at_128_wrong_at_129", "edge_columns", "ignores_beta"])
def test_a_kernel_is_right_where_its_fault_does_not_show(verify, name):
    assert verify(name, Problem(35, 128, 133)).status == "ok"


def test_alpha_is_never_1_while_integers_are_checked(verify):
    assert verify("ignores_alpha", Problem(35, 128, 133, alpha=1.0)).diagnosis == "alpha ignored"
