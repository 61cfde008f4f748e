"""Sweeps as a config says them."""

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import RunRequest, make_request
from gemmbench.planning.sweeps.sweep import VariantChoice, find_config, read_sweep

BASE = "variants: [naive, tiled]\nsizes: [64]\n"
POST = f"{BASE}post:\n  title: a\n  source: b\n  rows:\n    - label: c\n      variant: naive\n"


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """Read a config of this text, under the name mine.yaml."""
    monkeypatch.chdir(tmp_path)

    def read(text, on_cpu=False, **options):
        (tmp_path / "mine.yaml").write_text(text)
        return read_sweep(make_request("mine.yaml", **options), on_cpu)

    return read


def sizes(found):
    return [problem.size for problem in found.problems]


def test_a_config_is_found_by_its_path_or_by_its_name_in_the_project(sweep):
    assert sweep(BASE).name == "mine"
    assert find_config("quick").name == "quick.yaml"
    assert read_sweep(RunRequest(config="quick"), on_cpu=False).name == "quick"


def test_an_unknown_config_offers_the_nearest():
    with pytest.raises(UsageError) as fault:
        find_config("quik")
    assert str(fault.value).startswith("unknown config 'quik' (did you mean 'quick'?); ")
    assert "/configs has all " in str(fault.value) and str(fault.value).endswith("; or give the path of a file")


def test_what_is_left_out_has_its_default(sweep):
    found = sweep(BASE)
    assert tuple(found.problems) == (Problem(64, 64, 64, "nn", "f32", 1.0, 0.0),)
    assert found.choices == (VariantChoice("naive", {}), VariantChoice("tiled", {}))
    assert found.baseline == ""
    assert found.policy == Policy("cold", "uniform", 0, 96, 5.0, 1e-3, True, until=0.005)


def test_a_full_config_is_read(sweep):
    found = sweep(
        "summary: all of it\nsizes: [64]\nprecisions: [f32, tf32]\nlayouts: [nn, tt]\nalpha: 2\nbeta: -0.5\n"
        "variants: [naive]\nbaseline: tiled\n"
        "measure: {cache: hot, data: normal, seed: 7, rounds: 4, max_time: 0.5}\n"
    )
    kinds = [(problem.precision_name, problem.layout) for problem in found.problems]
    assert kinds == [("f32", "nn"), ("f32", "tt"), ("tf32", "nn"), ("tf32", "tt")]
    assert {(problem.alpha, problem.beta) for problem in found.problems} == {(2.0, -0.5)}
    assert found.baseline == "tiled"
    assert found.policy == Policy("hot", "normal", 7, 4, 0.5, until=0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sizes: [64, 128]", ["64", "128"]),
        ("sizes: [32:96:32, 1x2x3]", ["32", "64", "96", "1x2x3"]),
        ("sizes: [8:40:8]", ["8", "16", "24", "32", "40"]),
        ("shapes: [[1, 2, 3], [4, 4, 4]]", ["1x2x3", "4"]),
        ("axes: {M: [1, 2], N: [3], K: [4, 5]}", ["1x3x4", "1x3x5", "2x3x4", "2x3x5"]),
        ("axes: {count: [1, 8], M: [2], N: [3], K: [4]}", ["2x3x4", "8*2x3x4"]),
        ("axes: {N: [3], K: [4, 5]}\ngroups: [6, 0, 1]", ["6+0+1x3x4", "6+0+1x3x5"]),
        ("axes: {N: [3], K: [4]}\ngroups: {count: 2, mean: 7}", ["7+7x3x4"]),
        ("axes: {N: [3], K: [4]}\ngroups: [[6, 1], {count: 2, mean: 8}]", ["6+1x3x4", "8+8x3x4"]),
        ("sizes: [64]\nshapes: [[64, 64, 64], [1, 1, 2]]", ["64", "1x1x2"]),
    ],
)
def test_sizes_shapes_and_axes_give_problems_each_once(sweep, text, expected):
    assert sizes(sweep(f"variants: [naive]\n{text}")) == expected


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("sizes: [16, 16, 24]\nlayouts: [nn, nt, tn]", {}, "16 nn, 16 nt, 24 tn"),
        ("sizes: [16, 16, 24]\nlayouts: [nn, nn, nt]", {}, "16 nn, 24 nt"),
        ("sizes: [16, 24, 32]\nlayouts: [nn, NT]", {}, "16 nn, 24 nt, 32 nn"),
        ("sizes: [16, 24]\nlayouts: [nn, tt]", {"layouts": "tn"}, "16 tn, 24 tn"),
        ("sizes: [16, 24]\nlayouts: [nn, tt]", {"sizes": "8"}, "8 nn, 8 tt"),
    ],
)
def test_layouts_in_turn_are_those_written_and_other_sizes_have_each(sweep, text, options, expected):
    found = sweep(f"variants: [naive]\nlayouts_in_turn: true\n{text}", **options)
    assert ", ".join(f"{problem.size} {problem.layout}" for problem in found.problems) == expected


