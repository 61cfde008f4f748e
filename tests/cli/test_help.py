"""--help, the options' environment variables, and what may be imported for it."""

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import click
import pytest
import tabulate

from gemmbench import __version__
from gemmbench.cli import group
from gemmbench.cli.options import FORMATS, MARKUP, VARIABLES
from gemmbench.planning.sweeps.run_request import HEADINGS

ROOT = Path(__file__).resolve().parents[2]
TABLE = group.table
LOADED = {name: group.load(name) for name in TABLE}
COMMANDS = sorted(name for name, command in LOADED.items() if not command.hidden)
OPTIONS = [
    (command, option) for command in LOADED.values() for option in command.params if isinstance(option, click.Option)
]


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(gemmbench, command, flag):
    said = gemmbench(command, flag)
    assert said.code == 0 and said.err == ""
    assert said.out.startswith(f"Usage: gemmbench {command} ")
    assert LOADED[command].help.split("\n")[0].split(".")[0][:40] in said.out


@pytest.mark.parametrize("name", TABLE)
def test_the_table_of_commands_repeats_the_commands(name):
    command, entry = LOADED[name], TABLE[name]
    assert (command.name, command.hidden) == (name, entry.hidden)
    assert command.get_short_help_str(limit=200) == entry.summary


def test_a_summary_is_one_line_of_the_help_at_80_columns(gemmbench, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = gemmbench("--help").out.splitlines()
    width = 2 + max(map(len, COMMANDS))
    for name in COMMANDS:
        assert f"  {name:{width}}{TABLE[name].summary}" in lines
    assert max(map(len, lines)) <= 80


def test_the_commands_are_shown_in_the_order_of_work(gemmbench):
    lines = [line for line in gemmbench("--help").out.splitlines() if line]
    headings = [line.rstrip(":") for line in lines if line.endswith(":") and line[0] != " "]
    assert headings == ["Options", *group.sections]
    shown = [line.split()[0] for line in lines[lines.index(f"{headings[1]}:") :] if line[:2] == "  "]
    assert shown[: len(COMMANDS)] == [name for name in TABLE if name in COMMANDS]
    assert "one-launch" in TABLE and "one-launch" not in shown  # which only profile calls


def test_help_of_a_command_is_its_help(gemmbench):
    assert gemmbench("help", "verify").out == gemmbench("verify", "--help").out
    assert gemmbench("help").out == gemmbench("--help").out
    assert gemmbench("help", "nothing").code == 2


def test_options_are_shown_under_headings_in_two_columns(gemmbench, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = gemmbench("run", "--help-all").out.splitlines()
    assert [line.rstrip(":") for line in lines if line.rstrip(":") in HEADINGS] == list(HEADINGS)
    assert lines.index("Problem:") < next(index for index, line in enumerate(lines) if line.startswith("  --sizes"))
    names = [line for line in lines if line.startswith("  -")]
    assert len({len(line) - len(line[27:].lstrip()) for line in names}) == 1
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_help_all_shows_every_option_and_help_the_ten_that_are_most_used(gemmbench, name):
    command = LOADED[name]
    options = [param for param in command.params if isinstance(param, click.Option)]
    full = gemmbench(name, "--help-all").out
    assert all(option.opts[0] in full for option in options)
    if not command.common:
        assert gemmbench(name, "--help").out == full and "--help-all" not in full
    else:
        short = gemmbench(name, "--help").out
        shown = [
            option.name for option in options if re.search(rf"^  (-\w, )?{option.opts[-1]}[ /]", short, re.MULTILINE)
        ]
        assert sorted(shown) == sorted(command.common) and len(shown) == 10
        assert f"gemmbench {name} --help-all shows all {len(options)} options" in short
        assert len(short.splitlines()) < 50


EXAMPLES = [
    (name, line.strip())
    for name, command in LOADED.items()
    for line in command.help.splitlines()
    if line.strip().startswith("gemmbench ") and "  " in line.strip()
]


def test_each_command_that_measures_or_shows_has_three_examples():
    counts = Counter(name for name, _ in EXAMPLES)
    wanted = {*group.sections["Measure and verify"], "show", "plot", "report", "posts", "mlp"}
    assert {name for name, count in counts.items() if count >= 3} >= wanted


@pytest.mark.parametrize("name, line", EXAMPLES)
def test_an_example_is_a_command_that_click_reads_and_fits_80_columns(gemmbench, monkeypatch, name, line):
    monkeypatch.setenv("COLUMNS", "80")
    assert f"  {line}\n" in gemmbench(name, "--help").out and len(line) <= 78
    words = shlex.split(line.partition("  ")[0].partition(" | ")[0].partition(" > ")[0])
    if name != "new":  # whose --from must exist
        assert group.load(words[1]).make_context(words[1], words[2:])


def test_without_a_command_the_help_is_shown_and_it_is_a_usage_error(gemmbench):
    said = gemmbench()
    assert said.code == 2
    assert all(command in said.out + said.err for command in COMMANDS)


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_the_package_s(gemmbench, flag):
    said = gemmbench(flag)
    assert (said.code, said.out.strip()) == (0, f"gemmbench, version {__version__}")


def test_every_option_says_what_it_does_and_is_also_an_environment_variable():
    assert len(OPTIONS) > 30
    for command, option in OPTIONS:
        long = next(name for name in option.opts if name.startswith("--"))
        wanted = "GEMMBENCH_" + long.removeprefix("--").replace("-", "_").upper()
        assert option.envvar == wanted and option.help, f"{command.name} {long}"


def test_the_help_names_one_variable_and_not_one_a_line(gemmbench):
    out = gemmbench("run", "--help-all").out
    assert "env var" not in out and out.count("GEMMBENCH_") == 1
    assert VARIABLES in " ".join(out.split())


def test_an_environment_variable_means_the_same_to_every_command():
    kinds = {}
    for command, option in OPTIONS:
        choices = getattr(option.type, "choices", None)
        kinds.setdefault(option.envvar, {})[command.name] = tuple(choices or [option.type.name])
    unlike = {name: found for name, found in kinds.items() if len(set(found.values())) > 1}
    assert unlike == {}


def test_the_formats_are_tabulate_s():
    assert sorted([*FORMATS, *MARKUP]) == sorted(tabulate.tabulate_formats)


def imported_by(*groups):
    """The packages that main() has imported after each group of calls, in a process of their own."""
    program = f"""
import contextlib, io, json, sys
from gemmbench.cli import main
loaded = []
for calls in {groups!r}:
    for call in calls:
        sys.argv = ["gemmbench", *call]
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as out:
            main()
        assert out.getvalue()
    loaded.append(sorted(name.partition(".")[0] for name in sys.modules))
print(json.dumps(loaded))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return map(set, json.loads(done.stdout))


def test_help_imports_no_command_and_list_no_numpy_and_nothing_a_library_of_a_gpu():
    helps = [[command, "--help"] for command in COMMANDS]
    first, listed, helped = imported_by([["--help"], ["--version"], ["-h"]], [["list"]], helps)
    assert first.isdisjoint({"numpy", "pycuda", "yaml", "msgspec", "tabulate", "rich", "simpleeval", "nvmath"})
    assert listed.isdisjoint({"numpy", "pycuda", "nvmath", "cuda", "pynvml"})
    assert helped.isdisjoint({"pycuda", "nvmath", "cuda", "pynvml", "rich"})
