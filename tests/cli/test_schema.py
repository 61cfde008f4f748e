"""`gemmbench schema`: a JSON schema on stdout."""

import json

import pytest


@pytest.mark.parametrize(("kind", "model"), [("manifest", "Manifest"), ("config", "SweepModel")])
def test_it_prints_the_schema_of_a_kind_of_file(gemmbench, kind, model):
    said = gemmbench("schema", kind)
    assert (said.code, said.err) == (0, "")
    assert "summary" in json.loads(said.out)["$defs"][model]["properties"]


def test_an_unknown_kind_is_a_usage_error_that_names_the_kinds(gemmbench):
    said = gemmbench("schema", "results")
    assert said.code == 2 and "'manifest', 'config'" in said.err
