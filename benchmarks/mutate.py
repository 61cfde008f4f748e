"""Breaks the code on purpose, one mutation at a time, and checks that tests notice.

    python benchmarks/mutate.py [NAME ...]      all mutations, or those named; about 10 s each, without a GPU

A mutation is a file benchmarks/mutations/NAME.yaml:

    claim     what no longer holds with the mutation, in one sentence
    file      the file to change
    find      a text that occurs exactly once in it
    replace   what to write instead
    tests     the tests of the claim, as pytest names them
    red       how many of them must fail at least (default 1)

Each is applied to a copy of the repository. A test that cannot be collected does not count as red. The program prints a
table and exits with 1 if a mutation survives.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec
from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).with_name("mutations")


class Mutation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change that breaks a claim; see the top of this module."""

    claim: str
    file: str
    find: str
    replace: str
    tests: list[str]
    red: int = 1

    def change(self, text: str) -> str:
        """The changed text of the file. Raises ValueError unless `find` occurs exactly once."""
        if (count := text.count(self.find)) != 1:
            raise ValueError(f"{self.file} should contain this exactly once, not {count} times:\n{self.find}")
        return text.replace(self.find, self.replace)


@dataclass(frozen=True)
class Outcome:
    """How many tests failed under a mutation, and pytest's closing line."""

    failed: int
    closing: str


def read_mutations(names: list[str]) -> dict[str, Mutation]:
    """The mutations by name: all, or those named. Raises FileNotFoundError or msgspec.ValidationError."""
    paths = [FOLDER / f"{name}.yaml" for name in names] or sorted(FOLDER.glob("*.yaml"))
    return {path.stem: msgspec.yaml.decode(path.read_bytes(), type=Mutation) for path in paths}


def copy_repository(target: Path) -> None:
    """Copy every file that git tracks or would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def run_tests(tests: list[str], tree: Path) -> Outcome:
    """Run these tests of a copy of the repository."""
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--tb=no", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    lines = done.stdout.strip().splitlines() or [done.stderr.strip()]
    return Outcome(len(re.findall(r"^FAILED ", done.stdout, re.MULTILINE)), lines[-1])


def try_mutation(mutation: Mutation) -> Outcome:
    """Apply a mutation to a copy of the repository, and run its tests there. Raises ValueError."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        copy_repository(tree)
        changed = tree / mutation.file
        changed.write_text(mutation.change(changed.read_text()))
        return run_tests(mutation.tests, tree)


def main() -> int:
    """Try the mutations. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    rows, survivors = [], []
    for name, mutation in read_mutations(parser.parse_args().names).items():
        outcome = try_mutation(mutation)
        if outcome.failed < mutation.red:
            survivors.append(name)
        print(f"{name}: {outcome.closing}", flush=True)
        rows.append((name, mutation.claim, outcome.failed, mutation.red))
    print(tabulate(rows, ("mutation", "claim", "red tests", "at least"), tablefmt="simple"))
    print(f"mutations that survive: {', '.join(survivors)}" if survivors else f"all {len(rows)} mutations are noticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
