"""The plans of one kernel, for every command that takes one, and `inspect` on a launcher."""

from pathlib import Path

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.sweeps.run_request import make_request
from gemmbench.report.diagnostics.inspection_report import report_inspections
from gemmbench.session.single_kernel import (
    choose_architecture,
    find_variant,
    inspect_kernel,
    plan_kernel,
    read_hottest_loops,
)

FOLDER = Path(__file__).parents[2] / "docs" / "guides" / "my-launchers"


def ask(name, **options):
    return make_request(variants=[name], **options).selection


def plan(request, machine):
    return plan_kernel(request, find_variant(request), machine)


def test_every_size_and_parameter_is_planned(machine):
    plans = plan(ask("tiled", sizes="16,24", params=("TILE=8,16",)), machine)
    wanted = [(size, f"TILE={tile}") for size in (16, 24) for tile in (8, 16)]
    assert [(item.problem.M, str(item.config)) for item in plans] == wanted


def test_precision_and_layout_are_those_asked_for_or_the_first_of_the_variant(machine):
    (item,) = plan(ask("tiled"), machine)
    variant = item.variant
    assert (item.problem.precision_name, item.problem.layout) == (variant.precisions[0], variant.layouts[0])
    assert item.problem.M == 4096
    items = plan(ask("tiled", sizes="8", precisions="f64,f16", layouts="nt,tn"), machine)
    wanted = [(precision, layout) for precision in ("f64", "f16") for layout in ("nt", "tn")]
    assert [(item.problem.precision_name, item.problem.layout) for item in items] == wanted


@pytest.fixture
def inspected(warm_compiler):
    return inspect_kernel(ask("launched", kernels=str(FOLDER)), choose_architecture("90", None))


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
    with pytest.raises(UsageError, match="not those of a launcher; use --sass"):
        read_hottest_loops(inspected, None)
