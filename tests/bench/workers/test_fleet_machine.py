"""The machine of a fleet: its workers say what they can run, and Python measures on it too."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

import gemmbench
from gemmbench.backends import registry
from gemmbench.errors import UsageError
from gemmbench.session import machine as session_machine

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def test_the_workers_say_what_they_cannot_run(open_fleet, make_variant, monkeypatch):
    with open_fleet() as machine:
        lacking = SimpleNamespace(why_refused=lambda variant: "a package is missing")
        monkeypatch.setattr(registry, "find_entry", lambda name: lacking)  # on this host
        assert registry.why_refused(make_variant("naive"), "fake") == "a package is missing"
        assert machine.why_refused(make_variant("naive"), "fake") == ""
        hopper = make_variant("hopper", arch=("90a",))
        assert machine.why_refused(hopper, "cpu").startswith("on the workers: ")


def test_python_measures_on_a_fleet(cluster):
    options = {"sizes": [8, 9], "device": "fake", "fleet": cluster, "progress": False}
    run = gemmbench.run("naive", baseline="tiled", rounds=2, out=None, **options)
    assert [record.status for record in run.records] == ["ok"] * 4
    assert all("on " in record.card for record in run.records)
    assert gemmbench.verify("naive", layout="nn", precision="f32", **options).ok


def test_python_measures_on_one_kind_of_card(monkeypatch):
    machines = [SimpleNamespace(primary=SimpleNamespace(name=name)) for name in ("H100", "H200")]
    monkeypatch.setattr(session_machine, "open_machines", lambda *_: nullcontext(machines))
    with pytest.raises(UsageError, match="several kinds of cards, H100, H200"):
        gemmbench.verify("naive", device="fake", fleet="local")
