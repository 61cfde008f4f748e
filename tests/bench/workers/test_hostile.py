"""Hostile kernels, and host functions that attack their own process: each ends in its own row with its words."""

import shutil
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from gemmbench.backends.cpu import walls
from gemmbench.backends.cpu.backend import CpuBackend
from gemmbench.backends.cpu.entry import OPENBLAS
from gemmbench.backends.cpu.support import why_unsuitable
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.bench.build import compile_plans
from gemmbench.bench.experiments import context
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.experiments.trial import make_skip_record
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Skip, list_plans, make_chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.report.row import is_forged
from tests.hostile_cases import PROBLEMS, list_cases

ROOT = Path(__file__).parents[3]
NAMES = (
    "hostile",
    "hostile_values",
    "hostile_many",
    "hostile_groups",
    "hostile_epilogue",
    "hostile_strides",
    "hostile_int8",
    "hostile_scales",
)
FOLDERS = tuple(ROOT / "tests" / name for name in (*NAMES, "hostile/host"))
KERNELS, VALUES, MANY, GROUPS, EPILOGUE, STRIDES, INT8, SCALES, HOSTS = FOLDERS
EXPECTED, OF_VALUES, _, _, _, OF_STRIDES, OF_INT8, _, OF_HOSTS = EXPECTATIONS = [
    yaml.safe_load((folder / "expected.yaml").read_text()) for folder in FOLDERS
]
ON_CPU = {name: {**wanted, **wanted.get("cpu", {})} for name, wanted in EXPECTED.items()}
VERIFIED = [name for name, wanted in ON_CPU.items() if "beta" not in wanted or wanted["status"] == "skipped"]
TIMED = [name for name, wanted in EXPECTED.items() if "beta" in wanted and ON_CPU[name]["status"] != "skipped"]
UNRANKED = "unranked"  # as tables and exports say of a row that is ok, but of a weaker class
PROBLEM, BATCH = Problem(35, 129, 133, alpha=1.5, beta=-0.5), PROBLEMS["hostile_many"]
SLOW_TO_COMPILE = "compiles_for_minutes"
HEALTHY = "cpu_naive"
HOSTS_IN_BATCH = 12
LAUNCHER = walls.find_launcher()
HAS_WALLS = walls.has_namespaces(LAUNCHER) and walls.has_landlock(LAUNCHER)
SMALL_CACHE = 5 << 17  # 25 operand sets instead of hundreds: an audit of two turns has 50 launches
TIMED_BRIEFLY = Policy(rounds=4, until=0.0, max_time=100.0, window=5e-3)


@pytest.fixture(scope="session")
def backend():
    opened = CpuBackend(timeout=1)
    target = replace(opened.device.target, l2=SMALL_CACHE)
    opened.device = replace(opened.device, target=target)
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def short_warm_up(monkeypatch):
    monkeypatch.setattr(context, "WARM_SECONDS", 0.01)


def plan_rows(folders, names, problem, backend):
    """The first configuration of each kernel, as a plan or a skip."""
    variants = [Catalog(folders, [OPENBLAS]).get(name) for name in names]
    chosen = [(variant, list_configurations(variant, {})[:1]) for variant in variants]
    targets = {"cpu": backend.device.target}
    return make_plans([problem], chosen, "cpu", targets, lambda variant, _: why_unsuitable(variant))


def run_batch(plans, backend, policy, compiler=None, copies=None, **options):
    """The records of plans; `copies` is a folder to run copies of their executables in."""
    chains = tuple(map(make_chain, plans))
    built = compile_plans(list_plans(chains), {"cpu": compiler or CpuCompiler()}, lambda *_: None)
    if copies:
        built = {plan: replace(code, path=shutil.copy(code.path, copies)) for plan, code in built.items()}
    codes = tuple(tuple(built[step] for step in chain.steps) for chain in chains)
    return LocalWorker({"cpu": backend}, **options).experiment(ChainBatch(policy=policy, chains=chains, built=codes))


@pytest.fixture
def verify(backend, tmp_path, monkeypatch):
    """The record of a kernel of the folders, verified on the CPU."""

    def verified(name, problem=PROBLEM):
        (plan,) = plan_rows([*FOLDERS, ROOT / "cuda"], [name], problem, backend)
        if isinstance(plan, Skip):
            return make_skip_record(make_chain(plan))
        compiler = CpuCompiler()
        if name == SLOW_TO_COMPILE:
            compiler = CpuCompiler(limit=0.5)
            monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path))  # the user's may hold its code
        (record,) = run_batch([plan], backend, Policy(), compiler, measured=False)
        return record

    return verified


