"""A home whose disk fills up: it is said by name, nothing of it is anybody's fault, and it goes on with room."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.checks.resolve import person_checks
from commands.ports.git import NoRoom
from domain.change.state import ChangeState
from domain.change.status import ChangeStatus
from infra.session import LocalSession
from tests.support.app import FILES, Home, Process
from tests.support.disk import MIB, fill, small_disk
from tests.support.repository import commit_all, git, make_repository


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 60 * MIB) as folder:
        yield folder


@pytest.fixture
def process(disk: Path, database_url: str) -> Iterator[Process]:
    """Only the home is on the small disk, not the database."""
    with Home(disk, database_url).open() as process:
        yield process


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo", FILES)


def finish_with_room(process: Process, change: str, ballast: Path) -> tuple[ChangeState, list[str]]:
    """Follow `change` and make room when trouble is told; its end, and what was told."""
    told: list[str] = []

    def make_room(trouble: str) -> None:
        told.append(trouble)
        ballast.unlink(missing_ok=True)

    for _ in LocalSession(process.app, make_room).follow(change):
        pass
    return process.state(change), told


@pytest.mark.parametrize("left", [0, 60_000])
def test_a_request_that_finds_no_room_is_refused_and_works_later(process: Process, repo: Path, left: int) -> None:
    process.run("echo two > value.txt", repository=repo)
    (repo / "more").write_bytes(os.urandom(100_000))
    commit_all(repo, "More")
    ballast = fill(process.folder, left)
    before = process.app.store.events.last_position()

    with pytest.raises(NoRoom, match="free some space"):
        process.submit("echo three > value.txt", repository=repo)

    assert process.app.store.events.last_position() == before
    ballast.unlink()
    assert process.run("echo three > value.txt", repository=repo).status is ChangeStatus.COMPLETED


@pytest.mark.parametrize("left", [3 * MIB, 12 * MIB, 20 * MIB])
def test_a_run_that_has_no_room_is_not_the_agents_failure(process: Process, repo: Path, left: int) -> None:
    """Too little for the agent's file, for git's copy of it, for canonical's."""
    ballast = fill(process.folder, left)

    change = process.submit("set -e; head -c 8M /dev/urandom > large; echo two > value.txt", repository=repo)
    state, told = finish_with_room(process, change, ballast)

    assert state.status is ChangeStatus.COMPLETED, state.reason
    assert told
    assert all("there is no room left" in trouble for trouble in told)
    assert git(repo, "cat-file", "-s", f"rhumbline/{change}:large") == str(8 * MIB)
    assert process.app.ctx.canonicals.open(state.project).workspaces() == ()


def test_a_check_that_has_no_room_proves_nothing(process: Process, repo: Path) -> None:
    check = "head -c 8M /dev/zero > result && sh check.sh"
    ballast = fill(process.folder, 3 * MIB)

    change = process.submit("echo two > value.txt", repository=repo, checks=person_checks((check,)))
    state, told = finish_with_room(process, change, ballast)

    assert state.status is ChangeStatus.COMPLETED, state.reason
    assert told
    assert all(evidence.passed for candidate in state.candidates.values() for evidence in candidate.evidence.values())
