"""Which repositories of people can be worked on, and what is said about the others."""

import os
import subprocess
from pathlib import Path

import pytest

from commands.ports.git import RepositoryError
from infra.git.person import GitPersonRepositories
from tests.infra.git.person_git import PersonGit

inspect = GitPersonRepositories().inspect


def refused(path: Path, base: str | None = None) -> str:
    with pytest.raises(RepositoryError) as caught:
        inspect(path, base)
    return str(caught.value)


def test_a_plain_repository(person: PersonGit) -> None:
    found = inspect(person.path)
    assert (found.path, found.git_dir) == (person.path, person.path / ".git")
    assert (found.branch, found.commit, found.warnings) == ("main", person.head(), ())


def test_a_subfolder_stands_for_its_repository(person: PersonGit) -> None:
    assert inspect(person.path / "src").path == person.path


def test_the_git_directory_stands_for_its_repository(person: PersonGit) -> None:
    assert inspect(person.path / ".git").path == person.path


def test_a_link_to_a_repository_is_resolved(person: PersonGit, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(person.path)
    assert inspect(tmp_path / "link").path == person.path


@pytest.mark.parametrize("name", ["with space", "ünï", "a'b\"c", "-dash", "line\nfeed"])
def test_odd_folder_names(tmp_path: Path, name: str) -> None:
    made = PersonGit.create(tmp_path / name)
    made.write("a", "1")
    commit = made.commit("first")
    if "\n" in name:
        assert "line feed" in refused(made.path)
    else:
        assert inspect(made.path).commit == commit


def test_a_bare_repository(person: PersonGit, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    person.git("clone", "-q", "--bare", str(person.path), str(bare))
    found = inspect(bare)
    assert (found.path, found.git_dir, found.branch, found.commit) == (bare, bare, "main", person.head())


def test_a_linked_work_tree_is_worked_on_from_its_own_branch(person: PersonGit, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    person.git("worktree", "add", "-q", "-b", "topic", str(linked))
    found = inspect(linked)
    assert (found.path, found.git_dir, found.branch) == (linked, person.path / ".git", "topic")


def test_a_linked_work_tree_whose_repository_is_gone(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere/at/all\n")
    assert "is gone" in refused(tmp_path)


def test_uncommitted_changes_are_counted(person: PersonGit) -> None:
    person.write("README.md", "changed and longer\n")
    person.write("staged.txt", "x")
    person.git("add", "staged.txt")
    person.write("new.txt", "x")
    assert inspect(person.path).warnings == ("uncommitted changes aren't included: 2 changed and 1 untracked files",)


def test_what_the_repository_excludes_is_no_uncommitted_change(person: PersonGit) -> None:
    person.write(".git/info/exclude", "*.log\n")
    person.write("debug.log", "x")
    assert inspect(person.path).warnings == ()


def test_what_the_person_ignores_everywhere_is_no_uncommitted_change(
    person: PersonGit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.write(".DS_Store", "x")
    (tmp_path / "ignore").write_text(".DS_Store\n")
    (tmp_path / "config").write_text(f"[core]\n\texcludesFile = {tmp_path}/ignore\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    assert len(inspect(person.path).warnings) == 1
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    assert inspect(person.path).warnings == ()


def test_looking_for_changes_reads_a_split_index(person: PersonGit) -> None:
    person.git("update-index", "--split-index")
    person.write("README.md", "changed and longer\n")
    assert inspect(person.path).warnings == ("uncommitted changes aren't included: 1 changed file",)


def test_a_base_is_resolved_and_names_the_branch(person: PersonGit) -> None:
    first = person.head()
    person.git("branch", "topic")
    person.git("tag", "-a", "-m", "x", "v1")
    person.commit("second")
    assert (inspect(person.path, "topic").branch, inspect(person.path, "topic").commit) == ("topic", first)
    assert (inspect(person.path, "v1").branch, inspect(person.path, "v1").commit) == ("v1", first)
    assert (inspect(person.path, "HEAD~1").branch, inspect(person.path, "HEAD~1").commit) == ("main", first)
    assert inspect(person.path, first[:10]).commit == first


@pytest.mark.parametrize("base", ["nope", "", "--all", "-h", "\0", "HEAD^{tree}", "a\nb", "\udce9"])
def test_an_unknown_base(person: PersonGit, base: str) -> None:
    assert "has no commit" in refused(person.path, base)


def test_a_detached_head_needs_a_base(person: PersonGit) -> None:
    person.git("checkout", "-q", "--detach")
    assert "--base" in refused(person.path)
    assert inspect(person.path, "main").branch == "main"
    assert inspect(person.path, person.head()).branch == person.head()


def test_missing_folder_and_file(tmp_path: Path, person: PersonGit) -> None:
    assert "doesn't exist" in refused(tmp_path / "nope")
    assert "is a file" in refused(person.path / "README.md")
    assert "can't be opened" in refused(Path("nul\0byte"))


def test_not_a_repository(tmp_path: Path) -> None:
    assert "isn't a git repository" in refused(tmp_path)


def test_an_empty_repository(tmp_path: Path) -> None:
    assert "has no commit yet" in refused(PersonGit.create(tmp_path / "empty").path)


def test_a_shallow_clone(person: PersonGit, tmp_path: Path) -> None:
    person.commit("second")
    person.git("clone", "-q", "--depth=1", f"file://{person.path}", str(tmp_path / "shallow"))
    assert "shallow" in refused(tmp_path / "shallow")


def test_a_partial_clone(person: PersonGit, tmp_path: Path) -> None:
    person.git("config", "uploadpack.allowFilter", "true")
    person.git("clone", "-q", "--filter=blob:none", f"file://{person.path}", str(tmp_path / "partial"))
    assert "partial" in refused(tmp_path / "partial")


def test_a_partial_clone_that_hides_it(person: PersonGit, tmp_path: Path) -> None:
    person.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    person.git("clone", "-q", "--filter=blob:none", f"file://{person.path}", str(partial))
    PersonGit(partial).git("config", "--remove-section", "remote.origin")
    assert "partial" in refused(partial)


def test_submodules(person: PersonGit) -> None:
    person.git("update-index", "--add", "--cacheinfo", f"160000,{person.head()},vendor/lib")
    person.git("commit", "-q", "-m", "gitlink")
    assert "submodules ('vendor/lib')" in refused(person.path)


@pytest.mark.parametrize("name", [".git", "GIT~1", ".g\u200cit"])
def test_names_that_git_itself_refuses(person: PersonGit, name: str) -> None:
    blob = person.git("rev-parse", "HEAD:README.md")
    tree = person.git("mktree", stdin=f"100644 blob {blob}\t{name}\n".encode())
    commit = person.git("commit-tree", "-m", "x", tree)
    assert "won't check out" in refused(person.path, commit)


def test_sha256(tmp_path: Path) -> None:
    made = PersonGit.create(tmp_path / "sha256", "--object-format=sha256")
    made.write("a", "1")
    made.commit("first")
    assert "SHA-256" in refused(made.path)


def test_a_damaged_repository(person: PersonGit) -> None:
    tree = person.git("rev-parse", "HEAD^{tree}")
    (person.path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert "is damaged" in refused(person.path)


def test_an_unknown_extension(person: PersonGit) -> None:
    person.git("config", "core.repositoryformatversion", "1")
    person.git("config", "extensions.fromTheFuture", "true")
    assert "isn't a repository that git can open" in refused(person.path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to another user")
def test_another_users_repository(person: PersonGit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["chown", "-R", "12345", str(person.path)], check=True)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "config").write_text("")
    assert "safe.directory" in refused(person.path)
    (tmp_path / "config").write_text(f"[safe]\n\tdirectory = {person.path}\n")
    found = inspect(person.path)
    assert len(found.warnings) == 1
    assert "belongs to another user" in found.warnings[0]


def test_nothing_that_the_repository_names_is_run(person: PersonGit, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    person.write(".gitattributes", "* filter=trap\n")
    person.write("odd.txt", "1\n")
    person.commit("with attributes")
    person.write("odd.txt", "2\n")
    person.plant_hooks(canary)
    assert len(inspect(person.path).warnings) == 1
    assert not canary.exists()


def test_the_trap_of_the_test_above_works(person: PersonGit, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    person.plant_hooks(canary)
    person.git("status")
    assert canary.exists()


def test_the_index_is_not_rewritten(person: PersonGit) -> None:
    for place in (person.path / "README.md", person.path / "src" / "app.py"):
        os.utime(place, (1_600_000_000, 1_600_000_000))
    before = person.state()
    inspect(person.path)
    assert person.state() == before
