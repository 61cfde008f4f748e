"""A dispatch table as text: what each row of a `pick` names, and what that is worth on other problems."""

from __future__ import annotations

import math

from gemmbench.bench.tuning.outcome import ChosenRow, DispatchTable, HeldOut
from gemmbench.planning.plans.plan import format_configuration
from gemmbench.planning.search_space import Candidate
from gemmbench.report.table import Report, Table
from gemmbench.report.text import count_noun, format_share


def report_dispatch(table: DispatchTable) -> Report:
    """The rows, the problems that were held out, and the largest loss there."""
    tables = [_tabulate_rows(table), *([_tabulate_held_out(table)] if table.held_out else [])]
    return Report(tables, closing=_describe_losses(table))


def _tabulate_rows(table: DispatchTable) -> Table:
    headings = ["row", "when", "problems", "best", "loss", "why it stays"]
    cells = [
        [
            str(row.number + 1),
            row.when or "-",
            str(len(row.problems)),
            _format(row.candidate),
            _loss(row),
            row.reason or "-",
        ]
        for row in table.rows
        if row.problems
    ]
    others = len(table.rows) - len(cells)
    stay, them = ("stays as it is", "it") if others == 1 else ("stay as they are", "them")
    notes = [f"{count_noun(others, 'row')} {stay}: no problem of this search falls to {them}"] if others else []
    left = ["when", "best", "why it stays"]
    return Table(f"{table.variant.name}: rows of its pick", headings, cells, notes, left=left, fold=left)


def _tabulate_held_out(table: DispatchTable) -> Table:
    cells = [[str(each.problem), _format(each.picked), _format(each.best), _held_loss(each)] for each in table.held_out]
    left = ["problem", "picked", "best"]
    headings = ["problem", "picked", "best", "loss"]
    return Table("Problems held out from the choice", headings, cells, left=left, fold=left)


def _describe_losses(table: DispatchTable) -> list[str]:
    known = [each.loss.value - 1 for each in table.held_out if not math.isnan(each.loss.value)]
    if not known:
        return ["No problem was held out: name at least two for a row to see what its choice is worth on others."]
    missing = len(table.held_out) - len(known)
    mean, most = format_share(sum(known) / len(known)), format_share(max(known))
    held = count_noun(len(known), "problem")
    lines = [f"At {held} held out, what is picked takes {mean} longer than the best on average, {most} at most."]
    return lines + ([f"At {count_noun(missing, 'problem')} held out it does not run."] if missing else [])


def _format(candidate: Candidate | None) -> str:
    return "-" if candidate is None else format_configuration(dict(candidate[1]), candidate[0])


def _loss(row: ChosenRow) -> str:
    return "-" if math.isnan(row.loss) else format_share(row.loss)


def _held_loss(each: HeldOut) -> str:
    if math.isnan(each.loss.value):
        return "does not run"
    width = f" +- {format_share(each.loss.half_width)}" if each.loss.known and each.loss.half_width else ""
    return f"{format_share(each.loss.value - 1)}{width}"
