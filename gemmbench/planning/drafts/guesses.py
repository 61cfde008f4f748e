"""Guesses the roles of a function's arguments, values of template parameters, grid, block and requirements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gemmbench.planning.drafts.declarations import Function, LaunchSite, Parameter
from gemmbench.planning.drafts.scanning import evaluate, translate
from gemmbench.planning.precisions import resolve_precision
from gemmbench.planning.problems import OFFSETS, SCALED

SQUARE = "square"
"""The doubt about a size if it is a kernel's only one."""

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
_SCALES = {
    f"{before}{matrix}{after}": f"scale_{matrix}"
    for matrix in "ab"
    for before, after in (("scale", ""), ("scales", ""), ("", "scale"), ("", "scales"), ("s", ""), ("sf", ""))
}
_OFFSETS = {f"{before}{name}" for before in ("", "group", "row", "expert") for name in ("offsets", "offs", "starts")}
_OFFSET_TYPES = ("int", "int32_t", "std::int32_t")
_GROUPS = {"g", "groups", "numgroups", "ngroups", "experts", "numexperts", "nexperts"}
_SCALARS = {"alpha": "alpha", "beta": "beta"}
_PLACES = "d|dev|device|gpu|g|ptr|p|mat|matrix|global|gmem"
_AFFIXES = (rf"^(?:{_PLACES})_+", rf"(?<!_)_+(?:{_PLACES})$")
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
    """An entry for a manifest. `doubt` says why it may be wrong; "" if the code says so."""

    text: str
    doubt: str = ""


def guess_arguments(function: Function, types: Mapping[str, str]) -> list[Guess]:
    """Return the items of `args`, one for each parameter. `types` are the values of the template's types."""
    parameters = [replace(each, type=types.get(each.type, each.type)) for each in function.parameters]
    guesses = [_guess_argument(each) for each in parameters]
    guesses = _guess_written_operand(parameters, _guess_only_size(parameters, guesses))
    return _guess_unnamed_operands(parameters, _guess_scales_and_groups(parameters, guesses, function.body))


def _guess_written_operand(parameters: Sequence[Parameter], guesses: list[Guess]) -> list[Guess]:
    """Guess that the only operand that is not constant is C, and that another with its name's role is not it."""
    operands = [index for index, each in enumerate(parameters) if each.pointer and guesses[index].text in "ABC"]
    written = [index for index in operands if not parameters[index].const]
    if len(written) != 1 or guesses[written[0]].text == "C" or not guesses[written[0]].doubt:
        return guesses
    taken = {"C", *(guesses[index].text for index in operands if not guesses[index].doubt)}
    for index in operands:
        role = "C" if index == written[0] else guesses[index].text
        if index != written[0] and role in taken and guesses[index].doubt:
            role = next((name for name in "AB" if name not in taken), role)
        if role != guesses[index].text:
            guesses[index] = Guess(role, f"is {_describe(parameters[index])} {role}?")
        taken.add(role)
    return guesses


def _guess_scales_and_groups(parameters: Sequence[Parameter], guesses: Sequence[Guess], body: str) -> list[Guess]:
    """Guess the scales of matrices in e4m3, and the offsets and the number of groups of rows."""
    is_scaled = any(each.pointer and resolve_precision(each.type) == "e4m3" for each in parameters)
    is_grouped = any(_takes_offsets(each, body) for each in parameters)
    found = list[Guess]()
    roles = zip((each.name for each in parameters), (guess.text for guess in guesses), strict=True)
    factors = {name: role for name, role in roles if role in ("A", "B")}
    for each, guess in zip(parameters, guesses, strict=True):
        name, scale = _normalise(each.name), _name_scale_of(each.name, factors) if is_scaled else ""
        if _takes_offsets(each, body):
            guess = Guess(OFFSETS)
        elif each.pointer and each.type == "float" and scale:
            guess = Guess(scale)
        elif is_grouped and guess.doubt and not each.pointer and each.type not in _FLOATS and name in _GROUPS:
            guess = _convert(each, Guess("groups"))
        found.append(guess)
    return found


