"""Writes the `pick` entries of sgemm.cu or tgemm.cu, which choose a kernel by shape, from a recorded sweep.

    gemmbench run -c sgemm_pick                              on the GPU in question, also sgemm_pick_*; or tgemm_pick
    python benchmarks/pick.py sgemm results/RUN.jsonl ...    prints the entries; --write changes the manifest

This file divides problems into kinds, by conditions on the number of tiles. The sweep decides which
configuration serves each kind: the one with the highest geometric mean, over the kind's problems, of its
speed relative to the best.
"""

import argparse
import math
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from gemmbench.bench.record import Record
from gemmbench.bench.timing.stats import time_interval
from gemmbench.planning.manifests.expressions import DEVICE_NAMES, PROBLEM_NAMES, parse
from gemmbench.report import store

MANY = "large >= 1"
"""Holds for every problem: the kind of those that no condition before it describes."""
CUDA = Path(__file__).parents[1] / "cuda"


@dataclass(frozen=True)
class Family:
    """A file with `pick` and what it picks from: candidates by the beginning of their names.

    `lets` and `kinds` are expressions of a manifest; the first kind that holds is that of a problem. `fallback`
    is the variant of the last entry, for GPUs on which no candidate runs.
    """

    kernel: Path
    candidates: str
    lets: dict[str, str]
    kinds: tuple[str, ...]
    fallback: str = ""


FAMILIES = {
    "sgemm": Family(
        CUDA / "sgemm" / "sgemm.cu",
        candidates="sgemm_",
        lets={
            # Tiles of 64 x 64 as sgemm_splitk counts them: up to four rows or columns beyond whole tiles do not count.
            "small": "max(1, (M + 59) // 64) * max(1, (N + 59) // 64)",
            "large": "cdiv(M, 128) * cdiv(N, 256)",
        },
        kinds=(
            # C is nearly all that moves
            "K <= 16 and N <= 16",
            "K <= 8",
            "K <= 32 and M * N >= 8192 * SMS",
            "K <= 64 and min(M, N) > 64",
            # a few columns, or rows: the other operand is nearly all that moves
            "M > N and N <= 4",
            "M > N and N <= 16",
            "M <= 2 and N <= 32 * SMS",
            "M <= 2",
            "M <= 4",
            "M <= 8 and N <= 32 * SMS",
            "M <= 8",
            "M <= 16 and N <= 32 * SMS",
            "M <= 16",
            "M * N * K <= 8000000",  # tiny
            # narrow
            *(f"N <= {side}" for side in (24, 32, 40, 48, 64)),
            *(f"M <= {side}" for side in (24, 32, 40, 48, 64)),
            # middling, with a short K or rows that are no multiple of 16 bytes
            "K <= 256 and small * 4 >= SMS and small <= 16 * SMS",
            "min(M, N) <= 256 and (N % 4 > 0 or K % 4 > 0)",
            "small * 8 <= SMS and K >= 16 * max(M, N)",  # few tiles, long K
            "small * 8 <= SMS",  # few tiles
            "small * 2 <= SMS and K >= 4 * max(M, N)",
            "small * 2 <= SMS",  # less than a wave
            "min(M, N) <= 128",  # a flat result
            "small <= 2 * SMS",  # about one wave, at two tiles per SM
            "small <= 3 * SMS",  # a little more than that
            "large <= SMS and large * 10 >= 9 * SMS",  # nearly one wave of large tiles
            "small <= 8 * SMS",  # some waves
            MANY,
        ),
        fallback="sgemm_cp_async",
    ),
    "tgemm": Family(
        CUDA / "tensor" / "tgemm.cu",
        candidates="wgmma_",
        lets={
            "large": "cdiv(M, 128) * cdiv(N, 256)",
            "square": "cdiv(M, 128) * cdiv(N, 128)",
            "small": "cdiv(M, 128) * cdiv(N, 64)",
        },
        kinds=(
            "large >= 6 * SMS",
            "large > 2 * SMS",
            "small <= SMS",  # one wave of small tiles
            "square <= SMS",
            "M <= 128",  # a flat result
            "large <= SMS",
            "square > SMS",
        ),
        fallback="mma_sync",
    ),
}


