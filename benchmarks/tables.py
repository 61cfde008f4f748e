"""Tables of the programs here that measure something other than variants, on the screen and as CSV."""

import csv
from collections.abc import Sequence
from pathlib import Path

from claims import format_table

from gemmbench.bench.origin import describe_origin


def show_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], path: Path | None, kernels: Sequence[str] = (), card: str = ""
) -> None:
    """Print a table and, unless `path` is None, write it there as CSV below its origin.

    `kernels` are those that it is about, as in describe_origin; `card` is the device that was measured, by default this
    GPU.
    """
    print(format_table(rows, head))
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            file.write(str(describe_origin(kernels, card)))
            csv.writer(file, lineterminator="\n").writerows([head, *rows])
