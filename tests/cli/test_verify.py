"""`gemmbench verify`: correctness alone."""

import re

import pytest

from gemmbench.backends.fake.backend import FakeExecutable
from gemmbench.planning.plans import configurations as configurations_module


def cells(said, name):
    (line,) = (line for line in said.out.splitlines() if line.startswith((f"{name}\t", f"{name} ")))
    return [cell.strip() for cell in line.split("\t")]


def test_a_variant_is_checked_over_the_awkward_problems_in_every_layout(gemmbench):
    said = gemmbench("verify", "tiled", "--param", "TILE=16", "--device", "fake", "--format", "tsv")
    unexpected = [line for line in said.err.splitlines() if not re.match(r"(\d+ min )?\d+ s: ", line)]  # slow hosts
    assert said.code == 0 and unexpected == []
    checks = (len(configurations_module.SHAPES) * 4 + 1) * 8  # layouts, the large problem once; precisions
    _name, configurations, passed, failed, skipped, error, device = cells(said, "tiled")
    assert (configurations, passed, failed, skipped, device) == ("1", str(checks), "0", "0", "fake")
    assert 0 < float(error) < 16


def test_nothing_is_timed(gemmbench, monkeypatch, tmp_path):
    windows = []
    whole = FakeExecutable.time
    monkeypatch.setattr(FakeExecutable, "time", lambda self, n: windows.append(n) or whole(self, n))
    gemmbench("verify", "naive", "--device", "fake", "--sizes", "8", "--layout", "nn")
    assert set(windows) == {1}
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("fault", ["unwritten", "zero", "last_column", "overrun", "crash", "build"])
def test_a_wrong_kernel_is_told_with_its_configuration_and_first_problem(gemmbench, script, fault):
    said = gemmbench(
        "verify", "tiled", "naive", "--precision", "f32", "--sizes", "17", "--device", script(faults={"tiled": fault})
    )
    assert said.code == 1
    status = "failed" if fault in ("crash", "build") else "wrong"
    assert f"\ntiled TILE=16: {status} at 17 nn f32: " in said.out
    assert ("(and 3 more problems)" in said.out) == (fault != "build")
    assert "naive:" not in said.out


@pytest.mark.parametrize("flag", ["-x", "--exitfirst"])
def test_the_first_failure_can_end_it(gemmbench, script, flag):
    said = gemmbench(
        *["verify", "naive", "tiled", "--precision", "f32", "--sizes", "17,33", "--layout", "nn", flag],
        *["--device", script(faults={"tiled": "zero"}), "--format", "tsv"],
    )
    assert said.code == 1
    assert len([line for line in said.err.splitlines() if ": wrong: " in line]) == 1
    assert "tiled TILE=16: wrong at 17 nn f32: " in said.out and "more problems" not in said.out


def test_what_did_not_compile_is_not_tried_on_further_shapes(gemmbench, script):
    said = gemmbench(
        *["verify", "naive", "tiled", "--precision", "f32", "--sizes", "17,33,65", "--layout", "nn"],
        *["--device", script(faults={"tiled": "build"})],
    )
    assert said.code == 1
    (row,) = (line for line in said.out.splitlines() if line.startswith("tiled  "))
    assert row.split()[1:5] == ["3", "0", "3", "6"]
    assert len([line for line in said.err.splitlines() if ": failed: " in line]) == 3


def test_what_is_asked_for_is_checked_and_nothing_else(gemmbench):
    said = gemmbench(
        *["verify", "tiled", "--device", "fake", "--sizes", "8,3x5x7", "--layout", "tn,tt", "--precision", "f32"],
        *["--format", "tsv", "--all"],
    )
    assert cells(said, "tiled")[1:5] == ["3", str(3 * 2 * 2), "0", "0"]


def test_every_configuration_or_one_change_each(gemmbench, write_kernel):
    write_kernel("mine.cu", params={"A1": "[1, 2, 3]", "B1": "[1, 2]"}, require=["A1 + B1 < 5"])
    call = ["verify", "mine", "--kernels", "kernels", "--device", "fake", "--sizes", "8", "--format", "tsv"]
    assert cells(gemmbench(*call), "mine")[1:5] == ["4", "4", "0", "0"]
    assert cells(gemmbench(*call, "--all"), "mine")[1:5] == ["5", "5", "0", "1"]


def test_all_variants_are_checked_unless_some_are_named(gemmbench):
    said = gemmbench("verify", "--device", "fake", "--sizes", "8", "--layout", "nn", "--format", "tsv")
    names = [line.split("\t")[0].strip() for line in said.out.splitlines()]
    assert {"naive", "tiled", "blocktile_2d", "cublas", "cpu_naive"} <= set(names)


def test_what_a_variant_cannot_do_is_skipped_with_the_reason_and_nothing_ran(gemmbench):
    said = gemmbench("verify", "tiled", "--device", "fake", "--sizes", "8", "--precision", "tf32")
    assert said.code == 3
    assert "tiled: skipped: does not support precision tf32; supports f32" in said.out
    assert "nothing ran" in said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nive"], "unknown variant 'nive' (did you mean 'naive'?)"),
        (["naive", "--sizes", "0"], "size '0': 0 is not positive"),
        (["naive", "--layout", "nx"], "unknown layout 'nx'"),
        (["naive", "--precision", "f31"], "unknown precision 'f31' (did you mean 'f32'?)"),
        (["naive", "--sizes", "100000"], "its operands need 149.0 GiB, but the fake device has 1.0 GiB"),
        (["naive", "--seed", "-5"], "seed: -5 is negative"),
    ],
)
def test_bad_input_is_refused(gemmbench, arguments, words):
    said = gemmbench("verify", *arguments, "--device", "fake")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("gemmbench: ") and words in said.err


def test_a_time_limit_that_ends_it_promises_no_resuming(gemmbench):
    said = gemmbench("verify", "naive", "--device", "fake", "--sizes", "8", "--sweep-limit", "0.000001")
    assert said.code == 130 and said.err.endswith("the sweep reached its time limit of 1e-06 s\n")


def test_each_failure_is_printed_when_it_happens(gemmbench, script):
    faulty = script(faults={"tiled": "zero"})
    said = gemmbench("verify", "tiled", "--precision", "f32", "--sizes", "17,33", "--layout", "nn", "--device", faulty)
    lines = said.err.splitlines()
    rows = [f"tiled TILE={tile} at {size} nn f32" for size in (17, 33) for tile in (16, 8, 32)]
    assert [line.partition(" alpha")[0] for line in lines] == rows
    assert lines[0].startswith("tiled TILE=16 at 17 nn f32 alpha=1.5 beta=-0.5: wrong: exact check: ")
