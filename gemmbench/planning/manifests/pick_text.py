"""Rows of `pick` in the text of a manifest, changed in place: all else stays as it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gemmbench.errors import SpecError

_PICK = re.compile(r"pick:\s*(#.*)?$")
_VARIANT = re.compile(r"(?P<head>\s*(?:-\s+)?variant:\s*)(?P<value>[\w.]+)(?P<tail>\s*(?:#.*)?)$")
_PARAMS = re.compile(r"(?P<head>\s*(?:-\s+)?params:\s*)(?P<value>\{[^}#]*\})(?P<tail>\s*(?:#.*)?)$")
_NEXT_KEY = re.compile(r"(?!- )[^\s#]")
_KEY = re.compile(r"\s*(?:-\s+)?params:")


@dataclass(frozen=True)
class PickRow:
    """What a row of `pick` names: a variant and the values of its parameters."""

    variant: str
    params: Mapping[str, int]

    def __str__(self) -> str:
        return f"{{{', '.join(f'{name}: {value}' for name, value in self.params.items())}}}"


def replace_pick_rows(text: str, rows: Mapping[int, PickRow], location: str) -> str:
    """The text of a manifest with other variants and parameters in some rows of `pick`, by their numbers from 0.

    Conditions, comments and all other rows stay. Raises SpecError for a row that is written in another style.
    """
    lines = text.split("\n")
    places = list(_find_rows(lines))
    for number in sorted(rows, reverse=True):
        if number >= len(places):
            raise SpecError(location, None, "pick: its rows are not a list of lines that begin with `- `")
        first, end = places[number]
        lines[first:end] = _rewrite_row(lines[first:end], rows[number], location, first + 1)
    return "\n".join(lines)


def _find_rows(lines: list[str]) -> Iterator[tuple[int, int]]:
    """The first line of each row of `pick`, and the line after its last."""
    start = next((number for number, line in enumerate(lines) if _PICK.match(line)), len(lines))
    end = next((number for number in range(start + 1, len(lines)) if _NEXT_KEY.match(lines[number])), len(lines))
    firsts = [number for number in range(start + 1, end) if re.match(r"\s*- ", lines[number])]
    depth = min((len(lines[number]) - len(lines[number].lstrip()) for number in firsts), default=0)
    firsts = [number for number in firsts if re.match(rf"\s{{{depth}}}- ", lines[number])]
    yield from zip(firsts, [*firsts[1:], end], strict=True)


def _rewrite_row(lines: list[str], row: PickRow, location: str, number: int) -> list[str]:
    found = next((index for index, line in enumerate(lines) if _VARIANT.match(line)), None)
    if found is None:
        raise SpecError(location, number, "pick: write `variant: NAME` on a line of its own")
    written = [_substitute(_VARIANT, line, row.variant) if index == found else line for index, line in enumerate(lines)]
    params = next((index for index, line in enumerate(lines) if _KEY.match(line)), None)
    if params is None:
        indent = re.sub(r"[^ ]", " ", written[found][: written[found].index("variant:")])
        return [*written[: found + 1], *([f"{indent}params: {row}"] if row.params else []), *written[found + 1 :]]
    if not _PARAMS.match(lines[params]):
        raise SpecError(location, number + params, "pick: write `params: {NAME: VALUE, ...}` on one line")
    written[params] = _substitute(_PARAMS, lines[params], str(row))
    return written


def _substitute(pattern: re.Pattern[str], line: str, value: str) -> str:
    return pattern.sub(lambda found: f"{found['head']}{value}{found['tail']}", line)
