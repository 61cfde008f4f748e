"""The expressions of a manifest: integers, comparisons and a few functions, and nothing else.

simpleeval evaluates them with restrictions: no attributes, no subscripts, no powers, no strings, and a `/` must not
leave a remainder.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

from simpleeval import InvalidExpression, SimpleEval

from gemmbench.errors import nearest
from gemmbench.planning.sizes import MOST_DIGITS, count_digits

FUNCTIONS = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}
BATCH_NAMES = ("count", "stride_a", "stride_b", "stride_c")
GROUP_NAMES = ("groups",)
PROBLEM_NAMES = ("M", "N", "K", "BYTES", "BYTES_C", "TRANS_A", "TRANS_B", "lda", "ldb", "ldc", "ldd", "PROMOTED_EVERY")
NETWORK_NAMES = ("M", "IN", "OUT", "FIRST", "WIDEST", "REST", "LAYERS")
DEVICE_NAMES = ("SMS", "SMEM", "L2")
CARD_NAMES = ("CLOCK", "BANDWIDTH", "PEAK")
"""How fast a card is, for the model of a `pick`: MHz, bytes per microsecond, operations of an SM per cycle."""
# What is counted in the machine code of a loop.
_COUNTS = (
    *("instructions", "ffma", "tensor", "conflicts", "reuse", "spills"),
    *("shared_loads", "load_distance", "code_bytes"),
)
SASS_NAMES = ("BYTES", "sm", *_COUNTS)
ACCESS_NAMES = ("BYTES", "TRANS_A", "TRANS_B", "load_sectors", "store_sectors", "conflicts")

_LARGEST = 2**128


def _limit(operation: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """Wrap an operation so that it rejects results too large for any size or count."""

    def limited(a: int, b: int) -> int:
        result = operation(a, b)
        if abs(result) > _LARGEST:
            raise ExpressionError("a value exceeds 2^128")
        return result

    return limited


_OPERATORS = {
    ast.Add: _limit(operator.add),
    ast.Sub: _limit(operator.sub),
    ast.Mult: _limit(operator.mul),
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_PLAIN = {
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp),
    *(ast.Load, ast.And, ast.Or, ast.Div),
}
_PLAIN |= set(_OPERATORS)
_LONGEST = 400
_MOST_KNOWN = 100_000


class ExpressionError(ValueError):
    """The text is not an expression, or it has no value here. `line` is the line of the expression, if known."""

    def __init__(self, message: str, line: int | None = None):
        super().__init__(message)
        self.line = line


class InexactDivision(ExpressionError):
    """A `/` left a remainder. The configuration is skipped for this reason."""


def _divide(a: int, b: int) -> int:
    quotient, rest = divmod(a, b)
    if rest:
        raise InexactDivision(f"{a} / {b} leaves a remainder of {rest}")
    return quotient


@dataclass(frozen=True)
class Expression:
    """A parsed expression. It prints as it was written.

    `lets` are the named expressions that it reads. `names` are the names whose values it needs, including those that
    its `lets` need. `line` is its line in its file (0: unknown).
    """

    text: str
    names: tuple[str, ...]
    line: int = field(compare=False)
    lets: tuple[tuple[str, Expression], ...] = field(hash=False)  # it would be hashed again wherever it is read
    _tree: ast.expr = field(repr=False, compare=False, hash=False)
    _known: dict[tuple[int, ...], int | ExpressionError] = field(
        default_factory=dict, repr=False, compare=False, hash=False
    )

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[object, ...]:
        return parse, (self.text, None, self.line, dict(self.lets))

    def value(self, names: Mapping[str, int]) -> int:
        """Evaluate the expression. Values are cached, because a sweep evaluates the same few again and again.

        Raises InexactDivision or ExpressionError.
        """
        key = tuple(names[name] for name in self.names)
        value = self._known.get(key)
        if value is None:
            value = self._evaluate(names)
            if len(self._known) < _MOST_KNOWN:
                self._known[key] = value
        if isinstance(value, ExpressionError):
            raise value
        return value

    def _evaluate(self, names: Mapping[str, int]) -> int | ExpressionError:
        evaluator = _evaluator()
        outer = evaluator.names
        evaluator.names = _Scope(self, names)
        try:
            value: int = evaluator.eval(self.text, previously_parsed=self._tree)
            return value
        except ExpressionError as fault:  # one with a line comes from a named expression
            return fault if fault.line is not None else type(fault)(f"{self.text}: {fault}", self.line)
        except ZeroDivisionError as fault:
            zero = [f"{name} is 0" for name in self.names if names.get(name) == 0]
            why = f"division by zero ({', '.join(zero)})" if zero else str(fault)
            return ExpressionError(f"{self.text}: {why}", self.line)
        except (InvalidExpression, ArithmeticError, TypeError) as fault:
            return ExpressionError(f"{self.text}: {fault}", self.line)
        except RecursionError:
            return ExpressionError(f"{self.text}: nested too deeply", self.line)
        finally:
            evaluator.names = outer


class _Scope(dict[str, int]):
    """The values of the names that an expression reads. A named expression is evaluated when it is read."""

    def __init__(self, expression: Expression, names: Mapping[str, int]):
        super().__init__((name, names[name]) for name in expression.names)
        self._lets = dict(expression.lets)

    def __missing__(self, name: str) -> int:
        return self._lets[name].value(self)


@lru_cache(maxsize=1)
def _evaluator() -> SimpleEval:
    operators = {**_OPERATORS, ast.Div: _divide}
    return SimpleEval(operators=operators, functions=dict(FUNCTIONS))


def parse(
    text: str | int, known: Collection[str] | None = None, line: int = 0, lets: Mapping[str, Expression] | None = None
) -> Expression:
    """Parse an expression over the names `known` (None: any) and the named expressions `lets`.

    Raises ExpressionError for anything but arithmetic, comparisons and known functions.
    """
    text, lets = str(text).strip(), lets or {}
    names, tree = _parse_text(text)
    if known is not None:
        _check_names(text, names, (*known, *lets))
    needed = [needs for name in names for needs in (lets[name].names if name in lets else (name,))]
    read = tuple((name, lets[name]) for name in names if name in lets)
    return Expression(text, tuple(dict.fromkeys(needed)), line, read, tree)


@lru_cache(maxsize=1024)
def _parse_text(text: str) -> tuple[tuple[str, ...], ast.expr]:
    """Return the names that an expression reads, and its tree. The result is cached: manifests share expressions."""
    if len(text) > _LONGEST:
        raise ExpressionError(f"the expression has {len(text)} characters; at most {_LONGEST} are allowed")
    if text.count("(") != text.count(")"):
        raise ExpressionError(f"'{text}' has unbalanced parentheses")
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"'{text}' is not an expression") from None
    names: dict[str, None] = {}
    called: set[int] = set()
    for node in ast.walk(tree):  # a call comes before the name that it calls
        if type(node) in _PLAIN:
            continue
        if isinstance(node, ast.Call):
            called.add(id(node.func))
        _check_node(node, text, id(node) in called, names)
    return tuple(names), tree.body


def _check_names(text: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            kind = "many" if name in BATCH_NAMES else "groups" if name in GROUP_NAMES else ""
            belongs = f", which belongs to `kinds: [one, {kind}]`" if kind else nearest(name, known)
            raise ExpressionError(f"'{text}': unknown name '{name}'{belongs}; known: {', '.join(known)}")


def _check_node(node: ast.AST, text: str, called: bool, names: dict[str, None]) -> None:
    if not isinstance(node, ast.Call | ast.Name | ast.Constant):
        what = type(node).__name__
        raise ExpressionError(f"'{text}': {what} is not allowed; use + - * / // %, comparisons, and, or, not, if")
    if isinstance(node, ast.Constant) and type(node.value) is not int:
        raise ExpressionError(f"'{text}': {node.value!r} is not an integer")
    if isinstance(node, ast.Constant) and (digits := count_digits(cast(int, node.value))) > MOST_DIGITS:
        raise ExpressionError(
            f"'{text[:40]}': a number of {digits} digits is too long; at most {MOST_DIGITS} are allowed"
        )
    if isinstance(node, ast.Call) and (not isinstance(node.func, ast.Name) or node.keywords):
        raise ExpressionError(f"'{text}': you can only call {', '.join(FUNCTIONS)}")
    if isinstance(node, ast.Name):
        if called and node.id not in FUNCTIONS:
            raise ExpressionError(f"'{text}': unknown function '{node.id}'; known: {', '.join(FUNCTIONS)}")
        if not called:
            names[node.id] = None
