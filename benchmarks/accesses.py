"""The CPU's counts of kernels' accesses, compared with Nsight Compute and with measured times, and the cost of
watching.

    python benchmarks/accesses.py nsight [--out FOLDER]     counts of some 30 launches beside those of Nsight Compute;
                                                            needs an NVIDIA GPU, ncu and nvcc: about ten minutes
    python benchmarks/accesses.py nsight --counters FILE    the same beside counters recorded before, without a GPU
    python benchmarks/accesses.py bounds [FILE ...]         the least time that follows from the counts, beside each
                                                            time in results files (default: all of results/)
    python benchmarks/accesses.py verify [NAME ...]         CPU time of `gemmbench verify` with and without watching,
                                                            with an empty cache and with a full one

`nsight` keeps the counters of each launch in accesses.txt as soon as it has them. It and `bounds` write their tables to
accesses.csv and accesses-bounds.csv in the folder given by --out. Both count the code as it is today.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from claims import command, format_table
from tables import show_table

from gemmbench.analysis.accesses import Cost
from gemmbench.backends.code_hash import hash_code
from gemmbench.bench.record import Environment, Record
from gemmbench.errors import GemmbenchError
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.plan import shorten_device
from gemmbench.planning.sweeps.run_request import Selection, make_request
from gemmbench.report.diagnostics.access_report import CountedKernel
from gemmbench.report.store.reading import read_results
from gemmbench.session.access_counts import count_accesses
from gemmbench.session.machine import find_gpu
from gemmbench.session.single_kernel import Architecture, choose_architecture, profile_kernel

ROOT = Path(__file__).parents[1]
AWKWARD = "1023x1025x511"
ONE_TILE = ("TILE=16",)
SMALL_TILES = ("BM=64", "BN=64", "BK=16")


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel, as named by options."""

    variant: str
    sizes: str = "4096"
    precisions: str | None = None
    layouts: str | None = None
    params: tuple[str, ...] = ()

    @property
    def selection(self) -> Selection:
        """The launch in the form that sessions use."""
        problem = {"sizes": self.sizes, "precisions": self.precisions, "layouts": self.layouts}
        given: dict[str, Any] = {**problem, "params": self.params}
        return make_request(variants=(self.variant,), **given).selection


LAUNCHES = (
    Launch("naive_rows", "1024"),
    Launch("naive_rows", AWKWARD, layouts="tn"),
    Launch("naive", "2048"),
    Launch("naive", "1000x1500x777", layouts="tt"),
    Launch("naive", "1024", layouts="nt", params=("BX=32", "BY=8")),
    Launch("naive", "1024", precisions="f64"),
    Launch("tiled", "2048", params=ONE_TILE),
    Launch("tiled", AWKWARD, layouts="nt", params=("TILE=32",)),
    Launch("tiled", "1024", precisions="f64", params=ONE_TILE),
    Launch("tiled", "1024", precisions="f16", params=("TILE=32",)),
    Launch("sgemm_1d", "2048"),
    Launch("blocktile_2d", "2048"),
    Launch("blocktile_2d", "1024", layouts="nt", params=("BM=64", "BN=64", "BK=8")),
    Launch("blocktile_2d", "1024", precisions="f64", params=SMALL_TILES),
    Launch("blocktile_2d", AWKWARD, precisions="f64", layouts="tt", params=SMALL_TILES),
    Launch("sgemm_vectorised", "2048"),
    Launch("sgemm_warptile", "2048"),
    Launch("sgemm_warptile", AWKWARD),
    Launch("sgemm_pipelined", "2048"),
    Launch("sgemm_pipelined", "1000", layouts="tn"),
    Launch("sgemm_outer", "2048x2048x32"),
    Launch("sgemm_stream", "16x4096x4096"),
    Launch("gemm_v3", "1024"),
    Launch("gemm_v4", "2048", params=SMALL_TILES),
    Launch("abt_shared", "2048", layouts="nt", params=("TILE=16", "UNROLL=0")),
    Launch("abt_shared", "1024", layouts="nt", params=("TILE=16", "UNROLL=-1")),
    Launch("register_block", "1024"),
    Launch("tiled_uncoalesced", "256x100x784", params=ONE_TILE),
    Launch("wpt", "1024x100x784", params=ONE_TILE),
    Launch("wpt_coalesced", "1024x100x784", params=ONE_TILE),
)
NSIGHT_HEAD = ("launch", "quantity", "counted", "Nsight Compute", "difference")
BOUNDS_HEAD = ("kernel", "configuration", "problem", "card", "time (ms)", "bound (ms)", "multiply-adds (ms)", "ratio",
               "code")  # fmt: skip
