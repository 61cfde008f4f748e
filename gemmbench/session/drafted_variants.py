"""Makes variants from files without a manifest: it is found by trying on the CPU, or drafted if nothing is in doubt."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from gemmbench.backends import registry
from gemmbench.bench.verify.diagnosis import LOWER_PRECISION, Diagnosis
from gemmbench.bench.verify.manifest_doubts import explain_loose_bounds, question_columns
from gemmbench.bench.verify.reference import Reference
from gemmbench.errors import DeviceError, SpecError, UsageError
from gemmbench.planning.drafts.draft import MARK, Attempt, FoundManifest, NotFound, TriedResult, draft_manifest
from gemmbench.planning.drafts.python_draft import draft_python
from gemmbench.planning.files import display_path, read_code_file
from gemmbench.planning.manifests.catalog import read_drafted
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.problems import Problem
from gemmbench.session.reporter import SILENT, Reporter

_MOST_OTHERS = 5


def draft_variant(path: Path, symbol: str, reporter: Reporter = SILENT) -> Variant:
    """Make a variant from a file without a manifest. `symbol` is its kernel, or "" for the first that computes a GEMM.

    The result is reported in two lines. Raises SpecError, and UsageError for an unknown kernel.
    """
    text = read_code_file(path)
    place = display_path(path)
    name = str(path) if path.is_absolute() or str(path).startswith("./") else f"./{path}"
    keep = f"gemmbench new NAME --from {shlex.quote(name)}"
    if path.suffix == ".py":
        return _draft_python(text, path, symbol, keep, reporter)
    try:
        found = _find(text, path, symbol)
    except (NotFound, DeviceError) as fault:
        if isinstance(fault, DeviceError) or fault.unsupported:
            drafted = draft_manifest(text, path, path.parent, symbol or None)
            if drafted.is_sure:
                reporter.message(f"{place} has no manifest: {drafted.symbol}, as it is declared and launched ({fault})")
                reporter.message(f"  keep it: {keep} --symbol {shlex.quote(drafted.symbol)}")
                return read_drafted(path, drafted.text, text)
        if isinstance(fault, NotFound) and fault.attempts:
            assumption = _choose_assumption(fault.attempts)
            chosen = assumption.attempt
            settle = f"{keep} --symbol {shlex.quote(fault.attempts[0].kernel)}"
            if chosen is None:
                raise SpecError(
                    place, None, f"no manifest: {fault}, and {assumption.reason}; write the one that is meant: {settle}"
                ) from None
            reporter.message(f"{place} has no manifest: {fault}; assumed {chosen.summary}")
            reporter.message(f"  assumed {assumption.reason}; if that is wrong, write a manifest: {settle}")
            return read_drafted(path, chosen.text, text)
        if isinstance(fault, NotFound) and fault.unsupported:
            reporter.message(f"{place} has no manifest, and the CPU device, which finds one by trying, cannot run it")
            reporter.message(f"  to run it on a GPU, write one: {keep}{symbol and f' --symbol {shlex.quote(symbol)}'}")
            return Variant.untried(name, fault.unsupported)
        if isinstance(fault, NotFound) and fault.compiler_error:
            raise _cite_compiler(fault.compiler_error, place) from None
        message = f"no manifest, and trying did not find one: {fault}; write one: {keep}"
        raise SpecError(place, None, message) from None
    if explained := _explain_attempts(found.attempts[:_MOST_USUAL]):
        doubt = f"{place} has no manifest: {found.kernel} is correct only as {found.summary}"
        assumption = _Assumption(explained[0].attempt, "because a single mistake then explains its result")
        _report_assumption(doubt, assumption, f"{keep} --symbol {shlex.quote(found.kernel)} --try", reporter)
        return read_drafted(path, explained[0].attempt.text, text)
    effort = _describe_effort(found)
    tried = f"found the arguments of {found.kernel} by trying ({effort})"
    reporter.message(f"{place} has no manifest; {tried}: {found.summary}")
    listed = ", ".join(f"{name}:{each}" for each in found.others[:_MOST_OTHERS])
    others = f"; other kernels: {listed}" if listed and not symbol else ""
    reporter.message(f"  keep it: {keep} --symbol {shlex.quote(found.kernel)} --try{others}")
    if found.attempts:
        reporter.message(
            f"  it is not correct with {found.attempts[0].summary.partition(';')[0]}, which was tried first"
        )
    variant = read_drafted(path, found.text, text)
    questions = (f"  {question_columns(variant, operand)}" for operand in found.by_columns)
    for line in (*_describe_broken_guards(found, variant), *questions):
        reporter.message(line)
    if found.wrong_launch:
        reporter.message(f"  {found.wrong_launch}")
    return replace(variant, wrongly_launched=bool(found.wrong_launch))


def _draft_python(text: str, path: Path, symbol: str, keep: str, reporter: Reporter) -> Variant:
    """Make the variant of a Python file. Doubtful lines of its manifest are reported."""
    try:
        draft = draft_python(text, path, path.parent, symbol or None)
    except SpecError:  # it names the file and the line
        raise
    except UsageError as fault:
        raise SpecError(display_path(path), None, str(fault).removeprefix(f"{display_path(path)}: ")) from None
    variant = read_drafted(path, draft.text, text)
    python, place = variant.python, display_path(path)
    keys = [word for word, said in (("returns C", python.returns), ("default stream", python.default_stream)) if said]
    size = [f"only {draft.sizes}"] if draft.sizes else []
    facts = [*variant.precisions, *variant.layouts, *keys, *size]
    reporter.message(f"{place} has no manifest; it is called as {python.call} ({', '.join(facts)})")
    for line in draft.text.splitlines():
        if MARK in line:
            assumed, _, doubt = line.partition(f"  {MARK}: ")
            reporter.message(f"  assumed {assumed}: {doubt}")
    others = f"; other functions: {', '.join(f'{place}:{name}' for name in draft.others[:_MOST_OTHERS])}"
    reporter.message(f"  keep or change it: {keep}{others if draft.others else ''}")
    return variant


_COMPILER_ERROR = re.compile(r"(.+?):(\d+)(?::\d+)?: ((?:fatal )?error: .*)")


def _cite_compiler(text: str, place: str) -> SpecError:
    """Turn a compiler's message about a file into an error at the line that it names."""
    found = _COMPILER_ERROR.search(text)
    if found is None:
        return SpecError(place, None, text)
    return SpecError(found[1].rpartition(": ")[2], int(found[2]), f"the compiler says {found[3]}")


