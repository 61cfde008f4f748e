"""Reads the config of a network into a sweep, and plans the launches of each of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from gemmbench.errors import UsageError
from gemmbench.planning.files import display_path, is_file
from gemmbench.planning.manifests.variant import Params, Variant
from gemmbench.planning.networks import PRECISIONS, Network, make_network
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans, plan_network
from gemmbench.planning.plans.plan import GRAPH, Chain, Config, Plan, Skip, Target
from gemmbench.planning.plans.skip_reasons import Refusal, choose_backend
from gemmbench.planning.precisions import resolve_precision
from gemmbench.planning.sweeps.policy import ConfigReader, MeasureModel, Policy, make_policy
from gemmbench.planning.sweeps.published_post import ColumnKind, Post
from gemmbench.planning.sweeps.run_request import RunRequest, Selection
from gemmbench.planning.sweeps.sweep import apply_on_cpu, find_config, name_config, read_document

_RANDOM = "random"


class NetworkRowModel(msgspec.Struct, forbid_unknown_fields=True):
    """One row: a variant or `variant+graph`, its parameters, and its name and time in a post.

    Attributes:
        variant: A kernel or library, or `NAME+graph` to replay its launches as one CUDA graph.
        label: The name of the row in the table.
        params: The values of its parameters.
        published_ms: The time that a post published for it, in milliseconds, for the batch of the
            config.
        step: Whether the row is one step after the nearest row above that is not a correction.
        corrects: Whether the row is the corrected kernel of the row above.
    """

    variant: str
    label: str = ""
    params: dict[str, Any] = {}
    published_ms: float | int | None = None
    step: bool = False
    corrects: bool = False


class NetworkPostModel(msgspec.Struct, forbid_unknown_fields=True):
    """The key `post`: the post that the table is from. The rows of the table are the network's rows.

    Attributes:
        title: The title of the post.
        source: The address of the post.
        gpu: The GPU that the post used.
        columns: The headings of the post, as in a sweep.
        note: A line below the table.
    """

    title: str
    source: str
    gpu: str = ""
    columns: dict[str, ColumnKind] = {}
    note: str = ""


class NetworkModel(msgspec.Struct, forbid_unknown_fields=True):
    """The keys in the config file of a network.

    Attributes:
        layers: Layers as inputs x outputs, such as `[784x100, 100x10]`.
        activations: `linear` or `relu` for each layer; the last may have `softmax`.
        rows: Names of kernels and libraries, or rows with the keys below.
        batch: The number of rows in the input.
        precision: `f32`, `f16` or `bf16`, in which inputs, parameters and the outputs of layers are stored.
        summary: One line about the network.
        weights: A `.npz` file with W1, b1, W2, ... next to the config (W is inputs x outputs), or
            `random`.
        baseline: The row that counts as 1. The default is the library with a graph, if there is one.
        post: The post that the network is from.
        measure: How to measure, as in a sweep.
        on_cpu: Keys that replace those above if kernels run on the CPU.
    """

    layers: list[str]
    activations: list[str]
    rows: list[str | NetworkRowModel]
    batch: int
    precision: str = PRECISIONS[0]
    summary: str = ""
    weights: str = _RANDOM
    baseline: str = ""
    post: NetworkPostModel | None = None
    measure: MeasureModel = msgspec.field(default_factory=MeasureModel)
    on_cpu: dict[str, Any] = {}


@dataclass(frozen=True)
class NetworkRowChoice:
    """One row of a run. With `graph`, its launches are recorded once and replayed as a graph.

    `line` is the line in the config file; None for a row from the command line.
    """

    variant: str
    graph: bool
    params: Params
    label: str = ""
    published_ms: float | None = None
    step: bool = False
    corrects: bool = False
    line: int | None = None

    @property
    def name(self) -> str:
        """The name of the variant, followed by `+graph` if it is replayed as a graph."""
        return self.variant + GRAPH * self.graph


@dataclass(frozen=True)
class NetworkSweep:
    """Everything that a run measures.

    `weights` is a file, or None for random weights. `baseline` may be empty. `post` has no rows of its own, because its
    rows are those of the network.
    """

    name: str
    network: Network
    weights: Path | None
    rows: tuple[NetworkRowChoice, ...]
    baseline: str
    policy: Policy
    location: str = ""
    post: Post | None = None


def read_network_sweep(
    request: RunRequest, on_cpu: bool, batch: int | None = None, weights: str | None = None
) -> NetworkSweep:
    """Read a config file and apply the changes that a request makes. The request's variants are names of rows.

    `batch` and `weights` replace the values in the config. Raises UsageError, or SpecError at a line.
    """
    path = find_config(request.config)
    document = read_document(path)
    if "layers" not in document.data:
        raise document.error_at((), "no `layers`: this is not a config file for a network; use gemmbench run -c")
    document, model = apply_on_cpu(document, NetworkModel, on_cpu)
    reader, selection = ConfigReader(document), request.selection
    return NetworkSweep(
        name=path.stem,
        network=_read_network(reader, model, batch, selection.precisions),
        weights=_find_weights(reader, model, path, weights),
        rows=_read_rows(selection, reader, model, batch),
        baseline=model.baseline if selection.baseline is None else selection.baseline,
        policy=make_policy(request.measuring, reader, model.measure, on_cpu),
        location=document.location,
        post=_make_post(model, name_config(path)),
    )


def _make_post(model: NetworkModel, config: str) -> Post | None:
    if model.post is None:
        return None
    post = model.post
    return Post(config, post.title, post.source, post.gpu, tuple(post.columns.items()), rows=(), note=post.note)


def read_network_post(name: str) -> Post | None:
    """Return the post that a network's config repeats; None if it repeats none. Raises UsageError or SpecError."""
    return read_network_sweep(RunRequest(config=name), on_cpu=False).post


