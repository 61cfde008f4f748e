"""Measures the committed results again for this machine's GPU.

    python benchmarks/record.py [NAME ...]                these, or everything, which takes over an hour
    python benchmarks/record.py --all --minutes 9         what today's results lack, in order, for at most nine minutes
    python benchmarks/record.py NAME ... --minutes 9      the same, of these names only

Each file is kept as soon as it has been measured, under today's date: results/DEVICE/DATE-NAME.jsonl.gz for a sweep,
.csv or .txt for another program. A sweep that did not finish is not kept. `make docs` then shows the new files.

With --all, --minutes or --archive, a name that already has a file of today is not measured again. With --minutes,
nothing is started that took longer last time (results/DEVICE/durations.csv) than the time that is left, and whatever is
still running at the end is stopped and not kept. You can therefore repeat the same command until it reports that
everything is recorded; --date continues with files begun on another day. To measure something once more, give only its
name, or delete its file.

--archive FILE is for a machine from which only a single file is returned. It is a tar file that grows: its contents are
first unpacked into results/, and each new file is added. `tar xf FILE -C results` then unpacks it on your machine.
"""

import argparse
import csv
import datetime
import math
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path

from trust import CLAIMS

from gemmbench.backends import registry
from gemmbench.bench.origin import describe_origin
from gemmbench.errors import DeviceError
from gemmbench.planning.files import RESULTS_SUFFIX, data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.plan import shorten_device
from gemmbench.report.diagnostics.profile_report import PROFILES
from gemmbench.report.store.compression import compress_results
from gemmbench.report.store.reading import is_finished


def find_last_draws(names: Iterable[str]) -> list[str]:
    """Return the last draw of each precision. Earlier ones keep the results of the picks that they judged."""
    numbers: dict[str, int] = {}
    for kind, _, number in (name.rpartition("_") for name in names):
        numbers[kind] = max(int(number), numbers.get(kind, 0))
    return sorted(f"{kind}_{number}" for kind, number in numbers.items())


ROOT = Path(__file__).parents[1]
GEMMBENCH = ("-m", "gemmbench")
POSTS = sorted(path.stem for path in (data_folder("configs") / "posts").glob("*.yaml"))
DRAWS = find_last_draws(path.stem for path in data_folder("configs").glob("shapes_drawn_[a-z]*.yaml"))
SHOWN = ("quick", "sizes", "sgemm", "squares", "tensor", "tgemm", *DRAWS)
SWEEPS = ("batches", "groups", "scales", "tiles")
AT_4096_ONLY = ("sgemm_layouts", "int8", "tensor_fp8", "tensor_3xtf32")
TGEMM = (*GEMMBENCH, "run", "-c", "tgemm")
SPACE = ("cublas", "--param", "all", "--rounds", "30", "--until", "2%", "--max-time", "0.1")
IN_LIBRARIES = ("cublas", "cublaslt", "sgemm", "tgemm", "torch_matmul", "triton_matmul", "cutlass_simt", "cutlass_sm90")
AT_4096 = ("--sizes", "4096", "--layout", "nn", "--precision", "f32,bf16", "--param", "ALGO=0")
INVARIANCE = ("verify", *IN_LIBRARIES, "--invariance", *AT_4096, "--no-watch", "--no-pdl", "--compile-limit", "600")
OF_GROUPS = ("--sizes", "3+0+4x4096x4096", "--precision", "bf16", "--param", "BM=128", "--param", "STREAM_K=1,0")
GROUPS = ("verify", "tiled", "wgmma_grouped", "cublas", "cublas_grouped", "--invariance", *OF_GROUPS, "--no-watch")
EXAMPLES = "./examples/python"
GROUPED = ("torch_grouped_mm", f"{EXAMPLES}/deep_gemm_bf16.py", f"{EXAMPLES}/quack_gemm.py", "cublas_grouped", "cublas")
EXPERTS = "512+512+512+512+512+512+512+512x4096x2048,2048+0+128+384+1024+256+128+128x4096x2048"
NARROW = ("mma_stream", "wgmma_splitk", "wgmma_cluster", "cublas")
RUNS = {
    **{name: (*GEMMBENCH, "run", "-c", name) for name in SHOWN},
    **{f"trust-{claim}": ("benchmarks/trust.py", claim) for claim in CLAIMS},
    **{name: (*GEMMBENCH, "posts", name) for name in POSTS},
    **{name: (*GEMMBENCH, "run", "-c", name) for name in SWEEPS},
    **{name: (*GEMMBENCH, "run", "-c", name, "--sizes", "4096") for name in AT_4096_ONLY},
    "epilogues": (*GEMMBENCH, "run", "-c", "epilogues", "--sizes", "4096", "--precision", "bf16"),
    "strides": (*GEMMBENCH, "run", "-c", "strides", "--precision", "bf16"),
    "tensor_tf32": (*GEMMBENCH, "run", "-c", "tensor_tf32", "--layout", "nt"),
    "tgemm_tf32": (*TGEMM, "--precision", "tf32", "--layout", "nt,nn,tt,tn", "--sizes", "4096"),
    "tgemm_3xtf32": (*TGEMM, "--precision", "3xtf32", "--sizes", "4096,8192"),
    "tensor_narrow": (*GEMMBENCH, "run", *NARROW, "--precision", "bf16", "--sizes", "4x7410x1425,128x2048x4096"),
    "peers": (*GEMMBENCH, "run", "-c", "peers", "--sizes", "4096", "--compile-limit", "600"),
    "python": (*GEMMBENCH, "run", "-c", "examples/python/compare.yaml", "--compile-limit", "600"),
    "python_groups": (*GEMMBENCH, "run", *GROUPED, "--precision", "bf16", "--sizes", EXPERTS, "--compile-limit", "600"),
    "mlp": (*GEMMBENCH, "mlp"),
    "transfers-small": (*GEMMBENCH, "run", "naive", "tiled", "cublas", "--with-transfers", "--sizes", "1024x1024x768"),
    "transfers": (*GEMMBENCH, "run", "blocktile_2d", "cublas", "--with-transfers", "--sizes", "8192"),
    "sgemm_schedule-space": (*GEMMBENCH, "run", "sgemm_schedule", *SPACE, "--sizes", "4096"),
    "gemm_v4-space": (*GEMMBENCH, "run", "gemm_v4", *SPACE, "--sizes", "2048"),
    "rungs": (*GEMMBENCH, "run", "-c", "rungs"),
    "kernel_tuner": ("benchmarks/against_kernel_tuner.py",),
    "ablations": ("benchmarks/ablations.py",),
    "overlap": ("benchmarks/overlap.py",),
    "hierarchy": ("benchmarks/hierarchy.py",),
    **{name: ("benchmarks/profiles.py", name) for name in ("profile", "profile-tensor", "profile-posts")},
    "accesses": ("benchmarks/accesses.py", "nsight"),
    "register_loop": ("benchmarks/register_loop.py",),
    "ladder_code": ("benchmarks/ladder_code.py",),
    "posts_code": ("benchmarks/ladder_code.py", "--posts"),
    "relocatable": ("benchmarks/relocatable.py",),
    "invariance": (*GEMMBENCH, *INVARIANCE),
    "invariance_groups": (*GEMMBENCH, *GROUPS),
    "sanitize": (*GEMMBENCH, "verify", "--sanitize", "memcheck,racecheck", "--format", "simple"),
}
"""The commands, in the order of --all: those whose results README and the pages of results show come first."""
PRINTED = "sanitize"
"""Writes no file; its output is recorded."""

