"""A locale that knows ASCII only, and a cache whose name is no UTF-8."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gemmbench.cli import main

ROOT = Path(__file__).parents[2]
ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
LIST = ["list", "--details", "--kernels", "kernels"]
RUN = "run mine --kernels kernels --device cpu --sizes 8 --rounds 2 --max-time 0.05".split()
PROGRAM = """
import sys
from gemmbench.cli import main
for call in {calls!r}:
    sys.argv = ["gemmbench", *call]
    try:
        main()
    except SystemExit as end:
        assert not end.code, call
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a kernel whose text is not ASCII."""
    text = (ROOT / "cuda" / "cpu_naive.cpp").read_text(encoding="utf-8")
    text = text.replace("the triple loop", "größer € ").replace("Where every post", "Où")
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "mine.cpp").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_in_a_locale_of_ascii_every_command_works_with_a_cache_whose_name_is_no_utf_8(folder):
    def run(*calls, **environment):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "GEMMBENCH_CACHE_DIR": cache, **environment}
        done = subprocess.run([sys.executable, "-c", PROGRAM.format(calls=calls)], env=environment, capture_output=True)
        assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr.decode()
        assert b"codec" not in done.stdout
        return done.stdout

    cache = os.fsdecode(os.fsencode(folder) + b"/cache\xff")
    run(LIST, RUN, ["show"], ["report", "-o", "page.html"], **ASCII)
    shown = run(["cache"])
    assert b"cache\\udcff" in shown and re.search(rb"CPU kernels +1\b", shown)


@pytest.mark.parametrize(("encoding", "printed"), [("utf-8", "größer €"), ("latin-1", r"größer \u20ac")])
def test_letters_that_the_encoding_lacks_are_escaped_and_all_others_printed(folder, monkeypatch, encoding, printed):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    monkeypatch.setattr(sys, "argv", ["gemmbench", *LIST])
    with pytest.raises(SystemExit):
        main()
    sys.stdout.flush()
    assert printed.encode(encoding) in written.getvalue()


def test_a_word_that_the_locale_cannot_read_is_an_error_that_names_the_locale_and_the_next_step(folder):
    def run(*words, **environment):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        done = subprocess.run([sys.executable, "-m", "gemmbench", "list", *words], env=environment, capture_output=True)
        return done.returncode, done.stderr.decode()

    code, said = run("--kernels", "k \u00e9".encode(), **ASCII)
    assert code == 2 and "rename" not in said
    assert "cannot read 'k \xe9' in the locale C, whose encoding is ascii; set LC_ALL=C.UTF-8" in said
    for environment in (ASCII, {}):
        code, said = run("--kernels", b"k\xff", **environment)
        assert code == 2 and r"'k\xff' is not UTF-8; rename the file" in said
