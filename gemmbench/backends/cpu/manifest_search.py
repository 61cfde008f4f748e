"""Finds the manifest of a kernel by trial: argument roles, grid and block, and the storage of A, B and C.

Names and launches decide what is tried first, but never what counts as right. A call that gives the correct result on
one problem must also do so on problems of different proportions.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gemmbench.backends.cpu.kernel_reading import (
    MOST_THREADS,
    NUMPY_TYPES,
    USUAL,
    WARP,
    Geometry,
    KernelFile,
    KernelReading,
    Rule,
    Sizes,
    find_undefined,
    fix_sizes,
    is_guessing,
    make_tile_grid,
    order_kernels,
    read_file,
)
from gemmbench.backends.cpu.manifest_writing import (
    Found,
    can_write,
    describe_launch,
    find_precision,
    list_by_columns,
    list_sizes,
    summarise,
    write_call,
    write_manifest,
)
from gemmbench.backends.cpu.preprocessing import find_conditions, name_conditions, name_missing
from gemmbench.backends.cpu.tryouts import (
    SECONDS,
    Ending,
    Shape,
    Storage,
    Trial,
    TrialProblem,
    TrialProcess,
)
from gemmbench.errors import BuildError, LaunchError, PlanError, SpecError, Unsupported
from gemmbench.planning.cpp.signatures import Kernel
from gemmbench.planning.drafts.draft import (
    Attempt,
    BrokenGuard,
    FoundManifest,
    NotFound,
    TriedResult,
)
from gemmbench.planning.drafts.guesses import (
    find_usual_value,
)
from gemmbench.planning.drafts.launch_values import (
    UnknownValue,
    Value,
    find_launches,
)
from gemmbench.planning.drafts.roles import (
    Roles,
    Undecidable,
    are_operands_named,
    are_sizes_named,
    assign_scalars,
    order_pointers,
    order_sizes,
)
from gemmbench.planning.files import display_path

_BUDGET = 6.0
"""Seconds to spend on one kernel."""
_SHARE_OF_NAMED = 2 / 3
"""The fraction of the budget for a kernel whose arguments have clear names, because little is left to try."""
_POINTERS = {"null": 0, "A": 1, "B": 2, "C": 3, "zeros": 4}
_MOST_ENDLESS, _MOST_ATTEMPTS = 2, 6
"""The number of endless launches after which the search gives up, and the number of wrong attempts to keep."""
_WIDEST_VECTOR = 8
"""The most elements that a kernel may load with one instruction.

