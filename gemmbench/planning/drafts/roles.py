"""Lists possible roles of each number and pointer that a kernel takes, in the order to try them, likeliest first."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.planning.cpp.signatures import Kernel, Parameter, Signatures
from gemmbench.planning.drafts.guesses import name_operand, name_scale, name_size

Roles = dict[int, str]
"""The role of each slot, by its number: A, B, C, M, N, K, alpha, beta, null, or a constant."""

_FP8 = {"e4m3", "e5m2"}
_POINTED = {"float", "double", "half", "bfloat16", "void", "float2", "float4", "double2", "half2", "bfloat162", *_FP8}
_NUMBERS = {"int", "unsigned", "long", "size_t", "short", "ushort", "bool", "char", "uchar"}
_FRACTIONS = {"float", "double", "half", "bfloat16"}
_SIZES = "MNK"
_MOST_UNKNOWN = 5
_COST_OF_TRUE = 3
"""The number of other size assignments to try before a flag is set to true."""


class Undecidable(Exception):
    """Raised if the roles of a kernel's arguments cannot be found. The message is a sentence without its subject."""


@dataclass(frozen=True)
class Slot:
    """A number or pointer: parameter number `parameter`, or its `field` if that is a structure.

    `owner` is the name of the structure. `kind` is pointer, size, flag (a bool) or scalar.
    """

    parameter: int
    field: str
    owner: str
    name: str
    type: str
    kind: str
    const: bool


def list_slots(kernel: Kernel, signatures: Signatures, types: dict[str, str]) -> list[Slot]:
    """List everything that a kernel takes. `types` are the types of its template. Raises Undecidable."""
    slots = []
    matrices = sum(each.stars == 1 and types.get(each.type, each.type) in _POINTED for each in kernel.parameters)
    for number, each in enumerate(kernel.parameters):
        kind = types.get(each.type, each.type)
        fields = None if each.stars else signatures.list_fields(kind)
        if kind == "dim3" and not each.stars:
            fields = [Parameter(axis, "unsigned") for axis in "xyz"]
        if fields:
            slots += [_make_slot(number, field.name, each.name, field, types) for field in fields]
        elif each.stars == 1 and matrices >= 3 and types.get(each.type, each.type) in _NUMBERS:
            named = f"{each.type}* {each.name}"
            raise Undecidable(f"takes an array of numbers besides its matrices (`{named}`), which trying does not fill")
        else:
            slots.append(_make_slot(number, "", "", each, types))
    scales = [slot.name for slot in slots if slot.kind == "pointer" and name_scale(slot.name)]
    if scales and any(slot.type in _FP8 for slot in slots):
        raise Undecidable(f"takes scales (`{scales[0]}`) of 8-bit floats, which trying does not fill")
    pointers = sum(slot.kind == "pointer" for slot in slots)
    if pointers < 3:
        raise Undecidable(f"takes {pointers} pointers, but a product needs three")
    return slots


def _make_slot(number: int, field: str, owner: str, each: Parameter, types: dict[str, str]) -> Slot:
    kind = types.get(each.type, each.type)
    if each.stars > 1:
        raise Undecidable(f"takes `{kind}{'*' * each.stars} {each.name}`, but an array of pointers cannot be passed")
    if each.stars and kind == "char":
        raise Undecidable(f"multiplies 8-bit integers (`{kind}* {each.name}`), which are not found by trying")
    if each.stars and kind not in _POINTED:
        hint = "; make their type a parameter of a template, or a typedef of float" if kind in _NUMBERS else ""
        raise Undecidable(f"multiplies {kind} matrices (`{kind}* {each.name}`), for which there is no precision{hint}")
    if not each.stars and kind not in _NUMBERS | _FRACTIONS:
        raise Undecidable(f"takes `{kind} {each.name}`, which is not a number, pointer or plain structure")
    roles = {**dict.fromkeys(_FRACTIONS, "scalar"), "bool": "flag"}
    role = "pointer" if each.stars else roles.get(kind, "size")
    return Slot(number, field, owner, each.name, kind, role, each.const)


