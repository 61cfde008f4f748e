"""The output of `gemmbench verify`: a line for each variant, every cause with a map, and what `--sanitize` found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gemmbench.analysis.sanitizer import ToolVerdict
from gemmbench.bench.record import Record
from gemmbench.bench.verify.diagnosis import CRASH, INDEX, NO_BARRIER, OTHER_LAUNCH, UNKNOWN, WATCHED
from gemmbench.planning.problems import Problem
from gemmbench.report.table import Report, Table
from gemmbench.report.tables.footer import list_printed
from gemmbench.report.text import count_noun, number

MOST_FAILURES = 20
_HEADINGS = ("kernel", "configurations", "passed", "failed", "skipped", "error (max. 16)", "device")
_HIDE = ("error (max. 16)", "device", "configurations")
_LARGE_ENOUGH = 8  # dimensions beyond this let the causes of a wrong result be told apart
_MOST_REASONS = 2
_MARGIN = "    "


def report_checks(records: Sequence[Record], closing: str = "", remarks: Sequence[Mapping[str, str]] = ()) -> Report:
    """Report the table of checks, then every failure and what kernels printed, and the `closing` line.

    `remarks` are sentences that do not report failures, by the name of the variant.
    """
    notes = [
        *list_failures(records),
        *_list_invariance(records),
        *list_printed(records),
        *(line for each in remarks for line in _list_remarks(each)),
    ]
    return Report([replace(tabulate_checks(records), notes=notes)], closing=[closing] if closing else [])


def tabulate_checks(records: Sequence[Record]) -> Table:
    """Make a table of the checks that passed, failed and were skipped by variant, with the worst rounding error."""
    by_variant: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: (record.order, record.variant)):
        by_variant.setdefault(record.variant, []).append(record)
    cells = [[name, *_count_checks(rows)] for name, rows in by_variant.items()]
    statuses = [_summarize_status(rows) for rows in by_variant.values()]
    return Table("", _HEADINGS, cells, left=["kernel", "device"], statuses=statuses, hide=_HIDE)


def _summarize_status(rows: Sequence[Record]) -> str:
    """Return `skipped` if nothing ran, `ok` if every check passed, or else the first other status."""
    ran = [record.status for record in rows if record.status != "skipped"]
    return next((status for status in ran if status != "ok"), "ok") if ran else "skipped"


def _count_checks(rows: Sequence[Record]) -> list[str]:
    ran = [record for record in rows if record.status != "skipped"]
    passed = [record for record in ran if record.status == "ok"]
    worst = max((record.error or 0.0 for record in passed), default=math.nan)
    configurations = len({record.configuration for record in ran})
    counts = [configurations, len(passed), len(ran) - len(passed), len(rows) - len(ran)]
    return [*map(str, counts), number(worst, 3), rows[0].backend if ran else "-"]


def list_failures(records: Sequence[Record]) -> list[str]:
    """Return a paragraph for each cause of failure, and a line for each variant with skipped checks.

    The example is the smallest problem that shows the cause. A map of C follows if there is one. Faults seen in the
    accesses of a kernel come first, followed by their effect on results. The order is reversed if another launch would
    be correct.
    """
    groups = _group_failures([record for record in records if record.status not in ("ok", "skipped")])
    lines = []
    for rows in groups[:MOST_FAILURES]:
        parts = _order_parts(*_split_faults(rows))
        examples = [_choose_example(part) for part in parts]
        several = len({row.configuration for row in rows}) > 1
        told = [_describe_failures(part, example) for part, example in zip(parts, examples, strict=True)]
        lines.append(f"\n{_MARGIN}".join([f"{_name_failures(examples[0], several)}: {told[0]}", *told[1:]]))
        lines += [_MARGIN + line for example in examples for line in example.wrong_map.splitlines()]
    if len(groups) > MOST_FAILURES:
        lines.append(f"and {len(groups) - MOST_FAILURES} more causes")
    return [*lines, *_list_skips(records)]


def _list_invariance(records: Sequence[Record]) -> list[str]:
    """`mine at 64x8x33 nn f32: batch invariance: ...`, a line for each variant and for what its rows have in common."""
    asked: dict[tuple[str, str], list[Record]] = {}
    for record in sorted(records, key=lambda record: (record.order, record.variant)):
        if record.invariance:
            asked.setdefault((record.variant, record.invariance), []).append(record)
    names = Counter(name for name, _ in asked)
    lines = []
    for (name, words), rows in asked.items():
        where = f" {_describe_rows(rows)}" if names[name] > 1 else ""
        lines.append(f"{name}{where}: batch invariance: {words}")
    return lines


def _describe_rows(rows: Sequence[Record]) -> str:
    """`TILE=16 at 64x8x33 nn f32 and 2 more`."""
    distinct = {record.identity: record for record in rows}
    first, more = next(iter(distinct.values())), len(distinct) - 1
    where = f"{first.configuration} at {first.problem.size} {first.problem.layout} {first.problem.precision_name}"
    return f"{where} and {more} more".strip() if more else where.strip()


def _list_remarks(remarks: Mapping[str, str]) -> list[str]:
    """Return a line for each sentence, such as `tgemm, wmma: accesses not watched: ...`."""
    names: dict[str, list[str]] = {}
    for name, sentence in remarks.items():
        names.setdefault(sentence, []).append(name)
    return [f"{', '.join(each)}: {sentence}" for sentence, each in names.items()]


def _split_faults(rows: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Separate faults seen in the accesses of a kernel from failures of its results."""
    faults = [row for row in rows if row.diagnosis.startswith(WATCHED)]
    return faults, [row for row in rows if not row.diagnosis.startswith(WATCHED)]


