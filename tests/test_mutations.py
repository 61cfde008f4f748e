"""The mutations of benchmarks/mutate.py fit the code as it is, and name tests that exist."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def mutate(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("mutate")


def test_a_mutation_changes_the_code_as_it_is_now(mutate):
    for name, mutation in mutate.read_mutations([]).items():
        text = (ROOT / mutation.file).read_text()
        assert mutation.change(text) != text, name
        assert mutation.claim.endswith(".") and mutation.red >= 1, name


def test_the_tests_of_a_mutation_exist(mutate):
    missing = []
    for name, mutation in mutate.read_mutations([]).items():
        for test in mutation.tests:
            file, _, function = test.partition("::")
            function = re.sub(r"\[.*", "", function.rpartition("::")[2])
            if not (ROOT / file).exists() or (function and f"def {function}(" not in (ROOT / file).read_text()):
                missing.append(f"{name}: {test}")
    assert missing == []


def test_a_text_that_no_longer_fits_is_an_error(mutate):
    mutation = mutate.Mutation("Broken.", "a.py", "x", "y", ["tests"])
    with pytest.raises(ValueError, match=r"a\.py should contain this exactly once, not 2 times:\nx"):
        mutation.change("x x")


def test_only_failed_tests_count(mutate, tmp_path):
    (tmp_path / "test_it.py").write_text("def test_red(): assert False\n\ndef test_green(): pass\n")
    (tmp_path / "test_broken.py").write_text("import no_such_module\n")
    assert mutate.run_tests(["test_it.py"], tmp_path).failed == 1
    assert mutate.run_tests(["test_broken.py"], tmp_path).failed == 0


def test_a_survivor_is_an_error(mutate, monkeypatch, capsys):
    survivor = mutate.Mutation("Nobody notices.", "a.py", "x", "y", ["tests"], red=2)
    monkeypatch.setattr(mutate, "read_mutations", lambda names: {"one": survivor})
    monkeypatch.setattr(mutate, "try_mutation", lambda mutation: mutate.Outcome(1, "1 failed"))
    monkeypatch.setattr(sys, "argv", ["mutate.py"])
    assert mutate.main() == 1
    assert "mutations that survive: one" in capsys.readouterr().out


def test_a_mutation_is_applied_to_a_copy(mutate):
    mutation = mutate.Mutation(
        "The version is a number.",
        "gemmbench/errors.py",
        "from __future__ import annotations\n",
        "from __future__ import annotations\n\nraise RuntimeError\n",
        ["tests/test_errors.py"],
    )
    before = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True).stdout
    assert mutate.try_mutation(mutation).failed == 0  # it cannot be collected, which is not a red test
    after = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True).stdout
    assert before == after
