"""Where the time of a whole job goes: 2 ms up, 5 ms kernel, 1 ms down, of 10 ms."""

import pytest

from gemmbench.bench.record import MODES, TransferRecord
from gemmbench.errors import UsageError
from gemmbench.planning.problems import Problem
from gemmbench.report.charts.draw import draw_chart
from gemmbench.report.comparison import compare_rows


def transfer(mode, total=10e-3, variant="tiled", size=64, status="ok"):
    rounds = 10
    parts = {} if mode == "overlapped" else {"h2d": [2e-3] * rounds, "kernel": [5e-3] * rounds, "d2h": [1e-3] * rounds}
    return TransferRecord(
        variant=variant,
        order=1.0,
        config={},
        backend="fake",
        problem=Problem(size, size, size),
        status=status,
        samples=[total] * rounds,
        rounds=list(range(rounds)),
        blocks=[number // 2 for number in range(rounds)],
        mode=mode,
        h2d_bytes=2,
        b_bytes=1,
        d2h_bytes=1,
        **parts,
    )


@pytest.fixture
def jobs(make_run):
    """The comparison of a run of these jobs."""

    def make(*records, **changed):
        run = make_run(**changed)
        run.transfers += records
        return compare_rows(run)

    return make


def test_a_bar_has_the_parts_of_a_job_one_after_the_other(jobs):
    chart = draw_chart("transfers", [jobs(transfer("pinned"))])
    (bar,) = chart.plot.bars
    assert (bar.group, bar.label, bar.text) == ("tiled", "pinned", "10.00 ms")
    assert [end for part in bar.segments for end in (part.low, part.high)] == pytest.approx([0, 2, 2, 7, 7, 8])
    assert [part.text for part in bar.segments] == ["20 %", "50 %", "10 %"]
    assert bar.segments[1].tip == "tiled, pinned: 10.00 ms\nkernel: 5 ms, 50 %"
    assert [label for _, label in chart.plot.key] == ["upload", "kernel", "download"]
    # shares instead of times
    chart = draw_chart("transfers", [jobs(transfer("pinned"))], percent=True)
    assert [round(part.high) for part in chart.plot.bars[0].segments] == [20, 70, 80]


def test_an_overlapped_job_is_one_part(jobs):
    chart = draw_chart("transfers", [jobs(*(transfer(mode) for mode in MODES))])
    assert [bar.label for bar in chart.plot.bars] == list(MODES)
    assert [part.text for part in chart.plot.bars[-1].segments] == [""]
    assert chart.plot.key[-1][1] == "copies and kernel overlapped"


def test_the_largest_problem_is_drawn_or_the_chosen_one(jobs):
    comparison = jobs(transfer("pinned"), transfer("pinned", size=128))
    assert draw_chart("transfers", [comparison]).title == "Copies and kernel at 128"
    assert draw_chart("transfers", [comparison], size="64").title == "Copies and kernel at 64"


def test_jobs_of_several_runs_are_told_apart(jobs):
    later = jobs(transfer("pinned"), run="later", started="2026-02-03T12:00:00+00:00")
    chart = draw_chart("transfers", [jobs(transfer("pinned")), later])
    assert [bar.group for bar in chart.plot.bars] == ["tiled, Fake GPU, 2026-01-01", "tiled, Fake GPU, 2026-02-03"]


def test_a_run_without_right_jobs_says_so_and_one_without_any_how_to_measure_them(jobs, ladder):
    with pytest.raises(
        UsageError, match=r"no correct transfer matches the choices; the results contain tiled at .* \(wrong\)"
    ):
        draw_chart("transfers", [jobs(transfer("pinned", status="wrong"))])
    with pytest.raises(UsageError, match="contain no transfers; measure them with run --with-transfers"):
        draw_chart("transfers", [ladder()])
