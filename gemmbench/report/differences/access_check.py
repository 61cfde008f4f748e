"""The output of `gemmbench check --accesses`: lines that ask for more than before, and what was not compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gemmbench.analysis.access_changes import AccessChange, cost_of_line, measure_line
from gemmbench.analysis.accesses import Access
from gemmbench.report.diagnostics.access_report import format_count, format_mean, name_access
from gemmbench.report.differences.check_report import write_annotation
from gemmbench.report.table import Report


@dataclass(frozen=True)
class LineVerdict:
    """A sentence on what one line asks for, now and before. `problems` are those where it does; "" means all of them.

    `path` is the name of the file in messages.
    """

    path: str
    line: int
    text: str
    is_more: bool
    problems: str = ""

    @property
    def sentence(self) -> str:
        """The sentence together with the problems."""
        return f"{self.text} ({self.problems})" if self.problems else self.text


@dataclass(frozen=True)
class FailedKernel:
    """A kernel that could be counted before and that fails now."""

    name: str
    path: str
    reason: str


@dataclass(frozen=True)
class AccessCheck:
    """The outcome for each kernel since a revision.

    `unchanged` kernels have the same code. `changed` kernels have other code, and their accesses were compared. `new`,
    `removed` and `uncounted` kernels were not compared. `uncounted` gives the reasons by name.
    """

    reference: str
    verdicts: Mapping[str, Sequence[LineVerdict]] = field(default_factory=dict)
    failed: Sequence[FailedKernel] = ()
    unchanged: Sequence[str] = ()
    new: Sequence[str] = ()
    removed: Sequence[str] = ()
    uncounted: Mapping[str, str] = field(default_factory=dict)

    @property
    def more(self) -> list[LineVerdict]:
        """The lines that ask for more than before."""
        return [each for lines in self.verdicts.values() for each in lines if each.is_more]

    @property
    def passes(self) -> bool:
        """Whether no line asks for more and no kernel fails."""
        return not self.more and not self.failed

    @property
    def compared_any(self) -> bool:
        """Whether something was compared, or did not need to be because the kernel is new, removed or unchanged."""
        return bool(self.verdicts or self.failed or self.unchanged or self.new or self.removed)

    @property
    def closing_line(self) -> str:
        """The number of kernels that ask for more (worse), less, or the same as before, or whose code is unchanged."""
        words = Counter(_judge_kernel(lines) for lines in self.verdicts.values())
        words.update({"broken": len(self.failed), "unchanged": len(self.unchanged)})
        words.update({"new": len(self.new), "removed": len(self.removed), "not counted": len(self.uncounted)})
        counts = [f"{words[word]} {word}" for word in _WORDS if words[word]]
        return f"accesses against {self.reference}: {', '.join(counts) or 'no kernels'}"


_MORE, _LESS, _SAME = "worse", "better", "the same"
_WORDS = (_MORE, "broken", _LESS, _SAME, "unchanged", "new", "removed", "not counted")


def _judge_kernel(lines: Sequence[LineVerdict]) -> str:
    return _MORE if any(each.is_more for each in lines) else _LESS if lines else _SAME


def judge_lines(
    changes: Mapping[str, Sequence[AccessChange]], paths: Mapping[tuple[str, int], str]
) -> list[LineVerdict]:
    """Judge the lines that ask for more or less, given the changes of a kernel in each problem.

    `paths` are the files of the lines.
    """
    found: dict[LineVerdict, list[str]] = {}
    for problem, each_changes in changes.items():
        for change in each_changes:
            if change.later and (change.is_more or _is_less(change)):
                place = change.later.file, change.later.line
                text = _describe_change(change, change.later)
                verdict = LineVerdict(paths.get(place, place[0]), place[1], text, change.is_more)
                found.setdefault(verdict, []).append(problem)
    return [
        LineVerdict(each.path, each.line, each.text, each.is_more, _list_problems(problems, changes))
        for each, problems in found.items()
    ]


def _is_less(change: AccessChange) -> bool:
    earlier, later = change.earlier, change.later
    return earlier is not None and later is not None and measure_line(later) < measure_line(earlier)


def _list_problems(problems: Sequence[str], every: Iterable[str]) -> str:
    return "" if len(problems) == len(list(every)) else ", ".join(dict.fromkeys(problems))


def _describe_change(change: AccessChange, later: Access) -> str:
    """Describe a change such as `tiled.cu:69 load of A: 4 -> 16 sectors per request`."""
    unit = "wavefronts" if later.is_shared else "sectors"
    place = f"{later.file}:{later.line} {name_access(later)}" if later.line else name_access(later)
    now = cost_of_line(later).requests
    each = format_mean(measure_line(later) / now)
    cost = f"{each} {unit.removesuffix('s') if each == '1' else unit}"
    if change.earlier is None:
        return f"{place}: new, {format_count(now)} requests of {cost}"
    before = cost_of_line(change.earlier).requests
    past = format_mean(measure_line(change.earlier) / before)
    requests = f"{format_count(before)} -> {format_count(now)} requests"
    if past == each:
        if requests == f"{format_count(now)} -> {format_count(now)} requests":
            return f"{place}: {measure_line(change.earlier):,} -> {measure_line(later):,} {unit}"
        return f"{place}: {requests} of {cost}"
    per_request = f"{place}: {past} -> {each} {unit} per request"
    return per_request if before == now else f"{per_request}, {requests}"


def report_access_check(check: AccessCheck) -> Report:
    """Report the lines that changed, and the kernels that were not compared."""
    lines = [each for lines in check.verdicts.values() for each in lines]
    more = [f"asks for more: {each.sentence}" for each in lines if each.is_more]
    less = [f"asks for less: {each.sentence}" for each in lines if not each.is_more]
    failed = [f"broken: {each.name}: {each.reason}" for each in check.failed]
    named = [f"{word}: {', '.join(names)}" for word, names in (("new", check.new), ("removed", check.removed)) if names]
    uncounted = [f"not counted: {name}: {reason}" for name, reason in check.uncounted.items()]
    return Report([], [*more, *failed, *less, *named, *uncounted])


def annotate_accesses(check: AccessCheck) -> list[str]:
    """Return workflow commands for GitHub: an error for each line that asks for more and each kernel that fails."""
    title = f"more than in {check.reference}"
    lines = [write_annotation("error", each.path, each.line, title, each.sentence) for each in check.more]
    return lines + [
        write_annotation("error", each.path, 1, f"{each.name} cannot be counted", each.reason) for each in check.failed
    ]
