"""The tables of a run that repeats a post: the post's columns, then ours."""

import pytest

from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.sweep import read_post
from gemmbench.report.comparison import compare_rows
from gemmbench.report.tables.post_tables import report_post

CONFIG = """
sizes: [64]
baseline: cublas
post:
  title: A post
  source: somewhere
  columns: {kernel: label, time (s): time_s, N cubed: gflops_mnk, of cuBLAS: percent}
  rows:
    - {label: the library, variant: cublas}
    - {label: tiles, variant: tiled, config: {TILE: 16}, layout: nt}
    - {label: gone, variant: naive}
"""


@pytest.fixture
def table(tmp_path, make_run, make_record):
    (tmp_path / "post.yaml").write_text(CONFIG)
    post = read_post(str(tmp_path / "post.yaml"))
    records = [
        make_record("cublas", [1e-3] * 4),
        make_record("tiled", [4e-3] * 4, problem=Problem(64, 64, 64, "nt"), config={"TILE": 16}, tile=[16, 16]),
    ]
    (report,) = report_post(post, compare_rows(make_run(*records, baseline="cublas")))
    (found,) = report.tables
    return found


def test_the_columns_of_the_post_come_first(table):
    assert table.title == "A post, 64"
    assert list(table.headings[:4]) == ["kernel", "time (s)", "N cubed", "of cuBLAS"]
    assert "variant" in table.headings and "% of cublas (paired)" in table.headings


def test_a_row_has_its_figures_and_what_it_reads(table):
    rows = [dict(zip(table.headings, cells, strict=True)) for cells in table.cells]
    assert [row["kernel"] for row in rows] == ["the library", "tiles", "gone"]
    assert (rows[1]["time (s)"], rows[1]["N cubed"]) == ("0.00400", "0.0655")
    assert (rows[1]["configuration"], rows[1]["layout"]) == ("TILE=16", "nt")
    assert [row["reads (MB)"] for row in rows] == ["-", "0.1311", "-"]
    assert [row["status"] for row in rows] == ["ok", "ok", "not measured"]