LARGEST, MEDIAN = "largest difference", "median difference"
SQUARE = 4096
CLEARLY = 3.0
"""L1 is the bottleneck where it needs this many times as long as the multiply-adds."""
CACHE = "GEMMBENCH_CACHE_DIR"


NSIGHT_NAMES = {
    (False, False): {"requests": "global loads", "sectors": "global sectors"},
    (False, True): {"requests": "global stores", "sectors": "stored sectors"},
    (True, False): {"wavefronts": "load wavefronts", "conflicts": "load conflicts"},
    (True, True): {"wavefronts": "store wavefronts", "conflicts": "store conflicts"},
}
"""Nsight's quantities for the fields of Cost, by whether memory is shared and whether it is written."""


@dataclass(frozen=True)
class Quantity:
    """A quantity that both count, of loads or stores: computed from fields of Cost, NaN where there are none.

    The difference of a share, such as that of conflicts, is in points; other differences are in percent.
    """

    name: str
    is_shared: bool
    writes: bool
    compute: Callable[[Mapping[str, float]], float]
    is_share: bool = False

    def count(self, costs: Mapping[tuple[bool, bool], Cost]) -> float:
        """Its value according to the costs that were counted on the CPU."""
        return self.compute(asdict(costs[self.is_shared, self.writes]))

    def read(self, seen: Mapping[str, float]) -> float:
        """Its value according to the counters of Nsight Compute."""
        names = NSIGHT_NAMES[self.is_shared, self.writes]
        return self.compute({field: seen.get(name, math.nan) for field, name in names.items()})

    def show(self, value: float) -> str:
        """A cell of the table."""
        if math.isnan(value):
            return "-"
        return f"{100 * value:.2f} %" if self.is_share else f"{value:.5g}"

    def show_difference(self, difference: float) -> str:
        """A difference as a cell."""
        return "-" if math.isnan(difference) else f"{100 * difference:+.2f} {'points' if self.is_share else '%'}"

    def differ(self, counted: float, seen: float) -> float:
        """Relative, or of shares; NaN where one of them has no value."""
        return counted - seen if self.is_share else counted / seen - 1


def divide(part: float, whole: float) -> float:
    """Their quotient; NaN where there is none."""
    return part / whole if whole else math.nan


QUANTITIES = tuple(
    Quantity(name.format(verb), is_shared, writes, compute, is_share)
    for writes, verb in ((False, "load"), (True, "store"))
    for name, is_shared, compute, is_share in (
        ("sectors per global {}", False, lambda cost: divide(cost["sectors"], cost["requests"]), False),
        ("shared {} wavefronts", True, lambda cost: cost["wavefronts"] or math.nan, False),
        ("shared {} conflicts", True, lambda cost: divide(cost["conflicts"], cost["wavefronts"]), True),
        (
            "shared {} wavefronts without conflicts",
            True,
            lambda cost: cost["wavefronts"] - cost["conflicts"] or math.nan,
            False,
        ),
    )
)


@dataclass(frozen=True)
class Profile:
    """A launch, the GPU that it ran on, and the counts of Nsight Compute for all of its kernels."""

    launch: Launch
    architecture: Architecture
    card: str
    values: Mapping[str, float]


def profile_launches(path: Path) -> list[Profile]:
    """Profile every launch, and write each profile to a line of a file. Failures are reported and left out."""
    machine, architecture, profiles = find_gpu("auto", "profile"), choose_architecture(None, None), list[Profile]()
    sms = machine.primary.target.sms or architecture.sms
    with path.open("w", encoding="utf-8") as file:
        for launch in LAUNCHES:
            try:
                _, counted = profile_kernel(launch.selection, None, machine)
            except GemmbenchError as fault:
                print(f"not profiled: {name_launch(launch)}: {fault}", file=sys.stderr)
                continue
            values: dict[str, float] = defaultdict(float)
            for counters in counted:
                for name, value in counters.values.items():
                    values[name] += value
            profiles.append(Profile(launch, Architecture(architecture.name, sms), machine.primary.name, dict(values)))
            print(json.dumps(asdict(profiles[-1])), file=file, flush=True)
            print(f"profiled {name_launch(launch)}", file=sys.stderr, flush=True)
    return profiles


