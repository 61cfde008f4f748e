"""The page of runs: what it says, that it loads nothing, and that text in it stays text."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import msgspec
import pytest

from gemmbench.bench.record import TransferRecord
from gemmbench.planning.problems import Problem
from gemmbench.report.comparison import compare_rows
from gemmbench.report.page.report_page import render_page

HOSTILE = "<img src=x onerror=alert(1)>\"'&</script>"


class Reader(HTMLParser):
    """Every element with its attributes, the text of each kind of element, and the elements left open."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.texts, self.open = [], {}, []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "br", "col"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        for tag in self.open[-1:]:
            self.texts.setdefault(tag, []).append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def make_page(compare):
    return lambda *records, **changed: render_page([compare(*records, **changed)])


def ids_of(read):
    return [attributes["id"] for attributes in read.named("section") if "id" in attributes]


def test_the_summary_names_the_run_and_the_fastest_kernel(make_page, steady):
    read = Reader(make_page(steady("tiled", 0.5), steady("naive", 2), steady("cublas")))
    assert read.open == []
    assert read.texts["h1"] == ["quick on Fake GPU"]
    assert "tiled" in read.texts["b"]
    assert "2.00x cublas" in read.texts["span"]
    assert "3 rows (3 ok) of 1 problem, measured 2026-01-01 at 12:00 UTC." in read.texts["p"]
    assert "rows" in ids_of(read) and not {"failures", "differences"} & set(ids_of(read))


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        ([2] * 5, ["cublas", "tiled reaches 50.0 % of it"]),
        ([0.9, 1, 1.1, 1.2, 0.8], ["tiled or cublas", "too noisy to call, 1.0x \u00b1\u00a00.3"]),
        ([1.002] * 5, ["cublas and tiled", "within 1 % of each other"]),
        ([0.5], ["tiled or cublas", "too few rounds for a verdict, about 2.00x apart"]),
    ],
)
def test_the_summary_says_of_the_fastest_what_the_last_line_of_a_run_says(
    make_page, paired, steady, milliseconds, words
):
    page = make_page(paired("tiled", *(1e-3 * each for each in milliseconds)), steady("cublas"))
    read = Reader(page)
    assert [*read.texts["b"], words[1]] == words and words[1] in read.texts["span"]
    marked = [each for each in read.named("tr") if "fastest-row" in each.get("class", "")]
    assert len(marked) == (words[0].count("and") + 1 if "or" not in words[0].split() else 0)


def test_every_row_is_in_a_table_with_its_status(make_page, steady, make_record):
    page = make_page(
        steady("tiled", 0.5),
        make_record("naive", status="wrong", reason="C[0][0] = 4", diagnosis="B transposed", wrong_map="##\n.."),
        make_record("fused", status="skipped", reason="needs a GPU"),
    )
    read = Reader(page)
    listed = {each["data-status"] for each in read.named("tr") if "data-status" in each}
    assert listed == {"ok", "wrong", "skipped"}
    assert "##\n.." in read.texts["pre"]
    assert {"C[0][0] = 4", "wrong"} <= set(read.texts["span"])
    assert "B transposed" in read.texts["dd"]
    assert "needs a GPU" in read.texts["td"]
    (target,) = {each["href"][1:] for each in read.named("a")} - set(ids_of(read))
    assert [each.get("id") for each in read.named("details") if each.get("class") == "failure card"] == [target]
    assert "1 row skipped" in read.texts["summary"]


def test_text_of_a_run_cannot_become_html(make_page, steady, make_record):
    """Names, reasons, maps and the command are whatever a results file says."""
    clean = Reader(make_page(steady("tiled"), make_record("b", status="wrong", reason="c", wrong_map="d")))
    page = make_page(
        steady(HOSTILE),
        make_record(HOSTILE + "b", status="wrong", reason=HOSTILE, wrong_map=HOSTILE),
        command=HOSTILE,
        sweep=HOSTILE,
        device=HOSTILE,
        software={HOSTILE: HOSTILE},
    )
    read = Reader(page)
    assert read.named("img") == []
    assert len(read.named("script")) == 1
    assert len(read.named("td")) == len(clean.named("td"))
    assert not [attributes for _, attributes in read.elements if any(name.startswith("on") for name in attributes)]
    assert HOSTILE in read.texts["td"] and HOSTILE in read.texts["pre"]