Required multiples up to this are kept even if the kernel tests its sizes.
"""
_MOSTLY_RIGHT, _MARGIN = 0.3, 0.1
"""The fraction of correct elements that reveals how matrices are stored, and the smallest difference between
combinations that counts. In a result unrelated to the product, about one element in thirty is right by chance.
"""
_FEWEST_LOOPS = 2
"""The number of loops in a simple tiled kernel: one over tiles, and one over the products within a tile."""


def find_manifest(text: str, path: Path, home: Path, symbol: str | None) -> FoundManifest:
    """Find a manifest for a kernel in `path`, which has this text. The manifest will be in the folder `home`.

    `symbol` is the name of the kernel.

    Raises NotFound, UsageError for an unknown `symbol`, SpecError for a text without kernels, and DeviceError
    without a compiler.
    """
    started = time.perf_counter()
    file = _bring_back(read_file(text, path, home), text, symbol or "")
    kernels = order_kernels(file, symbol)
    reasons, unsupported, compiler_error, attempts = list[str](), "", "", list[Attempt]()
    known = set[str]()
    for kernel in kernels:
        if kernel.symbol in known:
            continue
        known.add(kernel.symbol)
        try:
            reading, found = _search(file, kernel)
            file, manifest = reading.file, write_manifest(reading, found)
        except _NoneRight as fault:
            attempts = attempts or list(fault.attempts)
            reasons.append(f"{kernel.symbol} {fault}")
            continue
        except (Undecidable, PlanError, LaunchError) as fault:
            line = str(fault).partition("\n")[0]
            if isinstance(fault, Unsupported):
                unsupported = unsupported or line
            elif isinstance(fault, BuildError) and not is_guessing(file, kernel):
                compiler_error = compiler_error or line
            place = f"{Path(kernel.place[0]).name}:{kernel.place[1]}"
            is_sentence = isinstance(fault, Undecidable)
            reasons.append(f"{kernel.symbol} ({place}) {line}" if is_sentence else f"{kernel.symbol}: {line}")
            continue
        others = tuple(dict.fromkeys(each.symbol for each in file.signatures.kernels if each.symbol != kernel.symbol))
        seconds = time.perf_counter() - started
        sizes = list_sizes(reading, found)
        return FoundManifest(
            manifest,
            kernel.symbol,
            summarise(reading, found),
            found.tries,
            seconds,
            others,
            sizes,
            tuple(found.broken_guards),
            tuple(found.others),
            found.wrong_launch,
            list_by_columns(found.storage),
        )
    if not kernels:
        left_out = name_conditions(text, path.name) or f"{name_missing(file.found)}; name the file that defines one"
        message = f"no kernel: no `__global__` function{left_out}"
        raise SpecError(display_path(path), None, message)
    raise NotFound("; ".join(dict.fromkeys(reasons)), unsupported, attempts, compiler_error=compiler_error)


def expand_kernels(text: str, path: Path, home: Path) -> tuple[str, tuple[str, ...]]:
    """Return a text with headers and macros expanded, and the names of its kernels. Raises NotFound, DeviceError."""
    file = read_file(text, path, home)
    return file.source.text, tuple(dict.fromkeys(each.name for each in file.signatures.kernels))


def _bring_back(file: KernelFile, text: str, symbol: str) -> KernelFile:
    """Return the file with macros defined that bring such a kernel back, if a condition leaves it out."""
    kernels = file.signatures.kernels
    if any(symbol in ("", each.name, each.symbol) for each in kernels):
        return file
    macros = {name: value for each in find_conditions(text, symbol) for name, value in each.macros.items()}
    changed = file.define(macros) if macros else file
    return changed if len(changed.signatures.kernels) > len(kernels) else file


def _search(file: KernelFile, kernel: Kernel) -> tuple[KernelReading, Found]:
    """Search with the file's template arguments and macros or, if they are missing, with the usual ones in turn."""
    unknown = find_undefined(file, kernel)
    guessing = is_guessing(file, kernel)
    faults = list[Undecidable | BuildError]()
    for usual in USUAL if guessing else USUAL[:1]:
        macros = {name: "32" if WARP.fullmatch(name) else str(find_usual_value(name, usual)) for name in unknown}
        changed = file.define(macros) if macros else file
        kernels = (
            each for each in changed.signatures.kernels if (each.symbol, each.place) == (kernel.symbol, kernel.place)
        )
        try:
            reading = KernelReading(changed, next(kernels, kernel), usual)
            found = _Search(reading).find(_BUDGET / 2 if guessing else _BUDGET)
            found.others = next((each.attempts for each in faults if isinstance(each, _NoneRight)), ())
            return reading, found
        except (Undecidable, BuildError) as fault:
            faults.append(fault)
    raise next((each for each in reversed(faults) if isinstance(each, _NoneRight) and each.attempts), faults[-1])


class _NoneRight(Undecidable):
    """Raised if no combination is right. `attempts` holds the plausible ones, likeliest first."""

    def __init__(self, message: str, attempts: Sequence[Attempt]):
        super().__init__(message)
        self.attempts = attempts


