"""The README speaks the truth: its tables, its commands, its example of a kernel."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gemmbench.cli import group
from gemmbench.planning.manifests.manifest import read_variant
from tools.generate_docs import DOCUMENTS, README, generate_parts

TEXT = README.read_text(encoding="utf-8")
COMMANDS = sorted(
    {part.strip() for line in re.findall(r"^    (gemmbench [^#\n]+)", TEXT, re.MULTILINE) for part in line.split("&&")}
)
KERNEL = re.search(r"```cuda\n(.*?)```", TEXT[TEXT.index("## Add a kernel") :], re.DOTALL)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_generated_parts_are_those_of_the_results_and_the_code(path):
    text = path.read_text(encoding="utf-8")
    assert generate_parts(text) == text, "run `make docs`"


def test_there_are_commands_to_check():
    assert len(COMMANDS) >= 12


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_parses(command):
    _, name, *arguments = shlex.split(command)
    found = group.load(name)
    with click.Context(found, info_name=name, **group.context_settings) as context:  # click keeps the help option
        found.parse_args(context, arguments)


def test_the_example_of_a_kernel_is_right_on_the_cpu_device(tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("no g++ on this machine")
    assert KERNEL is not None
    (tmp_path / "mine.cu").write_text(KERNEL[1])
    assert read_variant(tmp_path / "mine.cu").summary
    command = [sys.executable, "-m", "gemmbench", "verify", "mine", "--kernels", str(tmp_path), "--device", "cpu"]
    done = subprocess.run([*command, "--sizes", "1,33x65x17"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"mine +2 +4 +0 +0 ", done.stdout)


def test_the_folders_of_the_house_are_there():
    named = re.findall(r"^    (?:  )?(\w+/) ", TEXT[TEXT.index("## The house") :], re.MULTILINE)
    root = Path(README).parent
    assert len(named) >= 9
    assert [name for name in named if not (root / name).is_dir() and not (root / "gemmbench" / name).is_dir()] == []


def test_the_paths_of_the_contributing_guide_exist():
    root = Path(README).parent
    guide = (root / "docs" / "contributing.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w.]+/[\w./]*|\w+\.py)`", guide)) - {"cuda/NAME.cu"}
    assert len(named) >= 20
    assert [name for name in named if not (root / name).exists() and not (root / "gemmbench" / name).exists()] == []


def test_the_flags_of_the_readme_are_those_of_the_program():
    from gemmbench.report.flags import MEANINGS

    assert re.findall(r"^\| ([A-Z]) \|", TEXT, re.MULTILINE) == list(MEANINGS)


def test_the_exit_codes_of_the_readme_are_those_of_the_program():
    from gemmbench import errors

    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)}
    assert listed == {
        errors.OK,
        errors.BAD_ROW,
        errors.USAGE,
        errors.NO_DEVICE,
        errors.INCONCLUSIVE,
        errors.INTERRUPTED,
    }