def _name_scale_of(name: str, factors: Mapping[str, str]) -> str:
    """Return `scale_a` or `scale_b` if a name means that, also after the names of A and B; "" otherwise."""
    for factor, operand in factors.items():
        plain = re.escape(factor)
        if re.fullmatch(rf"{plain}_?(?:scales?|sf)|(?:scales?|sf)_?{plain}", name, re.IGNORECASE):
            return f"scale_{operand.lower()}"
    return name_scale(name)


def _takes_offsets(parameter: Parameter, body: str) -> bool:
    """Whether a parameter is called offsets, or is read at an index and at the next one, as only these are."""
    if not parameter.pointer or parameter.type not in _OFFSET_TYPES:
        return False
    is_read = re.search(rf"\b{re.escape(parameter.name)}\s*\[[^]]*\+\s*1\s*\]", body)
    return _normalise(parameter.name) in _OFFSETS or (parameter.const and is_read is not None)


def guess_shared_scales(function: Function, guesses: Sequence[Guess]) -> str:
    """Return what shares a scale, by the indices that scales are read at: tensor, rows or blocks."""
    names = [each.name for each, guess in zip(function.parameters, guesses, strict=True) if guess.text in SCALED]
    indices = [index for name in names for index in re.findall(rf"\b{re.escape(name)}\s*\[([^]]*)\]", function.body)]
    if any("/" in index or ">>" in index for index in indices):
        return "blocks"
    return "tensor" if indices and all(index.strip() == "0" for index in indices) else "rows"


def _guess_argument(parameter: Parameter) -> Guess:
    name = _normalise(parameter.name)
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


def _normalise(name: str) -> str:
    """Return a name in lower case, reduced to its letter: `d_A`, `A_ptr` and `matA` become a."""
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
    """Add the parameter's type to a guess unless it is int or the type of the accumulator."""
    conversion = _CONVERSIONS.get(parameter.type, "")
    return replace(guess, text=f"{conversion}({guess.text})") if conversion else guess


def _guess_only_size(parameters: Sequence[Parameter], guesses: list[Guess]) -> list[Guess]:
    """Guess that a kernel with only one size multiplies square matrices."""
    sizes = [index for index, each in enumerate(parameters) if not each.pointer and each.type not in _FLOATS]
    sizes = [index for index in sizes if guesses[index].text != "stream"]
    if len(sizes) == 1 and _normalise(parameters[sizes[0]].name) in _ONLY_SIZES:
        guesses[sizes[0]] = _convert(parameters[sizes[0]], Guess("N", SQUARE))
    return guesses


def _guess_unnamed_operands(parameters: Sequence[Parameter], guesses: list[Guess]) -> list[Guess]:
    """Guess that three pointers with unclear names are A, B and C, or C, A and B if only the first is written."""
    others = {OFFSETS, *SCALED, *_OPERANDS.values()} - {*"ABC"}
    pointers = [index for index, each in enumerate(parameters) if each.pointer and "&" not in guesses[index].text]
    pointers = [index for index in pointers if guesses[index].text not in others]
    is_known = {guesses[index].text for index in pointers} == {*"ABC"}
    if (
        len(pointers) != 3
        or is_known
        or any(guesses[index].text in "ABC" for index in pointers if not guesses[index].doubt)
    ):
        return guesses
    written = [index for index in pointers if not parameters[index].const]
    order = "CAB" if written == pointers[:1] else "ABC"
    for index, operand in zip(pointers, order, strict=True):
        guesses[index] = Guess(operand, f"is {_describe(parameters[index])} {operand}?")
    return guesses


