"""Output: in GitHub Actions, no text is a command to the runner."""

import io
import os
import re
import subprocess
import sys

import pytest

from gemmbench.cli.streams import defuse_output, write_workflow_command
from gemmbench.planning.files import defuse_workflow_commands

ATTACKS = [
    "::error::pwned",
    "  ::warning file=x::pwned",
    "\u3000\u200b:\u200b:stop-commands::x",
    "fine\n::add-mask::a",
    "a bar\r::error::pwned",
    "text ##[error]pwned",
    ":::error::",
]


def runner_obeys(text):
    """Whether the runner takes a line for a command: it trims, and leaves out what has no width."""
    lines = [re.sub("[\u200b\u00ad\ufeff\x00]", "", line).strip() for line in re.split(r"[\r\n]", text)]
    return any(line.startswith("::") or "##[" in line for line in lines)


@pytest.fixture
def write(monkeypatch):
    """What becomes of texts that are written one after the other."""

    def go(*texts, actions="true"):
        stream = io.StringIO()
        monkeypatch.setenv("GITHUB_ACTIONS", actions)
        monkeypatch.setattr(sys, "stdout", stream)
        with defuse_output():
            for text in texts:
                sys.stdout.write(text)
        return stream.getvalue()

    return go


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_is_a_command_whole_or_in_parts(write, attack):
    assert runner_obeys(attack)
    whole = write(attack)
    assert not runner_obeys(whole) and whole.replace(" ", "") == attack.replace(" ", "")
    for cut in range(1, len(attack)):
        assert write(attack[:cut], attack[cut:]) == whole
    assert write(*attack) == whole and write("x" * 99, "\n", *attack) == "x" * 99 + "\n" + whole


@pytest.mark.parametrize("text", ["std::min\n", "a: b :: c\n", "# title\n", "M = 8: 1\n\n"])
def test_other_text_stays(write, text):
    assert write(text) == write(*text) == text


def test_elsewhere_all_text_stays(write):
    assert write("::error::text", actions="") == "::error::text"


def test_a_command_of_gemmbench_itself_is_obeyed(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setattr(sys, "stdout", stream)
    with defuse_output():
        write_workflow_command("::error title=a::b")
    assert stream.getvalue() == "::error title=a::b\n"


def test_the_message_of_an_exception_is_text_too(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setattr(sys, "stderr", stream)
    with pytest.raises(SystemExit) as end, defuse_output():
        raise ValueError("fault\n::error::pwned")
    assert end.value.code == 1 and "fault\n: :error::pwned" in stream.getvalue()


def test_a_long_line_of_blanks_takes_no_time():
    assert defuse_workflow_commands(" " * 10**6 + "\n" * 10**6 + "::x").endswith("\n: :x")


@pytest.mark.parametrize("style", ["simple", "github", "tsv", "latex", "rich"])
def test_names_and_reasons_of_a_results_file_are_text(gemmbench, run_naive, saved, monkeypatch, style):
    run_naive()
    path, _ = saved()
    path.write_text(path.read_text().replace('"reason":""', r'"reason":"a\n::error::b"').replace("naive", "::error::n"))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    for options in (["show", path, "--format", style], ["run", "::error::x"]):
        said = gemmbench(*options)
        assert "error::" in said.out + said.err
        assert not runner_obeys(said.out) and not runner_obeys(said.err)


def test_only_rows_are_on_stdout_in_tsv(gemmbench, run_naive, saved):
    run_naive()
    said = gemmbench("show", saved()[0], "--format", "tsv", "--wide")
    assert {line.count("\t") for line in said.out.splitlines() if line.strip()} != {0}
    assert "gemmbench" not in said.out and said.err.strip()


def test_a_closed_pipe_leaves_the_exit_code(script, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    words = ["verify", "naive", "--sizes", "8", "--device", script(faults={"naive": "zero"})]
    done = subprocess.run(
        [sys.executable, "-m", "gemmbench", *words], stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, text=True
    )
    os.close(writer)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
