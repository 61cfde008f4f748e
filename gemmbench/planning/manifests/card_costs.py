"""The constants of the candidates of a `pick` that were fitted to times on a card.

`NAME.costs/CARD.yaml` next to the file of a kernel holds those for one card:

    card: NVIDIA H100
    date: 2026-11-26
    revision: 87d6d079
    fit: least squares of relative errors at 4000 drawn shapes
    costs:
    - precisions: [f32]
      region: short                 # as in the row of `pick`; left out if that has none
      candidates:
        sgemm_small:
          BM=16 BN=64 BK=16: {start: 736, each: 4740}

A variant whose candidates share their constants has these instead of candidates, outside regions: `start: 736`.
Instead of `costs`, `same_as: nvidia-h100` takes those of another card. A candidate that is not listed keeps the
defaults of the manifest. One whose results were wrong has the word `wrong` for its constants, and is not picked. The
file is read when a pick is planned for its card.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from gemmbench.errors import SpecError, nearest
from gemmbench.planning.files import display_path, read_text_file
from gemmbench.planning.manifests.expressions import BATCH_NAMES, CARD_NAMES, DEVICE_NAMES, PROBLEM_NAMES
from gemmbench.planning.manifests.variant import Candidate, CostsFile, Pick, Variant
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.yaml_document import Document, parse_document
from gemmbench.planning.yaml_document import Path as DocumentPath

FittedCosts = Mapping[tuple[str, Candidate], Mapping[str, int] | None]
"""The constants of candidates by region and candidate; None if its results were wrong."""

_KNOWN = {*PROBLEM_NAMES, *DEVICE_NAMES, *CARD_NAMES, *BATCH_NAMES}
_VALUE = re.compile(r"([A-Z][A-Z0-9_]*)=(-?\d{1,18})")
_NO_PARAMETERS, _WRONG = "default", "wrong"
_FITTED_BY = "gemmbench tune {} --survey --write-pick"


class RegionFields(msgspec.Struct, forbid_unknown_fields=True):
    """The constants of candidates in some precisions and one region."""

    precisions: list[str]
    candidates: dict[str, Any]
    region: str = ""


class CostsModel(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a file with fitted constants."""

    card: str
    date: str = ""
    revision: str = ""
    fit: str = ""
    same_as: str = ""
    costs: list[RegionFields] = []


@dataclass(frozen=True)
class RegionCosts:
    """The constants of candidates in one precision and region; None for one whose results were wrong."""

    precision: str
    region: str
    costs: Mapping[Candidate, Mapping[str, int] | None]


def find_costs_file(kernel: Path, card: str) -> Path:
    """Return the path of the file with the constants of a card for the kernel in a file."""
    return kernel.with_suffix(".costs") / f"{card}.yaml"


def read_costs_files(kernel: Path) -> tuple[CostsFile, ...]:
    """Read the files with fitted constants next to the file of a kernel, in order. Raises SpecError."""
    found = sorted(kernel.with_suffix(".costs").glob("*.yaml"))
    return tuple(CostsFile(path.stem, display_path(path), read_text_file(path)) for path in found)


def check_parameters(variant: Variant, pick: Pick, declared: Sequence[str]) -> None:
    """Raise SpecError for a name in the model of a candidate that is none of its parameters `declared`."""
    known = {*_KNOWN, *declared, *(name for name, _ in pick.costs)}
    for cost, default in pick.costs if pick.shares_costs else ():
        if read := next((name for name in default.names if name in declared), None):
            message = (
                f"costs.{pick.variant}.{cost}: reads {read}, but all candidates share it; let `estimates` read {read}"
            )
            raise SpecError(variant.path, default.line, message)
    for expression in (*(default for _, default in pick.costs), *((pick.estimate,) if pick.estimate else ())):
        for name in expression.names:
            if name not in known:
                hint = f"{nearest(name, declared)}; known: {', '.join(declared) or 'none'}"
                message = f"{expression}: {pick.variant} has no parameter '{name}'{hint}"
                raise SpecError(variant.path, expression.line, message)


