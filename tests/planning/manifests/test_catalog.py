"""The catalog: kernels by name from folders, beside the libraries."""

import re
from pathlib import Path

import pytest

from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.manifests import catalog as catalog_module
from gemmbench.planning.manifests.catalog import Catalog, read_drafted


@pytest.fixture
def catalog(write_kernel, make_variant, tmp_path):
    """A catalog of a library and of a folder, named twice, of kernels: their names and keys."""

    def make(**kernels):
        for name, keys in kernels.items():
            write_kernel(f"{name}.cu", **keys)
        library = make_variant("cublas", kind="library", devices=("cuda",), order=100, text="", path="")
        return Catalog([tmp_path / "kernels", tmp_path / "kernels"], [library])

    return make


BROKEN = {"symbol": "other"}


def test_every_kernel_file_in_a_folder_is_a_variant_and_no_other_file_is(catalog, write_kernel, tmp_path):
    write_kernel("deep.cu", folder="kernels/family/sub")
    for name in ("notes.md", "helper.cuh", "mine.h", "old.cu.bak"):
        (tmp_path / "kernels" / name).write_text("x")
    found = catalog(mine={})
    assert sorted(found.names) == ["cublas", "deep", "mine"]
    assert (found.get("deep").name, found.get("cublas").kind) == ("deep", "library")


def test_a_broken_file_hurts_no_other_and_is_a_variant_with_a_fault_among_others(catalog):
    found = catalog(good={}, base={}, bad=BROKEN)
    assert found.get("good").name == "good"
    with pytest.raises(SpecError, match=r"bad\.cu:4: symbol"):
        found.get("bad")
    *readable, bad = found.get_ladder(["bad", "good", "base"], needed="base")
    assert {variant.name for variant in readable} == {"good", "base"} and not any(each.fault for each in readable)
    assert bad.name == "bad" and "bad.cu:4: symbol" in bad.fault


@pytest.mark.parametrize(("names", "needed"), [(["bad"], ""), (["bad", "good"], "good"), (["bad", "good"], "bad")])
def test_a_broken_file_is_an_error_if_nothing_else_is_asked_for_or_it_is_needed(catalog, names, needed):
    with pytest.raises(SpecError, match=r"bad\.cu:4: symbol"):
        catalog(good={}, bad=BROKEN).get_ladder(names, needed)


def test_a_name_of_two_files_or_of_a_library_costs_its_own_row(catalog, write_kernel, tmp_path):
    write_kernel("mine.cu", folder="a")
    write_kernel("mine.cpp", folder="b")
    write_kernel("good.cu", folder="b")
    found = Catalog([tmp_path / "a", tmp_path / "b"])
    good, mine = found.get_ladder(["mine", "good"])
    assert not good.fault and re.search(
        r"b/mine\.cpp: the name 'mine' is taken by .*a/mine\.cu; rename one", mine.fault
    )
    with pytest.raises(SpecError, match=r"cublas\.cu: the name 'cublas' is taken by a library; rename the file"):
        catalog(cublas={}).get("cublas")


def test_files_without_a_manifest_take_no_name_and_helpers_in_python_are_no_variants(catalog, write_kernel, tmp_path):
    write_kernel("mine.cu", folder="a")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "main.cu").write_text("int main() {}")
        (tmp_path / folder / "helper.py").write_text("import sys")
    (tmp_path / "b" / "mine.cu").write_text("int main() {}")
    found = Catalog([tmp_path / "a", tmp_path / "b"])
    assert found.get("mine").text and set(found.names) == {"mine", "main"}


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"no folder of kernels at .*nowhere; give --kernels a folder with \.cu files"):
        Catalog([tmp_path / "nowhere"])


def test_an_unknown_name_offers_the_three_nearest_and_where_all_are(catalog):
    names = {name: {} for name in ("tiled", "tile", "tidal", "title")}
    with pytest.raises(UsageError) as fault:
        catalog(**names).get("tiled2")
    assert str(fault.value) == (
        "unknown kernel 'tiled2' (did you mean 'tiled', 'tile' or 'title'?); "
        "`gemmbench list` shows all names; name a file by its path, such as ./mine.cu, or add --kernels FOLDER"
    )


def test_an_unknown_name_of_a_file_in_this_folder_offers_its_path(catalog, tmp_path, monkeypatch):
    (tmp_path / "mine.cu").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"unknown kernel 'mine'; to use the file in this folder, write \./mine\.cu"):
        catalog(tiled={}).get("mine")


def test_the_ladder_is_by_order_then_by_name_and_each_once(catalog):
    found = catalog(b={"order": "20"}, a={"order": "20"}, z={"order": "3.5"})
    assert [variant.name for variant in found.get_ladder(["cublas", "b", "z", "a", "b"])] == ["z", "a", "b", "cublas"]


def test_a_file_is_read_once_however_many_rows_pick_it(write_kernel, tmp_path, monkeypatch):
    write_kernel("mine.cu")
    rows = [f"{{variant: mine, when: M < {row}}}" for row in range(5)]
    write_kernel("pick.cu", body="", symbol=None, grid=None, block=None, pick=rows)
    read, paths = catalog_module.read_variant, []
    monkeypatch.setattr(catalog_module, "read_variant", lambda path: [paths.append(path.name), read(path)][1])
    variants, faults = Catalog([tmp_path / "kernels"]).read_all()
    assert faults == [] and {variant.name: len(variant.picks) for variant in variants} == {"mine": 0, "pick": 5}
    assert sorted(paths) == ["mine.cu", "pick.cu"]


@pytest.mark.parametrize(
    "content", [b"file: a\0b\n", b"file: \xff\n", b"file: \xc0\x80\n", b"\xff\xfef\0i\0", b"file: " + b"x" * 5000]
)
def test_odd_bytes_in_a_manifest_cost_that_file_only(catalog, tmp_path, content):
    found = catalog(mine={})
    (tmp_path / "kernels" / "odd.yaml").write_bytes(content)
    found = Catalog([tmp_path / "kernels"])
    assert found.get("mine").name == "mine"
    (read, faults) = found.read_all()
    assert [variant.name for variant in read] == ["mine"] and len(faults) == 1 and "odd.yaml" in str(faults[0])
    assert faults[0].__traceback__ is None  # it would keep the text of each broken file


def test_the_file_key_names_code_however_it_is_written(catalog, tmp_path):
    catalog(mine={}, yours={}, theirs={})
    folder = tmp_path / "kernels"
    for name in ("mine", "yours", "theirs"):
        text = (folder / f"{name}.cu").read_text()
        (folder / f"{name}.cu").write_text(text.partition("---*/")[2])
    (folder / "a.yaml").write_text("file: mine.cu  # the code\n")
    (folder / "b.yaml").write_text("file:   'yours.cu'\n")
    (folder / "c.yaml").write_text('file: "theirs.cu"   \n')
    assert sorted(Catalog([folder]).names) == ["a", "b", "c"]


def test_a_drafted_variant_names_its_file_whole_since_compilers_run_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    manifest = "symbol: mm\nargs: [A, B, C, M, N, K]\ngrid: ['cdiv(N, 16)', 'cdiv(M, 16)']\nblock: [16, 16]\n"
    text = "__global__ void mm(const float*, const float*, float*, int, int, int) {}"
    manifest += "file: below/mine.cu\nprecisions: [f32]\nlayouts: [nn]\nsummary: mine\norder: 1\n"
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "mine.cu").write_text(text)
    assert read_drafted(Path("below/mine.cu"), manifest, text).code.file == str(tmp_path / "below" / "mine.cu")