_MOST_SECONDS, _MOST_USUAL, _MOST_LISTED = 4.0, 2, 3
_LEAST_RIGHT, _CLEARLY_MORE = 0.3, 0.2
"""The smallest share of correct elements that decides which roles are meant, and its smallest lead over others."""


@dataclass(frozen=True)
class _Assumption:
    """The attempt that a wrong kernel is taken for, and the reason, worded to follow "assumed"; None if unknown."""

    attempt: Attempt | None
    reason: str


def _report_assumption(doubt: str, assumption: _Assumption, settle: str, reporter: Reporter) -> None:
    assert assumption.attempt is not None, "there is one to report"
    reporter.message(f"{doubt}; assumed {assumption.attempt.summary}")
    reporter.message(f"  assumed {assumption.reason}; if that is wrong, write a manifest: {settle}")


def _choose_assumption(attempts: Sequence[Attempt]) -> _Assumption:
    """Choose the attempt that was probably meant.

    If the names and the launch make clear which one was meant, it is chosen. Otherwise it is the attempt whose result a
    single mistake explains, or else the one with the most correct elements.
    """
    first = attempts[0]
    if first.is_meant:
        return _Assumption(first, "because names and code say so")
    explained = _explain_attempts(attempts)
    simplest = min((each.changes for each in explained), default=0)
    found = {each.attempt.arguments: each for each in reversed(explained) if each.changes == simplest}
    equal = list(reversed(found.values()))
    if len({each.cause for each in equal}) > 1:
        listed = " or ".join(f"{each.attempt.arguments} ({each.words})" for each in equal[:_MOST_LISTED])
        return _Assumption(None, f"{len(equal)} assumptions explain its result equally well: {listed}")
    if equal:
        others = " or ".join(each.attempt.arguments for each in equal[1:_MOST_LISTED])
        also = f", as it does with {others}" if others else ""
        return _Assumption(equal[0].attempt, f"because a single mistake then explains its result{also}")
    if len({each.arguments for each in attempts}) == 1:
        return _Assumption(max(attempts, key=lambda each: each.right), "because names and code suggest it")
    best = max(attempts, key=lambda each: each.right)
    rival = max(each.right for each in attempts if each.arguments != best.arguments)
    if best.right >= max(_LEAST_RIGHT, rival + _CLEARLY_MORE):
        return _Assumption(best, f"because {best.right:.0%} of its elements are right then")
    return _Assumption(None, "its names do not tell which argument is which")


