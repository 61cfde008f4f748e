"""Manifests: parameters, grids, expressions, and the traps of YAML."""

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.manifests.catalog import read_variant


@pytest.mark.parametrize("name", ["M", "alpha", "C", "TA", "TACC", "TRANS_A", "SMEM", "maps", "workspace"])
def test_a_parameter_named_like_an_argument_is_refused(faulty, name):
    message = faulty(f"{name}: 1", params={name: "1"})
    assert message == f"params: the name '{name}' is taken; choose another"


@pytest.mark.parametrize("name", ["tile", "Tile", "_T", "4K", "T-1", "TÄ"])
def test_a_parameter_that_is_no_upper_case_word_is_refused(faulty, name):
    message = faulty(f"{name}: 1", params={name: "1"})
    assert message == f"params: the name '{name}' must be upper-case letters, digits and _; choose another"


@pytest.mark.parametrize("values", ["[]", "[8, x]", "[8, 1.5]", "x", "[true]", "[[8]]"])
def test_parameter_values_are_integers(faulty, values):
    message = faulty("BM:", params={"BM": values})
    assert message.startswith("params.BM: ") and message.endswith("should be integers, such as [8, 16]")


def test_a_parameter_value_that_stands_twice_is_refused(faulty):
    assert faulty("BM:", params={"BM": "[8, 16, 8]"}) == "params.BM: duplicate value 8 in [8, 16, 8]"


@pytest.mark.parametrize("key", ["grid", "block"])
def test_no_grid_and_four_axes_are_refused(faulty, write_kernel, key):
    assert faulty(f"{key}:", **{key: ["1", "1", "1", "1"]}).startswith(f"{key}: 4 expressions; give 1 to 3")
    path = write_kernel(**{key: None})
    with pytest.raises(SpecError, match=rf"{key}: 0 expressions; give 1 to 3, such as `- cdiv\(N, BN\)`"):
        read_variant(path)


@pytest.mark.parametrize("key", ["grid", "block", "require", "shared"])
@pytest.mark.parametrize("evil", ["__import__('os')", "M.real", "9**9**9", "cdiv(K", "QQ + 1", "M +"])
def test_an_evil_or_broken_expression_names_its_key_and_line(faulty, key, evil):
    changed = {"shared": f'"{evil}"'} if key == "shared" else {key: [f'"{evil}"']}
    message = faulty(evil, **changed)
    assert message.startswith(f"{key}: '{evil}'")


def test_a_mistyped_parameter_in_an_expression_offers_the_nearest(faulty):
    message = faulty("cdiv(N, BNN)", params={"BM": "8", "BN": "8"}, grid=["cdiv(N, BNN)"])
    assert "unknown name 'BNN' (did you mean 'BN'?); known: BM, BN, M, N, K, BYTES, BYTES_C, TRANS_A, " in message


@pytest.mark.parametrize(
    ("at", "changed", "words"),
    [
        ("010", {"order": "010"}, "octal"),
        ("[no]", {"layouts": "[no]"}, "truth value"),
        ("1e3", {"order": "1e3"}, "write 1000"),
        ("grid:", {"grid": None, "min_sm": "80\ngrid: [cdiv(N, 16)]"}, "was cut at a comma"),
        ("summary: twice", {"source": "x\nsummary: twice"}, "duplicate key 'summary' (first on line 2)"),
        ("order: .nan", {"order": ".nan"}, ".nan"),
    ],
)
def test_the_traps_of_yaml_are_refused_in_a_manifest(faulty, at, changed, words):
    assert words in faulty(at, **changed)


def test_broken_yaml_names_the_line_in_the_kernel_file(faulty):
    assert faulty("layouts:", precisions="[f32").startswith("broken YAML: ")
