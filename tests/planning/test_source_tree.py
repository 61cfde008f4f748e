"""The hash of the sources is git's, and a revision is named only if it fits."""

import json
import os
import shutil
import subprocess

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning import files, source_tree
from gemmbench.planning.files import data_folder
from gemmbench.planning.source_tree import (
    FOLDERS,
    combine_trees,
    describe_build,
    find_tree,
    hash_folder,
    hash_sources,
    identify_sources,
    is_complete,
    name_version,
    read_version,
)

ROOT = data_folder("cuda").parent
IGNORED = "# what is built\nbuild/\n*.log\n!kept.log\n/cuda/private\nconfigs/*/draft.yaml\n"


@pytest.fixture
def git(tmp_path, monkeypatch):
    """Runs git in a repository of its own; returns what it prints."""
    if shutil.which("git") is None:
        pytest.skip("no git on this machine")
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)

    def git_(*words, root=tmp_path / "repository", typed=""):
        identity = ("-c", "user.name=x", "-c", "user.email=x@y", "-c", "core.hooksPath=/dev/null")
        command = ["git", "-C", str(root), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, input=typed).stdout.strip()

    (tmp_path / "repository").mkdir()
    git_("init", "--quiet")
    return git_


def write(root, path, text="x"):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.fixture
def repository(tmp_path, git, monkeypatch):
    """The folder of a program that runs from a repository with one commit."""
    root = tmp_path / "repository"
    for name in FOLDERS:
        write(root, f"{name}/one.txt", name)
    write(root, "results/x.csv")
    git("add", "--all")
    git("commit", "--quiet", "-m", "one")
    for module in (files, source_tree):
        monkeypatch.setattr(module, "_PACKAGE", root / "gemmbench")
    monkeypatch.delenv("GEMMBENCH_REVISION", raising=False)
    read_version.cache_clear()
    yield root
    read_version.cache_clear()  # the version of that repository


def test_a_folder_has_the_hash_that_git_gives_it(tmp_path, git):
    root = tmp_path / "repository"
    write(root, ".gitignore", IGNORED)
    # A folder is sorted as if its name ended in a slash: after `a-b` and `a.b`, before `a0`.
    for path in ("a/deep/x.cu", "a.b", "a-b", "a0", "empty.txt", "kept.log", "umlaut-\u00e4", "spaced name", "build"):
        write(root, f"cuda/{path}", "" if path == "empty.txt" else path)
    for path in ("cuda/a/build/x", "cuda/x.log", "cuda/private/x", "cuda/a/__pycache__/x", "cuda/a/x.pyc"):
        write(root, path)
    write(root, "configs/a/draft.yaml")
    write(root, "configs/draft.yaml")
    (root / "cuda" / "nothing" / "inside").mkdir(parents=True)
    (root / "cuda" / "a0").chmod(0o755)
    (root / "cuda" / "link").symlink_to("a/deep")
    (root / "cuda" / "broken").symlink_to("gone")
    (root / ".git" / "info" / "exclude").write_text("__pycache__/\n*.pyc\n")
    git("add", "--all")
    tree = git("write-tree")
    for name in ("cuda", "configs"):
        assert hash_folder(root / name, root / ".gitignore") == git("rev-parse", f"{tree}:{name}")
    before = hash_folder(root / "cuda", root / ".gitignore")
    write(root, "cuda/a/deep/x.cu", "A/deep/x.cu")
    assert hash_folder(root / "cuda", root / ".gitignore") != before


def test_a_folder_without_files_has_no_hash(tmp_path):
    (tmp_path / "inside").mkdir()
    assert hash_folder(tmp_path, tmp_path / ".gitignore") == hash_folder(tmp_path / "gone", tmp_path) == ""


def test_the_hash_of_this_repository_is_the_one_of_git(git, tmp_path, monkeypatch):
    if not (ROOT / ".git").exists():
        pytest.skip("not in a repository")
    objects = git("rev-parse", "--path-format=absolute", "--git-common-dir", root=ROOT) + "/objects"
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects)
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    git("add", "--all", "--", *FOLDERS, root=ROOT)
    tree = git("write-tree", root=ROOT)
    for name in FOLDERS:
        assert hash_folder(ROOT / name, ROOT / ".gitignore") == git("rev-parse", f"{tree}:{name}", root=ROOT)
    listed = git("ls-tree", tree, *FOLDERS, root=ROOT)
    assert hash_sources() == git("mktree", root=ROOT, typed=listed + "\n")


def test_a_folder_that_is_missing_does_not_count(git, repository):
    trees = {name: git("rev-parse", f"HEAD:{name}") for name in FOLDERS}
    assert combine_trees({**trees, "gone": ""}) == combine_trees(trees) == find_tree(repository, "HEAD")
    assert find_tree(repository, "--all") == find_tree(repository, "gone") == find_tree(repository, "") == ""


def test_a_revision_has_a_plus_if_sources_were_changed_and_not_for_other_files(git, repository):
    name = git("rev-parse", "--short=12", "HEAD")
    clean = identify_sources()
    assert (clean.revision, clean.tree) == (name, find_tree(repository, "HEAD"))
    write(repository, "results/x.csv", "y")
    write(repository, "docs/new.md")
    assert identify_sources() == clean
    write(repository, "cuda/new.cu")
    changed = identify_sources()
    assert changed.revision == f"{name}+" and changed.tree not in ("", clean.tree)


