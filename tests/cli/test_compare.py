"""`gemmbench compare`: the same experiment, ending in verdicts."""

import re

import pytest

from gemmbench.backends.fake.backend import FakeCompiler
from gemmbench.planning.manifests.revisions import find_variant_at

from .conftest import git

FAST = ["--sizes", "16", "--rounds", "10", "--cache", "hot"]
HEAD = "16: "
KERNEL = """
extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M || j >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
    C[i * N + j] = beta == 0 ? alpha * sum : alpha * sum + beta * C[i * N + j];
}
"""


@pytest.fixture
def compare(gemmbench, script):
    device = script(times={"naive": 4e-3, "tiled": 2e-3, "cublas": 2e-3})
    return lambda *arguments: gemmbench("compare", "--device", device, *FAST, *arguments)


def test_of_three_kernels_the_fastest_are_named_and_each_other_one_is_compared_with_them(compare, saved):
    said = compare("tiled", "naive", "cublas")
    assert said.code == 0 and "% of cublas" in said.out
    assert said.out.splitlines()[-3:] == [
        HEAD + "tiled and cublas are fastest, within 1 % of each other.",
        HEAD + "tiled is as fast as cublas (95 % interval 1.000x to 1.000x of its speed).",
        HEAD + "tiled is 2.000x faster than naive (95 % interval 2.000x to 2.000x).",
    ]
    journal, rows = saved()
    assert "-compare-" in journal.name
    assert [row["variant"] for row in rows] == ["naive", "tiled", "cublas"]
    said = compare("tiled", "cublas", "naive", "--fail-on", "slower")
    assert said.code == 1 and said.out.endswith(
        f"\n{HEAD}naive is 2.000x slower than cublas (95 % interval 2.000x to 2.000x).\n"
    )


