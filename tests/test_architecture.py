"""The shape of the house: imports run one way, and each thing has one place (see docs in errors.py)."""

import ast
import re
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "gemmbench"
FLOORS = ["errors", "planning", "analysis", "backends", "bench", "report", "session", "interface", "cli"]
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path):
    return str(path.relative_to(PACKAGE))


@cache
def parse(path):
    """The tree of a file, read once for all tests."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path):
    """Every module that a file imports, inside functions and under TYPE_CHECKING too, in full."""
    return list(find_imports(path))


def find_imports(path):
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: imports are written in full"
            yield node.module
            if node.module == "gemmbench":
                yield from (f"gemmbench.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and name_function(node.func) == "import_module":
            yield from (each.value for each in node.args if isinstance(each, ast.Constant))


def name_function(called):
    """The last word of what is called: `import_module` of `importlib.import_module`."""
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def floor(module):
    """The floor of `gemmbench.floor.x`, or -1."""
    parts = module.split(".")
    inside = parts[0] == "gemmbench" and len(parts) > 1 and parts[1] in FLOORS
    return FLOORS.index(parts[1]) if inside else -1


def test_imports_run_one_way():
    offenders = [
        f"{name_of(path)}: {module}"
        for path in MODULES
        if (mine := floor("gemmbench." + name_of(path).removesuffix(".py").replace("/", "."))) >= 0
        for module in imports(path)
        if floor(module) > mine
    ]
    assert offenders == []


def test_every_module_is_on_a_floor():
    outside = {name_of(path) for path in MODULES if name_of(path).split("/")[0].removesuffix(".py") not in FLOORS}
    assert outside == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize(
    ("libraries", "home"),
    [
        ("click", "cli/"),
        ("pycuda nvmath cuda pynvml ctypes", "backends/"),
        ("yaml", ("planning/yaml_document.py", "backends/fake/script.py")),
        ("simpleeval", "planning/manifests/expressions.py"),
        ("tabulate", ("report/", "cli/")),
    ],
)
def test_a_library_has_one_home(libraries, home):
    wanted = set(libraries.split())
    users = {name_of(path) for path in MODULES if wanted & {module.split(".")[0] for module in imports(path)}}
    assert users and {user for user in users if not user.startswith(home)} == set()


def module_of(path):
    """`gemmbench.backends.base` of its file."""
    return ".".join(("gemmbench", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


GRAPH = {module_of(path): set(imports(path)) for path in MODULES}


def imported_modules(name):
    """The modules of the package that one of them imports, `from package import module` included."""
    return {each for each in GRAPH[name] if each in GRAPH and each != name}


def test_no_imports_run_in_a_circle():
    open_modules, finished, circles = [], set(), []

    def visit(name):
        if name in open_modules:
            circles.append([*open_modules[open_modules.index(name) :], name])
        elif name not in finished:
            open_modules.append(name)
            for other in sorted(imported_modules(name)):
                visit(other)
            finished.add(open_modules.pop())

    for name in sorted(GRAPH):
        visit(name)
    assert circles == []


def test_only_the_registry_knows_a_back_end():
    """It imports them by name; every other import of a back end comes from inside it."""
    offenders = []
    for path in MODULES:
        room = name_of(path).split("/")[1] if name_of(path).startswith("backends/") else ""
        particular = [module for module in imports(path) if re.match(r"gemmbench\.backends\.(cuda|cpu|fake)\b", module)]
        offenders += [f"{name_of(path)}: {module}" for module in particular if module.split(".")[2] != room]
    assert offenders == []


BACKEND_NAMES = {"cuda", "cpu", "fake"}
OTHER_MEANINGS = {"backends/cuda/system/device.py"}  # the release of CUDA, among the versions of software


def constants_compared(tree):
    """Strings that are compared with something, matched, or looked up in a dict display."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            held = [node.left, *node.comparators]
            held += [each for item in held if isinstance(item, ast.Tuple | ast.List | ast.Set) for each in item.elts]
        elif isinstance(node, ast.Dict):
            held = node.keys
        elif isinstance(node, ast.MatchValue):
            held = [node.value]
        elif isinstance(node, ast.Subscript):
            held = [node.slice]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".get", ".startswith", ".removeprefix")):
            held = node.args
        else:
            continue
        yield from (each for each in held if isinstance(each, ast.Constant))


