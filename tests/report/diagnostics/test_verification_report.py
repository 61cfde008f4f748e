"""The tables of `verify` and of --sanitize, and failures in words."""

from gemmbench.analysis.sanitizer import ToolVerdict
from gemmbench.report.diagnostics.verification_report import (
    MOST_FAILURES,
    SanitizerResult,
    list_errors,
    list_failures,
    report_checks,
    report_results,
)

FINDINGS = [
    SanitizerResult("naive", "all 3", "memcheck", ToolVerdict("clean")),
    SanitizerResult("tiled", "TILE=16", "racecheck", ToolVerdict("errors", 12, "Error: Race reported")),
    SanitizerResult("tiled", "TILE=32", "racecheck", ToolVerdict("timeout", 0, "did not end within 240 s")),
    SanitizerResult("plain", "", "memcheck", ToolVerdict("failed", 0, "no driver")),
    SanitizerResult("wgmma", "", "", None, "is written for sm_90a alone"),
]


def test_each_result_has_one_line_and_errors_are_listed_in_words():
    (table,) = report_results(FINDINGS).tables
    assert [table.headings, *table.cells] == [
        ["kernel", "configuration", "tool", "errors", "status"],
        ["naive", "all 3", "memcheck", "0", "clean"],
        ["tiled", "TILE=16", "racecheck", "12", "errors"],
        ["tiled", "TILE=32", "racecheck", "-", "timeout"],
        ["plain", "-", "memcheck", "-", "failed"],
        ["wgmma", "-", "-", "-", "skipped"],
    ]
    assert table.statuses == ["clean", "errors", "timeout", "failed", "skipped"]
    assert table.notes == list_errors(FINDINGS)
    assert list_errors(FINDINGS) == [
        "tiled TILE=16 racecheck: Error: Race reported",
        "tiled TILE=32 racecheck: did not end within 240 s",
        "plain memcheck: no driver",
        "wgmma: skipped: is written for sm_90a alone",
    ]
    assert [finding.clean for finding in FINDINGS] == [True, False, False, False, True]


def test_each_variant_has_one_line_with_its_counts(make_record):
    records = [
        make_record("tiled", order=30.0, config={"T": 8}, checked=True, error=3.0),
        make_record("tiled", order=30.0, config={"T": 8}, checked=True, error=2.5, size=17),
        make_record("tiled", order=30.0, config={"T": 16}, status="wrong", reason="x", checked=True),
        make_record("tiled", order=30.0, config={"T": 64}, status="skipped", reason="y"),
        make_record("naive", order=10.0, checked=True, error=2.5),
        make_record("cublas", order=100.0, status="skipped", reason="no GPU", backend="cuda"),
    ]
    (table,) = report_checks(records).tables
    assert table.statuses == ["ok", "wrong", "skipped"]
    assert table.notes == list_failures(records)
    assert [list(table.headings), *table.cells] == [
        ["kernel", "configurations", "passed", "failed", "skipped", "worst error (u)", "device"],
        ["naive", "1", "1", "0", "0", "2.50", "fake"],
        ["tiled", "2", "2", "1", "1", "3.00", "fake"],
        ["cublas", "0", "0", "0", "1", "-", "-"],
    ]


def test_a_configuration_that_fails_often_gets_one_line(make_record):
    wrong = {"status": "wrong", "reason": "exact check: 1 of 1 elements wrong"}
    records = [make_record("tiled", config={"T": 8}, size=size, **wrong) for size in (1, 17, 127)]
    records += [make_record("tiled", config={"T": 16}, status="failed", reason="crashed")]
    assert list_failures(records) == [
        "tiled T=8: wrong at 17 nn f32: exact check: 1 of 1 elements wrong (and 2 more problems)",
        "tiled T=16: failed at 64 nn f32: crashed",
    ]  # at 17, for in a single element all causes look alike


def test_the_map_follows_the_first_failure_of_a_variant(make_record):
    wrong = {"status": "wrong", "reason": "exact check: x"}
    records = [make_record("tiled", config={"T": size}, wrong_map=f"C in tiles\n.#{size}", **wrong) for size in (8, 16)]
    records += [make_record("naive", wrong_map="C in tiles\nnn", **wrong)]
    assert list_failures(records) == [
        "tiled T=8: wrong at 64 nn f32: exact check: x",
        "    C in tiles",
        "    .#8",
        "tiled T=16: wrong at 64 nn f32: exact check: x",
        "naive: wrong at 64 nn f32: exact check: x",
        "    C in tiles",
        "    nn",
    ]


def test_only_a_variant_that_is_skipped_entirely_gets_a_reason(make_record):
    skipped = [make_record("tiled", config={"T": 64}, status="skipped", reason="too large")]
    skipped += [make_record("cublas", status="skipped", reason="no GPU")]
    assert list_failures([make_record("tiled", config={"T": 8}), *skipped]) == ["cublas: skipped: no GPU"]


def test_the_list_of_failures_is_limited(make_record):
    numbers = range(MOST_FAILURES + 5)
    found = list_failures([make_record("tiled", config={"T": n}, status="wrong", reason="x") for n in numbers])
    assert len(found) == MOST_FAILURES + 1
    assert found[-1] == "and 5 more configurations failed"
