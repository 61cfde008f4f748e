"""The generated parts of README.md and the manual: what writes them, and what they refuse."""

import re
import shutil

import msgspec
import pytest

from gemmbench.bench.experiments.batch import METHOD
from gemmbench.errors import StoreError
from gemmbench.planning.problems import Problem
from tools.page import ROOT, NoResults, Page
from tools.parts import KINDS, contests, draws, listings, tables, trust
from tools.schemas import find_stale_schemas

OPTIONS = "--kernels first-try --device cpu --sizes 17".split()
QUICK = "results/nvidia-h100/*-quick.jsonl.gz"


def test_the_schemas_next_to_the_kernels_and_configs_are_up_to_date():
    assert [str(path) for path in find_stale_schemas()] == [], "run `make docs`"


@pytest.fixture
def page():
    return Page(ROOT / "docs" / "guides" / "page.md", KINDS)


def test_a_page_is_stale_until_its_parts_are_written(page, tmp_path):
    path = tmp_path / "page.md"
    path.write_text("Before\n\n<!-- begin exit-codes -->\n<!-- end -->\n\nAfter\n")
    changed = Page(path, KINDS).find_stale()
    assert list(changed) == [path]
    path.write_text(changed[path])
    assert Page(path, KINDS).find_stale() == {}
    assert "| 130 | Interrupted" in path.read_text()
    assert path.read_text().startswith("Before\n") and path.read_text().endswith("\nAfter\n")


def list_lines(text):
    """The lines of the table in a part."""
    return [line for line in text.splitlines() if line.startswith("|")]


def test_a_table_shows_the_chosen_columns_and_kernels(page):
    text = KINDS["table"](
        page, QUICK, "M=4096", "brief", "only=tiled,cublas", "columns=kernel,time (ms),% of {baseline}"
    )
    heading, rule, *rows = list_lines(text)
    assert [cell.strip() for cell in heading.strip("|").split("|")] == ["kernel", "time (ms)", "% of cublas"]
    assert rule.startswith("|:---") and rule.count("---:|") == 2
    assert [row.split("|")[1].strip() for row in rows] == ["tiled", "cublas"]


def test_a_table_shows_what_nvcc_makes_of_a_row_only_if_its_configuration_is_the_same(page):
    words = ["results/nvidia-h100/*-sgemm.jsonl.gz", "M=4096", "only=tiled", "columns=kernel,configuration", "brief"]
    code = ["code=results/nvidia-h100/*-ladder_code.csv", "code-columns=registers,FFMA (%)"]
    lines = list_lines(KINDS["table"](page, *words, *code))
    cells = {line.split("|")[2].strip(): [cell.strip() for cell in line.split("|")[3:5]] for line in lines[2:]}
    assert cells == {"TILE=16": ["32", "27.6"], "TILE=32": ["-", "-"], "TILE=32 (measured again)": ["-", "-"]}
    with pytest.raises(StoreError, match="no column 'luck' in"):
        KINDS["table"](page, *words, code[0], "code-columns=luck")


def test_a_table_shows_the_rows_with_a_value_of_a_parameter_and_those_without_the_parameter(page):
    words = ("M=4096", "brief", "only=wgmma_3xtf32,cublas", "columns=kernel,configuration", "BN=128", "STAGES=3")
    rows = list_lines(KINDS["table"](page, "results/nvidia-h200/*-tensor_3xtf32.jsonl.gz", *words))[2:]
    tiles = [row for row in rows if "wgmma_3xtf32" in row]
    assert len(tiles) == 4 and all("BN=128" in row and "STAGES=3" in row for row in tiles)
    assert len(rows) == 5 and any("cublas" in row for row in rows)


@pytest.mark.parametrize(("kind", "words"), [("table", ("M=4096", "only=tiled")), ("fastest", ("tiled",))])
def test_a_column_may_be_one_of_steady_loads_even_if_no_row_had_one(page, kind, words):
    text = KINDS[kind](page, QUICK, *words, "brief", "columns=kernel,sustained TFLOPS,sustained % of {baseline}")
    heading, _, *rows = list_lines(text)
    cells = [cell.strip() for cell in heading.strip("|").split("|")]
    assert cells[-3:] == ["kernel", "sustained TFLOPS", "sustained % of cublas"]
    assert rows and all(row.split("|")[-2].strip() == "-" for row in rows)


