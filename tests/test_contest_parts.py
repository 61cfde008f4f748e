"""The part of the manual that shows where a kernel loses."""

import re

import pytest

from gemmbench.errors import StoreError
from tools.page import ROOT, Page
from tools.parts import KINDS

SIZES = "results/nvidia-h200/*-sgemm_h200.jsonl"


def write_contest(*words):
    return KINDS["contest"](Page(ROOT / "docs" / "page.md", KINDS), *words)


@pytest.fixture
def contest():
    """The summary, and the lines of the table by heading."""
    first, second, _, head, _, *lines = write_contest("sgemm", SIZES).splitlines()
    headings, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in (head, *lines))
    return f"{first} {second}", [dict(zip(headings, row, strict=True)) for row in rows]


def test_problems_are_sorted_the_worst_first(contest):
    _, rows = contest
    shares = [float(row["% of it"]) for row in rows]
    assert len(shares) > 10 and shares == sorted(shares)


def test_the_best_other_kernel_is_named_and_never_the_kernel_itself(contest):
    _, rows = contest
    assert {row["best other"] for row in rows} <= {"cublas", "cublaslt"}


def test_only_a_slower_row_has_a_reason(contest):
    _, rows = contest
    for row in rows:
        assert bool(row["what holds it back"]) == (float(row["% of it"]) < 100)


def test_the_summary_counts_what_the_table_shows(contest):
    summary, rows = contest
    shares = [float(row["% of it"]) for row in rows]
    below = [sum(share < limit for share in shares) for limit in (100, 95)]
    assert summary.startswith(f"{len(rows)} problems, ") and f"100 %: {below[0]}; below 95 %: {below[1]}." in summary
    (mean,) = re.findall(r"mean ([0-9.]+) %", summary)
    assert min(shares) < float(mean) < max(shares)


def test_problems_of_several_files_are_one_table(contest):
    twice = write_contest("sgemm", SIZES, SIZES).splitlines()
    assert twice[0].startswith(f"{2 * len(contest[1])} problems")


def test_only_what_picks_a_kernel_is_left(contest):
    picked = [row for row in contest[1] if row["kernel"] == "sgemm_splitk"]
    lines = write_contest("sgemm", SIZES, "picked=sgemm_splitk").splitlines()
    assert lines[0].startswith(f"{len(picked)} problem") and 0 < len(picked) < len(contest[1])
    with pytest.raises(StoreError, match="no problem with sgemm by sgemm_outer and another"):
        write_contest("sgemm", SIZES, "picked=sgemm_outer")


def test_a_kernel_that_did_not_run_is_refused():
    with pytest.raises(StoreError, match="no problem with wmma and another"):
        write_contest("wmma", SIZES)