def _read_network(
    reader: ConfigReader, model: NetworkModel, given: int | None, precisions: Sequence[str] = ()
) -> Network:
    if len(precisions) > 1:
        raise UsageError(f"precision: a network is computed in one, not in {', '.join(precisions)}; choose one")
    precision = resolve_precision(precisions[0] if precisions else model.precision)
    try:
        return make_network(model.layers, model.activations, model.batch if given is None else given, precision)
    except UsageError as fault:
        key, _, message = str(fault).partition(": ")
        if key == "precision" and precisions:
            raise
        if key == "batch" and given is not None:
            raise UsageError(f"--batch {given}: {message}") from None
        raise reader.document.error_at((key,), str(fault)) from None


def _find_weights(reader: ConfigReader, model: NetworkModel, config: Path, given: str | None) -> Path | None:
    """Find the weights file next to the config file, or at the path given on the command line.

    Raises UsageError or SpecError.
    """

    def find(name: str) -> Path | None:
        path = Path(given) if given else config.parent / name
        if name == _RANDOM or is_file(path):
            return None if name == _RANDOM else path
        advice = f"give a .npz file with W1, b1, W2, ..., or write `{_RANDOM}`"
        raise UsageError(f"weights: no file {display_path(path)}; {advice}")

    return find(given) if given is not None else reader.check(("weights",), find, model.weights)


def _read_rows(
    selection: Selection, reader: ConfigReader, model: NetworkModel, batch: int | None
) -> tuple[NetworkRowChoice, ...]:
    written = [NetworkRowModel(row) if isinstance(row, str) else row for row in model.rows]
    listed = [_read_row(reader, index, row) for index, row in enumerate(written)]
    if names := selection.variants:
        known = {row.name: row for row in reversed(listed)}
        rows = [replace(known.get(name) or _make_row(name), line=None) for name in names]
    else:
        rows = listed
    if not rows:
        raise UsageError("no kernels given; name some, such as [tiled, cublas, mlp_fused]")
    params = selection.params
    if batch not in (None, model.batch):
        rows = [replace(row, published_ms=None) for row in rows]  # published for the batch of the config
    return tuple({row.name: replace(row, params={**row.params, **params}) for row in rows}.values())


def _read_row(reader: ConfigReader, index: int, written: NetworkRowModel) -> NetworkRowChoice:
    params = reader.read_params(("rows", index, "params"), written.params)
    published = None if written.published_ms is None else float(written.published_ms)
    line = reader.document.line(("rows", index))
    row = _make_row(written.variant)
    row = replace(row, params=params, label=written.label, published_ms=published, line=line)
    return replace(row, step=written.step, corrects=written.corrects)


def _make_row(name: str) -> NetworkRowChoice:
    return NetworkRowChoice(name.removesuffix(GRAPH), name.endswith(GRAPH), {})


def plan_chains(
    network: Network,
    chosen: Sequence[tuple[NetworkRowChoice, Variant]],
    primary: str,
    targets: Mapping[str, Target],
    refuses: Refusal,
) -> list[Chain]:
    """Plan every row, in every configuration that it asks for, in order."""
    chains = []
    for order, (choice, variant) in enumerate(chosen):
        device = choose_backend(variant, primary, targets)
        planner = _Planner(network, targets, refuses, device)
        for config in list_configurations(variant, choice.params):
            planned = planner.plan_steps(variant, config, choice.graph)
            steps, reason = ((), planned) if isinstance(planned, str) else (planned, "")
            about = network, choice.label, choice.published_ms, choice.step, choice.corrects
            chain = Chain(variant, config, device, network.problem, order, steps, reason, choice.graph, *about)
            chains.append(chain)
    return chains


@dataclass(frozen=True)
class _Planner:
    network: Network
    targets: Mapping[str, Target]
    refuses: Refusal
    device: str

    def plan_steps(self, variant: Variant, config: Config, graph: bool) -> tuple[Plan, ...] | str:
        """Return the steps of one row, or the reason why it cannot run."""
        target = self.targets.get(self.device)
        if graph and target and not target.has_graphs:
            return "a graph needs an NVIDIA GPU, but this row runs on the CPU"
        if variant.computes == "mlp":
            whole = plan_network(self.network, variant, config, self.device, target, self.refuses)
            return whole.reason if isinstance(whole, Skip) else (whole,)
        if variant.is_python:
            return "is a Python function, which computes one GEMM and not a network"
        steps: list[Plan] = []
        for index in range(self.network.layers):
            planned = self._plan_layer(index, variant, config)
            if isinstance(planned, Skip):
                return f"layer {index + 1}: {planned.reason}"
            steps += planned
        return tuple(steps)

    def _plan_layer(self, index: int, variant: Variant, config: Config) -> list[Plan] | Skip:
        """Plan the GEMM of a layer with as much of the epilogue as the variant offers, and a pass for the rest."""
        problem, chosen = self.network.layer(index), [(variant, [config])]
        (planned,) = make_plans([problem], chosen, self.device, self.targets, self.refuses)
        return planned if isinstance(planned, Skip) else [planned, *planned.passes]
