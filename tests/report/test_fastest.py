"""Who is fastest: the line that ends a run."""

import pytest

from gemmbench.report.fastest import find_fastest, list_best_configurations, list_fastest

MS = 1e-3
QUIET, NOISY = [0.9998, 1.0, 1.0, 1.0, 1.0002], [0.9, 0.95, 1.0, 1.05, 1.1]


@pytest.fixture
def line(compare, paired):
    """The line of a run whose rows have these milliseconds in their blocks."""

    def make(**rows):
        order = {"cublas": 9.0}
        records = [
            paired(name, *(MS * each for each in blocks), order=order.get(name, 1.0)) for name, blocks in rows.items()
        ]
        (found,) = list_fastest(compare(*records))
        return found.removeprefix("64: ")

    return make


def times(milliseconds, blocks=QUIET):
    return [milliseconds * each for each in blocks]


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        ([0.8547, 0.8547, 0.8547, 0.8548, 0.8549], "sgemm is fastest, 1.17x cublas"),
        ([1.955, 1.958, 1.96, 1.962, 1.965], "cublas is fastest; sgemm reaches 51.0 % of it"),
        ([1.002] * 5, "cublas and sgemm are fastest, within 1 % of each other"),
        ([0.9, 0.95, 1.0, 1.05, 1.1], "sgemm and cublas are too noisy to call, 1.0x +- 0.1"),
        ([1.0, 1.005, 1.01, 1.015, 1.02], "cublas and sgemm are too close to call, 1.01x +- 0.01"),
        ([0.5, 0.502], "sgemm is fastest, 2.0x cublas"),  # two blocks
        ([0.98, 1.0], "sgemm and cublas are too noisy to call, 1.0x +- 0.2"),
        ([0.2, 9.0], "cublas and sgemm are too noisy to call"),
        ([0.5], "sgemm and cublas have too few rounds for a verdict, about 2.00x apart"),
    ],
)
def test_the_last_line_names_the_fastest_and_compares_it_with_the_baseline(line, milliseconds, words):
    assert line(sgemm=milliseconds, cublas=[1.0] * len(milliseconds)) == words


def test_who_is_within_the_margin_of_the_first_is_named_with_it(line):
    rows = {"sgemm": times(1), "sgemm_tma": times(1.004), "naive": times(9), "cublas": times(1.2)}
    assert line(**rows) == "sgemm and sgemm_tma are fastest, within 1 % of each other, 1.20x cublas"
    rows["tiled"] = times(1.005)
    assert line(**rows) == "sgemm, sgemm_tma and tiled are fastest, within 1 % of sgemm, 1.20x cublas"
    many = {f"k{number}": times(1 + number / 1000) for number in range(6)}
    assert line(**many) == "k0, k1, k2 and 3 more are fastest, within 1 % of k0"


def test_the_first_is_compared_with_every_other_row_and_not_only_with_the_baseline(line):
    rows = {"sgemm": times(1), "sgemm_tma": times(1.05, NOISY), "cublas": times(1.2)}
    assert line(**rows).startswith("sgemm and sgemm_tma are too noisy to call, 1.0x +- ")
    assert line(**rows).endswith("; sgemm is 1.20x cublas")


@pytest.mark.parametrize(
    ("third", "tie"),
    [(times(2.1, NOISY), ", too noisy to tell from tiled"), (times(2.004), ", within 1 % of tiled"), (times(3), "")],
)
def test_who_is_second_behind_the_baseline_is_named_with_those_that_tie(line, third, tie):
    assert line(sgemm=times(2), tiled=third, cublas=times(1)) == f"cublas is fastest; sgemm reaches 50.0 % of it{tie}"


def test_rows_behind_one_that_is_slower_are_not_tested(line):
    """Their times are longer still, whatever their intervals."""
    rows = {"sgemm": times(1), "tiled": times(1.05), "naive": times(2, [0.5, 1, 1, 1, 2]), "cublas": [3.0]}
    assert line(**rows) == "sgemm is fastest, 0.524 GFLOPS"


def test_a_row_with_too_few_rounds_leaves_the_first_undecided(line):
    rows = {"sgemm": times(1), "tiled": times(1.004), "naive": [9.0]}
    assert line(**rows) == "sgemm, tiled and naive have too few rounds for a verdict"


def test_with_more_rows_each_is_tested_more_strictly(line):
    """A difference that an interval of 95 % shows, and that of 1 - 5 % / 20 does not."""
    noise = [1.02, 1.03, 1.04, 1.05, 1.06]
    assert line(sgemm=times(1), tiled=noise) == "sgemm is fastest, 0.524 GFLOPS"
    crowd = {f"k{number}": times(2 + number) for number in range(19)}
    assert line(sgemm=times(1), tiled=noise, **crowd).startswith("sgemm and tiled are too noisy to call, 1.0x +- 0.06")


def test_rows_of_several_batches_are_compared_by_the_baseline_of_each(compare, steady):
    """In the second batch everything takes twice as long."""
    first = steady("tiled", 1.5), steady("cublas", 1, order=9.0)
    for milliseconds, words in [
        (1.8, "sgemm is fastest, 1.11x cublas"),
        (2.005, "cublas and sgemm are fastest, within 1 % of each other"),
        (2.8, "cublas is fastest; sgemm reaches 71.4 % of it"),
    ]:
        second = steady("sgemm", milliseconds, batch=2), steady("cublas", 2, batch=2, order=9.0)
        assert list_fastest(compare(*first, *second)) == [f"64: {words}"]


