"""Compiled code, kept by content in a folder of this user, and deleted only where no running process uses it."""

import json
import os
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest

from gemmbench.backends import code_cache
from gemmbench.backends.base import Build
from gemmbench.backends.locks import hold_lock
from gemmbench.errors import BuildError, DeviceError

FACTS = Build(registers=40, shared=1024, spills=8)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def calls():
    """The drafts that were built by `fetch`."""
    return []


@pytest.fixture
def fetch(cache, calls):
    """Fetch the artifact of a key, which has the content `code`."""

    def build(path):
        calls.append(path)
        path.write_bytes(b"code")
        return FACTS

    return lambda key: code_cache.fetch_or_build(key, ".cubin", build)


def names(cache):
    """What is in the cache besides the folder that this process holds."""
    own = ("gemmbench.lock", "gemmbench-run-")
    return sorted(path.name for path in cache.iterdir() if not path.name.startswith(own))


def test_a_key_hangs_on_every_part_and_on_their_borders():
    keys = [
        code_cache.content_key(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["ab", "c", ""], ["c", "ab"])
    ]
    assert len(set(keys)) == 5
    assert code_cache.content_key(["ab", "c"]) == keys[0] and keys[0].isalnum()


def test_the_second_time_nothing_is_compiled(cache, fetch, calls):
    first, second = fetch("key"), fetch("key")
    assert len(calls) == 1
    assert first.key == second.key == "key" and first.path == second.path == str(cache / "key.cubin")
    assert (first.build.cached, second.build.cached) == (False, True)
    assert first.build.seconds > 0 == second.build.seconds
    assert (second.build.registers, second.build.shared, second.build.spills) == (40, 1024, 8)
    assert Path(first.path).read_bytes() == b"code"
    assert names(cache) == ["key.cubin", "key.json"]
    fetch("other")
    assert len(calls) == 2


def test_a_failed_build_leaves_nothing_and_is_tried_again(cache, fetch, calls):
    def failing(path):
        path.write_bytes(b"half")
        raise BuildError("no")

    with pytest.raises(BuildError):
        code_cache.fetch_or_build("key", ".cubin", failing)
    assert names(cache) == []
    assert fetch("key").build.cached is False and len(calls) == 1


def test_builds_of_one_key_at_once_all_end_with_the_whole_code(cache):
    together = threading.Barrier(4)

    def build(path):
        together.wait(10)
        path.write_bytes(b"code" * 1000)
        return FACTS

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: code_cache.fetch_or_build("key", ".so", build), range(4)))
    assert [artifact.path for artifact in found] == [str(cache / "key.so")] * 4
    assert (cache / "key.so").read_bytes() == b"code" * 1000
    assert names(cache) == ["key.json", "key.so"]


def test_code_that_was_built_meanwhile_stays_since_it_may_be_about_to_start(cache):
    def build(path):
        path.write_bytes(b"code")
        return FACTS

    def build_late(path):
        code_cache.fetch_or_build("key", ".so", build)
        started.append((cache / "key.so").stat().st_ino)
        return build(path)

    started = []
    assert code_cache.fetch_or_build("key", ".so", build_late).path == str(cache / "key.so")
    assert [(cache / "key.so").stat().st_ino] == started


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


