"""Where operand sets begin."""

import itertools

import numpy as np
import pytest

from gemmbench.bench.operands.placement import SLACK, SetPlacement


@pytest.mark.parametrize(
    ("count", "alignment", "page"),
    [(2, 512, 2 << 20), (8, 512, 2 << 20), (9, 512, 4 << 10), (1000, 512, 4 << 10), (9, 64 << 10, 64 << 10)],
)
def test_sets_begin_at_the_same_place_of_a_page(count, alignment, page):
    placement = SetPlacement(count, 5 * page + 512, alignment)
    bases = placement.find_bases(1536)
    assert len(bases) == count and {base % page for base in bases} == {1536 % page}
    assert all(after - before == 6 * page for before, after in itertools.pairwise(bases))


@pytest.mark.parametrize(("alignment", "least"), [(512, 200), (64 << 10, 30)])
def test_shifts_are_aligned_and_within_the_slack_and_the_last_set_fits_with_the_largest(alignment, least):
    rng, placement = np.random.default_rng(0), SetPlacement(3, 5000 * 512, alignment)
    shifts = [placement.draw_shift(rng) for _ in range(300)]
    assert all(shift % alignment == 0 and 0 <= shift <= SLACK for shift in shifts)
    assert len(set(shifts)) > least
    assert placement.find_bases(SLACK)[-1] + placement.nbytes == placement.total
