"""The tables of posts: the post's columns in its order, published next to measured; speed-ups of one size only."""

import json
from dataclasses import replace

import msgspec
import pytest

from gemmbench.bench.record import NetworkFacts, TransferRecord
from gemmbench.planning.problems import Problem
from gemmbench.report.comparison import compare_rows
from gemmbench.report.tables.post_tables import report_post

MS = 1e-3
CONFIG = """
sizes: [64]
baseline: cublas
post:
  title: A post
  source: somewhere
  gpu: T4
  columns: {Method: label, "Execution Time (ms)": time_ms}
  note: A note.
  rows:
    - {label: first, variant: naive, published: {size: 64, time_ms: 12}}
    - {label: corrected, variant: naive_1d, corrects: true}
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
def tell(write_post, compare, make_record):
    """The tables of a post whose rows take these milliseconds, by size and kernel, and its footer."""

    def tell(times, *more, config=CONFIG, baseline="cublas", gpu=True):
        records = [
            make_record(name, [each * MS] * 4, size) for size, rows in times.items() for name, each in rows.items()
        ]
        report = report_post(compare(*records, *more, post=write_post(config), baseline=baseline, gpu=gpu))
        return {table.title: _by_heading(table) for table in report.tables}, report.footer

    return tell


def _by_heading(table):
    return dict(zip(table.headings, map(list, zip(*table.cells, strict=True)), strict=True))


def test_a_step_is_compared_with_the_step_before_it_and_a_correction_with_the_row_above(tell):
    tables, footer = tell({64: {"naive": 6, "naive_1d": 2, "tiled": 3, "naive_rows": 1}})
    cells = tables["A post, 64"]
    assert list(cells)[:3] == ["Method", "Execution Time (ms) T4", "Execution Time (ms) here"]
    assert cells["Method"] == ["first", "corrected", "second", "apart"]
    assert cells["Execution Time (ms) here"] == ["6.000", "2.000", "3.000", "1.000"]
    assert cells["speed-up here"] == ["-", "3.00", "2.00", "-"]
    assert cells["speed-up T4"] == ["-", "-", "3.00", "-"]
    assert footer[0] == "A note." and footer[1].startswith("Speed-up: ")


def test_published_figures_stand_next_to_measured_ones_of_their_size_only_or_the_heading_names_it(tell):
    tables, _ = tell({64: {"naive": 6, "tiled": 3}, 128: {"naive_rows": 1, "naive": 2}, 256: {"naive": 9}})
    assert tables["A post, 64"]["Execution Time (ms) T4"] == ["12", "-", "4", "-"]
    assert tables["A post, 128"]["Execution Time (ms) T4"] == ["-", "-", "-", "100"]
    assert not [heading for heading in tables["A post, 256"] if "T4" in heading]
    cells = tell({32: {"naive": 6, "tiled": 3}})[0]["A post, 32"]
    assert cells["Execution Time (ms) T4 at 64"] == ["12", "-", "4", "-"]
    assert cells["speed-up T4 at 64"] == ["-", "-", "3.00", "-"]


def test_a_row_that_was_not_measured_says_so(tell):
    cells = tell({64: {"tiled": 3, "naive_rows": 1}})[0]["A post, 64"]
    assert cells["status"] == ["not measured", "not measured", "ok", "ok"]
    assert "speed-up here" not in cells and "speed-up T4" in cells
    assert "status" not in tell({64: dict.fromkeys(("naive", "naive_1d", "tiled", "naive_rows"), 1)})[0]["A post, 64"]


PERCENT = """
sizes: [64]
post:
  title: A post
  source: somewhere
  columns: {kernel: label, performance: percent, time (s): time_s}
  rows:
    - {label: the library, variant: cublas, published: {size: 64, time_ms: 2, percent: 100}}
    - {label: tiles, variant: tiled, config: {TILE: 16}, published: {size: 64, time_ms: 8, percent: 25}}