def find_fitted(variant: Variant, card: str, precision: str) -> FittedCosts:
    """Return the constants fitted for a card in a precision; empty if there are none. Raises SpecError."""
    file = next((each for each in variant.costs if each.card == card), None)
    if file is None:
        return {}
    if precision not in file.known:  # planning a sweep asks for the same ones again and again
        parts = [part for part in read_costs(variant, follow_same_as(variant, file)) if part.precision == precision]
        file.known[precision] = {(each.region, name): costs for each in parts for name, costs in each.costs.items()}
    return file.known[precision]


def follow_same_as(variant: Variant, file: CostsFile) -> CostsFile:
    """Return the file, or that of the card whose constants it takes. Raises SpecError."""
    document = parse_document(file.text, file.location)
    model = document.convert(CostsModel)
    if not model.same_as:
        return file
    if model.costs:
        raise document.error_at(("costs",), "costs: cannot be combined with `same_as`; remove one of them")
    others = {each.card: each for each in variant.costs if each is not file}
    if model.same_as not in others:
        message = f"same_as: no constants of '{model.same_as}'{nearest(model.same_as, others)}"
        raise document.error_at(("same_as",), f"{message}; known: {', '.join(others) or 'none'}; correct or remove it")
    found = others[model.same_as]
    if again := parse_document(found.text, found.location).convert(CostsModel).same_as:
        message = f"same_as: '{model.same_as}' itself takes those of '{again}'; name a card with `costs`"
        raise document.error_at(("same_as",), message)
    return found


def read_costs(variant: Variant, file: CostsFile) -> list[RegionCosts]:
    """Read the constants in a file for the candidates of a variant, precision by precision. Raises SpecError."""
    document = parse_document(file.text, file.location)
    model = document.convert(CostsModel)
    return [each for index in range(len(model.costs)) for each in _CostsReader(document, variant).read(index, model)]


class _CostsReader:
    """Reads the constants in one file. Every error names its line and what to do."""

    def __init__(self, document: Document, variant: Variant):
        self.document = document
        self.picks = {pick.variant: pick for pick in variant.picks if pick.estimate}
        self.regions = sorted({pick.region for pick in variant.picks if pick.estimate})
        self.refit = f"or fit all again: {_FITTED_BY.format(variant.name)}"

    def read(self, index: int, model: CostsModel) -> Iterator[RegionCosts]:
        """Yield the constants of an entry of `costs`, once for each precision."""
        written, path = model.costs[index], ("costs", index)
        for place, name in enumerate(written.precisions):
            if name not in PRECISIONS:
                message = f"precisions: unknown '{name}'{nearest(name, PRECISIONS)}; correct it"
                raise self.document.error_at((*path, "precisions", place), message)
        if written.region not in self.regions:
            known = ", ".join(filter(None, self.regions)) or "none"
            message = f"region: no row of `pick` has the region '{written.region}'; known: {known}; correct it,"
            raise self.document.error_at((*path, "region"), f"{message} {self.refit}")
        same = [other for other in model.costs[:index] if other.region == written.region]
        for place, precision in enumerate(written.precisions):
            if any(precision in other.precisions for other in same):
                message = f"precisions: {precision} is listed twice; keep one of the entries"
                raise self.document.error_at((*path, "precisions", place), message)
        costs: dict[Candidate, Mapping[str, int] | None] = {}
        for name, configurations in written.candidates.items():
            at: DocumentPath = (*path, "candidates", name)
            if name not in self.picks:
                hint = nearest(name, self.picks)
                message = f"candidates: '{name}' is no candidate of the pick{hint}; remove it, {self.refit}"
                raise self.document.error_at(at, message)
            pick, shared = self.picks[name], {}
            if not isinstance(configurations, dict):
                lines = f"{pick.costs[0][0]}: 900" if pick.shares_costs and pick.costs else "BM=64 BN=64: {start: 900}"
                raise self.document.error_at(at, f"{name}: write lines such as `{lines}`")
            if pick.shares_costs and written.region:
                message = f"{name}: its candidates share their constants in all regions; list it without `region`"
                raise self.document.error_at(at, message)
            for text, values in configurations.items():
                if pick.shares_costs and values != _WRONG:
                    shared[text] = values
                    continue
                candidate = name, self.read_configuration((*at, text), text, pick)
                if candidate in costs:
                    raise self.document.error_at((*at, text), f"{name} {text}: listed twice; keep one of them")
                costs[candidate] = self.read_values((*at, text), values, pick)
            if pick.shares_costs:
                costs[pick.costs_key[1]] = self.read_values(at, shared, pick)
        for precision in written.precisions:
            yield RegionCosts(precision, written.region, costs)

    def read_configuration(self, path: DocumentPath, text: str, pick: Pick) -> tuple[tuple[str, int], ...]:
        """Read `BM=64 BN=64`, with the defaults of other parameters."""
        assert pick.code is not None, "the catalog fills it in"
        values, declared = {}, pick.code.default()
        for word in [] if text == _NO_PARAMETERS else text.split():
            found = _VALUE.fullmatch(word)
            if found is None or found[1] not in declared:
                message = f"'{word}' is not a value of a parameter of {pick.variant}; write such as BM=64"
                raise self.document.error_at(path, f"{message}; known: {', '.join(declared) or 'none'}")
            values[found[1]] = int(found[2])
        return tuple(sorted({**declared, **values}.items()))

    def read_values(self, path: DocumentPath, values: object, pick: Pick) -> Mapping[str, int] | None:
        """Read the constants of a candidate: all that its model has, and whole numbers from 0 on. `wrong` is None."""
        if values == _WRONG:
            return None
        names = [name for name, _ in pick.costs]
        if not isinstance(values, dict):
            example = ", ".join(f"{name}: 0" for name in names)
            raise self.document.error_at(path, f"write the constants of {pick.variant} as {{{example}}}")
        for name, value in values.items():
            if name not in names:
                message = f"{pick.variant} has no constant '{name}'{nearest(name, names)}; remove it, {self.refit}"
                raise self.document.error_at((*path, name), message)
            if type(value) is not int or value < 0:
                raise self.document.error_at((*path, name), f"{name}: {value!r} should be a whole number from 0 on")
        if missing := [name for name in names if name not in values]:
            message = f"{pick.variant} also has the constant '{missing[0]}'; add it, {self.refit}"
            raise self.document.error_at(path, message)
        return {name: values[name] for name in names}


