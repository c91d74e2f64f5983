"""What an agent may leave, what it may not, and that none of it is executed."""

import base64
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.ports.git import ChangedFile, SnapshotRefused
from commands.ports.sandbox import Outcome
from domain.kernel.value import encode_path
from infra.git import scan, snapshot, tree
from infra.git.canonical import GitCanonical
from infra.git.process import git
from infra.git.workspace import GitWorkspace
from tests.infra.git.conftest import AGENT
from tests.infra.git.person_git import PersonGit
from tests.infra.git.test_canonical import ODD_NAMES

Agent = Callable[[GitWorkspace, str], Outcome]
SECRET = "s3cr3t-valu3-of-a-key"


@pytest.fixture
def changes(canonical: GitCanonical, base: str) -> Callable[[GitWorkspace], tuple[ChangedFile, ...]]:
    def read(workspace: GitWorkspace) -> tuple[ChangedFile, ...]:
        commit = canonical.commit_tree(workspace.snapshot(), [base], AGENT, AGENT, "x")
        return canonical.changed(base, commit)

    return read


Changes = Callable[[GitWorkspace], tuple[ChangedFile, ...]]


def refused(workspace: GitWorkspace, *secrets: str) -> tuple[str, tuple[str, ...]]:
    with pytest.raises(SnapshotRefused) as caught:
        workspace.snapshot(secrets)
    return caught.value.reason, caught.value.paths


def test_added_changed_removed_and_moved(workspace: GitWorkspace, agent: Agent, changes: Changes) -> None:
    agent(workspace, "echo more >> README.md; mv src lib; mkdir empty; echo x > lib/new.py")
    assert [(file.kind, file.path) for file in changes(workspace)] == [
        ("M", "README.md"),
        ("A", "lib/app.py"),
        ("A", "lib/new.py"),
        ("D", "src/app.py"),
    ]


def test_a_change_in_the_same_second_of_the_same_size_is_seen(
    workspace: GitWorkspace, agent: Agent, changes: Changes
) -> None:
    agent(workspace, "touch -r README.md /tmp/times; printf 'HELLO\\n' > README.md; touch -r /tmp/times README.md")
    assert [file.path for file in changes(workspace)] == ["README.md"]


def test_odd_names(workspace: GitWorkspace, changes: Changes) -> None:
    for name in ODD_NAMES:
        (Path(str(workspace.folder)) / name.decode(errors="surrogateescape")).write_text("x")
    assert [file.path for file in changes(workspace)] == sorted(map(encode_path, ODD_NAMES))


def test_the_executable_bit(workspace: GitWorkspace, agent: Agent, changes: Changes) -> None:
    agent(workspace, "chmod +x src/app.py")
    assert changes(workspace) == (ChangedFile("src/app.py", "M", 0, 0),)


def test_ignored_files_stay_out(workspace: GitWorkspace, agent: Agent, changes: Changes) -> None:
    agent(workspace, "printf '*.log\\nbuild/\\n' > .gitignore; echo 1 > a.log; mkdir build; mkfifo build/pipe")
    agent(workspace, "ln -s /usr/bin/python3 build/python")
    assert [file.path for file in changes(workspace)] == [".gitignore"]


def test_a_tracked_file_counts_although_it_is_ignored(workspace: GitWorkspace, agent: Agent, changes: Changes) -> None:
    agent(workspace, "echo README.md > .gitignore; echo more >> README.md")
    assert [file.path for file in changes(workspace)] == [".gitignore", "README.md"]


def test_files_that_an_agent_closed_to_itself_are_read(workspace: GitWorkspace, agent: Agent, changes: Changes) -> None:
    agent(workspace, "mkdir shut; echo 1 > shut/a; echo 2 > b; chmod 0 shut/a b shut")
    assert [file.path for file in changes(workspace)] == ["b", "shut/a"]


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        "sub/.git",
        "a/b/c/.GIT",
        "sub/.gIt",
        "git~1",
        "sub/GIT~1",
        ".git ",
        ".git.",
        ".g\u200cit",
        ".git::$INDEX",
    ],
)
def test_a_git_directory_by_any_name(workspace: GitWorkspace, agent: Agent, name: str) -> None:
    agent(workspace, f"mkdir -p '{name}'; echo x > '{name}/config'")
    assert refused(workspace) == ("nested_git", (encode_path(name.encode()),))


