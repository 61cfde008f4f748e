"""Runs the property tests (tests/properties) on very many random cases, in parallel, and counts them by part.

    python benchmarks/properties.py [CASES] [--part NAME] [--workers N] [--faults FOLDER] [--done FILE]

CASES is 100,000 by default and is divided equally among the parts, each of which is a file of tests/properties; there
are fewer large inputs, because they take long. A case that fails is counted, and the others continue; the same is true
of cases that take over 10 s, or that raise the memory of their process over 1 GB. Every kind of failure is printed
once, and everything that led to it is kept in FOLDER: the command, the traceback and the input. Exits with 1 if a case
failed, or was too slow or too large. With --done, the results of completed chunks are kept in FILE, and the next call
continues from there. The default takes about 40 minutes on one core.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis.errors import HypothesisException
from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "properties"
CHUNK = 1000  # cases of one process
SHARES = {"large_inputs": 0.2}  # of the cases of another part
SLOW, LARGE = 10, 1 << 20  # seconds, KiB
HANGING, MEMORY = 60, 4 << 30  # seconds and bytes after which a case is ended
MOST_KEPT = 3  # inputs of one kind of failure, and of one process
COUNTS, FAULTS = "GEMMBENCH_FUZZ_COUNTS", "GEMMBENCH_FUZZ_FAULTS"


@dataclass(frozen=True)
class Chunk:
    """The cases of one test that one process runs."""

    test: str
    cases: int
    seed: int

    @property
    def part(self) -> str:
        """`manifests` for a test of test_manifests.py."""
        return Path(self.test.partition("::")[0]).stem.removeprefix("test_")

    @property
    def property(self) -> str:
        """`manifests: a damaged manifest is planned or refused at its place`."""
        name = self.test.rpartition("::test_")[2]
        return f"{self.part}: {name}".replace("_", " ")


@dataclass(frozen=True)
class Counted:
    """The result of a chunk: cases that ended, failures by kind, and cases that were slow or large."""

    chunk: Chunk
    cases: int
    failures: Counter[str]
    slow: int = 0
    large: int = 0


def main() -> int:
    """Run the cases that the command line names, and print counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="?", type=int, default=100_000)
    parser.add_argument("--part", action="append")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--faults", type=Path, default=Path(tempfile.gettempdir()) / "gemmbench-faults")
    parser.add_argument("--done", type=Path)
    options = parser.parse_args()
    done = read_done(options.done)
    chunks = list(plan_chunks(list_tests(), options.cases, options.part))
    with ThreadPoolExecutor(options.workers) as pool:
        run = functools.partial(run_chunk, faults=options.faults)
        counted = []
        for each in pool.map(lambda chunk: done.get(chunk) or run(chunk), chunks):
            counted.append(each)
            if options.done and each.chunk not in done:
                keep_done(options.done, each)
    failures = print_counts(counted)
    return 1 if failures else 0


def read_done(path: Path | None) -> dict[Chunk, Counted]:
    """The chunks that an earlier call completed."""
    lines = path.read_text().splitlines() if path and path.exists() else []
    rows = (json.loads(line) for line in lines)
    found = [
        Counted(Chunk(**row["chunk"]), row["cases"], Counter(row["failures"]), row["slow"], row["large"])
        for row in rows
    ]
    return {each.chunk: each for each in found}


def keep_done(path: Path, counted: Counted) -> None:
    """Keep the result of a chunk for the next call."""
    with path.open("a") as file:
        file.write(json.dumps({**vars(counted), "chunk": vars(counted.chunk)}) + "\n")


def list_tests() -> dict[str, list[str]]:
    """The tests of each part, as pytest names them."""
    call = [sys.executable, "-m", "pytest", "--collect-only", str(TESTS)]
    listed = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    parts: dict[str, list[str]] = {}
    for test in re.findall(r"^\S+::\S+$", listed, re.MULTILINE):
        parts.setdefault(Chunk(test, 0, 0).part, []).append(test)
    return parts


def plan_chunks(tests: dict[str, list[str]], cases: int, parts: list[str] | None) -> Iterator[Chunk]:
    """The same number of cases for each part, and for each test of a part; the chunks of all parts take turns."""
    chosen = {part: names for part, names in tests.items() if not parts or part in parts}
    shares = {part: SHARES.get(part, 1.0) for part in chosen}
    whole = sum(shares.values())
    left = {
        name: math.ceil(cases * shares[part] / whole / len(names)) for part, names in chosen.items() for name in names
    }
    seed = 0
    while any(left.values()):
        for name in left:
            seed += 1
            part = Chunk(name, 0, 0).part
            if count := min(left[name], int(CHUNK * SHARES.get(part, 1))):
                left[name] -= count
                yield Chunk(name, count, seed)


