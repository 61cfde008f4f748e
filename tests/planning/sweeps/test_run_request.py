"""What the command line changes in a sweep."""

import msgspec
import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.sweeps.policy import MeasureModel, Policy
from gemmbench.planning.sweeps.run_request import (
    OPTIONS,
    Measuring,
    list_options,
    make_request,
    parse_epilogue,
    parse_layouts,
    parse_precisions,
)
from gemmbench.planning.sweeps.sweep import VariantChoice, read_sweep

CONFIG = """
variants: [naive, tiled: {TILE: 32}]
sizes: [64, 128]
shapes: [[1, 2, 3]]
precisions: [f32]
params: {TILE: 8}
alpha: 2
baseline: cublas
measure: {seed: 1, rounds: 4}
"""


@pytest.fixture
def sweep(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(CONFIG)
    return lambda **options: read_sweep(make_request(str(path), **options), on_cpu=False)


def test_sizes_replace_those_of_the_config_each_once(sweep):
    assert [problem.size for problem in sweep(sizes="8,1x2x3,8x8x8,8:8:1").problems] == ["8", "1x2x3"]


def test_precisions_layouts_and_scalars_replace_those_of_the_config(sweep):
    found = sweep(sizes="8", precisions="tf32, f32", layouts="nt", alpha=0.0, beta=1.5)
    kinds = [(p.precision_name, p.layout, p.alpha, p.beta) for p in found.problems]
    assert kinds == [("tf32", "nt", 0.0, 1.5), ("f32", "nt", 0.0, 1.5)]


def test_named_variants_replace_those_of_the_config_and_take_its_common_values(sweep):
    assert sweep(variants=("tiled", "other", "tiled")).choices == (
        VariantChoice("tiled", {"TILE": (8,)}),
        VariantChoice("other", {"TILE": (8,)}),
    )


@pytest.mark.parametrize(
    ("params", "values"),
    [
        (("BM=64,128", "BK= 8"), {"BM": (64, 128), "BK": (8,)}),
        (("all",), {ALL: ()}),
        (("all", "BM=64"), {ALL: (), "BM": (64,)}),
        (("TILE=8,8,16",), {"TILE": (8, 16)}),  # each is tried once
        (("BM=-1",), {"BM": (-1,)}),
    ],
)
def test_params_replace_the_values_of_every_variant(sweep, params, values):
    assert sweep(params=params).choices == (VariantChoice("naive", values), VariantChoice("tiled", values))


def test_the_baseline_and_the_measuring_policy_are_changed_key_by_key(sweep):
    found = sweep(cache="hot", data="ints", rounds=3, max_time=0.25, gate=False, pdl=True).policy
    assert (found.cache, found.data, found.rounds, found.max_time) == ("hot", "ints", 3, 0.25)
    assert (found.gate, found.pdl) == (False, True)
    assert found.seed == 1
    assert sweep(seed=0).policy.seed == 0
    assert (sweep().baseline, sweep(baseline="tiled").baseline) == ("cublas", "tiled")


@pytest.mark.parametrize(
    ("options", "rounds", "until"),
    [
        ({}, 4, 0.0),  # the config asks for 4 rounds and no more
        ({"rounds": 16}, 16, 0.0),
        ({"until": "1%"}, 4, 0.01),
        ({"until": "0.002", "rounds": 100}, 100, 0.002),
        ({"until": "0"}, 4, 0.0),
        ({"until": " 2.5 %"}, 4, 0.025),
    ],
)
def test_rounds_alone_are_a_number_and_with_until_a_limit(sweep, options, rounds, until):
    found = sweep(**options).policy
    assert (found.rounds, found.until) == (rounds, until)


BOTH_FORMS = "write --param BM=64,128 or --param all"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds: 0 is below 1; give at least 1 (4 for an interval)"),
        ({"rounds": -3}, "rounds: -3 is below 1"),
        ({"until": "5"}, "until: '5' is not a share below 100 %; write 0.5% or 0.005, or 0 for all rounds"),
        ({"until": "-1%"}, "until: '-1%' is not a share"),
        ({"until": "soon"}, "until: 'soon' is not a share"),
        ({"until": "nan"}, "until: 'nan' is not a share"),
        ({"max_time": 0.0}, "max_time: 0.0 s leaves no time; give a positive number of seconds"),
        ({"max_time": -1.0}, "max_time: -1.0 s leaves no time"),
        ({"max_time": float("nan")}, "max_time: nan s leaves no time"),
        ({"seed": -1}, "seed: -1 is negative; give 0 or more"),
        ({"sizes": "0"}, "size '0': 0 is not positive"),
        ({"precisions": "f31"}, "unknown precision 'f31' (did you mean 'f32'?); known: f32, tf32"),
        ({"precisions": ","}, "precisions: empty name in ','"),
        ({"layouts": "nm"}, "unknown layout 'nm' (did you mean '"),
        ({"precisions": 5}, "precisions: 5 is not text or a list of names"),
        ({"epilogue": ""}, "epilogue: empty step in ''; name steps such as bias,gelu"),
        ({"epilogue": "bias,"}, "epilogue: empty step in 'bias,'"),
        ({"epilogue": ["bias gelu"]}, "epilogue: unknown step 'bias gelu'; separate steps with commas: bias,gelu;"),
        ({"epilogue": "bias,bias"}, "epilogue: bias occurs twice; name each step once"),
        ({"epilogue": "gleu"}, "epilogue: unknown step 'gleu' (did you mean 'gelu'?); known: bias, residual, scale"),
        ({"epilogue": [3]}, "epilogue: [3] is not text or a list of names"),
        ({"alpha": float("nan")}, "alpha"),
        ({"beta": float("inf")}, "beta"),
        *(
            ({"params": (text,)}, f"cannot parse --param '{text}'; {BOTH_FORMS}")
            for text in ["BM", "BM=", "BM=x", "BM=8,", "BM=8;16", "BM=1.5", "BM=--4", "BM=²", "=8", "all=8"]
        ),
    ],
)
def test_a_bad_option_names_the_value_and_the_rule(sweep, options, message):
    with pytest.raises(UsageError) as fault:
        sweep(**options)
    assert str(fault.value).startswith(message)


