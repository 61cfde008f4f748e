"""The verdicts that end a comparison."""

import pytest

from gemmbench.report.verdicts import judge_variants

MS = 1e-3
HEAD = "64: "
NO_VERDICT = "tiled against naive is inconclusive:"


@pytest.mark.parametrize(
    ("milliseconds", "word", "ending"),
    [
        ([2] * 5, "faster", "tiled is 2.000x faster than naive (95 % interval 2.000x to 2.000x)."),
        ([8] * 5, "slower", "tiled is 2.000x slower than naive (95 % interval 2.000x to 2.000x)."),
        ([4] * 5, "same", "tiled is as fast as naive (95 % interval 1.000x to 1.000x of its speed)."),
        ([4.02] * 5, "same", "tiled is as fast as naive (95 % interval 0.9950x to 0.9950x of its speed)."),
        ([2, 2, 4, 5, 5], "inconclusive", f"{NO_VERDICT} the 95 % interval runs from 1.7x slower to 2.4x faster."),
        (
            [3.9, 4, 4, 4.2, 4.3],
            "inconclusive",
            f"{NO_VERDICT} the 95 % interval runs from 1.1x slower to 1.0x faster.",
        ),
        ([7, 8, 8, 9, 10], "slower", "tiled is 2.1x slower than naive (95 % interval 1.7x to 2.5x)."),
        ([2, 2, 2, 3.5], "faster", "tiled is 1.7x faster than naive (95 % interval 1.02x to 3.0x)."),
        ([0.5, 0.53], "faster", "tiled is 7.8x faster than naive (95 % interval 5.0x to 12.1x)."),
        ([2, 2.4], "inconclusive", f"{NO_VERDICT} the 95 % interval runs from 2.2x slower to 7.3x faster."),
        ([2], "inconclusive", "tiled against naive has too few rounds for a verdict (about 2.00x faster)."),
        ([8], "inconclusive", "tiled against naive has too few rounds for a verdict (about 2.00x slower)."),
    ],
)
def test_a_pair_ends_in_one_sentence_with_ratio_interval_and_verdict(
    compare, paired, steady, milliseconds, word, ending
):
    comparison = compare(steady("naive", 4), paired("tiled", *(MS * value for value in milliseconds)))
    (verdict,) = judge_variants(comparison, ("naive", "tiled"))
    assert (verdict.word, verdict.sentence) == (word, HEAD + ending)


def test_pairs_without_a_time_are_inconclusive(compare, steady, make_record):
    skipped, wrong = make_record("cublas", status="skipped"), steady("bad", status="wrong")
    comparison = compare(steady("naive", 4), steady("tiled", 2), skipped, wrong)
    _, *verdicts = judge_variants(comparison, ("naive", "tiled", "cublas", "bad"))
    assert {verdict.word for verdict in verdicts} == {"inconclusive"}
    assert [verdict.sentence for verdict in verdicts] == [
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


def test_rows_of_other_batches_are_compared_by_their_ratios_to_the_baseline(compare, steady):
    """Both batches have the baseline, and in the second everything takes twice as long."""
    first = steady("naive", 4), steady("cublas", 1)
    second = steady("tiled", 4, batch=2), steady("cublas", 2, batch=2)
    (verdict,) = judge_variants(compare(*first, *second), ("naive", "tiled"))
    assert verdict.word == "faster"
    assert "tiled is 2.00x faster than naive (95 % interval 1.99x to 2.01x, not in the same rounds)" in verdict.sentence
    (verdict,) = judge_variants(compare(*first, *second), ("naive", "cublas"))
    assert "cublas is 4.000x faster than naive (95 % interval 4.000x to 4.000x" in verdict.sentence


@pytest.mark.parametrize(
    ("milliseconds", "ending"),
    [
        (2, "tiled is 2.0x faster than naive (95 % interval 1.8x to 2.2x, not in the same rounds)."),
        (3.8, f"{NO_VERDICT[:-1]}, not in the same rounds: the 95 % interval runs from 1.1x slower to 1.2x faster."),
    ],
)
@pytest.mark.parametrize("other", [{"batch": 2}, {"backend": "cpu"}], ids=["batch", "back end"])
def test_without_a_baseline_rows_of_other_batches_and_back_ends_are_compared_by_times(
    compare, steady, milliseconds, ending, other
):
    """Times of the same code differ by up to 10 %."""
    (verdict,) = judge_variants(compare(steady("naive", 4), steady("tiled", milliseconds, **other)), ("naive", "tiled"))
    assert verdict.sentence == HEAD + ending


def test_a_verdict_of_the_cpu_device_says_that_it_says_nothing_about_a_gpu(compare, paired, steady):
    rows = steady("naive", 4), paired("tiled", *[8e-3] * 5)
    (verdict,) = judge_variants(compare(*rows, gpu=False), ("naive", "tiled"))
    assert f"{HEAD[:-2]}, on the CPU device, which says nothing about a GPU: tiled is 2.000x slower" in verdict.sentence