def test_the_best_configuration_is_the_one_with_the_best_ratio_in_the_table(compare, steady):
    """The second batch ran at a lower clock, so that its row takes longer in spite of its better ratio."""
    first = steady("tiled", 1.5, config={"T": 8}), steady("cublas", 1.2, order=9.0)
    second = steady("tiled", 1.8, config={"T": 16}, batch=2), steady("cublas", 2, batch=2, order=9.0)
    assert list_fastest(compare(*first, *second)) == ["64: tiled is fastest, 1.11x cublas"]


def test_a_row_of_another_back_end_is_slower_only_if_its_time_is_much_longer(compare, steady):
    def line(milliseconds):
        return list_fastest(compare(steady("tiled", 1), steady("host", milliseconds, backend="cpu")))

    assert line(8) == ["64: tiled is fastest, 0.524 GFLOPS"]
    assert line(1.05) == ["64: tiled and host are too noisy to call, 1.1x +- 0.1"]


def test_without_a_valid_baseline_the_speed_is_told(compare, steady):
    comparison = compare(steady("naive", 2), steady("tiled"), steady("cublas", status="wrong"))
    assert list_fastest(comparison) == ["64: tiled is fastest, 0.524 GFLOPS"]


def test_each_problem_has_a_line_and_names_what_tells_it_apart(compare, steady):
    rows = [steady(name, size=size) for size in (64, 128) for name in ("a", "cublas")]
    words = "a and cublas are fastest, within 1 % of each other"
    assert list_fastest(compare(*rows)) == [f"64: {words}", f"128: {words}"]


def test_wrong_interrupted_and_lonely_rows_have_no_line(compare, steady):
    for kernels in ([steady("a", status="wrong")], [steady("a", stopped="interrupted")], []):
        assert list_fastest(compare(*kernels, steady("cublas", order=9.0))) == []


@pytest.mark.parametrize(("rows", "decided"), [(["b"], True), (["a", "b"], True), (["a", "b", "c"], False)])
def test_only_who_is_not_shown_to_be_slower_counts(compare, paired, rows, decided):
    blocks = {"a": times(1.004), "b": times(1), "c": times(1.02, NOISY)}
    slower = {name: times(5) for name in blocks if name not in rows}
    records = [paired(name, *(MS * each for each in (slower.get(name) or blocks[name]))) for name in blocks]
    (problem,) = compare(*records).problems
    fastest = find_fastest(problem)
    assert sorted(row.record.variant for row in fastest.rows) == rows
    assert fastest.rows[0].record.variant == "b" and fastest.is_decided == decided


KINDS = (("tiled", 0.5), ("cublas", 1))


def test_problems_with_the_same_answer_share_a_line(compare, steady):
    def run(*times):
        rows = [(steady("tiled", ms, size=size), steady("cublas", 1, size=size)) for size, ms in times]
        return list_fastest(compare(*(row for pair in rows for row in pair)))

    assert run((32, 0.5), (64, 0.8), (96, 0.5)) == ["tiled is fastest at all 3 sizes, 1.25x to 2.00x cublas"]
    assert run((32, 0.5), (64, 1), (96, 0.5), (128, 2)) == [
        "tiled is fastest at 2 of 4 sizes (32 and 96), 2.00x cublas",
        "cublas and tiled are fastest at 1 of 4 sizes (64), within 1 % of each other",
        "cublas is fastest at 1 of 4 sizes (128)",
    ]
    two = [steady(name, ms, layout=kind, size=size) for size in (32, 64) for kind in ("nn", "tn") for name, ms in KINDS]
    assert list_fastest(compare(*two)) == ["tiled is fastest at all 4 problems, 2.00x cublas"]
    of_shown = ["Of the kernels shown:", "tiled is fastest at all 4 problems, 2.00x cublas"]
    assert list_fastest(compare(*two), chosen=True) == of_shown
    many = run(*((size, 0.5) for size in range(32, 32 * 9, 32)), (300, 2))
    assert many[0] == "tiled is fastest at 8 of 9 sizes (32, 64, 96, 128, 160 and 3 more), 2.00x cublas"


def test_the_best_configuration_is_named_with_those_that_tie(compare, steady):
    def best(*times, path="cuda/tiled.cu", phase="sweep"):
        rows = [steady("tiled", ms, config={"T": number}, path=path) for number, ms in enumerate(times, 1)]
        return list_best_configurations(compare(*rows, steady("cublas", 1)))

    assert best(1, 2, 3) == ["tiled: best T=1"]
    assert best(2, 1, 1.001, 3) == ["tiled: best T=2; T=3 ties"]
    assert best(1, 1, 1, 1, 1, 1) == ["tiled: best T=1; T=2, T=3, T=4 and 2 more tie"]
    assert best(1) == [] and best(1, 1, path="") == []


def test_of_a_configuration_that_was_measured_again_the_row_next_to_the_others_is_compared(compare, steady):
    tiled = {"path": "cuda/tiled.cu"}
    rows = [steady("tiled", ms, config={"T": number}, **tiled) for number, ms in ((1, 1), (2, 1))]
    again = steady("tiled", 2, config={"T": 1}, phase="final", batch=7, batch_key="again", **tiled)
    assert list_best_configurations(compare(again, *rows)) == ["tiled: best T=1; T=2 ties"]