def test_every_kernel_and_every_host_has_an_expectation_and_every_expectation_its_file():
    for folder, expected in zip(FOLDERS, EXPECTATIONS, strict=True):
        assert {path.stem for path in folder.glob("*.c*")} == set(expected)
    assert all(wanted["words"] or wanted["status"] in ("ok", UNRANKED) for wanted in EXPECTED.values())
    assert len({ON_CPU[name]["diagnosis"] for name in VERIFIED if ON_CPU[name].get("diagnosis")}) >= 16


@pytest.mark.parametrize("name", VERIFIED)
def test_each_kernel_ends_in_its_row_with_its_words(verify, name):
    record, wanted = verify(name), ON_CPU[name]
    status = UNRANKED if record.status == "ok" and not record.ranked else record.status
    assert (status, record.diagnosis) == (wanted["status"], wanted.get("diagnosis", "")), record.reason
    assert wanted["words"] in record.reason
    assert wanted.get("printed", "") in record.printed


@pytest.mark.parametrize("name", TIMED)
def test_the_audit_finds_what_is_wrong_only_when_it_is_timed_and_loses_no_other_row(backend, name):
    plans = plan_rows([KERNELS, ROOT / "cuda"], [name, "naive"], replace(PROBLEM, alpha=1.0, beta=0.0), backend)
    wanted = ON_CPU[name]
    for _ in range(3 if wanted.get("diagnosis") == "faster on seen data" else 1):  # a busy host can hide times
        record, healthy = run_batch(plans, backend, TIMED_BRIEFLY)
        if record.status == wanted["status"]:
            break
    assert (record.status, record.diagnosis) == (wanted["status"], wanted.get("diagnosis", "")), record.reason
    assert wanted["words"] in record.reason
    assert (healthy.status, healthy.reason) == ("ok", "") and healthy.samples


@pytest.mark.parametrize("case", [case for folder in PROBLEMS for case in list_cases(folder, "cpu")], ids=str)
def test_a_wrong_batch_or_epilogue_says_what_is_wrong_in_it(verify, backend, case):
    if case.timed:
        (record,) = run_batch(
            plan_rows([MANY, GROUPS, EPILOGUE, SCALES], [case.name], case.problem, backend), backend, TIMED_BRIEFLY
        )
    else:
        record = verify(case.name, case.problem)
    case.check_row(record.status, record.diagnosis, record.reason)


@pytest.mark.parametrize("steps", [("bias",), ("relu",), ("bias", "gelu")])
@pytest.mark.parametrize("case", [case for case in list_cases("hostile_many", "cpu") if not case.timed][:5], ids=str)
def test_a_wrong_batch_has_the_same_cause_behind_an_epilogue(verify, case, steps):
    record = verify(case.name, replace(case.problem, epilogue=steps))
    case.check_row(record.status, record.diagnosis, record.reason)


def test_an_activation_may_be_as_inexact_as_its_manifest_declares_and_the_row_says_so(backend, tmp_path):
    rough = (EPILOGUE / "rougher_than_declared.cu").read_text()
    (tmp_path / "rough.cu").write_text(rough.replace("2^-14", "2^-10"))
    folders, problem = [tmp_path, ROOT / "examples"], Problem(40, 40, 133, "nn", "f32", 1.5, -0.5)
    for name, steps, approx in (
        ("rough", ("bias", "gelu_tanh"), 2**-10),
        ("fast_gelu", ("gelu_tanh",), 2**-11),
        ("fast_gelu", ("bias",), 0),
    ):
        plans = plan_rows(folders, [name], replace(problem, epilogue=steps), backend)
        (record,) = run_batch(plans, backend, TIMED_BRIEFLY)
        assert (record.status, record.approx) == ("ok", approx), record.reason


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", OF_STRIDES)
def test_wrong_rows_or_a_wrong_d_are_found_and_named(verify, backend, name, count):
    wanted = OF_STRIDES[name]
    ld = ("A+8", "B+4", "C+3") if wanted.get("padded", not wanted.get("separate_c")) else ()
    problem = Problem(40, 33, 27, count=count, ld=ld, separate_c=wanted.get("separate_c", False))
    if wanted.get("timed"):
        (record,) = run_batch(plan_rows([STRIDES], [name], problem, backend), backend, TIMED_BRIEFLY)
    else:
        record = verify(name, replace(problem, alpha=1.5, beta=wanted.get("beta", -0.5)))
    assert (record.status, record.diagnosis) == ("wrong", wanted["diagnosis"]), record.reason
    assert wanted["words"] in record.reason


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (3.0, -2.0)])
@pytest.mark.parametrize("name", OF_INT8)
def test_wrong_integers_say_in_what_they_were_summed(verify, name, alpha, beta):
    problem = Problem(35, 29, 2051, precision_name="int8", alpha=alpha, beta=beta)
    record, wanted = verify(name, problem), OF_INT8[name]
    assert (record.status, record.diagnosis) == ("wrong", wanted["diagnosis"]), record.reason
    assert wanted["words"] in record.reason


