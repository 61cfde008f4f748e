"""The JSON schemas of manifests and configs agree with the files and with the readers."""

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator

from gemmbench.planning.json_schemas import SCHEMAS, write_schema

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))
KERNELS = sorted(path for path in (ROOT / "cuda").rglob("*") if path.suffix in (".cu", ".cpp"))
VALIDATORS = {kind: Draft7Validator(json.loads(write_schema(kind))) for kind in SCHEMAS}


def name(path):
    return str(path.relative_to(ROOT))


def faults(kind, data):
    return [fault.message for fault in VALIDATORS[kind].iter_errors(data)]


@pytest.mark.parametrize("path", CONFIGS, ids=name)
def test_a_shipped_config_fits_its_schema_and_names_it(path):
    text = path.read_text(encoding="utf-8")
    assert faults("config", yaml.safe_load(text)) == []
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
    assert named and (path.parent / named[1]).read_text(encoding="utf-8") == write_schema("config")


@pytest.mark.parametrize("path", KERNELS, ids=name)
def test_a_shipped_manifest_fits_its_schema(path):
    header = path.read_text(encoding="utf-8").split("/*---\n")[1].split("---*/")[0]
    assert faults("manifest", yaml.safe_load(header)) == []


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_valid_and_describes_every_key(kind):
    schema = json.loads(write_schema(kind))
    Draft7Validator.check_schema(schema)
    for model in schema["$defs"].values():
        silent = [key for key, field in model["properties"].items() if not field.get("description", "$ref" in field)]
        assert model["description"] and silent == [], model["title"]


@pytest.mark.parametrize(
    ("kind", "changes", "fault"),
    [
        ("manifest", {"symbl": "gemm"}, "'symbl' was unexpected"),
        ("manifest", {"precisions": ["f33"]}, "'f33' is not one of"),
        ("manifest", {"class": "bf16x9"}, "'bf16x9' is not one of"),
        ("manifest", {"tensor_maps": [{"operand": "A"}]}, "'box' is a required property"),
        ("config", {"measure": {"cache": "warm"}}, "'warm' is not valid under any"),
        ("config", {"on_cpu": {"size": [128]}}, "'size' is not one of"),
        ("config", {"layers": ["784x100"]}, "'activations' is a required property"),
    ],
)
def test_a_fault_is_found(kind, changes, fault):
    written = {"summary": "", "order": 1, "precisions": ["f32"], "layouts": ["nn"]} if kind == "manifest" else {}
    assert faults(kind, written) == []
    assert any(fault in message for message in faults(kind, {**written, **changes}))
