"""A locale that knows ASCII only, and a cache whose name is no UTF-8."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
FAST = ["--device", "cpu", "--sizes", "8", "--rounds", "2", "--max-time", "0.05"]


@pytest.fixture
def gemmbench(tmp_path):
    """Run a command in a process of its own, in a folder with a kernel whose text is not ASCII."""
    text = (ROOT / "cuda" / "cpu_naive.cpp").read_text(encoding="utf-8")
    text = text.replace("the triple loop", "größer € ").replace("Where every post", "Où")
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "mine.cpp").write_text(text, encoding="utf-8")

    def run(*arguments, **environment):
        command = [sys.executable, "-m", "gemmbench", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "GEMMBENCH_CACHE_DIR": str(tmp_path / "c"), **environment}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
        assert b"Traceback" not in done.stderr and b"codec" not in done.stdout, done.stderr.decode()
        return done

    return run


def test_in_a_locale_of_ascii_every_command_works(gemmbench):
    assert gemmbench("list", "--kernels", "kernels", **ASCII).returncode == 0
    done = gemmbench("run", "mine", "--kernels", "kernels", *FAST, **ASCII)
    assert done.returncode == 0, done.stdout
    assert gemmbench("show", **ASCII).returncode == 0
    assert gemmbench("report", "-o", "page.html", **ASCII).returncode == 0


def test_letters_that_the_encoding_lacks_are_escaped_and_all_others_printed(gemmbench):
    summary = "größer €"
    printed = {"utf-8": summary.encode(), "latin-1": summary.replace("€", r"\u20ac").encode("latin-1")}
    for encoding, text in printed.items():
        assert text in gemmbench("list", "--kernels", "kernels", PYTHONIOENCODING=encoding).stdout


def test_a_cache_whose_name_is_no_utf_8_is_used_and_shown(gemmbench, tmp_path):
    cache = os.fsdecode(os.fsencode(tmp_path) + b"/cache\xff")
    assert gemmbench("run", "mine", "--kernels", "kernels", *FAST, GEMMBENCH_CACHE_DIR=cache).returncode == 0
    shown = gemmbench("cache", GEMMBENCH_CACHE_DIR=cache)
    assert shown.returncode == 0 and b"cache\\udcff" in shown.stdout
