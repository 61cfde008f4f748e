"""The verdicts that end a comparison, and the line that ends a run."""

import pytest

from gemmbench.report.verdicts import judge_variants, list_fastest

MS = 1e-3
HEAD = "M = 64, N = 64, K = 64, nn, f32: "
NO_VERDICT = "tiled against naive is inconclusive:"


@pytest.mark.parametrize(
    ("milliseconds", "word", "ending"),
    [
        ([2] * 5, "faster", "tiled is 2.000x faster than naive (95 % interval 2.000x to 2.000x)."),
        ([8] * 5, "slower", "tiled is 2.000x slower than naive (95 % interval 2.000x to 2.000x)."),
        ([4] * 5, "same", "tiled is as fast as naive (95 % interval 1.000x to 1.000x of its speed)."),
        ([4.02] * 5, "same", "tiled is as fast as naive (95 % interval 0.9950x to 0.9950x of its speed)."),
        ([2, 2, 4, 5, 5], "inconclusive", f"{NO_VERDICT} 95 % interval from 1.7x slower to 2.4x faster."),
        ([3.9, 4, 4, 4.2, 4.3], "inconclusive", f"{NO_VERDICT} 95 % interval from 1.1x slower to 1.0x faster."),
        ([7, 8, 8, 9, 10], "slower", "tiled is 2.1x slower than naive (95 % interval 1.7x to 2.5x)."),
        ([2] * 4, "inconclusive", "tiled is 2.00x faster than naive (too few rounds for a verdict)."),
        ([8] * 4, "inconclusive", "tiled is 2.00x slower than naive (too few rounds for a verdict)."),
    ],
)
def test_a_pair_ends_in_one_sentence_with_ratio_interval_and_verdict(
    compare, paired, steady, milliseconds, word, ending
):
    comparison = compare(steady("naive", 4), paired("tiled", *(MS * value for value in milliseconds)))
    (verdict,) = judge_variants(comparison, ("naive", "tiled"))
    assert (verdict.word, verdict.sentence) == (word, HEAD + ending)


def test_pairs_of_other_batches_or_without_a_time_are_inconclusive(compare, steady, make_record):
    skipped, wrong = make_record("cublas", status="skipped"), steady("bad", status="wrong")
    comparison = compare(steady("naive", 4), steady("tiled", 2, batch=2), skipped, wrong)
    verdicts = judge_variants(comparison, ("naive", "tiled", "cublas", "bad"))
    assert {verdict.word for verdict in verdicts} == {"inconclusive"}
    assert [verdict.sentence for verdict in verdicts] == [
        HEAD + "tiled is 2.000x faster than naive, but not measured in the same rounds: inconclusive.",
        HEAD + "naive and cublas cannot be compared: no valid time for cublas.",
        HEAD + "naive and bad cannot be compared: no valid time for bad.",
        HEAD + "tiled and cublas cannot be compared: no valid time for cublas.",
        HEAD + "tiled and bad cannot be compared: no valid time for bad.",
        HEAD + "cublas and bad cannot be compared: no valid time for cublas and bad.",
    ]


def test_a_comparison_takes_the_best_configuration_and_its_fresh_rounds(compare, steady):
    (verdict,) = judge_variants(
        compare(
            steady("cublas"),
            steady("tiled", 2, config={"T": 8}),
            steady("tiled", 3, config={"T": 8}, phase="final", batch=2),
            steady("cublas", phase="final", batch=2),
        ),
        ("tiled", "cublas"),
    )
    assert "cublas is 3.000x faster than tiled" in verdict.sentence


def test_every_problem_and_pair_gets_one_sentence(compare, paired):
    records = [paired(name, MS, size=size) for size in (64, 128) for name in ("a", "b", "c")]
    assert len(judge_variants(compare(*records), ("a", "b", "c"))) == 6


@pytest.mark.parametrize(
    ("milliseconds", "line"),
    [
        ([0.8547, 0.8547, 0.8547, 0.8548, 0.8549], "sgemm is fastest, 1.17x cublas"),
        ([1.955, 1.958, 1.96, 1.962, 1.965], "cublas is fastest; sgemm reaches 51.0 % of it"),
        ([1.002] * 5, "sgemm is as fast as cublas"),
        ([0.9, 0.95, 1.0, 1.05, 1.1], "sgemm and cublas are too close to call, 1.0x +- 0.1"),
        ([0.5, 0.5], "sgemm is fastest, 2.00x cublas"),  # few rounds have no interval
    ],
)
def test_the_last_line_names_the_fastest_next_to_the_baseline(compare, paired, milliseconds, line):
    kernel = paired("sgemm", *(MS * value for value in milliseconds))
    cublas = paired("cublas", *[MS] * len(milliseconds), order=9.0)
    assert list_fastest(compare(kernel, cublas)) == [f"64: {line}"]


def test_without_a_valid_baseline_the_speed_is_told(compare, steady):
    comparison = compare(steady("naive", 2), steady("tiled"), steady("cublas", status="wrong"))
    assert list_fastest(comparison) == ["64: tiled is fastest, 0.524 GFLOPS"]


def test_each_problem_has_a_line_and_names_what_tells_it_apart(compare, steady):
    rows = [steady(name, size=size) for size in (64, 128) for name in ("a", "cublas")]
    assert list_fastest(compare(*rows)) == ["64: a is as fast as cublas", "128: a is as fast as cublas"]


def test_wrong_interrupted_and_lonely_rows_have_no_line(compare, steady):
    for kernels in ([steady("a", status="wrong")], [steady("a", stopped="interrupted")], []):
        assert list_fastest(compare(*kernels, steady("cublas", order=9.0))) == []
