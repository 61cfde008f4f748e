"""Which kernels and configurations have their transfers measured, and how their panels are planned."""

import pytest

from gemmbench.backends.fake.backend import FakeCompiler
from gemmbench.backends.fake.entry import describe_fake
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.transfer_tasks import choose_plans, plan_tasks
from gemmbench.bench.record import RANKING
from gemmbench.planning.manifests.expressions import parse
from gemmbench.planning.manifests.variant import Launch
from gemmbench.planning.plans.plan import Geometry
from gemmbench.planning.problems import PanelCut, Problem

SIZE = Problem(160, 64, 64)


def names(plans):
    return [f"{plan.variant.name} {plan.config}".strip() for plan in plans]


@pytest.fixture
def row(make_record):
    """The record of a kernel of the problem, timed."""

    def make(name, seconds, config=None, **changed):
        sizes = {"M": 160, "N": 64, "K": 64}
        return make_record(name, [seconds] * 2, config=config or {}, **{**sizes, **changed})

    return make


def test_the_fastest_configuration_of_every_kernel_is_chosen_in_order(make_plan, row):
    plans = [make_plan("tiled", SIZE, {"T": 8}), make_plan("tiled", SIZE, {"T": 16}), make_plan("cublas", SIZE)]
    records = [row("tiled", 2e-3, {"T": 8}), row("tiled", 1e-3, {"T": 16}), row("cublas", 3e-3)]
    assert names(choose_plans(plans, records)) == ["tiled T=16", "cublas"]


def test_fresh_rounds_decide_where_there_are_some(make_plan, row):
    plans = [make_plan("tiled", SIZE, {"T": 8}), make_plan("tiled", SIZE, {"T": 16})]
    records = [row("tiled", 2e-3, {"T": 8}), row("tiled", 1e-3, {"T": 16}), row("tiled", 3e-3, {"T": 8}, phase="final")]
    assert names(choose_plans(plans, records)) == ["tiled T=8"]


def test_a_short_load_does_not_count(make_plan, row):
    plans = [make_plan("cublaslt", SIZE, {"ALGO": number}) for number in (0, 1)]
    short = [row("cublaslt", seconds, {"ALGO": number}, phase=RANKING) for number, seconds in ((0, 1e-3), (1, 2e-3))]
    full = [row("cublaslt", 1e-3, {"ALGO": 0}, status="wrong"), row("cublaslt", 2e-3, {"ALGO": 1})]
    assert names(choose_plans(plans, [*short, *full])) == ["cublaslt ALGO=1"]


def test_what_is_wrong_or_was_not_timed_is_not_measured(make_plan, row, make_record):
    plans = [make_plan("naive", SIZE), make_plan("tiled", SIZE), make_plan("naive", Problem(64, 64, 64))]
    records = [row("naive", 1e-3, status="wrong"), make_record("tiled", M=160)]
    assert choose_plans(plans, records) == []


@pytest.fixture
def task(make_plan):
    """The task of a kernel whose grid is one block for each `height` rows, cut into panels."""

    def make(panels, height=32, require=(), faults=None):
        launch = Launch("gemm", (parse(1), parse(f"M / {height}")), (parse(16),), parse(0))
        rules = tuple(parse(rule) for rule in require)
        plan = make_plan("naive", SIZE, launch=launch, require=rules)
        compilers = {"fake": FakeCompiler(Script(faults=faults or {}))}
        return plan_tasks([plan], PanelCut(panels, 3), {"fake": describe_fake().target}, lambda *_: "", compilers)

    return make


def test_the_grid_of_a_panel_is_that_of_its_rows(task):
    (found,) = task(3)
    assert [piece.plan.problem.M for piece in found.panels] == [64, 64, 32]
    assert [piece.plan.geometry.grid for piece in found.panels] == [(1, 2, 1), (1, 2, 1), (1, 1, 1)]
    assert {piece.artifact for piece in (found.whole, *found.panels)} == {found.whole.artifact}
    assert isinstance(found.whole.plan.geometry, Geometry) and found.why_not == ""


def test_a_panel_that_the_kernel_excludes_is_the_reason_why_there_are_none(task):
    (found,) = task(3, require=["M % 64 == 0 or M == 160"])
    assert found.panels == ()
    assert found.why_not.startswith("a panel of 32 rows: require M % 64 == 0 or M == 160 (cuda/naive.cu:")


def test_a_grid_that_does_not_come_out_even_excludes_panels_too(task):
    (found,) = task(3, height=160)
    assert found.panels == () and found.why_not.startswith("a panel of 64 rows: ")


def test_what_does_not_compile_any_more_has_no_task(task):
    assert task(3, faults={"naive": "build"}) == []
