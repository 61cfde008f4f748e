"""Drafts the manifest of a Python file from its text: KernelBench, GPU MODE, a plain function, or `load_inline`."""

from __future__ import annotations

import ast
import operator
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.drafts.draft import HEAD, MARK, Draft, quote_text
from gemmbench.planning.drafts.guesses import name_operand
from gemmbench.planning.files import display_path
from gemmbench.planning.manifests.kernel_code import list_kernels
from gemmbench.planning.manifests.python_code import LIBRARIES, PythonModule, parse_module
from gemmbench.planning.manifests.variant import MANY
from gemmbench.planning.problems import OFFSETS, SCALED

_MODELS = ("ModelNew", "Model")
"""The classes of KernelBench: of an answer, and of the problem."""
_SUBMISSION = "custom_kernel"
"""The function of GPU MODE."""
_INPUTS, _INIT_INPUTS = "get_inputs", "get_init_inputs"
_COUNT = "count"
_NAMED = re.compile(r"matmul|gemm|product|multiply|\bmm\b|_mm|mm_|\bdot\b|kernel|solve|forward", re.IGNORECASE)
_NOT_MEANT = re.compile(
    r"^_|test|bench|check|verify|reference|^ref|main|baseline|plot|profile|^get_|compile", re.IGNORECASE
)
_DEVICE_CODE = re.compile(r"jit|(?<!helion\.)kernel")
"""Decorators of code that only runs on the device. Functions of Helion are called like any other."""
_OUTPUTS = ("c", "d", "out", "output", "result", "y", "dst")
_SIZES = {"m": "M", "n": "N", "k": "K", "alpha": "alpha", "beta": "beta", "stream": "stream"}
_KNOWN = (*SCALED, OFFSETS, "groups", _COUNT)
"""What a `call` can pass besides."""
_PRECISIONS = (
    ("bf16", re.compile(r"bfloat16|\bbf16\b")),
    ("f16", re.compile(r"float16|\.half\(|__half|\bhalf\b|\bfp16\b")),
    ("f64", re.compile(r"float64|\.double\(|\bdouble\b")),
)
_OWN_STREAM = re.compile(r"getCurrentCUDAStream|current_stream|getStreamFromPool")
_LAUNCH = re.compile(r"<<<|SourceModule\(")


@dataclass(frozen=True)
class _Form:
    """One way to call the file: the name that `--symbol` takes, and the call.

    `inputs` are what the file passes. `likely` are the precision and the layout to assume if nothing tells them. If it
    takes `batches` as the code suggests, its operands have three dimensions.
    """

    name: str
    call: str
    what: str
    returns: bool
    inputs: _Inputs
    likely: tuple[str, str] = ("f32", "nn")
    batches: bool = False


@dataclass(frozen=True)
class _Inputs:
    """What `get_inputs` passes as A and B; empty where the text does not say.

    `shapes` are those of A and B in text, without the count of products if they are a `batch`. `sizes` are the numbers
    behind them: M, N, K, and the `count` of a batch.
    """

    shapes: tuple[tuple[str, ...], ...] = ()
    sizes: Mapping[str, int] | None = None
    precision: str = ""
    batch: bool = False


_UNKNOWN = _Inputs()


def draft_python(text: str, path: Path, home: Path, symbol: str | None = None) -> Draft:
    """Draft the manifest of the Python file `path`. `home` is the folder of the manifest.

    `symbol` is the class or function to call. Raises SpecError for text that is not Python, and UsageError if nothing
    in it can be called as a product.
    """
    location = display_path(path)
    module = parse_module(text, location)
    forms = list(_list_forms(module))
    if symbol is None and not forms:
        raise UsageError(_explain_nothing(module, location))
    names = [each.name for each in forms]
    if symbol is not None and symbol not in names:
        if fault := dict(_list_near(module)).get(symbol):
            raise UsageError(f"{location}: {fault}")
        listed = ", ".join(names) or "none"
        raise UsageError(
            f"{location}: '{symbol}' cannot be called as a product{nearest(symbol, names)}; it has {listed}"
        )
    form = forms[names.index(symbol)] if symbol else forms[0]
    imports = module.list_imports()
    if form.returns and not set(LIBRARIES) & set(imports):
        fault = "a result, but the file imports neither torch nor cupy; Python kernels need a GPU and one of them"
        if "numpy" in imports:
            fault = "a NumPy array; Python kernels need a GPU and PyTorch or CuPy"
        raise UsageError(f"{location}: {form.name} returns {fault}")
    file = os.path.relpath(path.resolve(), home.resolve())
    lines = list(_write_manifest(form, module, text, file, path.parent))
    others = tuple(name for name in names if name != form.name)
    return Draft("\n".join(lines) + "\n", form.name, others, _name_size(form.inputs.sizes))


