"""JSON schemas of the files that users write, manifests and configs, for their editors.

The keys and their types come from the models, and the descriptions from the docstrings of the models.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from gemmbench.planning.manifests.manifest_model import Manifest
from gemmbench.planning.manifests.variant import COMPUTES, EPILOGUES
from gemmbench.planning.network_sweeps import NetworkModel
from gemmbench.planning.precisions import CLASSES, PRECISIONS, SYNONYMS
from gemmbench.planning.problems import LAYOUTS
from gemmbench.planning.sweeps.sweep import SweepModel
from gemmbench.planning.yaml_document import find_structs

Schema = dict[str, Any]

_DIALECT = "http://json-schema.org/draft-07/schema#"
_REFERENCES = "#/$defs/{name}"
_WORDS: Mapping[str, tuple[str, ...]] = {
    "precisions": (*PRECISIONS, *SYNONYMS),
    "layouts": LAYOUTS,
    "computes": COMPUTES,
    "epilogue": EPILOGUES,
    "class": tuple(CLASSES),
}
"""The words that a key accepts although its type is only `str`."""


def write_schema(kind: str) -> str:
    """Return the JSON schema of a kind of file, one of SCHEMAS, as text."""
    return json.dumps({"$schema": _DIALECT, **SCHEMAS[kind]()}, indent=2) + "\n"


def _make_manifest_schema() -> Schema:
    return {"title": "gemmbench manifest", "$ref": "#/$defs/Manifest", "$defs": _describe_models(Manifest)}


def _make_config_schema() -> Schema:
    """Return the schema of a config. A config with `layers` describes a network, any other one a sweep."""
    return {
        "title": "gemmbench config",
        "if": {"required": ["layers"]},
        "then": {"$ref": "#/$defs/NetworkModel"},
        "else": {"$ref": "#/$defs/SweepModel"},
        "$defs": {**_describe_models(SweepModel), **_describe_models(NetworkModel)},
    }


SCHEMAS: Mapping[str, Callable[[], Schema]] = {"manifest": _make_manifest_schema, "config": _make_config_schema}
"""The kinds of files that have a schema, each with the function that makes it."""


def _describe_models(root: type[msgspec.Struct]) -> Schema:
    """Return the schemas of a model and of all models inside it by name."""
    _, components = msgspec.json.schema_components([root], ref_template=_REFERENCES)
    for model in _list_models(root):
        _describe_model(components[model.__name__], model)
    return components


def _list_models(model: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    yield model
    for field in msgspec.structs.fields(model):
        for inside in find_structs(field.type):
            yield from _list_models(inside)


def _describe_model(schema: Schema, model: type[msgspec.Struct]) -> None:
    """Shorten a model's description to the first line of its docstring, and describe each of its keys."""
    schema["description"] = (inspect.getdoc(model) or "").partition("\n")[0]
    meanings = read_attributes(model)
    for key, written in schema["properties"].items():
        if "$ref" not in written:  # where keys next to it count for nothing
            written["description"] = meanings.get(key, "")
            _list_words(key, written)
            _allow_single(written)
        if key == "on_cpu":
            written["propertyNames"] = {"enum": list(schema["properties"])}


def _list_words(key: str, written: Schema) -> None:
    """Add the words that a key accepts to the schema of a word or of a list of words."""
    item = written.get("items", written)
    if key in _WORDS and item.get("type") == "string":
        item["enum"] = [*_WORDS[key], *([written["default"]] if written.get("default") == "" else [])]


def _allow_single(written: Schema) -> None:
    """Allow a single word instead of a list of words, since YAML files may have either."""
    item = written.get("items", {})
    if "string" in [each.get("type") for each in (item, *item.get("anyOf", ()))]:
        written["type"] = ["array", "string"]


def read_attributes(model: type) -> dict[str, str]:
    """Read the section `Attributes:` of a model's docstring, which explains each name."""
    _, _, text = (inspect.getdoc(model) or "").partition("Attributes:\n")
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    return {name: " ".join(meaning.split()) for name, meaning in found}
