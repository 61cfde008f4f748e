"""A whole sweep with its experiments in a process of their own: no healthy row is lost."""

import pytest


def test_kernels_that_take_the_process_down_lose_no_healthy_row(gemmbench, script, saved):
    device = script(isolated=True, faults={"tiled": "die", "coalesced": "lose"})
    sizes = ["--sizes", "8,16", "--rounds", "2", "--cache", "hot"]
    said = gemmbench("compare", "naive", "coalesced", "tiled", "blocktile_2d", "cublas", "--device", device, *sizes)
    assert said.code == 1
    _, rows = saved()
    statuses = {(row["variant"], row["M"]): row["status"] for row in rows}
    for size in ("8", "16"):
        assert [statuses[name, size] for name in ("naive", "blocktile_2d", "cublas")] == ["ok"] * 3
        assert [statuses[name, size] for name in ("tiled", "coalesced")] == ["failed"] * 2
    assert "brought the worker process down: its process was ended by SIGSEGV" in said.out


@pytest.mark.parametrize("command", [("verify", "naive"), ("mlp", "tiled", "cublas", "--batch", "3", "--rounds", "2")])
def test_every_experiment_works_there(gemmbench, script, command):
    assert (
        gemmbench(*command, "--device", script(isolated=True), *(["--sizes", "8"][: 2 * (command[0] == "verify")])).code
        == 0
    )


def test_transfers_work_there(gemmbench, script):
    options = ["--sizes", "32", "--rounds", "2", "--with-transfers", "--panels", "2"]
    said = gemmbench("run", "-c", "quick", "--device", script(isolated=True), *options)
    assert (said.code, "overlapped" in said.out) == (0, True)


def test_a_time_limit_for_the_sweep_keeps_what_there_is(gemmbench, script):
    said = gemmbench("compare", "naive", "cublas", "--device", script(), "--sizes", "8", "--sweep-limit", "0.000001")
    assert said.code == 130
    assert "the sweep reached its time limit of 1e-06 s; --resume continues it" in said.err


@pytest.mark.parametrize("name", ["compile", "launch", "sweep"])
def test_a_limit_must_be_positive(gemmbench, name):
    said = gemmbench("compare", "naive", "tiled", "--device", "fake", f"--{name}-limit", "0")
    assert (said.code, said.err) == (2, f"gemmbench: --{name}-limit 0: give a positive number of seconds\n")
