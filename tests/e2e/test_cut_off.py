"""A run that is killed, interrupted, one of two at once, or out of room: nothing is lost, and it goes on."""

import json
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.disk import MIB, fill, small_disk
from tests.support.repository import git, make_repository
from tests.support.rhumb import Ended, Rhumb, Started

FILES = {"value.txt": "one\n", "check.sh": "grep -q . value.txt\n"}
CHECK = ("--check", "sh check.sh")
AT_WORK = "began with provider"
"""What is told when an agent has its place."""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo", FILES)


@pytest.fixture
def mark() -> str:
    """Seconds that nobody sleeps but this test's agent."""
    return f"7{secrets.randbelow(10**8):08d}"


def hangs_once(mark: str) -> tuple[str, ...]:
    """An agent whose first attempt takes for ever, and whose next one does it."""
    line = f'echo half > half.txt; grep -q \'"attempt":1\' "$RHUMB_TASK_FILE" && sleep {mark}; echo two > value.txt'
    return "--agent-command", line


def processes_of(mark: str) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["cmdline"]) if mark in (p.info["cmdline"] or ())]


def agent_of(mark: str, started: Started) -> list[psutil.Process]:
    """The agent's processes, once they are there."""
    while not (found := processes_of(mark)):
        assert started.process.poll() is None
    return found


def nothing_left(rhumb: Rhumb) -> None:
    assert list((rhumb.home / "workspaces").glob("*/*")) == []
    assert [path for path in (rhumb.home / "run").iterdir() if path.is_dir()] == []
    rhumb("replay", "--verify", code=0)


def promoted(ended: Ended, repository: Path, attempts: int = 1) -> dict[str, Any]:
    assert ended.code == 0, ended.err
    document = ended.document
    assert document["status"] == "completed"
    assert [task["attempts"] for task in document["tasks"]] == [attempts]
    assert git(repository, "rev-parse", document["branch"]) == document["commit"]
    return document


def test_a_killed_run_is_gone_on_with(rhumb: Rhumb, repo: Path, mark: str) -> None:
    with rhumb.start("run", "Do it", "--repo", str(repo), "--json", *hangs_once(mark), *CHECK) as started:
        change = started.change()
        started.read_until(AT_WORK)
        agents = agent_of(mark, started)
        started.process.kill()
    # The sandbox ends with what it was started by, however that ended.
    _, alive = psutil.wait_procs(agents, timeout=30)
    assert alive == []

    waiting = json.loads(rhumb("show", change, "--json", code=0).out)
    assert waiting["status"] == "running"
    document = promoted(rhumb("resume", change, "--json"), repo, attempts=2)

    assert git(repo, "ls-tree", "--name-only", document["commit"]).split() == ["check.sh", "half.txt", "value.txt"]
    assert processes_of(mark) == []
    nothing_left(rhumb)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on(rhumb: Rhumb, repo: Path, mark: str, number: signal.Signals) -> None:
    with rhumb.start("run", "Do it", "--repo", str(repo), "--json", *hangs_once(mark), *CHECK) as started:
        change = started.change()
        started.read_until(AT_WORK)
        agent_of(mark, started)
        started.process.send_signal(number)
        ended = started.end()

    assert ended.code == 130
    assert f"rhumb resume {change}" in ended.err
    assert "Traceback" not in ended.err
    assert ended.document["change"] == change
    assert ended.document["status"] == "running"
    assert processes_of(mark) == []
    promoted(rhumb("resume", change, "--json"), repo, attempts=2)
    nothing_left(rhumb)


def together(folder: Path, name: str, count: int) -> tuple[str, ...]:
    """An agent that adds a file once `count` of them are at work."""
    line = (
        f"touch '{folder}/{name}'; while [ $(ls '{folder}' | wc -l) -lt {count} ]; do sleep 0.02; done; echo > {name}"
    )
    return "--agent-command", line, "--agent-bind", f"{folder}:rw"


@pytest.fixture
def meeting(tmp_path: Path) -> Path:
    folder = tmp_path / "meeting"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def test_two_runs_at_once_on_one_repository_are_both_promoted(rhumb: Rhumb, repo: Path, meeting: Path) -> None:
    with (
        rhumb.start("run", "A", "--repo", str(repo), "--json", *together(meeting, "a", 2), *CHECK) as first,
        rhumb.start("run", "B", "--repo", str(repo), "--json", *together(meeting, "b", 2), *CHECK) as second,
    ):
        documents = [promoted(started.end(), repo) for started in (first, second)]

    documents.sort(key=lambda document: int(document["generation"]))
    assert [document["generation"] for document in documents] == [1, 2]
    assert [candidate["status"] for candidate in documents[1]["candidates"]][-1] == "promoted"
    assert len(documents[1]["candidates"]) == 2
    assert {"a", "b"} < set(git(repo, "ls-tree", "--name-only", documents[1]["commit"]).split())
    nothing_left(rhumb)


def test_two_runs_at_once_on_two_repositories_are_both_promoted(
    own_rhumb: Rhumb, repo: Path, meeting: Path, tmp_path: Path
) -> None:
    """Also the first two on a home: one of them makes it."""
    other = make_repository(tmp_path / "other", FILES)
    with (
        own_rhumb.start("run", "A", "--repo", str(repo), "--json", *together(meeting, "a", 2), *CHECK) as first,
        own_rhumb.start("run", "B", "--repo", str(other), "--json", *together(meeting, "b", 2), *CHECK) as second,
    ):
        promoted(first.end(), repo)
        promoted(second.end(), other)
    nothing_left(own_rhumb)


# -- no room -----------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 220 * MIB) as folder:
        yield folder


def test_a_disk_that_is_full_from_the_start_is_said(disk: Path, repo: Path) -> None:
    rhumb = Rhumb(disk / "home")
    ballast = fill(disk)

    ended = rhumb.run("Do it", repo, "--agent-command", "echo two > value.txt", *CHECK)

    assert ended.code in (1, 2)
    assert ended.out == ""
    assert "full" in ended.err or "No space left" in ended.err or "no room" in ended.err
    assert "Traceback" not in ended.err
    assert "defect" not in ended.err
    ballast.unlink()
    promoted(rhumb.run("Do it", repo, "--agent-command", "echo two > value.txt", *CHECK), repo)


def test_a_disk_that_fills_up_in_the_middle_loses_nothing(disk: Path, repo: Path, meeting: Path) -> None:
    rhumb = Rhumb(disk / "home")
    agent = together(meeting, "a", 2)
    with rhumb.start("run", "Do it", "--repo", str(repo), "--json", *agent, *CHECK) as started:
        change = started.change()
        started.read_until(AT_WORK)
        ballast = fill(disk)
        (meeting / "go on").touch()
        started.read_until("full", "no room", "No space")
        ballast.unlink()
        ended = started.end()
    if ended.code != 0:
        ended = rhumb("resume", change, "--json")
    document = ended.document
    assert document["status"] == "completed", ended.err
    assert git(repo, "rev-parse", document["branch"]) == document["commit"]
    nothing_left(rhumb)
