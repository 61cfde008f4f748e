"""Where the code of a variant is, how it is compiled, and how it is called."""

from __future__ import annotations

from dataclasses import dataclass

from gemmbench.planning.manifests.expressions import Expression

Part = Expression | str
"""A macro's value or a template argument: an expression of the manifest, or C++ text."""

ArgumentText = str | int | float | None
"""An argument as it is written in a manifest."""

OPERANDS = ("A", "B", "C", "bias", "workspace", "maps")
SCALARS = ("alpha", "beta")
NULL, STREAM = "null", "stream"


@dataclass(frozen=True)
class Flag:
    """An option of nvcc; with `when` only in the configurations for which it holds."""

    text: str
    when: Expression | None = None


@dataclass(frozen=True)
class Code:
    """The file that holds the code, and how it is compiled.

    `file` is its absolute path, "" for a library. With `foreign` it belongs to someone else: the
    compiler gets it untouched, with the macros `defines` and no others. `include` are the folders that
    hold its headers, or names of packages (see backends.header_packages). `flags` are for nvcc;
    `maxregcount` is the most registers of a thread, 0 for no limit.
    """

    file: str = ""
    foreign: bool = False
    defines: tuple[tuple[str, Part], ...] = ()
    include: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    maxregcount: int = 0


@dataclass(frozen=True)
class Argument:
    """One argument of a kernel, as `args` declares it.

    `role` is a name of OPERANDS or SCALARS, `null`, `stream`, or "" for a number. A number has a value,
    an expression or a constant. `ctype` is its type in C++ ("" for a scalar: the type of the sums).
    `by_pointer`: a scalar that the kernel reads from device memory.
    """

    role: str
    ctype: str = ""
    value: Expression | float = 0
    by_pointer: bool = False


@dataclass(frozen=True)
class Call:
    """How the kernels of a variant are called.

    `args` are their arguments, empty for the standard ones. With `column_major` every name of the
    manifest describes column-major matrices: the kernel computes C^T = op(B)^T op(A)^T from the same
    bytes. With `reads_c` it reads C even though beta is 0. `host` is the host function that launches
    everything, "" if gemmbench does; `host_workspace` the one that returns the bytes of workspace.
    """

    args: tuple[Argument, ...] = ()
    column_major: bool = False
    reads_c: bool = False
    host: str = ""
    host_workspace: str = ""

    def takes(self, role: str) -> bool:
        """Whether the kernels get alpha, beta or an operand; those of the standard signature get all."""
        return not self.args or any(argument.role == role for argument in self.args)

    def takes_scalars(self, alpha: float, beta: float) -> bool:
        """Whether the kernels can compute with this alpha and beta: without them they are 1 and 0."""
        return (alpha == 1 or self.takes("alpha")) and (beta == 0 or self.takes("beta"))


STANDARD_CALL = Call()
NO_CODE = Code()
