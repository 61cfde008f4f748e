"""The README and the manual are up to date: generated parts, commands, links, the example kernel."""

import re
import shlex
import shutil
import subprocess
import sys

import click
import pytest
import yaml
from click.testing import CliRunner

from gemmbench import errors
from gemmbench.backends import registry
from gemmbench.cli import group
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.run_request import Selection
from gemmbench.session.machine import describe_local, open_catalog
from gemmbench.session.single_kernel import plan_kernel
from tools.page import README, ROOT, Page, list_pages
from tools.parts import KINDS

PAGES = list_pages()
KERNELS = ROOT / "docs" / "guides" / "my-kernels"
CONTRIBUTING = ROOT / "docs" / "contributing.md"
_CODE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ON_A_GPU = ("--with-transfers",)
_WITHOUT_PLANS = {"--resume", "--digit", "--serve", "--help"}


def read_commands(text):
    """The gemmbench commands of a page, without comments, as lists of words."""
    blocks = [body for language, body in _CODE.findall(text) if language in ("bash", "console", "yaml")]
    lines = [line for body in blocks for line in body.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"^(?:    |See it with `)(gemmbench [^`\n]*)`?:?$", text, re.MULTILINE)
    for line in lines:
        for part in re.split(r"&&|\||>", line.partition(" #")[0]):
            if found := re.match(r"\s*(?:\$|- run:)?\s*(?:\w+=\S+ )*(gemmbench .*)", part):
                yield shlex.split(found[1])[1:]


COMMANDS = sorted({shlex.join(words) for path in PAGES for words in read_commands(path.read_text(encoding="utf-8"))})
PLANNED = [
    command
    for command in COMMANDS
    if command.split()[0] in ("run", "mlp") and not _WITHOUT_PLANS.intersection(shlex.split(command))
]
SHOWN = [command for command in COMMANDS if command.startswith("show results/nvidia")]


def prose_lines(text):
    """The lines of a page outside code, tables and generated parts."""
    text = re.sub(r"<!-- begin [^\n]* -->\n.*?<!-- end -->", "", text, flags=re.DOTALL)
    return [line for line in _CODE.sub("", text).splitlines() if not line.startswith(("|", "    "))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_yaml_can_be_read(page):
    for language, body in _CODE.findall(page.read_text(encoding="utf-8")):
        if language == "yaml":
            list(yaml.safe_load_all(body))


def find_links(text):
    """Targets of the links and pictures of a page, except those on the web."""
    targets = re.findall(r"\]\(([^)\s]+)\)", _CODE.sub("", text))
    return [target for target in targets if not re.match(r"\w+:|#", target)]


def test_links_lead_to_files():
    broken = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in PAGES
        for target in find_links(path.read_text(encoding="utf-8"))
        if not (path.parent / target.partition("#")[0]).exists()
    ]
    assert broken == []


def test_prose_fits_100_columns():
    long = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in PAGES
        for line in prose_lines(path.read_text(encoding="utf-8"))
        if len(line) > 100 and "](https://" not in line
    ]
    assert long == []


def test_the_readme_is_short():
    assert len(README.read_bytes()) <= 12_000
    assert "--help" not in README.read_text(encoding="utf-8")


def test_there_are_commands_to_check():
    assert len(COMMANDS) >= 80 and len(PLANNED) >= 20 and SHOWN


def parse_command(command):
    """Why click refuses a command; "" if it does not."""
    name, *arguments = shlex.split(command)
    if name.startswith("-"):
        return ""
    found = group.load(name)
    with click.Context(found, info_name=name, **group.context_settings) as context:  # click keeps the help option
        try:
            found.parse_args(context, arguments)
        except click.exceptions.Exit:
            return "" if "--help" in arguments else "it ends"
        except click.ClickException as fault:
            return fault.message
    return ""


def test_every_command_parses():
    assert {command: why for command in COMMANDS if (why := parse_command(command))} == {}


def test_the_recorded_results_of_every_command_exist():
    named = {word for command in COMMANDS for word in shlex.split(command) if word.startswith("results/nvidia-")}
    assert len(named) >= 3
    assert [name for name in named if not (ROOT / name).exists()] == []


