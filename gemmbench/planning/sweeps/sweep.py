"""Sweeps: what a run measures and how, read from a config file and changed by a request."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from gemmbench.errors import UsageError, nearest_or_all
from gemmbench.planning.files import data_folder, display_path, is_file, printable, read_text_file
from gemmbench.planning.manifests.variant import ALL, Params
from gemmbench.planning.problems import Problem, ProblemGrid, check_rows_of_result
from gemmbench.planning.sizes import (
    AnyShape,
    One,
    check_count,
    check_plans,
    check_shape,
    check_size,
    count_sizes,
    draw_groups,
    make_groups,
    make_shape,
    parse_sizes,
)
from gemmbench.planning.sweeps.policy import ConfigReader, MeasureModel, Policy, make_policy
from gemmbench.planning.sweeps.published_post import Post, PostModel, PostRow, make_post
from gemmbench.planning.sweeps.run_request import OPTIONS, RunRequest, Selection, parse_layouts, parse_precisions
from gemmbench.planning.yaml_document import Document, Model, parse_document

GROUPS_FORM = "a list of rows, such as [512, 0, 33], or {count, mean, skew, seed}"
"""What `groups` may be."""


class GroupsModel(msgspec.Struct, forbid_unknown_fields=True):
    """Groups with drawn numbers of rows.

    Attributes:
        count: The number of groups.
        mean: The mean number of rows.
        skew: How unequal they are: the standard deviation of the logarithms of their shares; 0 for equal groups.
        seed: The seed of the draw.
    """

    count: int
    mean: int
    skew: int | float = 0
    seed: int = 0


class SweepModel(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a config file.

    Attributes:
        variants: Names of kernels and libraries. `NAME: {BM: [64, 128]}` replaces the default of a parameter by
            these values, and `NAME: all` takes every configuration. A name may occur several times.
        summary: One line about the sweep.
        sizes: Sizes as on the command line: `1024` for a cube, `1024x768x512` for M x N x K, `512:4096:512` for
            a range, `64*512` for a batch of 64 products, `512+0+33x768x512` for groups of 512, 0 and 33 rows.
        shapes: Lists of M, N and K.
        axes: Values of M, N and K, and of `count`, the products of a batch. Every combination is measured.
        groups: The rows of each group, such as `[512, 0, 33]`, or `{count: 8, mean: 512, skew: 1, seed: 0}` to draw
            them, or a list of those. `[5]` is one product. With it, `axes` has N and K only.
        precisions: The precisions, such as `[f32, bf16]`.
        layouts: `nn`, `nt`, `tn`, `tt`.
        layouts_in_turn: `true`: the first shape has the first layout, the next one the next, and so on, instead of
            all combinations, which `--sizes` takes.
        alpha: C = alpha A B + beta C.
        beta: With 0, C is not read.
        epilogue: What follows the product, in turn, such as `[bias, gelu]`.
        ld: Elements that follow each stored row of an operand, such as `[A+8, B+8]`.
        separate_c: `true` to write the result to D and only read C.
        params: Values to try for every variant that has the parameter, such as `{TILE: [16, 32]}`,
            or `all`.
        baseline: The variant that counts as 100 %. The default is cublas on a GPU and openblas on a CPU. If
            that lacks a precision of the sweep, it is the first library that has them all, such as cublaslt for
            fp8.
        measure: How to measure, as described below.
        on_cpu: Keys that replace those above if kernels run on the CPU.
        post: The table of a post that this sweep repeats.
    """

    forms: ClassVar[Mapping[str, str]] = {"groups": GROUPS_FORM}
    variants: list[str | dict[str, Any]] = []
    summary: str = ""
    sizes: list[int | str] = []
    shapes: list[list[int]] = []
    axes: dict[str, list[int]] = {}
    groups: list[int | list[int] | GroupsModel] | GroupsModel = []
    precisions: list[str] = msgspec.field(default_factory=lambda: ["f32"])
    layouts: list[str] = msgspec.field(default_factory=lambda: ["nn"])
    layouts_in_turn: bool = False
    alpha: int | float = 1
    beta: int | float = 0
    epilogue: list[str] = []
    ld: list[str] = []
    separate_c: bool = False
    params: dict[str, Any] | str = {}
    baseline: str = ""
    measure: MeasureModel = msgspec.field(default_factory=MeasureModel)
    on_cpu: dict[str, Any] = {}
    post: PostModel | None = None


