"""Batch invariance on a GPU: a plain kernel has it, one that picks how to split K has it in each configuration only."""

from pathlib import Path

import pytest

from gemmbench.report.store.reading import read_results
from tests.gpu.foreign_runs import gemmbench

KERNELS = Path(__file__).parents[1] / "kernels"
SHAPE = ("--sizes", "33x65x100", "--layout", "nn", "--precision", "f32")


@pytest.fixture
def ask(tmp_path):
    """What `verify --invariance` keeps of these variants, by name."""

    def run(*names):
        options = ("--invariance", *SHAPE, "--no-watch", "--out", "kept", "--kernels", KERNELS)
        done = gemmbench(tmp_path, "verify", *names, *options)
        assert done.returncode == 0, done.stderr
        (path,) = (tmp_path / "kept").glob("*.jsonl")
        return {record.variant: record for record in read_results(path).records}

    return run


def test_a_split_that_depends_on_m_shows_where_it_is_picked_and_not_where_it_is_held_fixed(ask):
    found = ask("naive", "split_k", "dispatch")
    words = {name: record.invariance for name, record in found.items()}
    assert words["naive"] == words["split_k"] == "invariant"
    assert words["dispatch"] == "held fixed: invariant; as picked: depends on M: 64, 129 and 4096 differ from 1"


def test_a_library_and_a_shipped_pick_are_answered(ask):
    for record in ask("cublas", "sgemm").values():
        assert record.status == "skipped" or "invariant" in record.invariance or "depends on" in record.invariance
