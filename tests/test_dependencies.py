"""The dependencies: each has its reason in the contributing guide and its version in the locks."""

import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gemmbench.errors import write_pip_line

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ALWAYS = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
BUILD = PROJECT["dependency-groups"]["build"]
GROUPS = {"always": ALWAYS, **EXTRAS, "build": BUILD}
LOCKS = sorted(path.stem for path in (ROOT / "requirements").glob("*.txt"))


def read_lock(name):
    """The requirements of a lock file, each with the number of its hashes."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(Requirement(line.partition(" --hash=")[0]), line.count("--hash=sha256:")) for line in lines]


def find_pins(name, environment):
    """The versions of a lock file in an environment, by package."""
    chosen = [each for each, _ in read_lock(name) if each.marker is None or each.marker.evaluate(environment)]
    pins = {each.name: str(each.specifier).removeprefix("==") for each in chosen}
    assert len(pins) == len(chosen)
    return pins


@pytest.mark.parametrize("extra", ["cuda", "fleet", "tune"])
def test_a_message_names_the_packages_of_an_extra(extra):
    wanted = [canonicalize_name(Requirement(each).name) for each in EXTRAS[extra]]
    assert write_pip_line(extra) == f"pip install {' '.join(wanted)}"


def test_the_contributing_guide_says_why_each_dependency_is_there():
    text = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    section = text.partition("## Dependencies\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([\w-]+) \| ([\w, ]+) \| (.+) \|$", section, re.MULTILINE)[1:]
    written = {package: groups.split(", ") for package, groups, _ in rows}
    declared: dict[str, list[str]] = {}
    for group, requirements in GROUPS.items():
        for requirement in requirements:
            declared.setdefault(Requirement(requirement).name, []).append(group)
    assert written == declared and len(rows) == len(written)


def test_what_builds_the_package_is_locked():
    assert set(PROJECT["build-system"]["requires"]) <= set(BUILD)


@pytest.mark.parametrize("name", LOCKS)
@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13", "3.14"])
def test_a_lock_has_what_the_project_asks_for(name, python):
    environment = {"python_version": python, "python_full_version": f"{python}.5", "sys_platform": "linux"}
    environment |= {"platform_machine": "x86_64"}
    pins = find_pins(name, environment)
    for text in [*ALWAYS, *BUILD, *EXTRAS.get(name, [])]:
        asked = Requirement(text)
        assert asked.specifier.contains(pins[canonicalize_name(asked.name)]), text


@pytest.mark.parametrize("name", LOCKS)
def test_each_locked_version_is_exact_and_has_hashes(name):
    for requirement, hashes in read_lock(name):
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)) and hashes, requirement


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13", "3.14"])
def test_locks_that_are_installed_together_agree(python):
    environment = {"python_version": python, "python_full_version": f"{python}.5", "sys_platform": "linux"}
    together: dict[str, str] = {}
    for name in LOCKS:
        for package, version in find_pins(name, environment).items():
            assert together.setdefault(package, version) == version, (name, package)


def test_the_locks_are_those_that_ci_and_the_action_install():
    assert set(LOCKS) - {"base"} <= set(EXTRAS)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {name for name in LOCKS if f"$(LOCKED) requirements/{name}.txt" in makefile} == set(LOCKS)
