"""A sweep that is killed at random moments and then resumed."""

import random
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import msgspec

from claims import Claim, command, format_table
from gemmbench.report.store.reading import read_results

KILLS = 20
SIZES = ",".join(str(size) for size in range(256, 1025, 32))
NAMES = ("naive", "tiled", "blocktile_2d", "cublas")
SWEEP = ("run", *NAMES, "--sizes", SIZES, "--max-time", "0.1")


def check(folder: Path) -> Claim:
    """Kill and resume sweeps until 20 of them have been killed. Finish each sweep and count its rows."""
    rng, kills = random.Random(0), 0
    rows: list[tuple[int, int, int, int, int]] = []
    while kills < KILLS:
        with tempfile.TemporaryDirectory() as results:
            deaths = 0
            while kills < KILLS and _run_and_kill(Path(results), rng):
                kills, deaths = kills + 1, deaths + 1
            rows.append((len(rows) + 1, deaths, *_finish_sweep(Path(results))))
    lost, duplicated = (sum(row[column] for row in rows) for column in (3, 4))
    return Claim(
        "a sweep killed (SIGKILL) at random moments, 20 times, resumes: no row lost, none measured twice",
        format_table(rows, ["sweep", "kills", "rows", "lost", "duplicated"]),
        f"{kills} kills, {lost} rows lost, {duplicated} duplicated",
        lost == duplicated == 0,
    )


def _start_sweep(results: Path) -> subprocess.Popen[bytes]:
    words = ["run", "--resume"] if list(results.glob("*.jsonl")) else SWEEP
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command(*words, "--out", str(results)), stdout=quiet, stderr=quiet)


def _run_and_kill(results: Path, rng: random.Random) -> bool:
    """Start or resume the sweep and kill it after a while. Returns False if it ended before it was killed."""
    process = _start_sweep(results)
    time.sleep(rng.uniform(1.0, 5.0))
    done = process.poll() is not None
    process.kill()
    process.wait()
    return not done


def _finish_sweep(results: Path) -> tuple[int, int, int]:
    """Finish the sweep. Returns how many rows it has, how many are missing, and how many were measured twice."""
    _start_sweep(results).wait()
    (path,) = results.glob("*.jsonl")
    found = Counter((record.problem.M, record.variant) for record in read_results(path).records)
    expected = {(int(size), name) for size in SIZES.split(",") for name in NAMES}
    whole = Counter(_whole_batches(path))
    duplicated = sum(count - 1 for count in found.values()) + sum(count - 1 for count in whole.values())
    return found.total(), len(expected - set(found)), duplicated


def _whole_batches(path: Path) -> list[tuple[int, str]]:
    """Return the rows of complete batches in the file. A row that appears twice was measured twice."""
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    rows = [line for line in lines if line["row"] == "record"]
    whole, start = [], 0
    while start < len(rows):
        count = rows[start]["batch_rows"]
        part = rows[start : start + count]
        complete = len(part) == count and len({row["batch_key"] for row in part}) == 1
        distinct = len({row["variant"] for row in part}) == count
        if complete and distinct:
            whole += [(row["problem"]["M"], row["variant"]) for row in part]
            start += count
        else:
            start += 1
    return whole
