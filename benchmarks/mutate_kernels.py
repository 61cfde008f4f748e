"""Breaks kernels on purpose and counts how `verify` notices: by watching their accesses, or by their results.

    python benchmarks/mutate_kernels.py [KERNEL ...]      some 10 minutes, without a GPU

Each barrier of a kernel is removed, and each bound `< M` becomes `<= M`, one at a time. The program prints a line for
each mutant and exits with 1 if watching notices fewer than LEAST_SHARE of them, or if any mutant goes unnoticed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tabulate import tabulate

from gemmbench.bench.record import Record
from gemmbench.bench.verify.diagnosis import WATCHED
from gemmbench.planning.sweeps.run_request import make_request
from gemmbench.session.machine import find_machine, open_catalog
from gemmbench.session.reporter import SILENT
from gemmbench.session.verification_runs import verify_kernels

CUDA = Path(__file__).resolve().parents[1] / "cuda"
KERNELS = (
    "tiled blocktile_2d sgemm/sgemm_1d sgemm/sgemm_vectorised sgemm/sgemm_warptile sgemm/sgemm_pipelined "
    "sgemm/sgemm_outer posts/wpt posts/gemm_v4 posts/double_buffer posts/prefetch_registers posts/warptile "
    "posts/abt_shared"
).split()
SIZES = "67x129x50,129x67x50,64"
LEAST_SHARE = 71 / 73
END_OF_MANIFEST = "---*/"
BARRIER = re.compile(r"__syncthreads\(\);")
BOUND = re.compile(r"< (M|N|K|rows|columns|extent|depth)\b(?! *;)")


def mutate(text: str) -> Iterator[tuple[str, str]]:
    """The mutants of a kernel: the change with its line, and the text."""
    start = text.index(END_OF_MANIFEST)
    for pattern, what, new in ((BARRIER, "no barrier", r";"), (BOUND, "wide bound", r"<= \1")):
        for found in pattern.finditer(text, start):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{what} {line}", text[: found.start()] + found.expand(new) + text[found.end() :]


def verify_mutant(path: Path, text: str, folder: Path) -> list[Record]:
    """Verify a mutant of the file at `path` in its default configuration."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for header in path.parent.glob("*.cuh"):
        shutil.copy(header, folder)
    for common in (folder / "common", folder.parent / "common"):  # where kernels in cuda/ and in its folders look
        shutil.copytree(CUDA / "common", common, dirs_exist_ok=True)
    name = f"mutant_{path.stem}"
    (folder / f"{name}.cu").write_text(text)
    params = open_catalog(str(folder)).get(name).params
    default = {parameter: values[0] for parameter, values in params[:1]}
    request = make_request(variants=(name,), sizes=SIZES, params=default, kernels=folder)
    return verify_kernels(request, find_machine("cpu", SILENT)).records


def main() -> int:
    """Try the mutants. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", default=KERNELS)
    rows: list[tuple[str, str, str, str]] = []
    with tempfile.TemporaryDirectory() as home:
        for kernel in parser.parse_args().kernels:
            path = CUDA / f"{kernel}.cu"
            for change, text in mutate(path.read_text()):
                records = verify_mutant(path, text, Path(home) / "mutant")
                seen = next((each.diagnosis for each in records if each.diagnosis.startswith(WATCHED)), "")
                wrong = next((each.status for each in records if each.status not in ("ok", "skipped") and each.diagnosis
                              .startswith(WATCHED) is False), "")  # fmt: skip
                rows.append((path.stem, change, seen.removeprefix(WATCHED), wrong))
                print(*rows[-1], sep="\t", flush=True)
    watched = sum(bool(row[2]) for row in rows)
    results, either = sum(bool(row[3]) for row in rows), sum(bool(row[2] or row[3]) for row in rows)
    print(tabulate(rows, ("kernel", "mutation at line", "seen by watching", "results"), tablefmt="simple"))
    print(f"{len(rows)} mutants: {watched} noticed by watching, {results} by results, {either} by either")
    return 0 if watched >= LEAST_SHARE * len(rows) and either == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