def test_a_float_holds_the_sums_of_a_short_k(verify):
    short = Problem(35, 29, 133, precision_name="int8")
    assert verify("sums_in_float", short).status == "ok"
    assert verify("sums_in_float", replace(short, alpha=3.0, beta=-2.0)).status == "ok"
    assert verify("scalars_in_float", replace(short, alpha=3.0, beta=-2.0)).diagnosis == "scalars in float"


@pytest.mark.parametrize(("name", "data"), [("naive", "ints"), ("tiled", "uniform"), ("blocktile_2d", "normal")])
@pytest.mark.parametrize(
    "problem",
    [
        Problem(35, 29, 2051, "nt", "int8"),
        Problem(35, 21, 19, "tn", "int8", 3.0, -2.0, 7),
        Problem(40, 33, 133, "nn", "int8", epilogue=("bias", "residual", "relu")),
    ],
    ids=str,
)
def test_integers_are_right_through_the_audit(backend, name, data, problem):
    policy = replace(TIMED_BRIEFLY, data=data)
    (record,) = run_batch(plan_rows([ROOT / "cuda"], [name], problem, backend), backend, policy)
    assert (record.status, record.product_class) == ("ok", "int8"), record.reason


@pytest.mark.parametrize("layout", ["nn", "tt"])
@pytest.mark.parametrize("ld", [(), ("A+8", "B+1", "C+3", "D+5")])
@pytest.mark.parametrize(("name", "count", "beta", "epilogue"), [
    ("tiled", 1, -0.5, ()), ("blocktile_2d", 3, -0.5, ("bias", "relu")), ("tiled", 1, 0.0, ("residual", "gelu")),
    ("openblas", 1, -0.5, ()), ("openblas", 3, 0.0, ()),
])  # fmt: skip
def test_rows_with_padding_and_a_d_apart_from_c_are_right(backend, name, count, beta, epilogue, ld, layout):
    problem = Problem(40, 33, 133, layout, "f32", 1.5, beta, count, epilogue, ld, True)
    (record,) = run_batch(plan_rows([ROOT / "cuda"], [name], problem, backend), backend, TIMED_BRIEFLY)
    assert record.status == "ok", record.reason


SMOOTH = ("residual", "scale", "bias", "silu")


@pytest.mark.parametrize(
    ("name", "precision", "steps", "passed"),
    [
        ("tiled", "f32", ("bias", "relu"), []),
        ("tiled", "bf16", ("bias", "gelu", "residual"), ["gelu", "residual"]),
        ("naive", "f16_f16", SMOOTH, list(SMOOTH)),
        ("naive", "f64", ("gelu_tanh",), ["gelu_tanh"]),
        ("tiled", "e5m2", ("relu", "bias"), ["bias"]),
    ],
)
@pytest.mark.parametrize("sides", [(40, 33, 133, 1), (20, 24, 18, 3)])
def test_an_epilogue_is_fused_as_far_as_the_kernel_goes_and_a_pass_follows(
    backend, sides, name, precision, steps, passed
):
    M, N, K, count = sides
    problem = Problem(M, N, K, "nn", precision, 1.5, -0.5, count, steps)
    (record,) = run_batch(plan_rows([ROOT / "cuda"], [name], problem, backend), backend, TIMED_BRIEFLY)
    assert (record.status, record.passed) == ("ok", passed), record.reason


@pytest.mark.parametrize("layout", ["nn", "tt"])
@pytest.mark.parametrize(("name", "per_product"), [("tiled", False), ("blocktile_2d", False), ("naive", True)])
def test_batches_are_right_in_one_launch_and_in_one_for_each_product(verify, name, per_product, layout):
    record = verify(name, replace(BATCH, layout=layout))
    assert (record.status, record.per_product) == ("ok", per_product), record.reason