def test_verdicts_have_colors_on_a_terminal(compare, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    said = compare("tiled", "naive", "--format", "rich").out.splitlines()[-1]
    assert re.search(r"\x1b\[[\d;]*31m2.000x slower than", said)


@pytest.mark.parametrize(("margin", "shown", "words"), [("1%", "1 %", "2.000x slower"), ("0.6", "60 %", "as fast as")])
def test_the_margin_decides_and_is_named(compare, margin, shown, words):
    *_, head, sentence = compare("tiled", "naive", "--margin", margin).out.splitlines()
    assert head == f"Verdicts, ignoring differences within {shown} (--margin):"
    assert words in sentence


def test_each_size_has_its_sentences(compare):
    said = compare("naive", "tiled", "--sizes", "16,24")
    assert [line.split(":")[0] for line in said.out.splitlines()[-2:]] == [HEAD[:-2], HEAD[:-2].replace("16", "24")]


def test_too_few_rounds_give_no_verdict(compare):
    words = "tiled against naive has too few rounds for a verdict (about 2.00x faster)."
    assert compare("naive", "tiled", "--rounds", "2").out.splitlines()[-1] == HEAD + words


def test_four_rounds_decide_a_factor_of_eight(gemmbench, script):
    """They make two blocks; the windows of each differ by several percent, in the same way in no two."""
    noise = {"naive": [8.0, 8.6, 8.2, 7.9, 8.4], "tiled": [1.0, 1.02, 1.05, 1.01, 1.08, 0.99, 1.03]}
    device = script(times={name: [1e-3 * each for each in times] for name, times in noise.items()})
    said = gemmbench("compare", "naive", "tiled", "--device", device, *FAST, "--rounds", "4")
    assert re.search(r"tiled is \d\.\dx faster than naive \(95 % interval \d\.\dx to \d+\.\dx\)", said.out)


@pytest.mark.parametrize("options", [[], ["--fail-on", "inconclusive"]], ids=" ".join)
def test_a_wrong_kernel_is_not_compared_and_fails_in_any_case(gemmbench, script, options):
    said = gemmbench("compare", "naive", "tiled", "--device", script(faults={"tiled": "zero"}), *FAST, *options)
    assert said.code == 1
    assert said.out.splitlines()[-1] == HEAD + "naive and tiled cannot be compared: no valid time for tiled."


@pytest.mark.parametrize("names", [["naive"], ["naive", "naive"]])
def test_one_variant_cannot_be_compared(compare, gemmbench, names):
    said = compare(*names)
    assert (said.code, said.out) == (2, "")
    assert said.err == "gemmbench: compare needs two different kernels: gemmbench compare naive tiled\n"
    assert gemmbench("compare").code == 2


def test_a_dry_run_ends_without_verdicts(compare):
    said = compare("naive", "tiled", "--dry-run")
    assert said.code == 0 and "3 rows would run.\n" in said.out and "x faster" not in said.out


# When a comparison fails


@pytest.mark.parametrize(
    ("names", "fail_on", "code"),
    [
        (("naive", "tiled"), ["slower"], 0),
        (("tiled", "naive"), ["slower"], 1),
        (("tiled", "naive", "--margin", "60%"), ["slower"], 0),
        (("tiled", "naive"), [], 0),
        (("tiled", "naive"), ["inconclusive"], 0),
        (("naive", "tiled", "--rounds", "2"), ["inconclusive"], 4),
        (("naive", "tiled", "--rounds", "2"), ["slower"], 0),
        (("tiled", "naive", "cublas", "--rounds", "10"), ["inconclusive", "slower"], 1),
    ],
)
def test_a_regression_ends_in_1_and_doubt_in_4_where_asked_to(compare, names, fail_on, code):
    said = compare(*names, *(word for each in fail_on for word in ("--fail-on", each)))
    assert said.code == code


# A kernel beside its own past


@pytest.fixture
def history(write_kernel, tmp_path):
    """Kernels with two commits, and a change that is in none: mine.cu moved and changed, old.cu was deleted."""
    folder = write_kernel("mine.cu", summary="first", body=KERNEL + "// first\n").parent
    write_kernel("old.cu")
    git(tmp_path, "init", "-q", str(folder))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / "mine.cu").unlink()
    (folder / "old.cu").unlink()
    write_kernel("mine.cu", "kernels/deeper", body=KERNEL + "// second\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "second")
    write_kernel("mine.cu", "kernels/deeper", body=KERNEL + "// not yet\n")
    return folder


@pytest.fixture
def past(gemmbench, script, history):
    device = script(times={"HEAD~1:mine": 2e-3, "HEAD:mine": 1.5e-3, "mine": 1e-3, "cublas": 1e-3})
    return lambda *names: gemmbench("compare", *names, "--device", device, "--kernels", history, *FAST)


def test_a_kernel_is_compared_with_its_past(past, history, saved):
    said = past("HEAD~1:mine", "HEAD:mine", "mine")
    assert said.code == 0, said.err
    first, second = (git(history, "rev-parse", "--short", revision) for revision in ("HEAD~1", "HEAD"))
    assert HEAD + "mine is 2.000x faster than HEAD~1:mine (95 % interval 2.000x to 2.000x)." in said.out.splitlines()
    assert f"HEAD~1:mine: kernels/mine.cu@{first}" in said.out
    assert f"HEAD:mine: kernels/deeper/mine.cu@{second}" in said.out
    paths = {row["variant"]: row["path"] for row in saved()[1]}
    assert paths["HEAD~1:mine"] == f"kernels/mine.cu@{first}" and paths["mine"] == "kernels/deeper/mine.cu"


def test_run_and_the_baseline_know_the_past_too(gemmbench, history):
    said = gemmbench("run", "HEAD:mine", "--baseline", "HEAD~1:mine", "--device", "fake", "--kernels", history, *FAST)
    assert said.code == 0, said.err
    assert "% of HEAD~1:mine" in said.out


def test_two_revisions_are_compiled_from_their_own_texts(past, history, monkeypatch):
    texts, compile_ = {}, FakeCompiler.compile

    def noted(self, plan):
        texts[plan.variant.name] = plan.variant.text
        return compile_(self, plan)

    monkeypatch.setattr(FakeCompiler, "compile", noted)
    past("HEAD~1:mine", "HEAD:mine", "mine")
    endings = {name: text.splitlines()[-1] for name, text in texts.items() if name != "cublas"}
    assert endings == {"HEAD~1:mine": "// first", "HEAD:mine": "// second", "mine": "// not yet"}


def test_a_kernel_that_was_deleted_is_still_compared(past):
    assert past("HEAD~1:old", "mine").code == 0


def test_a_kernel_of_the_past_picks_from_its_own_time(history, write_kernel):
    keys = dict.fromkeys(("symbol", "grid", "block"))
    write_kernel("chooser.cu", body="", **keys, pick=["variant: mine"])
    git(history, "add", "-A")
    git(history, "commit", "-qm", "third")
    write_kernel("mine.cu", "kernels/deeper", body=KERNEL + "// later\n")
    found = find_variant_at("HEAD:chooser", [history])
    code = found.picks[0].code
    assert code.text.endswith("// not yet\n") and "@" in code.path and code.name == "mine"


def test_a_regression_against_the_past_fails_the_job(past):
    assert past("mine", "HEAD:mine", "--fail-on", "slower").code == 1
    assert past("HEAD:mine", "mine", "--fail-on", "slower").code == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("v0.0:mine", "v0.0:mine: no revision 'v0.0' in "),
        ("--output=x:mine", "--output=x:mine: no revision '--output=x' in "),
        ("HEAD:mind", "HEAD:mind: no kernel 'mind' in revision HEAD ("),
        ("HEAD:old", "HEAD:old: no kernel 'old' in revision HEAD ("),
        (":mine", "':mine' is not REVISION:NAME; write HEAD~3:tiled"),
        ("HEAD:", "'HEAD:' is not REVISION:NAME; write HEAD~3:tiled"),
    ],
)
def test_what_is_not_in_the_past_is_told(refused, history, name, message):
    said = refused("compare", "--kernels", history, "--device", "fake", "--", name, "mine")
    assert said.startswith(message)
    if "mind" in name:
        assert "(did you mean 'mine'?)" in said