class _Search:
    """The search for a way to call one kernel."""

    def __init__(self, reading: KernelReading):
        self.reading = reading

    def find(self, budget: float) -> Found:
        """Try combinations for `budget` seconds, likeliest first. Raises Undecidable."""
        pointers, sizes = order_pointers(self.reading.slots), order_sizes(self.reading.slots)
        is_evident = False
        if not are_operands_named(self.reading.slots) and (written := self.reading.list_written()):
            evident = [each for each in pointers if [number for number, role in each.items() if role == "C"] == written]
            is_evident = bool(evident)
            pointers = [*evident, *(each for each in pointers if each not in evident)]
        scalars, null = assign_scalars(self.reading.slots), self.reading.list_unused_pointers()
        by_size = 15 if are_sizes_named(self.reading.slots) else 2
        by_order = 25 if are_operands_named(self.reading.slots) else 5
        first = 2 if self.reading.launch else 0
        combinations = itertools.product(range(len(pointers)), range(len(sizes)), range(len(self.reading.geometries)))
        costs = [
            ((g if g < first else 3 + g) + by_size * s + by_order * p, p, s, g)
            for p, s, g in itertools.islice(combinations, 500_000)
        ]
        costs.sort()
        named = are_operands_named(self.reading.slots) and are_sizes_named(self.reading.slots)
        budget = budget * _SHARE_OF_NAMED if named else budget
        tries, endless, choices = list[_Tried](), 0, self.reading.list_shapes()
        for fixed, shapes in choices:
            deadline, done = time.perf_counter() + budget / len(choices), set[object]()
            with _Trials(self.reading) as trials:
                for _, p, s, g in costs:
                    if time.perf_counter() > deadline or endless == _MOST_ENDLESS:
                        break
                    roles = {**null, **pointers[p], **sizes[s], **scalars}
                    geometry = self.reading.geometries[g]
                    try:
                        launch = geometry.evaluate(dict(zip("MNK", shapes[0], strict=True)), roles)
                    except UnknownValue:
                        continue
                    key = (tuple(sorted(roles.items())), launch)
                    if key in done:
                        continue
                    done.add(key)
                    storages, right, best = trials.judge(roles, geometry, shapes[0])
                    endless += trials.ending == Ending.TIMEOUT
                    found = Found(roles, geometry, best, len(tries) + 1, shapes[0], fixed)
                    tries.append(_Tried(found, shapes, right, trials.ending))
                    if (
                        fixed and not self.reading.sizes and p
                    ):  # by columns, it is the same as by rows with the named operands and other sizes
                        storages = [each for each in storages if each[1] == "row"]
                    beta = 0.0 if storages else 1.0
                    for storage in (storages or trials.list_added(roles, shapes[0]))[:1]:
                        found = replace(found, storage=storage, beta=beta)
                        is_right = all(storage in trials.run(roles, geometry, each, beta=beta) for each in shapes[1:])
                        if is_right and can_write(geometry, roles):
                            trials.explore(found, shapes[0])
                            found.wrong_launch = self.describe_wrong_launch(trials, found, shapes)
                            return found
        if endless == _MOST_ENDLESS:
            message = f"did not finish within {SECONDS} s with {_count_combinations(tries)} of its arguments"
        else:
            hint = "" if self.reading.sizes else ", and none of its arguments is a size"
            message = f"was not correct with any of {_count_combinations(tries)} of its arguments{hint}"
        named = (are_operands_named(self.reading.slots) or is_evident) and are_sizes_named(self.reading.slots)
        named = named and bool(self.reading.sizes or len(self.reading.find_written_sizes()) == len("MNK"))
        raise _NoneRight(message, self.list_attempts(tries, named, endless == _MOST_ENDLESS))

    def describe_wrong_launch(self, trials: _Trials, found: Found, shapes: Sequence[Shape]) -> str:
        """Explain what is wrong with the file's launch of an otherwise correct kernel; "" if that is uncertain.

        It is uncertain if several launches differ, or if the grid fits only one problem.
        """
        launches = find_launches(self.reading.file.source, self.reading.kernel.name)
        if (
            found.fixed
            or len(self.reading.sizes) < 2
            or len({(each.grid, each.block, each.arguments) for each in launches}) != 1
        ):
            return ""
        readings = self.reading.geometries[: 2 if self.reading.shared_names else 1]
        roles = self.reading.read_pointers(found.roles)
        if roles == found.roles and (self.reading.shared_names or found.geometry is readings[0]):
            return ""
        assigned = [roles]
        if roles != found.roles and not self.reading.are_sizes_passed_by_name():  # since C^T is B^T A^T
            assigned.append(_exchange_rows_and_columns(roles))
        for each, geometry in itertools.product(assigned, readings):
            if not self.reading.is_known(geometry.grid) or not _grows(geometry.grid, each):
                return ""
            right = [set(trials.run(each, geometry, shape, beta=found.beta)) for shape in shapes]
            if set.intersection(*right):
                return ""
        wrong = replace(found, roles=roles, geometry=readings[0] if roles == found.roles else found.geometry)
        try:
            parts = zip(describe_launch(self.reading, wrong), describe_launch(self.reading, found), strict=True)
        except Undecidable:
            return ""
        differing = [pair for pair in parts if pair[0] != pair[1]]
        if not differing:
            return ""
        line = self.reading.file.source.places.find(launches[0].start)[1]
        said, right_with = ("; ".join(pair[place] for pair in differing) for place in (0, 1))
        return f"as launched at line {line} it is wrong: {said}; correct with {right_with}"

    def list_attempts(self, tries: Sequence[_Tried], named: bool, is_endless: bool) -> list[Attempt]:
        """Return the calls that may be meant, likeliest first: launches with the likeliest roles, then others.

        If names and launch, or the block and tiles in the kernel's text, determine everything, there is only one call.
        """
        if not tries:
            return []
        likeliest = tries[0].found
        meant = self.reading.geometries[0] if self.reading.launch else None
        if named and not meant and not is_endless:
            meant = self.find_tile_launch(likeliest.roles)
        if named and self.reading.shared_names and not is_endless:
            readings = [each for each in tries if each.found.roles == likeliest.roles]
            readings = [each for each in readings if each.found.geometry in self.reading.geometries[:2]]
            settled = [replace(each, found=replace(each.found, storage=("nn", "row"))) for each in readings]
            return self.make_attempts(settled, is_meant=False)
        if named and (meant or is_endless):
            chosen = replace(likeliest, geometry=meant or likeliest.geometry, storage=("nn", "row"))
            return self.make_attempts([replace(tries[0], found=chosen)], is_meant=True)
        complete = [each for each in tries if each.ending == Ending.COMPLETE] or list(tries[:1])
        first = [each for each in complete if each.found.roles == likeliest.roles]
        ordered = [*_choose_best(first), *([] if named else _choose_best(_choose_launches(complete)))]
        return self.make_attempts(ordered, is_meant=False)

    def make_attempts(self, tries: Sequence[_Tried], is_meant: bool) -> list[Attempt]:
        attempts = list[Attempt]()
        with _Trials(self.reading) as trials:
            for each in tries:
                found = each.found
                if each.right < _MOSTLY_RIGHT:
                    found = replace(found, storage=("nn", "row"))
                with contextlib.suppress(Undecidable):
                    results = list[TriedResult]()
                    if each.ending == Ending.COMPLETE:
                        results = trials.collect(found, each.shapes)
                        found.reads_c = trials.needs_c(found, each.shapes[0])
                    found.multiples = self.reading.list_tile_multiples(found.roles) if not found.fixed else {}
                    text, arguments = write_manifest(self.reading, found), ", ".join(write_call(self.reading, found))
                    attempt = Attempt(
                        text,
                        self.reading.kernel.symbol,
                        summarise(self.reading, found),
                        f"args [{arguments}]",
                        is_meant,
                        each.right,
                        tuple(results),
                    )
                    if text not in [other.text for other in attempts]:
                        attempts.append(attempt)
        return attempts

    def find_tile_launch(self, roles: Mapping[int, str]) -> Geometry | None:
        """Return a launch with one block for each tile of C, shaped like the square tiles, if that writes all of C.

        Use it only for a kernel that the file does not launch. Templates are refused, so nothing else can be meant. A
        square C is tried last, because even a kernel that confuses its sizes writes all of it.
        """
        side = self.reading.find_square_tile()
        if not side or self.reading.kernel.template:
            return None
        if side * side > MOST_THREADS:  # one thread for each element, unless threads loop over the tile
            block = Geometry(make_tile_grid("N", side, "M", side), fix_sizes((side, side)), fix_sizes((0,)))
            return block if len(re.findall(r"\bfor\b", self.reading.body)) <= _FEWEST_LOOPS else None
        with _Trials(self.reading) as trials:
            for width, (columns, rows) in itertools.product((2 * side, 4 * side), (("N", "M"), ("M", "N"))):
                launch = Geometry(make_tile_grid(columns, side, rows, side), fix_sizes((side, side)), fix_sizes((0,)))
                if trials.writes_all(roles, launch, (4 * side, width, 4 * side)):
                    return launch
        return None


