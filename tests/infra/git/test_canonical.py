"""The canonical repository: made once, for one installation, and nothing in it is lost."""

import multiprocessing
from pathlib import Path

import pytest

from commands.ports.git import ChangedFile, Relation
from commands.ports.sandbox import Sandbox
from domain.kernel.value import encode_path
from infra.git.canonical import GitCanonical
from infra.git.process import GitFailed, git
from infra.git.repository import InstallationMismatch, open_or_create
from tests.infra.git.conftest import AGENT
from tests.infra.git.person_git import PersonGit

ODD_NAMES = (
    b"with space",
    b"quote'\"s",
    b"line\nfeed",
    b"caf\xe9",
    "ünï".encode(),
    b"-dash",
    b":(top)x",
    b"a\tb",
    b"*?[",
)


def test_another_installations_repository_is_refused(canonical: GitCanonical, sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(InstallationMismatch, match="installation-1"):
        GitCanonical(canonical.path, tmp_path / "w", sandbox, "installation-2")


def test_a_repository_of_nobody_is_refused(person: PersonGit, sandbox: Sandbox, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    person.git("clone", "-q", "--bare", str(person.path), str(bare))
    with pytest.raises(InstallationMismatch, match="no installation"):
        GitCanonical(bare, tmp_path / "w", sandbox, "installation-1")


def test_several_processes_make_one_repository(tmp_path: Path) -> None:
    path = tmp_path / "canonical.git"
    context = multiprocessing.get_context("fork")
    makers = [context.Process(target=open_or_create, args=(path, "installation-1")) for _ in range(4)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert [maker.exitcode for maker in makers] == [0] * 4
    assert [place.name for place in tmp_path.iterdir()] == ["canonical.git"]


def test_an_import_borrows_nothing_from_the_person(canonical: GitCanonical, base: str, person: PersonGit) -> None:
    assert not (canonical.path / "objects" / "info" / "alternates").exists()
    (person.path / ".git").rename(person.path / "gone")
    git("fsck", "--connectivity-only", git_dir=canonical.path)
    assert canonical.paths(base) == ("README.md", "src/app.py")


def test_a_second_import_brings_what_is_new(canonical: GitCanonical, base: str, person: PersonGit) -> None:
    person.write("more.txt", "1")
    second = person.commit("second")
    canonical.fetch(person.path / ".git", second, "refs/rhumb/base/2")
    canonical.fetch(person.path / ".git", second, "refs/rhumb/base/2")
    counted = git("count-objects", "-v", git_dir=canonical.path).stdout.decode()
    assert "count: 8" in counted.splitlines()


def test_an_import_of_a_commit_that_is_not_there(canonical: GitCanonical, person: PersonGit) -> None:
    with pytest.raises(GitFailed):
        canonical.fetch(person.path, "1" * 40, "refs/rhumb/base/1")


def test_relations(canonical: GitCanonical, base: str) -> None:
    tree = canonical.tree_of(base)
    left, right = (canonical.commit_tree(tree, [base], AGENT, AGENT, side) for side in ("left", "right"))
    assert canonical.relation(base, base) is Relation.EQUAL
    assert canonical.relation(base, left) is Relation.BEHIND
    assert canonical.relation(left, base) is Relation.AHEAD
    assert canonical.relation(left, right) is Relation.DIVERGED


def test_odd_names_come_back_as_they_are(canonical: GitCanonical, person: PersonGit) -> None:
    before = person.head()
    for name in ODD_NAMES:
        person.write(name, "x\n")
    commit = person.commit("odd")
    canonical.fetch(person.path, before, "refs/rhumb/base/1")
    canonical.fetch(person.path, commit, "refs/rhumb/base/2")
    encoded = sorted(encode_path(name) for name in ODD_NAMES)
    assert set(encoded) <= set(canonical.paths(commit))
    assert [file.path for file in canonical.changed(before, commit)] == encoded
    assert [canonical.read_file(commit, path, 10) for path in encoded] == [b"x\n"] * len(encoded)


def test_changes_are_told_by_kind_and_lines(canonical: GitCanonical, person: PersonGit) -> None:
    person.write("gone", "1\n")
    old = person.commit("old")
    person.write("README.md", "hello\nthere\n")
    (person.path / "gone").unlink()
    (person.path / "binary").write_bytes(b"\0\1")
    (person.path / "src" / "app.py").unlink()
    (person.path / "src" / "app.py").symlink_to("x")
    new = person.commit("new")
    for number, commit in enumerate((old, new)):
        canonical.fetch(person.path, commit, f"refs/rhumb/base/{number}")
    assert canonical.changed(old, new) == (
        ChangedFile("README.md", "M", 1, 0),
        ChangedFile("binary", "A", None, None),
        ChangedFile("gone", "D", 0, 1),
        ChangedFile("src/app.py", "T", 1, 1),
    )
    assert b"+there" in canonical.diff(old, new, 10_000)
    assert len(canonical.diff(old, new, 20)) == 20


def test_a_diff_of_what_is_not_there(canonical: GitCanonical, base: str) -> None:
    with pytest.raises(GitFailed):
        canonical.diff(base, "1" * 40, 100)


def test_reading_a_file(canonical: GitCanonical, person: PersonGit) -> None:
    (person.path / "link").symlink_to("README.md")
    commit = person.commit("link")
    canonical.fetch(person.path, commit, "refs/rhumb/base/1")
    assert canonical.read_file(commit, "README.md", 6) == b"hello\n"
    assert canonical.read_file(commit, "README.md", 5) is None
    for path in ("link", "src", "nope", "", "..", "./README.md", "/README.md", "a%00b", "src/"):
        assert canonical.read_file(commit, path, 100) is None


def test_a_commit_depends_on_nothing_but_its_inputs(canonical: GitCanonical, base: str) -> None:
    made = {canonical.commit_tree(canonical.tree_of(base), [base, base], AGENT, AGENT, "one\n\ntwo") for _ in range(2)}
    (commit,) = made
    content = git("cat-file", "commit", commit, git_dir=canonical.path).stdout.decode()
    assert content == (
        f"tree {canonical.tree_of(base)}\nparent {base}\n"
        "author An agent <agent@example.org> 1700000000 +0000\n"
        "committer An agent <agent@example.org> 1700000000 +0000\n\none\n\ntwo\n"
    )


def test_a_gc_of_a_person_loses_no_object(canonical: GitCanonical, base: str) -> None:
    unpinned = canonical.commit_tree(canonical.tree_of(base), [base], AGENT, AGENT, "not pinned yet")
    git("gc", "-q", "--prune=now", git_dir=canonical.path, config=[("gc.auto", "1")])
    for command in (("prune", "--expire=now"), ("repack", "-a", "-d")):
        with pytest.raises(GitFailed, match="precious"):
            git(*command, git_dir=canonical.path)
    canonical.pin("refs/rhumb/cs/x", unpinned)
    git("fsck", git_dir=canonical.path)
