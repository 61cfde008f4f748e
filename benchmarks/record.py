"""Measures again what stands in results/, for the GPU of this machine.

Run with `python benchmarks/record.py [NAME ...]` (default: all, about half an hour on an H200), then `make docs`. A
file is in place as soon as it is measured, under today's date: results/DEVICE/DATE-NAME.jsonl and .csv, or .txt.
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
from gemmbench.errors import DeviceError
from gemmbench.planning.paths import data_folder

ROOT = Path(__file__).parents[1]
GEMMBENCH = ("-m", "gemmbench")
POSTS = sorted(path.stem for path in (data_folder("configs") / "posts").glob("*.yaml"))
SWEEPS = ("quick", "tiles", "rungs", "sgemm_pick", "sgemm_h200", "sgemm_layouts")
RUNS = {
    **{name: (*GEMMBENCH, "run", "-c", name) for name in SWEEPS},
    **{name: (*GEMMBENCH, "run", "-c", f"posts/{name}") for name in POSTS},
    "mlp": (*GEMMBENCH, "mlp"),
    "mlp-hot": (*GEMMBENCH, "mlp", "--cache", "hot"),
    "transfers-small": (*GEMMBENCH, "run", "naive", "tiled", "cublas", "--with-transfers", "--sizes", "1024x1024x768"),
    "transfers": (*GEMMBENCH, "run", "blocktile_2d", "cublas", "--with-transfers", "--sizes", "8192"),
    "sgemm": ("benchmarks/trust.py",),  # one of the claims is made of that sweep; what was found is in DATE-trust.txt
}
SANITIZED = (*GEMMBENCH, "verify", "--sanitize", "memcheck,racecheck", "--format", "simple")


def place() -> Path:
    """The folder of this GPU's results."""
    device = registry.describe_machine(registry.choose_device("cuda")).primary.name
    folder = ROOT / "results" / re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def measured(command: tuple[str, ...], target: Path, date: str, name: str) -> int:
    """Run it, put what it leaves in place; its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        code = subprocess.run([sys.executable, *command, "--out", folder], cwd=ROOT).returncode
        for path in sorted(Path(folder).iterdir()):
            kind = path.name if path.suffix == ".txt" else name + "".join(path.suffixes)
            shutil.move(path, target / f"{date}-{kind}")
    return code


def sanitized(target: Path, date: str) -> int:
    """What compute-sanitizer says of every kernel."""
    done = subprocess.run([sys.executable, *SANITIZED], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    (target / f"{date}-sanitize.txt").write_text(done.stdout)
    return done.returncode


def main() -> int:
    """Measure; 1 if anything ended otherwise than it should."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = (*RUNS, "sanitize")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    asked = parser.parse_args().names or names
    if unknown := set(asked) - set(names):
        parser.error(f"unknown {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    try:
        target, date, bad = place(), datetime.date.today().isoformat(), []
    except DeviceError as fault:
        print(f"record.py: {fault}", file=sys.stderr)
        return fault.exit_code
    for name in asked:
        started = time.monotonic()
        code = sanitized(target, date) if name == "sanitize" else measured(RUNS[name], target, date, name)
        print(f"{name}: exit code {code}, {time.monotonic() - started:.0f} s", flush=True)
        bad += [name] if code else []
    print(f"not as it should be: {', '.join(bad)}" if bad else f"all in {target}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
