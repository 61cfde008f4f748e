"""Re-measures the committed results for this machine's GPU.

Run `python benchmarks/record.py [NAME ...]` (default: all, about an hour on an H200), then `make docs`.
Each file is written as soon as it is measured, under today's date: results/DEVICE/DATE-NAME.jsonl and
.csv, or .txt.
"""

import argparse
import datetime
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gemmbench.backends import registry
from gemmbench.bench.origin import describe_origin
from gemmbench.errors import DeviceError
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.report.text import shorten_device

ROOT = Path(__file__).parents[1]
GEMMBENCH = ("-m", "gemmbench")
POSTS = sorted(path.stem for path in (data_folder("configs") / "posts").glob("*.yaml"))
SWEEPS = (
    *("quick", "sizes", "tiles", "rungs", "sgemm_pick", "sgemm_h200", "sgemm_layouts", "shapes_60", "shapes_drawn"),
    *("tensor", "tensor_tf32", "tensor_fp8", "tensor_3xtf32"),
    *("tgemm", "tgemm_pick", "tgemm_pick_narrow", "shapes_60_bf16"),
)
TGEMM = (*GEMMBENCH, "run", "-c", "tgemm")
MMA_SYNC_TILES = ("--param", "BN=128,256")
SPACE = ("cublas", "--param", "all", "--rounds", "30", "--until", "2%", "--max-time", "0.1")
NARROW = ("mma_stream", "wgmma_splitk", "wgmma_cluster", "cublas")
RUNS = {
    **{name: (*GEMMBENCH, "run", "-c", name) for name in SWEEPS},
    **{name: (*GEMMBENCH, "posts", name) for name in POSTS},
    "tgemm_f16": (*TGEMM, "--precision", "f16"),
    "tgemm_tf32": (*TGEMM, "--precision", "tf32", "--layout", "nt,nn,tt,tn", "--sizes", "4096,8192"),
    "tgemm_fp8": (*TGEMM, "--precision", "e4m3,e4m3_fast", "--layout", "nt", "--sizes", "4096,8192"),
    "tgemm_3xtf32": (*TGEMM, "--precision", "3xtf32", "--sizes", "4096,8192"),
    "mma_sync": (*GEMMBENCH, "run", "mma_sync", "cublas", "--precision", "bf16", "--sizes", "4096", *MMA_SYNC_TILES),
    "tensor_narrow": (*GEMMBENCH, "run", *NARROW, "--precision", "bf16", "--sizes", "4x7410x1425,128x2048x4096"),
    "mlp": (*GEMMBENCH, "mlp"),
    "mlp-hot": (*GEMMBENCH, "mlp", "--cache", "hot"),
    "transfers-small": (*GEMMBENCH, "run", "naive", "tiled", "cublas", "--with-transfers", "--sizes", "1024x1024x768"),
    "transfers": (*GEMMBENCH, "run", "blocktile_2d", "cublas", "--with-transfers", "--sizes", "8192"),
    "sgemm_schedule-space": (*GEMMBENCH, "run", "sgemm_schedule", *SPACE, "--sizes", "4096"),
    "gemm_v4-space": (*GEMMBENCH, "run", "gemm_v4", *SPACE, "--sizes", "2048"),
    "kernel_tuner": ("benchmarks/against_kernel_tuner.py",),
    "ablations": ("benchmarks/ablations.py",),
    "hierarchy": ("benchmarks/hierarchy.py",),
    "placement": ("benchmarks/placement.py",),
    **{name: ("benchmarks/profiles.py", name) for name in ("profile", "profile-tensor", "profile-posts")},
    "register_loop": ("benchmarks/register_loop.py",),
    "ladder_code": ("benchmarks/ladder_code.py",),
    "relocatable": ("benchmarks/relocatable.py",),
    "sgemm": ("benchmarks/trust.py",),  # one of its claims runs that sweep; also writes DATE-trust.txt
}
SANITIZED = (*GEMMBENCH, "verify", "--sanitize", "memcheck,racecheck", "--format", "simple")


def results_folder() -> Path:
    """Return the folder of this GPU's results, created if missing: nvidia-h100 for an NVIDIA H100 80GB HBM3."""
    device = registry.describe_machine(registry.choose_device("cuda")).primary.name
    folder = ROOT / "results" / re.sub(r"[^a-z0-9]+", "-", shorten_device(device).lower()).strip("-")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def measure(command: tuple[str, ...], target: Path, date: str, name: str) -> int:
    """Run a command and move the files it writes to `target`. Returns its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        code = subprocess.run([sys.executable, *command, "--out", folder], cwd=ROOT).returncode
        for path in sorted(Path(folder).iterdir()):
            kind = path.name if path.suffix == ".txt" else name + "".join(path.suffixes)
            shutil.move(path, target / f"{date}-{kind}")
    return code


def sanitize(target: Path, date: str) -> int:
    """Record the report of compute-sanitizer on every kernel, below its origin."""
    origin = describe_origin(Catalog([data_folder("cuda")]).names)
    done = subprocess.run([sys.executable, *SANITIZED], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    (target / f"{date}-sanitize.txt").write_text(f"{origin}\n{done.stdout}")
    return done.returncode


def main() -> int:
    """Measure everything requested. Returns 1 if any command failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = (*RUNS, "sanitize")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(names)}")
    chosen = parser.parse_args().names or names
    if unknown := set(chosen) - set(names):
        parser.error(f"unknown {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    try:
        target, date = results_folder(), datetime.date.today().isoformat()
    except DeviceError as fault:
        print(f"record.py: {fault}", file=sys.stderr)
        return fault.exit_code
    failed = []
    for name in chosen:
        started = time.monotonic()
        code = sanitize(target, date) if name == "sanitize" else measure(RUNS[name], target, date, name)
        print(f"{name}: exit code {code}, {time.monotonic() - started:.0f} s", flush=True)
        failed += [name] if code else []
    print(f"failed: {', '.join(failed)}" if failed else f"all results are in {target}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
