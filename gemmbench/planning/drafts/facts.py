"""What the code says about a function that a manifest launches: its types, arguments, names and launch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gemmbench.planning.drafts.constants import read_constants
from gemmbench.planning.drafts.declarations import Function, Parameter, TemplateParameter
from gemmbench.planning.drafts.launch_sites import LaunchSite, find_launch
from gemmbench.planning.drafts.roles import Guess, guess_arguments
from gemmbench.planning.drafts.scanning import hide_comments
from gemmbench.planning.drafts.tiles import Names, name_params
from gemmbench.planning.manifests.expressions import DEVICE_NAMES, PROBLEM_NAMES

PRECISIONS = {
    **dict.fromkeys(("float",), "f32"),
    **dict.fromkeys(("double",), "f64"),
    **dict.fromkeys(("half", "__half"), "f16"),
    **dict.fromkeys(("__nv_bfloat16", "nv_bfloat16", "bf16"), "bf16"),
    **dict.fromkeys(("__nv_fp8_e4m3",), "e4m3"),
    **dict.fromkeys(("__nv_fp8_e5m2",), "e5m2"),
}
"""The precision of a type of elements."""

_TESTS_BETA = re.compile(r"\bbeta\s*(?:==|!=|\?|>|<)|\(\s*!?\s*beta\s*\)|[=!]=\s*beta\b")
_MULTIPLIES_BETA = re.compile(r"\bbeta\s*\*|\*=?\s*beta\b")
_COLUMN_MAJOR = re.compile(
    r"\[\s*\(?\s*(?:i|row|m)\s*\)?\s*\+\s*\(?\s*(?:j|col|k|n)\s*\)?\s*\*\s*\(?\s*ld|\bldc?\s*=\s*M\b|\blda\s*=\s*M\b"
)


@dataclass(frozen=True)
class Facts:
    """A function, how it is launched in its file, and what follows from its declaration.

    `types` are the types of its template, `params` the names of its template's integers in the
    manifest, both by their name in the code. With `reads_c` C is read where beta is 0, too.
    """

    function: Function
    site: LaunchSite | None
    types: dict[str, str]
    params: dict[str, str]
    arguments: list[Guess]
    names: Names
    column_major: bool
    reads_c: bool

    @property
    def precision(self) -> str:
        """The precision of A; "" if its type has none."""
        pairs = zip(self.function.parameters, self.arguments, strict=True)
        found = [self.types.get(parameter.type, parameter.type) for parameter, guess in pairs if guess.text == "A"]
        return PRECISIONS.get(found[0], "") if found else ""

    def list_integers(self) -> Iterator[tuple[str, str]]:
        """The integers of the template: their names in the manifest, and the values of the launch, or the defaults."""
        written = _zip_template(self.function, self.site)
        for each in self.function.template:
            if not each.is_type:
                yield self.params[each.name], written.get(each.name, each.default)


def read_facts(function: Function, text: str) -> Facts:
    """Read what the text of a file says about one of its functions."""
    code = hide_comments(text)
    site = find_launch(text, function.name) if function.is_kernel else None
    written = _zip_template(function, site)
    types = {each.name: written.get(each.name, "") for each in function.template if each.is_type}
    types = {name: kind if kind in PRECISIONS else "float" for name, kind in types.items()}
    params = name_params(function, (*PROBLEM_NAMES, *DEVICE_NAMES))
    arguments = guess_arguments(function.parameters, types)
    names = _read_names(function, site, code, arguments, params)
    column_major = _COLUMN_MAJOR.search(code) is not None
    return Facts(function, site, types, params, arguments, names, column_major, _reads_c(function, code))


def _reads_c(function: Function, code: str) -> bool:
    """Whether a kernel multiplies by beta, itself or in a function that it calls, without a test whether it is 0."""
    text = function.body if _MULTIPLIES_BETA.search(function.body) else code
    used = function.is_kernel and re.search(r"\bbeta\b", function.body)
    return bool(used and _MULTIPLIES_BETA.search(text) and not _TESTS_BETA.search(text))


def _zip_template(function: Function, site: LaunchSite | None) -> dict[str, str]:
    """The arguments that a launch gives to the template."""
    return dict(zip((each.name for each in function.template), site.template if site else (), strict=False))


def _read_names(
    function: Function, site: LaunchSite | None, code: str, arguments: Sequence[Guess], params: dict[str, str]
) -> Names:
    """What the code calls sizes, parameters and constants; a launch may have names of its own for them."""
    found = {each.name: _find_size(guess) for each, guess in zip(function.parameters, arguments, strict=True)}
    sizes = {name: size for name, size in found.items() if size}
    if site is None:
        return Names(sizes, params, _read_tile(function.name) | read_constants(code))
    sizes |= _rename(site.arguments, function.parameters, sizes)
    params = params | _rename(site.template, function.template, params)
    return Names(sizes, params, site.constants)


def _find_size(guess: Guess) -> str:
    """M, N or K if an argument is that, converted or not."""
    found = re.fullmatch(r"(?:\w+\()?([MNK])\)?", guess.text)
    return found[1] if found else ""


def _read_tile(name: str) -> dict[str, str]:
    """BM, BN and BK of a kernel called `sgemm_128x64x8`."""
    found = re.search(r"(?<!\d)(\d+)x(\d+)x(\d+)", name)
    return dict(zip(("BM", "BN", "BK"), found.groups(), strict=True)) if found else {}


def _rename(
    written: Sequence[str], declared: Sequence[Parameter | TemplateParameter], names: dict[str, str]
) -> dict[str, str]:
    """The names of a launch for what the declaration of the kernel calls otherwise."""
    pairs = zip(written, (each.name for each in declared), strict=False)
    return {text: names[name] for text, name in pairs if name in names and re.fullmatch(r"[A-Za-z_]\w*", text)}
