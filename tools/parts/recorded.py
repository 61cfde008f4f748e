"""Parts from what was recorded: tables of benchmarks, the step from rung to rung, the text of a file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gemmbench.bench.origin import Origin, split_origins
from gemmbench.errors import StoreError
from gemmbench.report.row import Row
from gemmbench.report.text import number
from tools.citations import cite_text
from tools.page import NoResults, Page
from tools.parts.tables import cite_rows, newest_file, read_comparison


def _write_rows(page: Page, pattern: str, *words: str) -> str:
    """A CSV of a program in benchmarks/: the lines that begin with a word, or all. Raises StoreError."""
    path = newest_file(pattern)
    origin, text = _read_text(path)
    head, *lines = csv.reader(io.StringIO(text))
    names = [word for word in words if not word.startswith("columns=")]
    columns = next((word.partition("=")[2].split(",") for word in words if word not in names), head)
    if unknown := {*names, *columns} - {*head, *(line[0] for line in lines)}:
        raise StoreError(f"no '{min(unknown)}' in {pattern}")
    chosen = [line for line in lines if not names or line[0] in names]
    table = _format_markdown(columns, [[line[head.index(column)] for column in columns] for line in chosen])
    return f"{table}\n\n{cite_text(page, path, origin, table)}"


def _read_text(path: Path) -> tuple[Origin | None, str]:
    """The text of a file, and the origin above it, if there is one."""
    parts = split_origins(path.read_text(encoding="utf-8"))
    return parts[0][0], "".join(text for _, text in parts)


def _format_markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:" if _is_number(lines[0][column]) else "---" for column in range(1, len(head))]]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])


def _is_number(cell: str) -> bool:
    return cell[:1].isdigit()


def _write_step(page: Page, pattern: str, size: str, before: str, after: str) -> str:
    """One sentence: how much faster a rung is than the one before it. Raises StoreError.

    It says whose figures they are unless a part above it does.
    """
    comparison = read_comparison(pattern)
    rows = [row for row in comparison.rows if row.record.problem.size == size and row.ranked]
    old, new = (_find_fastest(rows, name) for name in (before, after))
    ratio = old.time.value / new.time.value
    step = f"{ratio:.1f}x faster" if ratio >= 1.2 else _format_small_step(ratio)
    shares = " instead of ".join(f"{number(row.percent_of_baseline.value, 3)} %" for row in (new, old))
    sentence = f"At {size}, `{after}` is **{step}** than `{before}`: {shares} of {comparison.environment.baseline}."
    above = list(page.citations)
    citation = cite_rows(page, comparison, (old, new))
    return sentence if citation in above else f"{sentence}\n\n{citation}"


def _format_small_step(ratio: float) -> str:
    return f"{100 * abs(ratio - 1):.0f} % {'faster' if ratio > 1 else 'slower'}"


def _find_fastest(rows: Sequence[Row], name: str) -> Row:
    found = [row for row in rows if row.record.variant == name]
    if not found:
        raise NoResults(f"no row of {name}")
    return min(found, key=lambda row: row.time.value)


def _write_text(page: Page, pattern: str, command: str = "") -> str:
    """A recorded text, or of several commands and their outputs the first that begins so. Raises StoreError."""
    path = newest_file(pattern)
    origin, text = _read_text(path)
    text = text.strip()
    if command:
        outputs = re.split(r"^(?=\$ )", text, flags=re.MULTILINE)
        text = next((each.strip() for each in outputs if each.startswith(f"$ {command}")), "")
        if not text:
            raise StoreError(f"no output of '{command}' in {pattern}")
    language = "console" if text.startswith("$ ") else "text"
    return f"```{language}\n{text}\n```\n\n{cite_text(page, path, origin, text)}"


KINDS: Mapping[str, Callable[..., str]] = {"rows": _write_rows, "step": _write_step, "text": _write_text}
