"""The text that a compiler gets.

Our own files: their includes of the toolkit, the macros of the plan, then the rest, in which the
includes of local headers stay where they are. Macros are written into the text. On the command line,
`-DN` or `-DT=16` would also change the toolkit's own headers, which the text includes first.

A file of someone else: the macros that its manifest defines, then an `#include` of the file, so that it
is read as it is and where it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gemmbench.backends.inlining import find_local_header, inline_headers, quote_path
from gemmbench.planning.files import display_path
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Plan

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b.*$", re.MULTILINE)
_MISSING_PACKAGE = re.compile(r"\b(cublas|cutlass|cute)[^:]*: No such file or directory")
_IN_MANIFEST = re.compile(r"[^:]+\.yaml:")
_QUOTED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"', re.MULTILINE)


@dataclass(frozen=True)
class SourceText:
    """The parts of a text, in order: includes, macros, and the code with its places."""

    includes: tuple[str, ...]
    defines: tuple[str, ...]
    code: str

    def join(self) -> str:
        """The whole text."""
        return "\n".join([*self.includes, *self.defines, self.code])


def compiler_text(plan: Plan) -> str:
    """The text of `plan` with its macros; the compiler reports the files and lines as they were written."""
    return split_text(plan).join()


def split_text(plan: Plan, inline: bool = False) -> SourceText:
    """The parts of the text of a plan; `inline` writes local headers into it."""
    headers = tuple(f"#include <{header}>" for header in plan.problem.precision.headers)
    defines = tuple(f"#define {name} {value}" for name, value in plan.defines)
    variant, text = plan.variant, plan.variant.text
    if variant.code.foreign:
        code = _inline(variant, text) if inline else f"#include {quote_path(variant.code.file)}\n"
        return SourceText(headers, defines, code)
    hoisted = tuple(line for line in _INCLUDE.findall(text) if not _is_local(variant, line))
    rest = _INCLUDE.sub(lambda line: line[0] if _is_local(variant, line[0]) else "", text)
    code = _inline(variant, rest) if inline else f"#line 1 {quote_path(variant.path)}\n{rest}"
    return SourceText((*headers, *hoisted), defines, code)


def inline_text(variant: Variant) -> str:
    """The text of a variant with its local headers in it, and no macros. Raises BuildError."""
    return _inline(variant, variant.text)


def has_local_headers(variant: Variant) -> bool:
    """Whether the code may read headers that do not belong to the toolkit."""
    code = variant.code
    return code.foreign or bool(code.include) or any(_QUOTED.finditer(variant.text))


def suggest_fix(error: str) -> str:
    """What to do about an error of a compiler, where that is known; "" otherwise."""
    if missing := _MISSING_PACKAGE.search(error):
        return f"write `include: [{'cublas' if missing[1] == 'cublas' else 'cutlass'}]`"
    if "No such file or directory" in error:
        return "add the folder of the header to `include`"
    if 'cannot deduce "auto" type' in error or "no matching function for call" in error:
        return "no kernel takes these template arguments and `args`; correct `symbol` or `args`"
    return "correct `symbol` or `args`" if _IN_MANIFEST.match(error) else ""


def _inline(variant: Variant, text: str) -> str:
    path = display_path(Path(variant.code.file)) if variant.code.foreign else variant.path
    return inline_headers(variant, text, path)


def _is_local(variant: Variant, line: str) -> bool:
    folders = [Path(name) for name in variant.code.include if Path(name).is_absolute()]
    return bool(variant.code.file) and find_local_header(line, Path(variant.code.file).parent, folders) is not None
