"""What `gemmbench mlp` is asked: a network and the rows that compute it, from a config and the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from gemmbench.errors import UsageError
from gemmbench.planning import yaml_document as yamlfile
from gemmbench.planning.manifests.variant import Params
from gemmbench.planning.networks.network import Network, network
from gemmbench.planning.paths import shown
from gemmbench.planning.plans.chain import GRAPH
from gemmbench.planning.sweeps.config_file import find_config, read_document, settled
from gemmbench.planning.sweeps.options import Options
from gemmbench.planning.sweeps.parsing import chosen_params
from gemmbench.planning.sweeps.policy import MeasureModel, Policy, make_policy

RANDOM = "random"


class RowModel(msgspec.Struct, forbid_unknown_fields=True):
    """One row: a variant, or `variant+graph`; its parameters; what a post calls and published for it."""

    variant: str
    label: str = ""
    params: dict[str, int | list[int]] = {}
    published_ms: float | int | None = None


class MlpModel(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a config of `gemmbench mlp`, as they are written."""

    layers: list[str]
    activations: list[str]
    rows: list[str | RowModel]
    batch: int
    summary: str = ""
    weights: str = RANDOM
    baseline: str = ""
    title: str = ""
    source: str = ""
    measure: MeasureModel = msgspec.field(default_factory=MeasureModel)
    on_cpu: dict[str, Any] = {}


@dataclass(frozen=True)
class RowChoice:
    """One row that is asked for; `graph`: its launches recorded once and replayed as one. `line` is the config's."""

    variant: str
    graph: bool
    params: Params
    label: str = ""
    published_ms: float | None = None
    line: int | None = None

    @property
    def name(self) -> str:
        """The variant's name, with `+graph` where it is one."""
        return self.variant + GRAPH * self.graph


@dataclass(frozen=True)
class MlpSweep:
    """Everything a run is asked for. `weights` is a file, or None for random ones; `baseline` may be empty.

    `title` is that of the post whose network this is, "" if there is none."""

    name: str
    network: Network
    weights: Path | None
    rows: tuple[RowChoice, ...]
    baseline: str
    policy: Policy
    place: str = ""
    title: str = ""


@dataclass
class MlpOptions(Options):
    """What the command line says; None or empty leaves the config's word. `variants` are names of rows."""

    batch: int | None = None
    weights: str | None = None


def read_mlp(name: str, options: MlpOptions, on_cpu: bool) -> MlpSweep:
    """Read a config and apply the command line. Raises UsageError, or SpecError at the line of the fault."""
    path = find_config(name)
    document = read_document(path)
    if "layers" not in document.data:
        raise document.fault((), "no `layers`: this is no config of a network; gemmbench run -c reads sweeps")
    document, model = settled(document, MlpModel, on_cpu)
    weights = _weights(document, model, path, options)
    rows = _rows(document, model, options)
    baseline = options.baseline if options.baseline is not None else model.baseline
    asked = _network(document, model, options)
    policy = _measuring(document, model, options)
    return MlpSweep(path.stem, asked, weights, rows, baseline, policy, document.place, model.title)


def _measuring(document: yamlfile.Document, model: MlpModel, options: MlpOptions) -> Policy:
    def own(key: str, check: Callable[[Any], Any]) -> Any:
        asked = getattr(options, key)
        if asked is not None:
            return check(asked)
        try:
            return check(getattr(model.measure, key))
        except UsageError as fault:
            raise document.fault(("measure", key), str(fault)) from None

    return make_policy(own, options.gate)


def _network(document: yamlfile.Document, model: MlpModel, options: MlpOptions) -> Network:
    batch = model.batch if options.batch is None else options.batch
    try:
        return network(model.layers, model.activations, batch)
    except UsageError as fault:
        key, _, message = str(fault).partition(": ")
        if key == "batch" and options.batch is not None:
            raise UsageError(f"--batch {options.batch}: {message}") from None
        raise document.fault((key,), str(fault)) from None


def _weights(document: yamlfile.Document, model: MlpModel, config: Path, options: MlpOptions) -> Path | None:
    """The weights file: beside the config, or where the command line says. Raises UsageError, SpecError."""
    chosen = options.weights or model.weights
    if chosen == RANDOM:
        return None
    path = Path(options.weights) if options.weights else config.parent / chosen
    if path.is_file():
        return path
    message = f"weights: no file {shown(path)}; name a .npz with W1, b1, W2, ..., or write `{RANDOM}`"
    raise UsageError(message) if options.weights else document.fault(("weights",), message)


def _rows(document: yamlfile.Document, model: MlpModel, options: MlpOptions) -> tuple[RowChoice, ...]:
    chosen = chosen_params(options.params)
    written = [RowModel(row) if isinstance(row, str) else row for row in model.rows]
    if options.variants:
        known = {row.variant: row for row in reversed(written)}
        found = [_row(known.get(name, RowModel(name)), chosen, None) for name in options.variants]
    else:
        found = [_row(row, chosen, document.line(("rows", index))) for index, row in enumerate(written)]
    if not found:
        raise UsageError("rows: none; name variants, such as [tiled, cublas, mlp_fused]")
    return tuple({row.name: row for row in found}.values())


def _row(model: RowModel, chosen: Params, line: int | None) -> RowChoice:
    own = {name: tuple(values) if isinstance(values, list) else (values,) for name, values in model.params.items()}
    published = None if model.published_ms is None else float(model.published_ms)
    variant, graph = model.variant.removesuffix(GRAPH), model.variant.endswith(GRAPH)
    return RowChoice(variant, graph, {**own, **chosen}, model.label, published, line)