_USUAL_VALUES = {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8, "WM": 64, "WN": 64, "THREADS": 256, "TILE": 32}
_ROLES = {
    "BM": r"BM|BLOCK_?M|BLOCK_SIZE_M|TILE_?M|MB|M_?TILE|M_?BLOCK|BLOCK_TILE_SIZE_Y|MS|BLOCK_?ROWS|TILE_?ROWS",
    "BN": r"BN|BLOCK_?N|BLOCK_SIZE_N|TILE_?N|NB|N_?TILE|N_?BLOCK|BLOCK_TILE_SIZE_X|NS|BLOCK_?COLS|TILE_?COLS",
    "BK": r"BK|BLOCK_?K|BLOCK_SIZE_K|TILE_?K|KB|K_?TILE|K_?BLOCK|BLOCK_TILE_SIZE_K|KS",
    "TM": r"TM|THREAD_?M|THREAD_TILE_SIZE_Y|THREAD_SIZE_Y|RM",
    "TN": r"TN|THREAD_?N|THREAD_TILE_SIZE_X|THREAD_SIZE_X|RN",
    "WM": r"WM|WARP_?M|WARP_TILE_SIZE_Y",
    "WN": r"WN|WARP_?N|WARP_TILE_SIZE_X",
    "THREADS": r"(?:NUM_?)?THREADS(?:_?NUM|_PER_BLOCK)?|NT",
    "TILE": r"(?:BLOCK|TILE|BS|TS|BLK|T)(?:_?SIZE|_?DIM|_?WIDTH|_?SZ)?",
}
_BOUNDS = re.compile(r"__launch_bounds__\s*\(\s*([^,()]*(?:\([^()]*\)[^,()]*)*)")
_AXIS = re.compile(r"\b(\w+)\s*=[^;=]*\bblockIdx\s*\.\s*([xy])")


@dataclass(frozen=True)
class Names:
    """The names in the code: its sizes, its template parameters by manifest name, and its constants."""

    sizes: Mapping[str, str]
    params: Mapping[str, str]
    constants: Mapping[str, str]

    def translate(self, text: str) -> str | None:
        """Translate a C++ expression into one of a manifest; None if that is impossible."""
        known = (*self.params.values(), *self.sizes.values())
        return translate(text, {**self.sizes, **self.params}, known, self.constants)


def name_params(function: Function, reserved: Sequence[str]) -> dict[str, str]:
    """Return manifest names for a template's integers, in upper case and different from names that are taken."""
    names = {}
    for each in function.template:
        if not each.is_type:
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", each.name).upper().strip("_")
            names[each.name] = f"P_{name}" if name in reserved or not name[:1].isalpha() else name
    return names


def guess_value(name: str, written: str, constants: Mapping[str, str]) -> Guess:
    """Return the value of a template's parameter: that of a launch, or its default, or else a usual one."""
    value = evaluate(written, constants) if written else None
    if value is not None:
        return Guess(str(value))
    role = _find_role(name)
    return Guess(str(_USUAL_VALUES.get(role, 1)), "a usual value")


def _find_role(name: str) -> str:
    """Return the usual parameter that a name means, such as BM for BM, BM_2 or kBM; "" for none."""
    word = re.sub(r"^k_?(?=[A-Z])|_?(?<!\d)\d+$", "", name)
    return next((role for role, pattern in _ROLES.items() if re.fullmatch(pattern, word, re.IGNORECASE)), "")


def guess_grid(function: Function, site: LaunchSite | None, names: Names, column_major: bool) -> list[Guess]:
    """Return the blocks in x, y and z: those of the launch, or else one for each tile of C.

    In the latter case, x runs along the contiguous dimension of C.
    """
    if site and (found := _translate_all(site.grid, names)):
        return [Guess(text) for text in found]
    tiles = {"M": _find_tile("BM", names) or "32", "N": _find_tile("BN", names) or "32"}
    x, y = "MN" if find_axis_of_rows(function.body, usual="x" if column_major else "y") == "x" else "NM"
    across, down = (_find_step(function.body, axis)[0] or tiles[size] for axis, size in (("x", x), ("y", y)))
    doubt = f"one block for each tile of C, x along {x}?"
    grid = [Guess(f"cdiv({x}, {across})", doubt), Guess(f"cdiv({y}, {down})")]
    if "blockIdx.z" in function.body and any(_takes_offsets(each, function.body) for each in function.parameters):
        grid.append(Guess("groups", "one layer of blocks for each group?"))
    return grid


def _find_step(body: str, axis: str) -> tuple[str, bool]:
    """Return the number that the index of a block is multiplied by, and whether each thread has one element of it."""
    found = re.search(rf"\bblockIdx\s*\.\s*{axis}\s*\*\s*(\d+)\b(\s*\+\s*threadIdx\s*\.\s*{axis}\b(?!\s*[*/%]))?", body)
    return (found[1], found[2] is not None) if found else ("", False)