def format_costs(variant: Variant, head: Mapping[str, str], parts: Iterable[RegionCosts]) -> str:
    """Write a file with constants fitted for candidates of a variant. Precisions with the same ones share an entry."""
    orders = {pick.variant: list(pick.values) for pick in variant.picks}
    shared: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        shared.setdefault((part.region, _format_candidates(part.costs, orders)), []).append(part.precision)
    entries = [
        f"- precisions: [{', '.join(precisions)}]\n{f'  region: {region}' + chr(10) if region else ''}{candidates}"
        for (region, candidates), precisions in shared.items()
    ]
    keys = "".join(f"{name}: {_quote(value)}\n" for name, value in head.items() if value)
    return "".join([keys, "costs:\n" if entries else "", *entries])


def _format_candidates(costs: Mapping[Candidate, Mapping[str, int] | None], orders: Mapping[str, Sequence[str]]) -> str:
    """Write candidates, variant by variant, with their parameters in the order of the variant's manifest."""
    lines = ["  candidates:\n"]
    for name in dict.fromkeys(name for name, _ in costs):
        lines.append(f"    {name}:\n")
        lines += [f"      {cost}: {value}\n" for cost, value in (costs.get((name, ())) or {}).items()]
        for values, each in ((dict(values), each) for (other, values), each in costs.items() if other == name):
            if (name, ()) in costs and each is not None:
                continue
            text = " ".join(f"{key}={values[key]}" for key in orders[name]) or _NO_PARAMETERS
            written = ", ".join(f"{cost}: {value}" for cost, value in (each or {}).items())
            lines.append(f"      {text}: {_WRONG}\n" if each is None else f"      {text}:\n        {{{written}}}\n")
    return "".join(lines)


def _quote(text: str) -> str:
    """Write a text so that YAML reads no number, date or comment in it."""
    return "'" + text.replace("'", "''") + "'"