@pytest.mark.parametrize(
    ("name", "per_product", "changes"),
    [
        ("tiled", False, {}),
        ("tiled", False, {"layout": "nt", "epilogue": ("bias", "relu"), "ld": ("A+8", "C+3"), "separate_c": True}),
        ("tiled", False, {"precision_name": "bf16", "epilogue": ("bias", "gelu", "residual")}),
        ("naive", True, {"layout": "nt"}),
        ("naive", True, {"epilogue": ("bias", "residual")}),
        ("openblas", True, {"ld": ("B+4",)}),
    ],
)
def test_groups_are_right_in_one_launch_and_in_one_for_each_group(backend, name, per_product, changes):
    problem = replace(PROBLEMS["hostile_groups"], **changes)
    (record,) = run_batch(plan_rows([ROOT / "cuda"], [name], problem, backend), backend, TIMED_BRIEFLY)
    assert (record.status, record.per_product) == ("ok", per_product), record.reason


@pytest.mark.parametrize("name", ["right_at_128_wrong_at_129", "edge_columns", "ignores_beta"])
def test_a_kernel_is_right_where_its_fault_does_not_show(verify, name):
    assert verify(name, Problem(35, 128, 133)).status == "ok"


def test_alpha_is_never_1_while_integers_are_checked(verify):
    assert verify("ignores_alpha", Problem(35, 128, 133, alpha=1.0)).diagnosis == "alpha ignored"


@pytest.mark.parametrize(("name", "status"), [("tf32x3_inside", "ok"), ("bf16x3_inside", "wrong")])
def test_under_3xtf32_products_of_parts_are_ranked_by_their_class(verify, name, status):
    record = verify(name, replace(PROBLEM, precision_name="3xtf32"))
    assert (record.status, record.ranked) == (status, status == "ok"), record.reason


@pytest.mark.parametrize("name", OF_VALUES)
def test_verify_finds_what_a_kernel_does_to_special_values(verify, name):
    wanted, small = OF_VALUES[name], Problem(8, 9, 10, epilogue=tuple(OF_VALUES[name].get("epilogue", ())))
    record = verify(name, replace(PROBLEM, epilogue=small.epilogue))
    assert (record.status, record.check_rule) == ("wrong", wanted["rule"]), record.reason
    assert wanted["words"] in record.reason
    assert verify(name, small).status == "ok"  # too small for special values


@pytest.fixture(scope="module")
def executables(tmp_path_factory):
    """The folder of the executables of hosts: nothing else runs there."""
    return tmp_path_factory.mktemp("executables")


@pytest.fixture(scope="module")
def rows(executables):
    """The rows of all hosts, by name, and those of the healthy kernel that was measured with each few of them."""
    found, names = {HEALTHY: []}, [name for name in OF_HOSTS if HAS_WALLS or not OF_HOSTS[name].get("walls")]
    for begin in range(0, len(names), HOSTS_IN_BATCH):
        impatient = CpuBackend(timeout=3)
        together = [*names[begin : begin + HOSTS_IN_BATCH], HEALTHY]
        plans = plan_rows([HOSTS, ROOT / "cuda"], together, Problem(32, 32, 32), impatient)
        records = run_batch(plans, impatient, Policy(rounds=12, max_time=0.05), copies=executables)
        impatient.close()
        found[HEALTHY].append(records.pop())
        found |= {record.variant: record for record in records}
    return found


@pytest.mark.parametrize("name", OF_HOSTS)
def test_each_hostile_host_ends_in_its_row_with_its_words(rows, name):
    wanted = OF_HOSTS[name]
    if wanted.get("walls") and not HAS_WALLS:
        pytest.skip("this system has no namespaces or no Landlock")
    record = rows[name]
    status = "too good" if record.status == "ok" and is_forged(record) else record.status
    ends = wanted.get("or") or {wanted["status"].replace("any", status): wanted["words"]}
    assert status in ends, record.reason
    assert ends[status] in record.reason
    assert wanted.get("printed", "") in record.printed


def test_no_healthy_row_is_lost_and_nothing_of_a_hostile_one_is_left_running(rows, executables):
    assert all(record.status == "ok" and record.samples for record in rows[HEALTHY])
    deadline = time.monotonic() + 5
    while find_processes(executables) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not find_processes(executables)


@pytest.mark.parametrize("name", ["flushes_in_hardware"])
def test_verify_finds_a_host_that_is_right_for_ordinary_values(verify, name):
    record = verify(name)
    assert (record.status, record.check_rule) == ("wrong", "subnormal"), record.reason


def find_processes(folder):
    """The processes whose code is in the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or belongs to another user
            if (process / "exe").readlink().parent == folder:
                found.append(process)
    return found
