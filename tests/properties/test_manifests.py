"""Damaged manifests: each is planned, or refused in one line at its place."""

import re
import shutil
from pathlib import Path

import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from gemmbench.backends import registry
from gemmbench.backends.cpu.translation import translation_unit
from gemmbench.backends.sources import compiler_text
from gemmbench.errors import SpecError
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.manifest_model import Manifest
from gemmbench.planning.manifests.sections import LaunchFields, PickFields, TensorMapFields
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.plans.configurations import count_configurations, list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Target
from gemmbench.planning.problems import LAYOUTS, Problem

KERNELS = sorted(path for path in data_folder("cuda").rglob("*.cu"))
FOREIGN = Path(__file__).resolve().parents[1] / "foreign"
DESCRIBED = [FOREIGN / f"kernels/{name}.yaml" for name in ("added", "column", "product", "scaled", "template")]
FUNCTIONS = sorted(FOREIGN.glob("python/*.py"))
MODELS = (Manifest, LaunchFields, TensorMapFields, PickFields)
KEYS = [field.encode_name for model in MODELS for field in msgspec.structs.fields(model)]
KEYS += ["BM", "TILE", "x", "<<", ""]
TARGETS = {
    "cuda": Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36),
    "cpu": Target("cpu", sm=0, sms=2, smem=48 << 10, l2=32 << 20, memory=1 << 32, is_gpu=False, has_graphs=False),
}
FEW = ["--sizes", "8", "--rounds", "2", "--cache", "hot", "--max-time", "0.01", "--out", "out"]
COMMANDS = [
    ["run", "x", "--dry-run", "--device", "fake", "--sizes", "64x48x33,8"],
    ["run", "x", "--dry-run", "--device", "fake", "--param", "all"],
    ["run", "x", "--device", "fake", *FEW],
    ["compare", "x", "naive", "--device", "fake", *FEW],
    ["verify", "x", "--device", "fake", "--sizes", "8"],
    ["mlp", "x", "--device", "fake", "--dry-run"],
    ["inspect", "x"],
]


@pytest.fixture
def write(tmp_path, damage_text):
    """Write a kernel with a damaged manifest, and seldom a damaged body."""

    def damage(draw):
        text = draw(st.sampled_from(KERNELS)).read_text()
        head, end, body = text.partition("---*/\n")
        damaged = damage_text(draw, head, KEYS) + end + body
        path = tmp_path / "kernels" / draw(st.sampled_from(["x.cu", "x.cu", "x.cu", "x.cpp"]))
        path.parent.mkdir(exist_ok=True)
        for old in path.parent.iterdir():
            old.unlink()
        path.write_bytes(damaged.encode(errors="surrogatepass"))
        return path

    return damage


@given(data=st.data())
def test_a_damaged_manifest_is_planned_or_refused_at_its_place(write, data):
    path = write(data.draw)
    try:
        variant = Catalog([data_folder("cuda"), path.parent]).get("x")
    except SpecError as fault:
        event(re.sub(r"\d+", "0", fault.fault)[:40])
        assert str(fault).count("\n") == 0 and fault.location
        return
    assert 0 <= count_configurations(variant) <= 50_000
    event("read")
    configs = list_configurations(variant, {ALL: ()})
    some = [configs[0], configs[-1], configs[data.draw(st.integers(0, len(configs) - 1))]]
    sizes = st.sampled_from([1, 8, 17, 4096, 2**31 - 1])
    precision, layout = data.draw(st.sampled_from(variant.precisions)), data.draw(st.sampled_from(LAYOUTS))
    problem = Problem(*(data.draw(sizes) for _ in range(3)), layout, precision)
    primary = data.draw(st.sampled_from([*TARGETS]))
    for plan in make_plans([problem], [(variant, some)], primary, TARGETS, registry.why_refused):
        assert hash(plan) and repr(plan)
        if isinstance(plan, Plan):
            assert compiler_text(plan) and plan.symbols
            assert plan.device != "cpu" or translation_unit(plan)


@given(data=st.data())
def test_commands_run_it_or_refuse_it(write, run_command, data):
    write(data.draw)
    command = data.draw(st.sampled_from(COMMANDS))
    event(f"{command[0]}: {run_command(*command, '--kernels', 'kernels')}")


@pytest.mark.parametrize("path", ["x.yaml", "x.py"])
@given(data=st.data())
def test_commands_run_or_refuse_one_in_a_file_of_its_own_or_in_a_docstring(
    tmp_path, run_command, damage_text, path, data
):
    folder = tmp_path / "kernels"
    if not folder.exists():
        folder.mkdir()
        for name in ("code", "headers"):
            shutil.copytree(FOREIGN / "kernels" / name, folder / name)
        (folder / "y.yaml").write_text((FOREIGN / "kernels" / "template.yaml").read_text())
    original = data.draw(st.sampled_from(DESCRIBED if path == "x.yaml" else FUNCTIONS)).read_text()
    head, end, body = original.partition('"""\n\n') if path == "x.py" else (original, "", "")
    damaged = damage_text(data.draw, head, KEYS) + end
    damaged += damage_text(data.draw, body, ["def"]) if body and data.draw(st.integers(0, 3)) == 0 else body
    (folder / path).write_bytes(damaged.encode(errors="surrogatepass"))
    command = data.draw(st.sampled_from([*COMMANDS, ["list"]]))
    event(f"{path}: {command[0]}: {run_command(*command, '--kernels', 'kernels')}")