def guess_block(function: Function, site: LaunchSite | None, names: Names) -> list[Guess]:
    """Return the threads per block: those of the launch or of the launch bounds, or else a guess from the tiles."""
    if site and (found := _translate_all(site.block, names)):
        return [Guess(text) for text in found]
    flat = "threadIdx.y" not in function.body
    bounds = _BOUNDS.search(function.attributes)
    threads = names.translate(bounds[1]) if bounds else None
    if threads and flat:
        return [Guess(threads)]
    tile = _find_tile("TILE", names)
    if not flat:
        steps = (_find_step(function.body, axis) for axis in "xy")
        x, y = (step if is_block else tile or "32" for step, is_block in steps)
        return [Guess(x, "threads in x and y"), Guess(y)]
    tiles = [_find_tile(role, names) for role in ("BM", "BN", "TM", "TN")]
    if all(tiles):
        return [Guess("{} * {} // ({} * {})".format(*tiles), "threads per block")]
    return [Guess(_find_tile("THREADS", names) or (f"{tile} * {tile}" if tile else "256"), "threads per block")]


def guess_requirements(function: Function, names: Names) -> list[Guess]:
    """Guess what sizes must be multiples of if the code does not seem to compare them with anything."""
    words = {size: word for word, size in names.sizes.items()}
    guesses = []
    for size, role in (("M", "BM"), ("N", "BN"), ("K", "BK")):
        word, tile = words.get(size), _find_tile(role, names)
        if word and tile and not _is_guarded(function.body, word, is_depth=size == "K"):
            guesses.append(Guess(f"{size} % {tile} == 0", f"no test of {word} found"))
    return guesses


def _is_guarded(body: str, word: str, is_depth: bool) -> bool:
    """Return whether the code compares something with a size. Loops over K do not count."""
    code = re.sub(r"\bfor\s*\([^;]{0,500};[^;]{0,500};", "", body) if is_depth else body
    return re.search(rf"(?:<=?|>=?|==|!=|%)\s*\(?{word}\b|\b{word}\s*(?:<=?|>|%)", code) is not None


def _translate_all(texts: Sequence[str], names: Names) -> list[str]:
    """Translate expressions and drop trailing ones; [] if one cannot be translated."""
    found = [names.translate(text) for text in texts]
    while len(found) > 1 and found[-1] == "1":
        found.pop()
    return [text for text in found if text] if all(found) else []


def _find_tile(role: str, names: Names) -> str | None:
    """Return the parameter or constant with a role. The tile of a square block serves for both sides."""
    for wanted in (role, "TILE") if role in ("BM", "BN", "BK") else (role,):
        known = [name for name in {**names.params, **names.constants} if _find_role(name) == wanted]
        values = (names.translate(name) if name in names.constants else names.params[name] for name in known)
        if found := next(filter(None, values), None):
            return found
    return None


def find_axis_of_rows(body: str, indices: Sequence[str] = (), usual: str = "y") -> str:
    """Return which block index runs over the rows of C.

    It is the index in a variable whose name contains `row` or is among `indices`, or else `usual`.
    """
    axes: list[tuple[str, str]] = _AXIS.findall(body)
    named = [axis for word, axis in axes if "row" in word.lower()]
    other = [axis for word, axis in axes if word in indices]
    return [*named, *other, usual][0]


def name_size(name: str) -> str:
    """Return the size or leading dimension that a name means, whether or not that is certain; "" for none."""
    plain = _normalise(name)
    return _SIZES.get(plain) or _UNSURE_SIZES.get(plain, "")


def name_scale(name: str) -> str:
    """Return `scale_a` or `scale_b` if a name means that; "" otherwise."""
    return _SCALES.get(_normalise(name), "")


def name_operand(name: str) -> str:
    """Return the operand (A, B or C) that a name means, whether or not that is certain; "" for none."""
    plain = _normalise(name)
    found = _OPERANDS.get(plain) or _UNSURE_OPERANDS.get(plain, "")
    return found if found in ("A", "B", "C") else ""


def find_usual_value(name: str, instead: Mapping[str, int]) -> int:
    """Return the usual value of a parameter with this name, or the value in `instead` for its role."""
    role = _find_role(name)
    return instead.get(role) or _USUAL_VALUES.get(role, 1)


def find_tile_role(name: str) -> str:
    """Return the usual parameter that a name means, such as BM or TILE; "" for none."""
    return _find_role(name)
