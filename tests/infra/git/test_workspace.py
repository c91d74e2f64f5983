"""Forks: one per run, out of each other's way, and nothing of them is lost."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.ports.sandbox import Outcome, Sandbox
from infra.claim import claimed
from infra.git.canonical import GitCanonical
from infra.git.process import git
from infra.git.ref import Refs
from infra.git.workspace import GitWorkspace
from infra.sandbox.settings import SandboxSettings
from infra.sandbox.unsafe import UnsafeLocal
from tests.infra.git.conftest import AGENT
from tests.infra.git.person_git import PersonGit

Agent = Callable[[GitWorkspace, str], Outcome]


def test_an_untouched_workspace_is_the_base(canonical: GitCanonical, base: str, workspace: GitWorkspace) -> None:
    assert (workspace.folder / "src" / "app.py").read_text() == "print('hello')\n"
    assert workspace.snapshot() == canonical.tree_of(base)
    assert not list(workspace.folder.glob("**/.git"))


def test_opening_again_keeps_the_agents_work(
    canonical: GitCanonical, base: str, workspace: GitWorkspace, agent: Agent
) -> None:
    agent(workspace, "echo more > more.txt")
    again = canonical.open_workspace("run_a_t1_1", base)
    assert (again.folder / "more.txt").read_text() == "more\n"
    assert again.snapshot() == workspace.snapshot() != canonical.tree_of(base)


def test_a_run_has_one_base(canonical: GitCanonical, base: str, workspace: GitWorkspace) -> None:
    other = canonical.commit_tree(canonical.tree_of(base), [base], AGENT, AGENT, "other")
    with pytest.raises(ValueError, match="is at"):
        canonical.open_workspace("run_a_t1_1", other)


def test_a_workspace_that_was_never_finished_is_made_again(
    canonical: GitCanonical, base: str, workspace: GitWorkspace
) -> None:
    (workspace.folder.parent / "index").unlink()
    (workspace.folder / "README.md").unlink()
    again = canonical.open_workspace("run_a_t1_1", base)
    assert (again.folder / "README.md").exists()
    assert canonical.workspaces() == ("run_a_t1_1",)


def test_a_folder_that_an_agent_closed_to_itself(
    canonical: GitCanonical, base: str, workspace: GitWorkspace, agent: Agent
) -> None:
    agent(workspace, "echo 1 > a; chmod 0 .")
    assert workspace.snapshot() != canonical.tree_of(base)


def test_without_isolation_it_is_the_same_tree(
    canonical: GitCanonical, base: str, person: PersonGit, tmp_path: Path
) -> None:
    unsafe = UnsafeLocal(SandboxSettings.from_environment())
    other = GitCanonical(canonical.path, tmp_path / "unsafe", unsafe, "installation-1")
    opened = other.open_workspace("run_unsafe", base)
    assert opened.snapshot() == canonical.tree_of(base)
    (opened.folder / "new.txt").write_text("x\n")
    commit = canonical.commit_tree(opened.snapshot(), [base], AGENT, AGENT, "x")
    assert [file.path for file in canonical.changed(base, commit)] == ["new.txt"]
    opened.close()
    assert other.workspaces() == ()


def test_a_strict_umask_keeps_nothing_from_the_sandbox(
    sandbox: Sandbox, person: PersonGit, tmp_path: Path, agent: Agent
) -> None:
    before = os.umask(0o077)
    try:
        strict = GitCanonical(tmp_path / "strict.git", tmp_path / "strict", sandbox, "installation-1")
        strict.fetch(person.path, person.head(), "refs/rhumb/base/1")
        opened = strict.open_workspace("run_strict", person.head())
        agent(opened, "echo 1 > a")
        opened.snapshot()
        again = strict.open_workspace("run_strict_2", strict.commit_tree(opened.snapshot(), [], AGENT, AGENT, "x"))
        assert (again.folder / "a").read_text() == "1\n"
    finally:
        os.umask(before)


def test_an_import_while_a_workspace_is_open(
    canonical: GitCanonical, person: PersonGit, workspace: GitWorkspace, agent: Agent
) -> None:
    agent(workspace, "echo 1 > a")
    workspace.snapshot()
    person.write("more.txt", "1")
    canonical.fetch(person.path, person.commit("second"), "refs/rhumb/base/2")


def test_what_a_killed_process_was_removing_is_swept(canonical: GitCanonical, sandbox: Sandbox, tmp_path: Path) -> None:
    root = tmp_path / "workspaces"
    left = root / ".run_x.abcd", canonical.path / "quarantine-x"
    for folder in left:
        (folder / "tree").mkdir(parents=True)
    with claimed(left[0]), claimed(left[1]):
        GitCanonical(canonical.path, root, sandbox, "installation-1")
        assert all(folder.exists() for folder in left), "somebody is at it"
    GitCanonical(canonical.path, root, sandbox, "installation-1")
    assert list(root.iterdir()) == []
    assert not (canonical.path / "quarantine-x").exists()


def test_closing_removes_files_and_pins(canonical: GitCanonical, base: str, agent: Agent) -> None:
    opened = canonical.open_workspace("run_b", base)
    agent(opened, "mkdir -p deep; cd deep; i=0; while [ $i -lt 300 ]; do mkdir d; cd d; i=$((i+1)); done; chmod 0 .")
    assert canonical.workspaces() == ("run_b",)
    opened.close()
    opened.close()
    canonical.close_workspace("run_never_opened")
    assert canonical.workspaces() == ()
    assert Refs(canonical.path).list("refs/ws/") == {}
    assert list(opened.folder.parent.parent.iterdir()) == []


@pytest.mark.parametrize("run", ["", ".", "..", "a/b", "-x", "a b", "x" * 201, "a\n"])
def test_a_run_id_that_is_no_name(canonical: GitCanonical, base: str, run: str) -> None:
    with pytest.raises(ValueError, match="not a run ID"):
        canonical.open_workspace(run, base)


def test_a_snapshot_survives_a_gc_of_canonical(
    canonical: GitCanonical, base: str, workspace: GitWorkspace, agent: Agent
) -> None:
    blob = git("hash-object", "-w", "--stdin", git_dir=canonical.path, stdin=b"unreachable\n").stdout.decode().strip()
    agent(workspace, "echo unreachable > same.txt; echo other > other.txt")
    tree = workspace.snapshot()
    for extension in ("true", "false"):
        # The second time without the protection that keeps git from removing anything at all.
        git("config", "--file", str(canonical.path / "config"), "extensions.preciousObjects", extension)
        git("gc", "-q", "--prune=now", git_dir=canonical.path)
    assert git("cat-file", "blob", blob, git_dir=canonical.path).stdout == b"unreachable\n"
    commit = canonical.commit_tree(tree, [base], AGENT, AGENT, "kept")
    canonical.pin("refs/rhumb/cs/run_a_t1_1", commit)
    git("fsck", "--connectivity-only", git_dir=canonical.path)
    assert workspace.snapshot() == tree


def test_a_killed_process_leaves_a_snapshot_that_is_found(
    canonical: GitCanonical, workspace: GitWorkspace, agent: Agent
) -> None:
    agent(workspace, "echo 1 > a")
    tree = workspace.snapshot()
    assert Refs(canonical.path).read("refs/ws/run_a_t1_1/tree") == tree


def test_files_belong_to_the_sandboxs_user(workspace: GitWorkspace, agent: Agent) -> None:
    outcome = agent(workspace, "id -u; stat -c %u README.md src; echo x >> README.md; rm src/app.py; rmdir src")
    user, *owners = outcome.output.split()
    assert owners == [user, user]


def test_many_snapshots_of_one_run(canonical: GitCanonical, workspace: GitWorkspace, agent: Agent) -> None:
    trees = []
    for number in range(3):
        agent(workspace, f"echo {number} > turn; echo {number} > only{number}")
        trees.append(workspace.snapshot())
    assert len(set(trees)) == 3
    agent(workspace, "rm turn only*")
    assert workspace.snapshot() == canonical.tree_of(workspace.base)


def test_what_a_tree_says_about_line_ends_leaves_untouched_files_alone(
    canonical: GitCanonical, person: PersonGit, agent: Agent
) -> None:
    (person.path / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    person.commit("stored with CRLF")
    person.write(".gitattributes", "*.txt text\n")
    person.git("add", ".gitattributes")
    person.git("commit", "-q", "-m", "says that it is text")
    base = person.head()
    canonical.fetch(person.path, base, "refs/rhumb/base/1")
    opened = canonical.open_workspace("run_dos", base)
    assert opened.snapshot() == canonical.tree_of(base)
    agent(opened, "echo new > new.txt")
    commit = canonical.commit_tree(opened.snapshot(), [base], AGENT, AGENT, "x")
    assert [file.path for file in canonical.changed(base, commit)] == ["new.txt"]


def test_attributes_count_as_in_the_persons_own_checkout(
    canonical: GitCanonical, person: PersonGit, agent: Agent
) -> None:
    person.write(".gitattributes", "*.bat eol=crlf\n")
    person.write("run.bat", "one\ntwo\n")
    base = person.commit("a batch file")
    canonical.fetch(person.path, base, "refs/rhumb/base/1")
    opened = canonical.open_workspace("run_bat", base)
    assert (opened.folder / "run.bat").read_bytes() == b"one\r\ntwo\r\n"
    assert opened.snapshot() == canonical.tree_of(base)


def test_filters_of_the_base_are_not_run(canonical: GitCanonical, person: PersonGit, sandbox: Sandbox) -> None:
    person.write(".gitattributes", "*.txt filter=trap diff=trap\n")
    person.write("a.txt", "as it is\n")
    base = person.commit("filters")
    subprocess.run(["git", "-C", person.path, "config", "filter.trap.smudge", "echo trapped"], check=True)
    canonical.fetch(person.path, base, "refs/rhumb/base/1")
    opened = canonical.open_workspace("run_filter", base)
    assert (opened.folder / "a.txt").read_text() == "as it is\n"
    assert opened.snapshot() == canonical.tree_of(base)


def test_links_of_the_base_are_checked_out_as_they_are(
    canonical: GitCanonical, person: PersonGit, agent: Agent
) -> None:
    (person.path / "abs").symlink_to("/etc/hostname")
    (person.path / "up").symlink_to("../../..")
    base = person.commit("links")
    canonical.fetch(person.path, base, "refs/rhumb/base/1")
    opened = canonical.open_workspace("run_links", base)
    assert (opened.folder / "abs").readlink().as_posix() == "/etc/hostname"
    agent(opened, "echo 1 > a")
    commit = canonical.commit_tree(opened.snapshot(), [base], AGENT, AGENT, "x")
    assert [file.path for file in canonical.changed(base, commit)] == ["a"]
