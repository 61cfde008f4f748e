"""Python arguments become the text that the command line takes, and nothing else."""

import re
from pathlib import Path

import numpy as np
import pytest

from gemmbench.errors import UsageError
from gemmbench.interface.keywords import (
    SweepOptions,
    format_params,
    format_sizes,
    join_names,
    list_names,
    shell_command,
    sweep_overrides,
    time_limits,
    transfer_cut,
)
from gemmbench.planning.problems import PanelCut
from gemmbench.planning.sweeps.overrides import SweepOverrides


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        (None, None),
        (512, "512"),
        (np.int64(512), "512"),
        ("512:4096:512", "512:4096:512"),
        ([512, 1024], "512,1024"),
        ([512, (1024, 768, 512)], "512,1024x768x512"),
        ([(1024, 768, 512)], "1024x768x512"),
        ((64, 128), "64,128"),
        (range(128, 512, 128), "128,256,384"),
    ],
)
def test_sizes(sizes, text):
    assert format_sizes(sizes) == text


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((1, 2, 3), "write [(1, 2, 3)] for one problem M, N, K or [1, 2, 3] for three"),
        ([], "sizes is empty; leave it out"),
        ([(1, 2)], "is not a size; write 1024 or"),
        ([1.5], "is not a size; write 1024 or"),
        ([None], "is not a size; write 1024 or"),
    ],
)
def test_what_is_not_a_size_or_could_be_one_problem_or_three_is_refused(sizes, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        format_sizes(sizes)


@pytest.mark.parametrize(
    ("params", "texts"),
    [
        (None, ()),
        ("all", ("all",)),
        ({"BM": [64, 128], "BK": 8}, ("BM=64,128", "BK=8")),
        ({"BM": np.array([64, 128])}, ("BM=64,128",)),
        ({"BM": "64,128", "BK": "all"}, ("BM=64,128", "BK=all")),
    ],
)
def test_params(params, texts):
    assert format_params(params) == texts


def test_params_are_a_mapping():
    with pytest.raises(UsageError, match="params 'BM=8' is neither a mapping nor 'all'"):
        format_params("BM=8")


def test_names_may_be_paths():
    assert list_names("tiled") == ("tiled",) and list_names(["a", "b"]) == ("a", "b")
    assert list_names(Path("kernels/mine.cu")) == ("kernels/mine.cu",)
    assert list_names(["tiled", Path("mine.cu")]) == ("tiled", "mine.cu")
    assert join_names(None) is None and join_names("f32") == "f32" and join_names(["nn", "nt"]) == "nn,nt"


def test_nothing_given_leaves_everything_to_the_config():
    assert sweep_overrides((), {}) == SweepOverrides()
    assert sweep_overrides((), dict.fromkeys(SweepOptions.__annotations__)) == SweepOverrides()
    assert transfer_cut({}) is None


def test_every_option_reaches_the_session():
    taken = {"sizes", "precision", "layout", "params", "with_transfers", "panels", "streams"}
    limits = {"compile_limit", "launch_limit", "sweep_limit"}
    plain = set(SweepOptions.__annotations__) - taken - limits
    assert plain | {"sizes", "precisions", "layouts", "params", "variants"} == set(SweepOverrides.__annotations__)
    assert time_limits({"launch_limit": 5.0}).launch == 5.0
    assert transfer_cut({"with_transfers": True, "panels": 4}) == PanelCut(4, 3)


def test_the_recorded_command_measures_the_same_in_a_shell():
    options = {"sizes": [64, (1, 2, 3)], "params": {"BM": 8}, "until": "1%", "max_time": 0.5}
    options |= {"gate": False, "pdl": True}
    assert shell_command("run", ["a b"], ["--config", "quick", "--device", "cpu"], options) == (
        "gemmbench run 'a b' --config quick --device cpu --sizes 64,1x2x3 "
        "--until 1% --max-time 0.5 --param BM=8 --no-gate --pdl"
    )
