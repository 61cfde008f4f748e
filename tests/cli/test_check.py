"""`gemmbench check`: the gate against saved runs and git revisions, on the fake device."""

import json
import os
import signal
import xml.etree.ElementTree as ElementTree

import pytest

from gemmbench.planning.manifests.revisions import RevisionKernels
from gemmbench.report.store.reading import read_results
from gemmbench.session import regression_check

from .conftest import git

FAST = ["--sizes", "16", "--rounds", "10", "--cache", "hot"]
TIMES = {"naive": 4e-3, "tiled": 2e-3, "cublas": 1e-3}


@pytest.fixture
def on(script):
    """What --device takes for a device with these times, and whatever else a script may have."""
    return lambda faults=None, **times: script(times={**TIMES, **times}, **({"faults": faults} if faults else {}))


@pytest.fixture
def main(gemmbench, on):
    """A saved run of two kernels."""
    gemmbench("run", "naive", "tiled", "--device", on(), *FAST, "--save", "main")


@pytest.fixture
def checked(tmp_path):
    """Read the results of the only check."""
    return lambda: read_results(*(tmp_path / "results").glob("*-check-*.jsonl"))


def test_the_same_kernels_pass_on_a_slower_device_too(gemmbench, on, main):
    said = gemmbench("check", "--device", on())
    assert said.code == 0
    assert said.out.splitlines()[-1] == "check against main, margin 3 %: 2 passed"
    assert said.err.startswith("checking against main, measured 20")
    slower_device = on(naive=5e-3, tiled=2.5e-3, cublas=1.25e-3)
    assert gemmbench("check", "--device", slower_device).code == 0


def test_a_library_that_became_faster_is_named(gemmbench, on, main):
    said = gemmbench("check", "--device", on(cublas=0.9e-3))
    assert said.code == 1 and "2 slower" in said.out.splitlines()[-1]


def test_the_margin_can_be_set(gemmbench, on, main):
    assert gemmbench("check", "--device", on(tiled=2.1e-3), "--margin", "6%").code == 0
    assert gemmbench("check", "--device", on(tiled=2.04e-3), "--margin", "0.001").code == 1


@pytest.mark.parametrize("command", [["check"], ["compare", "tiled", "naive"]], ids=["check", "compare"])
@pytest.mark.parametrize("margin", ["3 percent", "-3%", "100%", "nan"])
def test_a_margin_is_a_share(gemmbench, command, margin):
    said = gemmbench(*command, "--margin", margin)
    assert said.code == 2 and f"'{margin}' is not a share below 100 %; write 3% or 0.03" in said.err


def test_a_wrong_kernel_fails(gemmbench, on, main):
    said = gemmbench("check", "--device", on(faults={"tiled": "zero"}))
    assert said.code == 1 and "1 passed, 1 broken" in said.out and "tiled at 16 nn f32 TILE=16: wrong: " in said.out


def test_few_rounds_are_inconclusive_and_fail_only_where_asked_to(gemmbench, on):
    gemmbench("run", "tiled", "--device", on(), *FAST, "--rounds", "2", "--save", "main")
    said = gemmbench("check", "--device", on())
    assert said.code == 0 and said.out.splitlines()[-1].endswith("1 inconclusive")
    assert "cannot be judged: too few rounds" in said.out
    assert gemmbench("check", "--device", on(), "--fail-on", "inconclusive").code == 4


def test_the_rows_of_the_reference_are_measured_again(gemmbench, on, checked, tmp_path):
    rows = ["--sizes", "16,24", "--param", "TILE=8,16", "--layout", "nt", "--alpha", "2", "--seed", "7"]
    gemmbench("run", "tiled", "--device", on(), "--rounds", "12", "--cache", "hot", *rows, "--save", "main")
    assert gemmbench("check", "--device", on()).code == 0
    saved, again = read_results(tmp_path / "results/saved/main.jsonl"), checked()
    identities = [{record.identity for record in run.records} for run in (saved, again)]
    assert identities[0] == identities[1] and len(identities[0]) > 4
    assert again.environment.policy == saved.environment.policy | {"sustained": 0.0}
    assert again.environment.policy["seed"] == 7
    assert again.environment.baseline == saved.environment.baseline