def find_in_guides(word):
    """The path of a kernel or a folder that a guide calls by its own path."""
    return str(KERNELS.parent / word) if word.startswith(("./", "my-")) else word


@pytest.mark.parametrize("command", PLANNED)
def test_a_command_plans_on_the_cpu_device(command, monkeypatch):
    monkeypatch.chdir(ROOT)
    words = [find_in_guides(word) for word in shlex.split(command) if word not in _ON_A_GPU]
    done = CliRunner().invoke(group, [*words, "--dry-run", "--device", "cpu"])
    assert done.exception is None, f"{done.exception}: {done.output}"


@pytest.mark.parametrize("command", SHOWN)
def test_a_command_shows_recorded_results(command, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(group, shlex.split(command))
    assert done.exception is None and done.output, done.exception


def test_the_example_kernel_of_the_readme_is_right_on_the_cpu_device(tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("no g++ on this machine")
    kernel = re.search(r"```cuda\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "mine.cu").write_text(kernel[1])
    assert read_variant(tmp_path / "mine.cu").summary
    command = [sys.executable, "-m", "gemmbench", "verify", "mine", "--kernels", str(tmp_path), "--device", "cpu"]
    done = subprocess.run([*command, "--sizes", "1,33x65x17"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"mine +4 +8 +0 +0 ", done.stdout), done.stdout


def test_the_draft_of_the_guide_is_what_the_program_writes(tmp_path, monkeypatch):
    guide = (KERNELS.parent / "your-own-kernel.md").read_text(encoding="utf-8")
    shutil.copytree(KERNELS.parent / "their-kernel", tmp_path / "their-kernel")
    (tmp_path / "their-kernel" / "sgemm.yaml").unlink()
    monkeypatch.chdir(tmp_path)
    shown = re.search(r"```console\n\$ gemmbench (new [^\n]*)\n(.*?)```", guide, re.DOTALL)
    done = CliRunner().invoke(group, shlex.split(shown[1]))
    assert done.exception is None, f"{done.exception}: {done.output}"
    assert done.output.replace(" openblas", " cublas") == shown[2]
    drafted, kept = (tmp_path / "their-kernel" / name for name in ("sgemm.yaml", "draft.yaml"))
    assert drafted.read_text() == kept.read_text()


def test_the_paths_of_the_contributing_guide_exist():
    guide = CONTRIBUTING.read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w.]+/[\w./]*|\w+\.py)`", guide)) - {"cuda/NAME.cu"}
    assert len(named) >= 20
    assert [name for name in named if not (ROOT / name).exists() and not (ROOT / "gemmbench" / name).exists()] == []


def test_every_exit_code_has_a_meaning():
    codes = {value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)}
    assert codes == set(errors.EXIT_CODES)


def test_a_wrong_part_names_its_page(tmp_path):
    page = Page(ROOT / "docs" / "nothing.md", KINDS)
    assert page.name == "docs/nothing.md"
    with pytest.raises(errors.StoreError, match=r"no file matches results/none"):
        KINDS["table"](page, "results/none*.jsonl.gz")


def test_a_step_tells_how_much_faster_a_rung_is_than_the_one_before():
    words = ["results/nvidia-h100/*-sgemm.jsonl.gz", "M=4096", "only=naive_rows,naive,cublas", "brief"]
    text = KINDS["table"](Page(README, KINDS), *words, "step=naive_rows,naive")
    assert re.search(r"^`naive` is \*\*\d\.\dx faster\*\* than `naive_rows`\.$", text, re.MULTILINE)
    with pytest.raises(errors.StoreError, match="no row of nothing"):
        KINDS["table"](Page(README, KINDS), *words, "step=naive,nothing")


def test_the_table_of_hostile_hosts_has_each_of_them_with_the_status_of_its_row():
    text = (ROOT / "docs" / "method" / "verification.md").read_text(encoding="utf-8")
    table = re.findall(
        r"^\| (`.*) \| .* \| (.*) \| .* \|$", text.partition("## Kernels that are meant to")[2], re.MULTILINE
    )
    shown = {
        name: re.match("too good|wrong or failed|[a-z]+", row)[0]
        for names, row in table
        for name in re.findall(r"`(\w+)`", names)
    }
    expected = yaml.safe_load((ROOT / "tests" / "hostile" / "host" / "expected.yaml").read_text(encoding="utf-8"))
    assert shown == {name: wanted.get("status") or " or ".join(wanted["or"]) for name, wanted in expected.items()}