def nest(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


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
    "missing facts": lambda code, facts: facts.unlink(),
    "empty facts": lambda code, facts: os.truncate(facts, 0),
    "facts of a later version": lambda code, facts: facts.write_text('{"registers": 4, "of a later version": 1}'),
    "a list of facts": lambda code, facts: facts.write_text("[]"),
    "facts as deep as a well": lambda code, facts: facts.write_text("[" * 200_000),
    "deep facts": lambda code, facts: facts.write_text('{"build":' * 200_000),
    "facts with a deep value": lambda code, facts: change_facts(facts, registers=nest(900)),
    "facts that are no text": lambda code, facts: facts.write_bytes(b'{"build": "\xff"}'),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_artifact_is_noticed_and_built_again(cache, damage):
    contents = {"key": bytes(range(256)) * 2, "other": bytes(512)}

    def fetch(key):
        def build(path):
            path.write_bytes(contents[key])
            path.chmod(0o755)
            return FACTS

        return code_cache.fetch_or_build(key, ".kernel", build)

    fetch("other")
    fetch("key")
    assert code_cache.holds("key", ".kernel") and fetch("key").build.cached
    damage(cache / "key.kernel", cache / "key.json")
    assert not code_cache.holds("key", ".kernel")
    healed = fetch("key")
    assert not healed.build.cached and healed.build.shared == 1024
    assert Path(healed.path).read_bytes() == contents["key"] and os.access(healed.path, os.X_OK)
    assert fetch("key").build.cached
    assert fetch("other") and (cache / "other.kernel").read_bytes() == contents["other"]


def test_a_folder_that_others_can_write_to_is_refused_before_anything_of_it_is_used(cache, fetch, calls):
    fetch("key")
    cache.chmod(0o777)
    for use in (lambda: fetch("key"), lambda: code_cache.holds("key", ".cubin")):
        with pytest.raises(DeviceError, match="is writable by everyone"):
            use()
    assert len(calls) == 1


def test_a_use_is_noted_in_the_time_of_the_facts(cache, fetch):
    fetch("key")
    os.utime(cache / "key.json", (1e9, 1e9))
    fetch("key")
    assert (cache / "key.json").stat().st_mtime > 1.7e9


def test_the_folder_can_be_chosen_and_a_new_one_is_private(cache, monkeypatch):
    assert code_cache.cache_folder() == code_cache.make_cache_folder() == cache
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    monkeypatch.delenv("GEMMBENCH_CACHE_DIR")
    assert code_cache.cache_folder().name == "gemmbench"


@pytest.mark.parametrize(("mode", "who"), [(0o777, "everyone"), (0o1777, "everyone"), (0o775, "its group")])
def test_a_folder_that_others_can_write_to_is_refused_with_the_next_step(cache, mode, who):
    code_cache.make_cache_folder().chmod(mode)
    words = f"the cache {cache} is writable by {who}, who could put any code into it; chmod go-w {cache}, or set"
    with pytest.raises(DeviceError, match=words):
        code_cache.make_cache_folder()


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o750, 0o555])
def test_a_folder_that_others_can_only_read_is_fine(cache, mode):
    code_cache.make_cache_folder().chmod(mode)
    assert code_cache.make_cache_folder() == cache


def test_a_folder_of_another_user_is_refused(cache, monkeypatch):
    code_cache.make_cache_folder()
    monkeypatch.setattr(code_cache.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(
        DeviceError,
        match="belongs to another user, who could have put any code into it; set GEMMBENCH_CACHE_DIR to another",
    ):
        code_cache.refuse_unsafe(cache)


def test_a_file_in_its_place_is_an_error_in_words(cache):
    cache.write_text("")
    with pytest.raises(DeviceError, match=r"cannot write compiled code to .*: File exists; set GEMMBENCH_CACHE_DIR"):
        code_cache.make_cache_folder()


def test_a_missing_folder_is_safe_and_empty(cache):
    code_cache.refuse_unsafe(cache)
    assert code_cache.list_artifacts(cache) == []


PROGRAM = """
import time
from gemmbench.backends import code_cache
from gemmbench.backends.base import Build
from gemmbench.backends.locks import hold_lock
"""


def fill(cache, *names, nbytes=1000, used=1e9):
    """Artifacts of 1000 bytes, each used a second after the one before."""
    code_cache.make_cache_folder()
    for number, name in enumerate(names):
        for suffix, size in ((".kernel", nbytes - 100), (".json", 100)):
            path = cache / f"{key(name)}{suffix}"
            path.write_bytes(bytes(size))
            os.utime(path, (used + number, used + number))


def key(name):
    return name.encode().hex().rjust(32, "0")


def kept(cache):
    return [bytes.fromhex(artifact.files[0].stem.lstrip("0")).decode() for artifact in code_cache.list_artifacts(cache)]


@pytest.mark.parametrize(("limit", "left"), [(10_000, "abcd"), (4000, "abcd"), (3999, "bcd"), (2000, "cd"), (0, "")])
def test_what_was_used_least_recently_goes_first_until_the_limit_holds(cache, limit, left):
    fill(cache, *"abcd")
    assert "".join(kept(cache)) == "abcd"
    deleted = code_cache.prune(cache, limit)
    assert "".join(kept(cache)) == left
    assert (deleted.artifacts, deleted.nbytes, deleted.in_use) == (4 - len(left), 1000 * (4 - len(left)), 0)


def test_a_use_is_what_counts_and_not_when_it_was_built(cache):
    fill(cache, *"abc")
    os.utime(cache / f"{key('a')}.json")
    code_cache.prune(cache, 1000)
    assert kept(cache) == ["a"]


def test_what_a_running_process_used_stays_whatever_the_limit(cache):
    fill(cache, "old")
    use = code_cache.CacheUse(cache)
    fill(cache, "new", used=time.time() + 1)
    assert code_cache.prune(cache, 0) == code_cache.Deleted(1, 1000, 1)
    assert kept(cache) == ["new"]
    assert code_cache.clear(cache).in_use == 1
    use.end()
    assert code_cache.clear(cache) == code_cache.Deleted(1, 1000, 0)
    assert kept(cache) == []


def test_other_files_in_the_folder_are_left_alone(cache):
    fill(cache, "a")
    (cache / "thesis.json").write_text("{}")
    (cache / f"{key('a')}.txt").write_text("")
    (cache / "tmp12345678").mkdir()
    (cache / "tmp12345678" / "thesis.tex").write_text("")
    code_cache.clear(cache)
    names = {path.name for path in cache.iterdir()}
    assert names == {"thesis.json", f"{key('a')}.txt", "tmp12345678", "gemmbench.lock"}


def test_folders_of_killed_runs_are_removed_and_those_of_running_ones_stay(cache):
    code_cache.make_cache_folder()
    program = f"""{PROGRAM}
def build(path):
    path.write_bytes(b"half")
    print(path, flush=True)
    time.sleep(100)
code_cache.fetch_or_build("0" * 32, ".kernel", build)
"""
    command = [sys.executable, "-c", program]
    killed, alive = (subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2))
    drafts = [Path(process.stdout.readline().strip()) for process in (killed, alive)]
    killed.kill()
    killed.communicate()
    assert all(draft.exists() for draft in drafts)
    code_cache.prune(cache)
    assert [draft.exists() for draft in drafts] == [False, True]
    alive.kill()
    alive.communicate()
    code_cache.prune(cache)
    assert [path.name for path in cache.iterdir()] == ["gemmbench.lock"]