def _name_size(sizes: Mapping[str, int] | None) -> str:
    """Return sizes as --sizes takes them, such as `16*512x64x32`; "" if they are unknown."""
    if not sizes:
        return ""
    count = f"{sizes[_COUNT]}*" if _COUNT in sizes else ""
    return count + "x".join(str(sizes[side]) for side in "MNK")


def _write_manifest(form: _Form, module: PythonModule, text: str, file: str, folder: Path) -> Iterator[str]:
    """Yield the lines of the manifest."""
    yield from (HEAD, f"summary: {quote_text(form.what)}", f"file: {quote_text(file)}", f"call: {form.call}")
    if form.returns:
        yield "returns: true"
    if _LAUNCH.search(text) and not _OWN_STREAM.search(text):
        yield "stream: default  # it launches without naming a stream"
    guessed, shapes, sizes = (
        next((name for name, pattern in _PRECISIONS if pattern.search(text)), form.likely[0]),
        form.inputs.shapes,
        form.inputs.sizes,
    )
    sure = form.inputs.precision or (guessed if shapes else "")
    yield f"precisions: [{sure or guessed}]{'' if sure else f'  {MARK}: the type of A'}"
    yield f"layouts: [{_find_layout(shapes) or form.likely[1]}]{_doubt_layout(form)}"
    if form.inputs.batch:
        yield f"kinds: [{MANY}]  # operands have three dimensions"
    elif form.batches:
        yield f"kinds: [{MANY}]  {MARK}: the code takes operands with three dimensions"
    if packages := module.list_packages(folder):
        yield f"packages: [{', '.join(name for name in packages if name != 'task')}]"
    if sizes:
        wanted = " and ".join(f"{side} == {sizes[side]}" for side in "MNK")
        yield from (f"require:  # what {_INPUTS} makes; remove it to try other sizes", f"  - {wanted}")


def _doubt_layout(form: _Form) -> str:
    if _find_layout(form.inputs.shapes):
        return ""
    if form.inputs.shapes:
        return f"  {MARK}: {_explain_ambiguity(form.inputs.shapes)}"
    if form.likely[1] != "nn":
        transposed = " and ".join(name for name, letter in zip("AB", form.likely[1], strict=True) if letter == "t")
        return f"  {MARK}: the code transposes {transposed}"
    return f"  {MARK}: neither A nor B is transposed"


def _explain_ambiguity(inputs: Sequence[Sequence[str]]) -> str:
    """Explain why the shapes of A and B do not tell their layout."""
    a, b = (" x ".join(shape) for shape in inputs)
    if len({*inputs[0], *inputs[1]}) == 1:
        return "A and B are square, so their shapes do not tell whether one is transposed"
    if set(inputs[0]) & set(inputs[1]):
        return f"A ({a}) and B ({b}) fit several layouts"
    if all(side.isdigit() for shape in inputs for side in shape):
        return f"the inner dimensions of A ({a}) and B ({b}) do not match"
    return f"nothing tells which dimensions of A ({a}) and B ({b}) match"


def _guess_layout(function: ast.FunctionDef, names: Sequence[str]) -> str:
    """Return `nt` if a function transposes what it calls `names[1]`, and so on: it is then stored as it is passed."""
    text = ast.unparse(function)
    return "".join(
        "t" if re.search(rf"\b{name}\.(?:T\b|mT\b|t\(\))", text) else "n" for name in map(re.escape, names[:2])
    )


def _list_forms(module: PythonModule) -> Iterator[_Form]:
    """Yield the ways to call a file, the likeliest first."""
    functions = [each for each in module.tree.body if isinstance(each, ast.FunctionDef)]
    classes = {each.name: each for each in module.tree.body if isinstance(each, ast.ClassDef)}
    for name in _MODELS:
        if name in classes and (form := _read_model(classes[name], functions, module)):
            yield form
    submission = next((each for each in functions if each.name == _SUBMISSION), None)
    if submission and (form := _read_submission(submission)):
        yield form
    plain = [(each, call) for each in functions if each is not submission and (call := _read_plain(each))]
    bindings = list(_list_bindings(module))
    for each, (text, returns, names) in sorted(plain, key=lambda pair: (-_rate(pair[0].name), -pair[0].lineno)):
        likely = "f32", _guess_layout(each, names)
        words = f"{each.name}, a Python function"
        yield _Form(each.name, text, words, returns, _UNKNOWN, likely, _takes_batches(each))
    yield from bindings


