"""A sweep that is killed at random moments and resumed."""

import random
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import msgspec

from claims import Claim, command, table
from gemmbench.report import store

KILLS = 20
SIZES = ",".join(str(size) for size in range(256, 1025, 32))
NAMES = ("naive", "tiled", "blocktile_2d", "cublas")
SWEEP = ("run", *NAMES, "--sizes", SIZES, "--max-time", "0.1")


def check(folder: Path) -> Claim:
    """Kill until 20 were killed, over as many sweeps as that takes; finish each, count its rows."""
    rng, killed, rows = random.Random(0), 0, []
    while killed < KILLS:
        with tempfile.TemporaryDirectory() as results:
            deaths = 0
            while killed < KILLS and _killed(Path(results), rng):
                killed, deaths = killed + 1, deaths + 1
            rows.append((len(rows) + 1, deaths, *_finished(Path(results))))
    lost, doubled = (sum(int(row[column]) for row in rows) for column in (3, 4))
    return Claim(
        "a sweep killed (SIGKILL) at random moments, 20 times, resumes: no row lost, none doubled",
        table(rows, ["sweep", "times killed", "rows", "lost", "doubled"]),
        f"{killed} kills, {lost} rows lost, {doubled} doubled",
        lost == doubled == 0,
    )


def _start(results: Path) -> subprocess.Popen[bytes]:
    resume = ["--resume"] if list(results.glob("*.jsonl")) else []
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command(*SWEEP, "--out", str(results), *resume), stdout=quiet, stderr=quiet)


def _killed(results: Path, rng: random.Random) -> bool:
    """Start or resume, kill after a while; False if it was done before that."""
    process = _start(results)
    time.sleep(rng.uniform(1.0, 5.0))
    done = process.poll() is not None
    process.kill()
    process.wait()
    return not done


def _finished(results: Path) -> tuple[int, int, int]:
    """Rows of the finished sweep, and how many of them are lost and doubled."""
    _start(results).wait()
    (path,) = results.glob("*.jsonl")
    found = Counter((record.problem.M, record.variant) for record in store.read(path).records)
    wanted = {(int(size), name) for size in SIZES.split(",") for name in NAMES}
    whole = Counter(_whole_batches(path))
    doubled = sum(count - 1 for count in found.values()) + sum(count - 1 for count in whole.values())
    return found.total(), len(wanted - set(found)), doubled


def _whole_batches(path: Path) -> list[tuple[int, str]]:
    """Rows of complete batches as they stand in the file: one that is there twice was measured twice."""
    rows = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()[1:]]
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
