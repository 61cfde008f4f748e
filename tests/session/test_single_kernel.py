"""The plans of one kernel, for every command that takes one, and `inspect` on a launcher."""

from pathlib import Path

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.plans.plan import Plan
from gemmbench.report.diagnostics.inspection_report import report_inspections
from gemmbench.session.single_kernel import (
    KernelRequest,
    choose_architecture,
    inspect_kernel,
    plan_kernel,
    plan_one_launch,
    read_hottest_loops,
    to_words,
)


def plan(request, machine):
    return plan_kernel(request, request.find_variant(), machine)


def test_every_size_and_parameter_is_planned(machine):
    plans = plan(KernelRequest("tiled", "16,24", params=("TILE=8,16",)), machine)
    assert [(item.problem.M, str(item.config)) for item in plans] == [
        (16, "TILE=8"),
        (16, "TILE=16"),
        (24, "TILE=8"),
        (24, "TILE=16"),
    ]


def test_precision_and_layout_are_by_default_the_first_of_the_variant(machine):
    (item,) = plan(KernelRequest("tiled"), machine)
    variant = item.variant
    assert (item.problem.precision_name, item.problem.layout) == (variant.precisions[0], variant.layouts[0])
    assert item.problem.M == 4096


def test_the_first_choice_of_a_request_may_be_overridden(machine):
    items = plan(KernelRequest("tiled", "8", "f64,f16", "nt,tn"), machine)
    assert [(item.problem.precision_name, item.problem.layout) for item in items] == [
        ("f64", "nt"),
        ("f64", "tn"),
        ("f16", "nt"),
        ("f16", "tn"),
    ]


def test_one_launch_is_one_plan(machine):
    assert isinstance(plan_one_launch(KernelRequest("tiled", "8"), machine), Plan)
    with pytest.raises(UsageError, match="profile takes one launch, but there are 2"):
        plan_one_launch(KernelRequest("tiled", "8,9"), machine)


def test_what_has_no_value_is_no_word():
    assert to_words([("--seed", None), ("--sizes", 8), ("--param", "X=1")]) == ("--sizes", "8", "--param", "X=1")


FOLDER = Path(__file__).parents[2] / "docs" / "guides" / "my-launchers"


@pytest.fixture
def inspected(warm_compiler):
    return inspect_kernel(KernelRequest("launched", kernels=str(FOLDER)), choose_architecture("90", None))


def test_a_launcher_has_the_facts_of_its_kernel_and_no_grid(inspected):
    (table,) = report_inspections(inspected.inspections, "sm_90").tables
    (row,) = (dict(zip(table.headings, cells, strict=True)) for cells in table.cells)
    assert (row["kernel"], row["configuration"], row["spilled bytes"]) == ("run", "THREADS=256", "0")
    assert int(row["registers"]) > 10
    assert {row[name] for name in ("threads", "occupancy", "blocks", "waves")} == {"-"}


def test_its_text_has_what_calls_it_and_its_kernel(inspected, warm_compiler):
    plan = inspected.only_plan()
    text = warm_compiler.text(plan)
    assert "gemmbench_run" in text and "#define THREADS 256" in text
    assert warm_compiler.ptx(plan).count(".entry") == 1


def test_its_hottest_loop_is_not_read(inspected):
    with pytest.raises(UsageError, match="not those of a launcher; take --sass"):
        read_hottest_loops(inspected, None)
