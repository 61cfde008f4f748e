"""The effect of each technique in cuda/sgemm/sgemm_tma.cu: the kernel without it, compared with the unchanged kernel.

Run `python benchmarks/ablations.py` on a GPU with compute capability 9.0 (about a minute). Every copy of the kernel has
one change to its text; all are verified and measured in the same interleaved rounds. The table is printed and also
written to ablations.csv in the folder given by --out (default: results), next to the results file of the run. With
--dry-run nothing is measured, so no GPU is needed: the table shows only the code that nvcc generated for each copy.
"""

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tables import show_table

import gemmbench
from gemmbench.backends.sources import inline_text
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.sizes import read_sizes
from gemmbench.planning.sweeps.run_request import Selection
from gemmbench.report.row import Row
from gemmbench.report.text import with_interval
from gemmbench.session.single_kernel import choose_architecture, inspect_kernel, read_hottest_loops

KERNEL = "sgemm_tma"
SIZE = 4096
PARAMS = {"BN": 128, "STAGES": 3, "STREAM_K": 1}
"""The configuration that `sgemm` picks at this size."""


@dataclass(frozen=True)
class Ablation:
    """A copy of the kernel: its name, what it lacks, and (old, new) replacements in the text."""

    name: str
    change: str
    edits: tuple[tuple[str, str], ...]


def _replace_unroll(k: int, kilobytes: int) -> Ablation:
    change = f"main loop over {k} k instead of 8 (about {kilobytes} KB of code)"
    return Ablation(f"loop_of_{k}", change, (("constexpr int kUnroll = 8;", f"constexpr int kUnroll = {k};"),))


FENCE = 'asm volatile("{ .reg .pred never; setp.lt.s32 never, %0, 0; @never exit; }" ::"r"(M) : "memory");'
FFMA = 'asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(a), "f"(b));'
SHUFFLE = "return __shfl_sync(0xffffffffu, value, lane);"
SCALE = 'asm volatile("mul.rn.f32 %0, %1, %2;" : "=f"(v[j]) : "f"(alpha), "f"(sum[j]));'
LESS, MORE = "release_registers<kBlocks == 1 ? 40 : 24>();", "take_registers<232>();"
ORDER = "const int j = i % 2 ? TN - 1 - step : step;"
EARLY = "constexpr bool kKnownEarly = TRANS_A || !STREAM_K;"
GROUP = "constexpr int kGroupRows = 8;"

ABLATIONS = (
    Ablation("no_fences", "no fences", ((FENCE, ""),)),
    Ablation("fence_per_k", "a fence per k instead of per row", (("fence(M);\n", "if (i == TM - 1) fence(M);\n"),)),
    Ablation("fence_per_2_rows", "a fence every two rows", (("fence(M);\n", "if (i % 2) fence(M);\n"),)),
    Ablation("plain_ffma", "multiply-adds that the compiler may move", ((FFMA, "sum += a * b;"),)),
    Ablation("row_by_row", "row by row instead of back and forth", ((ORDER, "return step;\n    const int j = 0;"),)),
    Ablation("plain_addresses", "addresses without the shuffle", ((SHUFFLE, "return value;"),)),
    Ablation("broadcasts", "lanes in plain order, so loads are broadcasts", (("lane / 4 ^ 2 * lane_n", "lane / 4"),)),
    Ablation("branch", "arrive behind a branch", (("arrive_once(used, lane);", "{ if (lane == 0) arrive(used); }"),)),
    Ablation("plain_epilogue", "sums scaled by a plain multiplication", ((SCALE, "v[j] = alpha * sum[j];"),)),
    Ablation("no_setmaxnreg", "no setmaxnreg", ((LESS, ""), (MORE, ""))),
    Ablation("early_end", "end of a stage known early", ((EARLY, "constexpr bool kKnownEarly = true;"),)),
    Ablation("groups_of_1", "tiles row by row", ((GROUP, "constexpr int kGroupRows = 1;"),)),
    Ablation("groups_of_16", "tiles in groups of 16 rows", ((GROUP, "constexpr int kGroupRows = 16;"),)),
    _replace_unroll(4, 9),
    _replace_unroll(16, 35),
    _replace_unroll(32, 69),
)


