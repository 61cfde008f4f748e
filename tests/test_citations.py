"""Each part shows whose figures it has, and what has changed since; nothing hides it, and nothing else is reported."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import msgspec
import pytest

from gemmbench.bench.experiments.batch import METHOD
from gemmbench.bench.origin import Origin
from gemmbench.bench.record import NetworkFacts
from gemmbench.report.comparison import compare_rows
from gemmbench.report.store.recorded_run import Run
from tools import citations
from tools.citations import cite_run, cite_text, list_misfits
from tools.page import ROOT, Page

TREE = "1" * 40


@pytest.fixture
def page():
    return Page(ROOT / "docs" / "page.md", {})


@pytest.fixture
def today(environment):
    """The header of a run with today's method."""
    changed = {"tree": TREE, "revision": "abc", "smem": 100 << 10, "policy": {"method": METHOD}}
    return msgspec.structs.replace(environment, device="NVIDIA H100 80GB HBM3", **changed)


@pytest.fixture
def cite(page, today, tmp_path):
    """Cites these records of a run whose header has these changes."""

    def cite_(*records, **changed):
        run = Run(msgspec.structs.replace(today, **changed), list(records), path=tmp_path / "x.jsonl")
        return cite_run(page, compare_rows(run), records)

    return cite_


def test_a_citation_names_card_date_and_revision(cite, make_record):
    assert str(cite(make_record("cublas"))) == "H100 80GB HBM3, 2026-01-01, revision abc."
    assert str(cite(revision="abc+")) == "H100 80GB HBM3, 2026-01-01, revision abc with changes."
    assert str(cite(revision="")) == "H100 80GB HBM3, 2026-01-01, revision not recorded."


def test_a_citation_says_what_differs_from_today(cite, make_record):
    record = make_record("tiled", config={"TILE": 16}, code="other")
    assert cite(record, record).when == "2026-01-01, revision abc; measured with earlier code: tiled"
    assert cite(policy={"method": METHOD - 1}).difference == "measured by an earlier method"
    assert cite(policy={}, tree="").difference == "measured by an earlier method, with code that cannot be checked"
    assert cite(record, policy={}).difference == "measured by an earlier method, with earlier code: tiled"
    assert (cite().fault, cite(revision="abc+").fault) == ("", "the revision has changes")


def test_a_row_is_of_today_if_its_hash_is(cite, make_record):
    variant = citations._find_variant("tiled")
    code = citations.hash_code(variant, [("TILE", 32)])
    assert cite(make_record("tiled", config={"TILE": 32}, code=code)).earlier == ()
    assert cite(make_record("tiled", config={"TILE": 16}, code=code)).earlier == ("tiled",)
    assert cite(make_record("naive", config={"TILE": 32}, code=code)).earlier == ("naive",)
    assert cite(make_record("gone", config={"TILE": 32}, code=code)).earlier == ("gone",)
    assert cite(make_record("HEAD~3:tiled", config={"TILE": 32}, code="other")).earlier == ()


def test_a_row_of_a_variant_that_picks_is_of_today_if_it_would_pick_the_same(cite, make_record):
    sgemm = citations._find_variant("sgemm")
    rows = [
        make_record(
            "sgemm", size=4096, picked=pick.variant, config=values, code=citations.hash_code(pick.code, values.items())
        )
        for pick in sgemm.picks
        if (values := {**pick.code.default(), **dict(pick.params)})
    ]
    of_today = {row.code for row in rows if not cite(row).earlier}
    assert len(of_today) == 1 < len({row.code for row in rows})


def test_a_row_of_a_network_is_of_today_if_each_of_its_kernels_is(cite, make_record):
    facts = NetworkFacts(title="x", flops=1, bytes=1, launches=["tiled+bias", "cublas", "softmax"])
    tiled, softmax = (citations._find_variant(name) for name in ("tiled", "softmax"))
    codes = [citations.hash_code(each, each.default().items()) for each in (tiled, softmax)]
    assert cite(make_record("tiled+graph", network=facts, code=" ".join(codes))).earlier == ()
    assert cite(make_record("tiled+graph", network=facts, code=f"{codes[0]} other")).earlier == ("tiled+graph",)


ORIGIN = Origin(
    card="NVIDIA H100",
    software="",
    date="2026-01-02T03:04:05+00:00",
    revision="abc",
    tree=TREE,
    method=METHOD,
    code={"tiled": "other", "naive": "other"},
)


def test_a_text_is_cited_by_the_lines_above_it(page, tmp_path):
    def cite_(text="profile tiled", **changed):
        return str(cite_text(page, tmp_path / "x.txt", replace(ORIGIN, **changed), text))

    assert cite_() == "H100, 2026-01-02, revision abc; measured with earlier code: tiled."
    assert cite_("tiled_plain, naive_rows") == "H100, 2026-01-02, revision abc."
    assert cite_("", method=1) == "H100, 2026-01-02, revision abc; measured by an earlier method."
    path = tmp_path / "nvidia-h200" / "2026-11-22b-trust.txt"
    expected = "H200, 2026-11-22, revision not recorded; measured with code that cannot be checked."
    assert str(cite_text(page, path, None, "")) == expected
    assert len(page.citations) == 4


