"""`gemmbench plot`: a chart of saved results."""

from xml.etree import ElementTree

import pytest

TITLE = "{http://www.w3.org/2000/svg}title"


def title_of(path):
    return ElementTree.parse(path).getroot().find(TITLE).text


@pytest.fixture
def sizes(run_naive, saved):
    """A results file with two variants at two sizes."""
    run_naive()
    return saved()[0]


@pytest.fixture
def ladder(run_three, saved):
    """A results file with three variants at one size."""
    run_three()
    return saved()[0]


def test_several_sizes_become_a_chart_of_speed(gemmbench, sizes, tmp_path):
    said = gemmbench("plot", sizes, "-o", "pictures/speed.svg")
    assert (said.code, said.out, said.err) == (0, "", "chart (speed): pictures/speed.svg\n")
    assert title_of(tmp_path / "pictures" / "speed.svg") == "Speed over matrix size"


def test_one_size_becomes_a_ladder(gemmbench, ladder, tmp_path):
    assert gemmbench("plot", ladder, "-o", "x.svg").err == "chart (ladder): x.svg\n"
    assert title_of(tmp_path / "x.svg") == "The ladder at 32"


def test_without_a_name_the_chart_lies_next_to_the_results_and_without_a_file_next_to_the_newest(gemmbench, ladder):
    path = ladder.with_name(f"{ladder.stem}-ladder.svg")
    assert gemmbench("plot", ladder).err == f"chart (ladder): {path}\n" and path.is_file()
    assert gemmbench("plot").err == f"chart (ladder): results/{path.name}\n"


@pytest.mark.usefixtures("few_shapes")
def test_without_a_file_the_search_is_that_of_the_newest_tune(gemmbench, script):
    options = ("--device", script(), "--sizes", "16", "--rounds", "4", "--cache", "hot")
    gemmbench("run", "naive", *options)
    assert "no results files of gemmbench tune in results" in gemmbench("plot", "--kind", "search").err
    gemmbench("tune", "tiled", *options)
    gemmbench("run", "naive", *options)
    assert gemmbench("plot", "--kind", "search").err.startswith("chart (search): results/")


def test_a_kind_and_its_choices_can_be_given(gemmbench, sizes, tmp_path):
    said = gemmbench("plot", sizes, "--kind", "ladder", "--size", "24", "--highlight", "naive", "-o", "x.svg")
    assert (said.code, title_of(tmp_path / "x.svg")) == (0, "The ladder at 24")
    gemmbench("plot", sizes, "--percent", "--variant", "naive", "--title", "Mine", "-o", "x.svg")
    assert title_of(tmp_path / "x.svg") == "Mine"
    assert "% of cublas" in (tmp_path / "x.svg").read_text(encoding="utf-8")


def test_several_files_share_a_chart(gemmbench, sizes, tmp_path):
    later = tmp_path / "later.jsonl"
    later.write_text(sizes.read_text().replace('"started":"', '"started":"3', 1).replace('"run":"', '"run":"later-', 1))
    assert gemmbench("plot", sizes, later, "-o", "x.svg").code == 0
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert ">naive, 2" in drawn and ">naive, 3" in drawn  # with the dates of their runs


def test_a_row_that_is_wrong_is_counted_in_the_chart_and_not_drawn(gemmbench, run_three, saved, tmp_path):
    run_three(faults={"tiled": "unwritten"})
    said = gemmbench("plot", saved()[0], "-o", "x.svg")
    assert (said.code, said.err) == (0, "chart (ladder): x.svg\n")
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert ">tiled<" not in drawn and ">Not drawn: 1 row that is not ranked (1 wrong).<" in drawn


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "x.svg"], "--out x.svg: no such folder of results; to write the file, give -o x.svg"),
        (["-o", "x.png"], "x.png: unknown format '.png'; charts are written as SVG, so end the name in .svg"),
        (["-o", "x"], "x: no suffix; charts are written as SVG, so end the name in .svg"),
        (
            ["--kind", "speed"],
            "speed over size needs correct results at two or more square sizes, but there is only 32",
        ),
        (["--kind", "transfers"], "nothing to draw: the results contain no transfers"),
        (["--kind", "ladder", "--x", "BM"], "the chart 'ladder' has no choice 'x'; it has highlight, layout"),
        (["--variant", "tild"], "no row of 'tild' to draw (did you mean 'tiled'?)"),
        (
            ["--size", "64"],
            "nothing to draw: no row matches the choices; the results contain these problems: 32 nn f32",
        ),
        (["--x", "BM"], "'BM' does not vary for naive"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_leaves_no_file(gemmbench, ladder, tmp_path, arguments, words):
    output = [] if "-o" in arguments else ["-o", "x.svg"]
    said = gemmbench("plot", ladder, *arguments, *output)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"gemmbench: {words}")
    assert not list(tmp_path.glob("x*"))


def test_files_that_cannot_be_read_are_refused(refused, tmp_path):
    (tmp_path / "notes.txt").write_text("hello\n")
    assert refused("plot", "notes.txt", "-o", "x.svg").startswith("notes.txt:1: not a gemmbench results file")
    assert refused("plot", "gone.jsonl", "-o", "x.svg").startswith("gone.jsonl: no such file")
    assert refused("plot").startswith("no results files in results")


def test_a_file_that_cannot_be_written_is_refused(gemmbench, ladder):
    said = gemmbench("plot", ladder, "-o", ladder / "x.svg")
    assert said.code == 2 and "cannot write" in said.err


def test_a_cut_file_is_drawn_with_a_warning(gemmbench, ladder):
    ladder.write_bytes(ladder.read_bytes()[:-20])
    said = gemmbench("plot", ladder, "-o", "x.svg")
    assert said.code == 0 and "the last line is cut off" in said.err
