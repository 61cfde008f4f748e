"""A draft of the manifest of a file: what the code says, with `# check` where it is a guess."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gemmbench.planning.drafts.choice import choose_function, list_candidates
from gemmbench.planning.drafts.declarations import read_functions
from gemmbench.planning.drafts.facts import Facts, read_facts
from gemmbench.planning.drafts.headers import find_includes
from gemmbench.planning.drafts.roles import SQUARE, Guess
from gemmbench.planning.drafts.tiles import guess_block, guess_grid, guess_requirements, guess_value
from gemmbench.planning.paths import display_path

MARK = "# check"
_HEAD = "# A draft by `gemmbench new`: look at the lines marked `check`, and remove the marks."
_WIDEST = 100
_MULTIPLES, _SQUARE_SIZE = "512x256x384", "384"
"""Multiples of most tiles; three different ones, since a mistake may need that to show."""
_PLAIN = re.compile(r"[\w./+-]+(?: [\w./+-]+)*")


@dataclass(frozen=True)
class Draft:
    """The text of a manifest, the function that it launches, and the other functions that it could.

    `sizes` are some that meet its requirements; "" if it has none.
    """

    text: str
    symbol: str
    others: tuple[str, ...]
    sizes: str

    @property
    def doubts(self) -> int:
        """How many lines are marked."""
        return sum(MARK in line for line in self.text.splitlines())


def draft_manifest(text: str, path: Path, home: Path, symbol: str | None = None) -> Draft:
    """Draft the manifest of the code in `path`; `home` is the folder of the manifest.

    Raises UsageError if the code has no function to launch, or none called `symbol`.
    """
    functions = read_functions(text)
    function = choose_function(functions, text, symbol, display_path(path))
    others = tuple(each.name for each in list_candidates(functions) if each is not function)
    file, facts = os.path.relpath(path.resolve(), home.resolve()), read_facts(function, text)
    lines = list(_write_manifest(facts, file, find_includes(text, path, home)))
    sizes = _MULTIPLES if _list_requirements(facts) else ""
    return Draft("\n".join(lines) + "\n", function.name, others, _SQUARE_SIZE if _is_square(facts) else sizes)


def _write_manifest(facts: Facts, file: str, includes: Sequence[str]) -> Iterator[str]:
    """The lines of the manifest."""
    function = facts.function
    yield from (_HEAD, f"summary: {_quote(function.name)}", "order: 100", f"file: {_quote(file)}")
    yield from _write_list("include", [Guess(_quote(each)) for each in includes])
    yield _wrap(f"{'symbol' if function.is_kernel else 'host'}: {_write_symbol(facts)}")
    yield from _write_list("args", [Guess(_quote_argument(each.text), each.doubt) for each in facts.arguments])
    yield from _write_problem(facts)
    yield from _write_params(facts)
    yield from _write_list("require", _list_requirements(facts), flow=False)
    if function.is_kernel:
        yield from _write_launch(facts)
    if facts.reads_c:
        yield "reads_c: true  # there is no test whether beta is 0"


def _write_symbol(facts: Facts) -> str:
    """The name of the function, with the arguments of its template."""
    parts = [facts.types.get(each.name) or facts.params[each.name] for each in facts.function.template]
    return f"{facts.function.name}<{', '.join(parts)}>" if parts else facts.function.name


def _write_problem(facts: Facts) -> Iterator[str]:
    """The precision of A, and how the matrices are stored."""
    yield f"precisions: [{facts.precision}]" if facts.precision else f"precisions: [f32]  {MARK}: the type of A"
    yield f"layouts: [nn]  {MARK}: neither A nor B is transposed"
    if facts.column_major:
        yield f"storage: column  {MARK}: an index has the leading dimension on its second term"


def _write_params(facts: Facts) -> Iterator[str]:
    """The values of the integers of the template."""
    integers = list(facts.list_integers())
    yield from ["params:"] if integers else []
    for name, written in integers:
        value = guess_value(name, written, facts.names.constants)
        yield f"  {name}: [{value.text}]{_write_mark(value)}"


def _list_requirements(facts: Facts) -> list[Guess]:
    """Conditions on the problem."""
    square = [Guess("M == N and K == N")] * _is_square(facts)
    return square + (guess_requirements(facts.function, facts.names) if facts.function.is_kernel else [])


def _is_square(facts: Facts) -> bool:
    """Whether it has a single size."""
    return any(each.doubt == SQUARE for each in facts.arguments)


def _write_launch(facts: Facts) -> Iterator[str]:
    """The grid, the block and the dynamic shared memory."""
    function, site, names = facts.function, facts.site, facts.names
    yield from _write_list("grid", guess_grid(function, site, names, facts.column_major), flow=False)
    yield from _write_list("block", guess_block(function, site, names), flow=False)
    shared = names.translate(site.shared) if site else "0"
    if shared is None or (shared == "0" and "extern __shared__" in function.body):
        yield f"shared: 0  {MARK}: bytes of dynamic shared memory"
    elif shared != "0":
        yield f"shared: {shared}"


def _write_list(key: str, items: Sequence[Guess], flow: bool = True) -> Iterator[str]:
    """A list on one line if nothing in it is marked, else one line for each item; nothing for an empty list."""
    line = f"{key}: [{', '.join(item.text for item in items)}]"
    if not items:
        return
    if len(line) <= _WIDEST and not any(item.doubt for item in items) and (flow or "," not in line):
        yield line
        return
    yield f"{key}:"
    for item in items:
        yield f"  - {item.text}{_write_mark(item)}"


def _write_mark(guess: Guess) -> str:
    doubt = "its only size: are all three equal?" if guess.doubt == SQUARE else guess.doubt
    return f"  {MARK}: {doubt}" if doubt else ""


def _wrap(line: str) -> str:
    """A long line as several, which YAML reads as one."""
    return textwrap.fill(line, _WIDEST, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _quote_argument(text: str) -> str:
    return f'"{text}"' if text.startswith("&") else text


def _quote(text: str) -> str:
    """Text as YAML reads it again."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
