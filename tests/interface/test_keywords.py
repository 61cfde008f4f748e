"""Python arguments mean what the options of the command line mean, from one table."""

import re
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import numpy as np
import pytest

from gemmbench.errors import UsageError
from gemmbench.interface.keywords import (
    SWEEP,
    VERIFY,
    SweepOptions,
    VerifyOptions,
    list_names,
    read_cut,
    read_keywords,
    shell_command,
)
from gemmbench.planning.problems import PanelCut
from gemmbench.planning.sizes import read_sizes
from gemmbench.planning.sweeps.run_request import Measuring, Selection, read_params, write_params


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        (512, "512"),
        (np.int64(512), "512"),
        ("512:4096:512", "512:4096:512"),
        ([512, 1024], "512,1024"),
        ([512, (1024, 768, 512)], "512,1024x768x512"),
        ([(1024, 768, 512)], "1024x768x512"),
        ([64, "5+3x16x8", "2*512"], "64,5+3x16x8,2*512"),
        ((64, 128), "64,128"),
        (range(128, 512, 128), "128,256,384"),
    ],
)
def test_sizes(sizes, text):
    assert read_sizes(sizes).text == text


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((1, 2, 3), "write [(1, 2, 3)] for one problem M, N, K or [1, 2, 3] for three"),
        ([], "sizes is empty; leave it out"),
        ([(1, 2)], "is not a size; write 1024, (1024"),
        ([1.5], "is not a size; write 1024, (1024"),
        ([None], "is not a size; write 1024, (1024"),
    ],
)
def test_what_is_not_a_size_or_could_be_one_problem_or_three_is_refused(sizes, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        read_sizes(sizes)


@pytest.mark.parametrize(
    ("params", "texts"),
    [
        ("all", ("all",)),
        ({"BM": [64, 128], "BK": 8}, ("BM=64,128", "BK=8")),
        ({"BM": np.array([64, 128])}, ("BM=64,128",)),
        ({"BM": "64,128"}, ("BM=64,128",)),
    ],
)
def test_params(params, texts):
    assert write_params(params) == texts
    assert write_params(read_params(params)) == texts


def test_params_are_a_mapping():
    with pytest.raises(UsageError, match="params 'BM=8' is neither a mapping nor 'all'"):
        read_params("BM=8")


def test_names_may_be_paths():
    assert list_names("tiled") == ("tiled",) and list_names(["a", "b"]) == ("a", "b")
    assert list_names(Path("kernels/mine.cu")) == ("kernels/mine.cu",)
    assert list_names(["tiled", Path("mine.cu")]) == ("tiled", "mine.cu")


def test_nothing_given_leaves_everything_to_the_config():
    for options in ({}, dict.fromkeys(SWEEP)):
        request = read_keywords((), options)
        assert (request.selection, request.measuring) == (Selection(), Measuring())
        assert read_cut(options) is None


def test_every_option_reaches_the_session():
    values = {int: 7, float: 2.0, bool: True, "share": "1%", "variant": "naive"}
    own = {"sizes": 64, "precision": "bf16", "layout": ["nt"], "epilogue": "bias,relu", "ld": ["A+8"]}
    own |= {"params": {"BM": 8}, "gate": False}
    given = {name: own.get(name, values.get(each.kind, "ones")) for name, each in SWEEP.items()} | {"cache": "hot"}
    request = read_keywords(("tiled",), given)
    asked = {**vars(request.selection), **vars(request.measuring), "with_transfers": 1, "panels": 7, "streams": 7}
    limits = {"compile_limit": request.limits.compile, "launch_limit": request.limits.launch}
    asked |= {**limits, "sweep_limit": request.limits.sweep}
    read = {each.name: each.read(given[name]) for name, each in SWEEP.items()}
    assert {name: asked[name] for name in read} == read
    assert read_cut({"with_transfers": True, "panels": 4}) == PanelCut(4, 3)
    assert VERIFY.keys() < SWEEP.keys()


def list_types(kind: Any) -> set[object]:
    """What an editor is told that an option of this kind takes, where the kind alone decides it."""
    if isinstance(kind, tuple):
        return {Literal[kind], type(None)}
    return {{"share": float, "variant": str}.get(kind, kind), type(None)}


def test_editors_are_told_the_options_of_the_table_and_their_types():
    hints = get_type_hints(SweepOptions)
    assert hints.keys() == SWEEP.keys() and get_type_hints(VerifyOptions).keys() == VERIFY.keys()
    for name, each in SWEEP.items():
        told, wanted = set(get_args(hints[name])), list_types(each.kind)
        assert told >= wanted if each.in_python else told == wanted, name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cache": "warm"}, "cache: unknown word 'warm'; choose cold, hot"),
        ({"max_time": "2"}, "max_time: '2' is not a number"),
        ({"rounds": 2.5}, "rounds: 2.5 is not an integer"),
        ({"precision": []}, "precisions: empty; give at least one"),
    ],
)
def test_what_the_command_line_would_refuse_is_refused(options, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        read_keywords((), options)


def test_the_recorded_command_measures_the_same_in_a_shell():
    options = {"sizes": [64, (1, 2, 3)], "params": {"BM": 8}, "until": "1%", "max_time": 0.5}
    options |= {"gate": False, "pdl": True}
    assert shell_command("run", ["a b"], ["--config", "quick", "--device", "cpu"], options) == (
        "gemmbench run 'a b' --config quick --device cpu --sizes 64,1x2x3 "
        "--until 1% --max-time 0.5 --param BM=8 --no-gate --pdl"
    )