def _exchange_rows_and_columns(roles: Roles) -> Roles:
    return {number: {"M": "N", "N": "M"}.get(role, role) for number, role in roles.items()}


def _grows(rule: Rule, roles: Roles) -> bool:
    """Return whether a grid depends on the sizes."""
    try:
        return rule(dict.fromkeys("MNK", 1024), roles) != rule(dict.fromkeys("MNK", 4096), roles)
    except UnknownValue:
        return False


@dataclass(frozen=True)
class _Tried:
    """A combination, the problems to try it on, the fraction of correct elements on the first, and how that ended."""

    found: Found
    shapes: Sequence[Shape]
    right: float
    ending: Ending


def _count_combinations(tries: Sequence[_Tried]) -> str:
    return f"{len(tries):,} combination{'s' * (len(tries) != 1)}"


def _choose_launches(tries: Iterable[_Tried]) -> list[_Tried]:
    """Return, for each assignment of roles, the launch with the most correct elements. Ties go to the likeliest."""
    best = dict[object, _Tried]()
    for each in tries:
        key = tuple(sorted(each.found.roles.items()))
        if key not in best or each.right > best[key].right + _MARGIN:
            best[key] = each
    return list(best.values())


def _choose_best(tries: Sequence[_Tried]) -> list[_Tried]:
    """Return the tries with the most correct elements. Among equals, the likeliest comes first."""
    return sorted(tries, key=lambda each: -round(each.right / _MARGIN))[:_MOST_ATTEMPTS]


