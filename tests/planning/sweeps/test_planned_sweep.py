"""A sweep planned for the devices there are: baseline, variants in ladder order, plans."""

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.sweeps.overrides import SweepOverrides
from gemmbench.planning.sweeps.planned_sweep import AvailableDevices, plan_sweep

GPU = Target("cuda", 90, 132, 227 << 10, 50 << 20, 80 << 30)
HOST = Target("cpu", 0, 8, 1 << 20, 1 << 20, 8 << 30)  # as a GPU, so that the config's `on_cpu` stays out of it


@pytest.fixture
def plan(write_kernel, make_variant):
    """Plan two kernels and a library that needs a GPU; returns a function of the overrides."""
    folder = write_kernel("late.cu", order="9").parent
    write_kernel("early.cu", order="1")
    catalog = Catalog([folder], [make_variant("cublas", kind="library", devices=("cuda",), order=50)])

    def make(*variants, targets=(HOST, GPU), compare=False, **overrides):
        available = {target.kind: target for target in targets}
        devices = AvailableDevices(targets[-1].kind, available, "early", lambda *_: "")
        return plan_sweep("quick", SweepOverrides(variants, sizes="16", **overrides), catalog, devices, compare)

    return make


def names(planned):
    return [plan.variant.name for plan in planned.plans]


def test_the_baseline_joins_the_variants_in_ladder_order(plan):
    planned = plan("late", "early")
    assert (names(planned), planned.sweep.baseline) == (["early", "late", "cublas"], "cublas")
    assert (planned.devices, planned.skips) == (["cuda"], [])


def test_a_baseline_that_cannot_run_here_gives_way_to_the_default(plan):
    assert plan("late", targets=[HOST]).sweep.baseline == "early"


def test_an_explicit_baseline_that_cannot_run_here_is_refused(plan):
    with pytest.raises(UsageError, match="baseline cublas needs a GPU; use --baseline early"):
        plan("late", targets=[HOST], baseline="cublas")


def test_compared_variants_are_rivals(plan):
    assert plan("late", "early", compare=True).sweep.rivals == ("late", "early")


def test_what_cannot_run_is_skipped_with_its_reason(plan):
    (skip,) = plan("late", "early", precisions="f64", baseline="early").skips[:1]
    assert "precision f64" in skip.reason


def test_a_parameter_that_no_variant_has_is_refused(plan):
    with pytest.raises(UsageError, match="parameter 'X'"):
        plan("late", params=("X=1",))


@pytest.mark.parametrize(
    ("precisions", "baseline"),
    [("f32", "cublas"), ("bf16", "cublaslt"), ("f32,bf16", "cublaslt")],
)
def test_the_first_library_with_every_precision_is_the_baseline(write_kernel, make_variant, precisions, baseline):
    folder = write_kernel("late.cu", precisions="[f32, bf16]").parent
    libraries = [
        make_variant("cublas", kind="library", devices=("cuda",), order=50),
        make_variant("cublaslt", kind="library", devices=("cuda",), order=60, precisions=("f32", "bf16")),
        make_variant("openblas", kind="library", devices=("cpu",), order=40, precisions=("f32", "bf16")),
    ]
    devices = AvailableDevices("cuda", {"cuda": GPU, "cpu": HOST}, "cublas", lambda *_: "")
    options = SweepOverrides(("late",), sizes="16", precisions=precisions)  # the config names cublas
    assert plan_sweep("quick", options, Catalog([folder], libraries), devices).sweep.baseline == baseline
    explicit = SweepOverrides(("late",), sizes="16", precisions=precisions, baseline="cublas")
    assert plan_sweep("quick", explicit, Catalog([folder], libraries), devices).sweep.baseline == "cublas"
