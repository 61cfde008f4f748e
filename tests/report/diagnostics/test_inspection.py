"""The row of `inspect` for one kernel."""

from gemmbench.backends.base import Build
from gemmbench.report.diagnostics.inspection_report import USUAL_CLOCK, USUAL_SMS, inspect_launch


def test_a_row_holds_the_compilers_facts(make_plan):
    cells = inspect_launch(make_plan(), Build(registers=32, shared=0, spills=8, stack=16), 90, 132).cells()
    assert (cells["registers"], cells["spilled bytes"], cells["stack bytes"]) == ("32", "8", "16")


def test_every_usual_gpu_has_its_clock():
    assert USUAL_CLOCK.keys() == USUAL_SMS.keys()