FAULTS = {
    "variants: [naive]\n": [
        (
            "sizes: [8]\nlayouts: [nn, nt, tn]\nlayouts_in_turn: true",
            "4: layouts_in_turn: nt, tn would be left out, as there are more layouts than sizes; give more sizes, or",
        ),
        ("sizes: []", " no sizes, shapes or axes; add `sizes: [1024]`"),
        ("sizes:\n  - 64\n  - 0", "4: size '0': 0 is not positive"),
        ("sizes:\n  - 64x64", "3: '64x64' is not a size; write 1024"),
        ("shapes:\n  - [1, 2]", "3: shapes: [1, 2] should be [M, N, K]"),
        ("shapes:\n  - [1, 2, -3]", "3: size '1x2x-3': -3 is not positive"),
        ("axes: {M: [1], N: [1]}", "2: axes: has M, N; give M, N and K"),
        ("axes: {M: [0], N: [1], K: [1]}", "2: size '0': 0 is not positive"),
        ("axes: {N: [1], K: [1]}\ngroups: []", "3: groups: empty; give a list of rows, such as [512, 0, 33], or {"),
        ("axes: {N: [1], K: [1]}\ngroups: 5.5", "3: groups: `5.5` does not fit; give a list of rows, such as [512, 0"),
        ("axes: {N: [1], K: [1]}\ngroups: [40.5, 3]", "3: groups: `40.5` does not fit; give a list of rows, such as"),
        ("axes: {N: [1], K: [1]}\ngroups: ['40']", "3: groups: `'40'` does not fit; give a list of rows, such as"),
        ("axes: {N: [1], K: [1]}\ngroups: {count: x, mean: 1}", "3: groups.count: should be a whole number, not text"),
        (
            "axes: {N: [1], K: [1]}\ngroups: {count: 8, mean: 0.01}",
            "3: groups.mean: should be a whole number, not `0.01`; write one such as 8",
        ),
        ("groups: [1, 2]", "2: groups: there are no axes; give N and K, such as axes: {N: [4096], K: [7168]}"),
        ("groups: [1, 2]\naxes: {M: [1], N: [1], K: [1]}", "2: groups: axes has M, N, K; give N and K, such as"),
        ("axes: {N: [1], K: [1]}\ngroups: [0, 0]", "3: groups: all groups are empty; give at least one of them a row"),
        (
            "axes: {N: [1], K: [1]}\ngroups: [[3], 4]",
            "3: groups: numbers and lists are mixed; write [[512, 0], [33, 7]]",
        ),
        ("axes: {N: [1], K: [1]}\ngroups: [4, -1]", "3: groups: a group of -1 rows; write 0 or more"),
        ("axes: {N: [1], K: [1]}\ngroups: {count: 0, mean: 1}", "3: groups: count is 0; give 1 to 1,024"),
        ("axes: {N: [1], K: [1]}\ngroups: {count: 2, mean: 1, skew: 9}", "3: groups: skew is 9; give 0 (equal groups)"),
        ("axes: {N: [1], K: [0]}\ngroups: [4, 1]", "2: size '0': 0 is not positive"),
        ("axes: {count: [0], M: [1], N: [1], K: [1]}", "2: count 0: a batch of 0 products; write at least 1"),
        ("sizes: {M: 64}", "2: sizes: should be a list"),
        ("sizes: x64", "2: 'x64' is not a size"),
        ("sizes: [1.5]", "2: sizes item 1: should be "),
        ("sizes: [010]", "2: YAML reads `010` as an octal number"),
        ("sizes: [1e3]", "2: YAML reads `1e3` as text; write 1000"),
        ("sizes: [64]\nsizes: [32]", "3: duplicate key 'sizes' (first on line 2)"),
        ("sizs: [64]", "2: unknown key 'sizs' (did you mean 'sizes'?); known: "),
        ("sizes: [64]\nrounds: 3", "3: 'rounds' belongs under `measure`"),
        ("sizes: [64]\nmeasure: {round: 3}", "3: unknown key 'round' (did you mean 'rounds'?); known: cache,"),
        ("sizes: [64]\nmeasure: {cache: warm}", "3: measure.cache: Invalid enum value 'warm'; known: cold, hot"),
        ("sizes: [64]\nmeasure: {seed: x}", "3: measure.seed: should be a whole number, not text"),
        ("sizes: [64]\nalpha: no", "3: YAML reads `no` as a truth value"),
        ("sizes: [64", "3: broken YAML: "),
        ("layers: [8x8]", "2: `layers`: this is a config file for a network; use gemmbench mlp -c"),
    ],
    BASE: [
        ("precisions:\n  - f23", "4: unknown precision 'f23' (did you mean"),
        ("layouts:\n  - nx", "4: unknown layout 'nx' (did you mean"),
        ("precisions: []", "3: precisions"),
        ("layouts: []", "3: layouts"),
        ("measure:\n  until: 0.5 %%", "4: until: '0.5 %%' is not a share below 100 %; write 0.5%"),
        ("measure:\n  rounds: 0", "4: rounds: 0 is below 1; give at least 1"),
        ("measure:\n  max_time: 0", "4: max_time: 0 s leaves no time"),
        ("measure:\n  seed: -1", "4: seed: -1 is negative"),
        ("alpha: .nan", "3: "),
        ("params: most", "3: params: 'most' should be `all` or names with values"),
        ("params:\n  BM: [x]", "4: BM: ['x'] should be integers, such as [64, 128]"),
        ("params:\n  BM: []", "4: BM: [] should be integers"),
        ("params:\n  BM: true", "4: BM: [True] should be integers"),
    ],
    POST: [
        ("      layout: nx", "9: unknown layout 'nx' (did you mean"),
        ("      precision: f23", "9: unknown precision 'f23' (did you mean"),
    ],
    "sizes: [64]\n": [
        ("variants: [{naive: [1]}]", "2: variants: '[1]' should be `all` or names with values"),
        ("variants:\n  - {naive: {}, tiled: {}}", "3: variants: write `- name` or `- name: {PARAMETER: [values]}`"),
        ("variants:\n  - {}", "3: variants: write `- name` or `- name: {PARAMETER: [values]}`"),
    ],
    f"{BASE}on_cpu:\n": [
        ("  size: [8]", "4: unknown key 'size' (did you mean 'sizes'?)"),
        ("  baseline: x\n  sizes:\n    - 0", "6: size '0': 0 is not positive"),
        ("  baseline: x\n  measure:\n    rounds: few", "6: measure.rounds: should be a whole number or nothing"),
    ],
}


