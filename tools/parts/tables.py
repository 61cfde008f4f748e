"""Parts from results/: tables of kernels, transfers and posts, each with the source of its figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

from gemmbench.bench.origin import split_origins
from gemmbench.errors import StoreError, nearest
from gemmbench.planning.problems import Problem
from gemmbench.report.columns import all_columns, kernel_columns
from gemmbench.report.columns.column import Column, format_headings, format_rows, pick_columns
from gemmbench.report.comparison import Comparison, compare_rows
from gemmbench.report.flags import explain_letters
from gemmbench.report.row import Row
from gemmbench.report.store.reading import read_results
from gemmbench.report.table import Table, format_cells, format_list
from gemmbench.report.tables.footer import detail_lines, footer_lines
from gemmbench.report.tables.kernel_tables import choose_rows, report_transfers, tabulate_rows
from gemmbench.report.tables.post_tables import report_post
from gemmbench.report.text import count_noun
from gemmbench.report.verdicts import choose_fastest
from tools.citations import Citation, cite_run, cite_text
from tools.page import ROOT, NoResults, Page

STYLE = "pipe"
_DEVICE, _HERE, _SPEED_UP = "Device: ", "Here: ", "Speed-up: "


def newest_file(pattern: str) -> Path:
    """The newest file, by name, that matches the pattern. Raises NoResults."""
    return find_files(pattern)[-1]


def find_files(pattern: str) -> list[Path]:
    """The files that match the pattern, by name, so that the newest is last. Raises NoResults."""
    found = sorted(ROOT.glob(pattern))
    if not found:
        raise NoResults(f"no file matches {pattern}")
    return found


def read_comparison(pattern: str) -> Comparison:
    """The results of the newest file that matches. Raises StoreError."""
    return _compare_file(newest_file(pattern))


@lru_cache(maxsize=4)
def _compare_file(path: Path) -> Comparison:
    """Read once for all parts of a page."""
    return compare_rows(read_results(path))


@dataclass(frozen=True)
class _Choices:
    """The contents of a `table` part: values of the problem, parameters, kernels, columns, and the lines below.

    `step` names two kernels; a sentence says how much faster the second is. `code` are files about the machine code of
    kernels, and `code_columns` are the columns of these to show.
    """

    problem: Mapping[str, str]
    parameters: Mapping[str, str]
    kernels: Sequence[str] = ()
    columns: Sequence[str] = ()
    step: Sequence[str] = ()
    code: str = ""
    code_columns: Sequence[str] = ()
    finals: bool = False
    brief: bool = False

    @classmethod
    def parse(cls, words: Sequence[str]) -> _Choices:
        named = {name: value for name, _, value in (word.partition("=") for word in words if "=" in word)}
        code = named.pop("code", "")
        lists = {key: named.pop(key, "").split(",") for key in ("only", "columns", "step", "code-columns")}
        kernels, columns, step, code_columns = ([item for item in items if item] for items in lists.values())
        problem = {name: value for name, value in named.items() if name in {field.name for field in fields(Problem)}}
        parameters = {name: value for name, value in named.items() if name not in problem}
        flags = ("finals" in words, "brief" in words)
        return cls(problem, parameters, kernels, columns, step, code, code_columns, *flags)

    def choose(self, rows: Sequence[Row]) -> list[Row]:
        chosen = [row for row in rows if not self.kernels or row.record.variant in self.kernels]
        for name in self.parameters:
            if not any(name in row.record.config for row in chosen):
                raise StoreError(f"no row has the parameter {name}")
        chosen = [row for row in chosen if self._has_parameters(row.record.config)]
        return choose_rows(_drop_beaten(chosen) if self.finals else chosen)

    def _has_parameters(self, config: Mapping[str, object]) -> bool:
        """Whether no parameter differs; a kernel without such a parameter passes."""
        return all(str(config.get(name, value)) == value for name, value in self.parameters.items())


def cite_rows(page: Page, comparison: Comparison, rows: Iterable[Row]) -> Citation:
    """Cite the rows of a run that a part of the page shows."""
    return cite_run(page, comparison, [row.record for row in rows])


def _list_footer(comparison: Comparison, citation: Citation, flags: Sequence[str] = ()) -> list[str]:
    """The lines below a table; the line of the device says when and with what it was measured."""
    lines = [*flags, *footer_lines(comparison.run), *detail_lines(comparison.run)]
    return _list_items(
        [f"{line.removesuffix('.')}; {citation.when}." if line.startswith(_DEVICE) else line for line in lines]
    )


def _write_table(page: Page, pattern: str, *words: str) -> str:
    comparison, choices = read_comparison(pattern), _Choices.parse(words)
    chosen = [problem for problem in comparison.problems if _matches(problem.problem, choices.problem)]
    rows = [choices.choose(each.rows) for each in chosen]
    added, code_citation = _read_code_columns(page, choices)
    tables = [_format_rows(comparison, each, choices.columns, added) for each in rows]
    body = "\n\n".join(f"{each.title}:\n\n{table}" for each, table in zip(chosen, tables, strict=True))
    shown = [row for each in rows for row in each]
    citation = cite_rows(page, comparison, shown)
    steps = [_describe_step(each, *choices.step) for each in rows if choices.step]
    if choices.brief:
        return "\n\n".join([*tables, "\n".join([*steps, *map(str, [citation, *code_citation])])])
    return "\n".join([body, "", *_list_footer(comparison, citation, explain_letters(shown))])


def _describe_step(rows: Sequence[Row], before: str, after: str) -> str:
    """One sentence about how much faster a rung is than the previous one, taken from the rows that are shown. Raises
    NoResults.
    """
    old, new = (_find_fastest(rows, name) for name in (before, after))
    ratio = old.time.value / new.time.value
    step = f"{ratio:.1f}x faster" if ratio >= 1.2 else _format_small_step(ratio)
    return f"`{after}` is **{step}** than `{before}`."


def _format_small_step(ratio: float) -> str:
    return f"{100 * abs(ratio - 1):.0f} % {'faster' if ratio > 1 else 'slower'}"


def _find_fastest(rows: Sequence[Row], name: str) -> Row:
    found = [row for row in rows if row.record.variant == name and row.ranked]
    if not found:
        raise NoResults(f"no row of {name}")
    return min(found, key=lambda row: row.time.value)


def _drop_beaten(rows: Sequence[Row]) -> list[Row]:
    """The rows without the configurations of a sweep whose winner was measured again."""
    again = {row.record.variant for row in rows if row.record.phase == "final"}
    return [row for row in rows if row.record.variant not in again or row.record.phase == "final"]


def _read_code_columns(page: Page, choices: _Choices) -> tuple[list[Column[Row]], list[Citation]]:
    """Columns about the machine code of kernels; only a row of the same configuration has a cell. Raises StoreError."""
    if not choices.code:
        return [], []
    path = newest_file(choices.code)
    ((origin, text),) = split_origins(path.read_text(encoding="utf-8"))
    lines = {(line["kernel"], line["configuration"]): line for line in csv.DictReader(io.StringIO(text))}
    heads = next(iter(lines.values()))
    if unknown := [name for name in choices.code_columns if name not in heads]:
        raise StoreError(f"no column '{unknown[0]}' in {choices.code}")

    def make_column(name: str) -> Column[Row]:
        return Column(
            heading=name,
            cell=lambda row: lines.get((row.record.variant, row.record.configuration), {}).get(name, "-"),
        )

    shown = ", ".join(kernel for kernel, _ in lines if kernel in choices.kernels)
    return [make_column(name) for name in choices.code_columns], [cite_text(page, path, origin, shown)]


def _format_rows(
    comparison: Comparison, rows: Sequence[Row], columns: Sequence[str] = (), added: Sequence[Column[Row]] = ()
) -> str:
    baseline = comparison.environment.baseline
    if columns:
        return _format_columns((*_pick_columns(rows, columns), *added), rows, baseline)
    return _format_table(tabulate_rows(rows, baseline))


def _pick_columns(rows: Sequence[Row], headings: Sequence[str]) -> tuple[Column[Row], ...]:
    """The columns with these headings, including those that are empty in all rows. Raises StoreError."""
    known = (*kernel_columns.TABLE, *all_columns.COLUMNS, *all_columns.table_columns(rows, wide=True))
    names = {column.heading for column in known}
    for heading in headings:
        if heading not in names:
            raise StoreError(f"unknown column '{heading}'{nearest(heading, names)}")
    return pick_columns(known, *headings)


def _format_columns(columns: Sequence[Column[Row]], rows: Sequence[Row], baseline: str) -> str:
    left = {column.heading for column in columns if column.left or column.fold}
    return _format_table(Table("", format_headings(columns, baseline), format_rows(columns, rows), left=left))


def _format_table(table: Table) -> str:
    """The cells in Markdown, with numbers aligned to the right."""
    align = ["left" if table.aligns_left(heading) else "right" for heading in table.headings]
    return format_cells(table.cells, table.headings, STYLE, align).replace(
        " +- ", "\N{NO-BREAK SPACE}+-\N{NO-BREAK SPACE}"
    )


def _write_best(page: Page, pattern: str, count: str) -> str:
    comparison, parts, shown = read_comparison(pattern), [], list[Row]()
    for problem in comparison.problems:
        ranked = sorted((row for row in problem.rows if row.ranked), key=lambda row: row.time.value)
        best = ranked[: int(count)]
        shown += best
        parts.append("\n".join([_format_rows(comparison, best), *format_list(explain_letters(best), STYLE)]))
    return "\n\n".join([*parts, str(cite_rows(page, comparison, shown))])


def _write_fastest(page: Page, pattern: str, prefix: str, *words: str) -> str:
    comparison, found, choices = read_comparison(pattern), [], _Choices.parse(words)
    chosen = [problem for problem in comparison.problems if _matches(problem.problem, choices.problem)]
    for problem in chosen:
        ranked = [row for row in choices.choose(problem.rows) if row.ranked and row.record.variant.startswith(prefix)]
        fastest = choose_fastest(ranked)
        if fastest:
            found.append((min(row.record.batch for row in ranked), fastest))
    if not found:
        raise NoResults(f"no row of {prefix}")
    found.sort(key=lambda each: each[0])  # as they were asked for; the problems begin with skips
    heading: Column[Row] = Column(heading="problem", cell=format_problem, left=True)
    rows = [row for _, row in found]
    columns = _pick_columns(rows, choices.columns) if choices.columns else kernel_columns.TABLE
    table = _format_columns((heading, *columns), rows, comparison.environment.baseline)
    if lacking := len(chosen) - len(found):
        table += f"\n\nThis leaves out {count_noun(lacking, 'problem')} for which {prefix} has no ranked row."
    citation = cite_rows(page, comparison, rows)
    if choices.brief:
        return f"{table}\n\n{citation}"
    return "\n".join([table, "", *_list_footer(comparison, citation)])


def format_problem(row: Row) -> str:
    """The problem of a row, as short as its size allows: 4096, 4096 tn, 128x28672x4096 bf16."""
    problem = row.record.problem
    return " ".join(
        [problem.size, *(text for text in (problem.layout, problem.precision_name) if text not in ("nn", "f32"))]
    )


def _matches(problem: Problem, wanted: Mapping[str, str]) -> bool:
    return all(str(getattr(problem, name)) == value for name, value in wanted.items())


def _write_transfers(page: Page, pattern: str, *words: str) -> str:
    comparison, choices = read_comparison(pattern), _Choices.parse(words)
    chosen = [problem for problem in comparison.transfers if _matches(problem.problem, choices.problem)]
    report = report_transfers(replace(comparison, transfers=chosen))
    parts = [
        "\n".join([f"{table.title}:", "", _format_table(table), "", *_list_items(table.notes)])
        for table in report.tables
    ]
    citation = cite_run(page, comparison, comparison.run.records)
    return "\n\n".join([*parts, "\n".join(_list_items([*report.details, str(citation)]))])


def _list_items(lines: Sequence[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _write_post(page: Page, pattern: str, *words: str) -> str:
    """The tables of a post, without the line on speed-ups, which the page explains. Raises StoreError.

    `level=3` sets the level of the first heading, and `M=4096` chooses problems.
    """
    comparison, wanted = read_comparison(pattern), dict(word.split("=", 1) for word in words)
    if not comparison.environment.post:
        raise StoreError(f"{comparison.run.path.name} repeats no post")
    level = int(wanted.pop("level", "2"))
    chosen = [each for each in comparison.problems if _matches(each.problem, wanted)]
    report = report_post(replace(comparison, problems=chosen))
    citation = cite_run(page, comparison, comparison.run.full_records)
    lines = [line for line in report.footer if not line.startswith(_SPEED_UP)]
    footer = [f"{_HERE}{citation}" if line.startswith(_HERE) else line for line in lines]
    return replace(report, footer=footer).format(STYLE).strip().replace("###", "#" * level, 1)


KINDS: Mapping[str, Callable[..., str]] = {
    "table": _write_table,
    "best": _write_best,
    "fastest": _write_fastest,
    "post": _write_post,
    "transfers": _write_transfers,
}