def run_chunk(chunk: Chunk, faults: Path) -> Counted:
    """Run a chunk in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        path = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
        environment = {**os.environ, "PYTHONPATH": path, "GEMMBENCH_FUZZ_CASES": str(chunk.cases)}
        environment |= {COUNTS: str(counts), FAULTS: str(faults)}
        plugin = ["-p", Path(__file__).stem, "-p", "no:cacheprovider", f"--basetemp={folder}/pytest"]
        call = [sys.executable, "-m", "pytest", "-q", *plugin, f"--hypothesis-seed={chunk.seed}", chunk.test]
        limited = ["prlimit", f"--as={MEMORY}", "timeout", "-k", "5", str(HANGING * 10 + SLOW * chunk.cases), *call]
        done = subprocess.run(limited, cwd=ROOT, env=environment, capture_output=True, text=True)
        if not counts.exists() or done.returncode:
            return Counted(chunk, 0, Counter({f"{chunk.test} ended with {done.returncode}: {done.stdout[-300:]}": 1}))
        saved = json.loads(counts.read_text())
    print(
        f"{chunk.part} (seed {chunk.seed}): {saved['cases']} cases, {sum(saved['failures'].values())} failures",
        flush=True,
    )
    return Counted(chunk, saved["cases"], Counter(saved["failures"]), saved["slow"], saved["large"])


def print_counts(counted: list[Counted]) -> int:
    """Print a row for each property and every kind of failure; returns the number of failures and of other faults."""
    rows: list[tuple[str, int, int, int, int, int]] = []
    everything = Counter[str]()
    for part in dict.fromkeys(each.chunk.property for each in counted):
        mine = [each for each in counted if each.chunk.property == part]
        failures = sum((each.failures for each in mine), Counter[str]())
        cases, slow, large = (sum(getattr(each, name) for each in mine) for name in ("cases", "slow", "large"))
        rows.append((part, cases, failures.total(), len(failures), slow, large))
        everything += failures
    cases, slow, large = (sum(int(row[column]) for row in rows) for column in (1, 4, 5))
    rows.append(("all", cases, everything.total(), len(everything), slow, large))
    print(tabulate(rows, ["property", "cases", "failures", "kinds", "over 10 s", "over 1 GB"], intfmt=","))
    for kind, count in everything.most_common():
        print(f"{count} x {kind}")
    return everything.total() + slow + large


class _Counter:
    """Counts the cases of one process: a plugin of pytest that keeps failures from ending a test."""

    def __init__(self) -> None:
        self.cases = self.slow = self.large = 0
        self.failures: Counter[str] = Counter()

    def wrap(self, test: Callable[..., None]) -> Callable[..., None]:
        """The test, which counts its cases and does not fail."""

        @functools.wraps(test)
        def counted(*arguments: Any, **named: Any) -> None:
            started, before = time.monotonic(), _measure_peak()
            signal.signal(signal.SIGALRM, _end_case)
            signal.alarm(HANGING)
            try:
                test(*arguments, **named)
            except HypothesisException:
                raise  # a case that Hypothesis gives up
            except Exception as fault:
                self.note(fault)
            finally:
                signal.alarm(0)
            self.cases += 1
            if time.monotonic() - started > SLOW:
                self.slow += 1
                self.keep_input("slow")
            if before <= LARGE < _measure_peak():
                self.large += 1
                self.keep_input("large")

        return counted

    def note(self, fault: Exception) -> None:
        """Count a failure by where it was raised, and keep the first inputs of its kind."""
        frames = traceback.extract_tb(fault.__traceback__)
        own = next((each for each in reversed(frames) if "/gemmbench/" in each.filename), frames[-1])
        words = re.sub(r"\s+", " ", re.sub(r"/tmp/\S+|\d+", "0", str(fault)))[:100]
        kind = f"{type(fault).__name__} at {Path(own.filename).name}:{own.lineno}: {words}"
        self.failures[kind] += 1
        if self.failures[kind] <= MOST_KEPT:
            self.keep_input(kind)

    def keep_input(self, kind: str) -> None:
        """Write the command, the traceback and the files that led to a failure."""
        folder = Path(os.environ[FAULTS]) / re.sub(r"\W+", "-", kind)[:80]
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, errors="replace") as file:
            file.write(f"{sys.argv}\n{traceback.format_exc()}\n")
            for path in [*Path("kernels").glob("*"), *Path().glob("x.*"), *Path().glob("*.jsonl*")]:
                content = path.read_bytes() if path.is_file() else b"a folder"
                file.write(f"=== {path}\n{content[:20000].decode(errors='replace')}\n")


def _measure_peak() -> int:
    """The most memory that this process has used so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _end_case(*_: object) -> None:
    raise TimeoutError(f"it took longer than {HANGING} s")


_COUNTER = _Counter()


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Count the cases of every test."""
    for item in items:
        item.obj.hypothesis.inner_test = _COUNTER.wrap(item.obj.hypothesis.inner_test)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the counts where the parent process reads them."""
    if COUNTS in os.environ and not session.config.option.collectonly:
        Path(os.environ[COUNTS]).write_text(json.dumps(vars(_COUNTER)))


if __name__ == "__main__":
    sys.exit(main())
