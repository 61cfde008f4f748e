"""What each argument of a function is, guessed from its name and type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gemmbench.planning.drafts.declarations import Parameter

SQUARE = "square"
"""The reason for the only size of a kernel that has no others."""

_SIZES = {
    **dict.fromkeys(("m", "sizem", "dimm", "msize", "mdim"), "M"),
    **dict.fromkeys(("n", "sizen", "dimn", "nsize", "ndim"), "N"),
    **dict.fromkeys(("k", "sizek", "dimk", "ksize", "kdim"), "K"),
    **{f"{word}{matrix}": f"ld{matrix}" for word in ("ld", "stride", "pitch") for matrix in "abc"},
    **{f"{matrix}{word}": f"ld{matrix}" for word in ("ld", "stride", "pitch") for matrix in "abc"},
}
_UNSURE_SIZES = {
    **dict.fromkeys(("rows", "numrows", "nrows", "height", "rowsa", "arows", "heighta", "ah", "ha"), "M"),
    **dict.fromkeys(("cols", "numcols", "ncols", "columns", "colsb", "bcols", "widthb", "wb"), "N"),
    **dict.fromkeys(("inner", "depth", "common", "colsa", "acols", "widtha", "wa", "kk"), "K"),
}
_ONLY_SIZES = ("n", "m", "k", "size", "width", "dim", "length", "len", "order", "matsize", "sz", "nn")
_OPERANDS = {name: name.upper() for name in "abc"} | {"bias": "bias", "workspace": "workspace", "scratch": "workspace"}
_UNSURE_OPERANDS = {
    **dict.fromkeys(("x", "lhs", "left", "input", "inp", "a0"), "A"),
    **dict.fromkeys(("y", "w", "rhs", "right", "weight", "weights", "b0"), "B"),
    **dict.fromkeys(("z", "d", "out", "output", "res", "result", "dst"), "C"),
}
_SCALARS = {"alpha": "alpha", "beta": "beta"}
_PLACES = "d|dev|device|gpu|g|ptr|p|mat|matrix|global|gmem"
_AFFIXES = (rf"^(?:{_PLACES})_+", rf"_+(?:{_PLACES})$")
_WORDS = r"^(?:mat|matrix|ptr|dev|d)(?=[abc]$)|(?<=^[abc])(?:mat|matrix|ptr|dev|d)$|(?<=^[abc])data$"
_FLOATS = (
    "float",
    "double",
    "half",
    "__half",
    "__nv_bfloat16",
    "nv_bfloat16",
    "bf16",
    "__nv_fp8_e4m3",
    "__nv_fp8_e5m2",
)
_CONVERSIONS = {
    **dict.fromkeys(("unsigned", "unsigned int", "uint", "uint32_t", "std::uint32_t"), "unsigned"),
    **dict.fromkeys(("long", "long int", "long long", "long long int", "int64_t", "std::int64_t", "ptrdiff_t"), "long"),
    **dict.fromkeys(("size_t", "std::size_t", "uint64_t", "unsigned long", "unsigned long long"), "size_t"),
    **dict.fromkeys(("double",), "double"),
}


@dataclass(frozen=True)
class Guess:
    """Something for a manifest; `doubt` is why it may be wrong, "" if the code says so."""

    text: str
    doubt: str = ""


def guess_arguments(parameters: Sequence[Parameter], types: Mapping[str, str]) -> list[Guess]:
    """The items of `args`, one for each parameter; `types` are the values of the template's types."""
    parameters = [replace(each, type=types.get(each.type, each.type)) for each in parameters]
    guesses = [_guess_argument(each) for each in parameters]
    guesses = _guess_only_size(parameters, guesses)
    return _guess_unnamed_operands(parameters, guesses)


def _guess_argument(parameter: Parameter) -> Guess:
    name = normalise(parameter.name)
    if "Stream" in parameter.type:
        return Guess("stream")
    if name in _SCALARS:
        return Guess(f"&{name}") if parameter.pointer else _convert(parameter, Guess(name))
    if parameter.pointer:
        return _look_up(name, _OPERANDS, _UNSURE_OPERANDS) or Guess("null", f"what is {_describe(parameter)}?")
    if parameter.type in _FLOATS:
        return _convert(parameter, Guess("0.0", f"what is {_describe(parameter)}?"))
    found = _look_up(name, _SIZES, _UNSURE_SIZES)
    return _convert(parameter, found or Guess("0", f"what is {_describe(parameter)}?"))


def normalise(name: str) -> str:
    """A name in lower case, without the words and underscores around its letter: `d_A`, `A_ptr` and `matA` are a."""
    for affix in _AFFIXES:
        name = re.sub(affix, "", name, flags=re.IGNORECASE)
    plain = re.sub(r"^d(?=[ABC]$)", "", name).lower().replace("_", "")
    return re.sub(_WORDS, "", plain)


def _look_up(name: str, sure: Mapping[str, str], unsure: Mapping[str, str]) -> Guess | None:
    if name in sure:
        return Guess(sure[name])
    return Guess(unsure[name], f"is `{name}` {unsure[name]}?") if name in unsure else None


def _describe(parameter: Parameter) -> str:
    star = "*" if parameter.pointer else ""
    return f"`{parameter.type}{star} {parameter.name}`".replace(" `", "`")


def _convert(parameter: Parameter, guess: Guess) -> Guess:
    """The guess with the type of the parameter, where it is not an int or the type of the sums."""
    conversion = _CONVERSIONS.get(parameter.type, "")
    return replace(guess, text=f"{conversion}({guess.text})") if conversion else guess


def _guess_only_size(parameters: Sequence[Parameter], guesses: list[Guess]) -> list[Guess]:
    """A kernel with a single size multiplies square matrices."""
    sizes = [index for index, each in enumerate(parameters) if not each.pointer and each.type not in _FLOATS]
    sizes = [index for index in sizes if guesses[index].text != "stream"]
    if len(sizes) == 1 and normalise(parameters[sizes[0]].name) in _ONLY_SIZES:
        guesses[sizes[0]] = _convert(parameters[sizes[0]], Guess("N", SQUARE))
    return guesses


def _guess_unnamed_operands(parameters: Sequence[Parameter], guesses: list[Guess]) -> list[Guess]:
    """Three pointers of which none is known by its name are A, B and C, or C, A and B if only the first is written."""
    pointers = [index for index, each in enumerate(parameters) if each.pointer and "&" not in guesses[index].text]
    if len(pointers) != 3 or any(guesses[index].text in ("A", "B", "C") for index in pointers):
        return guesses
    written = [index for index in pointers if not parameters[index].const]
    order = "CAB" if written == pointers[:1] else "ABC"
    for index, operand in zip(pointers, order, strict=True):
        guesses[index] = Guess(operand, f"is {_describe(parameters[index])} {operand}?")
    return guesses