def _order_parts(faults: list[Record], results: list[Record]) -> list[list[Record]]:
    """Put faults first, since they name lines, unless the results show that the launch is wrong and not the kernel."""
    is_launch = any(row.diagnosis == OTHER_LAUNCH for row in results)
    return [part for part in ((results, faults) if is_launch else (faults, results)) if part]


_LOST = "products lost"
_KINDS = dict.fromkeys(("product lost", "last k lost", "first k lost", "one k lost", "tile of k lost"), _LOST)
_KINDS |= {"every p-th k lost": _LOST}
_OTHER_BLOCKS = "next", "previous", "first", "last", "opposite"
_KINDS |= {f"scale of {which} block": "scale of other block" for which in _OTHER_BLOCKS}
"""The causes by which one mistake shows at different sizes."""


def _group_failures(failed: Sequence[Record]) -> list[list[Record]]:
    """Group the failures of a variant by cause.

    A failure without a clear cause, such as on a very small problem, is grouped with the rest of its configuration. If
    a fault was seen in the accesses of a configuration, all its failures are grouped with that fault. Where several
    forms of a problem come together, such as padding in a batch, the cause in a simpler problem explains the failure.
    """
    known: dict[tuple[str, str], str] = {}
    for record in _split_faults(failed)[0]:
        known.setdefault((record.variant, record.configuration), record.diagnosis)
    for record in failed:
        if _explains_all(record):
            known.setdefault((record.variant, record.configuration), record.diagnosis)
    simplest: dict[tuple[str, str], int] = {}
    for record in sorted(failed, key=_count_forms):
        if not _is_vague(record):
            known.setdefault((record.variant, record.configuration), _find_kind(record))
            simplest.setdefault((record.variant, record.configuration), _count_forms(record))
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in failed:
        cause = known.get((record.variant, record.configuration), "")
        status, explained = record.status, cause.startswith(INDEX) or cause in (OTHER_LAUNCH, NO_BARRIER)
        if cause.startswith(WATCHED):
            status = "failed"
        elif explained and (status == "wrong" or record.diagnosis == CRASH):
            status = "wrong"
        elif not cause or not (_is_vague(record) or _is_explained(record, simplest)):
            cause = _find_kind(record)
        groups.setdefault((record.variant, status, cause), []).append(record)
    return list(groups.values())


def _count_forms(record: Record) -> int:
    problem = record.problem
    return sum(map(bool, (problem.count > 1, *problem.form.values())))


def _is_explained(record: Record, simplest: Mapping[tuple[str, str], int]) -> bool:
    """Return whether several forms come together, and the same configuration has a cause in a simpler problem."""
    forms = _count_forms(record)
    return record.status == "wrong" and forms > max(1, simplest.get((record.variant, record.configuration), forms))


def _find_kind(record: Record) -> str:
    """Return the kind of failure. Failures of one kind are reported once."""
    if record.diagnosis in ("", UNKNOWN, CRASH):
        return record.reason.partition("\n")[0] if record.status != "wrong" else UNKNOWN
    return _KINDS.get(record.diagnosis, record.diagnosis)


def _explains_all(record: Record) -> bool:
    """Return whether one mistake in the indices or in the launch explains the whole result."""
    return record.diagnosis.startswith(INDEX) or record.diagnosis in (OTHER_LAUNCH, NO_BARRIER)