def test_a_folder_that_is_no_checkout_has_no_past(refused, write_kernel, monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "/")
    folder = write_kernel("mine.cu").parent
    monkeypatch.setattr("gemmbench.session.machine.data_folder", lambda name: folder)
    said = refused("compare", "HEAD:mine", "mine", "--device", "fake")
    assert said.startswith(f"HEAD:mine: {folder} is not in a readable git checkout (")
    assert said.endswith("; commit its files first")


def test_a_file_of_this_folder_is_not_looked_up_among_the_kernels_of_the_project(
    refused, history, write_kernel, monkeypatch, tmp_path
):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "/")
    monkeypatch.chdir(write_kernel("other.cu", tmp_path / "loose").parent)
    words = "compare", "--kernels", history, "--device", "fake", "HEAD:other", "mine"
    said = refused(*words)
    assert said.startswith("HEAD:other: ./other.cu has no revisions: ") and "loose is not in a readable git" in said
    assert said.endswith("; commit it first, or compare it with a copy")
    git(tmp_path / "loose", "init", "-q")
    assert refused(*words) == "HEAD:other: to use the file in this folder, write HEAD:./other.cu"


def test_a_manifest_of_the_past_that_is_not_understood_is_told(refused, history, write_kernel):
    write_kernel("mine.cu", "kernels/deeper", colour="green")
    git(history, "commit", "-qam", "third")
    commit = git(history, "rev-parse", "--short", "HEAD")
    write_kernel("mine.cu", "kernels/deeper")
    said = refused("compare", "HEAD:mine", "mine", "--kernels", history, "--device", "fake")
    assert said.startswith(f"kernels/deeper/mine.cu@{commit}:13: unknown key 'colour'")
    assert said.endswith("(this version cannot read the manifest of revision HEAD)")


def test_git_must_be_there(refused, history, monkeypatch):
    monkeypatch.setenv("PATH", "")
    said = refused("compare", "HEAD:mine", "mine", "--kernels", history, "--device", "fake")
    assert said.startswith("cannot run git, which is needed to read a revision: ")


@pytest.mark.parametrize("command", ["run", "compare"])
def test_a_screen_says_once_what_times_of_the_cpu_mean(gemmbench, command):
    assert gemmbench(command, "naive", "openblas", "--device", "cpu", *FAST).out.count("says nothing about a GPU") == 1


def test_a_named_variant_that_cannot_run_is_an_exit_code_of_its_own(gemmbench):
    done = gemmbench("compare", "openblas", "cublas", "--device", "cpu", *FAST)
    assert (
        done.code == 3
        and "cublas cannot run, so it is not compared with openblas: needs an NVIDIA GPU, but" in done.err
    )


def test_a_comparison_of_kernels_that_cannot_run_ends_before_it_measures(refused):
    said = refused("compare", "cublas", "cublaslt", "--device", "cpu", *FAST, code=3)
    assert said.startswith("cublas cannot run, so it is not compared: needs an NVIDIA GPU, but this run has none; ")
    assert said.endswith("gemmbench list --here lists those that can")