def write_copies(folder: Path) -> None:
    """Write every copy of the kernel to a folder. Raises ValueError if its text no longer contains a passage to be
    replaced.
    """
    variant = Catalog([data_folder("cuda")]).get(KERNEL)
    manifest = variant.text[: variant.text.index("---*/") + len("---*/")]
    text = f"{manifest}\n{inline_text(variant).replace(manifest, '', 1)}"
    for ablation in ABLATIONS:
        changed = text
        for old, new in ablation.edits:
            if changed.count(old) != 1:
                raise ValueError(f"{ablation.name}: {KERNEL}.cu should contain this exactly once: {old}")
            changed = changed.replace(old, new)
        (folder / f"{ablation.name}.cu").write_text(changed)


def describe_code(name: str, kernels: Path, params: Mapping[str, int], layout: str) -> list[str]:
    """The main loop: KB of code, % FFMA, % of FFMA with a bank conflict, instructions from a load to its use."""
    chosen = {key: (value,) for key, value in params.items()}
    request = Selection((name,), read_sizes(SIZE), layouts=(layout,), params=chosen, kernels=str(kernels))
    inspected = inspect_kernel(request, choose_architecture("90a", None))
    found = [loop.facts for loop in read_hottest_loops(inspected, None).readings if loop.facts]
    facts = max(found, key=lambda each: each.mix["FFMA"])  # not the loop that arranges operands
    ffma = facts.mix["FFMA"]
    return [
        f"{facts.loop.code_bytes / 1e3:.1f}",
        f"{100 * ffma / facts.instructions:.1f}",
        f"{100 * facts.conflicts / ffma:.1f}",
        str(facts.load_distance),
    ]


def describe_speed(row: Row) -> list[str]:
    """TFLOPS, and percent of the unchanged kernel; or why there is no time."""
    if not row.ranked:
        return [row.status, "-"]
    share = row.percent_of_baseline
    return [f"{row.gflops / 1e3:.2f}", with_interval(share) if share.known else "100"]


def main() -> None:
    """Write the copies, measure them unless told not to, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for ablations.csv and the run")
    parser.add_argument("--dry-run", action="store_true", help="only compile")
    parser.add_argument("--layout", default="nn", help="nn, nt, tn or tt")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help=f"instead of {PARAMS}")
    arguments = parser.parse_args()
    params = {**PARAMS, **{name: int(value) for name, _, value in (each.partition("=") for each in arguments.param)}}
    changes = {KERNEL: "the kernel as it is", **{each.name: each.change for each in ABLATIONS}}
    with tempfile.TemporaryDirectory() as folder:
        kernels = Path(folder)
        write_copies(kernels)
        speeds = {} if arguments.dry_run else measure(list(changes), kernels, params, arguments.layout, arguments.out)
        rows = [
            [change, *describe_code(name, kernels, params, arguments.layout), *speeds.get(name, ("-", "-"))]
            for name, change in changes.items()
        ]
    head = ["change", "loop (KB)", "FFMA (%)", "bank conflicts (%)", "load to use", "TFLOPS", f"% of {KERNEL}"]
    show_table(head, rows, None if arguments.dry_run else arguments.out / "ablations.csv", [KERNEL])


def measure(names: list[str], kernels: Path, params: Mapping[str, int], layout: str, out: Path) -> dict[str, list[str]]:
    """Measure all copies in one batch. Returns the cells of each variant's speed."""
    result = gemmbench.run(
        names,
        sizes=SIZE,
        params=dict(params),
        layout=layout,
        kernels=kernels,
        baseline=KERNEL,
        until=0.002,
        max_time=2,
        out=out,
    )
    print(result.table())
    return {row.record.variant: describe_speed(row) for row in result.comparison.rows}


if __name__ == "__main__":
    main()
