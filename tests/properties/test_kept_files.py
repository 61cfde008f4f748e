"""Damaged files that gemmbench keeps, winners and facts of compiled code: read, built again, or refused in one line."""

import json

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from gemmbench.backends.base import Build
from gemmbench.backends.code_cache import content_key, fetch_or_build, read_intact

FEW = ["--device", "fake", "--sizes", "8", "--rounds", "2", "--max-time", "0.01", "--cache", "hot"]
COMMANDS = [
    ["tune", "--show"],
    ["tune", "--forget", "tiled"],
    ["tune", "--export", "x.json"],
    ["run", "tiled", "--tuned"],
]
VALUES = [
    "",
    "null",
    "-1",
    "1e999",
    "1e-320",
    "NaN",
    '"x"',
    "[]",
    "{}",
    "9" * 400,
    '"\\ud800"',
    "[" * 20_000,
    '"\\u001b"',
]
parts = st.sampled_from(VALUES).map(str.encode) | st.binary(max_size=6)


@st.composite
def damaged(draw, content):
    """Bytes with something put in or taken out, in places or at values.

    What is drawn does not depend on the content, which has times in it.
    """
    for _ in range(draw(st.integers(1, 3))):
        at, count, part = draw(st.integers(0, 10**6)), draw(st.integers(0, 3)), draw(parts)
        starts, ends = draw(st.booleans()), draw(st.booleans())
        places = [place + 1 for place, each in enumerate(content) if not starts or each in b":[,"] or [0]
        begin = places[at % len(places)]
        closing = [place for place in range(begin, len(content)) if ends and content[place] in b",}]"]
        content = content[:begin] + part + content[closing[0] if closing else begin + count :]
    return content


@pytest.fixture
def kept(run_command, tmp_path, monkeypatch):
    """A file with a winner."""
    monkeypatch.setenv("GEMMBENCH_DATA_DIR", str(tmp_path))
    run_command("tune", "tiled", "--out", "out", *FEW)
    return tmp_path / "tuned.json", (tmp_path / "tuned.json").read_bytes()


@given(data=st.data())
def test_damaged_winners_are_shown_or_refused(kept, run_command, data):
    path, content = kept
    path.write_bytes(data.draw(damaged(content)))
    command = data.draw(st.sampled_from(COMMANDS))
    event(f"{command[:2]}: {run_command(*command, *(FEW if command[0] == 'run' else []))}")


@given(data=st.data())
def test_damaged_facts_are_built_again(tmp_path, monkeypatch, data):
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))

    def build(path):
        path.write_bytes(b"code")
        return Build(shared=7)

    code = fetch_or_build(content_key(["x"]), ".kernel", build).path
    facts = next(path for path in (tmp_path / "cache").rglob("*.json"))
    content = facts.read_bytes()
    facts.write_bytes(data.draw(damaged(content)))
    assert fetch_or_build(content_key(["x"]), ".kernel", build).path == code
    assert (
        json.loads(facts.read_bytes()) is not None and read_intact(facts.parent / code.rpartition("/")[2]) is not None
    )
