"""Which posts are repeated, and what the options change in them."""

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.sweeps.run_request import make_request
from gemmbench.session import post_runs
from gemmbench.session.open_run import RunResult
from gemmbench.session.post_runs import choose_posts

OTHERS = [
    "posts/000-cuda-matmul",
    "posts/000-further",
    "posts/001-warptile",
    "posts/002-transpose",
    "posts/003-neural-network-layer",
    "posts/004-gemm",
]
NETWORKS = ["posts/003-neural-network", "posts/003-neural-network-large"]
REFUSED = [("sizes", "64"), ("precisions", "f32"), ("layouts", "tn"), ("alpha", 2.0), ("beta", 0.0)]


def test_all_posts_are_repeated_in_order_and_others_take_the_option(notes):
    assert choose_posts((), make_request(), notes) == sorted([*OTHERS, *NETWORKS])
    assert choose_posts(("004",), make_request(sizes="64"), notes) == ["posts/004-gemm"]
    assert notes.messages == []


def test_a_post_is_named_by_its_beginning(notes):
    assert choose_posts(("000", "posts/004"), make_request(), notes) == [*OTHERS[:2], "posts/004-gemm"]
    assert choose_posts(("003-neural-network",), make_request(), notes) == NETWORKS[:1]
    with pytest.raises(UsageError, match="no post '009'"):
        choose_posts(("009",), make_request(), notes)


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_a_network_refuses_what_it_cannot_obey_and_is_left_out_with_a_message_if_not_named(notes, name, value):
    request = make_request(**{name: value})
    with pytest.raises(UsageError, match="003-neural-network is a network with its own sizes") as fault:
        choose_posts(("003",), request, notes)
    assert str(fault.value).startswith(f"--{name.removesuffix('s') if name != 'sizes' else name}: ")
    assert choose_posts((), request, notes) == OTHERS
    short = [name.removeprefix("posts/") for name in NETWORKS]
    for message, left_out in zip(notes.messages, short, strict=True):
        assert message.startswith(f"post {left_out} is left out: it is a network, which does not take --")


def test_parameters_baseline_and_policy_reach_the_network(monkeypatch, machine, notes):
    requests = []

    def run_network(request, machine, reporter):
        requests.append(request)
        return RunResult(None, interrupted=True)

    monkeypatch.setattr(post_runs, "run_network", run_network)
    asked = make_request(params=("TILE=8",), baseline="cublas", rounds=3, seed=7, kernels="mine")
    assert len(list(post_runs.repeat_posts(("003",), asked, machine, notes))) == 1
    (request,) = requests
    selection, measuring = request.selection, request.measuring
    assert (selection.params, selection.baseline, selection.kernels) == ({"TILE": (8,)}, "cublas", "mine")
    assert (measuring.rounds, measuring.seed, request.config) == (3, 7, "posts/003-neural-network")


def test_after_an_interruption_no_other_post_begins(monkeypatch, machine, notes):
    calls = []

    def run_sweep(request, machine, reporter):
        calls.append(request.config)
        return RunResult(None, interrupted=len(calls) == 2)

    monkeypatch.setattr(post_runs, "run_sweep", run_sweep)
    assert len(list(post_runs.repeat_posts(("000", "004"), make_request(), machine, notes))) == 2
    assert calls == OTHERS[:2]
