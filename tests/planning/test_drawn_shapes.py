"""Drawn shapes: the same for a seed, all different, and of every kind."""

from itertools import islice

import pytest

from gemmbench.planning import drawn_shapes
from gemmbench.planning.drawn_shapes import KINDS, draw_shapes, generate_shapes


def test_shapes_are_drawn_from_a_seed_and_of_every_kind():
    shapes = draw_shapes(60, 3)
    assert shapes == draw_shapes(60, 3) != draw_shapes(60, 4)
    assert shapes[:3] == [(141, 322, 1584), (1, 8328, 235), (3648, 32, 2163)]  # as in every version
    assert len(set(shapes)) == 60
    narrowest = [min(m, n) for m, n, _ in shapes]
    assert sum(side <= 16 for side in narrowest) >= 12 and sum(k <= 64 for *_, k in shapes) >= 12
    assert any(side > 64 and k > 64 for side, (*_, k) in zip(narrowest, shapes, strict=True))
    assert all(2 * m * n * k <= 10**12 for m, n, k in shapes)


def test_kinds_come_in_turn_and_one_that_is_used_up_is_left_out(monkeypatch):
    drawn = list(islice(generate_shapes(1), 10))
    assert [kind for kind, _ in drawn] == [*KINDS, *KINDS]
    assert [shape for _, shape in drawn] == draw_shapes(10, 1)
    monkeypatch.setattr(drawn_shapes, "KINDS", {"one": lambda _: (1, 2, 3), "many": KINDS["any"]})
    kinds = [kind for kind, _ in islice(generate_shapes(1), 6)]
    assert kinds == ["one", *["many"] * 5]


@pytest.mark.parametrize("seed", [0, 391221])
def test_rows_of_all_kinds_are_aligned_and_unaligned(seed):
    for kind in KINDS:
        mine = [shape for each, shape in islice(generate_shapes(seed), 300) if each == kind]
        aligned = sum(n % 8 == 0 and k % 8 == 0 for _, n, k in mine)
        assert aligned and (aligned < len(mine) or kind == "layer"), kind