def test_the_names_of_back_ends_are_compared_nowhere():
    """A record in the registry, a Target or the header of a run has the property that is asked for."""
    offenders = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        if name_of(path) not in OTHER_MEANINGS
        for node in constants_compared(parse(path))
        if node.value in BACKEND_NAMES
    ]
    assert offenders == []


OF_EACH_BACK_END = {"backend", "entry", "services"}


def test_a_name_occurs_once():
    """So a name finds its file; only back ends have modules of the same names."""
    named = Counter(path.stem for path in MODULES if not path.stem.startswith("__"))
    assert {name for name, count in named.items() if count > 1} == OF_EACH_BACK_END


def test_a_folder_has_at_least_four_modules():
    held = Counter(path.parent for path in MODULES if path.parent != PACKAGE and path.name != "__init__.py")
    assert {name_of(folder): count for folder, count in held.items() if count < 4} == {}


def test_no_module_only_forwards():
    """The lists of names in `__init__` were what a folder holds; the interface of the package is the one list left."""
    forwards = []
    for path in MODULES:
        statements = [node for node in parse(path).body if not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)]
        if not statements and any(imports(path)) and path.name != "__main__.py":
            forwards.append(name_of(path))
    assert forwards == []


def test_a_public_function_is_used_elsewhere():
    """In the package, a test or a program; otherwise it is private."""
    folders = [ROOT / name for name in ("gemmbench", "tests", "tools", "benchmarks", "examples")]
    words = {path: set(re.findall(r"\w+", path.read_text())) for folder in folders for path in folder.rglob("*.py")}
    users = Counter(word for found in words.values() for word in found)
    lonely = [
        f"{name_of(path)}: {node.name}"
        for path in MODULES
        for node in parse(path).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.decorator_list
        if users[node.name] == 1
    ]
    assert lonely == []


MOST_LAZY_IMPORTS = 25


def lazy_imports(path):
    """Imports inside functions, by line."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Import | ast.ImportFrom):
                    yield f"{name_of(path)}:{inner.lineno}"


def test_imports_stand_at_the_top():
    lazy = sorted({where for path in MODULES for where in lazy_imports(path)})
    assert len(lazy) <= MOST_LAZY_IMPORTS, "\n".join(lazy)


PRINTING = (
    "backends/cpu/kernel_process.py",  # one line for what a kernel printed, in the place of its own output
    "report/export.py",  # what an option sends to stdout, -
)


def test_nothing_prints_but_the_command_line():
    for path in MODULES:
        if not name_of(path).startswith("cli/") and name_of(path) not in PRINTING:
            for node in ast.walk(parse(path)):
                if isinstance(node, ast.Call):
                    said = ast.unparse(node.func)
                    assert said not in ("print", "sys.stdout.write", "sys.stderr.write"), (
                        f"{name_of(path)}:{node.lineno}"
                    )


def test_text_is_read_and_written_in_one_encoding_whatever_the_locale():
    for path in MODULES:
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".read_text", "draft.write_text")):
                named = {keyword.arg for keyword in node.keywords}
                assert "encoding" in named, f"{name_of(path)}:{node.lineno}: name the encoding"


def test_every_module_says_what_it_is():
    silent = [name_of(path) for path in MODULES if path.read_text().strip() and not docstring(path)]
    assert silent == []


def docstring(path):
    return ast.get_docstring(parse(path))


def test_no_tracked_file_names_the_workplace():
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: no list of tracked files")
    call = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    workplace = re.compile(rb"/" + rb"work(/|\b)")
    paths = [ROOT / name for name in names if name and (ROOT / name).is_file()]
    assert len(paths) > 50
    assert [str(path) for path in paths if workplace.search(path.read_bytes())] == []