@dataclass(frozen=True)
class VariantChoice:
    """One variant of a sweep with the parameter values to try ({}: its default configuration).

    With `own`, the parameters were written for this variant only. `line` is the line in the config file; None for the
    command line. A choice that repeats a row of a post is measured only on the problems of that row.
    """

    name: str
    params: Params
    own: bool = field(default=False, compare=False)
    line: int | None = field(default=None, compare=False)
    row: PostRow | None = None

    def fits(self, problem: Problem) -> bool:
        """Return whether the choice is measured on this problem."""
        return self.row is None or self.row.fits(problem)


@dataclass(frozen=True)
class Sweep:
    """Everything that a run measures.

    `location` is the config file, and `baseline_line` is the line that names the baseline.

    `rivals` are variants whose ratios to each other matter as much as those to the baseline. `written` are the keys of
    the config file.
    """

    name: str
    problems: Sequence[Problem]
    choices: tuple[VariantChoice, ...]
    baseline: str
    policy: Policy
    location: str = ""
    baseline_line: int | None = None
    post: Post | None = None
    rivals: tuple[str, ...] = ()
    written: frozenset[str] = frozenset()


_COUNT = "count"
_SHAPE_KEYS = ("sizes", "shapes", "axes", "groups")


def find_config(name: str) -> Path:
    """Find the file of a config, given its name or path. Raises UsageError, which suggests the nearest name."""
    home = data_folder("configs")
    for path in (home / f"{name}.yaml", Path(name)):
        if is_file(path):
            return path
    if Path(name).suffix in (".yaml", ".yml"):
        raise UsageError(f"no such file: {printable(name)}; write its path from this folder, or a name such as quick")
    known = nearest_or_all(name, list_configs(), "known:", str(home))
    raise UsageError(f"unknown config '{name}'{known}; or give the path of a file")


def list_configs() -> list[str]:
    """List the names of all configs, including those of networks and posts."""
    home = data_folder("configs")
    return sorted(str(path.relative_to(home).with_suffix("")) for path in home.rglob("*.yaml"))


def name_config(path: Path) -> str:
    """Return a name by which the file can be found again: its name among the configs, or else its path."""
    home = data_folder("configs").resolve()
    if path.resolve().is_relative_to(home):
        return str(path.resolve().relative_to(home).with_suffix(""))
    return str(path)


def read_document(path: Path) -> Document:
    """Read the keys of a config as they are written. Raises UsageError, or SpecError at a line."""
    return parse_document(read_text_file(path), display_path(path))


def apply_on_cpu(document: Document, kind: type[Model], on_cpu: bool) -> tuple[Document, Model]:
    """Return the document and its model. On a CPU, the keys in `on_cpu` replace the others. Raises SpecError."""
    model = document.convert(kind)
    if not on_cpu or not document.data.get("on_cpu"):
        return document, model
    document = _replace_keys(document, document.data["on_cpu"])
    return document, document.convert(kind)


def _replace_keys(document: Document, changes: dict[str, Any]) -> Document:
    """Return the document after replacing the keys in its `on_cpu`, including their lines."""
    data, lines = dict(document.data), dict(document.lines)
    if any(key in changes for key in _SHAPE_KEYS):
        for key in _SHAPE_KEYS:
            data.pop(key, None)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(data.get(key), dict)
        data[key] = {**data[key], **value} if both else value
    for path, line in document.lines.items():
        if path[:1] == ("on_cpu",) and len(path) > 1:
            lines[path[1:]] = line
    return Document(document.location, {**data, "on_cpu": {}}, lines)


