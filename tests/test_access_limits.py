"""The limits that manifests of cuda/ set on accesses, counted on the CPU."""

import pytest

from gemmbench.analysis.accesses import find_broken_access_limits
from gemmbench.backends import registry
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sizes import read_sizes
from gemmbench.planning.sweeps.overrides import Selection
from gemmbench.session.machine import describe_local, open_catalog
from gemmbench.session.single_kernel import plan_kernel

CATALOG = open_catalog(None)
LIMITED = [name for name in CATALOG.names if CATALOG.get(name).accesses]


def test_the_rungs_of_the_ladder_have_limits():
    assert {"naive", "tiled", "blocktile_2d"} <= set(LIMITED)


@pytest.mark.parametrize("name", LIMITED)
def test_no_kernel_asks_for_more_than_its_manifest_allows(name):
    request = Selection((name,), read_sizes(256))
    machine = describe_local(registry.choose_device("cpu"))
    (plan,) = plan_kernel(request, CATALOG.get(name), machine)
    assert isinstance(plan, Plan)
    assert find_broken_access_limits(plan, registry.make_watcher(60).count(plan)) == []
