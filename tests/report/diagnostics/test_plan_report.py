"""What `--dry-run` prints."""

from dataclasses import replace

from gemmbench.bench.estimate import Estimate
from gemmbench.planning.plans.plan import make_chain
from gemmbench.report.diagnostics.plan_report import (
    MOST_LISTED,
    PlannedRows,
    describe_estimate,
    report_network_plans,
    report_plans,
)


def count(*chains):
    rows = PlannedRows()
    assert list(rows.count(chains)) == list(chains)
    return rows


def test_rows_skips_and_the_time_are_shown(make_plan):
    able = make_chain(make_plan("tiled", config={"TILE": 16}))
    unable = replace(make_chain(make_plan("wmma")), steps=(), reason="needs tensor cores")
    report = report_plans(count(able, unable, unable), Estimate(100.0, 0.0, 0), "Fake GPU")
    assert report.tables[0].cells == [["32x24x16 nn f32", "tiled", "TILE=16", "fake", "1x1x1", "16x16x1"]]
    assert report.footer == [
        "skipped 2: wmma: needs tensor cores",
        "1 row would run and 2 would be skipped.",
        "About 1 min 40 s on Fake GPU.",
    ]


def test_the_rows_of_a_network_name_their_launches(make_plan):
    chain = make_chain(make_plan("tiled"))
    two = replace(chain, steps=chain.steps * 2)
    report = report_network_plans("a network", count(two), Estimate(8.4, 0.0, 0), "Fake GPU")
    assert report.tables[0].title == "a network" and report.tables[0].cells[0][-1] == "tiled, tiled"
    assert report.footer == ["1 row would run.", "About 8 s on Fake GPU."]


def test_compiling_is_told_apart():
    assert describe_estimate(Estimate(70.0, 12.4, 3), "X") == "1 min 10 s on X, 12 s of it to compile 3 kernels"


def test_of_very_many_rows_the_first_are_listed_and_all_are_counted(make_plan):
    report = report_plans(count(*[make_chain(make_plan())] * (MOST_LISTED + 5)), Estimate(1.0, 0.0, 0), "X")
    assert len(report.tables[0].cells) == MOST_LISTED == 1000
    assert report.footer[0] == "1005 rows would run; the first 1,000 are listed."
