"""Names that the shell completes: of variants, configs, saved runs and posts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from gemmbench.planning.files import list_saved
from gemmbench.planning.sweeps.sweep import list_configs
from gemmbench.session.machine import open_catalog

_RESULTS = "results"
_POSTS = "posts/"
"""The folder of their configs."""


def _complete(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


class VariantName(click.ParamType):  # type: ignore[type-arg]  # generic only in recent releases of click
    """The name of a variant, or the path of its file."""

    name = "variant"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Variants of the kernel files, those of --kernels included, and libraries; files where no name fits."""
        known = open_catalog(ctx.params.get("kernels")).names
        return _complete(known, incomplete) or [CompletionItem(incomplete, type="file")]


class ConfigName(click.ParamType):  # type: ignore[type-arg]  # as above
    """The name of a config, or the path of a file."""

    name = "config"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Configs by name; files where no name fits."""
        return _complete(list_configs(), incomplete) or [CompletionItem(incomplete, type="file")]


class RunName(click.ParamType):  # type: ignore[type-arg]  # as above
    """The name of a saved run, or the path of a results file."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Saved runs by name; files where no name fits."""
        saved = list_saved(Path(ctx.params.get("out") or _RESULTS))
        return _complete((path.stem for path in saved), incomplete) or [CompletionItem(incomplete, type="file")]


class PostName(click.ParamType):  # type: ignore[type-arg]  # as above
    """The name of a post, or the beginning of one."""

    name = "post"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The posts."""
        posts = (name.removeprefix(_POSTS) for name in list_configs() if name.startswith(_POSTS))
        return _complete(posts, incomplete)
