"""`gemmbench list`."""

import json

import pytest

from gemmbench.backends.registry import list_library_variants


@pytest.fixture
def rows(gemmbench):
    """The rows of the JSON by name, in their order."""

    def rows(*arguments):
        said = gemmbench("list", *arguments, "--json")
        assert (said.code, said.err) == (0, "")
        return {row["name"]: row for row in json.loads(said.out)}

    return rows


def test_the_json_lists_variants_in_ladder_order_with_what_they_need(rows):
    found = rows("--device", "fake")
    names = list(found)
    assert names.index("naive") < names.index("tiled") < names.index("blocktile_2d") < names.index("cublas")
    assert all(row["ready"] and row["reason"] == "" and row["device"] == "fake" for row in found.values())
    assert {variant.name for variant in list_library_variants()} <= set(names)
    tiled = found["tiled"]
    assert tiled["precisions"] == ["f32", "f64", "f16", "bf16", "f16_f32", "bf16_f32", "e4m3", "e5m2", "int8"]
    assert (tiled["layouts"], tiled["configurations"]) == (["nn", "nt", "tn", "tt"], 3)
    assert tiled["min_sm"] == 50 and tiled["summary"]
    assert found["cpu_naive"]["min_sm"] == 0


def test_names_are_listed_by_family_on_one_screen(gemmbench, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = gemmbench("list", "--device", "cpu").out.splitlines()
    assert lines[0].split() == ["family", "kernels"] and len(lines) <= 30
    (family,) = (line for line in lines if line.startswith("cuda "))
    assert " naive, " in family and "(cublas)" in "".join(lines) and "in parentheses" in "".join(lines)
    assert "parentheses" not in gemmbench("list", "--device", "fake").out


def test_a_pattern_or_a_family_chooses_and_shows_a_line_for_each(gemmbench, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = gemmbench("list", "tiled", "naive*", "--device", "fake")
    head, _, *lines = said.out.splitlines()
    assert head.split() == ["name", "family", "here", "precisions", "summary"]
    assert [line.split()[:6] for line in lines if line.startswith("tiled ")] == [
        ["tiled", "cuda", "yes", "f32", "f64", "+7"]
    ]
    assert [line.split()[0] for line in lines if line[:1].strip()][:3] == ["naive_rows", "naive", "tiled"]
    assert "sgemm" not in said.out and "Hidden" not in said.out and "--long" not in said.out
    family = gemmbench("list", "posts", "--device", "fake", "--details").out
    assert "gemm_v2 " in family and "sgemm" not in family
    assert " in mlp " in gemmbench("list", "mlp*", "--device", "fake").out


def test_a_pattern_that_fits_nothing_is_refused_with_the_nearest_name(gemmbench):
    said = gemmbench("list", "tild")
    assert said.code == 2 and "no kernel or family matches 'tild' (did you mean 'tiled'?)" in said.err


def test_here_leaves_out_what_cannot_run(rows):
    everything, here = rows("--device", "cpu"), rows("--device", "cpu", "--here")
    assert list(here) == [name for name, row in everything.items() if row["ready"]] and len(here) < len(everything)


def test_long_holds_all(gemmbench, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    head, _, *lines = gemmbench("list", "--device", "fake", "--long").out.splitlines()
    assert head.split("  ")[0] == "name" and head.endswith("here")
    (tiled,) = (line for line in lines if line.startswith("tiled "))
    assert " nn nt tn tt " in tiled and " 5.0 " in tiled and tiled.rstrip().endswith("ready, fake")


def test_on_a_cpu_the_libraries_of_a_gpu_are_skipped_with_the_reason(gemmbench, rows):
    found = rows("--device", "cpu")
    assert (found["cublas"]["ready"], found["cublas"]["reason"]) == (
        False,
        "needs an NVIDIA GPU, but this run has none",
    )
    assert found["openblas"]["ready"] and found["naive"]["ready"]
    assert "skipped: needs an NVIDIA GPU, but" in gemmbench("list", "--device", "cpu", "--long").out
    short = gemmbench("list", "--device", "cpu").out
    assert "needs an NVIDIA GPU, but" not in short and short.splitlines()[-1].endswith("--long: everything.")
    details = gemmbench("list", "library", "--device", "cpu").out
    assert details.splitlines()[-1].endswith("--long explains why the others do not.")


def test_a_folder_of_one_s_own_adds_its_kernels_as_a_family(rows, write_kernel):
    write_kernel("mine.cu", order="25", params={"T": "[1, 2, 3]"}, require=["T != 2"])
    found = rows("--device", "fake", "--kernels", "kernels")
    names = list(found)
    assert names.index("naive") < names.index("mine") < names.index("tiled")
    assert found["mine"]["configurations"] == 2
    families = {"mine": "kernels", "sgemm_1d": "sgemm", "gemm_v2": "posts", "cublas": "library"}
    assert {name: found[name]["family"] for name in families} == families


def test_a_broken_kernel_is_named_and_the_others_are_listed(gemmbench, write_kernel):
    write_kernel("bad.cu", symbol="other")
    helper = write_kernel("good.cu").parent / "helpers.cu"
    helper.write_text("__device__ int f(int a) { return a; }")
    said = gemmbench("list", "--device", "fake", "--kernels", "kernels", "--json")
    assert said.code == 2 and {"good", "naive"} <= {row["name"] for row in json.loads(said.out)}
    unlisted, broken = said.err.splitlines()
    assert unlisted.startswith("not listed, without a manifest: helpers.cu; ")
    assert broken.startswith("gemmbench: kernels/bad.cu:4: symbol: no `__global__ void other")
    (helper.parent / "bad.cu").unlink()
    said = gemmbench("list", "--device", "fake", "--kernels", "kernels")
    assert (said.code, said.err) == (0, f"{unlisted}\n")
