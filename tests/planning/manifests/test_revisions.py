"""A git revision is read without running what the configuration of its repository names."""

import os
import subprocess

import pytest

from gemmbench.backends.sources import read_whole_text
from gemmbench.errors import UsageError
from gemmbench.planning.manifests import revisions
from gemmbench.planning.manifests.revisions import (
    explain_unreadable,
    find_commit,
    find_variant_at,
    list_kernels_at,
    read_files,
)


@pytest.fixture
def git(tmp_path):
    def run(*arguments):
        who = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        call = ["git", "-C", tmp_path, *who, *arguments]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()

    return run


@pytest.fixture
def checkout(git, write_kernel, tmp_path):
    """A repository whose folder `kernels` has `mine.cu` and others; then `mine.cu` is changed."""
    write_kernel("mine.cu", summary="first")
    write_kernel("deep.cu", folder="kernels/one/two", summary="second")
    (tmp_path / "kernels/notes.txt").write_text("no kernel")
    (tmp_path / "kernels/huge.cu").write_bytes(b" " * (1 << 21))
    (tmp_path / "kernels/link.cu").symlink_to("mine.cu")
    (tmp_path / "kernels" / os.fsdecode(b"bad\xff.cu")).write_text("x")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    write_kernel("mine.cu", summary="changed")
    return tmp_path / "kernels"


def test_files_are_those_of_the_commit(checkout, git):
    commit = find_commit(checkout, "HEAD")
    files = dict(read_files(checkout, commit, (".cu",)))
    assert sorted(files) == [os.fsdecode(b"bad\xff.cu"), "mine.cu", "one/two/deep.cu"]
    assert b"summary: first" in files["mine.cu"] and commit == git("rev-parse", "HEAD")
    assert find_variant_at("HEAD:mine", [checkout]).summary == "first"
    short = git("rev-parse", "--short", "HEAD")
    assert find_variant_at("HEAD:deep", [checkout]).path.endswith(f"kernels/one/two/deep.cu@{short}")
    assert list_kernels_at("HEAD", [checkout]).commit == short
    assert {"mine", "deep"} < set(list_kernels_at("HEAD", [checkout]).names)


def test_headers_of_a_picked_kernel_can_still_be_read(git, write_kernel, tmp_path):
    kernel = write_kernel("mine.cu")
    kernel.write_text(f'{kernel.read_text()}#include "helper.cuh"\n')
    (tmp_path / "kernels/helper.cuh").write_text("// the header")
    (tmp_path / "kernels/choice.cu").write_text(
        "/*---\nsummary: x\norder: 1\nprecisions: [f32]\nlayouts: [nn]\npick:\n  - variant: mine\n---*/\n"
    )
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    (pick,) = find_variant_at("HEAD:choice", [tmp_path / "kernels"]).picks
    assert "// the header" in read_whole_text(pick.code)


@pytest.mark.parametrize("what", ["tag", "branch", "replace"])
def test_nothing_takes_the_place_of_a_commit(checkout, git, what):
    first, short = git("rev-parse", "HEAD"), git("rev-parse", "--short", "HEAD")
    git("commit", "-qam", "second")
    git(what, first if what == "replace" else short, "HEAD")
    assert find_variant_at(f"{first}:mine", [checkout]).summary == "first"
    assert find_variant_at("HEAD:mine", [checkout]).summary == "changed"


def test_what_git_writes_next_to_an_answer_does_not_matter(checkout, monkeypatch):
    monkeypatch.setenv("GIT_TRACE", "1")
    assert explain_unreadable(checkout) == ""


def test_a_folder_outside_a_checkout_is_explained(tmp_path):
    folder = tmp_path / os.fsdecode(b"x\xff")
    folder.mkdir()
    (folder / ".git").write_text("gitdir: " + os.fsdecode(b"/no\xff"), errors="surrogateescape")
    assert " is not in a readable git checkout (fatal: " in explain_unreadable(folder)


PROGRAMS = """
tar.zip tar.tar tar.tgz filter.evil.smudge filter.evil.process filter.evil.clean core.fsmonitor core.pager pager.ls-tree
pager.cat-file diff.external diff.evil.textconv diff.evil.command gpg.program core.sshCommand core.gitProxy core.askPass
core.editor core.alternateRefsCommand uploadpack.packObjectsHook
"""
HOOKS = ["pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"]


def test_nothing_that_the_repository_names_is_run(checkout, git, tmp_path):
    trap, marker = tmp_path / "trap", tmp_path / "marker"
    trap.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    trap.chmod(0o755)
    (checkout / ".gitattributes").write_text("*.cu filter=evil diff=evil text eol=lf export-subst ident\n")
    git("add", "kernels/.gitattributes")
    git("commit", "-qm", "attributes")
    for key in PROGRAMS.split():
        git("config", f"{key}.command" if key.startswith("tar.") else key, str(trap))
    for name in "rev-parse", "ls-tree", "cat-file":
        git("config", f"alias.{name}", f"!{trap}")
    for name in HOOKS:
        (tmp_path / ".git/hooks" / name).symlink_to(trap)
    marker.unlink(missing_ok=True)
    assert find_variant_at("HEAD~1:mine", [checkout]).summary == "first"
    assert list_kernels_at("HEAD", [checkout]).names
    assert not marker.exists()


