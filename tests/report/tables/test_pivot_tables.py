"""One table for many problems: which way round, its cells and marks, columns and order."""

import pytest

from gemmbench.errors import UsageError
from gemmbench.report.tables.kernel_tables import report_kernels
from gemmbench.report.tables.view import View

MS = 1e-3


@pytest.fixture
def many(compare, steady, make_record, paired):
    """Three sizes: tiled is fastest at the first, ties with cublas at the second, and is wrong at the third."""
    wrong = {"status": "wrong", "error": None, "reason": "4 elements wrong", "order": 30.0}
    tiled = {"order": 30.0, "path": "cuda/tiled.cu"}
    return compare(
        steady("naive", 40, order=10.0),
        steady("tiled", 5, config={"TILE": 8}, **tiled),
        steady("tiled", 8, config={"TILE": 16}, **tiled),
        steady("cublas", 10, order=100.0),
        steady("naive", 40, order=10.0, size=128),
        steady("tiled", 10, size=128, **tiled),
        steady("cublas", 10, order=100.0, size=128),
        steady("naive", 40, order=10.0, size=256),
        steady("tiled", 10, size=256, **wrong),
        make_record("cublaslt", status="skipped", reason="not here", size=256, order=110.0),
        steady("cublas", 10, order=100.0, size=256, cache="hot"),
    )


def draw(comparison, width=80, **view):
    return report_kernels(comparison, View(**view)).format("simple", width)


def cells(text):
    """The cells of a drawn table by their first, which is a name."""
    rows = [line.split() for line in text.partition("\n\n")[2].partition("\n\n")[0].splitlines()[2:]]
    return {row[0]: row[1:] for row in rows}


def test_kernels_are_down_and_sizes_across_and_the_fastest_have_a_mark(many):
    text = draw(many)
    assert text.splitlines()[0] == "% of cublas: nn, f32"
    assert text.splitlines()[2].split() == ["kernel", "64", "128", "256"]
    rows = cells(text)
    assert rows["naive"] == ["25.00", "25.00", "25.00"]
    assert rows["tiled"] == ["200.0*", "100.0*", "wrong"]  # the better of two configurations
    assert rows["cublaslt"] == ["-"]
    assert "cublas 100 100* 100* H" in " ".join(text.split())
    assert rows["cublas"] == ["(ms)", "10.00", "10.00", "10.00"]
    assert "256: tiled: wrong: 4 elements wrong" in text and "cublaslt: skipped: not here" in text


def test_what_a_kernel_did_wrong_is_a_line_for_each_kernel(compare, steady):
    wrong = {"status": "wrong", "error": None, "reason": "4 elements wrong"}
    text = draw(compare(*(steady("naive", 1, size=size, **wrong) for size in (32, 64, 128))))
    assert "32: naive: wrong: 4 elements wrong (and 2 more rows)\n" in text


def test_two_problems_and_those_of_details_have_tables_of_their_own(many, compare, steady):
    assert draw(compare(steady("naive", 1), steady("naive", 1, size=128))).count("M = ") == 2
    for view in ({"details": True}, {"wide": True}, {"columns": ("time", "registers")}):
        assert draw(many, **view).count("M = ") == 3


def test_many_sizes_are_down(compare, steady):
    sizes = range(32, 32 * 13, 32)
    text = draw(compare(*(steady(name, 1, size=size) for size in sizes for name in ("cublas", "naive"))))
    assert text.splitlines()[2].split() == ["size", "cublas", "naive", "cublas", "(ms)"]
    assert cells(text)["384"] == ["100*", "100.0*", "1.000"]
    assert max(map(len, text.splitlines())) <= 80


def test_a_table_that_is_too_wide_goes_on_below_itself(compare, steady):
    names = ["cublas", *(f"kernel_number_{number}" for number in range(20))]
    sizes = range(32, 32 * 13, 32)
    text = draw(compare(*(steady(name, 1, size=size) for size in sizes for name in names)), width=60)
    assert max(map(len, text.splitlines())) <= 60
    headings = [line for line in text.splitlines() if line.startswith("kernel  ")]
    assert len(headings) > 1 and sum(len(line.split()) - 1 for line in headings) == 12
    assert text.count("\nkernel_number_7 ") == len(headings)


def test_precisions_have_tables_of_their_own_and_layouts_share_one(compare, steady):
    rows = [steady("cublas", 1, size=size) for size in (64, 128)]
    other = [steady("cublas", 1, precision_name="f64"), *(steady("cublas", 1, layout=each) for each in ("nt", "tn"))]
    titles = [table.title for table in report_kernels(compare(*rows, *other)).tables]
    assert titles == ["time (ms): f32", "time (ms): nn, f64"]


@pytest.mark.parametrize(
    ("name", "shown"), [("time", ["5.000*", "10.00*"]), ("GFLOPS", ["0.1049*", "0.4194*"]), ("launches", ["1*", "1*"])]
)
def test_a_column_that_is_asked_for_is_the_figure(many, name, shown):
    assert cells(draw(many, columns=(name,)))["tiled"] == [*shown, "wrong"]


def test_columns_are_named_as_in_tables_or_exports(many):
    (first, *_) = report_kernels(many, View(columns=("time_s", "% of cublas", "rounds", "error"))).tables
    assert first.headings == [
        "time (ms)",
        "% of cublas",
        "rounds",
        "error (max. 16)",
    ]
    assert first.cells[0] == ["40.00 +- 0", "25.00 +- 0", "10", "3.25"]
    only_error = report_kernels(many, View(columns=("kernel", "error"))).footer
    assert not [line for line in only_error if line.startswith(("Time:", "%"))]
    with pytest.raises(UsageError, match=r"no column 'regsters' .did you mean 'registers'"):
        report_kernels(many, View(columns=("regsters", "time")))


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("time", ["tiled", "tiled", "cublas", "naive"]),
        ("-time", ["naive", "cublas", "tiled", "tiled"]),
        ("kernel", ["cublas", "naive", "tiled", "tiled"]),
    ],
)
def test_rows_are_sorted_by_any_column(many, sort, names):
    (first, *_) = report_kernels(many, View(details=True, sort=sort)).tables
    assert [row[0] for row in first.cells] == names


def test_rows_without_a_value_are_last_whichever_way_they_are_sorted(many):
    for sort in ("time", "-time"):
        (*_, third) = report_kernels(many, View(details=True, sort=sort)).tables
        assert third.cells[-1][0] in ("tiled", "cublaslt")


def test_several_configurations_are_compared_with_the_best(many):
    (first, *_) = report_kernels(many, View(details=True)).tables
    place = first.headings.index("x best")
    assert [row[place] for row in first.cells] == ["-", "1", "0.6250 +- 0", "-"]
