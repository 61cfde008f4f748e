"""`inspect` on a launcher, whose grid only its host function knows."""

from pathlib import Path

import pytest

from gemmbench.errors import UsageError
from gemmbench.report.diagnostics.inspection_report import report_inspections
from gemmbench.session.single_kernel import KernelRequest, choose_architecture, inspect_kernel, read_hottest_loops

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