"""


def test_percentages_have_two_decimals_and_replace_ours(tell, make_record):
    tiled = make_record("tiled", [4 * MS] * 4, config={"TILE": 16}, registers=32, spills=0)
    cells = tell({64: {"cublas": 1}}, tiled, config=PERCENT)[0]["A post, 64"]
    columns = ["kernel", "performance post", "performance here", "time (s) post", "time (s) here"]
    assert list(cells) == [*columns, "registers", "spilled bytes", "our kernel"]
    assert cells["performance post"] == ["100%", "25.00%"] and cells["performance here"] == ["100%", "25.00%"]
    assert cells["time (s) post"] == ["0.002", "0.008"] and cells["time (s) here"] == ["0.001000", "0.004000"]
    assert (cells["registers"], cells["spilled bytes"]) == (["-", "32"], ["-", "0"])
    assert cells["our kernel"] == ["cublas", "tiled TILE=16"]


BY_SIZE = """
sizes: [64, 128]
baseline: cublas
post:
  title: A post
  source: somewhere
  gpu: T4
  columns: {kernel: label, size: size, GFLOPS: gflops_mnk, GFLOPS (2 N cubed): gflops}
  rows:
    - {label: the library, variant: cublas, published: {size: 128, time_ms: 1, gflops: 2.097152}}
    - {label: tiles, variant: tiled, published: {size: 256, time_ms: 2, gflops: 8.5}}
"""


def test_with_a_column_of_sizes_there_is_one_table_and_operations_are_counted_as_the_post_does(tell):
    cells = tell({64: {"cublas": 1, "tiled": 1}, 128: {"cublas": 1}}, config=BY_SIZE)[0]["A post"]
    assert cells["kernel"] == ["the library"] * 2 + ["tiles"] * 2
    assert cells["size"] == ["64", "128", "64", "256"]
    assert cells["GFLOPS T4"] == ["-", "2.097152", "-", "8.5"]
    assert cells["GFLOPS here"] == ["0.2621", "2.097", "0.2621", "-"]
    assert cells["GFLOPS (2 N cubed) here"] == ["0.5243", "4.194", "0.5243", "-"]
    assert "GFLOPS (2 N cubed) T4" not in cells


def test_a_network_has_the_figures_of_its_rows_and_how_much_less_time_they_take_than_the_first(compare, make_record):
    facts = NetworkFacts(title="784-100, batch 256", flops=1000, bytes=1000)
    rows = [
        ("cpu_naive", 8, {"label": "CPU", "published_ms": 22.0}),
        ("tiled", 2, {"label": "tiles", "published_ms": 6.5, "step": True}),
        ("mlp_fused", 1, {"corrects": True}),
    ]
    records = [
        make_record(name, [ms * MS] * 4, order=order, network=msgspec.structs.replace(facts, **changed))
        for order, (name, ms, changed) in enumerate(rows)
    ]
    (table,) = report_post(compare(*records, post="posts/003-neural-network", baseline="mlp_fused")).tables
    cells = _by_heading(table)
    assert table.title == "Building a matrix-multiplication kernel from scratch: 784-100, batch 256"
    assert cells["Version"] == ["CPU", "tiles", "mlp_fused"]
    assert cells["Duration (ms) post"] == ["22", "6.5", "-"]
    assert cells["% faster than CPU post"] == ["-", "70.45", "-"]
    assert cells["% faster than CPU here"] == ["-", "75.00", "87.50"]
    assert cells["speed-up here"] == ["-", "4.00", "2.00"]


def test_a_skipped_row_of_the_post_says_why(tell, make_record):
    skipped = {"status": "skipped", "reason": "uses tensor cores, which the CPU cannot execute"}
    more = [make_record("tiled", **skipped), make_record("openblas", **skipped)]
    tables, footer = tell({64: {"naive": 1}}, *more, baseline="openblas")
    assert tables["A post, 64"]["Execution Time (ms) here"] == ["1.000", "-", "-", "-"]
    assert "tiled: skipped: uses tensor cores, which the CPU cannot execute" in footer
    assert not [line for line in footer if line.startswith("openblas")]  # a baseline that is no row of the post


def test_kernels_that_read_c_are_named(tell, make_record):
    _, footer = tell({}, make_record("naive", [MS] * 4, reads_c=True), make_record("tiled", [MS] * 4))
    assert "These kernels read C although beta is 0, as in the post: naive." in footer


def test_on_the_cpu_device_a_post_has_times_and_no_speeds(tell):
    tables, footer = tell({64: {"cublas": 1, "tiled": 4}}, config=PERCENT, gpu=False)
    assert "time (s) here" in tables["A post, 64"]
    assert not [heading for heading in tables["A post, 64"] if "here" in heading and "time" not in heading]
    assert footer[-1].endswith("on the CPU device, which says nothing about a GPU.")


COPIES = """
sizes: [64]
post:
  title: A post
  source: somewhere
  columns: {Method: label, Time (ms): time_ms}
  rows:
    - {label: kernel, variant: tiled, config: {TILE: 16}}
    - {label: one after the other, variant: tiled, config: {TILE: 16}, copies: pinned}
    - {label: overlapped, variant: tiled, config: {TILE: 16}, copies: overlapped, step: true}
