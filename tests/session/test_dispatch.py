"""Which configuration a row of a `pick` gets from searches, and the row changed in the text, nothing else."""

from types import SimpleNamespace

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.problems import Problem
from gemmbench.session.dispatch import PickRow, choose_rows, list_present_choices, replace_pick_rows
from gemmbench.session.machine import find_machine
from gemmbench.session.reporter import SILENT

pytestmark = pytest.mark.usefixtures("few_shapes")

TEXT = """/*---
summary: a test
pick:                       # written by hand
  - when: M <= 4            # few rows
    variant: narrow         # the old one
    params: {A: 1, B: 2}    # and its parameters
  # the middle
  - variant: middle
    when: M <= 8
  - when: M <= 16
    variant: tiled
    params:
      TILE: 8
  - variant: last
source: a page
---*/
// - variant: narrow
"""


def test_a_row_gets_another_variant_and_parameters_and_keeps_condition_and_comments():
    changed = replace_pick_rows(TEXT, {0: PickRow("wide", {"X": 3})}, "a.cu")
    wanted = TEXT.replace("variant: narrow         # the old", "variant: wide         # the old")
    assert changed == wanted.replace("{A: 1, B: 2}", "{X: 3}")


def test_a_row_without_parameters_gets_them():
    changed = replace_pick_rows(TEXT, {1: PickRow("wide", {"X": 3})}, "a.cu")
    wanted = "  - variant: wide\n    params: {X: 3}\n    when: M <= 8\n"
    assert changed == TEXT.replace("  - variant: middle\n    when: M <= 8\n", wanted)


def test_several_rows_change_at_once_and_nothing_without_rows():
    rows = {0: PickRow("one", {"A": 1}), 3: PickRow("two", {"B": 1})}
    changed = replace_pick_rows(TEXT, rows, "a.cu")
    assert "    variant: one " in changed and "  - variant: two\n    params: {B: 1}\nsource: a page" in changed
    assert replace_pick_rows(TEXT, {}, "a.cu") == TEXT


@pytest.mark.parametrize(("number", "message"), [(2, "a.cu:12: pick: write `params: "), (9, "a.cu: pick: its rows")])
def test_a_row_in_another_style_is_refused_with_its_line(number, message):
    with pytest.raises(SpecError) as fault:
        replace_pick_rows(TEXT, {number: PickRow("x", {"A": 1})}, "a.cu")
    assert str(fault.value).startswith(message)


BARE = {"symbol": None, "grid": None, "block": None, "body": ""}
PICK = "\n  - {when: M <= 64, variant: slow}\n  - {when: M > 1000, variant: fast}\n  - variant: slow"
SLOW, FAST = ("slow", (("P", 1),)), ("fast", (("Q", 1),))


def make_outcome(name, edge, values):
    """What a search found for a cube."""
    task = SimpleNamespace(problem=Problem(edge, edge, edge), name=name)
    return SimpleNamespace(task=task, relative_values=values)


@pytest.fixture
def make_best(tmp_path, write_kernel):
    """A variant that picks `slow` and `fast`."""

    def make(**of_fast):
        write_kernel("slow.cu", params={"P": [1]}, precisions=["f32", "f16"])
        write_kernel("fast.cu", params={"Q": [1]}, order=6, **of_fast)
        write_kernel("best.cu", **BARE, order=7, pick=PICK, precisions=["f32", "f16"])
        return Catalog([tmp_path / "kernels"]).get("best")

    return make


@pytest.fixture
def choose(make_best):
    """The rows of a `pick` after searches with these times of `slow` and `fast`, by the edge of a cube."""

    def run(times, share=0.0, **of_fast):
        variant = make_best(**of_fast)
        outcomes = [
            make_outcome(name, edge, {key: value})
            for edge, both in times.items()
            for (name, key), value in zip((SLOW, FAST), both, strict=True)
        ]
        return choose_rows(variant, outcomes, find_machine("fake", SILENT), share, 0)

    return run


def test_a_row_gets_what_is_fastest_on_average(choose):
    rows, held = choose({8: (1.0, 0.2), 16: (1.0, 1.5)}, precisions=["f32", "f16"])
    assert rows[0].candidate == FAST and not held
    rows, _ = choose({8: (1.0, 0.9), 16: (1.0, 1.5)}, precisions=["f32", "f16"])
    assert rows[0].candidate == SLOW
    assert (rows[1].candidate, rows[1].reason) == (None, "no problem of this search falls to it")


def test_a_row_with_candidates_keeps_them(tmp_path, write_kernel):
    write_kernel("slow.cu", params={"P": [1]})
    rows = ["candidates:\n      - slow: {P: 1}", "variant: slow"]
    write_kernel("best.cu", **BARE, order=7, estimates="\n  slow:\n    time: M", pick=rows)
    variant = Catalog([tmp_path / "kernels"]).get("best")
    rows, _ = choose_rows(variant, [make_outcome("slow", 8, {SLOW[1]: 1.0})], find_machine("fake", SILENT), 0.0, 0)
    assert (rows[0].candidate, rows[0].reason) == (
        None,
        "its candidates compete by their estimates; --survey fits them",
    )


def test_problems_that_are_held_out_do_not_count(choose):
    edges = (8, 12, 16, 24)
    _, held = choose(dict.fromkeys(edges, (1.0, 2.0)), share=0.5, precisions=["f32", "f16"])
    left_out = {problem.M for problem in held}
    assert len(left_out) == 2
    times = {edge: (1.0, -9.0) if edge in left_out else (1.0, 1.1) for edge in edges}
    rows, again = choose(times, share=0.5, precisions=["f32", "f16"])
    assert again == held and rows[0].candidate == SLOW


def test_a_row_gets_no_variant_that_lacks_a_precision_which_it_has_served(choose):
    rows, _ = choose({8: (1.0, 0.2)}, precisions=["f32"])
    assert rows[0].candidate == SLOW


@pytest.mark.parametrize(("edges", "names"), [((8, 16), ["slow"]), ((8, 2000), ["slow", "fast"]), ((512,), ["slow"])])
def test_only_rows_that_compute_the_problems_are_searched_as_they_are_now(make_best, edges, names):
    problems = [Problem(edge, edge, edge) for edge in edges]
    choices = list_present_choices(make_best(), problems, find_machine("fake", SILENT))
    assert [choice.name for choice in choices] == names
