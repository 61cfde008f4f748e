"""The catalog: kernels by name from folders, beside the libraries."""

import pytest

from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.manifests import catalog as catalog_module
from gemmbench.planning.manifests.catalog import Catalog


@pytest.fixture
def library(make_variant):
    return make_variant("cublas", kind="library", devices=("cuda",), order=100, text="", path="")


def test_a_file_dropped_into_a_folder_is_a_variant(write_kernel, tmp_path, library):
    write_kernel("mine.cu")
    write_kernel("deep.cu", folder="kernels/family/sub")
    catalog = Catalog([tmp_path / "kernels"], [library])
    assert sorted(catalog.names) == ["cublas", "deep", "mine"]
    assert catalog.get("deep").name == "deep"
    assert catalog.get("cublas") is library


def test_other_files_are_no_variants(write_kernel, tmp_path):
    write_kernel("mine.cu")
    for name in ("notes.md", "helper.cuh", "mine.h", "old.cu.bak"):
        (tmp_path / "kernels" / name).write_text("x")
    assert Catalog([tmp_path / "kernels"]).names == ["mine"]


def test_a_broken_file_hurts_no_other(write_kernel, tmp_path):
    write_kernel("good.cu")
    write_kernel("bad.cu", symbol="other")
    catalog = Catalog([tmp_path / "kernels"])
    assert catalog.get("good").name == "good"
    with pytest.raises(SpecError, match=r"bad\.cu:4: symbol"):
        catalog.get("bad")


def test_a_broken_file_among_others_is_a_variant_with_a_fault(write_kernel, tmp_path):
    for name in ("good", "base"):
        write_kernel(f"{name}.cu")
    write_kernel("bad.cu", symbol="other")
    catalog = Catalog([tmp_path / "kernels"])
    *readable, bad = catalog.get_ladder(["bad", "good", "base"], needed="base")
    assert {variant.name for variant in readable} == {"good", "base"} and not any(each.fault for each in readable)
    assert bad.name == "bad" and "bad.cu:4: symbol" in bad.fault


@pytest.mark.parametrize(("names", "needed"), [(["bad"], ""), (["bad", "good"], "good"), (["bad", "good"], "bad")])
def test_a_broken_file_is_an_error_if_nothing_else_is_asked_for_or_it_is_needed(write_kernel, tmp_path, names, needed):
    write_kernel("good.cu")
    write_kernel("bad.cu", symbol="other")
    with pytest.raises(SpecError, match=r"bad\.cu:4: symbol"):
        Catalog([tmp_path / "kernels"]).get_ladder(names, needed)


def test_a_name_that_stands_twice_names_both_files(write_kernel, tmp_path):
    write_kernel("mine.cu", folder="a")
    write_kernel("mine.cpp", folder="b")
    with pytest.raises(UsageError, match=r"b/mine\.cpp: the name 'mine' is taken by .*a/mine\.cu; rename one"):
        Catalog([tmp_path / "a", tmp_path / "b"])


def test_a_file_named_like_a_library_is_refused(write_kernel, tmp_path, library):
    write_kernel("cublas.cu")
    with pytest.raises(UsageError, match=r"cublas\.cu: the name 'cublas' is taken by a library; rename the file"):
        Catalog([tmp_path / "kernels"], [library])


def test_the_same_folder_twice_is_no_clash(write_kernel, tmp_path):
    write_kernel("mine.cu")
    assert Catalog([tmp_path / "kernels", tmp_path / "kernels"]).names == ["mine"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"no folder of kernels at .*nowhere; give --kernels a folder with \.cu files"):
        Catalog([tmp_path / "nowhere"])


def test_an_unknown_name_offers_the_nearest_and_lists_all(write_kernel, tmp_path, library):
    write_kernel("tiled.cu")
    with pytest.raises(UsageError) as fault:
        Catalog([tmp_path / "kernels"], [library]).get("tield")
    assert str(fault.value) == "unknown variant 'tield' (did you mean 'tiled'?); known: cublas, tiled"


def test_the_ladder_is_by_order_then_by_name_and_each_once(write_kernel, tmp_path, library):
    write_kernel("b.cu", order="20")
    write_kernel("a.cu", order="20")
    write_kernel("z.cu", order="3.5")
    catalog = Catalog([tmp_path / "kernels"], [library])
    rungs = catalog.get_ladder(["cublas", "b", "z", "a", "b"])
    assert [variant.name for variant in rungs] == ["z", "a", "b", "cublas"]


def test_a_file_is_read_once_however_many_rows_pick_it(write_kernel, tmp_path, monkeypatch):
    write_kernel("mine.cu")
    rows = [f"{{variant: mine, when: M < {row}}}" for row in range(5)]
    write_kernel("pick.cu", body="", symbol=None, grid=None, block=None, pick=rows)
    read, paths = catalog_module.read_variant, []
    monkeypatch.setattr(catalog_module, "read_variant", lambda path: [paths.append(path.name), read(path)][1])
    variants, faults = Catalog([tmp_path / "kernels"]).read_all()
    assert faults == [] and {variant.name: len(variant.picks) for variant in variants} == {"mine": 0, "pick": 5}
    assert sorted(paths) == ["mine.cu", "pick.cu"]
