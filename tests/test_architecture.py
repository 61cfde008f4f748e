"""The shape of the house: imports run one way, and each thing has one place (see docs in errors.py)."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "gemmbench"
FLOORS = ["errors", "planning", "analysis", "backends", "bench", "report", "cli"]
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path):
    return str(path.relative_to(PACKAGE))


def imports(path):
    """Every module that a file imports, inside functions and under TYPE_CHECKING too, in full."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: imports are written in full"
            yield node.module
            if node.module == "gemmbench":
                yield from (f"gemmbench.{alias.name}" for alias in node.names)


def floor(module):
    """The floor of `gemmbench.floor.x`, or -1."""
    parts = module.split(".")
    inside = parts[0] == "gemmbench" and len(parts) > 1 and parts[1] in FLOORS
    return FLOORS.index(parts[1]) if inside else -1


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_run_one_way(path):
    mine = floor("gemmbench." + name_of(path).removesuffix(".py").replace("/", "."))
    if mine >= 0:
        assert [module for module in imports(path) if floor(module) > mine] == []


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


def test_nothing_prints_but_the_command_line():
    for path in MODULES:
        if not name_of(path).startswith("cli/"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    said = ast.unparse(node.func)
                    assert said not in ("print", "sys.stdout.write", "sys.stderr.write"), (
                        f"{name_of(path)}:{node.lineno}"
                    )


def test_every_module_says_what_it_is():
    silent = [name_of(path) for path in MODULES if path.read_text().strip() and not docstring(path)]
    assert silent == []


def docstring(path):
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_no_python_file_lies_among_the_kernels():
    assert list((ROOT / "cuda").rglob("*.py")) == []


def test_no_tracked_file_names_the_workplace():
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: no list of tracked files")
    call = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    workplace = re.compile(rb"/" + rb"work(/|\b)")
    paths = [ROOT / name for name in names if name and (ROOT / name).is_file()]
    assert len(paths) > 50
    assert [str(path) for path in paths if workplace.search(path.read_bytes())] == []
