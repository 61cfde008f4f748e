"""Each manifest of kernels/ ends in its row on the CPU device."""

from pathlib import Path

import pytest
import yaml

from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.problems import Problem

FOLDER = Path(__file__).parent
EXPECTED = yaml.safe_load((FOLDER / "expected.yaml").read_text())
ROWS = {name: {**row, **row.get("cpu", {})} for name, row in EXPECTED.items() if row["status"] != "refused"}
REFUSED = {name: row for name, row in EXPECTED.items() if row["status"] == "refused"}


def test_every_manifest_has_an_expected_row_and_a_refused_one_costs_no_other_variant():
    catalog = Catalog([FOLDER / "kernels"])  # code that a manifest describes is no variant of its own
    assert sorted(catalog.names) == sorted(EXPECTED)
    variants, faults = catalog.read_all()
    assert len(faults) == len(REFUSED) and {variant.name for variant in variants} == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_each_kernel_ends_in_its_row(verify, read, name):
    wanted = ROWS[name]
    for layout in read(name).layouts:
        for record in verify(name, layout):
            assert record.status == wanted["status"], record.reason
            assert wanted.get("words", "") in record.reason
            assert record.diagnosis == wanted.get("diagnosis", "")


@pytest.mark.parametrize("name", REFUSED)
def test_a_faulty_manifest_is_refused_with_its_line(read, name):
    with pytest.raises(SpecError) as caught:
        read(name)
    assert REFUSED[name]["words"] in str(caught.value)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        *((name, {"alpha": 1.5, "beta": -0.5}) for name in ("column", "template", "scaled", "own")),
        ("template", {"precision": "f64"}),
    ],
)
def test_alpha_and_beta_arrive_and_a_template_is_instantiated_for_each_type(verify, name, problem):
    assert {record.status for record in verify(name, **problem)} == {"ok"}


def test_a_kernel_that_reads_c_says_so(verify):
    assert [record.reads_c for record in verify("scaled")] == [True]
    assert not any(record.reads_c for record in verify("column"))


def test_a_kernel_without_alpha_and_beta_is_left_out_where_they_matter(plan):
    (skip,) = plan("product", Problem(8, 8, 8, alpha=2.0, beta=1.0))
    assert skip.reason == "takes only alpha 1 and beta 0: its `args` has no such argument"


def test_column_major_layouts_are_those_of_the_kernel(read):
    assert read("column_nt").layouts == ("tn",)


def test_a_path_is_a_variant_if_there_is_a_file(verify, monkeypatch):
    monkeypatch.chdir(FOLDER)
    assert {record.status for record in verify("./kernels/own.cu")} == {"ok"}
    (record, *_) = verify(str(FOLDER / "kernels" / "column.yaml"))
    assert record.status == "ok" and record.variant == str(FOLDER / "kernels" / "column.yaml")
    with pytest.raises(UsageError, match=r"no such file: \./mine\.cu"):
        Catalog([]).get("./mine.cu")
