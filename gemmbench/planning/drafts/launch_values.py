"""Reads the launches in preprocessed code, and evaluates the expressions between `<<<` and `>>>`."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gemmbench.planning.cpp.items import Item, Source
from gemmbench.planning.cpp.tokens import Token, pair_brackets, skip_angles, split_commas

_TYPES = set("int unsigned size_t long uint auto dim3 short uint32_t int64_t const constexpr float double bool".split())
_DEEPEST, _LONGEST = 12, 600
Value = float | tuple[float, ...]
"""A number, or the sizes of a `dim3`."""


class UnknownValue(Exception):
    """Raised if the value of an expression cannot be computed."""


@dataclass(frozen=True)
class WrittenLaunch:
    """One launch, written as C++ expressions over the `variables` of the enclosing function.

    The variables are expressions themselves. `start` is the position of the launch in the text.
    """

    template: tuple[str, ...]
    grid: str
    block: str
    shared: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    start: int


def find_launches(source: Source, kernel: str) -> list[WrittenLaunch]:
    """Return the launches of a kernel in host functions in order."""
    found, outer = list[WrittenLaunch](), dict[str, str]()
    for item in source.walk():
        tokens = [each for each in item.tokens if each.kind != "directive"]
        if item.kind == "other":
            outer |= _Reader(source.text, tokens).read_variables(len(tokens))
        if item.kind == "function" and item.body:
            found += _Reader(source.text, tokens).find(kernel, outer, item)
    return found


class _Reader:
    """Reads launches and variables from the tokens of one declaration."""

    def __init__(self, text: str, tokens: Sequence[Token]):
        self.text, self.tokens, self.pairs = text, tokens, pair_brackets(tokens)

    def write(self, tokens: Sequence[Token]) -> str:
        return " ".join(self.text[tokens[0].start : tokens[-1].end].split()) if tokens else ""

    def split(self, tokens: Sequence[Token]) -> list[str]:
        return [self.write(part) for part in split_commas(tokens)]

    def find(self, kernel: str, outer: Mapping[str, str], item: Item) -> Iterator[WrittenLaunch]:
        for index, token in enumerate(self.tokens):
            if not token.is_sign("<<<"):
                continue
            name, template = self.read_name(index)
            end = self.find_end(index + 1)
            if name != kernel or end + 3 >= len(self.tokens):
                continue
            grid, block, shared, *_ = [*self.split(self.tokens[index + 1 : end]), "1", "1", "0"]
            shared = shared if len(self.split(self.tokens[index + 1 : end])) > 2 else "0"
            opening = end + 3
            called = self.tokens[opening].is_sign("(")
            arguments = self.split(self.tokens[opening + 1 : self.pairs[opening]]) if called else []
            variables = {**outer, **self.read_defaults(), **self.read_variables(index)}
            yield WrittenLaunch(tuple(template), grid, block, shared, tuple(arguments), variables, token.start)

    def find_end(self, at: int) -> int:
        """Return the index of `>>>`."""
        while at + 2 < len(self.tokens) and not all(each.is_sign(">") for each in self.tokens[at : at + 3]):
            at = self.pairs.get(at, at) + 1
        return at

    def read_name(self, index: int) -> tuple[str, list[str]]:
        """Return the kernel before `<<<` and its template arguments."""
        at = index - 1
        if at < 0 or not self.tokens[at].is_sign(">"):
            return (self.tokens[at].text if at >= 0 else ""), []
        depth = 0
        while at > 0:
            depth += self.tokens[at].is_sign(">") - self.tokens[at].is_sign("<")
            if depth == 0:
                break
            at -= 1
        return self.tokens[at - 1].text, self.split(self.tokens[at + 1 : index - 1])

    def read_defaults(self) -> dict[str, str]:
        """Return the default template arguments of the function around the launch."""
        if self.tokens[0].text != "template":
            return {}
        inside = self.tokens[2 : skip_angles(self.tokens, self.pairs, 1) - 1]
        return {
            part[place - 1].text: self.write(part[place + 1 :])
            for part in split_commas(inside)
            for place, each in enumerate(part)
            if each.is_sign("=") and place
        }

    def read_variables(self, end: int) -> dict[str, str]:
        """Read `type name = x`, `type name(x)`, `type name{x}` and `name.x = e` before `end`. The last one counts."""
        found: dict[str, str] = {}
        for index in range(1, min(end, len(self.tokens) - 1)):
            before, token, after = self.tokens[index - 1 : index + 2]
            if token.kind != "word":
                continue
            is_dim3 = self.is_dim3(index)
            declared = before.text in _TYPES or before.is_sign("*", "&")
            declared = declared or (before.is_sign(",") and (is_dim3 or self.is_declared(index)))
            if declared and after.is_sign("=") and not self.tokens[index + 2].is_sign("="):
                found[token.text] = self.write(self.tokens[index + 2 : self.find_stop(index + 2)])
            elif declared and after.is_sign("(", "{") and not before.is_sign("*", "&"):
                inside = self.write(self.tokens[index + 2 : self.pairs[index + 1]])
                found[token.text] = f"dim3({inside})" if is_dim3 else inside
            elif token.text in ("x", "y", "z") and before.is_sign(".") and after.is_sign("="):
                name = f"{self.tokens[index - 2].text}.{token.text}"
                found[name] = self.write(self.tokens[index + 2 : self.find_stop(index + 2)])
        return found

    def is_dim3(self, index: int) -> bool:
        """Return whether the statement up to a name declares a `dim3`."""
        return "dim3" in self.list_statement(index)

    def is_declared(self, index: int) -> bool:
        """Return whether the statement up to a name begins with a type."""
        return bool(_TYPES.intersection(self.list_statement(index)[:3]))

    def list_statement(self, index: int) -> list[str]:
        begin = index
        while begin and not self.tokens[begin - 1].is_sign(";", "{", "}") and index - begin < 60:
            begin -= 1
        return [each.text for each in self.tokens[begin:index]]

    def find_stop(self, at: int) -> int:
        while at < len(self.tokens) and not self.tokens[at].is_sign(";", ","):
            at = self.pairs.get(at, at) + 1
        return min(at, len(self.tokens))


_CASTS = (
    (r"\bstatic_cast\s*<\s*(?:float|double)\s*>", "float"),
    (r"\bstatic_cast\s*<[^<>]*>", "int"),
    (r"\(\s*(?:float|double)\s*\)\s*(?=[\w(])", "1.0 * "),
    (r"\(\s*(?:const )?(?:unsigned int|unsigned|int|size_t|long|uint|uint32_t|unsigned long)\s*\)\s*(?=[\w(])", ""),
    (r"\bunsigned int\b|\bstd\s*::\s*", ""),
    (r"\b(0[xX][\da-fA-F]+|\d+)[uUlLzZ]+\b", r"\1"),
    (r"(\d*\.\d+|\d+\.)[fF]\b", r"\1"),
    (r"(\w+)\s*(?:\.|->)\s*([A-Za-z_]\w*)\b", r"\1_dot_\2"),
    (r"\bdim3\s*(?:const\s*)?[({]", "dim3("),
)
_BYTES = {"double": "8", "half": "2", "__half": "2", "char": "1"}
_SIZEOF = re.compile(r"\bsizeof\s*\(\s*(\w+)\s*\)")
_DIVISION = re.compile(r"div|ceil", re.IGNORECASE)


def evaluate(text: str, variables: Mapping[str, str], values: Mapping[str, float], depth: int = 0) -> Value:
    """Evaluate a C++ expression whose names are in `values` or else in `variables`. Raises UnknownValue."""
    if depth > _DEEPEST or len(text) > _LONGEST:
        raise UnknownValue(text)
    source = text.strip()
    if source in values:
        return values[source]
    source = _SIZEOF.sub(lambda found: _BYTES.get(found[1], "4"), source)
    for pattern, new in _CASTS:
        source = re.sub(pattern, new, source)
    source = source.replace("&&", " and ").replace("||", " or ").replace("true", "1").replace("false", "0")
    source = source.replace("{", "(").replace("}", ")")
    if found := re.fullmatch(r"(.+?)\?(.+):(.+)", source):
        chosen = found[2] if evaluate(found[1], variables, values, depth + 1) else found[3]
        return evaluate(chosen, variables, values, depth + 1)
    try:
        tree = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnknownValue(text) from None
    return _Evaluation(variables, values, depth).find(tree)


_OPERATIONS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: lambda a, b: int(a) << min(int(b), 62),
    ast.RShift: lambda a, b: int(a) >> min(int(b), 62),
    ast.BitAnd: lambda a, b: int(a) & int(b),
    ast.BitOr: lambda a, b: int(a) | int(b),
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True)
class _Evaluation:
    variables: Mapping[str, str]
    values: Mapping[str, float]
    depth: int

    def find(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return node.value
        if isinstance(node, ast.Tuple):
            return tuple(self.find_number(each) for each in node.elts)
        if isinstance(node, ast.Name):
            return self.look_up(node.id.replace("_dot_", "."))
        if isinstance(node, ast.BinOp):
            return self.combine(node.op, self.find_number(node.left), self.find_number(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.find_number(node.operand)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return int(self.combine(node.ops[0], self.find_number(node.left), self.find_number(node.comparators[0])))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self.call(node.func.id, [self.find_number(each) for each in node.args])
        raise UnknownValue(type(node).__name__)

    def find_number(self, node: ast.expr) -> float:
        value = self.find(node)
        if isinstance(value, tuple):
            raise UnknownValue("a dim3 in an expression")
        return value

    def look_up(self, name: str) -> Value:
        if name in self.values:
            return self.values[name]
        if name in self.variables and self.variables[name] != name:
            others = {key: text for key, text in self.variables.items() if key != name}
            return evaluate(self.variables[name], others, self.values, self.depth + 1)
        base, _, axis = name.partition(".")
        if axis in ("x", "y", "z") and base in self.variables:
            whole = evaluate(base, self.variables, self.values, self.depth + 1)
            return to_triple(whole)["xyz".index(axis)]
        raise UnknownValue(name)

    @staticmethod
    def combine(kind: ast.AST, a: float, b: float) -> float:
        if isinstance(kind, ast.Div | ast.Mod):
            if b == 0:
                raise UnknownValue("a division by zero")
            whole = isinstance(a, int) and isinstance(b, int)
            quotient = int(a / b) if whole else a / b
            return quotient if isinstance(kind, ast.Div) else a - b * int(a / b)
        if type(kind) not in _OPERATIONS:
            raise UnknownValue(type(kind).__name__)
        return _OPERATIONS[type(kind)](a, b)

    @staticmethod
    def call(name: str, given: list[float]) -> Value:
        if name == "dim3":
            return tuple(given)
        if name in ("min", "max") and len(given) == 2:
            return min(given) if name == "min" else max(given)
        if name in ("ceil", "ceilf") and len(given) == 1:
            return math.ceil(given[0])
        if name in ("floor", "floorf", "int", "size_t", "unsigned", "uint") and len(given) == 1:
            return int(given[0])
        if name in ("float", "double") and len(given) == 1:
            return float(given[0])
        if len(given) == 2 and given[1] and _DIVISION.search(name):
            return -(-given[0] // given[1])
        raise UnknownValue(name)


def to_triple(value: Value) -> tuple[int, int, int]:
    """Return the sizes in x, y and z. Raises UnknownValue if one of them is not finite."""
    sizes = value if isinstance(value, tuple) else (value,)
    try:
        x, y, z = (int(each) for each in (*sizes, 1, 1, 1)[:3])
    except (OverflowError, ValueError):
        raise UnknownValue(str(value)) from None
    return x, y, z