def test_a_process_prunes_when_it_ends_and_leaves_no_folder(cache):
    fill(cache, "old", "older")
    program = f"""{PROGRAM}
code_cache.prune.__defaults__ = (1500,)
def build(path):
    path.write_bytes(bytes(700))
    return Build()
code_cache.fetch_or_build("f" * 32, ".kernel", build)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    names = {path.name for path in cache.iterdir()}
    assert names == {"gemmbench.lock", "f" * 32 + ".kernel", "f" * 32 + ".json"}


@pytest.mark.parametrize(
    "content", [b"[" * 200_000, b'["\\u0000"]', b'["/dev/zero"]', b'["."]', b"\xff", b"{}", b"7", b'[["x"]]']
)
def test_a_damaged_list_of_headers_is_made_again(cache, tmp_path, content):
    header = tmp_path / "header.h"
    header.write_text("// text")
    key = code_cache.make_key("a" * 32, lambda: [str(header)])
    (cache / f"{'a' * 32}.headers").write_bytes(content)
    assert code_cache.find_key("a" * 32, ".cubin") is None
    assert code_cache.make_key("a" * 32, lambda: [str(header)]) == key


def test_a_list_of_headers_that_is_a_fifo_is_made_again(cache):
    cache.mkdir(mode=0o700)
    os.mkfifo(cache / f"{'a' * 32}.headers")
    assert code_cache.find_key("a" * 32, ".cubin") is None


def test_a_relative_folder_is_made_absolute_where_it_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", "c")
    assert code_cache.make_cache_folder() == tmp_path / "c"


def test_threads_that_wait_for_the_cache_give_up_together_and_name_the_next_step(cache, fetch, monkeypatch):
    monkeypatch.setattr(hold_lock.__wrapped__, "__defaults__", (0.2,))
    cache.mkdir(mode=0o700)
    with hold_lock(cache / "gemmbench.lock"), ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(fetch, f"key{number}") for number in range(4)]
        faults = [str(job.exception()) for job in jobs]
    assert all(isinstance(job.exception(), DeviceError) for job in jobs)
    assert len(set(faults)) == 1 and "held the lock" in faults[0] and "GEMMBENCH_CACHE_DIR" in faults[0]
    assert fetch("key0").path