@pytest.mark.parametrize(
    ("text", "message"), [(head + text, message) for head, rows in FAULTS.items() for text, message in rows]
)
def test_a_fault_in_a_config_names_the_file_and_the_line(sweep, text, message):
    with pytest.raises(UsageError) as fault:
        sweep(f"{text}\n", on_cpu="on_cpu" in text)
    assert str(fault.value).startswith(f"mine.yaml:{message}")


def test_variants_may_bring_their_own_values(sweep):
    found = sweep(
        "sizes: [64]\nparams: {TILE: [8, 16]}\n"
        "variants:\n  - naive\n  - tiled: {TILE: 32}\n  - cublaslt: all\n  - other: {BM: [64, 128], BN: 8}\n"
    )
    assert found.choices == (
        VariantChoice("naive", {"TILE": (8, 16)}),
        VariantChoice("tiled", {"TILE": (32,)}),
        VariantChoice("cublaslt", {ALL: ()}),
        VariantChoice("other", {"BM": (64, 128), "BN": (8,)}),
    )
    assert [choice.params for choice in sweep(BASE + "params: all\n").choices] == [{ALL: ()}, {ALL: ()}]


CPU = f"""{BASE}baseline: cublas
measure: {{rounds: 4, seed: 3}}
on_cpu:
  sizes: [8]
  baseline: openblas
  measure: {{seed: 5}}
"""


