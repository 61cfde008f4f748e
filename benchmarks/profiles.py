"""Nsight Compute's counters for some rungs of both ladders, and for the kernels of posts 002 to 004.

Run `python benchmarks/profiles.py [NAME ...]` on a machine with an NVIDIA GPU and Nsight Compute (all of them: about
four minutes). The counters are printed, and also written to profile.txt, profile-tensor.txt and profile-posts.txt in
the folder given by --out (default: results), each after the command that prints them, below the origin of the file;
those that `gemmbench posts` shows also go to a .profile.json there. A NAME is the name of one of these files without
.txt.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from gemmbench.bench.origin import describe_origin

AT_4096 = ("--sizes", "4096")
LADDER = (
    *(((kernel, *AT_4096)) for kernel in ("naive_rows", "naive", "tiled", "sgemm_warptile")),
    ("gemm_v4", "--param", "BM=64", "--param", "BN=64", "--param", "BK=16", *AT_4096),
    ("sgemm", *AT_4096),
    ("cublas", *AT_4096),
)
TENSOR = (
    *(
        (kernel, "--precision", "bf16", *AT_4096)
        for kernel in ("wmma", "mma_sync", "wgmma", "wgmma_ring", "wgmma_cluster", "wgmma_hybrid", "cublas")
    ),
    ("mma_stream", "--precision", "bf16", "--sizes", "4x7410x1425"),
    ("wgmma_splitk", "--precision", "bf16", "--sizes", "128x2048x4096"),
    ("wgmma_tf32", "--precision", "tf32", "--layout", "nt", *AT_4096),
    ("wgmma_fp8", "--precision", "e4m3", "--layout", "nt", *AT_4096),
    ("wgmma_3xtf32", "--precision", "3xtf32", *AT_4096),
)
POSTS = (
    *(
        (kernel, "--param", "TILE=16", "--sizes", f"{batch}x100x784")
        for kernel in ("tiled_uncoalesced", "wpt", "wpt_coalesced")
        for batch in (256, 16384)
    ),
    *(
        ("abt_shared", "--layout", "nt", "--param", "TILE=16", "--param", f"UNROLL={case}", *AT_4096)
        for case in (0, -1)
    ),
    ("post004_v1", "--param", "TILE=16", *AT_4096),
)
FILES = {"profile": LADDER, "profile-tensor": TENSOR, "profile-posts": POSTS}


SHOWN = "post004_v1"
"""The kernel whose counters a post publishes."""


def profile(words: tuple[str, ...], folder: Path) -> str:
    """Profile one launch. Returns the command and its output. Raises CalledProcessError."""
    command = ("profile", *words)
    kept = ["--out", str(folder / f"{SHOWN}.profile.json")] if words[0] == SHOWN else []
    call = [sys.executable, "-m", "gemmbench", *command, *kept]
    done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True)
    return f"$ gemmbench {' '.join(command)}\n\n{done.stdout}"


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for the files")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(FILES)}")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(FILES):
        parser.error(f"unknown {', '.join(sorted(unknown))}; known: {', '.join(FILES)}")
    for name in arguments.names or FILES:
        with (arguments.out / f"{name}.txt").open("w") as file:
            print(describe_origin(kernel for kernel, *_ in FILES[name]), file=file, flush=True)
            for number, words in enumerate(FILES[name]):
                text = ("\n" if number else "") + profile(words, arguments.out)
                print(text, end="", flush=True)
                print(text, end="", file=file, flush=True)


if __name__ == "__main__":
    main()
