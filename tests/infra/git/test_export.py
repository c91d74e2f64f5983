"""A promoted commit arrives as a branch, and nothing else of a person's repository changes."""

import io
import os
import shutil
from pathlib import Path

import pytest

from commands.ports.git import RepositoryError
from infra.git import transfer
from infra.git.canonical import GitCanonical
from infra.git.person import GitPersonRepositories
from infra.git.process import git
from tests.infra.git.conftest import AGENT
from tests.infra.git.person_git import PersonGit

BRANCH = "rhumbline/chg_1"

export = GitPersonRepositories().export_branch


@pytest.fixture
def promoted(canonical: GitCanonical, base: str) -> str:
    """A commit in canonical that the person doesn't have, with a file of its own."""
    blob = git("hash-object", "-w", "--stdin", git_dir=canonical.path, stdin=b"new\n").stdout.decode().strip()
    tree = (
        git("mktree", git_dir=canonical.path, stdin=f"100644 blob {blob}\tnew.txt\n".encode()).stdout.decode().strip()
    )
    return canonical.commit_tree(tree, [base], AGENT, AGENT, "promoted")


def test_the_branch_arrives_and_nothing_else_changes(person: PersonGit, canonical: GitCanonical, promoted: str) -> None:
    person.write("README.md", "being edited\n")
    before = person.state()
    assert export(person.path, canonical.path, BRANCH, promoted)
    assert person.state() == before
    assert person.git("rev-parse", BRANCH) == promoted
    assert person.git("show", f"{BRANCH}:new.txt") == "new"
    person.git("fsck", "--strict", "--connectivity-only")


def test_a_second_export_changes_nothing(person: PersonGit, canonical: GitCanonical, promoted: str) -> None:
    assert export(person.path, canonical.path, BRANCH, promoted)
    assert not export(person.path / ".git", canonical.path, BRANCH, promoted)


def test_only_what_is_missing_is_copied(person: PersonGit, canonical: GitCanonical, promoted: str) -> None:
    before = int(person.git("rev-list", "--objects", "--all", "--count"))
    export(person.path, canonical.path, BRANCH, promoted)
    counted = dict(row.split(": ") for row in person.git("count-objects", "-v").splitlines())
    assert int(counted["count"]) + int(counted["in-pack"]) == before + 3


def test_objects_that_are_there_without_the_branch_are_enough(
    person: PersonGit, canonical: GitCanonical, promoted: str
) -> None:
    """A process was killed between the two."""
    canonical.pin("refs/heads/main", promoted)
    assert export(person.path, canonical.path, BRANCH, promoted)
    person.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    assert export(person.path, canonical.path, BRANCH, promoted)
    assert person.git("rev-parse", BRANCH) == promoted


def test_an_empty_pack_is_read_to_its_end(canonical: GitCanonical) -> None:
    """Else its writer ends with a broken pipe, now and then, and what was complete counts as failed."""
    pack = io.BytesIO(b"PACK" + (2).to_bytes(4) + (0).to_bytes(4) + bytes(20))
    assert transfer.receive(canonical.path, pack) is None
    assert pack.read() == b""


def test_a_branch_at_another_commit_is_left_alone(person: PersonGit, canonical: GitCanonical, promoted: str) -> None:
    person.git("branch", BRANCH)
    with pytest.raises(RepositoryError, match="at another commit"):
        export(person.path, canonical.path, BRANCH, promoted)
    assert person.git("rev-parse", BRANCH) == person.head()


def test_a_branch_that_is_checked_out_elsewhere_is_left_alone(
    person: PersonGit, canonical: GitCanonical, promoted: str, tmp_path: Path
) -> None:
    person.git("worktree", "add", "-q", "-b", BRANCH, str(tmp_path / "linked"))
    with pytest.raises(RepositoryError, match="at another commit"):
        export(person.path, canonical.path, BRANCH, promoted)


def test_a_branch_without_a_commit_that_is_checked_out_is_left_alone(
    person: PersonGit, canonical: GitCanonical, promoted: str
) -> None:
    person.git("symbolic-ref", "HEAD", f"refs/heads/{BRANCH}")
    with pytest.raises(RepositoryError, match="checked out"):
        export(person.path, canonical.path, BRANCH, promoted)


def test_a_branch_in_the_way_is_named(person: PersonGit, canonical: GitCanonical, promoted: str) -> None:
    person.git("branch", "rhumbline")
    with pytest.raises(RepositoryError, match="refs/heads/rhumbline"):
        export(person.path, canonical.path, BRANCH, promoted)


def test_a_repository_that_is_gone(person: PersonGit, canonical: GitCanonical, promoted: str) -> None:
    shutil.rmtree(person.path)
    with pytest.raises(RepositoryError, match="doesn't exist"):
        export(person.path, canonical.path, BRANCH, promoted)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_repository_that_cannot_be_written(person: PersonGit, canonical: GitCanonical, promoted: str) -> None:
    objects = person.path / ".git" / "objects"
    objects.chmod(0o500)
    try:
        with pytest.raises(RepositoryError, match="can't be written"):
            export(person.path, canonical.path, BRANCH, promoted)
    finally:
        objects.chmod(0o700)


@pytest.mark.parametrize("branch", ["", "..", "a b", "x.lock", "-", "a\nb", "@{-1}"])
def test_a_name_that_is_no_branch(person: PersonGit, canonical: GitCanonical, promoted: str, branch: str) -> None:
    if branch == "-":
        assert export(person.path, canonical.path, branch, promoted)
        return
    with pytest.raises(RepositoryError):
        export(person.path, canonical.path, branch, promoted)


def test_a_bare_repository_and_a_linked_work_tree_get_it_too(
    person: PersonGit, canonical: GitCanonical, promoted: str, tmp_path: Path
) -> None:
    person.git("clone", "-q", "--bare", str(person.path), str(tmp_path / "bare.git"))
    person.git("worktree", "add", "-q", "-b", "topic", str(tmp_path / "linked"))
    assert export(tmp_path / "bare.git", canonical.path, BRANCH, promoted)
    assert export(tmp_path / "linked", canonical.path, BRANCH, promoted)
    assert person.git("rev-parse", BRANCH) == promoted


def test_a_base_whose_history_the_person_dropped_is_brought_again(
    person: PersonGit, canonical: GitCanonical, promoted: str
) -> None:
    base = person.head()
    tree = person.git("rev-parse", "HEAD^{tree}")
    person.git("checkout", "-q", "--orphan", "other")
    person.git("rm", "-rqf", ".")
    person.write("other", "1")
    person.commit("other")
    person.git("branch", "-D", "main")
    (person.path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert export(person.path, canonical.path, BRANCH, promoted)
    assert person.git("rev-parse", f"{BRANCH}~1") == base
    person.git("fsck", "--connectivity-only")


def test_no_hook_of_the_person_is_run(
    person: PersonGit, canonical: GitCanonical, promoted: str, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    person.plant_hooks(canary)
    assert export(person.path, canonical.path, BRANCH, promoted)
    assert not canary.exists()
    person.git("branch", "another")
    assert canary.exists(), "the trap doesn't work, so it shows nothing"


def test_an_import_runs_no_hook_of_the_person(person: PersonGit, canonical: GitCanonical, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    person.plant_hooks(canary)
    canonical.fetch(person.path, person.head(), "refs/rhumb/base/1")
    assert not canary.exists()
