"""What is measured on a GPU now is of today's code, and names the card."""

import pytest

import gemmbench
from gemmbench.backends.cuda.system import probe
from gemmbench.bench.origin import describe_origin
from gemmbench.bench.record import Environment
from tools.citations import cite_run
from tools.page import ROOT, Page

pytestmark = pytest.mark.filterwarnings("default")  # pycuda and nvmath may warn as they are imported


@pytest.fixture(scope="module")
def result():
    if why := probe.why_no_gpu():
        pytest.skip(why)
    names = ("tiled", "sgemm", "sgemm_small", "cublas")
    return gemmbench.run(names, sizes="64,4x3000x500,1000,2048", rounds=2, device="cuda", out=None)


def test_no_row_of_a_new_run_has_earlier_code(result):
    assert result.ok
    citation = cite_run(Page(ROOT / "docs" / "page.md", {}), result.comparison, result.records)
    assert (citation.earlier, citation.unchecked, citation.old_method) == ((), False, False)
    assert {record.variant for record in result.records if record.code} == {"tiled", "sgemm", "sgemm_small"}


def test_the_origin_of_a_text_names_the_card_of_a_run(result):
    found: Environment = result.environment
    origin = describe_origin(["tiled"])
    assert (origin.card, origin.tree, origin.revision) == (found.device, found.tree, found.revision)
    assert f"driver {found.software['driver']}" in origin.software
