"""A sweep planned for the devices there are: baseline, variants in ladder order, plans."""

from dataclasses import replace

import pytest

from gemmbench.errors import DeviceError, UsageError
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.sweeps.planned_sweep import AvailableDevices, adapt_to_files, expand_sweep
from gemmbench.planning.sweeps.run_request import make_request
from gemmbench.planning.sweeps.sweep import read_sweep


@pytest.fixture
def host(cpu):
    """A CPU that is planned for as a GPU, so that the config's `on_cpu` stays out of it."""
    return replace(cpu, is_gpu=True)


@pytest.fixture
def plan(write_kernel, make_variant, gpu, host):
    """Plan kernels and libraries at size 16; the config names cublas as its baseline."""
    folder = write_kernel("late.cu", order="9", precisions="[f32, bf16]").parent
    write_kernel("early.cu", order="1")
    of_gpu, both = {"kind": "library", "devices": ("cuda",)}, ("f32", "bf16")
    libraries = [
        make_variant("cublas", **of_gpu, order=50),
        make_variant("cublaslt", **of_gpu, order=60, precisions=both),
        make_variant("openblas", kind="library", devices=("cpu",), order=40, precisions=both),
    ]
    catalog = Catalog([folder], libraries)

    def make(*variants, targets=(host, gpu), **overrides):
        available = {target.kind: target for target in targets}
        devices = AvailableDevices(targets[-1].kind, available, "early", lambda *_: "")
        request = make_request(variants=variants, sizes="16", **overrides)
        explicit = request.selection.baseline is not None
        return expand_sweep(read_sweep(request, devices.on_cpu), explicit, catalog, devices)

    return make


def test_the_baseline_joins_the_variants_in_ladder_order(plan):
    planned = plan("late", "early")
    assert [each.variant.name for each in planned.plans] == ["early", "late", "cublas"]
    assert (planned.sweep.baseline, planned.devices, planned.skips) == ("cublas", ["cuda"], [])


def test_a_baseline_that_cannot_run_here_gives_way_to_the_default_unless_it_was_chosen(plan, host):
    assert plan("late", targets=[host]).sweep.baseline == "early"
    with pytest.raises(DeviceError, match="baseline cublas needs a GPU; use --baseline early"):
        plan("late", targets=[host], baseline="cublas")


def test_no_baseline_is_advised_that_lacks_the_precision(plan, host):
    with pytest.raises(DeviceError, match="baseline cublas needs a GPU; leave out --baseline"):
        plan("late", targets=[host], baseline="cublas", precisions="f64")


def test_what_cannot_run_is_skipped_with_its_reason(plan):
    (skip,) = plan("late", "early", precisions="f64", baseline="early").skips[:1]
    assert "precision f64" in skip.reason


def test_a_parameter_that_no_variant_has_is_refused(plan):
    with pytest.raises(UsageError, match="parameter 'X'"):
        plan("late", params=("X=1",))


@pytest.mark.parametrize(
    ("precisions", "baseline"), [("f32", "cublas"), ("bf16", "cublaslt"), ("f32,bf16", "cublaslt")]
)
def test_the_first_library_with_every_precision_is_the_baseline_unless_one_was_chosen(plan, precisions, baseline):
    assert plan("late", precisions=precisions).sweep.baseline == baseline
    assert plan("late", precisions=precisions, baseline="cublas").sweep.baseline == "cublas"


@pytest.mark.parametrize(
    ("key", "problems"), [("", ("nn", "bf16")), ("layouts: [tn]", ("tn", "bf16")), ("precisions: [f64]", ("nn", "f64"))]
)
def test_a_config_without_layouts_and_precisions_gets_those_of_the_named_file(write_kernel, tmp_path, key, problems):
    path = write_kernel("mine.cu", precisions="[bf16]", layouts="[nn]")
    config = tmp_path / "mine.yaml"
    config.write_text(f"sizes: [16]\nvariants: [naive]\n{key}\n", encoding="utf-8")
    request = make_request(config=str(config), variants=[str(path)])
    sweep = adapt_to_files(read_sweep(request, False), request.selection, Catalog([path.parent], []))
    assert [(each.layout, each.precision_name) for each in sweep.problems] == [problems]