def test_a_chart_is_a_file_and_a_link_to_it(page):
    text = KINDS["chart"](
        page, "speed", "results/nvidia-h100/*-sgemm.jsonl.gz", "name=some-chart", "variants=tiled,cublas"
    )
    picture, _, whose = text.splitlines()
    assert picture == "![Speed over matrix size](../images/some-chart.svg)"
    assert re.match(r"H100 80GB HBM3, 2026-\d\d-\d\d, revision \w+\b", whose)
    assert page.files[ROOT / "docs" / "images" / "some-chart.svg"].startswith("<svg")


TRUST = '''"""Checks.

    a        A as
             declared
    b        B as declared
    c        C as declared
"""
CLAIMS = ("a", "b", "c")
'''
ORIGIN = "# card: NVIDIA H100\n# software: x\n# date: {}\n# revision: abc\n# tree: \n# method: {}\n# code: \n"


@pytest.fixture
def claims(page, tmp_path, monkeypatch):
    """Writes a part of claims of a repository with these results."""
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    monkeypatch.setattr(trust, "ROOT", tmp_path)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "trust.py").write_text(TRUST)
    old, new = tmp_path / "nvidia-h200", tmp_path / "nvidia-h100"
    for folder in (old, new):
        folder.mkdir()
    (old / "2026-11-01-trust.txt").write_text("== a: A\n\na: 1 of 1: holds (3 s)\n== b: B\n\nb: 2 of 2: holds (3 s)\n")
    first, second = ORIGIN.format("2026-12-01", METHOD), ORIGIN.format("2026-12-02", METHOD - 1)
    runs = f"{first}\n== a: A\n\na: 1 of 2: holds (3 s)\n{second}\n== a: A2\n\na: 0 of 1: DOES NOT HOLD (3 s)\n"
    (new / "2026-11-30-trust.txt").write_text(runs)
    return lambda *words: KINDS["claims"](page, "*/*-trust.txt", *words)


def test_each_claim_has_its_newest_result_with_its_own_date_and_revision_and_none_is_left_out(claims):
    assert claims().splitlines()[2:] == [
        "| `a` | A2 | 0 of 1 | **no** | H100, 2026-12-02, revision abc; measured by an earlier method |",
        "| `b` | B | 2 of 2 | yes | H200, 2026-11-01, revision not recorded |",
        "| `c` | C as declared | not measured yet | - | - |",
    ]


def test_a_list_of_claims_shows_what_failed_and_what_is_not_measured(claims, page):
    assert claims("list").splitlines() == [
        "- A2. **Failed**: 0 of 1 (H100, 2026-12-02, revision abc; measured by an earlier method).",
        "- B. Found: 2 of 2 (H200, 2026-11-01, revision not recorded).",
        "- C as declared. Not measured yet.",
    ]
    assert [citation.date for citation in page.citations] == ["2026-12-02", "2026-11-01"]
    assert claims("count") == "1 of 3 claims hold. **Failed**: `a`. Not measured yet: `c`."
    assert claims("list", "only=c") == "- C as declared. Not measured yet."
    with pytest.raises(StoreError, match="unknown claim 'd'"):
        claims("only=d")


def test_every_claim_is_described():
    assert len(trust._read_declared()) >= 13


def test_an_optional_part_without_results_says_so(page, tmp_path):
    path = tmp_path / "page.md"
    none = "results/none*.jsonl.gz"
    for part in (f"table {none}", f"rows {none}", f"profile {none} a counters=b", f"chart ladder {none} name=x"):
        path.write_text(f"<!-- begin {part} optional -->\n<!-- end -->\n")
        assert "-->\nNot measured yet by today's rules.\n<!--" in Page(path, KINDS).find_stale()[path]
    path.write_text("<!-- begin table results/none*.jsonl.gz -->\n<!-- end -->\n")
    with pytest.raises(StoreError, match="no file matches"):
        Page(path, KINDS).find_stale()


def test_an_optional_part_with_a_fault_is_refused(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"<!-- begin chart speed {QUICK} optional -->\n<!-- end -->\n")
    with pytest.raises(StoreError, match="needs name=NAME"):
        Page(path, KINDS).find_stale()