def test_the_page_loads_nothing_and_only_its_own_script_runs(make_page, steady):
    page = make_page(steady("tiled"))
    read = Reader(page)
    assert not re.findall(r"@import|url\(|https?://(?!www\.w3\.org/)", page)
    assert not [tag for tag, attributes in read.elements if {"src", "srcset", "action"} & set(attributes)]
    assert all(each["href"].startswith("#") for each in read.named("a"))
    (script,) = read.texts["script"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = (each["content"] for each in read.named("meta") if "http-equiv" in each)
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "connect-src" not in policy


def test_a_thousand_rows_stay_below_two_megabytes(make_page, steady):
    launch = {"grid": [64, 64, 1], "block": [16, 16, 1], "registers": 128, "shared_static": 16384}
    config = {"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 64, "TM": 8, "TN": 8}

    def tile(number):
        size, changed = 1024 + 64 * (number % 10), {**config, "SPLIT": number}
        return steady("sgemm_schedule", 1 + number % 97, size=size, config=changed, **launch)

    bases = [steady("cublas", size=1024 + 64 * number) for number in range(10)]
    page = make_page(*map(tile, range(990)), *bases)
    assert sum("data-status" in each for each in Reader(page).named("tr")) == 1000
    assert len(page.encode()) < 2e6


def test_the_reference_run_is_compared_unpaired(compare, steady):
    now = compare(steady("tiled", 0.5), steady("cublas"))
    before = compare(steady("tiled"), steady("cublas"), run="earlier")
    read = Reader(render_page([now], before))
    assert "Reference: earlier (Fake GPU). Run: 20260101-120000-quick-abcd (Fake GPU)." in read.texts["p"]
    assert any("Unpaired" in text for text in read.texts["li"])
    assert "differences" in ids_of(read)


def test_several_runs_share_a_page(compare, steady):
    read = Reader(render_page([compare(steady("tiled")), compare(steady("naive"), sweep="tiles", device="Other GPU")]))
    assert read.texts["h1"] == ["quick on Fake GPU", "tiles on Other GPU"]
    assert len([each for each in read.named("table") if each.get("class") == "rows"]) == 2


def test_transfers_have_a_table_of_their_own(make_run):
    good = {"order": 1.0, "config": {}, "backend": "fake", "problem": Problem(64, 64, 64)}
    right = TransferRecord(variant="tiled", mode="pinned", status="ok", samples=[1e-3], rounds=[0], blocks=[0], **good)
    failed = TransferRecord(variant="tiled", mode="pageable", status="failed", reason="it broke", **good)
    run = make_run()
    rounds = {"rounds": [*range(10)], "blocks": [number // 2 for number in range(10)]}
    panels, streams = (
        msgspec.structs.replace(right, variant=name, mode=name, samples=[seconds] * 10, h2d_bytes=1, **rounds)
        for name, seconds in (("panels", 5e-4), ("overlapped", 5.01e-4))
    )
    run.transfers += [right, failed, panels, streams]
    read = Reader(render_page([compare_rows(run)]))
    assert {"pinned", "pageable"} <= set(read.texts["td"])
    assert "panels, panels or overlapped, overlapped" in read.texts["b"]  # 0.2 % apart
    assert "it broke" in read.texts["span"]
    assert "Failed" in read.texts["h2"]


def test_failed_rows_have_a_section_before_the_charts_and_skipped_ones_after_the_rows(make_page, steady, make_record):
    skipped = make_record("fused", status="skipped", reason="needs a GPU")
    assert ids_of(Reader(make_page(steady("tiled"), skipped))) == [
        "summary",
        "charts",
        "rows",
        "skipped",
        "environment",
    ]
    wrong = make_record("naive", status="wrong", reason="C[0][0] = 4")
    read = Reader(make_page(steady("tiled"), skipped, wrong))
    assert ids_of(read)[:3] == ["summary", "failures", "charts"] and "skipped" in ids_of(read)


def test_the_summary_has_a_card_for_each_way_in_which_a_kernel_failed(make_page, steady, make_record):
    wrong = [make_record("naive", size=size, status="wrong", reason="C = 4") for size in (64, 65)]
    page = make_page(
        steady("tiled"), *wrong, make_record("naive", status="failed", reason="it broke", config={"TILE": 8})
    )
    summary = page[page.index('id="summary"') : page.index('id="failures"')]
    assert summary.index('class="fastest failed"') < summary.index("<b>tiled</b>")
    assert [summary.count(text) for text in ("C = 4", "it broke", "and 1 other row")] == [1, 1, 1]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"device": "Other GPU"}, "different devices, Fake GPU and Other GPU"),
        ({"uuid": "GPU-b"}, "2 cards of one model, Fake GPU"),
        ({"uuid": "GPU-a"}, ""),
    ],
)
def test_a_notice_says_that_the_runs_are_from_different_cards(compare, steady, changed, words):
    one, other = compare(steady("tiled"), uuid="GPU-a"), compare(steady("tiled"), **changed)
    for page in (render_page([one, other]), render_page([one], other)):
        assert ('class="notice"' in page) == bool(words) and words in page


@pytest.mark.parametrize(("milliseconds", "unit"), [(1, "TFLOPS"), (4, "GFLOPS")])
def test_all_speeds_of_a_page_have_one_unit(make_page, steady, milliseconds, unit):
    times = {"tiled": milliseconds, "cublas": 2 * milliseconds}
    rows = [steady(name, time, size=size) for name, time in times.items() for size in (1024, 2048)]
    read = Reader(make_page(*rows, flops_per_cycle={}, bandwidth=0.0))
    other = {"TFLOPS": "GFLOPS", "GFLOPS": "TFLOPS"}[unit]
    tips = [each.get("data-tip", "") for each in read.named("g")]
    shown = [*read.texts["span"], *read.texts["button"], *read.texts["text"], *tips]
    assert any(unit in text for text in shown) and not any(other in text for text in shown)


def test_figures_have_thousands_separators_and_names_of_sizes_have_none(make_page, steady):
    read = Reader(make_page(steady("tiled", 12345.678, size=4096), steady("cublas", 12345, size=4096)))
    assert any(text.startswith("12,34") for text in read.texts["td"])
    assert not any(re.search(r"(?<![.\d])\d{4,}", text) for text in read.texts["td"] if "nn" not in text)
    assert "4096 nn f32" in read.texts["span"]


def test_charts_are_drawn_if_the_runs_hold_data_for_them(make_page, steady):
    read = Reader(make_page(*(steady(name, size=size) for name in ("tiled", "cublas") for size in (64, 128))))
    assert "charts" in ids_of(read)
    assert read.named("figure") and len(read.named("svg")) == 2 * len(read.named("figure"))
    assert any("tiled at 128" in attributes.get("data-tip", "") for attributes in read.named("g"))
