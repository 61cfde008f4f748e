"""Write the generated parts of README.md and of the manual in docs/: `python -m tools.generate_docs [--check]`.

A part stays between two comments and is written from results/ or from the code, never by hand:

    <!-- begin table FILES M=1024 -->     the table of one problem; with the word `finals`, of a sweep
                                          only its winners
    <!-- begin best FILES 5 -->           the fastest configurations
    <!-- begin fastest FILES sgemm -->    for each problem, the fastest kernel whose name begins so
    <!-- begin transfers FILES -->        the tables of transfers
    <!-- begin post FILES -->             a post's table, published and measured
    <!-- begin claims FILES -->           what benchmarks/trust.py found
    <!-- begin columns -->                the columns of the CSV; `columns transfers` those of transfers
    <!-- begin help run -->               the --help of a command
    <!-- end -->

FILES is a pattern such as results/nvidia-h200/*-quick.jsonl; the newest file, by name, is read.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from gemmbench.errors import GemmbenchError, StoreError
from gemmbench.planning.paths import data_folder
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.sweep_config import read_post
from gemmbench.report import store
from gemmbench.report.columns import all_columns, gemm, transfers
from gemmbench.report.columns.column import Column, format_headings, format_rows
from gemmbench.report.comparison import Comparison, compare_rows
from gemmbench.report.flags import explain_letters
from gemmbench.report.posts.story import tell_story
from gemmbench.report.row import Row
from gemmbench.report.table import format_cells, format_list
from gemmbench.report.tables.footer import footer_lines
from gemmbench.report.tables.kernels import choose_rows, tabulate_rows
from gemmbench.report.tables.transfers import report_transfers

README = data_folder("cuda").parent / "README.md"
DOCUMENTS = (README, *sorted((README.parent / "docs").glob("**/*.md")))
_PART = re.compile(r"(<!-- begin (\w+)([^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)
_STYLE = "github"
_FINALS = "finals"


def generate_parts(text: str) -> str:
    """Write every generated part of a text anew. Raises StoreError if a part cannot be written."""

    def generate(found: re.Match[str]) -> str:
        kind, arguments = found[2], found[3].split()
        if kind not in _WRITERS:
            raise StoreError(f"unknown part '{kind}'; known: {', '.join(_WRITERS)}")
        return f"{found[1]}\n{_WRITERS[kind](*arguments)}\n\n{found[4]}"

    return _PART.sub(generate, text)


def _compare(pattern: str) -> Comparison:
    return compare_rows(store.read(_newest_file(pattern)))


def _newest_file(pattern: str) -> Path:
    """The newest file, by name, that matches the pattern. Raises StoreError."""
    found = sorted(README.parent.glob(pattern))
    if not found:
        raise StoreError(f"no file matches {pattern}")
    return found[-1]


def _write_table(pattern: str, *wanted: str) -> str:
    comparison = _compare(pattern)
    rules = [word for word in wanted if word != _FINALS]
    chosen = [problem for problem in comparison.problems if all(_matches(problem.problem, word) for word in rules)]
    rows = [choose_rows(_drop_beaten(each.rows) if _FINALS in wanted else each.rows) for each in chosen]
    tables = [_format_rows(comparison, each) for each in rows]
    body = "\n\n".join(f"{each.title}:\n\n{table}" for each, table in zip(chosen, tables, strict=True))
    flags = explain_letters(row for each in rows for row in each)
    return "\n".join([body, "", *_list_items([*flags, *footer_lines(comparison.run)])])


def _drop_beaten(rows: Sequence[Row]) -> list[Row]:
    """The rows without the configurations of a sweep whose winner was measured again."""
    again = {row.record.variant for row in rows if row.record.phase == "final"}
    return [row for row in rows if row.record.variant not in again or row.record.phase == "final"]


def _format_rows(comparison: Comparison, rows: Sequence[Row]) -> str:
    table = tabulate_rows(rows, comparison.environment.baseline)
    return format_cells(table.cells, table.headings, _STYLE)


def _write_best(pattern: str, count: str) -> str:
    comparison, parts = _compare(pattern), []
    for problem in comparison.problems:
        ranked = sorted((row for row in problem.rows if row.ranked), key=lambda row: row.time.value)
        best = ranked[: int(count)]
        parts.append("\n".join([_format_rows(comparison, best), *format_list(explain_letters(best), _STYLE)]))
    return "\n\n".join(parts)


def _write_fastest(pattern: str, prefix: str) -> str:
    comparison, found = _compare(pattern), []
    for problem in comparison.problems:
        ranked = [row for row in problem.rows if row.ranked and row.record.variant.startswith(prefix)]
        if ranked:
            first = min(row.record.batch for row in ranked)
            found.append((first, problem.title, min(ranked, key=lambda row: row.time.value)))
    found.sort(key=lambda each: each[0])  # as they were asked for; the problems begin with skips
    headings = ["problem", *format_headings(gemm.TABLE, comparison.environment.baseline)]
    cells = [[title, *format_rows(gemm.TABLE, [row])[0]] for _, title, row in found]
    return "\n".join([format_cells(cells, headings, _STYLE), "", *_list_items(footer_lines(comparison.run))])


def _matches(problem: Problem, word: str) -> bool:
    name, _, value = word.partition("=")
    return str(getattr(problem, name)) == value


def _write_transfers(pattern: str, *wanted: str) -> str:
    comparison = _compare(pattern)
    chosen = [problem for problem in comparison.transfers if all(_matches(problem.problem, word) for word in wanted)]
    report = report_transfers(replace(comparison, transfers=chosen))
    parts = [
        "\n".join(
            [f"{table.title}:", "", format_cells(table.cells, table.headings, _STYLE), "", *_list_items(table.notes)]
        )
        for table in report.tables
    ]
    return "\n\n".join([*parts, "\n".join(_list_items(report.footer))])


def _list_items(lines: Sequence[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _write_post(pattern: str) -> str:
    comparison = _compare(pattern)
    post = read_post(comparison.environment.post)
    if post is None:
        raise StoreError(f"{comparison.run.path.name} repeats no post")
    return tell_story(post, comparison, _STYLE).strip()


def _write_claims(pattern: str) -> str:
    """The claims and what was measured. Raises StoreError."""
    text = _newest_file(pattern).read_text(encoding="utf-8")
    claims = dict(re.findall(r"^== (\w+): (.*)$", text, re.MULTILINE))
    results = re.findall(r"^(\w+): (.*): (holds|DOES NOT HOLD) \(\d+ s\)$", text, re.MULTILINE)
    lines = [f"| {claims[name]} | {result} | {'yes' if word == 'holds' else 'no'} |" for name, result, word in results]
    return "\n".join(["| claim | found on an H200 | holds |", "|---|---|---|", *lines])


def _write_columns(which: str = "") -> str:
    columns: Sequence[Column[Any]] = transfers.COLUMNS if which == "transfers" else all_columns.COLUMNS
    lines = [f"| `{column.key}` | {column.meaning} |" for column in columns]
    return "\n".join(["| column | meaning |", "|---|---|", *lines])


def _write_help(command: str) -> str:
    call = [sys.executable, "-m", "gemmbench", command, "--help"]
    text = subprocess.run(call, capture_output=True, text=True, check=True, env={"COLUMNS": "100"}).stdout
    return f"```text\n$ gemmbench {command} --help\n{text.split(chr(10), 1)[1].strip()}\n```"


_WRITERS: dict[str, Callable[..., str]] = {
    "table": _write_table,
    "best": _write_best,
    "fastest": _write_fastest,
    "post": _write_post,
    "transfers": _write_transfers,
    "claims": _write_claims,
    "columns": _write_columns,
    "help": _write_help,
}


def main() -> int:
    """Rewrite the documents, or with --check report those that are out of date; the exit code."""
    stale = []
    for path in DOCUMENTS:
        before = path.read_text(encoding="utf-8")
        try:
            after = generate_parts(before)
        except GemmbenchError as fault:
            click.echo(f"{path.name}: {fault}", err=True)
            return fault.exit_code
        if before != after:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(after, encoding="utf-8")
    if stale and "--check" in sys.argv:
        click.echo(f"{', '.join(stale)}: out of date; run `make docs`", err=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
