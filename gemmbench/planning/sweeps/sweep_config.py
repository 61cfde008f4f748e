"""From a config file, with the command line's changes, to a Sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gemmbench.errors import UsageError
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.paths import data_folder
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.config_file import apply_on_cpu, find_config, name_config, read_document
from gemmbench.planning.sweeps.config_reader import ConfigReader
from gemmbench.planning.sweeps.overrides import SweepOverrides
from gemmbench.planning.sweeps.parsing import parse_layouts, parse_precisions
from gemmbench.planning.sweeps.policy import make_policy
from gemmbench.planning.sweeps.post import Post, make_post
from gemmbench.planning.sweeps.sweep import Sweep, VariantChoice
from gemmbench.planning.sweeps.sweep_choices import read_choices
from gemmbench.planning.sweeps.sweep_model import SweepModel
from gemmbench.planning.sweeps.sweep_problems import read_problems


def read_sweep(name: str, options: SweepOverrides, on_cpu: bool) -> Sweep:
    """Read a config file and apply the command line. Raises UsageError or SpecError."""
    path = find_config(name)
    document = read_document(path)
    if "layers" in document.data:
        raise document.error_at(("layers",), "`layers`: this is the config file of a network; use gemmbench mlp -c")
    document, model = apply_on_cpu(document, SweepModel, on_cpu)
    reader = ConfigReader(document, options)
    post = _read_post(reader, model, name_config(path))
    choices = read_choices(reader, model, post)
    if not choices:
        raise UsageError(f"{document.location}: no variants; add `variants: [tiled]`")
    baseline, line = model.baseline, document.line(("baseline",))
    problems = read_problems(reader, model, post, variants=1 if post else len(choices))
    return Sweep(
        name=path.stem,
        problems=_choose_problems(problems, choices),
        choices=choices,
        baseline=baseline if options.baseline is None else options.baseline,
        baseline_line=line if options.baseline is None else None,
        policy=make_policy(reader, model.measure),
        location=document.location,
        post=post,
    )


def _choose_problems(problems: Sequence[Problem], choices: Sequence[VariantChoice]) -> Sequence[Problem]:
    """Those that a choice fits; only a row of a post does not fit all."""
    if any(choice.row is None for choice in choices):
        return problems
    return tuple(problem for problem in problems if any(choice.fits(problem) for choice in choices))


def _read_post(reader: ConfigReader, model: SweepModel, config: str) -> Post | None:
    if model.post is None:
        return None
    for index, row in enumerate(model.post.rows):
        reader.check(("post", "rows", index, "layout"), parse_layouts, [row.layout])
        reader.check(("post", "rows", index, "precision"), parse_precisions, [row.precision])
    post = reader.check(("post",), lambda written: make_post(written, config), model.post)
    if reader.options.sizes is None:
        return post
    # With other sizes, every row is measured at all of them.
    return replace(post, rows=tuple(replace(row, shapes=()) for row in post.rows))


def known_posts() -> list[str]:
    """Names of the config files that repeat a post, in order."""
    home = data_folder("configs")
    return sorted(f"posts/{path.stem}" for path in (home / "posts").glob("*.yaml"))


def describes_network(name: str) -> bool:
    """Whether a config file describes a network. Raises UsageError or SpecError."""
    return "layers" in read_document(find_config(name)).data


def read_post(name: str) -> Post | None:
    """The post of a config file, or None if it repeats none or describes a network. Raises UsageError or SpecError."""
    return None if describes_network(name) else read_sweep(name, SweepOverrides(), on_cpu=False).post


def read_comparison(names: tuple[str, ...], base: str, options: SweepOverrides, on_cpu: bool) -> Sweep:
    """The sweep `base` on the named variants only, under the name `compare`. Raises UsageError or SpecError."""
    sweep = read_sweep(base, replace(options, variants=names), on_cpu)
    return replace(sweep, name="compare", rivals=names)


def read_tuning(
    base: str, options: SweepOverrides, on_cpu: bool, present: Sequence[VariantChoice] | None = None
) -> Sweep:
    """The sweep `base` on the named variants only, under the name `tune`, with all values to search.

    Those that the command line gives, else those that the config lists for a variant, else all in its manifest. For
    a variant that picks from those named, `present` is what it names now at these problems: this is searched too,
    and if the config lists values for some, only these are. Raises UsageError or SpecError.
    """
    sweep = read_sweep(base, replace(options, params=options.params or (ALL,)), on_cpu)
    listed = [] if options.params else _list_values(base, options.variants, on_cpu)
    known = {choice.name for choice in (sweep.choices if listed and present is not None else listed)}
    rest = [choice for choice in sweep.choices if choice.name not in known]
    return replace(sweep, name="tune", choices=(*listed, *rest, *(present or ())))


def _list_values(name: str, variants: Sequence[str], on_cpu: bool) -> list[VariantChoice]:
    """The choices of a config file with values for one of the variants."""
    document, model = apply_on_cpu(read_document(find_config(name)), SweepModel, on_cpu)
    choices = read_choices(ConfigReader(document, SweepOverrides()), model, None)
    return [choice for choice in choices if choice.params and choice.name in variants]