@pytest.mark.parametrize(
    ("kind", "words", "fault"),
    [
        ("chart", ("speed", QUICK), "needs name=NAME"),
        ("chart", ("speed", QUICK, "name=x", "colour=red"), "unknown choice 'colour'"),
        ("keys", ("manifesto",), "unknown model 'manifesto'"),
        ("file", ("docs/gone.cu",), "no file docs/gone.cu"),
        ("output", ("rm", "-r", "results"), "must be gemmbench"),
        ("output", ("gemmbench", "run", "tilde"), "(?s)exit code 2: .*unknown kernel 'tilde'"),
        ("table", ("results/none*.jsonl.gz",), "no file matches"),
        ("table", (QUICK, "m=4096"), "no row has the parameter m"),
        ("table", (QUICK, "columns=kernel,GFLOP"), r"unknown column 'GFLOP' \(did you mean 'GFLOPS'\?\)"),
        ("fastest", (QUICK, "tiled", "columns=speed"), "unknown column 'speed'"),
        ("fastest", (QUICK, "tgemm"), "no row of tgemm"),
    ],
)
def test_a_part_that_cannot_be_written_says_why(page, kind, words, fault):
    with pytest.raises(StoreError, match=fault):
        KINDS[kind](page, *words)


def test_an_unknown_kind_names_its_page_and_the_known_ones(tmp_path):
    bad = tmp_path / "bad.md"
    bad.write_text("<!-- begin tabel x -->\n<!-- end -->\n")
    with pytest.raises(StoreError, match=r"part 'tabel x': unknown kind \(did you mean 'table'\?\); known: table"):
        Page(bad, KINDS).generate()


def test_the_precisions_say_how_many_bits_enter_a_product(page):
    rows = [[cell.strip() for cell in line.split("|")] for line in KINDS["precisions"](page).splitlines()]
    factors = {row[1]: row[rows[0].index("factors")] for row in rows}
    assert factors["`tf32`"] == "11 bits" and factors["`e5m2`"] == "3 bits"
    assert factors["`3xtf32`"] == "up to 24 bits, in parts"


@pytest.mark.parametrize("name", listings.MODELS)
def test_every_key_of_a_file_has_a_meaning(page, name):
    rows = KINDS["keys"](page, name).splitlines()[2:]
    assert rows and all(row.split("|")[-2].strip() for row in rows)


def test_the_keys_of_a_key_begin_with_its_name(page):
    rows = KINDS["keys"](page, "config", "measure:measure").splitlines()[2:]
    assert rows == [
        *KINDS["keys"](page, "config").splitlines()[2:],
        *(row.replace("| `", "| `measure.", 1) for row in KINDS["keys"](page, "measure").splitlines()[2:]),
    ]


def test_the_columns_of_transfers_are_those_that_kernels_have_not(page):
    kernels, transfers = (KINDS["columns"](page, *which) for which in ((), ("transfers",)))
    assert "| `mode` |" in transfers and "| `variant` |" in kernels
    assert not set(kernels.splitlines()[2:]) & set(transfers.splitlines()[2:])


def test_a_key_without_a_meaning_is_refused(page, monkeypatch):
    class Undescribed(msgspec.Struct):
        """Keys.

        Attributes:
            known: A key.
        """

        known: int
        unknown: int = 0

    monkeypatch.setattr(listings, "MODELS", {"some": Undescribed})
    with pytest.raises(StoreError, match=r"docstring of Undescribed does not match its keys: \['unknown'\]"):
        KINDS["keys"](page, "some")


def test_output_is_what_the_command_prints(page):
    if shutil.which("g++") is None:
        pytest.skip("no g++ on this machine")
    text = KINDS["output"](page, "cd=docs/guides", "drop=----", *"gemmbench verify mine".split(), *OPTIONS)
    assert text.startswith("```console\n$ gemmbench verify mine --kernels first-try")
    assert "look at the remainder of K" in " ".join(text.split())
    assert "----" not in text


def test_a_script_becomes_text_and_code(page):
    text = KINDS["script"](page, "docs/guides/python_interface.py")
    assert text.startswith("Everything that `gemmbench run`")
    assert "```python\nimport tempfile" in text and "# %%" not in text


PROFILES = "results/nvidia-h100/*-profile.txt"


def test_counters_of_profiles_are_a_line_each(page):
    text = KINDS["profile"](page, PROFILES, "gemmbench profile tiled ", "gemmbench profile cublas", "counters=FMA pipe")
    head, _, *lines = list_lines(text)
    assert head == "| profile | FMA pipe |" and "ound by" not in text
    assert [line.split()[1] for line in lines] == ["tiled", "cublas,"] and all("%" in line for line in lines)


