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
    SanitizerResult("tiled", "TILE=32", "racecheck", ToolVerdict("timeout", 0, "did not finish within 240 s")),
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
        "tiled TILE=32 racecheck: did not finish within 240 s",
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
        ["kernel", "configurations", "passed", "failed", "skipped", "error (max. 16)", "device"],
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


def test_one_map_follows_each_cause_of_a_variant(make_record):
    wrong = {"status": "wrong", "reason": "exact check: x"}
    records = [make_record("tiled", config={"T": size}, wrong_map=f"C in tiles\n.#{size}", **wrong) for size in (8, 16)]
    records += [make_record("naive", wrong_map="C in tiles\nnn", **wrong)]
    assert list_failures(records) == [
        "tiled: wrong at 64 nn f32 T=8: exact check: x (and 1 more check, in 2 configurations)",
        "    C in tiles",
        "    .#8",
        "naive: wrong at 64 nn f32: exact check: x",
        "    C in tiles",
        "    nn",
    ]


def test_what_was_skipped_is_told_with_the_reason(make_record):
    rule = {"status": "skipped", "reason": "require K % 16 == 0 (mine.yaml:9)"}
    skipped = [make_record("tiled", config={"T": 64}, size=size, **rule) for size in (17, 33)]
    skipped += [make_record("tiled", config={"T": 128}, status="skipped", reason="too large")]
    skipped += [make_record("cublas", status="skipped", reason="no GPU")]
    assert list_failures([make_record("tiled", config={"T": 8}), *skipped]) == [
        "tiled: 2 skipped: require K % 16 == 0 (mine.yaml:9); 1 skipped: too large",
        "cublas: skipped: no GPU",
    ]


def test_one_mistake_in_an_index_is_told_once_whatever_it_does_at_other_sizes(make_record):
    records = [
        make_record("mine", size=17, status="wrong", reason="exact check: x: a race", diagnosis="race"),
        make_record(
            "mine", size=33, status="wrong", reason="exact check: x: as if", diagnosis="index: leading dimension"
        ),
        make_record("mine", size=65, status="failed", reason="crashed with SIGSEGV", diagnosis="crash"),
    ]
    assert list_failures(records) == ["mine: wrong at 33 nn f32: exact check: x: as if (and 2 more problems)"]


def test_different_causes_are_told_apart(make_record):
    records = [
        make_record("mine", size=17, status="wrong", reason="a", diagnosis="last k lost"),
        make_record("mine", size=33, status="wrong", reason="b", diagnosis="tile of k lost"),
        make_record("mine", size=65, status="wrong", reason="c", diagnosis="edge columns"),
    ]
    assert list_failures(records) == [
        "mine: wrong at 17 nn f32: a (and 1 more problem)",
        "mine: wrong at 65 nn f32: c",
    ]


def test_the_list_of_failures_is_limited(make_record):
    numbers = range(MOST_FAILURES + 5)
    found = list_failures([make_record(f"tiled{n}", status="wrong", reason="x") for n in numbers])
    assert len(found) == MOST_FAILURES + 1
    assert found[-1] == "and 5 more causes"


def test_a_fault_of_accesses_comes_first_and_the_results_of_the_configuration_below_it(make_record):
    fault = {"status": "failed", "reason": "a.cu:9: reads outside A\na.cu:10: reads outside B"}
    records = [
        make_record("a", status="wrong", reason="exact check: 5 wrong", diagnosis="index: stride", size=33),
        make_record("a", status="wrong", reason="exact check: 1 wrong", size=5),
        make_record("a", diagnosis="watched: reads outside a.cu:9", M=129, N=67, K=50, **fault),
        make_record("b", status="wrong", reason="exact check: 2 wrong", size=5),
    ]
    assert list_failures(records) == [
        "a: failed at 129x67x50 nn f32: a.cu:9: reads outside A\n    a.cu:10: reads outside B\n"
        "    wrong at 33 nn f32: exact check: 5 wrong (and 1 more problem)",
        "b: wrong at 5 nn f32: exact check: 2 wrong",
    ]


def test_one_fault_in_several_configurations_is_one_paragraph(make_record):
    fault = {"status": "failed", "reason": "a.cu:9: reads outside A", "diagnosis": "watched: reads outside a.cu:9"}
    records = [make_record("a", config={"T": value}, **fault) for value in (8, 16)]
    (line,) = list_failures(records)
    assert line == "a: failed at 64 nn f32 T=8: a.cu:9: reads outside A (and 1 more check, in 2 configurations)"


def test_a_remark_about_several_variants_is_one_line(make_record):
    remarks = [{"a": "not watched: needs g++", "b": "not watched: needs g++"}, {"a": "at 65536, it overflows"}]
    (table,) = report_checks([make_record("a")], "", remarks).tables
    assert table.notes == ["a, b: not watched: needs g++", "a: at 65536, it overflows"]


def test_where_another_launch_is_right_that_comes_before_the_faults_it_has(make_record):
    records = [
        make_record(
            "a", status="failed", reason="a.cu:9: writes outside C", diagnosis="watched: writes outside a.cu:9"
        ),
        make_record("a", status="wrong", reason="guard check: right if grid were [1]", diagnosis="other launch"),
    ]
    (line,) = list_failures(records)
    assert line.splitlines() == [
        "a: wrong at 64 nn f32: guard check: right if grid were [1]",
        "    failed at 64 nn f32: a.cu:9: writes outside C",
    ]


def test_rows_with_the_same_answer_about_batch_invariance_are_one_line(make_record):
    configurations = [({"T": 8}, "invariant"), ({"T": 16}, "invariant"), ({"T": 32}, "depends on M: 7 differs from 1")]
    records = [make_record("tiled", order=30.0, config=config, invariance=words) for config, words in configurations]
    records += [make_record("naive", size=size, invariance="invariant") for size in (17, 64)]
    assert report_checks([*records, make_record("mine")]).tables[0].notes == [
        "naive: batch invariance: invariant",
        "tiled T=8 at 64 nn f32 and 1 more: batch invariance: invariant",
        "tiled T=32 at 64 nn f32: batch invariance: depends on M: 7 differs from 1",
    ]