def test_another_configuration_may_be_the_best_now(gemmbench, on, tmp_path):
    gemmbench("run", "tiled", "--device", on(), *FAST, "--param", "TILE=8,16", "--save", "main")
    path = tmp_path / "results/saved/main.jsonl"
    head, *rows = path.read_text().splitlines()
    finals = [row["config"] for row in map(json.loads, rows) if row.get("phase") == "final"]
    (best,) = (config["TILE"] for config in finals if config)
    others = [row.replace(f'"TILE":{best}', f'"TILE":{24 - best}') if '"phase":"final"' in row else row for row in rows]
    path.write_text("\n".join([head, *others]) + "\n")
    said = gemmbench("check", "--device", on())
    assert said.code == 0 and "not measured" not in said.out
    assert said.out.splitlines()[-1] == "check against main, margin 3 %: 2 passed"


def test_variants_and_a_results_file_can_be_named(gemmbench, on, main, checked, tmp_path):
    (path,) = (tmp_path / "results").glob("*.jsonl")
    assert gemmbench("check", "naive", "--device", on(tiled=9e-3), "--against", path).code == 0
    assert {record.variant for record in checked().records} == {"naive", "cublas"}


def test_the_newest_saved_run_is_taken(gemmbench, on, main, tmp_path):
    gemmbench("run", "naive", "--device", on(), *FAST, "--save", "older")
    path = tmp_path / "results/saved/older.jsonl"
    path.write_text(path.read_text().replace('"started":"20', '"started":"19', 1))
    assert "against main" in gemmbench("check", "--device", on()).out
    assert "against older" in gemmbench("check", "--device", on(), "--against", "older").out


def test_without_a_saved_run_it_says_how_to_make_one(gemmbench):
    said = gemmbench("check", "--device", "fake")
    assert (said.code, said.out) == (2, "")
    assert "no saved run in results; store one with gemmbench run --save main" in said.err


def test_a_configuration_that_is_gone_is_named(gemmbench, write_kernel):
    write_kernel("mine.cu", params={"T": "[8, 16]"})
    call = ["--device", "fake", "--kernels", "kernels"]
    gemmbench("run", "mine", *call, *FAST, "--save", "main")
    assert gemmbench("check", *call).code == 0
    write_kernel("mine.cu", params={"T": "[8, 16]"}, require=["T > 8"])
    said = gemmbench("check", *call, "--fail-on", "inconclusive")
    assert said.code == 4 and "not measured: mine at 16 nn f32 T=8" in said.out
    write_kernel("mine.cu", params={"S": "[8]"})
    said = gemmbench("check", *call)
    assert said.code == 2 and "mine: the reference run has the parameters T, but the kernel now has S; " in said.err


def test_the_reference_does_not_choose_what_code_is_run(gemmbench, write_kernel):
    write_kernel("mine.cu", folder="o'k")
    write_kernel("other.cu", folder=".")
    call = ["--device", "fake"]
    gemmbench("run", "mine", "--kernels", "o'k", *call, *FAST, "--save", "main")
    said = gemmbench("check", *call)
    assert (
        said.code == 2
        and """'mine' comes from the folder o'k, and gemmbench does not let a results file choose the""" in said.err
    )
    assert said.err.endswith("""add --kernels 'o'"'"'k'\n""")
    assert gemmbench("check", *call, "--kernels", "o'k").code == 0
    gemmbench("run", "./other.cu", "naive", *call, *FAST, "--save", "path")
    said = gemmbench("check", "--against", "path", *call)
    assert (
        said.code == 2
        and "its row ./other.cu names a file or a revision; name it on the command line to run it" in said.err
    )
    assert gemmbench("check", "naive", "--against", "path", *call).code == 0
    assert gemmbench("check", "./other.cu", "--against", "path", *call).code == 0
    gemmbench("run", "naive", "--baseline", "./other.cu", *call, *FAST, "--save", "path")
    assert gemmbench("check", "naive", "--against", "path", *call).code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "8"], "--sizes: a saved run is repeated as it was measured; leave out the option,"),
        (["--config", "sgemm"], "--config: a saved run is repeated as it was measured"),
        (["--no-gate"], "--no-gate: a saved run is repeated"),
        (["tilde"], "results/saved/main.jsonl: no row of 'tilde' (did you mean 'tiled'?); it has naive, tiled, cublas"),
        (["--against", "mian"], "--against mian: not a saved run, results file or git revision: "),
        (["--against", "none.jsonl"], "none.jsonl: no such file"),
    ],
)
def test_what_cannot_be_checked_is_said(gemmbench, main, arguments, message):
    said = gemmbench("check", "--device", "fake", *arguments)
    assert (said.code, said.out) == (2, "") and said.err.startswith(f"gemmbench: {message}")


