"""The lines above a text that say whose figures it has."""

from dataclasses import replace

from gemmbench.backends import registry
from gemmbench.backends.code_hash import hash_code, hash_file
from gemmbench.bench import origin
from gemmbench.bench.experiments.batch import METHOD
from gemmbench.bench.origin import Origin, describe_origin, split_origins
from gemmbench.errors import DeviceError
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.source_tree import identify_sources


def test_an_origin_names_card_driver_date_sources_method_and_code(monkeypatch):
    machine = registry.describe_machine(registry.choose_device("fake"))
    monkeypatch.setattr(origin.registry, "choose_device", lambda _: machine.choice)
    found = describe_origin(["tiled", "cublas", "sgemm"])
    assert (found.card, found.software, found.method) == ("Fake GPU", "driver 1.0", METHOD)
    assert (found.revision, found.tree) == (identify_sources().revision, identify_sources().tree) and found.tree
    assert found.date.endswith("+00:00")
    catalog = Catalog([data_folder("cuda")])
    assert found.code == {name: hash_code(catalog.get(name)) for name in ("tiled", "sgemm")}


def test_files_of_kernels_are_named_by_their_paths():
    name = "benchmarks/hierarchy.cu"
    assert describe_origin([name, "benchmarks/gone.cu"]).code == {name: hash_file(data_folder("cuda").parent / name)}


def test_without_a_gpu_the_card_is_what_the_caller_says(monkeypatch):
    def fail(_):
        raise DeviceError("no GPU")

    monkeypatch.setattr(origin.registry, "choose_device", fail)
    assert (describe_origin().card, describe_origin().software) == ("no GPU", "")
    assert describe_origin(card="compiled for sm_90").card == "compiled for sm_90"


ONE = Origin(card="A, 1", software="driver 1", date="2026-01-01", revision="", tree="", method=4, code={"a": "1"})


def test_a_text_is_split_at_its_origins():
    two = replace(ONE, revision="abc+", tree="def", code={})
    assert split_origins("text\n") == [(None, "text\n")]
    assert split_origins(f"{ONE}text\n# more: of it\n") == [(ONE, "text\n# more: of it\n")]
    assert split_origins(f"old\n{ONE}first\n{two}") == [(None, "old\n"), (ONE, "first\n"), (two, "")]
