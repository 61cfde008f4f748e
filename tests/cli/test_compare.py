"""`gemmbench compare`: the same experiment, ending in verdicts."""

import pytest

FAST = ["--sizes", "16", "--rounds", "10", "--cache", "hot"]
HEAD = "M = 16, N = 16, K = 16, nn, f32: "


@pytest.fixture
def compare(gemmbench, script):
    device = script(times={"naive": 4e-3, "tiled": 2e-3, "cublas": 2e-3})
    return lambda *arguments: gemmbench("compare", "--device", device, *FAST, *arguments)


def test_every_pair_ends_in_a_sentence(compare):
    said = compare("naive", "tiled", "cublas")
    assert said.code == 0
    assert said.out.splitlines()[-3:] == [
        HEAD + "tiled runs at 2 times the speed of naive (95 % interval 2 to 2): tiled is faster than naive.",
        HEAD + "cublas runs at 2 times the speed of naive (95 % interval 2 to 2): cublas is faster than naive.",
        HEAD + "cublas runs at 1 times the speed of tiled (95 % interval 1 to 1): cublas is the same as tiled.",
    ]


def test_each_size_has_its_sentences(compare):
    said = compare("naive", "tiled", "--sizes", "16,24")
    assert [line.split(":")[0] for line in said.out.splitlines()[-2:]] == [HEAD[:-2], HEAD[:-2].replace("16", "24")]


def test_the_table_and_the_results_are_those_of_a_run(compare, saved):
    said = compare("tiled", "naive")
    assert "% of cublas" in said.out
    journal, rows = saved()
    assert "-compare-" in journal.name
    assert [row["variant"] for row in rows] == ["naive", "tiled", "cublas"]


def test_too_few_rounds_give_no_verdict(compare):
    said = compare("naive", "tiled", "--rounds", "8")
    assert (
        said.out.splitlines()[-1] == HEAD + "tiled runs at 2 times the speed of naive (too few rounds for a verdict)."
    )


def test_a_wrong_kernel_is_not_compared(gemmbench, script):
    said = gemmbench("compare", "naive", "tiled", "--device", script(faults={"tiled": "zero"}), *FAST)
    assert said.code == 1
    assert said.out.splitlines()[-1] == HEAD + "naive and tiled cannot be compared: no valid time for tiled."


@pytest.mark.parametrize("names", [["naive"], ["naive", "naive"]])
def test_one_variant_cannot_be_compared(compare, names):
    said = compare(*names)
    assert (said.code, said.out) == (2, "")
    assert said.err == "gemmbench: compare needs two different variants: gemmbench compare tiled cublas\n"


def test_no_variant_is_a_usage_error(gemmbench):
    assert gemmbench("compare").code == 2


def test_a_dry_run_ends_without_verdicts(compare, tmp_path):
    said = compare("naive", "tiled", "--dry-run")
    assert said.code == 0 and "3 plans, 0 skips" in said.out and "times the speed" not in said.out
