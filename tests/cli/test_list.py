"""`gemmbench list`."""

import json

from gemmbench.backends.registry import list_library_variants


def listed(said):
    return json.loads(said.out)


def test_variants_stand_in_ladder_order_and_are_ready(gemmbench):
    said = gemmbench("list", "--device", "fake", "--json")
    rows = listed(said)
    names = [row["name"] for row in rows]
    assert said.code == 0 and said.err == ""
    assert names.index("naive") < names.index("tiled") < names.index("blocktile_2d") < names.index("cublas")
    assert all(row["ready"] and row["reason"] == "" and row["device"] == "fake" for row in rows)
    assert {variant.name for variant in list_library_variants()} <= set(names)


def test_the_json_says_what_a_variant_needs(gemmbench):
    rows = {row["name"]: row for row in listed(gemmbench("list", "--device", "fake", "--json"))}
    tiled = rows["tiled"]
    assert (tiled["precisions"], tiled["layouts"], tiled["configurations"]) == (
        ["f32", "f64", "f16", "bf16", "f16_f32", "bf16_f32", "e4m3", "e5m2"],
        ["nn", "nt", "tn", "tt"],
        3,
    )
    assert tiled["min_sm"] == 50 and tiled["summary"]
    assert rows["cpu_naive"]["min_sm"] == 0


def test_the_table_is_narrow(gemmbench, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = gemmbench("list", "--device", "fake")
    head, _, *lines = said.out.splitlines()
    assert head.split() == ["name", "family", "here", "precisions", "summary"]
    assert max(map(len, said.out.splitlines())) <= 80
    (tiled,) = (line for line in lines if line.startswith("tiled "))
    assert tiled.split()[:5] == ["tiled", "cuda", "yes", "f32", "f64"]
    assert "Hidden" not in said.out and "--long" not in said.out


def test_long_holds_all(gemmbench, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    head, _, *lines = gemmbench("list", "--device", "fake", "--long").out.splitlines()
    assert head.split("  ")[0] == "name" and head.endswith("here")
    (tiled,) = (line for line in lines if line.startswith("tiled "))
    assert " nn nt tn tt " in tiled and " 5.0 " in tiled and tiled.rstrip().endswith("ready, fake")


def test_the_family_is_the_folder_of_a_kernel(gemmbench, write_kernel):
    write_kernel("mine.cu")
    rows = listed(gemmbench("list", "--device", "fake", "--kernels", "kernels", "--json"))
    families = {row["name"]: row["family"] for row in rows}
    expected = {"mine": "kernels", "sgemm_1d": "sgemm", "gemm_v2": "posts", "cublas": "library"}
    assert {name: families[name] for name in expected} == expected


def test_on_a_cpu_the_libraries_of_a_gpu_are_skipped_with_the_reason(gemmbench):
    rows = {row["name"]: row for row in listed(gemmbench("list", "--device", "cpu", "--json"))}
    assert (rows["cublas"]["ready"], rows["cublas"]["reason"]) == (False, "needs an NVIDIA GPU; this run has none")
    assert rows["openblas"]["ready"] and rows["naive"]["ready"]
    assert "skipped: needs an NVIDIA GPU" in gemmbench("list", "--device", "cpu", "--long").out
    short = gemmbench("list", "--device", "cpu").out
    assert "needs an NVIDIA GPU" not in short and short.splitlines()[-1].endswith("why the others do not.")


def test_a_folder_of_one_s_own_adds_its_kernels(gemmbench, write_kernel):
    write_kernel("mine.cu", order="25", params={"T": "[1, 2, 3]"}, require=["T != 2"])
    names = [row["name"] for row in listed(gemmbench("list", "--device", "fake", "--kernels", "kernels", "--json"))]
    assert names.index("naive") < names.index("mine") < names.index("tiled")
    rows = listed(gemmbench("list", "--device", "fake", "--kernels", "kernels", "--json"))
    assert next(row for row in rows if row["name"] == "mine")["configurations"] == 2


def test_a_broken_kernel_is_named_and_the_others_are_listed(gemmbench, write_kernel):
    write_kernel("bad.cu", symbol="other")
    write_kernel("good.cu")
    said = gemmbench("list", "--device", "fake", "--kernels", "kernels", "--json")
    assert said.code == 2
    assert {"good", "naive"} <= {row["name"] for row in listed(said)}
    assert (
        said.err.startswith("gemmbench: kernels/bad.cu:4: symbol: no `__global__ void other")
        and said.err.count("\n") == 1
    )
