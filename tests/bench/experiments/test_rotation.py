"""One rotation of an arena: launches of all rows go through the operand sets in turn."""

from itertools import pairwise

import pytest

from gemmbench.backends.base import Rotation
from gemmbench.backends.fake.backend import FakeExecutable
from gemmbench.planning.sweeps.policy import Policy


@pytest.fixture
def launched(monkeypatch):
    """The operand sets of all launches that rotate, in order."""
    sets, launch = [], FakeExecutable.launch

    def logged(self, index):
        if len(self.sets) > 1:
            sets.append(index)
        launch(self, index)

    monkeypatch.setattr(FakeExecutable, "launch", logged)
    return sets


def test_a_rotation_goes_on_where_the_launch_before_stopped():
    rotation = Rotation(3)
    assert [rotation.take(2), rotation.take(1), rotation.take(5)] == [[0, 1], [2], [0, 1, 2, 0, 1]]
    assert rotation.position == 2


def test_no_launch_meets_a_set_that_a_neighbour_has_just_used(experiment, launched):
    records = experiment("tiled", "naive", "coalesced", policy=Policy(rounds=4, max_time=100.0))
    sets = records[0].sets
    assert sets > 4
    assert len(launched) > 3 * 4
    # Every block begins with set 0, the one that was written first.
    assert all(after in (0, (before + 1) % sets) for before, after in pairwise(launched))
    assert launched.count(0) < len(launched) / 4
