"""The workflows, and the examples of the manual: what they may do, and that their steps run."""

import re
from pathlib import Path

import pytest
import yaml

from gemmbench.backends.cuda.system import probe

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guides" / "ci.md"
WORKFLOWS = {path.name: path.read_text() for path in sorted((ROOT / ".github/workflows").glob("*.yml"))}
BLOCKS = {
    path.name: re.findall(r"^```(\w*)\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
    for path in (ROOT / "README.md", GUIDE)
}
EXAMPLES = {
    f"{page}-{number}": body
    for page, blocks in BLOCKS.items()
    for number, (language, body) in enumerate(blocks)
    if language == "yaml" and "uses:" in body
}
COMMANDS = [body for language, body in BLOCKS[GUIDE.name] if language == "bash"]
EVERYWHERE = {**WORKFLOWS, **EXAMPLES}
OTHER_PIN = re.compile(
    r"^(?!\s*#).*uses: (?!\./|OWNER/gemmbench@COMMIT)(?!\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$)", re.MULTILINE
)


def read_job(text):
    """The only job of a workflow."""
    (job,) = yaml.safe_load(text)["jobs"].values()
    return job


def find_action(job):
    """The step of a job that uses the action."""
    (step,) = [step for step in job["steps"] if "OWNER/" in step.get("uses", "")]
    return step


def read_triggers(text):
    """What starts a workflow; YAML 1.1 reads `on` as true."""
    on = yaml.safe_load(text)[True]
    return {on: None} if isinstance(on, str) else on


@pytest.fixture
def script_of_mine(script):
    return script(times={"mine": 1e-3, "cublas": 1e-3})


@pytest.mark.parametrize("name", EVERYWHERE)
def test_a_workflow_has_no_more_rights_than_it_needs(name):
    """Nor secrets, which the code of a pull request could read."""
    workflow = yaml.safe_load(EVERYWHERE[name])
    assert workflow["permissions"] == {"contents": "read"}
    assert "permissions" not in read_job(EVERYWHERE[name]) and "secrets" not in EVERYWHERE[name]
    checkouts = [step for step in read_job(EVERYWHERE[name])["steps"] if "actions/checkout@" in step.get("uses", "")]
    assert [each["with"]["persist-credentials"] for each in checkouts] == [False]


@pytest.mark.parametrize("name", EVERYWHERE)
def test_code_of_a_fork_does_not_run_on_a_machine_of_ours(name):
    assert not {"pull_request_target", "workflow_run"} & set(read_triggers(EVERYWHERE[name]))
    job = read_job(EVERYWHERE[name])
    own = "github.event.pull_request.head.repo.full_name == github.repository"
    allowed = {own, f"github.event_name != 'pull_request' || {own}"}
    assert job["runs-on"] == "ubuntu-latest" or job["if"] in allowed


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_pull_request_starts_one_run(name):
    triggers = read_triggers(WORKFLOWS[name])
    assert {"push", "pull_request"} <= set(triggers) and triggers["push"]["branches"] == ["main"]


@pytest.mark.parametrize("name", EVERYWHERE)
def test_no_run_cancels_one_of_another_pull_request(name):
    workflow = yaml.safe_load(EVERYWHERE[name])
    for group in filter(None, (workflow.get("concurrency"), read_job(EVERYWHERE[name]).get("concurrency"))):
        alone = group["group"].endswith("${{ github.event.pull_request.number || github.run_id }}")
        assert alone or (group["queue"] == "max" and not group.get("cancel-in-progress"))


def test_actions_are_named_by_the_hash_of_a_commit():
    """A tag can be moved to other code."""
    texts = {**EVERYWHERE, "action.yml": (ROOT / "action.yml").read_text()}
    assert {name: found for name, text in texts.items() if (found := OTHER_PIN.findall(text))} == {}
    pins = set(re.findall(r"uses: (actions/\S+) # (\S+)", "\n".join(texts.values())))
    assert len({pin.split("@")[0] for pin, _ in pins}) == len(pins) == 3


def test_no_step_has_an_input_in_its_text():
    """It would be code: inputs reach steps as environment variables."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]
    steps = [step for job in (action, *map(read_job, EVERYWHERE.values())) for step in job["steps"]]
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []


def test_examples_use_inputs_that_the_action_has():
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    assert all(each["description"] for each in inputs.values())
    used = [step for text in EVERYWHERE.values() for step in read_job(text)["steps"] if "uses" in step]
    ours = [step["with"] for step in used if not step["uses"].startswith("actions/")]
    assert len(ours) == len(EXAMPLES) + 1 and all(set(each) <= set(inputs) for each in ours)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name, run_job, script_of_mine):
    """Where it needs a GPU, on one, or on a fake that scripts the times."""
    job = read_job(EXAMPLES[name])
    step = find_action(job)
    if "device" not in step["with"] and probe.why_no_gpu():
        step["with"] |= {"device": script_of_mine, "sizes": "16"}  # the fake multiplies with NumPy
    verifies = "verify-only" in step["with"]
    done = run_job(job, base=True, folder="my-kernels")
    assert ("Check against the base" in done.steps) != verifies
    assert not any(done.codes), done.output
    assert verifies or (done.results / "junit.xml").exists()


def test_the_first_examples_fail_on_what_cannot_be_decided_and_one_only_verifies():
    first, *others = [find_action(read_job(body))["with"] for name, body in EXAMPLES.items() if GUIDE.name in name]
    assert first["fail-on"] == "inconclusive" and "--fail-on inconclusive" in COMMANDS[0].splitlines()[0]
    assert [each for each in others if each.get("device") == "cpu" and each["verify-only"]]


def test_the_commands_of_the_guide_run(run_job, script_of_mine):
    """In a checkout with a branch main, and after a run that was saved; a saved run is repeated at its own sizes."""
    mine = {"variants": "mine", "kernels": "my-kernels", "sizes": "16"}
    main = 'git -C ../origin update-ref refs/heads/main "$BASE" && git fetch -q origin main'
    first, *others = COMMANDS
    commands = [
        f"{main} && git update-ref refs/heads/main FETCH_HEAD",
        "gemmbench run mine --kernels my-kernels --save first",
        *first.splitlines(),
        *others,
    ]
    sizes = {True: {"GEMMBENCH_SIZES": "16"}, False: {}}
    steps = [
        {
            "run": command,
            "env": {
                "BASE": "${{ github.event.pull_request.base.sha }}",
                "GEMMBENCH_DEVICE": script_of_mine,
                "GEMMBENCH_DATA_DIR": "kept",
                **sizes["--margin" not in command],
            },
        }
        for command in commands
    ]
    ours = {"uses": "./", "with": {"device": script_of_mine, **mine}}
    done = run_job({"steps": [ours, *steps]}, base=True, folder="my-kernels")
    assert not any(done.codes), done.output
    assert {"rows.csv", "junit.xml", "report.html"} <= {path.name for path in (done.checkout / "measured").iterdir()}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_each_step_of_the_gpu_workflow_runs(device, run_whole_job):
    """With a sweep of a post, and of the tests only those of `doctor`: these tests would start themselves again.

    On a CPU the sweep has a size that takes it less time than its own.
    """
    if device == "cuda" and (why := probe.why_no_gpu()):
        pytest.skip(why)
    job = read_job(WORKFLOWS["gpu.yml"])
    (step,) = [step for step in job["steps"] if step.get("uses") == "./"]
    step["with"] |= {"device": device} if device == "cuda" else {"device": device, "sizes": "32"}
    done = run_whole_job(job, {"inputs.config": "posts/002-transpose"}, {"PYTEST_ADDOPTS": "-k test_doctor"})
    assert not any(done.codes) and list(done.steps)[-1] == "Test", done.output
    assert re.search(r"\d+ (passed|skipped)", done.steps["Test"].output)
    assert list(done.artifacts) == [f"gemmbench-posts-002-transpose-{'0' * 40}"]
    assert "naive" in (done.results / "rows.csv").read_text()


def test_tests_do_not_run_where_gemmbench_could_not_be_installed(run_whole_job):
    job = read_job(WORKFLOWS["gpu.yml"])
    done = run_whole_job(job, {}, {"RUNNER_TEMP": "/dev/null"})
    assert list(done.steps) == ["Install gemmbench", "Name the artifact"] and done.codes[0], done.output


def test_ci_runs_the_checks_of_the_repository_and_keeps_what_they_build(run_whole_job):
    """Each target that they make exists; the rest of this file is run by them."""
    job = read_job(WORKFLOWS["ci.yml"])
    checks, compare = [step for step in job["steps"] if "run" in step]
    assert checks["run"] == "bash .ci/run" and "check --accesses" in compare["run"]
    job["steps"].remove(compare)  # it needs what the step before installs
    done = run_whole_job(job, {}, {"MAKEFLAGS": "-n", "GEMMBENCH_CHROMIUM": "none"})
    assert done.codes == [0] and "-m pytest -n auto" in done.output and list(done.artifacts) == ["dist"], done.output
