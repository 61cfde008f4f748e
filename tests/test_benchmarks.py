"""The programs in benchmarks/ that measure kernels and devices, as far as they go without a GPU."""

from importlib import import_module

import numpy as np
import pytest

from gemmbench.planning.manifests.manifest import read_variant
from gemmbench.planning.paths import data_folder

FOLDER = data_folder("cuda").parent / "benchmarks"


@pytest.fixture
def load(monkeypatch):
    """Imports a program by name, with its folder on the path, as when it is run."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return import_module


def test_every_ablation_changes_the_kernel_as_it_is_now(load, tmp_path):
    ablations = load("ablations")
    ablations.write_copies(tmp_path)
    original = (data_folder("cuda") / "sgemm" / "sgemm_tma.cu").read_text()
    copies = {path.stem: path for path in tmp_path.glob("*.cu")}
    assert set(copies) == {ablation.name for ablation in ablations.ABLATIONS}
    assert original not in {path.read_text() for path in copies.values()}
    assert {read_variant(path).name for path in copies.values()} == set(copies)


def test_an_edit_that_no_longer_fits_is_an_error(load, tmp_path, monkeypatch):
    ablations = load("ablations")
    monkeypatch.setattr(ablations, "ABLATIONS", (ablations.Ablation("x", "y", (("no such text", ""),)),))
    with pytest.raises(ValueError, match=r"x: sgemm_tma\.cu should contain this exactly once: no such text"):
        ablations.write_copies(tmp_path)


def test_the_chain_visits_every_line_once(load):
    hierarchy, address = load("hierarchy"), 1 << 40
    chain = hierarchy.make_chain(address, 64 * hierarchy.LINE)
    at, visited = address, []
    for _ in range(64):
        visited.append(at)
        at = int(chain[(at - address) // hierarchy.LINE, 0])
    assert at == address
    assert sorted(visited) == list(range(address, address + chain.nbytes, hierarchy.LINE))
    assert chain.dtype == np.uint64


def test_the_ladder_is_in_the_order_of_its_rungs(load):
    rungs = load("ladder_code").list_rungs()
    assert rungs[:3] == ["naive", "coalesced", "tiled"]
    assert rungs[-2:] == ["sgemm_tma", "sgemm_splitk"]


def test_tables_are_written_as_csv(load, tmp_path, capsys):
    load("tables").show_table(["a", "b"], [["1", "x, y"]], tmp_path / "new" / "table.csv")
    assert (tmp_path / "new" / "table.csv").read_text() == 'a,b\n1,"x, y"\n'
    assert "x, y" in capsys.readouterr().out
