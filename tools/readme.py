"""Writes the generated parts of README.md and docs/*.md: `python tools/readme.py [--check]`.

A part stands between two comments and is made from results/ or from the code, never by hand:

    <!-- begin table results/nvidia-h200/*-quick.jsonl M=1024 -->   one problem of a results file; with
                                                             the word finals, of a sweep only its winners
    <!-- begin best results/nvidia-h200/*-tiles.jsonl 5 -->         the fastest configurations
    <!-- begin fastest results/nvidia-h200/*-sgemm_h200.jsonl sgemm -->   of every problem, the fastest row of a
                                                             kernel whose name begins so
    <!-- begin transfers results/nvidia-h200/*-transfers.jsonl -->    its tables of transfers
    <!-- begin post results/nvidia-h200/*-004-gemm.jsonl -->     a post's table, published and measured
    <!-- begin claims results/nvidia-h200/*-trust.txt -->    what benchmarks/trust.py found
    <!-- begin columns -->                                        the columns of the CSV, or `columns transfers`
    <!-- begin help run -->                                       a command's --help
    <!-- end -->
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click

from gemmbench.errors import GemmbenchError, StoreError
from gemmbench.planning.paths import data_folder
from gemmbench.planning.sweeps.sweep_config import read_post
from gemmbench.report import store, tables, transfer_columns, transfer_tables, transfers
from gemmbench.report.comparison import COLUMNS, Group, Row, groups
from gemmbench.report.flags import legend
from gemmbench.report.footer import footer
from gemmbench.report.posts import story

README = data_folder("cuda").parent / "README.md"
DOCUMENTS = (README, *sorted((README.parent / "docs").glob("*.md")))
_PART = re.compile(r"(<!-- begin (\w+)([^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)
_STYLE = "github"
_FINALS = "finals"


def generated(text: str) -> str:
    """`text` with every generated part made anew. Raises StoreError for a part that cannot be made."""

    def part(found: re.Match[str]) -> str:
        kind, arguments = found[2], found[3].split()
        if kind not in _MAKERS:
            raise StoreError(f"unknown part '{kind}'; known: {', '.join(_MAKERS)}")
        return f"{found[1]}\n{_MAKERS[kind](*arguments)}\n\n{found[4]}"

    return _PART.sub(part, text)


def _run(pattern: str) -> store.Run:
    return store.read(_newest(pattern))


def _newest(pattern: str) -> Path:
    """The newest file, by name, that fits the pattern. Raises StoreError."""
    found = sorted(README.parent.glob(pattern))
    if not found:
        raise StoreError(f"no file fits {pattern}")
    return found[-1]


def _table(file: str, *wanted: str) -> str:
    run = _run(file)
    rules = [word for word in wanted if word != _FINALS]
    chosen = [group for group in groups(run) if all(_matches(group, word) for word in rules)]
    rows = [_winners(group) if _FINALS in wanted else tables.shown_rows(group.rows) for group in chosen]
    parts = [tables.table_of(run.environment, each, _STYLE) for each in rows]
    titles = [f"{group.title}:" for group in chosen]
    body = "\n\n".join(f"{title}\n\n{part}" for title, part in zip(titles, parts, strict=True))
    flags = legend(row for each in rows for row in each)
    return "\n".join([body, "", *_dashes([*flags, *footer(run)])])


def _winners(group: Group) -> list[Row]:
    """The rows without the configurations of a sweep whose winner was measured again."""
    again = {row.record.variant for row in group.rows if row.record.phase == "final"}
    final = [row for row in group.rows if row.record.variant not in again or row.record.phase == "final"]
    return tables.shown_rows(final)


def _best(file: str, count: str) -> str:
    run = _run(file)
    parts = []
    for group in groups(run):
        ranked = sorted((row for row in group.rows if row.ranked), key=lambda row: row.time.value)
        best = ranked[: int(count)]
        table = tables.table_of(run.environment, best, _STYLE)
        parts.append("\n".join([table, *tables.listed(legend(best), _STYLE)]))
    return "\n\n".join(parts)


def _fastest(file: str, prefix: str) -> str:
    run, rows = _run(file), []
    for group in groups(run):
        ranked = [row for row in group.rows if row.ranked and row.record.variant.startswith(prefix)]
        if ranked:
            first = min(row.record.batch for row in ranked)
            rows.append((first, group, min(ranked, key=lambda row: row.time.value)))
    rows.sort(key=lambda found: found[0])  # as they were asked for; groups begin with skips
    head = [name for name, _ in tables.columns(run.environment)]
    cells = [[group.title, *(cell(row) for _, cell in tables.columns(run.environment))] for _, group, row in rows]
    table = tables.tabulated(cells, ["problem", *head], _STYLE)
    return "\n".join([table, "", *_dashes(footer(run))])


def _matches(group: Group, word: str) -> bool:
    return _is(group.rows[0].record.problem, word)


def _is(record: object, word: str) -> bool:
    name, _, value = word.partition("=")
    return str(getattr(record, name)) == value


def _transfers(file: str, *wanted: str) -> str:
    run = _run(file)
    found = [group for group in transfers.groups(run) if all(_is(group.records[0].problem, word) for word in wanted)]
    parts = []
    for group in found:
        table = transfer_tables.table_of(group.rows, _STYLE)
        parts.append(
            "\n".join([f"{transfer_tables.title(group)}:", "", table, "", *_dashes(transfer_tables.notes(group))])
        )
    return "\n\n".join([*parts, "\n".join(_dashes(transfer_tables.footer(run)))])


def _dashes(lines: list[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _post(file: str) -> str:
    run = _run(file)
    post = read_post(run.environment.post)
    if post is None:
        raise StoreError(f"{run.path.name} repeats no post")
    return story(post, run, _STYLE).strip()


def _claims(pattern: str) -> str:
    """What is claimed and what was found. Raises StoreError."""
    said = _newest(pattern).read_text(encoding="utf-8")
    stated = dict(re.findall(r"^== (\w+): (.*)$", said, re.MULTILINE))
    ended = re.findall(r"^(\w+): (.*): (holds|DOES NOT HOLD) \(\d+ s\)$", said, re.MULTILINE)
    lines = [f"| {stated[name]} | {result} | {'yes' if holds == 'holds' else 'no'} |" for name, result, holds in ended]
    return "\n".join(["| claim | found on an H200 | holds |", "|---|---|---|", *lines])


def _columns(which: str = "") -> str:
    columns = transfer_columns.COLUMNS if which == "transfers" else COLUMNS
    lines = [f"| `{name}` | {meaning} |" for name, meaning in columns.items()]
    return "\n".join(["| column | meaning |", "|---|---|", *lines])


def _help(command: str) -> str:
    call = [sys.executable, "-m", "gemmbench", command, "--help"]
    said = subprocess.run(call, capture_output=True, text=True, check=True, env={"COLUMNS": "100"}).stdout
    return f"```text\n$ gemmbench {command} --help\n{said.split(chr(10), 1)[1].strip()}\n```"


_MAKERS: dict[str, Callable[..., str]] = {
    "table": _table,
    "best": _best,
    "fastest": _fastest,
    "post": _post,
    "transfers": _transfers,
    "claims": _claims,
    "columns": _columns,
    "help": _help,
}


def main() -> int:
    """Rewrite the documents, or with --check say whether they are up to date; the exit code."""
    stale = []
    for path in DOCUMENTS:
        before = path.read_text(encoding="utf-8")
        try:
            after = generated(before)
        except GemmbenchError as fault:
            click.echo(f"{path.name}: {fault}", err=True)
            return fault.exit_code
        if before != after:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(after, encoding="utf-8")
    if stale and "--check" in sys.argv:
        click.echo(f"{', '.join(stale)}: not up to date with results/ and the code: run `make docs`", err=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
