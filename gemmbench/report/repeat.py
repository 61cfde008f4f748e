"""The command that measures one row again."""

from __future__ import annotations

import shlex

from gemmbench.bench.record import Environment, Record

_POLICY = ("rounds", "until", "max_time", "energy")
_KEPT = ("--device", "--kernels", "--weights", "--config", "-c")
"""Options of the command of a run that a row does not tell."""


def command(environment: Environment, record: Record) -> str:
    """`gemmbench run ...` with every option that makes the row what it is; the baseline comes along by itself."""
    words = _network(record) if record.network else _gemm(record)
    own = {} if record.picked else record.config  # what was picked has its parameters from there
    for name, value in own.items():
        words += ["--param", f"{name}={value}"]
    if record.cache:
        words += ["--cache", "hot" if record.cache == "hot" else "cold"]
    if record.data and record.data != "digits":
        words += ["--data", record.data]
    words += ["--seed", str(record.seed)]
    for name in _POLICY:
        if asked := environment.policy.get(name):
            words += ["--" + name.replace("_", "-"), f"{asked:g}"]
    if environment.baseline:
        words += ["--baseline", environment.baseline]
    if not record.gated:
        words.append("--no-gate")
    return shlex.join([*words, *_kept(environment, record)])


def _gemm(record: Record) -> list[str]:
    words = ["gemmbench", "run", record.variant, "--sizes", record.problem.size]
    words += ["--precision", record.problem.precision_name, "--layout", record.problem.layout]
    return [*words, "--alpha", f"{record.problem.alpha:.17g}", "--beta", f"{record.problem.beta:.17g}"]


def _network(record: Record) -> list[str]:
    return ["gemmbench", "mlp", record.variant, "--batch", str(record.problem.M)]


def _kept(environment: Environment, record: Record) -> list[str]:
    """What the command of the run says beside; the device at least."""
    typed = _split_command(environment.command)
    kept: dict[str, str] = {"--device": environment.backend}
    for word, following in zip(typed, [*typed[1:], ""], strict=True):
        name, given, value = word.partition("=")
        if name in _KEPT and (given or following):
            kept[name] = value if given else following
    if not record.network:  # all that a config says of a GEMM is in its row
        kept.pop("--config", None)
        kept.pop("-c", None)
    return [word for pair in kept.items() for word in pair]


def _split_command(command: str) -> list[str]:
    """The words of a recorded command; old files did not quote, so their quotes may be unbalanced."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