def _read_choices(
    options: Selection, reader: ConfigReader, model: SweepModel, post: Post | None
) -> tuple[VariantChoice, ...]:
    """Return the variants on the command line, or else the rows of a post, or else those listed. Raises SpecError."""
    common = options.params or reader.read_params(("params",), model.params)
    if post is not None and not common:
        return tuple(_choose_rows(options.variants, reader, post))
    if options.variants:
        return tuple(VariantChoice(name, common) for name in dict.fromkeys(options.variants))
    return tuple(
        _read_choice(reader, index, item, common, bool(options.params)) for index, item in enumerate(model.variants)
    )


def _choose_rows(names: Sequence[str], reader: ConfigReader, post: Post) -> Iterator[VariantChoice]:
    for index, row in enumerate(post.rows):
        if (not names or row.variant in names) and not row.copies:
            line = reader.document.line(("post", "rows", index))
            yield VariantChoice(row.variant, {name: (value,) for name, value in row.config}, True, line, row)


def _read_choice(
    reader: ConfigReader, index: int, item: str | dict[str, Any], common: Params, is_given: bool
) -> VariantChoice:
    path, document = ("variants", index), reader.document
    if isinstance(item, str):
        return VariantChoice(item, common, False, document.line(path))
    if len(item) != 1:
        raise document.error_at(path, "variants: write `- name` or `- name: {PARAMETER: [values]}`")
    ((name, written),) = item.items()
    line = document.line((*path, name))
    if is_given:
        return VariantChoice(name, common, False, line)
    return VariantChoice(name, reader.read_params((*path, name), written), True, line)


def _read_problems(
    selection: Selection, reader: ConfigReader, model: SweepModel, post: Post | None, variants: int = 1
) -> ProblemGrid:
    """Return all combinations, sorted by precision first. Each is for at least this number of `variants`.

    Raises UsageError or SpecError, also for too many plans, which are counted before they are made.
    """
    alpha = float(reader.choose(selection.alpha, ("alpha",), OPTIONS["alpha"].check, model.alpha))
    beta = float(reader.choose(selection.beta, ("beta",), OPTIONS["beta"].check, model.beta))
    epilogue = reader.choose(selection.epilogue or None, ("epilogue",), OPTIONS["epilogue"].check, model.epilogue)
    separate_c = selection.separate_c or model.separate_c

    def read_ld(written: Any) -> tuple[str, ...]:
        return check_rows_of_result(OPTIONS["ld"].check(written), separate_c)

    ld = read_ld(selection.ld) if selection.ld else reader.check(("ld",), read_ld, model.ld)
    precisions, layouts = selection.precisions, selection.layouts
    rows = post.rows if post is not None else ()
    precisions = precisions or tuple(dict.fromkeys(row.precision for row in rows))
    layouts = layouts or tuple(dict.fromkeys(row.layout for row in rows))
    precisions = reader.choose_names(precisions, "precisions", parse_precisions, model.precisions)
    layouts = reader.choose_names(layouts, "layouts", parse_layouts, model.layouts)
    given = selection.sizes
    count = len(given.shapes) if given else _count_shapes(reader, model)
    check_plans(len(precisions) * len(layouts) * count * variants)
    shapes = given.shapes if given else _read_shapes(reader, model)
    form = {"epilogue": epilogue, "ld": ld, "separate_c": separate_c}
    in_turn = model.layouts_in_turn and not given
    if in_turn:
        written = layouts if selection.layouts else tuple(name.lower() for name in model.layouts)
        shapes, layouts = _take_turns(reader, shapes, written)
    else:
        shapes = tuple(dict.fromkeys(shapes))
    return ProblemGrid(precisions, layouts, tuple(shapes), alpha, beta, form, in_turn)