def test_rows_are_those_named():
    code = "results/nvidia-h100/*-ladder_code.csv"
    table = KINDS["rows"](Page(README, KINDS), code, "tiled", "columns=kernel,registers")
    assert table.splitlines()[:3] == ["| kernel | registers |", "| --- | ---: |", "| tiled | 32 |"]
    with pytest.raises(errors.StoreError, match="no 'nothing'"):
        KINDS["rows"](Page(README, KINDS), code, "nothing")


LESSONS = ROOT / "docs" / "learn"


def test_every_lesson_whose_kernel_the_cpu_can_run_shows_its_counts():
    machine = describe_local(registry.choose_device("cpu"))
    catalog, shown = open_catalog(None), []
    for page in sorted(LESSONS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        name = re.match(r"# (\w+): ", text)
        if not name or name[1] not in catalog.names:
            continue
        planned = plan_kernel(Selection((name[1],)), catalog.get(name[1]), machine)
        assert all(isinstance(each, Plan) for each in planned) == (f"<!-- begin accesses {name[1]}" in text), page.name
        shown += [name[1]] if "<!-- begin accesses" in text else []
    assert len(shown) >= 8 and {"naive_rows", "naive", "tiled", "blocktile_2d"} <= set(shown)


def test_a_part_with_counts_has_the_commands_and_what_they_show():
    text = KINDS["accesses"](Page(README, KINDS), "naive", "--sizes", "256")
    commands, table = text.partition("```\n\n")[::2]
    assert commands.splitlines()[1:] == [
        "gemmbench verify naive --sizes 67x129x50",
        "gemmbench inspect naive --accesses --sizes 256",
    ]
    assert "| load of B | 4 | 524,288 | 2 sectors | 100 % |" in table and "- On an H100 or H200" in table
    brief = KINDS["accesses"](Page(README, KINDS), "naive", "brief", "--sizes", "256").splitlines()
    assert brief[0].startswith("`gemmbench inspect naive --accesses --sizes 256` says") and "|" not in "".join(brief)
    assert [line for line in brief if line.startswith("- On an H100 or H200")]
    for wrong in (("--sizes",), ("--sass", "x"), ("--sizes", "64,128"), ("--param", "BX=8,16")):
        with pytest.raises(errors.StoreError):
            KINDS["accesses"](Page(README, KINDS), "naive", *wrong)


def test_the_exercise_with_the_pad_has_its_answer_on_a_laptop(tmp_path, monkeypatch):
    page = (LESSONS / "blocktile.md").read_text(encoding="utf-8")
    (sed,) = re.findall(r"^sed .*$", page, re.MULTILINE)
    (tmp_path / "my-kernels").mkdir()
    (tmp_path / "cuda").symlink_to(ROOT / "cuda")
    subprocess.run(["bash", "-c", sed], cwd=tmp_path, check=True)
    counted = re.findall(r"^gemmbench (inspect padded .*)$", page, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    said = [CliRunner().invoke(group, [*shlex.split(words), "--sizes", "1024"]).output for words in counted]
    stores = [re.search(r"store to As .*? (\d+) wavefronts?", each)[1] for each in said]
    answer = re.search(r"^\| 1 \| (\d+) \| \d+ \| (\d+) \|$", page, re.MULTILINE)
    assert stores == [answer[1], answer[2]] == ["1", "4"]


def test_a_kernel_without_a_pad_has_no_table_of_pads():
    with pytest.raises(errors.StoreError, match="int PAD"):
        KINDS["pads"](Page(README, KINDS), "tiled", "As", "0", "TILE=16")
