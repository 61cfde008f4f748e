"""Completion in the shell: the script that `gemmbench completion` prints, and the names it offers."""

import subprocess

import pytest
from click.shell_completion import ShellComplete

from gemmbench.cli import group


def complete(*words):
    """What TAB offers after these words; the last one is incomplete."""
    *before, last = words
    return ShellComplete(group, {}, "gemmbench", "_GEMMBENCH_COMPLETE").get_completions(list(before), last)


def offered(*words):
    return {item.value for item in complete(*words)}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_the_program_for_words(gemmbench, shell):
    said = gemmbench("completion", shell)
    assert (said.code, said.err) == (0, "")
    assert "gemmbench" in said.out and f"_GEMMBENCH_COMPLETE={shell}_complete" in said.out


def test_bash_reads_the_script(gemmbench):
    subprocess.run(["bash", "-n"], input=gemmbench("completion", "bash").out, text=True, check=True)


def test_another_shell_is_a_usage_error_that_names_the_shells(gemmbench):
    said = gemmbench("completion", "tcsh")
    assert said.code == 2 and "'bash', 'zsh', 'fish'" in said.err


def test_the_names_of_variants_are_completed(write_kernel, tmp_path):
    write_kernel("tiny.cu")
    found = offered("run", "--kernels", str(tmp_path / "kernels"), "ti")
    assert {"tiled", "tiny"} <= found and all(name.startswith("ti") for name in found)
    assert "cublas" in offered("run", "--baseline", "cub")


def test_the_names_of_configs_and_posts_are_completed():
    assert offered("run", "-c", "ti") == {"tiles"}
    assert "posts/004-gemm" in offered("compare", "--config", "posts/00")
    assert offered("posts", "004") == {"004-gemm"}


def test_a_config_that_no_name_fits_may_be_a_file():
    assert [(item.value, item.type) for item in complete("run", "-c", "./own")] == [("./own", "file")]


def test_the_names_of_saved_runs_are_completed(tmp_path):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved/main.jsonl").write_text("")
    (tmp_path / "saved/may.jsonl.gz").write_text("")
    for words in (["show"], ["check", "--against"], ["report"], ["run", "--against"]):
        assert offered(words[0], "--out", str(tmp_path), *words[1:], "ma") == {"main", "may"}
    assert [item.type for item in complete("show", "--out", str(tmp_path), "other")] == ["file"]


def test_the_ids_of_runs_are_completed(tmp_path):
    (tmp_path / "20260101-120000-quick-1f3a.jsonl").write_text("")
    assert offered("show", "--out", str(tmp_path), "1f") == {"1f3a"}


def test_precisions_layouts_and_parameters_are_completed():
    assert offered("run", "--precision", "f32,bf") == {"f32,bf16", "f32,bf16_f32"}
    assert offered("show", "--layout", "n") == {"nn", "nt"}
    assert offered("run", "tiled", "blocktile_2d", "--param", "") >= {"TILE=", "BM=", "all"}
    assert offered("run", "tiled", "--param", "TILE=16,") == {"TILE=16,8", "TILE=16,32"}
    assert offered("run", "nothing", "--param", "B") == set()


def test_formats_and_commands_are_completed():
    assert offered("show", "--format", "git") == {"github"}
    assert {"compare", "completion"} <= offered("comp")
