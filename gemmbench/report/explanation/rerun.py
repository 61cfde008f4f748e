"""The command that measures one row again."""

from __future__ import annotations

import shlex
from itertools import zip_longest

from gemmbench.bench.record import Environment, Record

_POLICY = ("rounds", "until", "max_time")
_KEPT = ("--device", "--kernels", "--weights", "--config", "-c")
"""Options of the run's command that a row does not record."""


def rerun_command(environment: Environment, record: Record) -> str:
    """`gemmbench run ...` with every option that the row depends on; it measures the baseline too."""
    words = _network_command(record) if record.network else _gemm_command(record)
    config = {} if record.picked else record.config  # the variant that was picked brings its own parameters
    for name, value in config.items():
        words += ["--param", f"{name}={value}"]
    if record.cache:
        words += ["--cache", "hot" if record.cache == "hot" else "cold"]
    if record.data and record.data != "digits":
        words += ["--data", record.data]
    words += ["--seed", str(record.seed)]
    for name in _POLICY:
        if limit := environment.policy.get(name):
            words += ["--" + name.replace("_", "-"), f"{limit:g}"]
    if "sustained" in environment.policy:
        words += ["--sustained", f"{environment.policy['sustained']:g}"]
    if environment.baseline:
        words += ["--baseline", environment.baseline]
    if environment.policy.get("gate") is False:
        words.append("--no-gate")
    if environment.policy.get("pdl") is False:
        words.append("--no-pdl")
    return shlex.join([*words, *_keep_options(environment, record)])


def _gemm_command(record: Record) -> list[str]:
    problem = record.problem
    words = ["gemmbench", "run", record.variant, "--sizes", problem.size]
    words += ["--precision", problem.precision_name, "--layout", problem.layout]
    return [*words, "--alpha", f"{problem.alpha:.17g}", "--beta", f"{problem.beta:.17g}"]


def _network_command(record: Record) -> list[str]:
    return ["gemmbench", "mlp", record.variant, "--batch", str(record.problem.M)]


def _keep_options(environment: Environment, record: Record) -> list[str]:
    """Options taken from the run's command; the device in any case."""
    kept = {"--device": environment.backend, **_read_options(environment.command)}
    if not record.network:  # the row of a GEMM records all that a config sets
        kept.pop("--config", None)
        kept.pop("-c", None)
    return [word for pair in kept.items() for word in pair]


def find_recorded_option(environment: Environment, name: str) -> str | None:
    """The value of an option in a run's command, if it is one that a row does not record; else None."""
    return _read_options(environment.command).get(name)


def _read_options(command: str) -> dict[str, str]:
    """The options of a command that a row does not record."""
    typed = _split_command(command)
    found: dict[str, str] = {}
    for word, following in zip_longest(typed, typed[1:], fillvalue=""):
        name, assigned, value = word.partition("=")
        if name in _KEPT and (assigned or following):
            found[name] = value if assigned else following
    return found


def _split_command(command: str) -> list[str]:
    """The words of a recorded command; those of old files may have unbalanced quotes."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
