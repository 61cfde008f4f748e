"""What --fleet names."""

import pytest

from gemmbench.bench.workers.connection import FleetAddress, parse_fleet
from gemmbench.errors import UsageError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("local", FleetAddress()),
        ("local:4", FleetAddress(count=4)),
        ("tcp://node:8786", FleetAddress("tcp://node:8786")),
        ("tls://10.0.0.1:8786", FleetAddress("tls://10.0.0.1:8786")),
    ],
)
def test_a_fleet_is_local_or_a_scheduler(text, address):
    assert parse_fleet(text) == address


@pytest.mark.parametrize("text", ["", "local:0", "local:x", "node:8786", "tcp://node", "http://node:80"])
def test_anything_else_is_refused_with_examples(text):
    with pytest.raises(UsageError, match="write local, local:4 or the address of a scheduler"):
        parse_fleet(text)
