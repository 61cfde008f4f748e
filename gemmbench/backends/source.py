"""The text that a compiler gets.

Our own files: their includes of the toolkit, the macros of the plan, then the rest, in which the
includes of local headers stay where they are. Macros are written into the text. On the command line,
`-DN` or `-DT=16` would also change the toolkit's own headers, which the text includes first.

A file of someone else: the macros that its manifest defines, then an `#include` of the file, so that it
is read as it is and where it is.
"""

from __future__ import annotations

import re
from pathlib import Path

from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.paths import is_file
from gemmbench.planning.plans.plan import Plan

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b.*$", re.MULTILINE)
_QUOTED = re.compile(r'#[ \t]*include[ \t]*"([^"\n]+)"')


def compiler_text(plan: Plan) -> str:
    """The text of `plan` with its macros; the compiler reports the files and lines as they were written."""
    head = [f"#include <{header}>" for header in plan.problem.precision.headers]
    defines = [f"#define {name} {value}" for name, value in plan.defines]
    variant = plan.variant
    if variant.code.foreign:
        return "\n".join([*head, *defines, f"#include {quote_path(variant.code.file)}", ""])
    hoisted = [line for line in _INCLUDE.findall(variant.text) if not find_local_header(variant, line)]
    rest = _INCLUDE.sub(lambda line: line[0] if find_local_header(variant, line[0]) else "", variant.text)
    return "\n".join([*head, *hoisted, *defines, f"#line 1 {quote_path(variant.path)}", rest])


def quote_path(path: str) -> str:
    """A path as a string of C++."""
    return '"{}"'.format(path.replace("\\", r"\\").replace('"', r"\""))


def header_folders(variant: Variant) -> list[Path]:
    """Where local headers are searched: next to the code, then in the folders of `include` that are no packages."""
    code = variant.code
    return [Path(code.file).parent, *(Path(name) for name in code.include if Path(name).is_absolute())]


def find_local_header(variant: Variant, line: str) -> Path | None:
    """The file that an `#include "..."` means, next to the code or in a folder of `include`."""
    quoted = _QUOTED.search(line)
    if quoted is None or not variant.code.file:
        return None
    places = (folder / quoted[1] for folder in header_folders(variant))
    return next((place for place in places if is_file(place)), None)


def has_local_headers(variant: Variant) -> bool:
    """Whether the code may read headers that do not belong to the toolkit."""
    code = variant.code
    return code.foreign or bool(code.include) or any(_QUOTED.finditer(variant.text))
