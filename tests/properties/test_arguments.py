"""Odd command lines: each runs, or is refused in one line."""

import click
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from gemmbench.cli import group

WORDS = """
naive tiled blocktile_2d sgemm cublas cublaslt openblas mlp_fused naive+graph cublas+graph HEAD:naive nosuch a:b : -
004 001-sgemm quick mlp posts/004-gemm bash zsh good.jsonl bad.jsonl nowhere.jsonl . .. /dev/null /dev/full x.csv x.md
x.json nodir/x.csv x.svg x.html all TILE=16 TILE=8,16 TILE= =8 TILE=x BM=128 BM=0 TILE=-1 all=1 TILE=99999999999 1 0 -1
8 16x8x4 8:24:8 1:0:1 0 8,,8 f32 f16,bf16 fp8 nn nn,tt xx 1.5 -0.5 nan inf 1e400 1e-320 5% 0.5 200% fake fake:none.yaml
cuda cuda:0 cuda:-1 cuda:99 tpu rich github tsv html nosuch -- --help -h --all --json -x sm_90 90a 80 1 2 64 100
memcheck memcheck,nosuch 128 cold uniform
""".split()
TEXTS = ["", " ", "x" * 300, "9" * 25, "9" * 5000, "na\xefve", "\x1b[31m", "\n", "\U0001f600", "%s", "{}", "'", '"']
# The last of two equal options counts, so no case runs for long or opens a port.
FEW = ["--device", "fake", "--sizes", "8", "--rounds", "2", "--max-time", "0.01", "--cache", "hot"]
ENDS = {
    "run": [FEW, ["--device", "fake", "--dry-run"], ["--device", "cpu", "--dry-run"]],
    "compare": [FEW, ["--device", "fake", "--dry-run"]],
    "check": [FEW],
    "verify": [["--device", "fake", "--sizes", "8", "--layout", "nn", "naive"]],
    "posts": [["--device", "fake", "--dry-run"]],
    "mlp": [["--device", "fake", "--dry-run"]],
    "doctor": [["--device", "fake"]],
    "one-launch": [["--device", "fake", "--sizes", "8"]],
}
LEFT_OUT = {"--serve"}
RARE = {"doctor", "plot", "report"}  # each case takes a tenth of a second or more


def list_commands():
    context = click.Context(group)
    commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return [name for name in commands for _ in range(1 if name in RARE else 5)], commands


NAMES, COMMANDS = list_commands()
words = st.sampled_from(WORDS * 3 + TEXTS) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@st.composite
def options(draw, command):
    """An option of the command with a value, usually one that it takes."""
    known = [param for param in command.params if isinstance(param, click.Option)]
    known = [param for param in known if not LEFT_OUT.intersection(param.opts)]
    if not known:
        return [draw(words)]
    param = draw(st.sampled_from(known))
    name = draw(st.sampled_from(param.opts + param.secondary_opts))
    if param.is_flag or (param.flag_value and draw(st.booleans())):
        return [name]
    choices = getattr(param.type, "choices", None)
    return [name, draw(st.sampled_from(list(choices)) | words if choices else words)]


@st.composite
def command_lines(draw):
    name = draw(st.sampled_from(NAMES))
    positional = draw(st.lists(words, max_size=2))
    given_options = [word for _ in range(draw(st.integers(0, 3))) for word in draw(options(COMMANDS[name]))]
    end = draw(st.sampled_from(ENDS[name])) if name in ENDS else []
    return [name, *positional, *given_options, *end]


@pytest.fixture
def saved(run_command, tmp_path):
    """A folder with a good results file and a bad one."""
    run_command("run", "naive", "tiled", "--rounds", "10", "--out", "out", "--save", "good", *FEW)
    next((tmp_path / "out").glob("*.jsonl")).rename(tmp_path / "good.jsonl")
    (tmp_path / "bad.jsonl").write_text("{}\n")


@given(line=command_lines())
def test_an_odd_command_line_runs_or_is_refused_in_one_line(saved, run_command, line):
    event(f"{line[0]}: {run_command(*line)}")