def read_profiles(path: Path) -> list[Profile]:
    """The profiles of a file that `profile_launches` wrote."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Profile(
            Launch(**{**each["launch"], "params": tuple(each["launch"]["params"])}),
            Architecture(**each["architecture"]),
            each["card"],
            each["values"],
        )
        for each in found
    ]


def name_launch(launch: Launch) -> str:
    """`tiled TILE=16 2048 nt f64`."""
    return " ".join(filter(None, (launch.variant, *launch.params, launch.sizes, launch.layouts, launch.precisions)))


def count_launch(
    launch: Launch, architecture: Architecture, clock: float | None = None, asks_nvcc: bool = True
) -> CountedKernel | str:
    """The counts of one launch, or the reason why there are none."""
    reasons: list[str] = []
    try:
        counted = count_accesses(launch.selection, architecture, clock, reasons.append, asks_nvcc)
    except GemmbenchError as fault:
        return str(fault).partition("\n")[0]
    return counted[0] if counted else reasons[0]


def sum_costs(counted: CountedKernel) -> Mapping[tuple[bool, bool], Cost]:
    """The costs of loads and stores of global and shared memory: by whether it is shared, and a store."""
    costs: dict[tuple[bool, bool], Cost] = defaultdict(Cost)
    for access in counted.counts.accesses:
        costs[access.is_shared, access.writes] += access.cost
    return costs


def compare_profiles(profiles: Sequence[Profile]) -> list[list[str]]:
    """The rows of the table; the last ones name, for each quantity, the largest difference and the median."""
    rows, differences = list[list[str]](), defaultdict[str, list[tuple[float, list[str]]]](list)
    for profile in profiles:
        counted = count_launch(profile.launch, profile.architecture)
        if isinstance(counted, str):
            print(f"not counted: {name_launch(profile.launch)}: {counted}", file=sys.stderr)
            continue
        costs = sum_costs(counted)
        for quantity in QUANTITIES:
            ours, theirs = quantity.count(costs), quantity.read(profile.values)
            if math.isnan(ours) and math.isnan(theirs):
                continue
            difference = quantity.differ(ours, theirs)
            row = [name_launch(profile.launch), quantity.name, quantity.show(ours), quantity.show(theirs)]
            rows.append([*row, quantity.show_difference(difference)])
            if not math.isnan(difference):
                differences[quantity.name].append((abs(difference), rows[-1]))
    for quantity in QUANTITIES:
        if found := differences[quantity.name]:
            launch, _, *values = max(found, key=lambda each: each[0])[1]
            rows.append([LARGEST, f"{quantity.name}, {launch}", *values])
            median = statistics.median(size for size, _ in found)
            shown = quantity.show_difference(median).lstrip("+")
            rows.append([MEDIAN, f"{quantity.name}, of {len(found)}", "-", "-", shown])
    return rows


def compare_with_nsight(out: Path, counters: Path | None) -> int:
    """Print the table beside Nsight Compute; returns the exit code."""
    out.mkdir(parents=True, exist_ok=True)
    profiles = read_profiles(counters) if counters else profile_launches(out / "accesses.txt")
    kernels = list(dict.fromkeys(profile.launch.variant for profile in profiles))
    card = profiles[0].card if profiles else ""
    show_table(NSIGHT_HEAD, compare_profiles(profiles), out / "accesses.csv", kernels, card)
    return 0 if profiles and (counters or len(profiles) == len(LAUNCHES)) else 1


@dataclass(frozen=True)
class Measured:
    """The shortest time of a configuration on a card, in seconds, at a clock in Hz, and whether its code is today's."""

    launch: Launch
    card: str
    architecture: Architecture
    seconds: float
    clock: float
    code: str


def read_times(paths: Sequence[Path]) -> list[Measured]:
    """The kernels of results files with their times: correct results of one square product in f32 on a GPU."""
    catalog, shortest = Catalog([data_folder("cuda")]), dict[tuple[str, Launch], Measured]()
    for path in paths:
        run = read_results(path)
        for record in run.records:
            if _is_wanted(run.environment, record, catalog):
                measured = _measure(run.environment, record, catalog)
                key = measured.card, measured.launch
                if key not in shortest or measured.seconds < shortest[key].seconds:
                    shortest[key] = measured
    return [shortest[key] for key in sorted(shortest, key=lambda each: (each[0], name_launch(each[1])))]


def _is_wanted(environment: Environment, record: Record, catalog: Catalog) -> bool:
    if not record.ranked or record.is_preliminary or record.network or not environment.on_gpu(record.backend):
        return False
    problem, is_shipped = record.problem, record.variant in catalog.names
    is_square = problem.M == problem.N == problem.K == SQUARE and problem.precision_name == "f32"
    return is_square and is_shipped and catalog.get(record.variant).is_kernel and not catalog.get(record.variant).picks


