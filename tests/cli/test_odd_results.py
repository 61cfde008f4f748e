"""Results files with odd content: control sequences are shown, not sent, and a damaged file stops nothing else."""

import json
import os

import pytest

ODD = "na\x1b]0;owned\x07ive\u202e"


@pytest.fixture
def odd_file(run_naive, saved):
    """A results file in which every text of the first row and much of the header has control sequences."""
    run_naive()
    path, _ = saved()
    header, row, *rest = map(json.loads, path.read_text().splitlines())
    header |= {
        name: header[name] + ODD for name in ("run", "sweep", "command", "gemmbench", "revision", "host", "post")
    }
    header |= {"software": {ODD: ODD}, "device": header["device"] + ODD}
    row |= {"variant": ODD, "reason": ODD, "diagnosis": ODD, "stopped": "interrupted", "data": ODD, "path": f"{ODD}@1"}
    row |= {"config": {ODD: 1}, "picked": ODD, "wrong_map": ODD, "cache": ODD, "check_rule": ODD}
    path.write_text("".join(json.dumps(line) + "\n" for line in [header, row, *rest]))
    return path


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--wide",),
        ("--explain", "1"),
        ("--format", "github"),
        ("--format", "html"),
        ("--format", "tsv"),
        ("--explain", "none"),
    ],
    ids=" ".join,
)
def test_show_sends_no_control_sequence(gemmbench, odd_file, options):
    said = gemmbench("show", odd_file, *options)
    for text in (said.out, said.err):
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert r"\x1b]0;owned\x07" in said.out + said.err


def test_no_export_for_people_has_a_control_sequence(gemmbench, odd_file, tmp_path):
    gemmbench("show", odd_file, "--export-markdown", "x.md")
    gemmbench("report", odd_file, "-o", "x.html")
    gemmbench("plot", odd_file, "-o", "x.svg")
    for name in ("x.md", "x.html", "x.svg"):
        text = (tmp_path / name).read_text()
        assert not set(text) & {"\x1b", "\x07", "\u202e"} and r"\x1b]0;owned\x07" in text


def test_a_folder_with_an_odd_file_is_listed(gemmbench, odd_file):
    said = gemmbench("show", odd_file.parent)
    assert said.code == 0 and "\x1b" not in said.out


def test_a_pipe_among_the_results_is_left_alone(gemmbench, run_naive, saved):
    run_naive()
    path, _ = saved()
    os.mkfifo(path.with_name("zz.jsonl"))
    assert gemmbench("show").code == 0
    said = gemmbench("show", path.with_name("zz.jsonl"))
    assert (said.code, said.err) == (
        2,
        f"gemmbench: {path.parent}/zz.jsonl: not a file but a pipe or a device; name a .jsonl\n",
    )


@pytest.mark.parametrize(
    "content",
    [b'{"row":"environment","run":"\xff"}\n', b'{"row":"environment","schema":"x"}\n', b"[" * 9000, b"\x00" * 99],
)
def test_a_damaged_file_does_not_hide_a_good_one(gemmbench, run_naive, saved, content):
    run_naive()
    path, _ = saved()
    path.with_name("zz.jsonl").write_bytes(content)
    assert gemmbench("show").code == gemmbench("show", path).code == 0
    assert gemmbench("show", "results").err.startswith("left out: results/zz.jsonl:1: ")