def test_a_clone_without_the_files_fetches_nothing(checkout, git, tmp_path):
    trap, marker = tmp_path / "trap", tmp_path / "marker"
    trap.write_text(f'#!/bin/sh\ntouch {marker}\nexec git-upload-pack "$@"\n')
    trap.chmod(0o755)
    name = git("rev-parse", "HEAD:kernels/mine.cu")
    (tmp_path / ".git/objects" / name[:2] / name[2:]).unlink()
    settings = {"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "protocol.allow": "always"}
    settings |= {"remote.origin.url": str(tmp_path), "remote.origin.promisor": "true"}
    settings |= {"remote.origin.uploadpack": str(trap)}
    for key, value in settings.items():
        git("config", key, value)
    with pytest.raises(UsageError, match=r"lacks files of \w+; fetch them with git fetch --refetch --no-filter"):
        find_variant_at("HEAD:mine", [checkout])
    assert not marker.exists()


def make_tree(git, tmp_path, *entries):
    """A commit whose tree has entries that git itself would not write: (mode, path, name of the object)."""
    content = b"".join(mode + b" " + path + b"\0" + bytes.fromhex(name) for mode, path, name in entries)
    (tmp_path / "tree").write_bytes(content)
    tree = git("hash-object", "-t", "tree", "-w", "--literally", "tree")
    return git("commit-tree", "-m", "odd", tree)


def test_no_file_is_written_outside(checkout, git, tmp_path):
    blob = git("rev-parse", "HEAD:kernels/mine.cu")
    inner = make_tree(git, tmp_path, (b"100644", b"mine.cu", blob), (b"100644", b"../out.cu", blob))
    tree = git("rev-parse", f"{inner}^{{tree}}")
    commit = make_tree(git, tmp_path, (b"40000", b"kernels", tree))
    assert [path for path, _ in read_files(checkout, commit, (".cu",))] == ["mine.cu"]


def test_a_file_and_a_folder_of_one_name_are_refused(checkout, git, tmp_path):
    blob = git("rev-parse", "HEAD:kernels/mine.cu")
    inside = git("rev-parse", f"{make_tree(git, tmp_path, (b'100644', b'b.cu', blob))}^{{tree}}")
    both = make_tree(git, tmp_path, (b"100644", b"a.cu", blob), (b"40000", b"a.cu", inside))
    kernels = git("rev-parse", f"{both}^{{tree}}")
    commit = make_tree(git, tmp_path, (b"40000", b"kernels", kernels))
    with pytest.raises(UsageError, match="cannot write a kernel of the revision "):
        find_variant_at(f"{commit}:a", [checkout])


def make_trees(git_folder, blob, width, depth):
    """The hash of a tree that holds a file `width` to the power of `depth` times."""
    kind, mode, name = "blob", "100644", blob
    for _ in range(depth):
        listed = "".join(f"{mode} {kind} {name}\t{number:03}.cu\n" for number in range(width))
        made = subprocess.run(
            ["git", "-C", git_folder, "mktree"], input=listed, capture_output=True, text=True, check=True
        )
        kind, mode, name = "tree", "040000", made.stdout.strip()
    return name


@pytest.mark.parametrize(
    ("width", "depth", "size", "fault"),
    [
        (100, 5, 4, "git prints more than 32 MB"),
        (12, 4, 1, "20,736 kernels and headers of 0 MB there, but gemmbench reads at most 10,000 of 30 MB"),
        (6, 2, 1 << 20, "36 kernels and headers of 36 MB there"),
    ],
)
def test_a_commit_of_very_many_or_large_files_is_refused(checkout, git, tmp_path, width, depth, size, fault):
    (tmp_path / "x.cu").write_bytes(b"x" * size)
    blob = git("hash-object", "-w", "x.cu")
    commit = git("commit-tree", "-m", "bomb", make_trees(tmp_path, blob, width, depth))
    with pytest.raises(UsageError, match=fault):
        list_kernels_at(commit, [tmp_path])


def test_a_revision_that_no_folder_has_is_a_fault_of_the_last_one(checkout, tmp_path_factory):
    """The folder of --kernels, not that of an installed gemmbench."""
    installed = tmp_path_factory.mktemp("installed")
    with pytest.raises(UsageError, match=rf"^no revision 'v0' in the git checkout of {checkout}; git log lists them$"):
        list_kernels_at("v0", [installed, checkout])


def test_an_installed_gemmbench_has_no_revisions_and_the_user_is_asked_for_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(revisions, "data_folder", lambda name: tmp_path / name)
    (tmp_path / "cuda").mkdir()
    with pytest.raises(UsageError, match=r"not in a readable git checkout .*; name the folder of your own kernels"):
        list_kernels_at("HEAD", [tmp_path / "cuda"])
