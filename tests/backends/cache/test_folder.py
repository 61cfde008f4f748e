"""The folder of the cache: where it is, and that only its user can write to it."""

import os
import stat

import pytest

from gemmbench.backends import code_cache
from gemmbench.backends.code_cache import cache_folder, make_cache_folder, refuse_unsafe
from gemmbench.errors import DeviceError


def test_the_folder_can_be_chosen(cache, monkeypatch):
    assert cache_folder() == cache
    monkeypatch.delenv("GEMMBENCH_CACHE_DIR")
    assert cache_folder().name == "gemmbench"


def test_a_new_folder_is_private(cache):
    assert stat.S_IMODE(make_cache_folder().stat().st_mode) == 0o700


@pytest.mark.parametrize(("mode", "who"), [(0o777, "everyone"), (0o1777, "everyone"), (0o775, "its group")])
def test_a_folder_that_others_can_write_to_is_refused_with_the_next_step(cache, mode, who):
    make_cache_folder().chmod(mode)
    words = f"the cache {cache} is writable by {who}, who could put any code into it; chmod go-w {cache}, or name"
    with pytest.raises(DeviceError, match=words):
        make_cache_folder()


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o750, 0o555])
def test_a_folder_that_others_can_only_read_is_fine(cache, mode):
    make_cache_folder().chmod(mode)
    assert make_cache_folder() == cache


def test_a_folder_of_another_user_is_refused(cache, monkeypatch):
    make_cache_folder()
    monkeypatch.setattr(code_cache.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(DeviceError, match="belongs to another user, who could have put any code into it; name another"):
        refuse_unsafe(cache)


def test_a_file_in_its_place_is_an_error_in_words(cache):
    cache.write_text("")
    with pytest.raises(DeviceError, match=r"cannot write compiled code to .*: File exists; name another folder"):
        make_cache_folder()


def test_a_missing_folder_is_safe(cache):
    refuse_unsafe(cache)
