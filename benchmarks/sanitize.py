"""Run compute-sanitizer over every kernel: memcheck and racecheck, on a GPU.

Run with `python benchmarks/sanitize.py [VARIANT ...]`; prints one line a kernel and tool, exits with 1 if
one is not clean. A small odd size in f32, every layout, one configuration change per parameter.
"""

import json
import re
import shutil
import subprocess
import sys

TOOLS = ("memcheck", "racecheck")
LIMIT = 240  # seconds for one kernel and tool
SIZES = "33x65x17"
GEMM = ["verify", "--precision", "f32", "--sizes", SIZES]
MLP = "mlp --batch 33 --weights random --rounds 1 --max-time 0.001 --cache hot --no-gate --out /tmp".split()


def kernels() -> dict[str, bool]:
    """The variants of this GPU that come from a .cu file, and whether they compute a network."""
    command = [sys.executable, "-m", "gemmbench", "list", "--device", "cuda", "--json"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    libraries = ("cublas", "cublaslt")
    ready = [row for row in listed if row["device"] == "cuda" and row["ready"] and row["name"] not in libraries]
    return {row["name"]: row["computes"] == "mlp" for row in ready}


def check(tool: str, name: str, network: bool) -> tuple[bool, str]:
    """Whether a kernel is clean under a tool, and the tool's last words."""
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", sys.executable, "-m", "gemmbench"]
    command += [*MLP, "--baseline", name] if network else GEMM
    command += [name, "--device", "cuda"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return False, f"did not end within {LIMIT} s"
    said = re.findall(r"========= (.*SUMMARY.*)", done.stdout + done.stderr)
    return done.returncode == 0 and bool(said), said[-1] if said else (done.stderr or done.stdout)[-300:]


def main() -> int:
    """Check every kernel with every tool."""
    if shutil.which("compute-sanitizer") is None:
        print("no compute-sanitizer found: it comes with the CUDA toolkit", file=sys.stderr)
        return 3
    clean = True
    known = kernels()
    for name in sys.argv[1:] or known:
        for tool in TOOLS:
            ok, said = check(tool, name, known.get(name, False))
            clean = clean and ok
            print(f"{name:22} {tool:10} {'clean' if ok else 'NOT CLEAN'}  {said}", flush=True)
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