_SHAPES = {"A": "MK", "B": "KN", "C": "MN"}
_ROW_WORDS = set("row rows nrow nrows height h line lines numrows hgt".split())
_COLUMN_WORDS = set("col cols ncol ncols column columns width w numcols numcolumns wid stride pitch ld lead".split())
_LAYERS = {"bt": "M", "batch": "M", "oc": "N", "infeatures": "K", "outfeatures": "N", "inputsize": "K"}


def _list_words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def _guess_size(slot: Slot) -> str:
    """Guess M, N or K from the name of a slot; "" if it says nothing."""
    if not slot.owner and (found := name_size(slot.name)):
        return {"lda": "K", "ldb": "N", "ldc": "N"}.get(found, found)
    words = _list_words(slot.name)
    letters = [word.upper() for word in (_list_words(slot.owner) if slot.owner else words) if word in ("a", "b", "c")]
    matrix = letters[0] if letters else name_operand(slot.owner) if slot.owner else ""
    if matrix in _SHAPES and set(words) & _ROW_WORDS:
        return _SHAPES[matrix][0]
    if matrix in _SHAPES and set(words) & _COLUMN_WORDS:
        return _SHAPES[matrix][1]
    return _LAYERS.get("".join(words), "")


_LEADING = set("stride pitch ld lead".split())


def _find_rows_of_leading(slot: Slot) -> str:
    """Return the row count of the matrix whose leading dimension this is if it is column-major; "" for none."""
    plain = name_size(slot.name) if not slot.owner else ""
    matrix = plain[2:].upper() if plain.startswith("ld") else ""
    if slot.owner and set(_list_words(slot.name)) & _LEADING:
        letters = [word.upper() for word in _list_words(slot.owner) if word in ("a", "b", "c")]
        matrix = letters[0] if letters else name_operand(slot.owner)
    return _SHAPES[matrix][0] if matrix in _SHAPES else ""


def _guess_operand(slot: Slot) -> str:
    name = slot.owner or slot.name
    letters = [word.upper() for word in _list_words(name) if word in ("a", "b", "c")]
    return name_operand(name) or (letters[0] if len(letters) == 1 else "")


def are_operands_named(slots: Sequence[Slot]) -> bool:
    """Return whether the names of the pointers distinguish A, B and C."""
    return {_guess_operand(slot) for slot in slots if slot.kind == "pointer"} >= set("ABC")


def are_sizes_named(slots: Sequence[Slot]) -> bool:
    """Return whether the names of the sizes distinguish M, N and K. One size needs no name."""
    sizes = [slot for slot in slots if slot.kind == "size"]
    return len(sizes) < 2 or {_guess_size(slot) for slot in sizes} >= set(_SIZES)


def order_pointers(slots: Sequence[Slot]) -> list[Roles]:
    """List possible roles of the pointers. If there are more than three, the rest have none. C is never constant."""
    places = [number for number, slot in enumerate(slots) if slot.kind == "pointer"]
    guesses = {number: _guess_operand(slots[number]) for number in places}
    extra = {number for number in places if slots[number].name.lower() == "bias"}
    options = []
    for chosen in itertools.combinations(places, 3):
        if len(places) > 3 and extra.intersection(chosen):
            continue
        for order in itertools.permutations("ABC"):
            roles = dict(zip(chosen, order, strict=True))
            if any(slots[number].const and role == "C" for number, role in roles.items()):
                continue
            right = sum(guesses[number] == role for number, role in roles.items())
            wrong = sum(guesses[number] not in ("", role) for number, role in roles.items())
            written = [number for number in chosen if not slots[number].const]
            score = 2 * right - wrong + 2 * (len(written) == 1 and roles[written[0]] == "C")
            options.append(
                (-score, ["ABC", "CAB"].index("".join(order)) if "".join(order) in ("ABC", "CAB") else 2, roles)
            )
    return [roles for _, _, roles in sorted(options, key=lambda option: option[:2])]


