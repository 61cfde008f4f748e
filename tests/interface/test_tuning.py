"""gemmbench.tune on the fake device."""

from __future__ import annotations

import pytest

import gemmbench
from gemmbench.errors import UsageError
from gemmbench.planning.plans import configurations
from gemmbench.session import tuning_runs


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path, few_sets):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tuning_runs, "_FIRST_SHAPE", (7, 5, 3))
    monkeypatch.setattr(configurations, "SHAPES", ((7, 5, 3),))
    monkeypatch.setattr(configurations, "LARGE", (17, 18, 19))


def test_it_returns_the_winner_and_keeps_it():
    found = gemmbench.tune("tiled", sizes=16, params={"TILE": [8, 16]}, device="fake", out=None, rounds=10)
    assert found.ok and found.path is None
    assert found.best[("tiled", "16 nn f32")]["TILE"] in (8, 16)
    assert "tiled at 16 nn f32: best TILE=" in found.table()
    again = gemmbench.run("tiled", sizes=16, device="fake", out=None, rounds=4, tuned=True)
    assert again.records[0].config == found.best[("tiled", "16 nn f32")]


def test_the_results_file_records_the_command():
    found = gemmbench.tune("tiled", sizes=16, device="fake", rounds=4, budget=2, strategy="random", seed=1)
    words = found.environment.command.split()
    assert words[:3] == ["gemmbench", "tune", "tiled"] and "--budget" in words and "--strategy" in words


@pytest.mark.parametrize("options", [{"with_transfers": True}, {"budget": 1}, {"goal": "speed"}, {"strategy": "grid"}])
def test_a_bad_argument_is_refused(options):
    with pytest.raises(UsageError):
        gemmbench.tune("tiled", sizes=16, device="fake", out=None, **options)