def test_a_git_file_and_a_git_link(workspace: GitWorkspace, agent: Agent) -> None:
    agent(workspace, "mkdir a b; echo 'gitdir: /x' > a/.git; ln -s /x b/.git")
    assert refused(workspace) == ("nested_git", ("a/.git", "b/.git"))


def test_a_planted_configuration_is_never_executed(
    canonical: GitCanonical, workspace: GitWorkspace, agent: Agent, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    canary.mkdir()
    canary.chmod(0o777)
    trap = f"#!/bin/sh\ntouch {canary}/run\n"
    agent(
        workspace,
        "git init -q . ; git init -q sub; cd sub; "
        f"printf '%s' '{trap}' > trap.sh; chmod +x trap.sh; "
        "for d in . ..; do git -C $d config core.fsmonitor /workspace/sub/trap.sh; "
        "git -C $d config core.hooksPath /workspace/sub; git -C $d config filter.x.clean /workspace/sub/trap.sh; done; "
        "echo '* filter=x' > .gitattributes; cp trap.sh post-index-change",
    )
    for _ in range(2):
        assert refused(workspace) == ("nested_git", (".git", "sub/.git"))
    assert list(canary.iterdir()) == []
    agent(workspace, "rm -rf .git sub/.git")
    workspace.snapshot()
    assert list(canary.iterdir()) == []


def test_a_gitlink_is_refused_by_the_tree_too(canonical: GitCanonical, base: str, workspace: GitWorkspace) -> None:
    """Git makes one of a nested repository; should its name ever get through, the tree is looked at again."""
    row = f"160000 commit {base}\tlib\n".encode()
    name = git("mktree", git_dir=canonical.path, stdin=row).stdout.decode().strip()
    changes = tree.differences(canonical.path, canonical.tree_of(base), name)
    source = snapshot.Source(workspace.folder, workspace.folder, workspace.folder, canonical.tree_of(base), ())
    with pytest.raises(SnapshotRefused, match="gitlink: lib"):
        snapshot.judge(canonical.path, {}, source, name, changes, snapshot.SecretSearch(()))


@pytest.mark.parametrize("target", ["/etc/passwd", "../x", "src/../../x", "hop/../..", "/workspace/README.md", "//"])
def test_a_link_that_leaves_the_tree(workspace: GitWorkspace, agent: Agent, target: str) -> None:
    agent(workspace, f"ln -s src/deep hop; mkdir src/deep; ln -s .. src/deep/up; ln -s '{target}' bad")
    expected = ("bad",)
    if target == "hop/../..":
        agent(workspace, "rm bad; ln -s hop/up/../.. bad")
    assert refused(workspace) == ("symlink_outside", expected)


@pytest.mark.parametrize("target", ["README.md", "src/../README.md", "./src/./app.py", "nowhere", "bad", "src"])
def test_a_link_that_stays(workspace: GitWorkspace, agent: Agent, changes: Changes, target: str) -> None:
    agent(workspace, f"ln -s '{target}' bad; ln -s ../README.md src/up")
    assert [file.path for file in changes(workspace)] == ["bad", "src/up"]


def test_a_fifo(workspace: GitWorkspace, agent: Agent) -> None:
    agent(workspace, "mkdir a; mkfifo a/pipe; rm README.md; mkfifo README.md ':(top)x'")
    assert refused(workspace) == ("special_file", (":(top)x", "README.md", "a/pipe"))


def test_a_socket(workspace: GitWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace.folder)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("a.sock")
    assert refused(workspace) == ("special_file", ("a.sock",))


def test_gitmodules_as_a_link(workspace: GitWorkspace, agent: Agent) -> None:
    agent(workspace, "ln -s README.md .gitmodules")
    assert refused(workspace) == ("special_file", (".gitmodules",))


def test_what_git_itself_gives_up_on(workspace: GitWorkspace, agent: Agent) -> None:
    agent(workspace, "ln -s README.md gitmod~1")
    assert refused(workspace) == ("unreadable", ("gitmod~1",))


def test_too_deep(workspace: GitWorkspace, agent: Agent) -> None:
    agent(workspace, "i=0; while [ $i -lt 250 ]; do mkdir d; cd d; i=$((i+1)); done; echo 1 > a")
    assert refused(workspace)[0] == "too_large"


def test_too_many_entries(workspace: GitWorkspace, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MAX_ENTRIES", 10)
    agent(workspace, "mkdir -p a/1 a/2 a/3 a/4 a/5 a/6 a/7 a/8 a/9")
    assert refused(workspace)[0] == "too_large"


def test_too_many_bytes_are_refused_before_git_reads_them(
    workspace: GitWorkspace, agent: Agent, changes: Changes
) -> None:
    agent(workspace, "truncate -s 3G huge; echo small > small")
    assert refused(workspace) == ("too_large", ("huge",))
    agent(workspace, "echo huge > .gitignore")
    assert [file.path for file in changes(workspace)] == [".gitignore", "small"]


def test_too_many_changed_files(workspace: GitWorkspace, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MAX_CHANGED", 3)
    agent(workspace, "for i in 1 2 3 4; do echo $i > f$i; done")
    assert refused(workspace)[0] == "too_large"


def _leaks() -> dict[str, str]:
    encoded = base64.b64encode(f"user:{SECRET}".encode()).decode()
    return {"raw": f"key = {SECRET}\n", "base64": f"Basic {encoded}\n", "far": "x" * (1 << 20) + SECRET}


@pytest.mark.parametrize("form", ["raw", "base64", "far"])
def test_a_secret_in_a_file(canonical: GitCanonical, workspace: GitWorkspace, form: str) -> None:
    (workspace.folder / "leak.txt").write_text(_leaks()[form])
    before = git("count-objects", "-v", git_dir=canonical.path).stdout
    assert refused(workspace, "short", SECRET) == ("secret_in_changeset", ("leak.txt",))
    assert git("count-objects", "-v", git_dir=canonical.path).stdout == before, "what is refused never gets there"


def test_a_secret_in_a_name_isnt_repeated(workspace: GitWorkspace) -> None:
    (workspace.folder / f"x-{SECRET}").write_text("")
    assert refused(workspace, SECRET) == ("secret_in_changeset", ("x-***",))
    (workspace.folder / f"x-{SECRET}").unlink()
    (workspace.folder / SECRET / ".git").mkdir(parents=True)
    assert refused(workspace, SECRET) == ("nested_git", ("***/.git",))


def test_a_secret_in_a_link(workspace: GitWorkspace, agent: Agent) -> None:
    agent(workspace, f"ln -s {SECRET} link")
    assert refused(workspace, SECRET) == ("secret_in_changeset", ("link",))


def test_a_value_that_the_base_has_already_is_no_leak(canonical: GitCanonical, person: PersonGit, agent: Agent) -> None:
    person.write("config.txt", f"{SECRET}\n")
    base = person.commit("it is public anyway")
    canonical.fetch(person.path, base, "refs/rhumb/base/1")
    opened = canonical.open_workspace("run_s", base)
    agent(opened, "echo more >> config.txt; cp config.txt config.bak; git mv 2>/dev/null || true")
    assert refused(opened, SECRET) == ("secret_in_changeset", ("config.bak",))
    agent(opened, "rm config.bak")
    opened.snapshot([SECRET])
    agent(opened, "git -c core.pager=cat version; sed -i '$d' config.txt; mv config.txt moved.txt")
    opened.snapshot([SECRET])


def test_short_values_are_not_looked_for(workspace: GitWorkspace, agent: Agent) -> None:
    agent(workspace, "echo true > a")
    workspace.snapshot(["true", "", "1"])