def _rate(name: str) -> int:
    """Return how likely a function of this name is the one that is meant."""
    return 2 * (_NAMED.search(name) is not None) - 4 * (_NOT_MEANT.search(name) is not None)


def _read_model(model: ast.ClassDef, functions: Sequence[ast.FunctionDef], module: PythonModule) -> _Form | None:
    """Read a class of KernelBench, whose `forward` takes A and B."""
    forward = next((each for each in model.body if isinstance(each, ast.FunctionDef) and each.name == "forward"), None)
    if forward is None or len(_list_required(forward)) != 3:
        return None
    makers = {each.name: each for each in functions}
    init = f"*{_INIT_INPUTS}()" if _INIT_INPUTS in makers else ""
    inputs = _read_inputs(makers.get(_INPUTS), module)
    what, batches = f"{model.name}, a class as in KernelBench", not inputs.shapes and _takes_batches(forward)
    return _Form(model.name, f"{model.name}({init}).cuda()(A, B)", what, True, inputs, batches=batches)


def _read_submission(function: ast.FunctionDef) -> _Form | None:
    """Read a submission to GPU MODE, which takes (A, B) and returns C, or takes (A, B, C)."""
    parameters = _list_required(function)
    if len(parameters) != 1:
        return None
    names = _list_parts(function, parameters[0])
    count, likely = len(names), ("f16", _guess_layout(function, names))
    call = f"{_SUBMISSION}({'(A, B, C)' if count == 3 else '(A, B)'})"
    what = f"{_SUBMISSION}, a function as in GPU MODE"
    if count not in (2, 3):
        return None
    return _Form(_SUBMISSION, call, what, count != 3, _UNKNOWN, likely, _takes_batches(function))


def _list_parts(function: ast.FunctionDef, name: str) -> list[str]:
    """Return what a function calls the parts of a tuple: as it is unpacked, or as many as its highest index says."""
    highest = -1
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name:
            for target in node.targets:
                if isinstance(target, ast.Tuple | ast.List):
                    return [ast.unparse(each) for each in target.elts]
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            index = node.slice.value if isinstance(node.slice, ast.Constant) else None
            highest = max(highest, index) if isinstance(index, int) else highest
    return [f"{name}[{index}]" for index in range(highest + 1)]


_BATCHES = re.compile(r"\b(?:bmm|baddbmm)\(|\w+, \w+, \w+\)? = \w+\.(?:shape\b|size\(\))")
"""Code that takes operands with three dimensions."""


def _takes_batches(function: ast.FunctionDef) -> bool:
    return _BATCHES.search(ast.unparse(function)) is not None


def _list_required(function: ast.FunctionDef) -> list[str]:
    """Return the parameters without a default."""
    return _list_arguments(function.args)


def _list_arguments(arguments: ast.arguments) -> list[str]:
    """Return the names that have no default."""
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    named = [each.arg for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if not default]
    return positional[: len(positional) - len(arguments.defaults)] + named


def _read_plain(function: ast.FunctionDef) -> tuple[str, bool, list[str]] | None:
    """Return the call of a function that takes A and B, perhaps C, sizes and scalars, and whether it returns C.

    The names of its matrices follow.
    """
    passed, names = _pass_operands(function)
    if len(names) == len("ABC") or (len(names) == len("AB") and _returns_value(function)):
        return f"{function.name}({', '.join(passed)})", len(names) == len("AB"), names
    return None


def _pass_operands(function: ast.FunctionDef) -> tuple[list[str], list[str]]:
    """Return what to pass to a function of A and B, perhaps C, sizes and scalars, and its names of the matrices.

    Both are empty if it is not such a function.
    """
    if any(_DEVICE_CODE.search(ast.unparse(each)) for each in function.decorator_list):
        return [], []
    passed, names, operands = list[str](), list[str](), iter("ABC")
    positional = {each.arg for each in (*function.args.posonlyargs, *function.args.args)}
    for name in _list_required(function):
        known = _SIZES.get(name.lower())
        if known is None:
            known = next(operands, "")
            names.append(name)
            if not known or (known == "C" and name.lower().strip("_") not in _OUTPUTS):
                return [], []
        passed.append(known if name in positional else f"{name}={known}")
    return passed, names


