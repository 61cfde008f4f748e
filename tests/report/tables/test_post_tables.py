"""The tables of posts: their own columns, then ours; ratios of one size only."""

import msgspec
import pytest

from gemmbench.bench.record import NetworkFacts
from gemmbench.planning.sweeps.sweep import read_post
from gemmbench.report.tables.post_tables import report_post, report_story

MS = 1e-3
CONFIG = """
sizes: [64]
baseline: cublas
post:
  title: A post
  source: somewhere
  gpu: T4
  note: A note.
  rows:
    - {label: first, variant: naive, published: {size: 64, time_ms: 12}}
    - {label: second, variant: tiled, step: true, published: {size: 64, time_ms: 4}}
    - {label: apart, variant: naive_rows, published: {size: 128, time_ms: 100}}
"""


@pytest.fixture
def write_post(tmp_path):
    """Write a config of a post; return its path."""

    def write(config):
        (tmp_path / "post.yaml").write_text(config)
        return str(tmp_path / "post.yaml")

    return write


@pytest.fixture
def story(write_post, compare, make_record):
    """The tables of a post whose rows take these milliseconds, by size and kernel, and its footer."""

    def tell(times, *more, config=CONFIG, baseline="cublas", gpu=True):
        records = [
            make_record(name, [each * MS] * 4, size) for size, rows in times.items() for name, each in rows.items()
        ]
        report = report_story(compare(*records, *more, post=write_post(config), baseline=baseline, gpu=gpu))
        return {table.title: _by_heading(table) for table in report.tables}, report.footer

    return tell


def _by_heading(table):
    return dict(zip(table.headings, map(list, zip(*table.cells, strict=True)), strict=True))


def test_the_row_above_is_named_for_steps_only(story):
    tables, footer = story({64: {"naive": 6, "tiled": 3, "naive_rows": 1}})
    cells = tables["A post, 64"]
    assert cells["method"] == ["first", "second", "apart"]
    assert cells["here (ms)"] == ["6.000", "3.000", "1.000"]
    assert cells["here: x row above"] == ["-", "2.00", "-"]
    assert cells["here: x first"] == ["1.00", "2.00", "6.00"]
    assert cells["T4: x row above"] == ["-", "3.00", "-"]
    assert footer[0] == "A note."


def test_published_figures_stand_next_to_measured_ones_of_their_size_only_or_the_heading_names_it(story):
    tables, _ = story({64: {"naive": 6, "tiled": 3}, 128: {"naive_rows": 1, "naive": 2}, 256: {"naive": 9}})
    assert tables["A post, 64"]["T4 (ms)"] == ["12", "4", "-"]
    assert tables["A post, 128"]["T4 (ms)"] == ["-", "-", "100"]
    assert not [heading for heading in tables["A post, 256"] if "T4" in heading]
    cells = story({32: {"naive": 6, "tiled": 3}})[0]["A post, 32"]
    assert cells["T4 at 64 (ms)"] == ["12", "4", "-"]
    assert cells["T4 at 64: x first"] == ["1.00", "3.00", "-"]


def test_a_first_row_that_is_missing_or_the_baseline_is_compared_with_nothing(story):
    tables, _ = story({64: {"tiled": 3, "naive_rows": 1}})
    assert "here: x first" not in tables["A post, 64"] and "T4: x first" in tables["A post, 64"]
    tables, _ = story({64: {"cublas": 1, "tiled": 4}}, config=CONFIG.replace("variant: naive", "variant: cublas"))
    assert not [heading for heading in tables["A post, 64"] if heading.endswith("x first")]
    assert tables["A post, 64"]["here: % of cublas"] == ["100", "25.00", "-"]


def test_a_network_has_the_figures_of_its_rows(compare, make_record):
    facts = NetworkFacts(title="784-100, batch 256", flops=1000, bytes=1000)
    rows = [
        ("cpu_naive", 8, {"label": "CPU", "published_ms": 22.0}),
        ("tiled", 2, {"label": "tiles", "published_ms": 44.0, "step": True}),
        ("mlp_fused", 1, {}),
    ]
    records = [
        make_record(name, [ms * MS] * 4, order=order, network=msgspec.structs.replace(facts, **changed))
        for order, (name, ms, changed) in enumerate(rows)
    ]
    (table,) = report_story(compare(*records, post="posts/003-neural-network", baseline="mlp_fused")).tables
    cells = _by_heading(table)
    assert table.title == "Building a matrix-multiplication kernel from scratch: 784-100, batch 256"
    assert cells["method"] == ["CPU", "tiles", "mlp_fused"]
    assert cells["post (ms)"] == ["22", "44", "-"]
    assert cells["post: x row above"] == ["-", "0.500", "-"]
    assert cells["here (ms)"] == ["8.000", "2.000", "1.000"]
    assert cells["here: x first"] == ["1.00", "4.00", "8.00"]


def test_a_skipped_row_of_the_post_says_why(story, make_record):
    skipped = {"status": "skipped", "reason": "uses tensor cores, which the CPU cannot execute"}
    more = [make_record("tiled", **skipped), make_record("openblas", **skipped)]
    tables, footer = story({64: {"naive": 1}}, *more, baseline="openblas")
    assert tables["A post, 64"]["here (ms)"] == ["1.000", "-", "-"]
    assert footer[1] == "tiled: skipped: uses tensor cores, which the CPU cannot execute"
    assert not [line for line in footer if line.startswith("openblas")]  # a baseline that is no row of the post


TABLE_CONFIG = """
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


def test_a_post_s_own_columns_come_first_and_a_row_has_its_figures_and_what_it_reads(write_post, compare, make_record):
    cublas = make_record("cublas", [1e-3] * 4)
    tiled = make_record("tiled", [4e-3] * 4, layout="nt", config={"TILE": 16}, tile=[16, 16])
    (report,) = report_post(read_post(write_post(TABLE_CONFIG)), compare(cublas, tiled, baseline="cublas"))
    (table,) = report.tables
    assert table.title == "A post, 64"
    assert list(table.headings[:4]) == ["kernel", "time (s)", "N cubed", "of cuBLAS"]
    assert "variant" in table.headings and "% of cublas (paired)" in table.headings
    rows = [dict(zip(table.headings, cells, strict=True)) for cells in table.cells]
    assert [row["kernel"] for row in rows] == ["the library", "tiles", "gone"]
    assert (rows[1]["time (s)"], rows[1]["N cubed"]) == ("0.004000", "0.06554")
    assert (rows[1]["configuration"], rows[1]["layout"]) == ("TILE=16", "nt")
    assert [row["reads (MB)"] for row in rows] == ["-", "0.1311", "-"]
    assert [row["status"] for row in rows] == ["ok", "ok", "not measured"]


def test_on_the_cpu_device_a_post_has_times_and_no_gflops_and_percent_of_ours(story, compare, make_record):
    tables, footer = story({64: {"naive": 6, "tiled": 3, "openblas": 1}}, baseline="openblas", gpu=False)
    assert not [heading for heading in tables["A post, 64"] if "here: %" in heading]
    assert footer[-1].endswith("on the CPU device, which says nothing about a GPU.")
    (table,) = report_post(read_post("posts/004-gemm"), compare(make_record("naive", [MS] * 4), gpu=False))[0].tables
    assert not [heading for heading in table.headings if "GFLOPS" in heading or "%" in heading]
