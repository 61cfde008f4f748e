"""The programs in benchmarks/ that measure kernels and devices, as far as they go without a GPU."""

from importlib import import_module

import numpy as np
import pytest

from gemmbench.planning.manifests.readers import read_variant
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


def test_random_cases_are_shared_among_parts_and_tests(load):
    tests = {"manifests": ["a/test_manifests.py::x", "a/test_manifests.py::y"], "configs": ["a/test_configs.py::z"]}
    chunks = list(load("properties").plan_chunks(tests, 10_000, None))
    assert max(chunk.cases for chunk in chunks) == 1000 and len({chunk.seed for chunk in chunks}) == len(chunks)
    names = [*tests["manifests"], *tests["configs"]]
    assert [sum(chunk.cases for chunk in chunks if chunk.test == name) for name in names] == [2500, 2500, 5000]
    assert [chunk.part for chunk in chunks[:3]] == ["manifests", "manifests", "configs"]


def test_a_failing_case_is_counted_and_kept_and_the_next_goes_on(load, tmp_path, monkeypatch):
    properties = load("properties")
    monkeypatch.setenv(properties.FAULTS, str(tmp_path / "faults"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text("the input")
    counter = properties._Counter()
    counted = counter.wrap(lambda number: 1 // number)
    for number in (1, 0, 2, 0):
        counted(number)
    assert (counter.cases, counter.failures.total(), len(counter.failures)) == (4, 2, 1)
    assert next(iter(counter.failures)).startswith("ZeroDivisionError at test_benchmarks.py:")
    kept = [path.read_text() for path in (tmp_path / "faults").rglob("*") if path.is_file()]
    assert len(kept) == 2 and all("the input" in text and "Traceback" in text for text in kept)
