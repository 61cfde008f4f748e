"""Compiled code, kept by content."""

import threading
from pathlib import Path

import pytest

from gemmbench.backends.base import Build
from gemmbench.backends.cache import cache_folder, content_key, fetch_or_build
from gemmbench.errors import BuildError

FACTS = Build(registers=40, shared=1024, spills=8)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiler():
    """Writes `code`, and counts how often it was called."""
    calls = []

    def build(path):
        calls.append(path)
        path.write_bytes(b"code")
        return FACTS

    return build, calls


def test_the_folder_can_be_chosen(cache, monkeypatch):
    assert cache_folder() == cache
    monkeypatch.delenv("GEMMBENCH_CACHE_DIR")
    assert cache_folder().name == "gemmbench"


def test_a_key_hangs_on_every_part_and_on_their_borders():
    keys = [content_key(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["ab", "c", ""], ["c", "ab"])]
    assert len(set(keys)) == 5
    assert content_key(["ab", "c"]) == keys[0] and keys[0].isalnum()


def test_the_second_time_nothing_is_compiled(cache, compiler):
    build, calls = compiler
    first, second = fetch_or_build("key", ".cubin", build), fetch_or_build("key", ".cubin", build)
    assert len(calls) == 1
    assert first.key == second.key == "key" and first.path == second.path == str(cache / "key.cubin")
    assert (first.build.cached, second.build.cached) == (False, True)
    assert first.build.seconds > 0 == second.build.seconds
    assert (second.build.registers, second.build.shared, second.build.spills) == (40, 1024, 8)
    assert Path(first.path).read_bytes() == b"code"


def test_another_key_is_other_code(cache, compiler):
    build, calls = compiler
    fetch_or_build("one", ".cubin", build)
    fetch_or_build("two", ".cubin", build)
    assert len(calls) == 2


def test_a_failed_build_leaves_nothing_and_is_tried_again(cache, compiler):
    def failing(path):
        path.write_bytes(b"half")
        raise BuildError("no")

    with pytest.raises(BuildError):
        fetch_or_build("key", ".cubin", failing)
    assert list(cache.iterdir()) == []
    build, calls = compiler
    assert fetch_or_build("key", ".cubin", build).build.cached is False
    assert len(calls) == 1


def test_code_without_its_facts_is_compiled_again(cache, compiler):
    build, calls = compiler
    fetch_or_build("key", ".cubin", build)
    (cache / "key.json").unlink()
    assert fetch_or_build("key", ".cubin", build).build.registers == 40
    assert len(calls) == 2


@pytest.mark.parametrize("facts", ["", "{", '{"registers": 4, "of a later version": 1}', '{"registers": 4}', "[]"])
def test_facts_that_cannot_be_read_are_made_again(cache, compiler, facts):
    build, _ = compiler
    fetch_or_build("key", ".cubin", build)
    (cache / "key.json").write_text(facts)
    assert fetch_or_build("key", ".cubin", build).build.registers == 40


def test_only_the_code_and_its_facts_stay_behind(cache, compiler):
    fetch_or_build("key", ".so", compiler[0])
    assert sorted(path.name for path in cache.iterdir()) == ["key.json", "key.so"]


def test_builds_of_one_key_at_once_all_end_with_the_whole_code(cache):
    together = threading.Barrier(4)
    found = []

    def build(path):
        together.wait(10)
        path.write_bytes(b"code" * 1000)
        return FACTS

    threads = [threading.Thread(target=lambda: found.append(fetch_or_build("key", ".so", build))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {artifact.path for artifact in found} == {str(cache / "key.so")} and len(found) == 4
    assert (cache / "key.so").read_bytes() == b"code" * 1000
    assert sorted(path.name for path in cache.iterdir()) == ["key.json", "key.so"]
