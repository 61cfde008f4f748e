"""Runs stored under a name."""

import msgspec
import pytest

from gemmbench.errors import StoreError, UsageError
from gemmbench.planning.files import list_saved, saved_path
from gemmbench.report.store.recorded_run import Run
from gemmbench.session.saved_runs import check_name, find_newest_saved, save_run


@pytest.fixture
def make_run(tmp_path, environment):
    def make(name="run", **changed):
        header = msgspec.structs.replace(environment, **changed)
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(msgspec.json.encode(header) + b"\n")
        return Run(header, path=path)

    return make


@pytest.mark.parametrize("name", ["main", "v1.2", "a", "H200_before-change", "x" * 64])
def test_a_good_name(name):
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "-x", "main\n", "x.jsonl", "é"])
def test_a_bad_name(name):
    with pytest.raises(UsageError, match="cannot name a saved run"):
        check_name(name)


def test_a_run_is_copied_and_replaces_one_of_its_name(tmp_path, make_run):
    run = make_run()
    assert save_run(run, tmp_path, "main") == f"saved as main: {saved_path(tmp_path, 'main')}"
    assert saved_path(tmp_path, "main").read_bytes() == run.path.read_bytes()
    again = save_run(make_run("other"), tmp_path, "main")
    assert again.endswith("which replaces the run of 2026-01-01T12:00:00+00:00")
    saved_path(tmp_path, "main").write_text("nonsense")
    assert save_run(run, tmp_path, "main").endswith("which replaces a file that could not be read")
    assert [path.name for path in list_saved(tmp_path)] == ["main.jsonl"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path, make_run):
    (tmp_path / "saved").write_text("a file")
    with pytest.raises(StoreError, match="cannot write"):
        save_run(make_run(), tmp_path, "main")


def test_the_newest_saved_run_was_measured_last(tmp_path, make_run):
    save_run(make_run("new", started="2026-02-01T00:00:00+00:00"), tmp_path, "first")
    save_run(make_run("old", started="2026-01-01T00:00:00+00:00"), tmp_path, "second")
    assert find_newest_saved(tmp_path).stem == "first"


def test_without_a_saved_run_the_message_names_the_option(tmp_path):
    with pytest.raises(UsageError, match=r"no saved run in .*gemmbench run --save main"):
        find_newest_saved(tmp_path)
