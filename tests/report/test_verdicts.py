"""The verdicts that end a comparison: ratio, interval, word."""

import pytest

from gemmbench.report.comparison import compare_rows
from gemmbench.report.verdicts import judge_variants

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
