"""From a config file, with the command line's changes, to a Sweep."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from gemmbench.errors import UsageError
from gemmbench.planning import yaml_document as yamlfile
from gemmbench.planning.manifests.variant import ALL, Params
from gemmbench.planning.paths import data_folder
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.problems.sizes import Shape, parse_sizes
from gemmbench.planning.sweeps.config_file import find_config, name_of, read_document, settled
from gemmbench.planning.sweeps.options import Options
from gemmbench.planning.sweeps.parsing import chosen_layouts, chosen_params, chosen_precisions
from gemmbench.planning.sweeps.policy import MeasureModel, Policy, make_policy
from gemmbench.planning.sweeps.post import Post, PostModel
from gemmbench.planning.sweeps.sweep import Choice, Sweep


class SweepModel(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a config, as they are written."""

    variants: list[str | dict[str, Any]] = []
    summary: str = ""
    sizes: list[int | str] = []
    shapes: list[list[int]] = []
    axes: dict[str, list[int]] = {}
    precisions: list[str] = msgspec.field(default_factory=lambda: ["f32"])
    layouts: list[str] = msgspec.field(default_factory=lambda: ["nn"])
    alpha: int | float = 1
    beta: int | float = 0
    params: dict[str, Any] | str = {}
    baseline: str = ""
    measure: MeasureModel = msgspec.field(default_factory=MeasureModel)
    on_cpu: dict[str, Any] = {}
    post: PostModel | None = None


def read_sweep(name: str, options: Options, on_cpu: bool) -> Sweep:
    """Read a config and apply the command line. Raises UsageError or SpecError."""
    path = find_config(name)
    document = read_document(path)
    if "layers" in document.data:
        raise document.fault(("layers",), "`layers`: this is the config of a network; gemmbench mlp -c reads it")
    document, model = settled(document, SweepModel, on_cpu)
    return _Builder(document, model, options, name_of(path)).sweep(path.stem)


def known_posts() -> list[str]:
    """Names of the configs that repeat a post, in order."""
    home = data_folder("configs")
    return sorted(f"posts/{path.stem}" for path in (home / "posts").glob("*.yaml"))


def read_post(name: str) -> Post | None:
    """The post of a config, or None if it repeats none. Raises UsageError or SpecError."""
    return read_sweep(name, Options(), on_cpu=False).post


def named_sweep(names: tuple[str, ...], base: str, options: Options, on_cpu: bool) -> Sweep:
    """The sweep `base` on the named variants alone, under the name `compare`."""
    sweep = read_sweep(base, replace(options, variants=names), on_cpu)
    return replace(sweep, name="compare", rivals=names)


