"""The text handed to a compiler: the file's includes, the macros of the plan, the rest.

Macros stand in the text and not on the command line: `-DN` or `-DT=16` would also
rewrite the toolkit's own headers, which are read first here.
"""

from __future__ import annotations

import re

from gemmbench.planning.plans.plan import Plan

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b.*$", re.MULTILINE)


def compiler_text(plan: Plan) -> str:
    """Return the text of `plan` with its macros; line numbers stay those of the file."""
    text = plan.variant.text
    includes = [f"#include <{header}>" for header in plan.problem.precision.headers]
    includes += _INCLUDE.findall(text)
    defines = [f"#define {name} {value}" for name, value in plan.defines]
    rest = _INCLUDE.sub("", text)
    return "\n".join([*includes, *defines, f'#line 1 "{plan.variant.path}"', rest])