"""


def test_a_row_with_copies_shows_the_whole_job(write_post, make_run, make_record):
    run = make_run(make_record("tiled", [MS] * 4, config={"TILE": 16}), post=write_post(COPIES))
    same = {"variant": "tiled", "order": 1.0, "config": {"TILE": 16}, "backend": "fake", "status": "ok"}
    same |= {"problem": Problem(64, 64, 64), "rounds": [0, 1, 2, 3], "blocks": [0, 0, 1, 1], "h2d_bytes": 1}
    run.transfers += [
        TransferRecord(mode=mode, samples=[ms * MS] * 4, **same)
        for mode, ms in (("pageable", 9), ("pinned", 6), ("overlapped", 4))
    ]
    (table,) = report_post(compare_rows(run)).tables
    cells = _by_heading(table)
    assert cells["Time (ms) here"] == ["1.000", "6.000", "4.000"]
    assert cells["speed-up here"] == ["-", "-", "1.50"]


NO_ELIGIBLE = """
sizes: [64]
post:
  title: A post
  source: somewhere
  gpu: T4
  columns: {kernel: label, time(ms): time_ms}
  rows:
    - {label: v1, variant: tiled, config: {TILE: 16}, published: {size: 64, time_ms: 4, no_eligible: 56.05}}
"""


@pytest.fixture
def no_eligible(tell, compare, make_record, write_post, tmp_path):
    """What a run in `tmp_path` says of cycles without an eligible warp."""

    def read(gpu=True):
        record = make_record("tiled", [MS] * 4, config={"TILE": 16})
        comparison = compare(record, post=write_post(NO_ELIGIBLE), gpu=gpu)
        comparison = replace(comparison, run=replace(comparison.run, path=tmp_path / "run.jsonl"))
        (line,) = [line for line in report_post(comparison).footer if line.startswith("No Eligible")]
        return line, comparison.environment.device

    return read


def test_no_eligible_comes_from_a_profile_next_to_the_results_or_the_command_that_makes_it_is_named(
    no_eligible, tmp_path
):
    line, device = no_eligible()
    path = tmp_path / "tiled-64.profile.json"
    assert line.startswith(
        "No Eligible, v1: 56.05 % on T4; not profiled here: `gemmbench profile tiled --param TILE=16"
    )
    assert f"--sizes 64 --out {path}` counts it." in line
    launch = {"kernel": "gemm", "grid": "1", "block": "1", "values": {"eligible": 48.65}, "stalls": {}}
    profile = {"variant": "tiled", "configuration": {"TILE": 16}, "size": "64", "layout": "nn", "precision": "f32"}
    path.write_text(json.dumps({"device": "another GPU", **profile, "launches": [launch]}))
    assert "not profiled here" in no_eligible()[0]
    path.write_text(json.dumps({"device": device, **profile, "launches": [launch]}))
    assert no_eligible()[0] == "No Eligible, v1: 56.05 % on T4, 51.35 % here."
    assert no_eligible(gpu=False)[0].endswith("unknown here, because a CPU has no such counter.")
