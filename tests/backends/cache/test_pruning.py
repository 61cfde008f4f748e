"""What is deleted from the cache, and when: never what a running process uses."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from gemmbench.backends.code_cache import CacheUse, Deleted, clear, list_artifacts, make_cache_folder, prune

LONG_AGO = 1e9


def fill(cache, *names, nbytes=1000, used=LONG_AGO):
    """Artifacts of 1000 bytes, each used a second after the one before."""
    make_cache_folder()
    for number, name in enumerate(names):
        for suffix, size in ((".kernel", nbytes - 100), (".json", 100)):
            path = cache / f"{key(name)}{suffix}"
            path.write_bytes(bytes(size))
            os.utime(path, (used + number, used + number))


def key(name):
    return name.encode().hex().rjust(32, "0")


def kept(cache):
    return [bytes.fromhex(artifact.files[0].stem.lstrip("0")).decode() for artifact in list_artifacts(cache)]


@pytest.mark.parametrize(("limit", "left"), [(10_000, "abcd"), (4000, "abcd"), (3999, "bcd"), (2000, "cd"), (0, "")])
def test_what_was_used_least_recently_goes_first_until_the_limit_holds(cache, limit, left):
    fill(cache, *"abcd")
    assert "".join(kept(cache)) == "abcd"
    deleted = prune(cache, limit)
    assert "".join(kept(cache)) == left
    assert (deleted.artifacts, deleted.nbytes, deleted.in_use) == (4 - len(left), 1000 * (4 - len(left)), 0)


def test_a_use_is_what_counts_and_not_when_it_was_built(cache):
    fill(cache, *"abc")
    os.utime(cache / f"{key('a')}.json")
    prune(cache, 1000)
    assert kept(cache) == ["a"]


def test_what_a_running_process_used_stays_whatever_the_limit(cache):
    fill(cache, "old")
    use = CacheUse(cache)
    fill(cache, "new", used=time.time() + 1)
    assert prune(cache, 0) == Deleted(1, 1000, 1)
    assert kept(cache) == ["new"]
    assert clear(cache).in_use == 1
    use.end()
    assert clear(cache) == Deleted(1, 1000, 0)
    assert kept(cache) == []


def test_other_files_in_the_folder_are_left_alone(cache):
    fill(cache, "a")
    (cache / "thesis.json").write_text("{}")
    (cache / f"{key('a')}.txt").write_text("")
    (cache / "tmp12345678").mkdir()
    (cache / "tmp12345678" / "thesis.tex").write_text("")
    clear(cache)
    names = {path.name for path in cache.iterdir()}
    assert names == {"thesis.json", f"{key('a')}.txt", "tmp12345678", "gemmbench.lock"}


def test_folders_of_killed_runs_are_removed_and_those_of_running_ones_stay(cache):
    make_cache_folder()
    program = """
        import sys, time
        from pathlib import Path
        from gemmbench.backends.base import Build
        from gemmbench.backends.code_cache import fetch_or_build
        def build(path):
            path.write_bytes(b"half")
            print(path, flush=True)
            time.sleep(100)
        fetch_or_build("0" * 32, ".kernel", build)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    killed, alive = (subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2))
    drafts = [Path(process.stdout.readline().strip()) for process in (killed, alive)]
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert all(draft.exists() for draft in drafts)
    prune(cache)
    assert [draft.exists() for draft in drafts] == [False, True]
    alive.kill()
    alive.communicate()
    prune(cache)
    assert [path.name for path in cache.iterdir()] == ["gemmbench.lock"]


def test_a_process_prunes_when_it_ends_and_leaves_no_folder(cache):
    fill(cache, "old", "older")
    program = """
        from gemmbench.backends.base import Build
        from gemmbench.backends import code_cache
        code_cache.prune.__defaults__ = (1500,)
        def build(path):
            path.write_bytes(bytes(700))
            return Build()
        code_cache.fetch_or_build("f" * 32, ".kernel", build)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)
    names = {path.name for path in cache.iterdir()}
    assert names == {"gemmbench.lock", "f" * 32 + ".kernel", "f" * 32 + ".json"}


def test_a_cache_that_is_missing_is_empty(cache):
    assert list_artifacts(cache) == []
