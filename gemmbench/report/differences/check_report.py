"""The output of a check: its table, JUnit XML, and annotations for GitHub."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

from gemmbench.planning.files import escape_cell, escape_controls
from gemmbench.report.columns.column import Column, make_table, pick_columns
from gemmbench.report.columns.kernel_columns import TABLE as ROW_COLUMNS
from gemmbench.report.differences.difference_tables import show_time
from gemmbench.report.differences.regression_gate import BROKEN, INCONCLUSIVE, PASS, REGRESSION, Check, CheckedRow
from gemmbench.report.explanation import name_row
from gemmbench.report.repeatability import RUN_TO_RUN, TIME_TO_TIME
from gemmbench.report.table import Report
from gemmbench.report.text import format_share

(_CONFIGURATION,) = pick_columns(ROW_COLUMNS, "configuration")
_STATUSES = {PASS: "ok", REGRESSION: "wrong", BROKEN: "wrong", INCONCLUSIVE: "skipped"}
_LEVELS = {REGRESSION: "error", BROKEN: "error", INCONCLUSIVE: "warning"}

COLUMNS: tuple[Column[CheckedRow], ...] = (
    Column(heading="kernel", cell=lambda each: each.row.record.variant, left=True),
    Column(heading="configuration", cell=lambda each: _CONFIGURATION.cell(each.row), fold=True, hide=2),
    Column(heading="problem", cell=lambda each: str(each.row.record.problem), left=True),
    Column(heading="reference (ms)", cell=lambda each: show_time(each.reference), hide=1),
    Column(heading="run (ms)", cell=lambda each: show_time(each.row), hide=3),
    Column(heading="slower by (%)", cell=lambda each: _format_slowdown(each)),
    Column(heading="verdict", cell=lambda each: each.verdict, left=True),
)


def _format_slowdown(checked: CheckedRow) -> str:
    """Format as `5.1 [4.8, 5.4]`. A gate can distinguish tenths of a percent."""
    slowdown = checked.slowdown
    if math.isnan(slowdown.value):
        return "-"
    value, low, high = (f"{100 * each:.1f}" for each in (slowdown.value, slowdown.low, slowdown.high))
    return f"{value} [{low}, {high}]" if slowdown.known else value


def report_check(check: Check) -> Report:
    """Report the table of a check with notes below it."""
    statuses = [_STATUSES[row.verdict] for row in check.rows]
    title = f"Compared with {check.reference}"
    tables = [make_table(COLUMNS, check.rows, title, statuses=statuses)] if check.rows else []
    return Report(tables, [*_explain(check), *_list_reasons(check), *_advise(check), *check.notes])


def _explain(check: Check) -> list[str]:
    if not check.rows:
        return []
    if check.paired:
        return ["Slower by: from the same rounds, with the 95 % interval."]
    return [
        "Slower by: from each run's ratio to the baseline. The runs shared no rounds, so the 95 % interval is "
        f"widened by the {format_share(RUN_TO_RUN)} by which such a ratio differs between runs; times differ "
        f"by up to {format_share(TIME_TO_TIME)}."
    ]


def _advise(check: Check) -> list[str]:
    """Advise what to do about rows whose interval contains the margin."""
    wide = any(row.verdict == INCONCLUSIVE and row.slowdown.known for row in check.rows)
    longer = "measure longer" if check.paired else "save a longer run with run --save"
    return [f"Inconclusive: {longer} (--max-time, --rounds), or choose a larger margin."] if wide else []


def _list_reasons(check: Check) -> list[str]:
    """List why rows do not pass, and which rows were not compared."""
    reasons = [row.reason for row in check.rows if row.verdict != PASS]
    missing, new = [f"not measured: {name}" for name in check.missing], [f"new: {each}" for each in check.new]
    return [*reasons, *missing, *new]


def format_junit(check: Check, fail_inconclusive: bool) -> str:
    """Format a JUnit file with a test case for each row. An inconclusive row counts as skipped unless it fails."""
    cases = [_make_case(row, fail_inconclusive) for row in check.rows]
    counts = {name: sum(case.find(name) is not None for case in cases) for name in ("failure", "error", "skipped")}
    suite = ElementTree.Element(
        "testsuite",
        name="gemmbench check",
        tests=str(len(cases)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
        skipped=str(counts["skipped"]),
    )
    suite.extend(cases)
    ElementTree.SubElement(suite, "system-out").text = escape_controls(
        "\n".join([check.closing_line, *_list_reasons(check)])
    )
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _make_case(row: CheckedRow, fail_inconclusive: bool) -> ElementTree.Element:
    record = row.row.record
    seconds = sum(record.samples) * record.launches
    case = ElementTree.Element(
        "testcase",
        classname=escape_cell(f"gemmbench.{record.variant}"),
        name=escape_cell(name_row(row.row)),
        time=f"{seconds:.3f}",
    )
    kinds = {REGRESSION: "failure", BROKEN: "error", INCONCLUSIVE: "failure" if fail_inconclusive else "skipped"}
    if kind := kinds.get(row.verdict):
        ElementTree.SubElement(case, kind, message=escape_controls(row.reason), type=row.verdict)
    return case


def list_annotations(check: Check) -> list[str]:
    """Return workflow commands for GitHub: an error or a warning at each kernel that does not pass."""
    return [_annotate(row) for row in check.rows if row.verdict != PASS]


def _annotate(row: CheckedRow) -> str:
    path, title = row.row.record.path.partition("@")[0], f"{row.verdict}: {name_row(row.row)}"
    return write_annotation(_LEVELS[row.verdict], path, 1, title, row.reason)


def write_annotation(level: str, path: str, line: int, title: str, text: str) -> str:
    """Return GitHub's workflow command for an `error` or a `warning` at a line of a file (or "" for no file)."""
    place = [f"file={_escape_property(path)}", f"line={line}"] if path else []
    return f"::{level} {','.join([*place, f'title={_escape_property(title)}'])}::{_escape(text)}"


def _escape(text: str) -> str:
    return escape_controls(text).replace("%", "%25").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