def test_a_single_profile_says_what_bounds_it(page):
    text = KINDS["profile"](page, PROFILES, "gemmbench profile tiled ", "counters=duration")
    assert "\n\nBound by L1: " in text
    with pytest.raises(StoreError, match="0 counters 'luck' in"):
        KINDS["profile"](page, PROFILES, "gemmbench profile tiled ", "counters=luck")


SIZES = "results/nvidia-h100/*-shapes_60.jsonl.gz"


def write_contest(*words):
    return KINDS["contest"](Page(ROOT / "docs" / "page.md", KINDS), *words)


@pytest.fixture
def contest():
    """The summary, and the lines of the table by heading."""
    text = write_contest("sgemm", SIZES)
    first, second, *_ = text.splitlines()
    head, _, *lines = list_lines(text)
    headings, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in (head, *lines))
    return f"{first} {second}", [dict(zip(headings, row, strict=True)) for row in rows]


def test_problems_are_sorted_the_worst_first(contest):
    _, rows = contest
    shares = [float(row["% of it"]) for row in rows]
    assert len(shares) > 10 and shares == sorted(shares)


def test_the_best_other_kernel_is_named_and_never_the_kernel_itself(contest):
    _, rows = contest
    assert {row["best other"] for row in rows} <= {"cublas", "cublaslt"}


def test_only_a_slower_row_has_a_reason(contest):
    _, rows = contest
    for row in rows:
        assert bool(row["what holds it back"]) == (float(row["% of it"]) < 100)


def test_the_summary_counts_what_the_table_shows(contest):
    summary, rows = contest
    shares = [float(row["% of it"]) for row in rows]
    below = [sum(share < limit for share in shares) for limit in (100, 95)]
    assert summary.startswith(f"{len(rows)} problems, ") and f"100 %: {below[0]}; below 95 %: {below[1]}." in summary
    (mean,) = re.findall(r"mean ([0-9.]+) %", summary)
    assert min(shares) < float(mean) < max(shares)


def test_problems_of_several_files_are_one_table(contest):
    twice = write_contest("sgemm", SIZES, SIZES).splitlines()
    assert twice[0].startswith(f"{2 * len(contest[1])} problems")


def test_only_the_worst_are_left_and_all_are_counted(contest):
    lines = write_contest("sgemm", SIZES, "worst=3").splitlines()
    assert lines[0].startswith(f"{len(contest[1])} problems") and "The worst 3:" in lines
    assert [line.split()[1] for line in lines if "nn f32" in line] == [
        row["problem"].partition(" ")[0] for row in contest[1][:3]
    ]


OVERLAPPING = "results/nvidia-h200/*-shapes_60.jsonl.gz"


def test_problems_without_a_ranked_row_are_counted():
    shown = len(contests.find_contests(OVERLAPPING, "sgemm"))
    assert f"This leaves out {60 - shown} problems for which sgemm or all others have no ranked row." in write_contest(
        "sgemm", OVERLAPPING
    )
    fastest = KINDS["fastest"](Page(ROOT / "docs" / "page.md", KINDS), OVERLAPPING, "sgemm", "brief")
    assert f"This leaves out {60 - shown} problems for which sgemm has no ranked row." in fastest


def test_a_kernel_that_did_not_run_is_refused():
    with pytest.raises(StoreError, match="no problem with wmma and another"):
        write_contest("wmma", SIZES)


PEERS = "results/nvidia-h200/*-peers.jsonl.gz"


def read_overview(precision):
    """The cells of each line, by heading."""
    lines = list_lines(KINDS["overview"](Page(ROOT / "docs" / "page.md", KINDS), PEERS, precision))
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def test_each_kernel_has_its_fastest_row_at_each_size():
    found = read_overview("bf16")
    assert {"cublas", "cutlass_sm90", "triton_matmul"} <= set(found) and "sgemm" not in found
    assert set(found["cublas"].values()) == {"100"}
    for cells in found.values():
        assert list(cells) == list(found["cublas"])
        assert all(20 < float(cell.split()[0]) < 150 for cell in cells.values())


def test_a_precision_that_the_sweep_lacks_is_refused():
    with pytest.raises(StoreError, match="no ranked row in f64"):
        read_overview("f64")