def test_on_cpu_is_laid_over_the_config_on_a_cpu_only_and_its_sizes_replace_all(sweep):
    there, here = sweep(CPU, on_cpu=False), sweep(CPU, on_cpu=True)
    assert (sizes(there), there.baseline, there.policy.seed) == (["64"], "cublas", 3)
    assert (sizes(here), here.baseline, here.policy.seed) == (["8"], "openblas", 5)
    assert here.choices == there.choices
    assert here.policy.rounds == 4
    text = "variants: [naive]\nshapes: [[1, 2, 3]]\naxes: {M: [1], N: [1], K: [1]}\non_cpu: {sizes: [8]}\n"
    assert sizes(sweep(text, on_cpu=True)) == ["8"]
    text = "variants: [naive]\naxes: {N: [3], K: [4]}\ngroups: [6, 1]\non_cpu: {sizes: [8]}\n"
    assert (sizes(sweep(text, on_cpu=False)), sizes(sweep(text, on_cpu=True))) == (["6+1x3x4"], ["8"])


@pytest.mark.parametrize(("text", "until"), [("0.2%", 0.002), ("0.004", 0.004), ("0", 0.0), ("'1 %'", 0.01)])
def test_until_is_written_in_percent_or_as_a_share(sweep, text, until):
    found = sweep(f"{BASE}\nmeasure: {{rounds: 32, until: {text}}}").policy
    assert (found.rounds, found.until) == (32, pytest.approx(until))


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"rounds": 16}, (16, 0.0)), ({"rounds": 16, "until": "1%"}, (16, 0.01)), ({}, (32, 0.002))],
)
def test_rounds_on_the_command_line_are_exact_whatever_until_the_config_has(sweep, options, expected):
    found = sweep(f"{BASE}\nmeasure: {{rounds: 32, until: 0.2%}}", **options).policy
    assert (found.rounds, found.until) == expected


@pytest.mark.parametrize(
    ("measure", "options", "expected"),
    [
        ("{}", {}, ("hot", 10, 0.0, True)),
        ("{cache: cold}", {}, ("cold", 10, 0.0, True)),
        ("{rounds: 20}", {}, ("hot", 20, 0.0, False)),
        ("{}", {"rounds": 4, "cache": "cold"}, ("cold", 4, 0.0, False)),
        ("{}", {"until": "1%"}, ("hot", 96, 0.01, False)),
    ],
)
def test_the_cpu_device_measures_less_where_nothing_is_given(sweep, measure, options, expected):
    text = f"variants: [naive]\nsizes: [64]\nmeasure: {measure}\n"
    policy = sweep(text, on_cpu=True, **options).policy
    assert (policy.cache, policy.rounds, policy.until, policy.audit_once) == expected
    assert not sweep(text, on_cpu=False, **options).policy.audit_once
