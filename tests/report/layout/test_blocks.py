"""One block per row."""

from gemmbench.report.layout import draw_blocks

HEADINGS = ["kernel", "configuration", "time (ms)", "GFLOPS", "status"]
CELLS = [["tiled", "TILE=16", "16.70 +- 0.01", "8232", "ok"], ["naive", "-", "-", "-", "wrong"]]


def test_a_block_names_the_row_and_then_its_values_in_columns():
    assert draw_blocks(HEADINGS, CELLS, ["configuration"], 60) == [
        ["tiled  TILE=16", "  time (ms): 16.70 +- 0.01   GFLOPS: 8232", "  status: ok"],
        ["naive", "  status: wrong"],
    ]


def test_a_narrow_block_has_one_value_on_a_line():
    assert draw_blocks(HEADINGS, CELLS, ["configuration"], 40)[0] == [
        "tiled  TILE=16",
        "  time (ms): 16.70 +- 0.01",
        "  GFLOPS: 8232",
        "  status: ok",
    ]
