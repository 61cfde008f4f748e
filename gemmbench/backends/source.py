"""The text that a compiler gets: the includes of the file, the macros of the plan, then the rest.

Macros are written into the text. On the command line, `-DN` or `-DT=16` would also change the
toolkit's own headers, which the text includes first.
"""

from __future__ import annotations

import re

from gemmbench.planning.plans.plan import Plan

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b.*$", re.MULTILINE)


def compiler_text(plan: Plan) -> str:
    """The text of `plan` with its macros; the compiler reports the line numbers of the file."""
    text = plan.variant.text
    includes = [f"#include <{header}>" for header in plan.problem.precision.headers]
    includes += _INCLUDE.findall(text)
    defines = [f"#define {name} {value}" for name, value in plan.defines]
    rest = _INCLUDE.sub("", text)
    path = plan.variant.path.replace("\\", r"\\").replace('"', r"\"")
    return "\n".join([*includes, *defines, f'#line 1 "{path}"', rest])