def test_every_figure_of_a_text_is_of_its_files_of_kernels(page, tmp_path):
    name = "benchmarks/register_loop.cu"
    today = citations.hash_file(ROOT / name)
    for code, earlier in ((today, ()), ("other", (name,))):
        origin = replace(ORIGIN, code={name: code})
        assert cite_text(page, tmp_path / "x.csv", origin, "8 x 8, row by row").earlier == earlier


@pytest.fixture
def results(tmp_path, today, monkeypatch):
    """A folder of results of a repository in which revision `abc` has the hash TREE; returns what does not fit."""
    monkeypatch.setattr(citations, "find_tree", lambda _, revision: {"abc": TREE}.get(revision, ""))
    monkeypatch.setattr(citations, "is_complete", lambda _: True)
    folder = tmp_path / "results" / "nvidia-h100"
    folder.mkdir(parents=True)

    def list_(name="x.jsonl", **changed):
        citations._find_tree.cache_clear()
        if name.endswith(".jsonl"):
            (folder / name).write_bytes(msgspec.json.encode(msgspec.structs.replace(today, **changed)) + b"\n")
        else:
            (folder / name).write_text(f"{replace(ORIGIN, **changed)}text\n")
        found = list(list_misfits(tmp_path / "results"))
        (folder / name).unlink()
        citations._find_tree.cache_clear()
        return found

    return list_


@pytest.mark.parametrize("name", ["x.jsonl", "x.txt", "x.csv"])
def test_results_must_be_of_the_sources_of_the_revision_that_they_name(results, name, monkeypatch):
    where = f"results/nvidia-h100/{name}"
    assert results(name) == results(name, revision="abc+", tree="2" * 40) == results(name, tree="") == []
    wrong = f"{where}: was not measured with the sources of revision abc, which it names"
    assert results(name, tree="2" * 40) == [wrong]
    assert results(name, revision="gone") == [f"{where}: names revision gone, which this repository does not have"]
    monkeypatch.setattr(citations, "is_complete", lambda _: False)
    assert results(name, revision="gone") == []


@pytest.fixture
def copy(tmp_path):
    """Runs a module in a copy of the repository with one results file and one page; returns code and output."""
    for name in ("gemmbench", "cuda", "configs", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs" / "images").mkdir(parents=True)
    (tmp_path / "README.md").write_text("Nothing is generated here.\n")
    place = {**os.environ, "PYTHONPATH": str(tmp_path), "GEMMBENCH_REVISION": "abc"}

    def run(*words):
        command = [sys.executable, "-m", *words]
        done = subprocess.run(command, cwd=tmp_path, env=place, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    words = "run naive tiled sgemm cublas --device fake --sizes 64 --rounds 2 --out results/nvidia-fake"
    assert run("gemmbench", *words.split())[0] == 0
    return tmp_path, run


PARTS = """
<!-- begin table results/*/*.jsonl brief -->
<!-- end -->

<!-- begin table results/*/*.jsonl -->
<!-- end -->

<!-- begin chart ladder results/*/*.jsonl size=64 variants=naive,cublas name=x -->
<!-- end -->
"""


def test_a_change_of_a_kernel_is_listed_and_shown_and_cannot_be_hidden(copy):
    root, run = copy
    docs, page, kernel = "tools.generate_docs", root / "docs" / "page.md", root / "cuda" / "tiled.cu"
    page.write_text(PARTS)
    assert run(docs) == (0, "")
    text, shown = kernel.read_text(), page.read_text()
    assert shown.count(", revision abc.\n") == 3 and "- Device: Fake GPU (fake)" in shown
    assert run(docs, "--stale", "--release") == (0, "every part shows figures of today's code and method\n")

    kernel.write_text(text.replace("summary:", "summary: another;", 1) + "\n// a comment\n")
    assert run(docs, "--stale", "--release")[0] == 0
    assert run(docs, "--check", "docs/page.md")[0] == 0

    assert text.count("row >= M") == 1
    kernel.write_text(text.replace("row >= M", "row > M - 1"))
    (file,) = (root / "results" / "nvidia-fake").glob("*.jsonl")
    line = f"docs/page.md: results/nvidia-fake/{file.name}: measured with earlier code: tiled\n"
    assert run(docs, "--stale") == (0, line)
    assert run(docs, "--stale", "--release") == (1, line)
    code, said = run(docs, "--check", "docs/page.md")
    assert code == 1 and "page.md: out of date; run `make docs`" in said
    assert run(docs)[0] == 0
    assert page.read_text().count("; measured with earlier code: tiled.\n") == 2  # the chart does not show it
    assert run(docs, "--check", "docs/page.md")[0] == 0