class _Builder:
    """Builds one Sweep; a fault names the option, or the line of the config."""

    def __init__(self, document: yamlfile.Document, model: SweepModel, options: Options, config: str):
        self.document, self.model, self.options, self.config = document, model, options, config

    def sweep(self, name: str) -> Sweep:
        self.post = self.read_post()
        choices = self.choices()
        if not choices:
            raise UsageError(f"{self.document.place}: no variants; add `variants: [tiled]`")
        problems = tuple(problem for problem in self.problems() if any(choice.fits(problem) for choice in choices))
        baseline, line = self.baseline()
        return Sweep(name, problems, choices, baseline, self.policy(), self.document.place, line, self.post)

    def read_post(self) -> Post | None:
        if self.model.post is None:
            return None
        try:
            post = Post.of(self.model.post, self.config)
        except UsageError as fault:
            raise self.document.fault(("post",), f"post: {fault}") from None
        # Other sizes were asked for: every row runs on all of them.
        anywhere = self.options.sizes is not None
        return replace(post, rows=tuple(replace(row, shapes=()) for row in post.rows)) if anywhere else post

    def own(self, key: str, check: Callable[[Any], Any]) -> Any:
        """Check a value of the command line, or of the config, whose line a fault then names."""
        asked = getattr(self.options, key)
        if asked is not None:
            return check(asked)
        within = key in MeasureModel.__struct_fields__
        path: yamlfile.Path = ("measure", key) if within else (key,)
        written = getattr(self.model.measure if within else self.model, key)
        if isinstance(written, list) and written:
            return list(dict.fromkeys(self.at((*path, index), check, [item])[0] for index, item in enumerate(written)))
        return self.at(path, check, written)

    def baseline(self) -> tuple[str, int | None]:
        if self.options.baseline is not None:
            return self.options.baseline, None
        return self.model.baseline, self.document.line(("baseline",))

    def problems(self) -> tuple[Problem, ...]:
        alpha, beta = (self.own(name, partial(_finite, name)) for name in ("alpha", "beta"))
        combinations = itertools.product(self.precisions(), self.layouts(), self.shapes())
        return tuple(
            Problem(*shape, layout=layout, precision_name=kind, alpha=float(alpha), beta=float(beta))
            for kind, layout, shape in combinations
        )

    def precisions(self) -> list[str]:
        rows = self.post.rows if self.post and not self.options.precisions else ()
        return list(dict.fromkeys(row.precision for row in rows)) or self.own("precisions", chosen_precisions)

    def layouts(self) -> list[str]:
        rows = self.post.rows if self.post and not self.options.layouts else ()
        return list(dict.fromkeys(row.layout for row in rows)) or self.own("layouts", chosen_layouts)

    def shapes(self) -> list[Shape]:
        if self.options.sizes is not None:
            found = parse_sizes(self.options.sizes)
        else:
            found = [*self.listed_sizes(), *self.listed_shapes(), *self.axes()]
        if not found:
            raise UsageError(f"{self.document.place}: no sizes, shapes or axes; add `sizes: [1024]`")
        return list(dict.fromkeys(found))

    def listed_sizes(self) -> list[Shape]:
        found: list[Shape] = []
        for index, item in enumerate(self.model.sizes):
            found += self.at(("sizes", index), parse_sizes, item)
        return found

    def listed_shapes(self) -> list[Shape]:
        found: list[Shape] = []
        for index, item in enumerate(self.model.shapes):
            if len(item) != 3:
                raise self.document.fault(("shapes", index), f"shapes: {item} should be [M, N, K]")
            found += self.at(("shapes", index), parse_sizes, "x".join(map(str, item)))
        return found

    def axes(self) -> list[Shape]:
        axes = self.model.axes
        if not axes:
            return []
        if set(axes) != set("MNK"):
            raise self.document.fault(("axes",), f"axes: has {', '.join(axes)}; give M, N and K")
        texts = ("x".join(map(str, shape)) for shape in itertools.product(axes["M"], axes["N"], axes["K"]))
        return [shape for text in texts for shape in self.at(("axes",), parse_sizes, text)]

    def at(self, path: yamlfile.Path, check: Callable[[Any], Any], value: Any) -> Any:
        """Check a value of the config; a fault names its line."""
        try:
            return check(value)
        except UsageError as fault:
            raise self.document.fault(path, str(fault)) from None

    def choices(self) -> tuple[Choice, ...]:
        common = self.params()
        if self.post is not None and not common:
            return tuple(self.row_choices(self.post))
        if self.options.variants:
            return tuple(Choice(name, common) for name in dict.fromkeys(self.options.variants))
        return tuple(self.choice(index, item, common) for index, item in enumerate(self.model.variants))

    def row_choices(self, post: Post) -> Iterator[Choice]:
        for index, row in enumerate(post.rows):
            if not self.options.variants or row.variant in self.options.variants:
                line = self.document.line(("post", "rows", index))
                yield Choice(row.variant, {name: (value,) for name, value in row.config}, True, line, row)

    def choice(self, index: int, item: str | dict[str, Any], common: Params) -> Choice:
        path: yamlfile.Path = ("variants", index)
        if isinstance(item, str):
            return Choice(item, common, False, self.document.line(path))
        if len(item) != 1:
            raise self.document.fault(path, "variants: write `- name` or `- name: {PARAMETER: [values]}`")
        ((name, own),) = item.items()
        params = common if self.options.params else self.values((*path, name), own)
        return Choice(name, params, params is not common, self.document.line((*path, name)))

    def params(self) -> Params:
        if not self.options.params:
            return self.values(("params",), self.model.params)
        return chosen_params(self.options.params)

    def values(self, path: yamlfile.Path, written: dict[str, Any] | str) -> Params:
        if written == ALL:
            return {ALL: ()}
        if not isinstance(written, dict):
            raise self.document.fault(path, f"{path[0]}: '{written}' should be `all` or names with values")
        found: dict[str, tuple[int, ...]] = {}
        for name, values in written.items():
            values = values if isinstance(values, list) else [values]
            if not values or any(type(value) is not int for value in values):
                raise self.document.fault((*path, name), f"{name}: {values} should be integers, such as [64, 128]")
            found[name] = tuple(dict.fromkeys(values))
        return found

    def policy(self) -> Policy:
        return make_policy(self.own, self.options.gate)


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise UsageError(f"{name}: {value} is not finite; give a number such as 1 or -0.5")
    return float(value)