def test_a_revision_given_by_hand_must_fit(git, repository, monkeypatch):
    old, tree = git("rev-parse", "HEAD"), hash_sources()
    write(repository, "gemmbench/one.txt", "new")
    git("commit", "--quiet", "--all", "-m", "two")
    monkeypatch.setenv("GEMMBENCH_REVISION", git("rev-parse", "HEAD"))
    assert identify_sources().revision == git("rev-parse", "HEAD")
    monkeypatch.setenv("GEMMBENCH_REVISION", old)
    with pytest.raises(UsageError, match=f"GEMMBENCH_REVISION: the files of {old} in benchmarks, configs, cuda, gemm"):
        identify_sources()
    monkeypatch.setenv("GEMMBENCH_REVISION", f"{old}+")
    assert identify_sources().revision == f"{old}+"
    monkeypatch.setenv("GEMMBENCH_REVISION", old)
    shutil.rmtree(repository / ".git")
    there = identify_sources()  # without git nothing can be told, but the hash is recorded
    assert there.revision == old and there.tree not in ("", tree)


def test_without_git_and_without_a_name_the_revision_is_unknown(repository):
    shutil.rmtree(repository / ".git")
    assert identify_sources().revision == "" and identify_sources().tree


@pytest.mark.parametrize(
    ("described", "version"),
    [
        ("v0.2.0", "0.2.0"),
        ("v0.2.0+", "0.2.0+changed"),
        ("v0.2.0-35-g1a2b3c4d5e6f", "0.2.0.post35+g1a2b3c4d5e6f"),
        ("v0.2.0rc1-1-g1a2b3c4d5e6f+", "0.2.0rc1.post1+g1a2b3c4d5e6f.changed"),
        ("1a2b3c4d5e6f", "0.2.dev0+g1a2b3c4d5e6f"),
        ("1a2b3c4d5e6f" * 3 + "7890+", "0.2.dev0+g1a2b3c4d5e6f.changed"),
        ("", "0+unknown"),
        ("+", "0+unknown"),
        ("main", "0+unknown"),
        ("v0.2.0-35", "0+unknown"),
        ("v0.2.0abcdef1-", "0+unknown"),
    ],
)
def test_a_version_follows_from_the_tag(described, version):
    assert name_version(described) == version


def test_the_version_is_that_of_the_newest_tag_with_a_v(git, repository):
    git("tag", "nightly")
    commit = git("rev-parse", "--short=12", "HEAD")
    versions = [read_version.__wrapped__()]
    git("tag", "v0.2.0")
    versions += [read_version.__wrapped__()]
    write(repository, "cuda/new.cu")
    versions += [read_version.__wrapped__()]
    git("add", "--all")
    git("commit", "--quiet", "-m", "two")
    versions += [read_version.__wrapped__()]
    later = git("rev-parse", "--short=12", "HEAD")
    assert versions == [f"0.2.dev0+g{commit}", "0.2.0", "0.2.0+changed", f"0.2.0.post1+g{later}"]


def test_without_git_the_version_follows_from_the_revision_given_by_hand(repository, monkeypatch):
    shutil.rmtree(repository / ".git")
    assert read_version.__wrapped__() == "0+unknown"
    monkeypatch.setenv("GEMMBENCH_REVISION", "1a2b3c4d5e6f")
    assert read_version.__wrapped__() == "0.2.dev0+g1a2b3c4d5e6f"


def test_a_wheel_knows_its_revision_and_notices_changes(git, repository, monkeypatch):
    git("tag", "v0.2.0")
    built, name = describe_build(), git("rev-parse", "--short=12", "HEAD")
    assert built == {
        "version": "0.2.0",
        "revision": name,
        "tree": find_tree(repository, "HEAD"),
        "benchmarks": git("rev-parse", "HEAD:benchmarks"),
    }
    shutil.rmtree(repository / ".git")
    shutil.rmtree(repository / "benchmarks")
    for folder in ("cuda", "configs"):
        write(repository, f"gemmbench/data/{folder}/one.txt", folder)
        shutil.rmtree(repository / folder)
    write(repository, "gemmbench/data/built.json", json.dumps(built))
    assert (identify_sources().revision, identify_sources().tree) == (name, built["tree"])
    assert read_version.__wrapped__() == "0.2.0"
    write(repository, "gemmbench/data/cuda/one.txt", "new")
    assert identify_sources().revision == f"{name}+"
    monkeypatch.setenv("GEMMBENCH_REVISION", name)
    with pytest.raises(UsageError, match="differ from those that run here"):
        identify_sources()


def test_a_file_that_cannot_be_read_leaves_the_hash_unknown(repository):
    (repository / "cuda" / "one.txt").chmod(0)
    if os.access(repository / "cuda" / "one.txt", os.R_OK):
        pytest.skip("this user reads everything")
    assert identify_sources().tree == ""


def test_a_shallow_clone_is_not_complete(git, repository, tmp_path):
    assert is_complete(repository)
    write(repository, "cuda/one.txt", "new")
    git("commit", "--quiet", "--all", "-m", "two")
    git("clone", "--quiet", "--depth=1", f"file://{repository}", str(tmp_path / "clone"))
    assert not is_complete(tmp_path / "clone") and not is_complete(tmp_path)
