"""Which columns fit a width, and rows, sentences and blocks as lines."""

from gemmbench.report.layout import draw_blocks, draw_row, fit_columns, wrap_text

BLOCK_HEADINGS = ["kernel", "configuration", "time (ms)", "GFLOPS", "status"]
BLOCK_CELLS = [["tiled", "TILE=16", "16.70 +- 0.01", "8232", "ok"], ["naive", "-", "-", "-", "wrong"]]


def test_a_block_names_the_row_and_then_its_values_in_columns_that_fit():
    assert draw_blocks(BLOCK_HEADINGS, BLOCK_CELLS, ["configuration"], 60) == [
        ["tiled  TILE=16", "  time (ms): 16.70 +- 0.01   GFLOPS: 8232", "  status: ok"],
        ["naive", "  status: wrong"],
    ]
    assert draw_blocks(BLOCK_HEADINGS, BLOCK_CELLS, ["configuration"], 40)[0] == [
        "tiled  TILE=16",
        "  time (ms): 16.70 +- 0.01",
        "  GFLOPS: 8232",
        "  status: ok",
    ]


HEADINGS = ["kernel", "configuration", "time (ms)", "% of peak", "error (u)"]
CELLS = [
    ["blocktile_2d", "BM=128 BN=128 BK=32 TM=8 TN=4", "5.246 +- 0.004", "39.17", "4.573"],
    ["cublas", "-", "2.683", "76.67", "4.573"],
]


def fit(width, fold=("configuration",), hide=("error (u)", "% of peak"), cells=CELLS):
    found = fit_columns(HEADINGS, cells, fold, hide, width)
    return found and {HEADINGS[index]: size for index, size in zip(found.columns, found.widths, strict=True)}


def test_without_a_width_every_column_has_its_natural_width():
    assert fit(None) == {"kernel": 12, "configuration": 29, "time (ms)": 14, "% of peak": 9, "error (u)": 9}


def test_text_folds_before_a_column_is_hidden():
    assert fit(81) == fit(None)
    assert fit(80) == {**fit(None), "configuration": 24}  # "BM=128 BN=128 BK=32 TM=8"
    assert fit(65)["configuration"] == 13 and len(fit(65)) == 5


def test_columns_are_hidden_in_their_order_and_give_their_room_to_text():
    assert list(fit(64)) == ["kernel", "configuration", "time (ms)", "% of peak"]
    assert list(fit(53)) == ["kernel", "configuration", "time (ms)"]
    assert (fit(65)["configuration"], fit(64)["configuration"]) == (13, 19)


def test_the_columns_never_exceed_the_width_and_only_text_folds():
    for width in range(43, 130):
        widths = fit(width)
        assert sum(widths.values()) + 2 * (len(widths) - 1) <= width
        assert widths["kernel"] == 12 and widths["time (ms)"] == 14 and widths["configuration"] >= 13
    assert fit(42) is None  # what must be shown is wider


def test_long_text_folds_at_every_word_only_when_nothing_is_left_to_hide():
    cells = [["kernel", " ".join(["P=12345"] * 20), "1.000", "1.000", "1.000"]]
    assert fit(110, cells=cells)["configuration"] == 63  # eight words
    assert list(fit(40, cells=cells)) == ["kernel", "configuration", "time (ms)"]
    assert fit(40, cells=cells)["configuration"] == 15


def test_a_path_may_be_broken_but_not_a_shorter_word():
    cells = [["kernel", "/a/very/long/path/to/a/file/of/results.jsonl", "1.000", "1.000", "1.000"]]
    assert fit(80, cells=cells)["configuration"] <= 44 and fit(43, cells=cells) is not None
    assert fit(43, cells=[["kernel", "x" * 24, "1.000", "1.000", "1.000"]])["configuration"] == 24


def test_numbers_are_aligned_right_and_text_left_and_text_folds_between_words():
    assert draw_row(["tiled", "TILE=16 WPT=4", "1.5"], [6, 7, 4], [True, True, False]) == [
        "tiled   TILE=16   1.5",
        "        WPT=4",
    ]


def test_sentences_wrap_with_an_indent_and_drawings_stay():
    assert wrap_text("one two three four five six", 20) == ["one two three four", "  five six"]
    assert wrap_text("  drawing  that is longer than twenty", 20) == ["  drawing  that is longer than twenty"]
    assert wrap_text("one two three four five six", None) == ["one two three four five six"]


def test_headings_that_fold_make_a_column_as_wide_as_its_cells_or_its_longest_word():
    headings, cells = ["method", "Execution Time (ms) Tesla T4"], [["tiles", "7.08397"]]
    assert fit_columns(headings, cells, (), (), None).widths == [6, 28]
    assert fit_columns(headings, cells, (), (), None, fold_headings=True).widths == [6, 9]
    assert fit_columns(headings, cells, (), (), 30, fold_headings=True).widths == [6, 9]
    drawn = draw_row(headings, [6, 9], [True, False])
    assert [line.split() for line in drawn] == [["method", "Execution"], ["Time", "(ms)"], ["Tesla", "T4"]]
