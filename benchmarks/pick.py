"""Writes the `pick` rows of cuda/sgemm/sgemm.cu from a recorded sweep: which kernel for which shape.

    gemmbench run -c sgemm_pick                        on the GPU in question
    python benchmarks/pick.py results/RUN.jsonl ...    prints the rows; with --write changes the manifest

The kinds of problem are given here, as conditions on the number of tiles; what the sweep decides is which configuration
serves each kind: the one with the highest geometric mean of speed, relative to the best, over its problems.
"""

import argparse
import math
import re
import sys
from collections import defaultdict
from pathlib import Path

from gemmbench.bench.record import Record
from gemmbench.bench.timing.stats import summarize
from gemmbench.planning.manifests.expressions import DEVICE_NAMES, PROBLEM_NAMES, parse
from gemmbench.report import store

KERNEL = Path(__file__).parents[1] / "cuda" / "sgemm" / "sgemm.cu"
# Of 64 x 64, as sgemm_splitk counts them: up to four rows or columns beyond whole tiles have none.
SMALL = "max(1, (M + 59) // 64) * max(1, (N + 59) // 64)"
LARGE = "cdiv(M, 128) * cdiv(N, 256)"
KINDS = (
    f"{SMALL} * 8 <= SMS and K >= 16 * max(M, N)",  # few tiles, a long K
    f"{SMALL} * 8 <= SMS",  # few tiles
    f"{SMALL} * 2 <= SMS",  # less than a wave
    "min(M, N) <= 64",  # a flat result
    "min(M, N) <= 128",
    f"{SMALL} <= 2 * SMS",  # about a wave, two tiles a multiprocessor
    f"{SMALL} <= 3 * SMS",  # a little more than that
    f"{LARGE} <= SMS and {LARGE} * 10 >= 9 * SMS",  # nearly one wave of large tiles
    f"{SMALL} <= 8 * SMS",  # some waves
    "",  # many
)


def kind_of(record: Record, sms: int) -> str:
    """The first kind whose condition a record's problem meets."""
    names = {"M": record.problem.M, "N": record.problem.N, "K": record.problem.K, "SMS": sms}
    known = (*PROBLEM_NAMES, *DEVICE_NAMES)
    return next(kind for kind in KINDS if not kind or parse(kind, known, 0).value(names))


def winners(runs: list[store.Run]) -> list[tuple[str, str, dict[str, int]]]:
    """(condition, variant, parameters) for every kind of problem that was measured; its last run counts."""
    seconds: dict[str, dict[tuple[int, int, int], dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    candidates: dict[str, Record] = {}
    for run in runs:
        for record in run.records:
            if record.status != "ok" or record.phase != "sweep" or not record.variant.startswith("sgemm"):
                continue
            name = f"{record.variant} {record.configuration}"
            candidates[name] = record
            problem = record.problem.M, record.problem.N, record.problem.K
            seconds[kind_of(record, run.environment.sms)][problem][name] = summarize(record.by_round).value
    found = []
    for kind in KINDS:
        problems = seconds.get(kind, {})
        if problems:
            name = _best(list(problems.values()))
            found.append((kind, candidates[name].variant, candidates[name].config))
    return found


def _best(problems: list[dict[str, float]]) -> str:
    able = set.intersection(*(set(times) for times in problems))
    return max(able, key=lambda name: sum(math.log(min(times.values()) / times[name]) for times in problems))


def rows(found: list[tuple[str, str, dict[str, int]]]) -> str:
    """The winners as YAML; kinds that follow each other with the same winner are one."""
    lines = []
    for number, (kind, variant, config) in enumerate(found):
        following = found[number + 1] if number + 1 < len(found) else None
        if following and following[1:] == (variant, config) and _wider(kind, following[0]):
            continue
        lines += [f"  - when: {kind}", f"    variant: {variant}"] if kind else [f"  - variant: {variant}"]
        lines += [f"    params: {{{', '.join(f'{name}: {value}' for name, value in config.items())}}}"]
    return "\n".join(lines) + "\n"


def _wider(kind: str, other: str) -> bool:
    """`other` is met wherever `kind` is, so that `kind` may be left out."""
    return not other or (kind.startswith(SMALL) and other.startswith(SMALL) and " and " not in other)


def main() -> int:
    """Print the rows, or write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", help="results files of `gemmbench run -c sgemm_pick`")
    parser.add_argument("--write", action="store_true", help=f"change {KERNEL.name}")
    asked = parser.parse_args()
    made = rows(winners([store.read(path) for path in asked.results]))
    print(made, end="")
    if asked.write:
        text = KERNEL.read_text()
        KERNEL.write_text(
            re.sub(r"(?m)(^pick:[^\n]*\n).*?(?=^source:)", lambda found: found[1] + made, text, flags=re.S)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
