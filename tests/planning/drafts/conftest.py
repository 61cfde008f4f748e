"""Drafts of manifests for code that a test writes."""

import pytest
import yaml

from gemmbench.planning.drafts.draft import draft_manifest


@pytest.fixture
def draft(tmp_path):
    """The keys of the draft for a text, and the lines of the draft that are marked."""

    def read(text, symbol=None, name="theirs.cuh"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
        written = draft_manifest(text, path, path.parent, symbol).text
        return yaml.safe_load(written), [line for line in written.splitlines() if "# check" in line]

    return read