DURATIONS = "durations.csv"
UNKNOWN = 240.0
"""Seconds assumed for a command whose duration is not known."""
GRACE = 20.0
"""Seconds that a command has to end after it is stopped."""
STOPPED = -1
"""The exit code of a command that was stopped."""


def results_folder() -> Path:
    """Return the folder of this GPU's results, created if missing: nvidia-h100 for an NVIDIA H100 80GB HBM3."""
    device = registry.describe_machine(registry.choose_device("cuda")).primary.name
    folder = ROOT / "results" / re.sub(r"[^a-z0-9]+", "-", shorten_device(device).lower()).strip("-")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run_command(words: Sequence[str], output: Path | None, seconds: float) -> int:
    """Run a Python command for at most this many seconds; its output goes to `output`. Returns its exit code."""
    with (
        nullcontext() if output is None else output.open("wb") as file,
        subprocess.Popen([sys.executable, *words], cwd=ROOT, stdout=file) as process,
    ):
        try:
            return process.wait(None if math.isinf(seconds) else seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
        return STOPPED


def write_origin(path: Path) -> None:
    """State at the top of a text what was measured: the card, and the code of all kernels."""
    origin = describe_origin(Catalog([data_folder("cuda")]).names)
    path.write_text(f"{origin}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")


def list_kept(folder: Path, words: Sequence[str]) -> list[Path]:
    """The files that a command wrote and that are kept: a finished sweep, or the table or text of another program."""
    if words[: len(GEMMBENCH)] == GEMMBENCH:
        results = sorted(folder.glob(f"*{RESULTS_SUFFIX}"))
        return [path for path in results if is_finished(path)] + sorted(folder.glob("*.txt"))
    sweeps = {path.stem for path in folder.glob(f"*{RESULTS_SUFFIX}")}
    written = [path for path in sorted(folder.iterdir()) if path.suffix in (".csv", ".txt", ".json")]
    return [path for path in written if path.name.partition(".")[0] not in sweeps]


def measure(name: str, target: Path, date: str, seconds: float = math.inf) -> int:
    """Run the command of a name and keep its output in `target`, unless it is stopped. Returns its exit code."""
    words, started = RUNS[name], time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if name == PRINTED:
            code = run_command(words, folder / f"{name}.txt", seconds)
            if code == 0:
                write_origin(folder / f"{name}.txt")
        else:
            code = run_command((*words, "--out", temporary), None, seconds)
        taken = time.monotonic() - started
        if code == STOPPED:
            note_duration(target, name, 1.5 * taken)
            return code
        for path in list_kept(folder, words):
            suffix = "".join(path.suffixes) if path.match(PROFILES) else path.suffix
            kept = target / f"{date}-{name}{suffix}"
            shutil.move(path, kept)
            if kept.suffix == RESULTS_SUFFIX:
                compress_results(kept)
    note_duration(target, name, taken)
    return code


def read_durations(target: Path) -> dict[str, float]:
    """How many seconds each command took last time."""
    path = target / DURATIONS
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {row["name"]: float(row["seconds"]) for row in csv.DictReader(file)}


def note_duration(target: Path, name: str, seconds: float) -> None:
    """Remember how long a command took."""
    durations = read_durations(target) | {name: seconds}
    lines = [f"{each},{durations[each]:.0f}" for each in sorted(durations)]
    (target / DURATIONS).write_text("\n".join(["name,seconds", *lines, ""]), encoding="utf-8")


def is_recorded(name: str, target: Path, date: str) -> bool:
    """Whether there is already a file of this name and date."""
    return any(target.glob(f"{date}-{name}.*"))


def unpack_archive(archive: Path, target: Path) -> None:
    """Unpack the archive."""
    with tarfile.open(archive) as tar:
        tar.extractall(target.parent, filter="data")


def write_archive(archive: Path, target: Path, date: str) -> None:
    """Write everything of this date and the durations, either completely or not at all."""
    draft = archive.with_name(f".{archive.name}")
    with tarfile.open(draft, "w") as tar:
        for path in sorted([*target.glob(f"{date}-*"), *target.glob(DURATIONS)]):
            tar.add(path, f"{target.name}/{path.name}")
    draft.replace(archive)


def measure_names(
    names: Sequence[str],
    target: Path,
    date: str,
    again: bool = False,
    minutes: float = math.inf,
    archive: Path | None = None,
) -> int:
    """Measure these names in order until the minutes run out; unless `again`, only those without a file of this date.

    Returns 1 if a command failed.
    """
    end = time.monotonic() + 60 * minutes
    failed, left = [], []
    if archive is not None and archive.exists():
        unpack_archive(archive, target)
    for name in (each for each in names if again or not is_recorded(each, target, date)):
        code, remaining = STOPPED, end - time.monotonic()
        if read_durations(target).get(name, UNKNOWN) <= remaining:
            code = show_measured(name, target, date, remaining)
            if archive is not None:
                write_archive(archive, target, date)
        if code == STOPPED:
            left.append(f"{name} ({read_durations(target).get(name, UNKNOWN):.0f} s)")
        elif code:
            failed.append(name)
    if left:
        print(f"left: {', '.join(left)}; the same command goes on")
    if failed:
        print(f"failed: {', '.join(failed)}")
    if not left and not failed:
        print(f"everything is recorded in {target}")
    return 1 if failed else 0


def show_measured(name: str, target: Path, date: str, seconds: float = math.inf) -> int:
    """Measure a name and report the outcome. Returns the exit code."""
    started = time.monotonic()
    code = measure(name, target, date, seconds)
    ended = "stopped and not kept" if code == STOPPED else f"exit code {code}"
    print(f"{name}: {ended}, {time.monotonic() - started:.0f} s", flush=True)
    return code


def main() -> int:
    """Measure what the command line specifies. Returns 1 if a command failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(RUNS)}")
    parser.add_argument("--all", action="store_true", help="measure only what has no file of today")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after this many minutes")
    parser.add_argument("--archive", type=Path, help="a tar file with everything that was measured")
    parser.add_argument(
        "--date", type=datetime.date.fromisoformat, default=datetime.date.today(), help="default: today"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(RUNS):
        parser.error(f"unknown {', '.join(sorted(unknown))}; known: {', '.join(RUNS)}")
    if arguments.all and arguments.names:
        parser.error("--all takes no NAME")
    try:
        target, date = results_folder(), arguments.date.isoformat()
    except DeviceError as fault:
        print(f"record.py: {fault}", file=sys.stderr)
        return fault.exit_code
    again = not (arguments.all or arguments.archive or arguments.minutes < math.inf)
    return measure_names(arguments.names or list(RUNS), target, date, again, arguments.minutes, arguments.archive)


if __name__ == "__main__":
    sys.exit(main())
