"""The command that a results file records, and --resume, which repeats it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from gemmbench.cli.option_fields import Values
from gemmbench.cli.terminal import TERMINAL
from gemmbench.errors import UsageError
from gemmbench.planning.files import RESULTS_SUFFIX
from gemmbench.report.store.reading import read_results
from gemmbench.report.store.recorded_run import Run
from gemmbench.session.open_run import find_unfinished, name_command, split_command

_NOT_RECORDED = ("resume", "resume_from")


def complete_options(context: click.Context, values: Values) -> Values:
    """Add the command that the file records; with --resume, take what is not given from the recorded one.

    Raises UsageError and StoreError.
    """
    run = _find_run(context, values)
    if run is not None:
        usual = ParameterSource.DEFAULT
        given = {name: value for name, value in values.items() if context.get_parameter_source(name) != usual}
        values = {**_parse_recorded(context, run), **given, "resume_from": str(run.path)}
    words = ["gemmbench", str(context.info_name), *_list_words(context.command, values)]
    return values | {"recorded_command": shlex.join(words)}


def _find_run(context: click.Context, values: Values) -> Run | None:
    """The run to resume: the one that is named, or the newest unfinished one of this command."""
    if file := values["resume_from"]:
        return read_results(Path(file))
    if not values["resume"]:
        return None
    words = [word for value in values.values() if isinstance(value, tuple) for word in value]
    if files := [word for word in words if word.endswith(RESULTS_SUFFIX)]:
        raise UsageError(f"--resume takes no file; use --resume-from {files[0]}")
    return find_unfinished(Path(values["out"]), str(context.info_name), TERMINAL)


def _parse_recorded(context: click.Context, run: Run) -> Values:
    """The values of the command that a run records. Raises UsageError."""
    name = name_command(run.command)
    if name != context.info_name:
        raise UsageError(f"{run.path}: {_explain_other_command(context, name, run.path)}")
    try:
        return context.command.make_context(name, split_command(run.command)[2:], parent=context.parent).params
    except click.ClickException as fault:
        raise UsageError(f"{run.path}: its command cannot be repeated: {fault.format_message()}") from None


def _explain_other_command(context: click.Context, name: str, path: Path) -> str:
    group = context.parent.command if context.parent else None
    command = group.get_command(context, name) if isinstance(group, click.Group) else None
    if command and any(parameter.name == "resume_from" for parameter in command.params):
        return f"measured by gemmbench {name}; use gemmbench {name} --resume-from {path}"
    measured = f"measured by gemmbench {name}" if name else "its command is unknown"
    return f"{measured}, so it cannot be resumed; start a new run without --resume-from"


def _list_words(command: click.Command, values: Values) -> list[str]:
    """The arguments and options of a command that have these values, without those that are usual."""
    words: list[str] = []
    for parameter in command.params:
        value = values.get(str(parameter.name))
        if parameter.name not in _NOT_RECORDED and value not in (None, (), parameter.default):
            words += _write(parameter, value)
    return words


def _write(parameter: click.Parameter, value: Any) -> list[str]:
    """An argument, or an option with its value; one that may be repeated, once for each value."""
    if isinstance(value, bool):
        return (parameter.opts if value else parameter.secondary_opts)[-1:]
    values = [str(each) for each in value] if isinstance(value, tuple) else [str(value)]
    if isinstance(parameter, click.Argument):
        return values
    return [word for each in values for word in (parameter.opts[-1], each)]
