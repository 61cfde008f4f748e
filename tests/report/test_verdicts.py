"""The verdicts that end a comparison, and the line that ends a run."""

import pytest

from gemmbench.report.comparison import compare_rows
from gemmbench.report.verdicts import judge_variants, list_fastest

MS = 1e-3
HEAD = "M = 64, N = 64, K = 64, nn, f32: "


def sentences(run, names):
    return [verdict.sentence for verdict in judge_variants(compare_rows(run), names)]


@pytest.mark.parametrize(
    ("seconds", "ending"),
    [
        ([2 * MS] * 5, "tiled is 2.000x faster than naive (95 % interval 2.000x to 2.000x)."),
        (
            [8 * MS] * 5,
            "tiled is 2.000x slower than naive (95 % interval 2.000x to 2.000x).",
        ),
        ([4 * MS] * 5, "tiled is as fast as naive (95 % interval 1.000x to 1.000x of its speed)."),
        (
            [2 * MS, 2 * MS, 4 * MS, 5 * MS, 5 * MS],
            "tiled against naive is inconclusive: 95 % interval from 1.7x slower to 2.4x faster.",
        ),
        (
            [7 * MS, 8 * MS, 8 * MS, 9 * MS, 10 * MS],
            "tiled is 2.1x slower than naive (95 % interval 1.7x to 2.5x).",
        ),
        ([2 * MS] * 4, "tiled is 2.00x faster than naive (too few rounds for a verdict)."),
    ],
)
def test_a_pair_ends_in_one_sentence_with_ratio_interval_and_verdict(make_run, paired, seconds, ending):
    run = make_run(paired("naive", *[4 * MS] * 5), paired("tiled", *seconds))
    assert sentences(run, ("naive", "tiled")) == [HEAD + ending]


def test_pairs_of_other_batches_or_without_a_time_get_no_verdict(make_run, paired, make_record):
    run = make_run(
        paired("naive", *[4 * MS] * 5),
        paired("tiled", *[2 * MS] * 5, batch=2),
        make_record("cublas", status="skipped"),
        paired("bad", MS, status="wrong"),
    )
    assert sentences(run, ("naive", "tiled", "cublas", "bad")) == [
        HEAD + "tiled is 2.000x faster than naive, but not measured in the same rounds: inconclusive.",
        HEAD + "naive and cublas cannot be compared: no valid time for cublas.",
        HEAD + "naive and bad cannot be compared: no valid time for bad.",
        HEAD + "tiled and cublas cannot be compared: no valid time for cublas.",
        HEAD + "tiled and bad cannot be compared: no valid time for bad.",
        HEAD + "cublas and bad cannot be compared: no valid time for cublas and bad.",
    ]


def test_a_comparison_takes_the_best_configuration_and_its_fresh_rounds(make_run, paired):
    run = make_run(
        paired("cublas", *[MS] * 5),
        paired("tiled", *[2 * MS] * 5, config={"T": 8}),
        paired("tiled", *[3 * MS] * 5, config={"T": 8}, phase="final", batch=2),
        paired("cublas", *[MS] * 5, phase="final", batch=2),
    )
    (sentence,) = sentences(run, ("tiled", "cublas"))
    assert "cublas is 3.000x faster than tiled" in sentence


def test_every_problem_and_pair_gets_one_sentence(make_run, paired):
    records = [paired(name, MS, size=size) for size in (64, 128) for name in ("a", "b", "c")]
    assert len(sentences(make_run(*records), ("a", "b", "c"))) == 6


@pytest.mark.parametrize(
    ("seconds", "word"),
    [
        ([2 * MS] * 5, "faster"),
        ([8 * MS] * 5, "slower"),
        ([4.02 * MS] * 5, "same"),
        ([3.9 * MS, 4 * MS, 4 * MS, 4.2 * MS, 4.3 * MS], "inconclusive"),
        ([8 * MS] * 4, "inconclusive"),
    ],
)
def test_the_verdict_is_on_the_later_of_two_variants(make_run, paired, seconds, word):
    run = make_run(paired("naive", *[4 * MS] * 5), paired("tiled", *seconds))
    assert [verdict.word for verdict in judge_variants(compare_rows(run), ("naive", "tiled"))] == [word]


def test_what_cannot_be_compared_is_inconclusive(make_run, paired, make_record):
    run = make_run(paired("a", *[MS] * 5), paired("b", *[MS] * 5, batch=2), make_record("c", status="skipped"))
    assert {verdict.word for verdict in judge_variants(compare_rows(run), ("a", "b", "c"))} == {"inconclusive"}


@pytest.fixture
def closing(make_run, paired):
    """The lines for a kernel of these milliseconds next to cublas at 1 ms."""

    def tell(*milliseconds, **changed):
        kernel = paired("sgemm", *(MS * value for value in milliseconds), **changed)
        return list_fastest(compare_rows(make_run(kernel, paired("cublas", *[MS] * len(milliseconds), order=9.0))))

    return tell


def test_a_kernel_that_beats_the_baseline(closing):
    assert closing(0.8547, 0.8547, 0.8547, 0.8548, 0.8549) == ["64: sgemm is fastest, 1.17x cublas"]


def test_a_kernel_that_does_not_reach_it(closing):
    assert closing(1.955, 1.958, 1.96, 1.962, 1.965) == ["64: cublas is fastest; sgemm reaches 51.0 % of it"]


def test_kernels_that_cannot_be_told_apart(closing):
    assert closing(*[1.002] * 5) == ["64: sgemm is as fast as cublas"]
    assert closing(0.9, 0.95, 1.0, 1.05, 1.1) == ["64: sgemm and cublas are too close to call, 1.0x +- 0.1"]


def test_few_rounds_give_a_line_without_an_interval(closing):
    assert closing(0.5, 0.5) == ["64: sgemm is fastest, 2.00x cublas"]


def test_without_a_valid_baseline_the_speed_is_told(make_run, paired):
    run = make_run(paired("naive", *[2 * MS] * 5), paired("tiled", *[MS] * 5), paired("cublas", MS, status="wrong"))
    assert list_fastest(compare_rows(run)) == ["64: tiled is fastest, 0.524 GFLOPS"]


def test_each_problem_has_a_line_and_names_what_tells_it_apart(make_run, paired):
    rows = [paired(name, *[MS] * 5, size=size) for size in (64, 128) for name in ("a", "cublas")]
    assert list_fastest(compare_rows(make_run(*rows))) == ["64: a is as fast as cublas", "128: a is as fast as cublas"]


def test_wrong_interrupted_and_lonely_rows_have_no_line(make_run, paired):
    other = paired("cublas", *[MS] * 5, order=9.0)
    for kernel in (paired("a", MS, status="wrong"), paired("a", MS, stopped="interrupted"), None):
        assert list_fastest(compare_rows(make_run(*filter(None, [kernel, other])))) == []
