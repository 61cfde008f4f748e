"""Batches: small, of one problem, with the baseline inside, and with a key that changes with the method."""

import pickle
from dataclasses import replace

import pytest

from gemmbench.bench.experiments import batch as batches
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.selection import LARGEST, split_chains
from gemmbench.errors import BuildError
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.plans.plan import Config, Geometry, make_chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from tests.bench.conftest import CODE


def split(plans, baseline):
    """The plans of each batch."""
    return [[chain.steps[0] for chain in group] for group in split_chains(map(make_chain, plans), baseline)]


@pytest.mark.parametrize("count", [0, 1, 14, 15, 16, 30, 31, 100])
def test_no_batch_is_larger_than_sixteen_and_each_has_the_baseline(make_plan, count):
    plans = [make_plan("tiled", config={"T": number}) for number in range(count)]
    base = make_plan("cublas")
    groups = split([base, *plans], "cublas")
    assert LARGEST == 16
    assert all(1 <= len(group) <= 16 and group.count(base) == 1 for group in groups)
    assert [plan for group in groups for plan in group if plan != base] == plans
    assert len(groups) == max(1, -(-count // 15))


def test_without_the_baseline_batches_are_full_and_of_its_many_configurations_the_first_is_the_anchor(make_plan):
    plans = [make_plan("tiled", config={"T": number}) for number in range(20)]
    assert [len(group) for group in split(plans, "cublas")] == [16, 4] and split([], "cublas") == []
    algorithms = [make_plan("cublaslt", config={"ALGO": number}) for number in range(20)]
    first, second = split(algorithms, "cublaslt")
    assert first[-1] == second[-1] == algorithms[0]
    assert len(first) == 16 and len(second) == 5


def test_a_batch_holds_one_problem(make_plan):
    small, large = Problem(8, 8, 8), Problem(16, 16, 16)
    plans = [make_plan(name, problem) for problem in (small, large) for name in ("naive", "cublas")]
    groups = split(plans, "cublas")
    assert [{plan.problem for plan in group} for group in groups] == [{small}, {large}]
    assert [[plan.variant.name for plan in group] for group in groups] == [["naive", "cublas"]] * 2


@pytest.fixture
def make_batch(make_plan):
    def make(name="naive", problem=None, config=None, geometry=None, built=CODE, policy=None, anchors=(), **changes):
        plan = make_plan(name, problem, config)
        if geometry:
            plan = replace(plan, geometry=geometry, launches=(("gemm", geometry),))
        return replace(make_gemm_batch((plan,), (built,), policy or Policy(), anchors), **changes)

    return make


def test_the_key_of_a_batch_changes_with_the_method_and_not_with_its_place(make_batch, monkeypatch):
    before = make_batch().key
    assert make_batch(index=7).key == before
    monkeypatch.setattr(batches, "METHOD", batches.METHOD + 1)
    assert make_batch().key != before


@pytest.mark.parametrize(
    "change",
    [
        {"built": replace(CODE, key="other code")},
        {"built": BuildError("no code")},
        {"problem": Problem(8, 8, 8)},
        {"problem": Problem(32, 24, 16, alpha=2.0)},
        {"problem": Problem(32, 24, 16, layout="nt")},
        {"config": {"T": 8}},
        {"geometry": Geometry((2, 1, 1), (16, 16, 1), 0)},
        {"geometry": Geometry((1, 1, 1), (16, 16, 1), 0, pdl=True)},
        {"name": "tiled"},
        {"phase": "final"},
        {"policy": Policy(seed=1)},
        {"policy": Policy(rounds=8)},
        {"policy": Policy(cache="hot")},
        {"policy": Policy(data="ones")},
        {"policy": Policy(gate=False)},
        {"policy": Policy(pdl=True)},
        {"policy": Policy(until=0.01)},
        {"anchors": ("cublas",)},
    ],
    ids=str,
)
def test_code_problem_and_method_change_the_key(make_batch, change):
    assert make_batch(**change).key != make_batch().key


def test_a_batch_can_cross_to_another_process(write_kernel, make_plan):
    variant = read_variant(write_kernel(params={"T": "[8, 16]"}, require=["K % T == 0"]))
    plan = replace(make_plan(), variant=variant, config=Config((("T", 8),)))
    made = make_gemm_batch((plan, plan), (CODE, BuildError("x.cu:3: no")), Policy())
    made.key  # noqa: B018  what is remembered must cross too
    copy = pickle.loads(pickle.dumps(made))
    assert copy.chains == made.chains and copy.key == made.key
    assert str(copy.built[1][0]) == "x.cu:3: no"
    assert copy.chains[0].steps[0].defines == plan.defines