@dataclass(frozen=True)
class _Explained:
    """An attempt whose result is explained by a mistake, with the cause and a description of it."""

    attempt: Attempt
    cause: str
    words: str

    @property
    def changes(self) -> int:
        """The number of matrices that the mistake concerns."""
        return 1 + self.cause.count(" and ")


def _explain_attempts(attempts: Sequence[Attempt]) -> list[_Explained]:
    """Find the attempts whose result is explained by a mistake. Stops when the time is up."""
    found, deadline = list[_Explained](), time.monotonic() + _MOST_SECONDS
    for attempt in attempts:
        for result in attempt.results:
            if time.monotonic() > deadline:
                return found
            diagnosis = _explain_result(result)
            if diagnosis and diagnosis.words.startswith("as ") and diagnosis.cause != LOWER_PRECISION:
                found.append(_Explained(attempt, diagnosis.cause, diagnosis.words))
                break
    return found


def _describe_broken_guards(found: FoundManifest, variant: Variant) -> Iterator[str]:
    """Describe in sentences the sizes for which a kernel has guards but is still wrong."""
    writes_outside = any(not result.is_inside for _, result in found.broken_guards)
    if loose := explain_loose_bounds(variant) if writes_outside else "":
        yield f"  {found.kernel} writes outside C: {loose}"
        return
    for guard, result in found.broken_guards:
        diagnosis = _explain_result(result)
        sizes, lacking = "x".join(map(str, result.sizes)), guard.needed[0]
        cause = diagnosis.words if diagnosis and diagnosis.words else "most of C is wrong"
        cause = cause if result.is_inside else f"it writes outside C, so a guard on {lacking} is missing or wrong"
        only = "" if lacking in guard.tested else f" not {lacking}, and"
        yield (
            f"  {found.kernel} tests {' and '.join(guard.tested)}, but{only} is correct only where "
            f"{guard.needed}: at {sizes}, {cause}"
        )


_FLIPPED = {"n": "t", "t": "n"}


def _explain_result(result: TriedResult) -> Diagnosis | None:
    """Diagnose a wrong result. A column-major C is treated as the transposed product, with A and B exchanged."""
    M, N, K = result.sizes
    a, b, layout = result.A, result.B, result.layout
    if result.storage == "column":
        M, N, a, b, layout = N, M, b, a, _FLIPPED[layout[1]] + _FLIPPED[layout[0]]
    problem = Problem(M, N, K, layout=layout, precision_name=result.precision)
    flat = {"A": a, "B": b, "C": result.C}
    shaped = {name: each.reshape(problem.stored_shape(name)) for name, each in flat.items()}
    return Reference(problem, shaped, 1.0, 0.0).check_exact(shaped["C"]).diagnosis


def _describe_effort(found: FoundManifest) -> str:
    return f"{found.tries:,} {'try' if found.tries == 1 else 'tries'}, {found.seconds:.1f} s"


@cache
def _find(text: str, path: Path, symbol: str) -> FoundManifest:
    """Find the manifest of a file, only once per command. Raises NotFound, DeviceError and UsageError."""
    return registry.find_manifest(text, path, path.parent, symbol or None)


def find_manifest_text(code: Path, home: Path, symbol: str | None) -> FoundManifest:
    """Find the manifest of a file by trying, for the folder `home`. Raises UsageError if it fails, and DeviceError."""
    try:
        return registry.find_manifest(read_code_file(code), code, home, symbol)
    except NotFound as fault:
        if fault.compiler_error:
            raise _cite_compiler(fault.compiler_error, display_path(code)) from None
        raise UsageError(f"{display_path(code)}: trying did not find a manifest: {fault}; leave out --try") from None
