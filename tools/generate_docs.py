"""Write the generated parts of README.md and of the manual in docs/, and the schemas of YAML files.

    python -m tools.generate_docs [--check | --stale [--release]] [PAGE ...]

A part stays between two comments and is written from results/ or from the code, never by hand:

    <!-- begin table FILES M=1024 -->     the table of one problem. Choices: `finals` shows only the winner
                                          of each sweep, `columns="kernel,time (ms)"` these columns,
                                          `only=naive,tiled` these kernels, `BN=128` rows with this value
                                          of the parameter or without it, `brief` no lines below it,
                                          `step=a,b` a sentence on how much faster kernel b is than kernel a,
                                          `code=FILES code-columns="registers"` columns of a CSV of the code
    <!-- begin best FILES 5 -->           the fastest configurations
    <!-- begin fastest FILES sgemm -->    for each problem, the fastest kernel whose name begins so; choices
                                          `columns`, `only` and `brief` as above
    <!-- begin overview FILES bf16 -->    kernels by sizes: the percentage of the baseline in a precision
    <!-- begin contest sgemm FILES -->    a kernel against the best other at each problem, the worst first;
                                          `worst=10` so many lines
    <!-- begin draw_list sgemm FILES -->  a line for each draw of shapes, and how often the kernel is slow there
    <!-- begin transfers FILES -->        the tables of transfers
    <!-- begin post FILES -->             a post's tables, published and measured; `level=3` below a heading,
                                          `M=4096` those of one size
    <!-- begin claims FILES -->           what benchmarks/trust.py claims, and the newest result of each claim;
                                          `list` writes a list, `count` how many hold, and
                                          `only=noise,repeat` takes these claims
    <!-- begin chart KIND FILES name=x --> a picture, written to docs/images/x.svg, and the link to it
    <!-- begin rows FILES a b -->         a CSV of a program in benchmarks/: its lines a and b, or all;
                                          `columns=x,y` shows only these columns
    <!-- begin text FILES "COMMAND" -->   a recorded text file; of one with the outputs of several
                                          commands, that of the command
    <!-- begin record FOLDER -->          the dates and revisions of the newest file of each recorded command
    <!-- begin profile FILES "COMMAND" counters=a,b -->   some counters of recorded profiles, a line for each launch
    <!-- begin columns -->                the columns of the CSV; `columns transfers` what transfers add
    <!-- begin flags -->                  the letters that mark a row
    <!-- begin exit-codes -->             the exit codes and their errors
    <!-- begin keys MODEL -->             the keys of a file: manifest, launch, tensor-map, pick, config, ...;
                                          `measure:measure` those of a model as keys of the key measure
    <!-- begin precisions -->            how each precision stores its operands and sums products
    <!-- begin file PATH -->              a file of the repository
    <!-- begin script PATH -->            a Python script in cells, as a page
    <!-- begin accesses KERNEL -->   how to verify a kernel without a GPU, and its counts by `inspect --accesses`;
                                          `brief` leaves out the table and the first command;
                                          `--sizes`, `--layout`, `--precision` and `--param` may follow
    <!-- begin pads KERNEL As 0 1 BK=32 --> passes over the banks per store to As, where PAD is 0 or 1, for each BK
    <!-- begin output COMMAND -->         a command and what it prints. In front, `cd=FOLDER` says where it
                                          runs, and `drop=TEXT` leaves out lines with a text
    <!-- end -->

FILES is a pattern such as results/nvidia-h200/*-quick.jsonl.gz; the newest file, by name, is read. A part with the word
`optional` may have none: it says that nothing is measured yet. Each part from results/ names card, date and revision,
and says by itself if the method or the code of a kernel that it shows has changed since; --stale lists these parts.
Without a PAGE, the JSON schemas next to the kernels and the configs are written too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from gemmbench.errors import BAD_ROW, OK, GemmbenchError
from tools.citations import list_misfits
from tools.page import ROOT, Page, list_pages
from tools.parts import CITING, KINDS
from tools.schemas import find_stale_schemas


@click.command(help=__doc__.partition("\n")[0])
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if something is out of date.")
@click.option("--stale", is_flag=True, help="Write nothing; list the parts measured with earlier code or method.")
@click.option("--release", is_flag=True, help="With --stale: exit with 1 if there are any.")
@click.argument("pages", nargs=-1, type=click.Path(exists=True, path_type=Path))
def main(check: bool, stale: bool, release: bool, pages: Sequence[Path]) -> None:
    """Rewrite the pages, or report on them."""
    chosen = [path.resolve() for path in pages] or list_pages()
    try:
        if stale:
            lines = list_stale(chosen)
            click.echo("\n".join(lines) or "every part shows figures of today's code and method")
            sys.exit(BAD_ROW if release and lines else OK)
        changed: dict[Path, str] = {}
        for path in chosen:
            changed |= Page(path, KINDS).find_stale()
        changed |= {} if pages else find_stale_schemas()
        misfits = [] if pages or not check else list(list_misfits(ROOT / "results"))
    except GemmbenchError as fault:
        click.echo(str(fault), err=True)
        sys.exit(fault.exit_code)
    if check:
        faults = [f"{', '.join(map(str, changed))}: out of date; run `make docs`"] if changed else []
        click.echo("\n".join([*faults, *misfits]), err=True, nl=bool(faults or misfits))
        sys.exit(BAD_ROW if faults or misfits else OK)
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
    sys.exit(OK)


def list_stale(pages: Sequence[Path]) -> list[str]:
    """A line for each page and file whose figures do not come from today's code and method, or come from a changed
    revision.
    """
    found = [(page, citation) for page in (Page(path, CITING) for path in pages) for citation in page.list_citations()]
    return list(
        dict.fromkeys(
            f"{page.name}: {citation.file.relative_to(ROOT)}: {citation.fault}"
            for page, citation in found
            if citation.fault
        )
    )


if __name__ == "__main__":
    main()
