"""CUTLASS as a peer: planned anywhere, skipped where its headers or its GPU are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemmbench.backends import registry, sources
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Target
from gemmbench.planning.problems import LAYOUTS, Problem

CATALOG = Catalog([Path(__file__).parents[3] / "cuda" / "peers"])
H200 = Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36)
A100 = Target("cuda", sm=80, sms=108, smem=163 << 10, l2=40 << 20, memory=1 << 36)


def plan(name, problem, target=H200, params=None, refuses=lambda *_: ""):
    variant = CATALOG.get(name)
    configs = list_configurations(variant, params or {})
    return make_plans([problem], [(variant, configs)], "cuda", {"cuda": target}, refuses)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cutlass_on_cuda_cores_takes_any_size(layout):
    (found,) = plan("cutlass_simt", Problem(33, 65, 17, layout))
    assert isinstance(found, Plan) and (found.arch, found.variant.call.host) == ("90", "run")


@pytest.mark.parametrize(
    ("size", "layout", "needs"),
    [
        ((64, 63, 64), "nt", "N % 8 == 0"),
        ((64, 64, 63), "nn", "lda % 8 == 0"),
        ((63, 64, 64), "tn", "lda % 8 == 0"),
        ((64, 64, 63), "tt", "ldb % 8 == 0"),
    ],
)
def test_rows_that_tma_cannot_copy_are_skipped(size, layout, needs):
    (found,) = plan("cutlass_sm90", Problem(*size, layout, "bf16"))
    assert found.reason.startswith(f"require {needs}")


def test_its_configurations_fit_its_registers_and_schedules():
    found = plan("cutlass_sm90", Problem(512, 512, 512, precision_name="bf16"), params={ALL: ()})
    kept = [dict(each.config.values) for each in found if isinstance(each, Plan)]
    assert len(kept) == 18
    assert {(each["BM"], each["BN"]) for each in kept if each["PINGPONG"]} == {(128, 128), (64, 256), (64, 128)}
    assert {(each["BM"], each["BN"]) for each in kept if not each["PINGPONG"]} == {(128, 256), (256, 128), (128, 128)}


def test_other_gpus_skip_what_is_written_for_hopper():
    (found,) = plan("cutlass_sm90", Problem(512, 512, 512, precision_name="bf16"), A100)
    assert found.reason == "is written only for sm_90a, but the device is sm_80"
    (found,) = plan("cutlass_simt", Problem(512, 512, 512), A100)
    assert isinstance(found, Plan) and found.arch == "80"


def test_without_the_wheel_the_row_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(sources, "find_header_folder", lambda name: None)
    (found,) = plan("cutlass_simt", Problem(64, 64, 64), refuses=registry.why_refused)
    assert "pip install --no-deps nvidia-cutlass" in found.reason
