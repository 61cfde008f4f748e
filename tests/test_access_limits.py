"""The limits that manifests of cuda/ set on accesses, counted on the CPU: true, tight, and there for every kernel."""

import pytest

from gemmbench.analysis.accesses import find_broken_access_limits, name_access_values
from gemmbench.analysis.sass_facts import explain_limit
from gemmbench.backends import registry
from gemmbench.errors import PlanError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sizes import read_sizes
from gemmbench.planning.sweeps.run_request import Selection
from gemmbench.session.access_counts import describe_counting_machine, explain_uncountable
from gemmbench.session.machine import open_catalog
from gemmbench.session.single_kernel import plan_kernel

CATALOG = open_catalog(None)
NAMES = [name for name in CATALOG.names if CATALOG.get(name).path]
SIZE = "256"
NO_KERNEL = "is not a kernel that gemmbench launches itself"
NETWORK, PICKS = "computes a network", "picks other kernels"
TMA, NEWER, PTX = "needs a GPU with TMA", "needs a GPU of sm_80", "needs a GPU: it uses instructions"
UNCOUNTED = {
    **dict.fromkeys(["cpu_naive", "cpu_naive_k_outer", "cutlass_simt", "cutlass_sm90"], NO_KERNEL),
    **dict.fromkeys(["torch_grouped_mm", "torch_matmul", "torch_scaled_mm", "triton_matmul"], NO_KERNEL),
    **dict.fromkeys(["mlp_cluster", "mlp_fused"], NETWORK),
    **dict.fromkeys(["sgemm", "tgemm"], PICKS),
    **dict.fromkeys(["cp_async", "sgemm_persistent", "mma_stream", "mma_sync", "wmma"], NEWER),
    **dict.fromkeys(["sgemm_cp_async", "sgemm_schedule"], PTX),
    **dict.fromkeys(["sgemm_splitk", "sgemm_tma", "wgmma", "wgmma_3xtf32", "wgmma_cluster", "wgmma_fp8"], TMA),
    **dict.fromkeys(["wgmma_fp8_blocks", "wgmma_hybrid", "wgmma_ring", "wgmma_splitk"], TMA),
    **dict.fromkeys(["wgmma_grouped", "wgmma_tf32", "wgmma_wave"], TMA),
}
"""Kernels without limits, and why their accesses cannot be counted on a CPU."""


def plan(name, layout):
    request = Selection((name,), read_sizes(SIZE), layouts=(layout,))
    (item,) = plan_kernel(request, CATALOG.get(name), describe_counting_machine())
    return item


def explain_uncounted(name):
    """Why the accesses of a kernel cannot be counted; "" if they can be."""
    variant = CATALOG.get(name)
    if variant.picks:
        return PICKS
    if reason := explain_uncountable(variant):
        return reason
    item = plan(name, variant.layouts[0])
    if not isinstance(item, Plan):
        return item.reason
    try:
        registry.make_watcher(60).count(item)
    except PlanError as fault:
        return str(fault)
    return ""


@pytest.mark.parametrize("name", sorted(UNCOUNTED))
def test_a_kernel_without_limits_cannot_be_counted(name):
    assert explain_uncounted(name).startswith(UNCOUNTED[name])
    assert not CATALOG.get(name).accesses


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(UNCOUNTED)))
def test_each_kernel_has_limits_which_are_true_and_tight(name):
    variant = CATALOG.get(name)
    for layout in dict.fromkeys((variant.layouts[0], variant.layouts[-1])):
        item = plan(name, layout)
        counts = registry.make_watcher(60).count(item)
        assert find_broken_access_limits(item, counts) == []
        if layout == variant.layouts[0]:
            found = name_access_values(item, counts)
            uses_shared = any(each.is_shared for each in counts.accesses)
            for limited in ["load_sectors", "store_sectors", *(["conflicts"] if uses_shared else [])]:
                more = found | {limited: found[limited] + 1}
                assert any(explain_limit(limit, more) for limit in variant.accesses), f"{limited} may grow"
