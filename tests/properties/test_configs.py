"""Damaged config files: each is planned, or refused in one line."""

import msgspec
from hypothesis import event, given
from hypothesis import strategies as st

from gemmbench.planning.files import data_folder
from gemmbench.planning.network_sweeps import NetworkModel, NetworkPostModel, NetworkRowModel
from gemmbench.planning.sweeps.policy import MeasureModel
from gemmbench.planning.sweeps.published_post import PostModel, PostRowModel, PublishedModel
from gemmbench.planning.sweeps.sweep import SweepModel

CONFIGS = sorted(data_folder("configs").rglob("*.yaml"))
MODELS = (SweepModel, NetworkModel, MeasureModel, PostModel, PostRowModel, PublishedModel, NetworkRowModel)
KEYS = [field.name for model in (*MODELS, NetworkPostModel) for field in msgspec.structs.fields(model)]
KEYS += ["M", "BM", "TILE", "naive", "<<", ""]
SWEEPS = [
    ["run", "--dry-run", "--device", "fake"],
    ["run", "--dry-run", "--device", "cpu"],
    ["compare", "naive", "tiled", "--dry-run", "--device", "fake"],
    ["run", "naive", "--device", "fake", "--sizes", "8", "--rounds", "2", "--cache", "hot", "--max-time", "0.01"],
]
NETWORKS = [["mlp", "--dry-run", "--device", "fake"], ["mlp", "naive", "--dry-run", "--device", "cpu", "--batch", "8"]]


@given(data=st.data())
def test_a_damaged_config_is_planned_or_refused_in_one_line(tmp_path, run_command, damage_text, data):
    original = data.draw(st.sampled_from(CONFIGS)).read_text()
    damaged = damage_text(data.draw, original, KEYS)
    (tmp_path / "x.yaml").write_bytes(damaged.encode(errors="surrogatepass"))
    usual, other = (NETWORKS, SWEEPS) if "layers:" in original else (SWEEPS, NETWORKS)
    command = data.draw(st.sampled_from(usual * 5 + other))
    event(f"{command[0]}: {run_command(*command, '-c', 'x.yaml')}")
