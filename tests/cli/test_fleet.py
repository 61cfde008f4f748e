"""--fleet on the command line: what it refuses."""

import pytest

from gemmbench.bench.workers import connection

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def test_a_scheduler_that_does_not_answer_is_named(refused, monkeypatch):
    monkeypatch.setattr(connection, "_CONNECTING_SECONDS", 0.2)
    said = refused("run", "naive", "--device", "fake", "--fleet", "tcp://127.0.0.1:9", code=3)
    assert said.startswith("no Dask scheduler answers at tcp://127.0.0.1:9") and "use --fleet local" in said


@pytest.mark.parametrize(("protocol", "message"), [("tls", "set the certificates for tls"), ("ucx", "another package")])
def test_a_protocol_for_which_dask_lacks_something_is_refused_at_once(refused, protocol, message):
    address = f"{protocol}://127.0.0.1:9"
    assert message in refused("run", "naive", "--device", "fake", "--fleet", address, code=3)


@pytest.mark.parametrize("fleet", ["everywhere", "tcp://host:99999"])
def test_a_fleet_that_cannot_be_parsed_is_a_usage_error(refused, fleet):
    assert f"cannot parse --fleet {fleet}" in refused("run", "naive", "--device", "fake", "--fleet", fleet)


@pytest.mark.parametrize("call", ["verify naive --sanitize", "mlp --digit 7", "run naive --with-transfers"])
def test_what_needs_one_device_refuses_a_fleet(refused, call):
    assert "uses one device; leave out --fleet" in refused(*call.split(), "--fleet", "local", "--device", "fake")