def _take_turns(
    reader: ConfigReader, shapes: Sequence[AnyShape], layouts: Sequence[str]
) -> tuple[tuple[AnyShape, ...], tuple[str, ...]]:
    """Return each shape with its layout, as written, and each pair once. Raises SpecError for a layout without one."""
    if len(shapes) < len(layouts):
        left = ", ".join(layouts[len(shapes) :])
        fault = f"layouts_in_turn: {left} would be left out, as there are more layouts than sizes; give more sizes"
        raise reader.document.error_at(("layouts_in_turn",), f"{fault}, or remove the key for all combinations")
    pairs = tuple(dict.fromkeys(zip(shapes, itertools.cycle(layouts), strict=False)))
    return tuple(shape for shape, _ in pairs), tuple(layout for _, layout in pairs)


def _read_shapes(reader: ConfigReader, model: SweepModel) -> list[AnyShape]:
    sizes = reader.check_items(("sizes",), parse_sizes, model.sizes)
    shapes = reader.check_items(("shapes",), _read_shape, model.shapes)
    found = [*sizes, *shapes, *_read_axes(reader, model)]
    if not found:
        raise UsageError(f"{reader.document.location}: no sizes, shapes or axes; add `sizes: [1024]`")
    return found


def _count_shapes(reader: ConfigReader, model: SweepModel) -> int:
    """Count the shapes that are written, including duplicates."""
    sizes = sum(reader.check(("sizes", index), count_sizes, size) for index, size in enumerate(model.sizes))
    groups = max(1, len(_list_groups(model)))
    return sizes + len(model.shapes) + (groups * math.prod(map(len, model.axes.values())) if model.axes else 0)


def _read_shape(written: list[int]) -> list[AnyShape]:
    check_shape(written)
    m, n, k = written
    return [One(m, n, k)]


def _list_groups(model: SweepModel) -> list[list[int] | GroupsModel]:
    """Return each distribution of rows over groups, as it is written."""
    if isinstance(model.groups, GroupsModel):
        return [model.groups]
    single = [each for each in model.groups if isinstance(each, int)]
    return [single] if single else [each for each in model.groups if not isinstance(each, int)]


def _read_groups(reader: ConfigReader, model: SweepModel) -> Iterator[AnyShape]:
    """Combine every distribution with every N and K."""
    axes, groups = model.axes, _list_groups(model)
    if isinstance(model.groups, list) and len({isinstance(each, int) for each in model.groups}) > 1:
        raise reader.document.error_at(("groups",), "groups: numbers and lists are mixed; write [[512, 0], [33, 7]]")
    if set(axes) != set("NK"):
        has = f"axes has {', '.join(axes)}" if axes else "there are no axes"
        message = f"groups: {has}; give N and K, such as axes: {{N: [4096], K: [7168]}}"
        raise reader.document.error_at(("groups",), message)

    def read(written: list[int] | GroupsModel) -> tuple[int, ...]:
        if isinstance(written, list):
            return tuple(written)
        return draw_groups(written.count, written.mean, written.skew, written.seed)

    for key in "NK":
        for index, value in enumerate(axes[key]):
            reader.check(("axes", key, index), check_size, value)
    for each in groups:
        rows = reader.check(("groups",), read, each)
        for n, k in itertools.product(axes["N"], axes["K"]):
            yield reader.check(("groups",), partial(make_groups, N=n, K=k), rows)


def _read_axes(reader: ConfigReader, model: SweepModel) -> Iterator[AnyShape]:
    axes = model.axes
    if not model.groups and "groups" in reader.document.data:
        raise reader.document.error_at(("groups",), f"groups: empty; give {GROUPS_FORM}")
    if model.groups:
        return _read_groups(reader, model)
    if not axes:
        return iter(())
    if set(axes) - {_COUNT} != set("MNK"):
        raise reader.document.error_at(("axes",), f"axes: has {', '.join(axes)}; give M, N and K")
    for key, values in axes.items():
        for index, value in enumerate(values):
            reader.check(("axes", key, index), check_count if key == _COUNT else check_size, value)
    shapes = itertools.product(axes.get(_COUNT, (1,)), axes["M"], axes["N"], axes["K"])
    return (make_shape(count, (m, n, k)) for count, m, n, k in shapes)