def test_a_run_of_a_network_is_refused(gemmbench, tmp_path):
    gemmbench("mlp", "--device", "fake", "--batch", "16", "--rounds", "2", "--cache", "hot")
    (path,) = (tmp_path / "results").glob("*.jsonl")
    said = gemmbench("check", "--device", "fake", "--against", path)
    assert said.code == 2 and "a run of a network, which check cannot repeat" in said.err


def test_another_device_needs_force(gemmbench, on, main, tmp_path):
    path = tmp_path / "results/saved/main.jsonl"
    path.write_text(path.read_text().replace('"device":"Fake GPU"', '"device":"Other GPU"'))
    said = gemmbench("check", "--device", on())
    assert said.code == 2 and "was measured on Other GPU, this one on Fake GPU" in said.err
    said = gemmbench("check", "--device", on(), "--force")
    assert said.code == 0 and "Measured differently: device Other GPU -> Fake GPU." in said.out


def test_an_interrupted_check_judges_nothing(gemmbench, on, main, windows):
    windows[1][len(windows[0]) + 8] = lambda: os.kill(os.getpid(), signal.SIGINT)
    assert gemmbench("check", "--device", on(tiled=9e-3)).code == 130


# What a CI job reads


def test_a_slower_kernel_fails_and_is_told_in_junit_csv_and_job_summary(gemmbench, on, main, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    said = gemmbench("check", "--device", on(tiled=2.1e-3), "--junit", "out/junit.xml")
    closing = "check against main, margin 3 %: 1 passed, 1 slower; worst: tiled at 16 takes 5 % longer"
    assert (said.code, said.out.splitlines()[-1]) == (1, closing)
    suite = ElementTree.parse(tmp_path / "out/junit.xml").find("testsuite")
    cases = [(case.get("name"), len(case)) for case in suite.findall("testcase")]
    assert cases == [("naive at 16 nn f32 BX=16 BY=16", 0), ("tiled at 16 nn f32 TILE=16", 1)]
    assert len(list((tmp_path / "results").glob("*-check-*.csv"))) == 1
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("### Compared with main\n") and "| tiled " in text and f"**{closing}" in text


def test_annotations_are_printed_in_github_actions_only(gemmbench, on, main, monkeypatch):
    device = on(tiled=2.1e-3)
    assert "::error" not in gemmbench("check", "--device", device).out
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (line,) = [line for line in gemmbench("check", "--device", device).out.splitlines() if line.startswith("::")]
    assert line.startswith("::error file=cuda/tiled.cu,line=1,title=regression%3A tiled at 16 nn f32 TILE=16::tiled ")
    assert "\n\n" not in gemmbench("check", "--device", on()).out.split("passed")[0].split("Slower")[1]


# Against a git revision


@pytest.fixture
def history(write_kernel, tmp_path):
    """A checkout with a kernel, and another that no commit has."""
    folder = write_kernel("mine.cu", params={"T": "[8, 16]"}).parent
    git(tmp_path, "init", "-q", str(folder))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    write_kernel("young.cu")
    return folder


@pytest.fixture
def past(gemmbench, on, history):
    """Check kernels of the checkout; the script has times of HEAD:mine and mine."""

    def past(*arguments, **times):
        device = on(**{"HEAD:mine": 2e-3, "mine": 2e-3, **times})
        return gemmbench("check", *arguments, "--against", "HEAD", "--kernels", history, "--device", device, *FAST)

    return past


def test_a_revision_is_measured_in_the_same_rounds(past, history, checked):
    said = past("mine")
    commit = git(history, "rev-parse", "--short", "HEAD")
    assert said.code == 0 and f"check against HEAD ({commit}), margin 3 %: 1 passed" in said.out
    assert f"checking against revision HEAD ({commit}), in the same rounds" in said.err
    records = checked().records
    assert {record.variant for record in records} == {"HEAD:mine", "mine", "cublas"}
    assert len({(record.batch, record.batch_key) for record in records}) == 1


def test_a_folder_none_of_whose_kernels_is_measured_is_reported(past):
    unused = "the config quick has none of its kernels, so none is measured; name those to measure, such as mine\n"
    assert unused in past().err
    assert unused not in past("mine").err


def test_a_check_of_nothing_is_refused(past, monkeypatch):
    monkeypatch.setattr(regression_check, "list_kernels_at", lambda *_: RevisionKernels({"mine"}, "1abb95a"))
    said = past()
    assert said.code == 2 and said.out == ""
    assert "HEAD has none of the kernels of the config quick; name KERNELs, such as mine\n" in said.err


def test_a_path_is_checked_against_its_past(gemmbench, on, history):
    path = str(history / "mine.cu")
    call = ["check", path, "--against", "HEAD", *FAST, "--device"]
    assert "1 passed" in gemmbench(*call, on(**{f"HEAD:{path}": 2e-3, path: 2e-3})).out
    assert gemmbench(*call, on(**{f"HEAD:{path}": 2e-3, path: 2.1e-3})).code == 1


def test_a_file_without_a_manifest_has_no_past(refused, history):
    (history / "bare.cu").write_text(
        "__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {\n"
        "    int i = blockIdx.y, j = blockIdx.x; float sum = 0;\n"
        "    for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];\n"
        "    C[i * N + j] = sum;\n"
        "}\n"
    )
    said = refused("check", str(history / "bare.cu"), "--against", "HEAD", "--device", "fake", *FAST)
    assert "bare.cu has no manifest, which is needed to plan its earlier version; write one: gemmbench new" in said


def test_a_revision_of_another_checkout_is_not_the_past_of_a_folder(refused, write_kernel):
    call = [
        "check",
        "mine",
        "--kernels",
        write_kernel("mine.cu").parent,
        "--device",
        "fake",
        *FAST,
        "--against",
        "HEAD",
    ]
    assert "kernels is not in a readable git checkout" in refused(*call)


def test_a_kernel_slower_than_its_past_fails(past):
    said = past("mine", mine=2.1e-3)
    assert said.code == 1 and "takes 5 % longer" in said.out.splitlines()[-1]
    assert past("mine", mine=1.5e-3).code == 0


def test_every_configuration_is_paired_with_its_own(past, checked):
    said = past("mine", "--param", "T=8,16")
    assert said.code == 0 and "2 passed" in said.out
    batches = {}
    for record in checked().records:
        batches.setdefault(record.batch_key, set()).add((record.variant, record.configuration))
    pairs = [{(name, config) for name in ("mine", "HEAD:mine")} | {("cublas", "")} for config in ("T=8", "T=16")]
    assert sorted(batches.values(), key=sorted) == sorted(pairs, key=sorted)


def test_a_new_kernel_and_a_new_parameter_have_no_past(past, history, write_kernel):
    said = past("young", "mine")
    assert said.code == 0 and "new: young at 16 nn f32: HEAD has no such kernel" in " ".join(said.out.split())
    said = past("young")
    assert said.code == 0 and said.out.splitlines()[-1].endswith("margin 3 %: 1 new")
    write_kernel("mine.cu", params={"S": "[4, 2]"})
    said = past("mine", "--param", "S=2")
    assert said.code == 0 and "HEAD has other parameters" in said.out


def test_a_new_kernel_that_is_wrong_fails(gemmbench, on, history, checked):
    device = on(faults={"young": "zero"})
    said = gemmbench("check", "young", "--against", "HEAD", "--kernels", history, "--device", device, *FAST)
    assert said.code == 1 and "1 broken, 1 new" in said.out
    assert {record.variant for record in checked().records} == {"young", "cublas"}


def test_a_new_default_is_compared_with_the_old_one(past, write_kernel, checked):
    write_kernel("mine.cu", params={"T": "[16, 8]"})
    assert past("mine").code == 0
    found = {record.variant: record.configuration for record in checked().records}
    assert found == {"HEAD:mine": "T=8", "mine": "T=16", "cublas": ""}


def test_a_named_kernel_that_cannot_run_is_an_exit_code_of_its_own(past, gemmbench, on, history, write_kernel):
    gemmbench("run", "mine", "--kernels", history, "--device", on(), *FAST, "--save", "old")
    write_kernel("young.cu", require=["K % 7 == 0"])
    said = past("mine", "young")
    assert said.code == 3 and "young could not run, so it is not compared: require K % 7 == 0" in said.err
    said = past("young")
    assert said.code == 3 and "young at 16 nn f32 cannot be checked: require K % 7 == 0" in said.err
    assert past("mine", "young", mine=2.1e-3).code == 1
    write_kernel("mine.cu", params={"T": "[8, 16]"}, require=["K % 7 == 0"])
    said = gemmbench("check", "mine", "--against", "old", "--kernels", history, "--device", on())
    assert said.code == 3 and "mine could not run" in said.err


def test_a_library_has_no_past(past):
    said = past("cublas")
    assert said.code == 2 and "cublas is a library, which has no git revision" in said.err


@pytest.mark.parametrize("place", [".", "results/saved", "results"])
def test_no_file_takes_the_place_of_a_commit(past, gemmbench, history, tmp_path, script, place):
    """Files with the times of a slow kernel, as a pull request may add them."""
    commit = git(history, "rev-parse", "HEAD")
    slow = script(times={"mine": 1.0, "cublas": 1e-3})
    gemmbench("run", "mine", "--kernels", history, "--device", slow, *FAST, "--out", "slow")
    (rows,) = (tmp_path / "slow").glob("*.jsonl")
    (tmp_path / place).mkdir(exist_ok=True, parents=True)
    names = {".": commit, "results/saved": f"{commit}.jsonl", "results": f"x-{commit}.jsonl"}
    (tmp_path / place / names[place]).write_text(rows.read_text())
    device = script(times={"mine": 2e-3, f"{commit}:mine": 1e-3, "cublas": 1e-3})
    said = gemmbench("check", "mine", "--against", commit, "--kernels", history, "--device", device, *FAST)
    assert said.code == 1 and f"checking against revision {commit}" in said.err


def test_a_file_says_that_it_is_one(gemmbench, history, on, saved):
    gemmbench("run", "naive", "--device", on(), *FAST)
    path, _ = saved()
    path.rename("HEAD")
    call = ["check", "--kernels", history, "--device", on()]
    assert "checking against revision HEAD" in gemmbench(*call, "naive", *FAST, "--against", "HEAD").err
    assert "checking against HEAD, measured 20" in gemmbench(*call, "--against", "./HEAD").err


def test_a_saved_run_that_git_has_too_is_not_taken_for_a_revision(gemmbench, on, history, tmp_path):
    call = ["--kernels", history, "--device", on()]
    gemmbench("run", "mine", *call, *FAST, "--save", "HEAD", "--out", history / "r")
    git(history, "add", "-f", "r")
    said = gemmbench("check", *call, "--against", "HEAD", "--out", history / "r")
    assert said.code == 2 and "--against HEAD: both a git revision and a saved run that is in git; write " in said.err
    assert gemmbench("check", *call, "--against", history / "r/saved/HEAD.jsonl").code == 0


def test_a_saved_run_is_preferred_to_a_revision_of_its_name(gemmbench, on, history):
    gemmbench("run", "mine", "--kernels", history, "--device", on(), *FAST, "--save", "HEAD")
    said = gemmbench("check", "--against", "HEAD", "--kernels", history, "--device", on())
    assert said.code == 0 and said.err.startswith("checking against HEAD, measured 20")
