"""`gemmbench cache`."""

import json
import os

import pytest

from gemmbench.backends.code_cache import ANSWER, SUFFIX


@pytest.fixture
def cache(tmp_path, monkeypatch, gemmbench):
    folder = tmp_path / "cache"
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def filled(cache):
    """A cache with four artifacts of 1 KiB."""
    cache.mkdir(mode=0o700)
    for number, suffix in enumerate((".kernel", ".kernel", ".o", ".cubin")):
        for path in (cache / f"{number:032x}{suffix}", cache / f"{number:032x}.json"):
            path.write_bytes(bytes(512))
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return cache


def test_it_shows_where_the_cache_is_and_what_it_holds(gemmbench, filled):
    said = gemmbench("cache")
    assert (said.code, said.err) == (0, "")
    head, _, *lines = (" ".join(line.split()) for line in said.out.splitlines())
    assert head == "cache value"
    assert lines == [
        f"folder {filled}",
        "CPU kernels 2",
        "CPU runtime 1",
        "GPU kernels 1",
        "size 4 KiB of at most 2 GiB",
        "least recent use 2023-11-14 22:13 UTC",
        "last use 2023-11-14 22:13 UTC",
        "",
        "Above the limit, the least recently used entries are deleted first. Delete all: gemmbench cache clear",
    ]
    assert gemmbench("cache", "show").out == said.out


def test_what_is_known_about_code_is_counted_by_kind(gemmbench, cache):
    cache.mkdir(mode=0o700)
    for number, suffix in enumerate((SUFFIX, ANSWER, ANSWER, ".json")):
        (cache / f"{number:032x}{suffix}").write_bytes(b"{}")
    kinds = json.loads(gemmbench("cache", "--json").out)["kinds"]
    assert kinds == {"lists of headers": 1, "results of checks": 2, "incomplete": 1}


def test_the_json_has_the_same_figures(gemmbench, filled):
    assert json.loads(gemmbench("cache", "show", "--json").out) == {
        "folder": str(filled),
        "artifacts": 4,
        "bytes": 4096,
        "limit_bytes": 2 << 30,
        "kinds": {"CPU kernels": 2, "CPU runtime": 1, "GPU kernels": 1},
        "oldest_use": "2023-11-14T22:13:20+00:00",
        "newest_use": "2023-11-14T22:13:23+00:00",
    }


def test_it_clears(gemmbench, filled):
    said = gemmbench("cache", "clear")
    assert (said.code, said.out) == (0, f"deleted 4 artifacts (4 KiB) from {filled}\n")
    assert json.loads(gemmbench("cache", "--json").out)["artifacts"] == 0
    empty = {"folder": str(filled), "artifacts": 0, "bytes": 0, "in_use": 0}
    assert json.loads(gemmbench("cache", "clear", "--json").out) == empty


def test_without_a_cache_there_is_nothing_to_show_or_clear(gemmbench, cache):
    assert json.loads(gemmbench("cache", "--json").out)["artifacts"] == 0
    assert gemmbench("cache", "clear").out == f"deleted 0 artifacts (0 bytes) from {cache}\n"
    assert not cache.exists()


def test_an_unsafe_cache_is_refused_by_every_command_that_uses_it(gemmbench, cache):
    cache.mkdir()
    cache.chmod(0o777)
    for command in (["cache"], ["cache", "clear"], ["run", "naive", "--device", "cpu", "--sizes", "8"]):
        said = gemmbench(*command)
        assert said.code == 3 and f"the cache {cache} is writable by everyone" in said.err
    said = gemmbench("doctor", "--quick", "--device", "cpu")
    assert said.code == 3 and "is writable by everyone" in said.out


def test_an_unknown_action_is_a_usage_error(gemmbench, cache):
    said = gemmbench("cache", "empty")
    assert said.code == 2 and "'empty'" in said.err


def test_a_run_heals_a_cache_whose_every_file_was_damaged(gemmbench, cache):
    run = ["run", "cpu_naive", "--device", "cpu", "--sizes", "16", "--rounds", "2", "--max-time", "0.05"]
    assert gemmbench(*run).code == 0
    files = [path for path in cache.iterdir() if path.suffix in {".kernel", ".o", ".json"}]
    assert {path.suffix for path in files} == {".kernel", ".o", ".json"}
    for path in files:
        os.truncate(path, path.stat().st_size // 2)
    assert gemmbench(*run).code == 0
    assert {path for path in cache.iterdir() if path.is_file()} >= set(files)
