"""The origin of a text or table, written above it as lines of the form `# key: value`.

A results file has the same facts in its header instead; see gemmbench.bench.record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timezone

from gemmbench.backends import registry
from gemmbench.backends.code_hash import hash_code, hash_file
from gemmbench.bench.experiments.batch import METHOD
from gemmbench.errors import DeviceError
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.source_tree import identify_sources


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where figures come from: the card, or what takes its place, the sources, and a hash of each kernel or file.

    `software` holds the versions of the driver and the toolkit. `date` is in ISO 8601 format. `revision`, `tree` and
    `method` have the same meaning as in the header of a results file.
    """

    card: str
    software: str
    date: str
    revision: str
    tree: str
    method: int
    code: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        texts = {each.name: getattr(self, each.name) for each in fields(self)}
        texts["code"] = ", ".join(f"{name} {text}" for name, text in self.code.items())
        return "".join(f"# {name}: {text}\n" for name, text in texts.items())


def describe_origin(kernels: Iterable[str] = (), card: str = "") -> Origin:
    """Return the origin of figures that are being measured now, on this GPU or on `card`.

    `kernels` lists names of kernels in cuda/ or files such as benchmarks/hierarchy.cu. Unknown ones are left out.
    Raises UsageError if $GEMMBENCH_REVISION names other sources.
    """
    folder = data_folder("cuda")
    sources, catalog = identify_sources(), Catalog([folder])
    try:
        device = registry.describe_machine(registry.choose_device("cuda")).primary
        software, found = ", ".join(f"{name} {version}" for name, version in device.software.items()), device.name
    except DeviceError:
        software, found = "", "no GPU"
    hashes = {
        name: hash_code(catalog.get(name)) if name in catalog.names else hash_file(folder.parent / name)
        for name in kernels
    }
    return Origin(
        card=card or found,
        software=software,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        revision=sources.revision,
        tree=sources.tree,
        method=METHOD,
        code={name: text for name, text in hashes.items() if text},
    )


_HEADER = re.compile("".join(rf"^# {each.name}: (?P<{each.name}>.*)\n" for each in fields(Origin)), re.MULTILINE)


def split_origins(text: str) -> list[tuple[Origin | None, str]]:
    """Split a text into parts, each with the origin written above it, or None."""
    found = list(_HEADER.finditer(text))
    starts = [each.start() for each in found]
    before = text[: starts[0] if starts else None]
    below = [text[each.end() : end] for each, end in zip(found, [*starts[1:], None], strict=False)]
    headed: list[tuple[Origin | None, str]] = list(zip(map(_parse_header, found), below, strict=True))
    return [(None, before), *headed] if before or not found else headed


def _parse_header(found: re.Match[str]) -> Origin:
    texts = found.groupdict()
    code = dict(each.split(" ", 1) for each in texts.pop("code").split(", ") if each)
    return Origin(method=int(texts.pop("method")), code=code, **texts)