def _is_vague(record: Record) -> bool:
    return record.status == "wrong" and (
        record.diagnosis in ("", UNKNOWN) or _smallest_dimension(record.problem) <= _LARGE_ENOUGH
    )


def _list_skips(records: Sequence[Record]) -> list[str]:
    """List what was skipped of each variant, and why. There is no count if all of it was skipped."""
    ran = {record.variant for record in records if record.status != "skipped"}
    reasons: dict[str, Counter[str]] = {}
    for record in records:
        if record.status == "skipped":
            reasons.setdefault(record.variant, Counter())[record.reason] += 1
    return [f"{name}: {_describe_skips(counts, name in ran)}" for name, counts in reasons.items()]


def _describe_skips(counts: Counter[str], has_run: bool) -> str:
    if len(counts) == 1 and not has_run:
        return f"skipped: {next(iter(counts))}"
    shown = counts.most_common(_MOST_REASONS)
    rest = counts.total() - sum(count for _, count in shown)
    parts = [f"{count} skipped: {reason}" for reason, count in shown]
    return "; ".join([*parts, *([f"{rest} skipped for other reasons"] if rest else [])])


def _choose_example(rows: Sequence[Record]) -> Record:
    """Choose the smallest problem that shows the cause, preferably not too small and with M, N and K unequal."""
    best = next((row for row in rows if _explains_all(row)), None)
    shown = [row for row in rows if row.diagnosis == best.diagnosis] if best else rows

    def rank(record: Record) -> tuple[bool, bool, bool, int]:
        problem = record.problem
        sides = (problem.M, problem.N, problem.K)
        small = _smallest_dimension(problem) <= _LARGE_ENOUGH
        return small, record.diagnosis in ("", UNKNOWN), len(set(sides)) < len(sides), math.prod(sides)

    return min(shown, key=rank)


def _smallest_dimension(problem: Problem) -> int:
    return min(problem.M, problem.N, problem.K)


def _name_failures(example: Record, several: bool) -> str:
    return example.variant if several else f"{example.variant} {example.configuration}".strip()


def _describe_failures(rows: Sequence[Record], example: Record) -> str:
    configurations = len({row.configuration for row in rows})
    where = f"{example.problem.size} {example.problem.layout} {example.problem.precision_name}"
    where += example.problem.form_words
    more = f" (and {count_noun(len(rows) - 1, 'more problem')})" if len(rows) > 1 else ""
    if configurations > 1:
        where = f"{where} {example.configuration}"
        more = f" (and {count_noun(len(rows) - 1, 'more check')}, in {configurations} configurations)"
    first, *others = example.reason.split("\n") if example.diagnosis.startswith(WATCHED) else [example.reason]
    return f"\n{_MARGIN}".join([f"{example.status} at {where}: {first}{more}", *others])


@dataclass(frozen=True)
class SanitizerResult:
    """The finding of one tool in some configurations of a variant.

    A variant that cannot run has no verdict.
    """

    variant: str
    configuration: str
    tool: str
    verdict: ToolVerdict | None
    reason: str = ""

    @property
    def clean(self) -> bool:
        """Whether the tool found no error, or nothing ran."""
        return self.verdict is None or self.verdict.status == "clean"


def report_results(results: Sequence[SanitizerResult]) -> Report:
    """Report one line for each result, and the errors below. Errors include hazards."""
    headings = ["kernel", "configuration", "tool", "errors", "status"]
    cells = [_format_cells(result) for result in results]
    statuses = [row[-1] for row in cells]
    left, fold = ["kernel", "tool", "status"], ["configuration"]
    return Report([Table("", headings, cells, list_errors(results), left, statuses, fold)])


def _format_cells(result: SanitizerResult) -> list[str]:
    verdict = result.verdict
    if verdict is None:
        return [result.variant, "-", "-", "-", "skipped"]
    errors = str(verdict.errors) if verdict.status in ("clean", "errors") else "-"
    return [result.variant, result.configuration or "-", result.tool, errors, verdict.status]


def list_errors(results: Sequence[SanitizerResult]) -> list[str]:
    """List the first error of each result that is not clean, and the reason for each skip."""
    lines = []
    for result in results:
        if result.verdict is None:
            lines.append(f"{result.variant}: skipped: {result.reason}")
        elif not result.clean:
            name = " ".join(filter(None, (result.variant, result.configuration, result.tool)))
            lines.append(f"{name}: {result.verdict.message}")
    return lines
