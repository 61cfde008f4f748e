"""The table of `verify --sanitize`."""

from gemmbench.analysis.sanitizer import ToolVerdict
from gemmbench.report.diagnostics.verification_report import SanitizerResult, list_errors, report_results

FINDINGS = [
    SanitizerResult("naive", "all 3", "memcheck", ToolVerdict("clean")),
    SanitizerResult("tiled", "TILE=16", "racecheck", ToolVerdict("errors", 12, "Error: Race reported")),
    SanitizerResult("tiled", "TILE=32", "racecheck", ToolVerdict("timeout", 0, "did not end within 240 s")),
    SanitizerResult("plain", "", "memcheck", ToolVerdict("failed", 0, "no driver")),
    SanitizerResult("wgmma", "", "", None, "is written for sm_90a alone"),
]


def test_each_result_has_one_line():
    (table,) = report_results(FINDINGS).tables
    assert [table.headings, *table.cells] == [
        ["kernel", "configuration", "tool", "errors", "status"],
        ["naive", "all 3", "memcheck", "0", "clean"],
        ["tiled", "TILE=16", "racecheck", "12", "errors"],
        ["tiled", "TILE=32", "racecheck", "-", "timeout"],
        ["plain", "-", "memcheck", "-", "failed"],
        ["wgmma", "-", "-", "-", "skipped"],
    ]


def test_errors_are_listed_in_words():
    (table,) = report_results(FINDINGS).tables
    assert table.statuses == ["clean", "errors", "timeout", "failed", "skipped"]
    assert table.notes == list_errors(FINDINGS)
    assert list_errors(FINDINGS) == [
        "tiled TILE=16 racecheck: Error: Race reported",
        "tiled TILE=32 racecheck: did not end within 240 s",
        "plain memcheck: no driver",
        "wgmma: skipped: is written for sm_90a alone",
    ]


def test_a_timeout_is_an_error_and_a_skip_is_not():
    assert [finding.clean for finding in FINDINGS] == [True, False, False, False, True]