def _measure(environment: Environment, record: Record, catalog: Catalog) -> Measured:
    params = tuple(f"{name}={value}" for name, value in record.config.items())
    same = record.code == hash_code(catalog.get(record.variant), record.config.items())
    return Measured(
        Launch(record.variant, record.problem.size, "f32", record.problem.layout, params),
        shorten_device(environment.device),
        Architecture(str(environment.sm), environment.sms),
        statistics.fmean(record.samples),
        max(record.clocks_hz, default=environment.clock_hz),
        ("today's" if same else "earlier") if environment.tree and record.code else "unknown",
    )


def compare_with_times(out: Path, paths: Sequence[Path]) -> int:
    """Print each measured time with the bound; returns 1 if a bound exceeds its time although the code is today's."""
    rows, left, ratios = list[list[str]](), Counter[str](), list[tuple[float, float, str]]()
    for measured in read_times(paths):
        counted = count_launch(measured.launch, measured.architecture, measured.clock / 1e9, asks_nvcc=False)
        if isinstance(counted, str) or counted.bound is None or counted.bound.math is None:
            name = " ".join((measured.launch.variant, *measured.launch.params))
            reason = counted.removeprefix(f"{name}: ") if isinstance(counted, str) else "no bound"
            left[f"{measured.launch.variant}: {reason}"] += 1
            continue
        bound, launch = counted.bound, measured.launch
        ratio = measured.seconds / bound.seconds
        ratios.append((ratio, bound.l1 / (bound.math or math.nan), measured.code))
        times = (measured.seconds, bound.seconds, bound.math or math.nan)
        problem = f"{launch.sizes} {launch.layouts}"
        rows.append([
            launch.variant, " ".join(launch.params), problem, measured.card, *(f"{1e3 * each:.4g}" for each in times),
            f"{ratio:.3f}", measured.code,
        ])  # fmt: skip
        print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    out.mkdir(parents=True, exist_ok=True)
    cards = ", ".join(sorted({row[3] for row in rows}))
    show_table(BOUNDS_HEAD, rows, out / "accesses-bounds.csv", list(dict.fromkeys(row[0] for row in rows)), cards)
    for reason, count in left.most_common():
        print(f"left out, {count}: {reason}")
    above = [code for ratio, _, code in ratios if ratio < 1]
    print(f"{len(ratios)} times of {len({row[0] for row in rows})} kernels; the bound is above {len(above)} of them.")
    for title, found in (
        ("all", [ratio for ratio, *_ in ratios]),
        ("L1 binds", [ratio for ratio, share, _ in ratios if share > 1]),
        (f"L1 needs {CLEARLY:g} times the multiply-adds", [ratio for ratio, share, _ in ratios if share >= CLEARLY]),
    ):
        if found:
            spread = f"least {min(found):.3f}, median {statistics.median(found):.3f}, most {max(found):.2f}"
            print(f"time / bound, {title}: {len(found)} times, {spread}")
    return 1 if "today's" in above else 0


def time_verification(names: Sequence[str]) -> int:
    """Print the CPU time of `verify` with and without watching, first with an empty cache; returns the exit code."""
    rows, worst = list[list[str]](), 0
    for name in names:
        cells = [name]
        for options in ((), ("--no-watch",)):
            with tempfile.TemporaryDirectory() as folder:
                for _ in range(2):
                    seconds, code = time_command(("verify", name, "--device", "cpu", *options), folder)
                    cells.append(f"{seconds:.1f}")
                    worst = max(worst, code)
        rows.append(cells)
    caches = "empty cache", "full cache"
    kinds = [f"{watching}, {cache}" for watching in ("watched", "not watched") for cache in caches]
    print("CPU time of gemmbench verify --device cpu, in seconds")
    print(format_table(rows, ("kernel", *kinds)))
    return worst


def time_command(words: Sequence[str], cache: str) -> tuple[float, int]:
    """The CPU time of a command and all its processes, and its exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command(*words), env={**os.environ, CACHE: cache}, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode


def main() -> int:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("nsight", "bounds", "verify"))
    parser.add_argument("names", nargs="*", help="results files for bounds, kernels for verify")
    parser.add_argument("--counters", type=Path, metavar="FILE", help="counters that nsight recorded before")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for the tables")
    chosen = parser.parse_args()
    try:
        if chosen.mode == "nsight":
            return compare_with_nsight(chosen.out, chosen.counters)
        if chosen.mode == "verify":
            return time_verification(chosen.names or ("naive", "tiled", "blocktile_2d"))
        paths = map(Path, chosen.names) if chosen.names else sorted((ROOT / "results").glob("*/*.jsonl.gz"))
        return compare_with_times(chosen.out, list(paths))
    except GemmbenchError as fault:
        print(fault, file=sys.stderr)
        return int(fault.exit_code)


if __name__ == "__main__":
    sys.exit(main())