def test_lists_of_precisions_and_layouts_hold_each_name_once():
    assert parse_precisions("f32, tf32,f32") == ("f32", "tf32")
    assert parse_layouts("tt,nn ,tt") == ("tt", "nn")


@pytest.mark.parametrize("written", ["bias, GELU", ["bias", "gelu"], ["bias,gelu"]])
def test_an_epilogue_is_read_from_text_and_from_lists(written):
    assert parse_epilogue(written) == ("bias", "gelu")


def test_every_option_of_measuring_is_kept_by_a_policy_and_a_key_of_a_config_with_its_default():
    keys = {each.name: each.default for each in msgspec.structs.fields(MeasureModel)}
    assert keys == {name: each.usual for name, each in OPTIONS.items() if each.in_config}
    assert list_options(Measuring).keys() <= set(Policy.__annotations__)
    kept = {name: getattr(Policy(), name) for name, each in OPTIONS.items() if name in keys and each.usual is not None}
    assert kept == {name: OPTIONS[name].usual for name in kept} and kept["max_time"] == 5.0


def test_an_option_is_written_as_it_is_read():
    given = {"sizes": [8, (1, 2, 3)], "precisions": "f32,bf16", "params": {"BM": [8, 16]}, "gate": False, "peaks": True}
    given |= {"max_time": 2.5, "until": "1%", "cache": "hot", "pdl": False}
    words = [word for name, value in given.items() for word in OPTIONS[name].write(value)]
    assert " ".join(words) == (
        "--sizes 8,1x2x3 --precision f32,bf16 --param BM=8,16 --no-gate --peaks --max-time 2.5 --until 1% --cache hot"
    )
    selection = make_request(**given).selection
    assert selection.list_words("sizes", "precisions", "layouts", "params") == words[:6]


def test_options_that_nobody_declares_are_refused():
    with pytest.raises(TypeError, match="no such option: max_tim"):
        make_request(max_tim=1)
