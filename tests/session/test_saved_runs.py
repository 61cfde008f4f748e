"""Results files by path, saved name or id, and runs stored under a name."""

import msgspec
import pytest

from gemmbench.errors import StoreError, UsageError
from gemmbench.planning.files import list_saved, saved_path
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.report.store.reading import read_results
from gemmbench.report.store.recorded_run import Run
from gemmbench.session.saved_runs import (
    ListedRun,
    check_name,
    find_run,
    find_two_runs,
    read_run,
    refuse_overlapping,
    refuse_renamed,
    save_run,
)


@pytest.fixture
def write_run(tmp_path, environment):
    """Write a results file that has only a header."""

    def write(path, **changed):
        path = tmp_path / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(msgspec.structs.replace(environment, **changed)) + b"\n")
        return path

    return write


def test_a_path_comes_before_a_name(tmp_path, write_run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved, file = write_run("results/saved/main.jsonl"), write_run("main")
    results = tmp_path / "results"
    assert find_run("main", results).resolve() == file
    file.unlink()
    assert find_run("main", results) == saved == saved_path(results, "main")
    assert find_run("none", results) is None and find_run("../main", results) is None


def test_a_row_of_several_batches_is_counted_once_and_as_failed_if_it_ever_failed(environment, make_record):
    rows = [make_record("naive"), make_record("cublas"), make_record("tiled", status="wrong"), make_record("cublas")]
    listed = ListedRun(Run(environment, [*rows, make_record("tiled")]))
    assert (len(listed.statuses), listed.failed) == (3, 1)


def test_an_id_names_one_file_only(tmp_path, write_run):
    first = write_run("2026-quick-12ab.jsonl", run="2026-quick-12ab")
    renamed = write_run("mine.jsonl", run="2026-quick-77cd")
    assert find_run("12ab", tmp_path) == first and find_run("77cd", tmp_path) == renamed
    write_run("2026-sgemm-12ab.jsonl")
    assert find_run("12ab", tmp_path) is None
    inner = write_run("card/2026-tiles-33ef.jsonl")
    assert find_run("33ef", tmp_path) == inner, "runs of folders inside are found"
    (tmp_path / "broken.jsonl").write_text("{")
    assert find_run("77cd", tmp_path) == renamed and find_run("*", tmp_path) is None


def test_no_run_has_an_id_in_a_folder_that_cannot_exist(tmp_path):
    assert find_run("12ab", tmp_path / ("x" * 300)) is None


def test_an_unknown_name_lists_the_saved_runs(tmp_path, write_run):
    with pytest.raises(UsageError, match=r"no results file and no saved run 'x'; .* has no runs"):
        read_run("x", tmp_path)
    with pytest.raises(UsageError, match=rf"{tmp_path} is a folder, not a results file; "):
        read_run(str(tmp_path), tmp_path)
    write_run("saved/main.jsonl")
    with pytest.raises(UsageError, match=r"'mein' \(did you mean 'main'\?\); saved runs in .*: main"):
        read_run("mein", tmp_path)


def test_compare_takes_two_runs_or_variants(tmp_path, write_run, write_kernel):
    write_kernel("tiled.cu")
    catalog = Catalog([tmp_path / "kernels"])
    one, two, saved = write_run("one.jsonl"), write_run("two.jsonl"), write_run("saved/tiled.jsonl")
    assert find_two_runs([str(one), str(two)], tmp_path, catalog) == (one, two)
    assert find_two_runs(["tiled", "HEAD:tiled"], tmp_path, catalog) is None and saved.exists()
    with pytest.raises(UsageError, match=r"one\.jsonl is a saved run but tiled is not"):
        find_two_runs(["tiled", str(one)], tmp_path, catalog)
    with pytest.raises(UsageError, match="compare takes two saved runs at a time"):
        find_two_runs([str(one), str(two), str(one)], tmp_path, catalog)


@pytest.mark.parametrize("name", ["main", "v1.2", "a", "H200_before-change", "x" * 64])
def test_a_good_name(name):
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "-x", "main\n", "x.jsonl", "x.jsonl.gz", "é"])
def test_a_bad_name(name):
    with pytest.raises(UsageError, match="cannot name a saved run"):
        check_name(name)


def test_a_run_is_copied_and_replaces_one_of_its_name(tmp_path, write_run):
    run, main = read_results(write_run("run.jsonl")), saved_path(tmp_path, "main")
    assert save_run(run, tmp_path, "main") == f"saved as main: {main}"
    assert main.read_bytes() == run.path.read_bytes()
    again = save_run(read_results(write_run("other.jsonl")), tmp_path, "main")
    assert again.endswith("which replaces the run of 2026-01-01T12:00:00+00:00")
    main.write_text("nonsense")
    assert save_run(run, tmp_path, "main").endswith("which replaces a file that could not be read")
    assert [path.name for path in list_saved(tmp_path)] == ["main.jsonl"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path, write_run):
    (tmp_path / "saved").write_text("a file")
    with pytest.raises(StoreError, match="cannot write"):
        save_run(read_results(write_run("run.jsonl")), tmp_path, "main")


def test_a_run_of_the_kernel_that_was_called_naive_is_refused(environment, make_record):
    older = {"artifact": "1234", "path": "cuda/naive.cu"}
    with pytest.raises(UsageError, match=r"its naive is the kernel that is now called naive_rows, .* measure it again"):
        refuse_renamed(Run(environment, [make_record("tiled"), make_record("naive", **older)]))
    refuse_renamed(Run(environment, [make_record("naive", **older, code="5678")]))
    refuse_renamed(Run(environment, [make_record("naive", artifact="1234", path="mine/naive.cu")]))


def test_runs_that_differ_in_the_overlap_of_products_are_refused(environment, make_record):
    def run(started, command, *pdl):
        header = msgspec.structs.replace(environment, started=started, command=command)
        return Run(header, [make_record(f"k{number}", pdl=each) for number, each in enumerate(pdl)])

    old, new = (
        run("2026-01-01", "gemmbench run --no-pdl a", False, True),
        run("2026-02-01", "gemmbench run a", False, False),
    )
    again = r"measured with products that overlap, unlike the other run \(k1\); measure it again: gemmbench run a$"
    for pair in ((old, new), (new, old), (old,)):
        with pytest.raises(UsageError, match=again):
            refuse_overlapping(*pair)
    newer = run("2026-03-01", "gemmbench run a --pdl", True, True)
    with pytest.raises(UsageError, match=r"measured without .* \(k0, k1\); measure it again: gemmbench run a --pdl$"):
        refuse_overlapping(new, newer)
    refuse_overlapping(new)
    refuse_overlapping(newer, newer)