class _Trials:
    """Processes that try launches of one kernel. There is one process for each problem."""

    def __init__(self, reading: KernelReading):
        self._reading = reading
        self._opened: dict[object, tuple[TrialProblem, TrialProcess]] = {}
        self.ending = Ending.COMPLETE

    def __enter__(self) -> _Trials:
        return self

    def __exit__(self, *_: object) -> None:
        for problem, process in self._opened.values():
            process.close()
            problem.close()

    def open(self, shape: Shape, roles: Mapping[int, str]) -> tuple[TrialProblem, TrialProcess]:
        slots = self._reading.slots
        types = {role: NUMPY_TYPES[slots[number].type] for number, role in roles.items() if role in ("A", "B", "C")}
        key = shape, *sorted((name, kind.name) for name, kind in types.items())
        if key not in self._opened:
            problem = TrialProblem(shape, types)
            self._opened[key] = problem, TrialProcess(self._reading.program, problem)
        return self._opened[key]

    def launch(
        self,
        roles: Mapping[int, str],
        geometry: Geometry,
        shape: Shape,
        c: float = 0.25,
        backwards: bool = False,
    ) -> TrialProblem:
        """Launch and then return the problem. `ending` says how the launch ended."""
        slots = self._reading.slots
        try:
            problem, process = self.open(shape, roles)
        except KeyError:
            raise Undecidable("has matrices of a type that cannot be tried") from None
        values = {**problem.values, **_POINTERS, "alpha": 1.0, "beta": 0.0}
        numbers = tuple(float(values[roles[n]]) if roles[n] in values else float(roles[n]) for n in range(len(slots)))
        problem.reset(c)
        try:
            grid, block, shared = geometry.evaluate(problem.values, roles)
        except UnknownValue:
            self.ending = Ending.CRASH
            return problem
        self.ending = process.run(Trial(grid, block, shared, numbers, backwards))
        return problem

    def run(
        self, roles: Mapping[int, str], geometry: Geometry, shape: Shape, c: float = 0.25, beta: float = 0.0
    ) -> list[Storage]:
        """Return the ways of storing the matrices for which a launch computes A B + `beta` C; none if it crashes."""
        problem = self.launch(roles, geometry, shape, c)
        return problem.find_storages(beta=beta) if self.ending == Ending.COMPLETE else []

    def list_added(self, roles: Mapping[int, str], shape: Shape) -> list[Storage]:
        """Like `run` with beta 1, but for the last launch."""
        return self.open(shape, roles)[0].find_storages(beta=1.0) if self.ending == Ending.COMPLETE else []

    def judge(self, roles: Mapping[int, str], geometry: Geometry, shape: Shape) -> tuple[list[Storage], float, Storage]:
        """Like `run`, but also return the largest fraction of correct elements and the storage that gives it."""
        problem = self.launch(roles, geometry, shape)
        right, best = problem.find_best_storage()
        if self.ending != Ending.COMPLETE:
            return [], 0.0, best
        return problem.find_storages(), right, best

    def collect(self, found: Found, shapes: Sequence[Shape]) -> list[TriedResult]:
        """Return the results of launches that end. Those on problems whose M, N and K differ come first."""
        results = []
        for shape in sorted(shapes, key=lambda each: -len(set(each))):
            problem = self.launch(found.roles, found.geometry, shape)
            if self.ending == Ending.COMPLETE:
                results.append(problem.copy_result(found.storage, find_precision(self._reading, found)))
        return results

    def needs_c(self, found: Found, shape: Shape) -> bool:
        """Return whether C must hold numbers: they affect what is written, although the result does not contain them.

        If a kernel without beta copies NaN from C, it is wrong, unless the result is otherwise right.
        """
        unwritten = self.launch(found.roles, found.geometry, shape).count_unwritten()
        problem = self.launch(found.roles, found.geometry, shape, c=float("nan"))
        if self.ending != Ending.COMPLETE:
            return False
        spreads = problem.count_unwritten() > unwritten
        return bool(problem.find_storages()) or ("beta" in found.roles.values() and spreads)

    def writes_all(self, roles: Mapping[int, str], geometry: Geometry, shape: Shape) -> bool:
        """Return whether a launch writes every element of C and nothing else."""
        return self.launch(roles, geometry, shape).is_written()

    def explore(self, found: Found, shape: Shape) -> None:
        """Find the other facts of a manifest: whether C is read, and the multiples that sizes must be."""
        if not found.beta:
            found.reads_c = found.storage not in self.run(found.roles, found.geometry, shape, c=float("nan"))
        square = len(set(shape)) == 1
        for name in ["MNK"] if square else "MNK":
            step = self.find_step(found, shape, name)
            if step:
                found.multiples[name] = step
            tested = self._reading.list_guarded(found.roles)
            M, N, K = (size + (each in name) for each, size in zip("MNK", shape, strict=True))
            if step > _WIDEST_VECTOR and tested and not self.is_right_with_larger_grid(found, (M, N, K), step):
                del found.multiples[name]  # the kernel is meant to take any size
                if found.beta:  # it adds to C, so it is wrong for every size
                    continue
                needed = BrokenGuard(tested, f"{'N' if square else name} % {step} == 0")
                found.broken_guards += [(needed, each) for each in self.collect(found, [(M, N, K)])]

    def is_right_with_larger_grid(self, found: Found, shape: Shape, step: int) -> bool:
        """Return whether only the grid of the launch needs multiples of `step`, such as a grid that rounds down."""

        def round_up(sizes: Sizes, roles: Mapping[int, str]) -> Value:
            return found.geometry.grid({name: -(-size // step) * step for name, size in sizes.items()}, roles)

        larger = replace(found.geometry, grid=round_up)
        return found.storage in self.run(found.roles, larger, shape, beta=found.beta)

    def find_step(self, found: Found, shape: Shape, names: str) -> int:
        """Return the smallest step of these sizes for which the kernel is right, or 0 if there is none."""
        for step in (1, 2, 4, 8, 16, 32, 64, 128, 256):
            grown = [size + step * (name in names) for name, size in zip("MNK", shape, strict=True)]
            changed = (grown[0], grown[1], grown[2])
            if found.storage in self.run(found.roles, found.geometry, changed, beta=found.beta):
                return step
        return 0