def _returns_value(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(function))


def _list_bindings(module: PythonModule) -> Iterator[_Form]:
    """Yield the functions of modules that `load_inline` makes."""
    for node in module.tree.body:
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            continue
        for call in (each for each in ast.walk(node.value) if isinstance(each, ast.Call)):
            if ast.unparse(call.func).rpartition(".")[2] == "load_inline":
                listed = next((each.value for each in call.keywords if each.arg == "functions"), None)
                for name in _list_strings(listed):
                    called = f"{node.targets[0].id}.{name}"
                    yield _Form(called, f"{called}(A, B)", f"{name}, a function of `load_inline`", True, _UNKNOWN)


def _list_strings(node: ast.expr | None) -> list[str]:
    return (
        [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if node
        else []
    )


_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
}  # fmt: skip
_LARGEST = 1 << 31


def _evaluate(node: ast.expr, constants: Mapping[str, int]) -> int | None:
    """Return the value of an expression of whole numbers; None if it is unknown."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) and 0 < node.value < _LARGEST else None
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _evaluate(node.left, constants), _evaluate(node.right, constants)
        if left is not None and right is not None and (right or not isinstance(node.op, ast.FloorDiv)):
            value = _OPERATORS[type(node.op)](left, right)
            return value if 0 < value < _LARGEST else None
    return None


def _read_constants(body: Sequence[ast.stmt], known: Mapping[str, int]) -> dict[str, int]:
    """Return the whole numbers that assignments give to names."""
    constants = dict(known)
    for node in body:
        for name, written in _list_assigned(node):
            value = _evaluate(written, constants)
            if value is not None:
                constants[name] = value
    return constants


def _list_assigned(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    """Return the names that `M = 8` or `M, N = 8, 9` assigns, with their values."""
    if not isinstance(node, ast.Assign):
        return []
    target, value = node.targets[0], node.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = list(zip(target.elts, value.elts, strict=True))
    return [(each.id, written) for each, written in pairs if isinstance(each, ast.Name)]


_MAKERS = ("rand", "randn", "empty", "zeros", "ones", "randint")


def _read_inputs(function: ast.FunctionDef | None, module: PythonModule) -> _Inputs:
    """Return what `get_inputs` makes."""
    if function is None:
        return _UNKNOWN
    constants = _read_constants(function.body, _read_constants(module.tree.body, {}))
    made = [shape for node in ast.walk(function) if isinstance(node, ast.Call) and (shape := _read_shape(node))]
    made.sort(key=lambda shape: shape[0].lineno)
    text = ast.unparse(function)
    precision = next((name for name, pattern in _PRECISIONS if pattern.search(text)), "f32")
    named = [[ast.unparse(each) for each in shape] for shape in made]
    values = [[_evaluate(each, constants) for each in shape] for shape in made]
    dimensions = [len(shape) for shape in made]
    batch = dimensions == [3, 3] and (named[0][0] == named[1][0] or None is not values[0][0] == values[1][0])
    if not batch and dimensions != [2, 2]:
        return _Inputs(precision=precision)
    counts = values[0][:-2] if batch else []
    named, values = [shape[-2:] for shape in named], [shape[-2:] for shape in values]
    if not _find_layout(named):  # the names do not tell, but the numbers behind them may
        pairs = (zip(shape, numbers, strict=True) for shape, numbers in zip(named, values, strict=True))
        named = [[name if number is None else str(number) for name, number in pair] for pair in pairs]
    sizes = _find_sizes(values, _find_layout(named) or "nn")
    if sizes and batch:
        sizes = {**sizes, _COUNT: counts[0]} if counts[0] else None
    return _Inputs(tuple(map(tuple, named)), sizes, precision, batch)


def _find_sizes(values: Sequence[Sequence[int | None]], layout: str) -> dict[str, int] | None:
    """Return M, N and K from the shapes of A and B; None unless all are known and fit."""
    M, K = values[0] if layout[0] == "n" else values[0][::-1]
    inner, N = values[1] if layout[1] == "n" else values[1][::-1]
    if M is None or N is None or K is None or inner != K:
        return None
    return {"M": M, "N": N, "K": K}


def _read_shape(call: ast.Call) -> list[ast.expr]:
    """Return the sizes in `torch.rand(M, K)` or `torch.rand((M, K))`; empty for another call."""
    if ast.unparse(call.func).rpartition(".")[2] not in _MAKERS:
        return []
    shape = call.args[0].elts if call.args and isinstance(call.args[0], ast.Tuple | ast.List) else call.args
    return list(shape)


def _find_layout(inputs: Sequence[Sequence[str]]) -> str:
    """Return the layout in which A and B share one size by its name; "" if none or several do."""
    if len(inputs) != 2:
        return ""
    (a0, a1), (b0, b1) = inputs
    shared = {"nn": a1 == b0, "nt": a1 == b1, "tn": a0 == b0, "tt": a0 == b1}
    found = [layout for layout, fits in shared.items() if fits]
    return found[0] if len(found) == 1 else ""


def _explain_nothing(module: PythonModule, location: str) -> str:
    """Explain why nothing in a file can be called."""
    wanted = "a function such as `def matmul(a, b)`, which returns the product, or `def matmul(a, b, c)`"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "__global__" in node.value:
            kernels = ", ".join(list_kernels(node.value)[:3]) or "a kernel"
            what = (
                f"line {node.lineno} is CUDA text in a string ({kernels}), which only a function of the file can launch"
            )
            return f"{location}: {what}; write {wanted}, or move the text to a .cu file and give that"
    functions = (each for each in module.tree.body if isinstance(each, ast.FunctionDef))
    silent = [each.name for each in functions if len(_pass_operands(each)[1]) == len("AB")]
    if silent:
        name = max(silent, key=_rate)
        return f"{location}: {name} takes A and B but returns nothing; return the product, or take C and write to it"
    near = dict(_list_near(module))
    if near:
        return f"{location}: {near[max(near, key=_rate)]}"
    return f"{location}: no function of it takes A and B; write {wanted}, or a class ModelNew as in KernelBench"


def _list_near(module: PythonModule) -> Iterator[tuple[str, str]]:
    """Yield the names of classes and functions that almost fit, with what is wrong and the next step."""
    functions = [node for node in module.tree.body if isinstance(node, ast.FunctionDef)]
    near = [(node.name, node.name, _list_required(node)) for node in functions]
    models = [node for node in module.tree.body if isinstance(node, ast.ClassDef) and node.name in _MODELS]
    for model in models:
        forwards = (each for each in model.body if isinstance(each, ast.FunctionDef) and each.name == "forward")
        near += [(model.name, f"{model.name}().cuda()", _list_required(each)[1:]) for each in forwards]
    for name, called, arguments in near:
        if fault := _question_arguments(name, called, arguments):
            yield name, fault
    for node in module.tree.body:
        if isinstance(node, ast.AsyncFunctionDef) and _takes_operands(node.name, _list_arguments(node.args)):
            yield node.name, f"{node.name} is `async`, so a call returns no product; write it with plain `def`"
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            names = [each.id for each in node.targets if isinstance(each, ast.Name)]
            for name in names if _takes_operands(names[0], _list_arguments(node.value.args)) else ():
                yield name, f"{name} is a lambda; write it with `def`"


def _takes_operands(name: str, arguments: Sequence[str]) -> bool:
    """Return whether a class or function seems to take A and B, by its name or by the names of its arguments."""
    is_named = name in _MODELS or _rate(name) > 0 or {"A", "B"} <= {name_operand(each) for each in arguments}
    return len(arguments) >= len("AB") and is_named


def _question_arguments(name: str, called: str, arguments: Sequence[str]) -> str:
    """Say which arguments of a function of A and B nothing is known to pass, and how to say it; "" for none."""
    others = [each for each in arguments if each.lower() not in _SIZES]
    operands, more = others[: len("AB")], others[len("AB") :]
    if not more or not _takes_operands(name, arguments):
        return ""
    roles = dict(zip(operands, "AB", strict=True))
    roles |= {each: f"{each}={each if each in _KNOWN else '...'}" for each in more}
    first = arguments[: arguments.index(operands[-1])]  # what precedes a matrix is passed by place
    named = {each: f"{'' if each in first else f'{each}='}{_SIZES.get(each.lower())}" for each in arguments}
    passed = ", ".join(roles.get(each, named[each]) for each in arguments)
    listed = " and ".join(f"`{each}`" for each in more)
    how = f"write a manifest that says what to pass: `call: {called}({passed})`"
    return f"{name} takes {listed} besides A and B; give a default, or {how}"
