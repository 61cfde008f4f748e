"""Parts that count what the accesses of a kernel cost on a GPU; they need g++, and read no machine code."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from gemmbench.errors import StoreError
from gemmbench.planning.sizes import read_sizes
from gemmbench.planning.sweeps.run_request import Selection, make_request
from gemmbench.report.diagnostics.access_report import CountedKernel, report_accesses
from gemmbench.session.access_counts import count_accesses
from gemmbench.session.single_kernel import Architecture
from tools.page import ROOT, Page
from tools.parts.listings import format_table

_GPU = Architecture("90", 132)
_VERIFIED = "67x129x50"
_OPTIONS = _SIZES, _PRECISION, _LAYOUT, _PARAM = "--sizes", "--precision", "--layout", "--param"
_PAD = re.compile(r"\bint PAD = .*;")
_COPY = "padded"
_TOTALS = ("Global memory: ", "No machine code was read.")


def _count(selection: Selection) -> CountedKernel:
    """The counts of one launch. Raises StoreError if there are none or several."""
    reasons: list[str] = []
    counted = count_accesses(selection, _GPU, None, reasons.append, asks_nvcc=False)
    if len(counted) != 1:
        raise StoreError("; ".join(reasons) or f"{selection.variants[0]}: give one size and one value per parameter")
    return counted[0]


def _write_accesses(_: Page, name: str, *options: str) -> str:
    """The commands that verify a kernel and count its accesses, and the output of the second.

    With `brief` first: the second command, and only the bound and what follows it.
    """
    is_brief, options = options[:1] == ("brief",), options[options[:1] == ("brief",) :]
    pairs = list(zip(options[::2], options[1::2], strict=False))
    given = dict(pairs)
    if 2 * len(pairs) != len(options) or not given.keys() <= set(_OPTIONS):
        raise StoreError(f"options must be {', '.join(_OPTIONS)}, each with a value")
    params = tuple(value for option, value in pairs if option == _PARAM)
    precisions, layouts = given.get(_PRECISION), given.get(_LAYOUT)
    asked = make_request(
        variants=[name], sizes=given.get(_SIZES), precisions=precisions, layouts=layouts, params=params
    ).selection
    (table,) = report_accesses([_count(asked)]).tables
    notes = [f"- {_mark_code(note)}" for note in table.notes if not (is_brief and note.startswith(_TOTALS))]
    inspect = shlex.join(["gemmbench", "inspect", name, "--accesses", *options])
    if is_brief:
        return "\n".join([f"`{inspect}` says, for {table.title.partition(':')[0]}:", "", *notes])
    commands = [
        f"gemmbench verify {name} --sizes {_VERIFIED}",
        inspect,
    ]
    lines = ["```bash", *commands, "```", "", f"{table.title}.", "", format_table(table.headings, table.cells), ""]
    return "\n".join([*lines, *notes])


def _mark_code(note: str) -> str:
    """A line below a table; the source line at its end is formatted as code."""
    text, sign, code = note.partition(" The line is: ")
    return f"{text}{sign}`{code}`" if sign else text


def _write_pads(_: Page, name: str, array: str, *words: str) -> str:
    """Wavefronts per store to an array, for values of PAD and, last, of a parameter: `0 1 BK=32,16`."""
    parameter, values = (words[-1].partition("=") if words else ("", "", ""))[::2]
    kernel = next((ROOT / "cuda").glob(f"**/{name}.cu"), None)
    source = kernel.read_text(encoding="utf-8") if kernel else ""
    if not values or not _PAD.search(source):
        raise StoreError(f"write KERNEL ARRAY PAD ... PARAM=VALUES, of a kernel with `int PAD = ...;`, not {name}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for pad in words[:-1]:
            text = _PAD.sub(f"int PAD = {pad};", source)
            (Path(folder) / f"{_COPY}.cu").write_text(text, encoding="utf-8")
            counted = [
                _count(Selection((_COPY,), read_sizes(1024), params={parameter: (int(value),)}, kernels=folder))
                for value in values.split(",")
            ]
            rows.append([pad, *(f"{_count_wavefronts(each, array):g}" for each in counted)])
    return format_table(
        [f"PAD: wavefronts per store to {array}", *(f"{parameter}={each}" for each in values.split(","))], rows
    )


def _count_wavefronts(counted: CountedKernel, array: str) -> float:
    stores = [each.cost for each in counted.counts.accesses if each.operand == array and each.writes]
    return sum(cost.wavefronts for cost in stores) / sum(cost.requests for cost in stores)


KINDS: Mapping[str, Callable[..., str]] = {"accesses": _write_accesses, "pads": _write_pads}
