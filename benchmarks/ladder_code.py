"""The machine code that nvcc generates for every rung of the FP32 ladder and for the posts' kernels: registers, and
more.

Run `python benchmarks/ladder_code.py`; it needs nvcc and cuobjdump, but no GPU. The table is printed and also written
to ladder_code.csv in the folder given by --out (default: results). The kernels are compiled for sm_90 in their default
configurations. With --posts, the table shows the kernels that posts print, each followed by the corrected one, and goes
to posts_code.csv.
"""

import argparse
from itertools import pairwise
from pathlib import Path

from tables import show_table

from gemmbench.analysis.sass_facts import LoopFacts
from gemmbench.analysis.toolkit import find_nvcc, nvcc_version
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.sweeps.published_post import PostRow
from gemmbench.planning.sweeps.run_request import Selection, make_request
from gemmbench.planning.sweeps.sweep import describes_network, known_posts, read_post
from gemmbench.session.single_kernel import choose_architecture, inspect_kernel, read_hottest_loops

HEAD = (
    "kernel",
    "configuration",
    "registers",
    "loop",
    "FFMA (%)",
    "shared loads per FFMA",
    "bank conflicts (%)",
    "bound (TFLOPS)",
)


def list_rungs() -> list[str]:
    """The kernels of the ladder in order, without `sgemm`, which only chooses one of them."""
    folders = [data_folder("cuda"), data_folder("cuda") / "sgemm"]
    found = [Catalog([data_folder("cuda")]).get(path.stem) for folder in folders for path in folder.glob("*.cu")]
    return [variant.name for variant in sorted(found, key=lambda variant: variant.order) if not variant.picks]


def describe(name: str) -> list[str]:
    """One line of the table, for the launch whose loop has the most arithmetic."""
    inspected = inspect_kernel(Selection((name,)), choose_architecture("90", None))
    loops = read_hottest_loops(inspected, None).readings
    launches = [each for each in zip(inspected.inspections, loops, strict=True) if each[1].facts]
    launch, loop = max(launches, key=lambda each: each[1].facts.loop.math if each[1].facts else 0)
    assert loop.facts is not None and loop.peak is not None
    bound = loop.speeds["bound"] * loop.peak.flops / 1e12
    return [name, str(launch.plan.config), str(launch.build.registers), *count(loop.facts), f"{bound:.1f}"]


def count(facts: LoopFacts) -> list[str]:
    """Instructions, share of FFMA, shared loads per FFMA, and the share of FFMA that read a bank twice."""
    ffma, total = facts.mix["FFMA"], facts.instructions
    shares = f"{100 * ffma / total:.1f}", f"{facts.mix['shared loads'] / ffma:.2f}"
    return [str(total), *shares, f"{100 * facts.conflicts / ffma:.1f}"]


POSTS_HEAD = ("post", "kernel", "configuration", "registers", "spilled bytes", "stack bytes", "blocks per SM")


def list_post_kernels() -> list[tuple[str, PostRow]]:
    """The kernels that posts print, each before the corrected one, with the number of the post."""
    found: list[tuple[str, PostRow]] = []
    for config in known_posts():
        post = None if describes_network(config) else read_post(config)
        rows = post.rows if post else ()
        number = config.removeprefix("posts/")[:3]
        for above, row in pairwise(rows):
            found += [(number, above), (number, row)] if row.corrects else []
    return found


def describe_post_kernel(post: str, row: PostRow) -> list[str]:
    """One line of the table."""
    asked = make_request(
        variants=(row.variant,),
        sizes=row.published_shape.size if row.published_shape else "4096",
        precisions=row.precision,
        layouts=row.layout,
        params=dict(row.config),
    )
    (launch,) = inspect_kernel(asked.selection, choose_architecture("90", None)).inspections
    build = launch.build
    assert launch.occupancy is not None
    counts = build.registers, build.spills, build.stack, launch.occupancy.blocks_per_sm
    return [post, row.variant, str(launch.plan.config), *map(str, counts)]


def main() -> None:
    """Print a line per rung, or per kernel of the posts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for the file")
    parser.add_argument("--posts", action="store_true", help="the kernels of the posts instead of the ladder")
    arguments, compiler = parser.parse_args(), f"compiled for sm_90 by nvcc {nvcc_version(find_nvcc())}"
    if arguments.posts:
        kernels = list_post_kernels()
        rows = [describe_post_kernel(post, row) for post, row in kernels]
        show_table(POSTS_HEAD, rows, arguments.out / "posts_code.csv", [row.variant for _, row in kernels], compiler)
    else:
        rungs = list_rungs()
        show_table(HEAD, [describe(name) for name in rungs], arguments.out / "ladder_code.csv", rungs, compiler)


if __name__ == "__main__":
    main()