def read_sweep(request: RunRequest, on_cpu: bool) -> Sweep:
    """Read a config file and apply the changes of a request. Raises UsageError or SpecError."""
    path = find_config(request.config)
    document = read_document(path)
    if "layers" in document.data:
        raise document.error_at(("layers",), "`layers`: this is a config file for a network; use gemmbench mlp -c")
    document, model = apply_on_cpu(document, SweepModel, on_cpu)
    reader, selection = ConfigReader(document), request.selection
    post = _read_post(reader, model, name_config(path), is_resized=selection.sizes is not None or on_cpu)
    choices = _read_choices(selection, reader, model, post)
    if not choices:
        raise UsageError(f"{document.location}: no kernels; add `variants: [tiled]`")
    baseline, line = model.baseline, document.line(("baseline",))
    given = selection.baseline
    problems = _read_problems(selection, reader, model, post, variants=1 if post else len(choices))
    return Sweep(
        name=path.stem,
        problems=_choose_problems(problems, choices),
        choices=choices,
        baseline=baseline if given is None else given,
        baseline_line=line if given is None else None,
        policy=make_policy(request.measuring, reader, model.measure, on_cpu),
        location=document.location,
        post=post,
        written=frozenset(document.data),
    )


def _choose_problems(problems: Sequence[Problem], choices: Sequence[VariantChoice]) -> Sequence[Problem]:
    """Return the problems that some choice fits. Only the rows of a post do not fit all of them."""
    if any(choice.row is None for choice in choices):
        return problems
    return tuple(problem for problem in problems if any(choice.fits(problem) for choice in choices))


def _read_post(reader: ConfigReader, model: SweepModel, config: str, is_resized: bool) -> Post | None:
    if model.post is None:
        return None
    for index, row in enumerate(model.post.rows):
        reader.check(("post", "rows", index, "layout"), parse_layouts, [row.layout])
        reader.check(("post", "rows", index, "precision"), parse_precisions, [row.precision])
    post = reader.check(("post",), lambda written: make_post(written, config), model.post)
    if not is_resized:
        return post
    # With other sizes, which a config has for the CPU too, every row is measured at all of them.
    return replace(post, rows=tuple(replace(row, shapes=()) for row in post.rows))


def known_posts() -> list[str]:
    """List the names of the config files that repeat a post, in order."""
    home = data_folder("configs")
    return sorted(f"posts/{path.stem}" for path in (home / "posts").glob("*.yaml"))


def describes_network(name: str) -> bool:
    """Return whether a config file describes a network. Raises UsageError or SpecError."""
    return "layers" in read_document(find_config(name)).data


def read_post(name: str) -> Post | None:
    """Return the post of a config file; None if there is none or for a network. Raises UsageError or SpecError."""
    return None if describes_network(name) else read_sweep(RunRequest(config=name), on_cpu=False).post


def read_tuning(request: RunRequest, on_cpu: bool, present: Sequence[VariantChoice] | None = None) -> Sweep:
    """Read the sweep of a config for `tune`, with only the named variants and with all values to search.

    The values are those on the command line, or else those that the config lists for a variant, or else all in its
    manifest. For a variant that picks from the named ones, `present` is what it picks now at these problems. That is
    searched too, and if the config lists values for some variants, only these are searched. Raises UsageError or
    SpecError.
    """
    selection = request.selection
    searched = replace(selection, params=selection.params or {ALL: ()})
    sweep = read_sweep(replace(request, selection=searched), on_cpu)
    listed = [] if selection.params else _list_values(request.config, selection.variants, on_cpu)
    known = {choice.name for choice in (sweep.choices if listed and present is not None else listed)}
    rest = [choice for choice in sweep.choices if choice.name not in known]
    return replace(sweep, name="tune", choices=(*listed, *rest, *(present or ())))


def _list_values(name: str, variants: Sequence[str], on_cpu: bool) -> list[VariantChoice]:
    """Return the choices in a config file that have values for one of the variants."""
    document, model = apply_on_cpu(read_document(find_config(name)), SweepModel, on_cpu)
    choices = _read_choices(Selection(), ConfigReader(document), model, None)
    return [choice for choice in choices if choice.params and choice.name in variants]
