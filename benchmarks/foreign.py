"""Kernels of public collections, unchanged, next to cuBLAS. Their manifests are in benchmarks/foreign/.

    python benchmarks/foreign.py --fetch     clone the collections into benchmarks/foreign/sources
    python benchmarks/foreign.py             verify and time every kernel at 4096, and print a table

The column `own program` is the percentage of cuBLAS that the program of the collection reaches on an
H200 at 4096, measured once with both in one process. With --out FOLDER, the results file and the table
as foreign.csv are written there.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tables import show_table

import gemmbench
from gemmbench.errors import OK, GemmbenchError
from gemmbench.planning.manifests.catalog import SUFFIXES, read_variant
from gemmbench.report.row import Row

HOME = Path(__file__).parent / "foreign"
SOURCES = HOME / "sources"
MEASURED_AT = 4096
HEAD = ("kernel", "status", "% of {baseline}", "own program", "difference", "remarks")


@dataclass(frozen=True)
class Collection:
    """The location of a collection, and the commit that the manifests were written for."""

    address: str
    commit: str


COLLECTIONS = {
    "SGEMM_CUDA": Collection("https://github.com/siboehm/SGEMM_CUDA", "60cba6f9b20a198116c76f18de8047f44df8c8b8"),
    "sgemm.cu": Collection("https://github.com/salykova/sgemm.cu", "a94d769bf5a020547271bd86e5643cc3cfc19430"),
    "Optimizing-SGEMM-on-NVIDIA-Turing-GPUs": Collection(
        "https://github.com/yzhaiustc/Optimizing-SGEMM-on-NVIDIA-Turing-GPUs",
        "a5c0d6ce593553cdf87848821b1433d7930d0cc4",
    ),
    "NVIDIA_SGEMM_PRACTICE": Collection(
        "https://github.com/wangzyon/NVIDIA_SGEMM_PRACTICE", "d6068b13e9997ccff51c9d3cb773afd176fb7d8f"
    ),
    "CUDA-GEMM-Optimization": Collection(
        "https://github.com/leimao/CUDA-GEMM-Optimization", "747e49b418bca18557581969c78333443055fd43"
    ),
}

OWN_PROGRAM = {
    "siboehm/shared": 17.8,
    "siboehm/blocktile": 50.6,
    "siboehm/vectorised": 61.3,
    "siboehm/warptile": 70.9,
    "salykova/tile128": 88.6,
    "salykova/tile256": 100.6,
}


def list_manifests() -> list[Path]:
    """The manifests, in the order of their collections."""
    return sorted(path for path in HOME.glob("*/*") if path.suffix in SUFFIXES and path.parent != SOURCES)


def fetch() -> None:
    """Clone the missing collections at the commits that the manifests were written for."""
    for name, collection in COLLECTIONS.items():
        folder = SOURCES / name
        if not folder.is_dir():
            subprocess.run(["git", "clone", "--quiet", collection.address, folder], check=True)
            subprocess.run(["git", "-C", folder, "checkout", "--quiet", collection.commit], check=True)


def choose_manifests() -> list[Path]:
    """The manifests whose code is present; the others are named on stderr."""
    chosen = []
    for path in list_manifests():
        try:
            read_variant(path)
            chosen.append(path)
        except GemmbenchError as fault:
            print(fault, file=sys.stderr)
    return chosen


def describe_row(row: Row) -> tuple[str, ...]:
    """The cells of one kernel."""
    record = row.record
    name = "/".join(Path(record.variant).with_suffix("").parts[-2:])
    share, own = row.percent_of_baseline, OWN_PROGRAM.get(name)
    known = record.status == "ok" and share.value == share.value
    compared = own is not None and known and record.problem.M == MEASURED_AT
    return (
        name,
        record.status,
        f"{share.value:.1f}" if known else "-",
        f"{own:.1f}" if own is not None else "-",
        f"{share.value - own:+.1f}" if compared and own is not None else "-",
        record.reason.partition("\n")[0],
    )


def main() -> int:
    """Measure, and show the table. Returns 1 if a row is not correct."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fetch", action="store_true", help="clone the collections, and measure nothing")
    parser.add_argument("--sizes", default=str(MEASURED_AT))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.fetch:
        fetch()
        return OK
    names = [str(path) for path in choose_manifests()]
    if not names:
        parser.error("no collection is there; run this with --fetch first")
    baseline = "openblas" if options.device == "cpu" else "cublas"
    result = gemmbench.run(
        [*names, baseline], sizes=options.sizes, device=options.device, baseline=baseline, out=options.out
    )
    rows = [row for row in result.comparison.rows if row.record.variant != baseline]
    head = [cell.format(baseline=baseline) for cell in HEAD]
    show_table(head, [describe_row(row) for row in rows], options.out / "foreign.csv" if options.out else None)
    return OK if result.ok else 1


if __name__ == "__main__":
    sys.exit(main())