def order_sizes(slots: Sequence[Slot]) -> list[Roles]:
    """List possible roles of the sizes: by name, with all names permuted, with one changed, and with 1 and 0.

    Three sizes called M, N and K always get three different roles. Flags are first false, and then more and more of
    them are true.
    """
    flags = [number for number, slot in enumerate(slots) if slot.kind == "flag"]
    settings = [dict(zip(flags, values, strict=True)) for values in itertools.product("01", repeat=len(flags))]
    pairs = itertools.product(enumerate(_order_sizes(slots)), settings)
    ordered = sorted(pairs, key=lambda pair: pair[0][0] + _COST_OF_TRUE * list(pair[1].values()).count("1"))
    return [{**roles, **chosen} for (_, roles), chosen in ordered]


def _order_sizes(slots: Sequence[Slot]) -> list[Roles]:
    places = [number for number, slot in enumerate(slots) if slot.kind == "size"]
    guesses = {number: _guess_size(slots[number]) for number in places}
    if len(places) == 1:
        return [{places[0]: size} for size in dict.fromkeys([guesses[places[0]] or "N", *_SIZES])]
    known = {number: guess for number, guess in guesses.items() if guess}
    unknown = [number for number in places if not guesses[number]]
    found = []
    if len(unknown) <= _MOST_UNKNOWN:
        spread = sorted(itertools.product(_SIZES, repeat=len(unknown)), key=lambda values: -len(set(values)))
        usual = tuple("MNKMNK"[: len(unknown)])
        found += [known | dict(zip(unknown, values, strict=True)) for values in [usual, *spread]]
    by_columns = {number: each for number in known if (each := _find_rows_of_leading(slots[number]))}
    found[1:1] = [found[0] | by_columns] if by_columns and found else []
    for order in itertools.permutations(_SIZES):
        renamed = {number: order[_SIZES.index(guess)] for number, guess in known.items()}
        tried = (
            itertools.product(_SIZES, repeat=len(unknown)) if len(unknown) <= 2 else [tuple("MNKMN"[: len(unknown)])]
        )
        found += [renamed | dict(zip(unknown, values, strict=False)) for values in tried]
    if len(unknown) <= 2:
        for number in known:
            for values in itertools.product(_SIZES, repeat=len(unknown) + 1):
                found.append(known | {number: values[0]} | dict(zip(unknown, values[1:], strict=True)))
    if len(unknown) <= 3:
        for number, constant in itertools.product(unknown, ("1", "0")):
            rest = [each for each in unknown if each != number]
            for values in itertools.product(_SIZES, repeat=len(rest)):
                found.append(known | {number: constant} | dict(zip(rest, values, strict=True)))
    if len(places) <= 4:
        found += [dict(zip(places, values, strict=True)) for values in itertools.product(_SIZES, repeat=len(places))]
    letters = {number: slots[number].name.upper() for number in places if slots[number].name.upper() in _SIZES}
    unique = {
        tuple(sorted(roles.items())): roles
        for roles in found
        if len(roles) == len(places) and _keep_apart(roles, letters)
    }
    return list(unique.values()) or [{}]


def _keep_apart(roles: Roles, letters: dict[int, str]) -> bool:
    """Return whether slots called M, N and K, if all exist, have different roles. If not, a mistake may seem right."""
    if set(letters.values()) != set(_SIZES):
        return True
    pairs = {(letter, roles[number]) for number, letter in letters.items()}
    return len(pairs) == len(_SIZES) == len({role for _, role in pairs} & set(_SIZES))


def assign_scalars(slots: Sequence[Slot]) -> Roles:
    """Assign alpha and beta by name or by order. All other scalars are 1."""
    scalars = [number for number, slot in enumerate(slots) if slot.kind == "scalar"]
    named = {number: slots[number].name.lower().strip("_") for number in scalars}
    known = {number: name for number, name in named.items() if name in ("alpha", "beta") and not slots[number].owner}
    left = (name for name in ("alpha", "beta") if name not in known.values() and not slots[scalars[0]].owner)
    return {number: known.get(number) or next(left, "1.0") for number in scalars}
