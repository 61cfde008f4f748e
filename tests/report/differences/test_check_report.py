"""What a check shows: table, JUnit XML, annotations."""

import xml.etree.ElementTree as ElementTree

import pytest

from gemmbench.report.differences.check_report import format_junit, list_annotations, report_check
from gemmbench.report.differences.regression_gate import Check, check_pairs


@pytest.fixture
def row_of(compare, paired):
    """A row of these milliseconds."""

    def make(*milliseconds, **changed):
        (row,) = compare(paired("tiled", *(1e-3 * each for each in milliseconds), **changed)).rows
        return row

    return make


@pytest.fixture
def check(row_of):
    """A check with a row of each verdict."""
    of_file = {"path": "cuda/tiled.cu", "launches": 3}
    reference = row_of(*[1] * 5)
    rows = [
        row_of(*[1] * 5, config={"T": 8}, **of_file),
        row_of(*[1.05] * 5, **of_file),
        row_of(1, **of_file),
        row_of(*[1] * 5, status="wrong", reason="50 % wrong:\nC[0][0] \x1b[1m<&>", **of_file),
    ]
    pairs = check_pairs([(reference, row) for row in rows], 0.03)
    return Check("main", 0.03, pairs, missing=["gone at 64"], new=["mine: HEAD has no such kernel"], notes=["A note."])


def test_the_table_has_a_line_for_each_row_and_the_footer_the_reasons(check):
    report = report_check(check)
    (table,) = report.tables
    verdicts, slowdowns = (
        [cells[table.headings.index(name)] for cells in table.cells] for name in ("verdict", "slower by (%)")
    )
    assert verdicts == ["pass", "regression", "inconclusive", "broken"]
    assert slowdowns == ["0.0 [0.0, 0.0]", "5.0 [5.0, 5.0]", "0.0", "-"]
    assert table.statuses == ["ok", "wrong", "skipped", "wrong"] and table.title == "Compared with main"
    footer = "\n".join(report.footer)
    assert "tiled at 64 nn f32 takes 5 % longer" in footer and "T=8" not in footer
    assert "not measured: gone at 64" in footer and "new: mine: HEAD has no such kernel" in footer
    assert footer.endswith("A note.") and "shared no rounds" in footer
    paired = Check("HEAD", 0.03, check.rows, paired=True)
    assert report_check(paired).footer[0].startswith("Slower by: from the same rounds")
    assert report_check(Check("HEAD", 0.03, [], new=["mine"])).tables == []


def test_a_wide_interval_has_an_advice(row_of):
    reference, row = row_of(*[2] * 5), row_of(1, 1, 2, 4, 4)
    check = Check("HEAD", 0.03, check_pairs([(reference, row)], 0.03), paired=True)
    assert report_check(check).footer[-1].startswith("Inconclusive: measure longer")
    (line,) = list_annotations(check)
    assert (
        line.startswith("::warning ")
        and "cannot decide: 95 %25 interval " in line
        and line.endswith(" %25, margin 3 %25")
    )
    saved = Check("main", 0.03, check.rows)  # which is repeated as it was measured
    assert report_check(saved).footer[-1].startswith("Inconclusive: save a longer run with run --save")
    assert "Inconclusive" not in str(report_check(Check("HEAD", 0.03, check_pairs([(row, row)], 0.03))).footer)


@pytest.mark.parametrize(("strict", "failures", "skipped"), [(False, 1, 1), (True, 2, 0)])
def test_junit_has_a_case_for_each_row(check, strict, failures, skipped):
    suite = ElementTree.fromstring(format_junit(check, strict)).find("testsuite")
    found = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
    assert found == {"tests": 4, "failures": failures, "errors": 1, "skipped": skipped}
    cases = suite.findall("testcase")
    assert cases[0].get("name") == "tiled at 64 nn f32 T=8"
    assert {case.get("classname") for case in cases} == {"gemmbench.tiled"}
    assert float(cases[0].get("time")) == pytest.approx(10 * 3 * 1e-3, abs=1e-3)
    assert len(cases[0]) == 0 and cases[1].find("failure").get("type") == "regression"
    assert "50 % wrong:\nC[0][0] \\x1b[1m<&>" in cases[3].find("error").get("message")
    assert suite.find("system-out").text.startswith("check against main")


def test_annotations_are_at_the_files_if_there_is_one_and_escaped(check, row_of):
    slower, unsure, wrong = list_annotations(check)
    assert slower.startswith("::error file=cuda/tiled.cu,line=1,title=regression%3A tiled at 64 nn f32::tiled at 64")
    assert "takes 5 %25 longer" in slower and unsure.startswith("::warning file=cuda/tiled.cu,line=1,")
    assert wrong.startswith("::error ") and "50 %25 wrong:%0AC[0][0]" in wrong and "\n" not in wrong
    row = row_of(1, status="wrong")
    (line,) = list_annotations(Check("main", 0.03, check_pairs([(row, row)], 0.03)))
    assert line.startswith("::error title=broken%3A tiled")
