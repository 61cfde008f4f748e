"""Compiled code, kept by content."""

import json
import os
import threading
from dataclasses import asdict
from pathlib import Path

import pytest

from gemmbench.backends.base import Build
from gemmbench.backends.code_cache import content_key, fetch_or_build, holds
from gemmbench.errors import BuildError, DeviceError

FACTS = Build(registers=40, shared=1024, spills=8)


@pytest.fixture
def compiler():
    """Writes `code`, and counts how often it was called."""
    calls = []

    def build(path):
        calls.append(path)
        path.write_bytes(b"code")
        return FACTS

    return build, calls


def names(cache):
    """What is in the cache besides the folder that this process holds."""
    own = ("gemmbench.lock", "gemmbench-run-")
    return sorted(path.name for path in cache.iterdir() if not path.name.startswith(own))


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
    assert names(cache) == []
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
    assert names(cache) == ["key.json", "key.so"]


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
    assert names(cache) == ["key.json", "key.so"]


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def swap(one, other):
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def put(path, make):
    path.unlink()
    make(path)


def change_facts(path, **facts):
    stored = json.loads(path.read_text())
    stored["build"].update(facts)
    path.write_text(json.dumps(stored))


DAMAGE = {
    "truncated": lambda code, facts: os.truncate(code, 100),
    "empty": lambda code, facts: os.truncate(code, 0),
    "garbage": lambda code, facts: code.write_bytes(b"garbage" * 100),
    "a flipped bit": lambda code, facts: flip(code, 250),
    "the last bit flipped": lambda code, facts: flip(code, -1),
    "longer": lambda code, facts: code.write_bytes(code.read_bytes() + b"\0"),
    "chmod -x": lambda code, facts: code.chmod(0o644),
    "missing": lambda code, facts: code.unlink(),
    "a directory": lambda code, facts: put(code, lambda path: (path / "in" / "it").mkdir(parents=True)),
    "a FIFO": lambda code, facts: put(code, os.mkfifo),
    "a dangling link": lambda code, facts: put(code, lambda path: path.symlink_to("nowhere")),
    "a link to other code": lambda code, facts: put(code, lambda path: path.symlink_to(code.with_name("other.kernel"))),
    "swapped with other code": lambda code, facts: swap(code, code.with_name("other.kernel")),
    "swapped with other code and facts": lambda code, facts: (
        swap(code, code.with_name("other.kernel")),
        swap(facts, facts.with_name("other.json")),
    ),
    "changed facts": lambda code, facts: change_facts(facts, shared=0),
    "facts of another type": lambda code, facts: change_facts(facts, shared="no"),
    "truncated facts": lambda code, facts: os.truncate(facts, 20),
    "facts that are a directory": lambda code, facts: put(facts, Path.mkdir),
    "facts without a checksum": lambda code, facts: facts.write_text(json.dumps(asdict(FACTS))),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_artifact_is_noticed_and_built_again(cache, damage):
    contents = {"key": bytes(range(256)) * 2, "other": bytes(512)}

    def fetch(key):
        def build(path):
            path.write_bytes(contents[key])
            path.chmod(0o755)
            return FACTS

        return fetch_or_build(key, ".kernel", build)

    for key in contents:
        fetch(key)
    assert holds("key", ".kernel") and fetch("key").build.cached
    damage(cache / "key.kernel", cache / "key.json")
    assert not holds("key", ".kernel")
    healed = fetch("key")
    assert not healed.build.cached and healed.build.shared == 1024
    assert Path(healed.path).read_bytes() == contents["key"] and os.access(healed.path, os.X_OK)
    assert fetch("key").build.cached
    assert fetch("other") and (cache / "other.kernel").read_bytes() == contents["other"]


def test_a_folder_that_others_can_write_to_is_refused_before_anything_of_it_is_used(cache, compiler):
    build, calls = compiler
    fetch_or_build("key", ".cubin", build)
    cache.chmod(0o777)
    for use in (lambda: fetch_or_build("key", ".cubin", build), lambda: holds("key", ".cubin")):
        with pytest.raises(DeviceError, match="is writable by everyone"):
            use()
    assert len(calls) == 1


def test_a_use_is_noted_in_the_time_of_the_facts(cache, compiler):
    fetch_or_build("key", ".cubin", compiler[0])
    os.utime(cache / "key.json", (1e9, 1e9))
    fetch_or_build("key", ".cubin", compiler[0])
    assert (cache / "key.json").stat().st_mtime > 1.7e9