def kind_of(record: Record, sms: int, family: Family) -> str:
    """Return the first kind whose condition the record's problem meets."""
    names = {"M": record.problem.M, "N": record.problem.N, "K": record.problem.K, "SMS": sms}
    known = (*PROBLEM_NAMES, *DEVICE_NAMES)
    lets = {name: parse(text, known) for name, text in family.lets.items()}
    return next(kind for kind in family.kinds if parse(kind, known, lets=lets).value(names))


def find_winners(family: Family, runs: list[store.Run]) -> list[tuple[str, str, dict[str, int]]]:
    """Return (condition, variant, parameters) for every measured kind of problem. Later runs override earlier ones."""
    seconds: dict[str, dict[tuple[int, int, int], dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    candidates: dict[str, Record] = {}
    for run in runs:
        for record in run.records:
            if record.status != "ok" or record.phase != "sweep" or not record.variant.startswith(family.candidates):
                continue
            name = f"{record.variant} {record.configuration}"
            candidates[name] = record
            problem = record.problem.M, record.problem.N, record.problem.K
            seconds[kind_of(record, run.environment.sms, family)][problem][name] = _find_time(record)
    winners = []
    for kind in family.kinds:
        problems = seconds.get(kind, {})
        if problems:
            name = _find_best(list(problems.values()))
            winners.append((kind, candidates[name].variant, candidates[name].config))
    return winners


def _find_time(record: Record) -> float:
    """Seconds per launch: under a steady load, which ranks kernels on tensor cores differently, if it had one."""
    return record.sustained.time if record.sustained else time_interval(record.by_round).value


def _find_best(problems: list[dict[str, float]]) -> str:
    complete = set.intersection(*(set(times) for times in problems))
    return max(complete, key=lambda name: sum(math.log(min(times.values()) / times[name]) for times in problems))


def format_winners(winners: list[tuple[str, str, dict[str, int]]], fallback: str = "") -> str:
    """Return the winners as YAML, then the fallback. Consecutive kinds with the same winner become one entry."""
    lines = []
    for number, (kind, variant, config) in enumerate(winners):
        following = winners[number + 1] if number + 1 < len(winners) else None
        if following and following[1:] == (variant, config) and _is_implied(kind, following[0]):
            continue
        lines += [f"  - when: {kind}", f"    variant: {variant}"]
        lines += [f"    params: {{{', '.join(f'{name}: {value}' for name, value in config.items())}}}"]
    lines += [f"  - variant: {fallback}"] if fallback else []
    return "\n".join(lines) + "\n"


def _is_implied(kind: str, other: str) -> bool:
    """Whether `other` holds wherever `kind` does, so that `kind` can be left out."""
    return other == MANY or (kind.startswith("small ") and other.startswith("small ") and " and " not in other)


def main() -> int:
    """Print the entries, or write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=FAMILIES, help="the file whose entries are wanted")
    parser.add_argument(
        "results",
        type=Path,
        nargs="+",
        help="results files of `gemmbench run -c sgemm_pick` (and of sgemm_pick_*), or tgemm_pick",
    )
    parser.add_argument("--write", action="store_true", help="change the manifest")
    arguments = parser.parse_args()
    family = FAMILIES[arguments.family]
    entries = format_winners(find_winners(family, [store.read(path) for path in arguments.results]), family.fallback)
    print(entries, end="")
    if arguments.write:
        text = family.kernel.read_text()
        lets = "".join(f"  {name}: {expression}\n" for name, expression in family.lets.items())
        for key, lines, following in (("let", lets, "pick"), ("pick", entries, "source")):
            section = re.compile(rf"(?m)(^{key}:[^\n]*\n).*?(?=^{following}:)", flags=re.S)
            text = section.sub(rf"\g<1>{lines}", text)
        family.kernel.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
