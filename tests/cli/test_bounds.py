"""Sweeps that are too large: one line with the count and the limit, and nothing is measured."""

import pytest

LONG = "9" * 5000
TOO_LONG = "a number of 5,000 digits is too long; it may have at most 18"
CONFIGS = {
    "axes": ("naive", f"axes: {{M: {[*range(1, 3163)]}, N: {[*range(1, 3163)]}, K: [8]}}", "9,998,244"),
    "ranges": ("naive", f"sizes: {['1:9999:1'] * 160}", "1,599,840"),
    "configurations": ("blocktile_2d: all", "sizes: ['1:9999:1']\nlayouts: [nn, nt, tn, tt]", "4,359,564"),
    "variants": (", ".join(["naive"] * 200), "sizes: ['1:9999:1']", "1,999,800"),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_millions_of_plans_are_counted_and_refused(refused, tmp_path, name):
    variants, keys, count = CONFIGS[name]
    (tmp_path / "huge.yaml").write_text(f"variants: [{variants}]\n{keys}\n")
    said = refused("run", "-c", "huge.yaml", "--device", "fake")
    assert said.startswith(count) and "plans are too many, at most 1,000,000; choose fewer sizes" in said


@pytest.mark.parametrize("arguments", [["run", "naive"], ["verify"], ["compare", "naive", "tiled"]])
def test_so_are_those_of_options(refused, arguments):
    sizes = ",".join(["1:10000:1"] * 101)
    assert "plans are too many, at most 1,000,000" in refused(*arguments, "--device", "fake", "--sizes", sizes)


def test_many_plans_are_made_one_after_the_other(gemmbench):
    said = gemmbench("run", "naive", "--sizes", "1:2000:1", "--dry-run", "--device", "fake")
    assert said.code == 0 and "4000 rows would run; the first 1,000 are listed." in said.out
    assert len(said.out.splitlines()) < 1010


@pytest.mark.parametrize(
    "option", [["--param", f"TILE={LONG}"], ["--alpha", LONG], ["--beta", LONG], ["--seed", LONG], ["--rounds", LONG]]
)
def test_a_number_of_thousands_of_digits_is_refused(gemmbench, option):
    said = gemmbench("run", "tiled", "--device", "fake", *option)
    assert said.code == 2 and TOO_LONG in said.err and len(said.err) < 500


@pytest.mark.parametrize("key", ["alpha: ", "sizes: [1]\nmeasure:\n  seed: ", "params:\n  TILE: "])
def test_so_is_one_of_a_config(refused, tmp_path, key):
    (tmp_path / "long.yaml").write_text(f"variants: [tiled]\n{key}{LONG}\n")
    assert refused("run", "-c", "long.yaml", "--device", "fake").endswith(TOO_LONG)


def test_so_is_one_of_a_manifest(refused, write_kernel):
    write_kernel("mine.cu", order=LONG)
    assert (
        refused("run", "mine", "--kernels", "kernels", "--device", "fake") == f"kernels/mine.cu:3: number: {TOO_LONG}"
    )