DRAWS = "results/nvidia-h100/*-shapes_drawn_[0-9]*.jsonl.gz"
EARLIER = "results/nvidia-h100/*-shapes_drawn_391221.jsonl.gz"


def read_table(text):
    """The cells of the first table of a text, by what the first cell says."""
    lines = text.partition("|")[2].partition("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in rows}


def test_the_record_has_a_line_for_each_date_and_revision_of_the_newest_files(page, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    (tmp_path / "durations.csv").write_text("name,seconds\n1-a,60\nb,90\nc,30\nd,500\n")
    for name, date in (
        ("2026-12-01-1-a", "2026-12-01"),
        ("2026-11-01-b", "2026-11-01"),
        ("2026-12-01-b", "2026-12-01"),
    ):
        (tmp_path / f"{name}.txt").write_text(ORIGIN.format(date, METHOD) + "\n")
    (tmp_path / "2026-11-01-c.csv").write_text(ORIGIN.format("2026-11-01", METHOD) + "\nx,y\n")
    assert KINDS["record"](page, ".").splitlines()[1:] == [
        "| --- | --- | --- | ---: | ---: | --- |",
        "| 2026-12-01 | H100 | abc | 2 | 2 | 1-a, b |",
        "| 2026-11-01 | H100 | abc | 1 | 0 | c |",
    ]


def test_draws_are_listed_by_pattern_and_number_with_their_means_by_alignment(page, tmp_path, monkeypatch):
    committed = max(ROOT.glob(SIZES))
    for module in (tables, draws):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    for name in ("2026-01-01-drawn_7", "2026-01-02-drawn_12", "2026-01-02-drawn_7", "2026-01-01-other_3"):
        shutil.copy(committed, tmp_path / f"{name}.jsonl.gz")
    text = KINDS["draw_list"](page, "sgemm", "*-other_*.jsonl.gz", "*-drawn_*.jsonl.gz")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| f32")]
    assert [row[:3] for row in rows] == [["f32", "3", "41"], ["f32", "7", "41"], ["f32", "12", "41"]]
    assert float(rows[0][8]) <= float(rows[0][3])
    assert all(int(row[2]) + int(row[5]) == 60 for row in rows)


def test_only_the_last_draw_of_a_precision_judges_today_s_code(page, tmp_path, monkeypatch):
    for module in (tables, draws):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    for number in (2, 10):
        shutil.copy(max(ROOT.glob(EARLIER)), tmp_path / f"2026-01-01-drawn_{number}.jsonl.gz")
    shutil.copy(max(ROOT.glob(EARLIER)), tmp_path / "2026-01-01-other_3.jsonl.gz")
    KINDS["draw_list"](page, "sgemm", "*-drawn_*.jsonl.gz", "*-other_*.jsonl.gz")
    assert [(each.file.name, bool(each.difference)) for each in page.citations] == [
        ("2026-01-01-drawn_2.jsonl.gz", False),
        ("2026-01-01-drawn_10.jsonl.gz", False),
        ("2026-01-01-other_3.jsonl.gz", True),
    ]


def test_a_file_without_the_number_of_a_draw_is_refused(page):
    with pytest.raises(StoreError, match=r"quick\.jsonl\.gz is not named after the number of a draw"):
        KINDS["draw_list"](page, "tiled", QUICK)


def test_draws_without_the_kernel_or_without_a_file_are_refused(page):
    with pytest.raises(StoreError, match="has no problem with tiled and another"):
        KINDS["draw_list"](page, "tiled", DRAWS)
    with pytest.raises(NoResults, match="no file matches"):
        KINDS["draw_list"](page, "sgemm", "results/none_*.jsonl.gz")


@pytest.mark.parametrize(
    ("problem", "aligned"),
    [
        (Problem(3, 8, 4), True),
        (Problem(3, 8, 6), False),
        (Problem(3, 6, 4), False),
        (Problem(4, 8, 6, "tt"), False),
        (Problem(4, 8, 7, "tn"), True),
        (Problem(4, 4, 8, precision_name="bf16"), False),
        (Problem(4, 8, 8, precision_name="bf16"), True),
        (Problem(4, 2, 2, precision_name="f64"), True),
    ],
)
def test_rows_are_aligned_as_they_are_stored(problem, aligned):
    assert draws.has_aligned_rows(problem) is aligned
